"""What the program finds and makes today, written down: ``python -m golden.record``.

Findings are kept with every number; the tables behind pictures, samples, models and pages by their
digest. A later version is compared with this, number by number.
"""

import argparse
import dataclasses
import gzip
import hashlib
import io
import json
import math
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from golden.cases import CASES, Case, Find
from understudy.data.datasets import dataset
from understudy.report import console
from understudy.workflows.assessment import cards

FOLDER = Path(__file__).with_name("files")
METHODS = (
    "independent", "bootstrap", "flip", "corrupt", "cart", "sequential", "forest", "copula", "bayes"
)  # fmt: skip
VARIES = ("hash", "seconds", "understudy", "python", "libraries", "peak_mb", "megabytes")
CLOSE = 1e-9
FRACTION = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def record(name: str, find: Find) -> dict[str, Any]:
    """Give everything that is kept of a table."""
    case = CASES[name]
    real = case.frame(find)
    train, holdout = us.split(real, holdout=0.5, seed=1)
    samples = {method: _sample(method, train) for method in METHODS}
    made = {method: digest(frame.write_csv()) for method, (frame, _) in samples.items()}
    models = {method: model for method, (_, model) in samples.items()}
    synthetic = samples["cart"][0]
    result = us.assess(
        train, synthetic, holdout=holdout, measures=["all"], seed=1, **case.roles,
    )  # fmt: skip
    partial = us.replace(train, list(case.replaced), seed=1)
    aligned = us.assess(
        train, partial, holdout=holdout, measures=["privacy.match_rate"], aligned=True, seed=1,
        **{k: v for k, v in case.roles.items() if k in ("keys", "sensitive")},
    )  # fmt: skip
    several = us.assess(
        train, [samples["forest"][0], samples["copula"][0]], seed=1,
        measures=["fidelity", "privacy.closest_record"],
    )  # fmt: skip
    others = {method: samples[method][0] for method in ("forest", "cart", "bootstrap")}
    compared = us.compare(train, others, holdout=holdout, seed=1, curve=False)
    plain = scrubbed(result.to_dict())
    without_times = dataclasses.replace(result, provenance=_whole(result)["provenance"])
    return {
        "schema": digest(_schema_text(train)),
        "samples": made,
        "models": models,
        "assessment": plain,
        "aligned": scrubbed(aligned.to_dict()),
        "replicates": scrubbed(several.to_dict()),
        "compare": scrubbed(compared.to_dict()),
        "attacks": {game: scrubbed(found) for game, found in _attacks(case, train)},
        "register": digest(_plain(result.register()).write_csv()),
        "console": _console(_whole(result)),
        "html": digest(_page(us.Assessment.from_dict(_whole(result)).to_html())),
        "steward": digest(_page(without_times.to_html(steward=True))),
    }


def recorded(name: str, find: Find) -> dict[str, Any]:
    """Give the record as it is read back, with what it was made on."""
    made: dict[str, Any] = json.loads(json.dumps(record(name, find)))
    return {"environment": environment(), **made}


def _console(data: dict[str, Any]) -> str:
    text = io.StringIO()
    console.show(data, cards(), file=text, width=80)
    return text.getvalue()


def _plain(register: pl.DataFrame) -> pl.DataFrame:
    """Give a register as text: some of its columns hold lists."""
    return register.select(
        pl.col(name) if not kind.is_nested() else pl.col(name).list.join("|")
        for name, kind in register.schema.items()
    )


def _sample(method: str, train: Any) -> tuple[Any, str]:
    model = us.synthesizer(method, seed=1).fit(train)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model"
        model.save(file)
        kept = digest(file.read_bytes())
    return model.sample(1200), kept


