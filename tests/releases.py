"""What the tests of a release share: a folder with a real table, and a small release of it."""

import json
from pathlib import Path

from understudy.workflows.release import release

MEASURE = "fidelity.hellinger"
COLUMNS = ("person_id", "sex", "age", "income", "town")
HANDED = {
    "README.md", "assessment.json", "junit.xml", "report.html", "synthetic.csv",
    "synthetic.csv.README.md", "verdict.json",
}  # fmt: skip
KEPT = {
    "README.md", "candidate", "files.json", "holdout.parquet", "plan.json", "receipt.json",
    "register.parquet", "release.model", "report.html", "train.parquet",
}  # fmt: skip


SECRET = ("files.json", "plan.json", "receipt.json", "report.html")


def policy(folder, name, bound):
    (folder / f"{name}.toml").write_text(f'[[rule]]\nmeasure = "{MEASURE}"\n{bound}\n')


def run(policy="pass.toml", out="out", **more):
    asked = {"method": "independent", "measures": [MEASURE], "seed": 1, **more}
    return release("real.csv", policy, out, **asked)


def names(folder):
    return {path.name for path in Path(folder).iterdir()}


def content(folder):
    """Read a folder; the seconds and the key, and what follows from it, are new in each run."""
    made = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_dir() or path.name in SECRET:
            continue
        made[str(path.relative_to(folder))] = path.read_bytes()
        if path.name == "assessment.json":
            data = json.loads(path.read_text())
            data["provenance"].pop("seconds")
            for table in (data["provenance"]["train"], data["provenance"]["holdout"]):
                table.pop("hash")
            data["provenance"]["synthetic"][0].pop("hash")
            made[str(path.relative_to(folder))] = data
    return made


def stop(*arguments, **more):
    raise KeyboardInterrupt
