"""The tables of the zoo: which there are, and how each is read. No table is downloaded.

python benchmarks/zoo_tables.py     write the list anew, from the packages that are installed

The list, ``zoo.toml``, holds names only. A table is on it if it has 200 to 20,000 rows and at least
three columns that vary, and no table before it has the same columns and as many rows. Of pydataset
only names from A to M are taken: the others are left for whoever wants to try them afterwards.
Which column names a subject (a person, firm or state with several rows) is written by hand, where
there are at least 20 of them: fewer cannot be halved sensibly, and their rows are split.
"""

import contextlib
import hashlib
import importlib
import importlib.util
import io
import json
import os
import tarfile
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

LIST = Path(__file__).with_suffix("").parent / "zoo.toml"
ROWS = (200, 20_000)
FEWEST_COLUMNS = 3
LAST_LETTER = "m"


def folder(package: str) -> Path:
    """Find an installed package without importing it."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"the zoo needs {package}: pip install --group zoo")
    return Path(found.origin).parent


def pandas_frame(frame: Any) -> pl.DataFrame:
    """Take a frame of pandas as a user's CSV file of it would be read: labels, not codes."""
    return pl.read_csv(frame.to_csv(index=False).encode(), infer_schema_length=None)


def quietly(work: Callable[[], Any]) -> Any:
    """Do what prints: pydataset and its like say on import where they put their files."""
    with contextlib.redirect_stdout(io.StringIO()):
        return work()


def causaldata_names() -> list[str]:
    return sorted(p.parent.name for p in folder("causaldata").glob("*/data.py"))


def causaldata(name: str) -> pl.DataFrame:
    module = importlib.import_module(f"causaldata.{name}")
    return pandas_frame(quietly(lambda: module.load_pandas().data))


def statsmodels_names() -> list[str]:
    return sorted(p.parent.name for p in folder("statsmodels").glob("datasets/*/data.py"))


def statsmodels(name: str) -> pl.DataFrame:
    module = importlib.import_module(f"statsmodels.datasets.{name}")
    return pandas_frame(module.load_pandas().data)


def vega_names() -> list[str]:
    return sorted(json.loads((folder("vega_datasets") / "local_datasets.json").read_text()))


def vega(name: str) -> pl.DataFrame:
    root = folder("vega_datasets")
    path = root / json.loads((root / "local_datasets.json").read_text())[name]
    if path.suffix == ".csv":
        return pl.read_csv(path, infer_schema_length=None)
    return pl.from_dicts(json.loads(path.read_text()), infer_schema_length=None)


def sklearn_names() -> list[str]:
    return ["breast_cancer", "diabetes", "digits", "iris", "wine"]


def sklearn(name: str) -> pl.DataFrame:
    loader = getattr(importlib.import_module("sklearn.datasets"), f"load_{name}")
    raw = {"scaled": False} if name == "diabetes" else {}
    return pandas_frame(loader(as_frame=True, **raw).frame)


@cache
def pydataset_files() -> dict[str, bytes]:
    """Read the archive itself: the package would unpack it into the user's home."""
    with tarfile.open(folder("pydataset") / "resources.tar.gz") as archive:
        found = {}
        for member in archive:
            path = Path(member.name)
            if path.suffix == ".csv" and path.parts[:3] == ("resources", "rdata", "csv"):
                opened = None if path.name.startswith("._") else archive.extractfile(member)
                if opened is not None:
                    found[f"{path.parent.name}/{path.stem}"] = opened.read()
    return found


def pydataset_names() -> list[str]:
    return sorted(n for n in pydataset_files() if n.split("/")[1][0].lower() <= LAST_LETTER)


def pydataset(name: str) -> pl.DataFrame:
    """Read a table without the first column, which holds the names of rows in R."""
    read = pl.read_csv(
        pydataset_files()[name], infer_schema_length=None, null_values=["NA"], encoding="utf8-lossy"
    )
    return read.drop(read.columns[0])


SOURCES: dict[str, tuple[Callable[[], list[str]], Callable[[str], pl.DataFrame]]] = {
    "causaldata": (causaldata_names, causaldata),
    "statsmodels": (statsmodels_names, statsmodels),
    "vega_datasets": (vega_names, vega),
    "sklearn": (sklearn_names, sklearn),
    "pydataset": (pydataset_names, pydataset),
}


def table(name: str) -> pl.DataFrame:
    """Read a table by its name in the list, such as ``causaldata/titanic``."""
    source, _, own = name.partition("/")
    return SOURCES[source][1](own)


def listed() -> dict[str, str | None]:
    """Give the names on the list, each with its subject column or none."""
    kept = tomllib.loads(LIST.read_text("utf-8"))
    subjects = kept["subjects"]
    return {
        f"{source}/{name}": subjects.get(f"{source}/{name}")
        for source, names in kept["tables"].items()
        for name in names
    }


def is_tuning(name: str) -> bool:
    """Tell whether settings may be chosen on a table: a third of the list, by a hash."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 3 == 0


def fitting() -> Iterator[tuple[str, pl.DataFrame]]:
    """Go through all tables that belong on the list."""
    seen = set()
    for source, (names, read) in SOURCES.items():
        for name in names():
            try:
                frame = read(name)
            except (pl.exceptions.PolarsError, ImportError, AttributeError, ValueError, OSError):
                continue  # no table, or not in this version of the package
            looks = (frame.height, tuple(c.lower() for c in frame.columns))
            varying = sum(frame[c].drop_nulls().n_unique() > 1 for c in frame.columns)
            if (
                ROWS[0] <= frame.height <= ROWS[1]
                and varying >= FEWEST_COLUMNS
                and looks not in seen
            ):
                seen.add(looks)
                yield f"{source}/{name}", frame


def write() -> None:
    """Write the list anew; the subjects of tables that are still there are kept."""
    kept = tomllib.loads(LIST.read_text("utf-8")) if LIST.exists() else {"subjects": {}}
    names = [name for name, _ in fitting()]
    lines = ["# Written by zoo_tables.py, but for [subjects].", "[tables]"]
    for source in SOURCES:
        own = [n.partition("/")[2] for n in names if n.startswith(f"{source}/")]
        lines += [f"{source} = [", *(f'  "{name}",' for name in own), "]"]
    lines += ["", "[subjects]"]
    lines += [f'"{n}" = "{c}"' for n, c in sorted(kept["subjects"].items()) if n in names]
    LIST.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    write()