def _attacks(case: Case, train: Any) -> Iterator[tuple[str, Any]]:
    """Attack small tables only: refits of others take long."""
    if not case.attacked:
        return
    common = {"seed": 1, "budget": 600.0, "workers": 1}
    yield "worlds", us.attack("worlds", train, "cart", refits=40, **common).to_dict()
    yield "worlds by refits", us.attack("worlds", train, "copula", refits=40, **common).to_dict()
    options = {"trials": 24}
    found = us.attack("membership", train, "bootstrap", options=options, **common)
    yield "membership", found.to_dict()
    found = us.attack("audit", train, "bootstrap", options={"trials": 24, "epsilon": 1.0}, **common)
    yield "audit", found.to_dict()


def _schema_text(train: Any) -> str:
    from understudy.data.schema import dumps
    from understudy.data.tables import Table

    return dumps(Table.of(train).schema)


def _whole(result: us.Assessment) -> dict[str, Any]:
    """Give an assessment without what differs from run to run, tables and all."""
    plain = result.to_dict()
    return {**plain, "provenance": scrubbed(plain["provenance"])}


def scrubbed(value: Any) -> Any:
    """Leave out what differs from run to run; tables of pictures by their digest."""
    if isinstance(value, dict):
        kept = {k: scrubbed(v) for k, v in value.items() if k not in (*VARIES, "tables")}
        if "tables" in value:
            tables = value["tables"].items()
            kept["tables"] = {k: digest(json.dumps(_rounded(v))) for k, v in tables}
        return kept
    return [scrubbed(v) for v in value] if isinstance(value, list | tuple) else value


def _page(text: str) -> str:
    """Give a page with the numbers in it rounded, as those of findings are compared."""
    return FRACTION.sub(lambda found: f"{float(found.group()):.9g}", text)


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def digest(content: str | bytes) -> str:
    """Give the first digits of a hash: enough to tell that something changed."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:16]


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Name every place in which two records differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            here = f"{place}.{key}" if place else key
            if key not in old or key not in new:
                yield f"{here}: {'new' if key not in old else 'gone'}"
            else:
                yield from differences(old[key], new[key], here)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            label = (
                pair[0].get("measure", pair[0].get("name")) if isinstance(pair[0], dict) else None
            )
            yield from differences(*pair, f"{place}[{label or number}]")
    elif not _same(old, new):
        yield f"{place}: {_short(old)} -> {_short(new)}"


def _same(old: Any, new: Any) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (old, new))
    if numbers:
        return math.isclose(old, new, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(old == new and type(old) is type(new))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def environment() -> dict[str, str]:
    """Give what bytes of samples depend on beside our code: libraries and the processor's lanes."""
    libraries = {lib: version(lib) for lib in ("numba", "numpy", "polars", "scikit-learn", "scipy")}
    lanes = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return {**libraries, "lanes": " ".join(lanes)}


def path_of(name: str) -> Path:
    """Give the place of a record."""
    return FOLDER / f"{name}.json.gz"


def read(name: str) -> dict[str, Any]:
    """Read a record."""
    made: dict[str, Any] = json.loads(gzip.decompress(path_of(name).read_bytes()))
    return made


def write(name: str, made: dict[str, Any]) -> None:
    """Write a record; equal records give equal bytes."""
    text = json.dumps(made, indent=0, ensure_ascii=False, sort_keys=True)
    FOLDER.mkdir(exist_ok=True)
    path_of(name).write_bytes(gzip.compress(text.encode(), mtime=0))


def found(name: str) -> Path:
    """Find a data set by its name."""
    return dataset(name).path()


def main(arguments: list[str] | None = None) -> int:
    """Compare with what was written down, or write it down anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(CASES))
    parser.add_argument("--write", action="store_true", help="write down what is found now")
    given = parser.parse_args(arguments)
    changed = 0
    for name in given.tables:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = recorded(name, found)
        if given.write:
            write(name, made)
            continue
        said = list(differences(read(name), made))
        changed += len(said)
        sys.stdout.write("".join(f"{name}: {line}\n" for line in said))
    sys.stdout.write(f"{changed} differences\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
