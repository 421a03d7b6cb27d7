"""A folder of files NAME_trn, NAME_val and NAME_generator."""

import os
from dataclasses import dataclass
from pathlib import Path

from understudy.data.datasets import FOLDER, cache_folder
from understudy.data.schema import near
from understudy.errors import DataError

TRAINING, HOLDOUT = "trn", "val"
EXTENSIONS = (".csv.gz", ".csv")


@dataclass(frozen=True)
class Files:
    """The files of one data set; generators by name, in alphabetical order."""

    name: str
    training: Path
    holdout: Path
    generators: dict[str, Path]


def default_folder() -> Path:
    """Find the authors' files in the folder of data sets or in the cache."""
    named = os.environ.get(FOLDER)
    folders = [Path(named)] if named else []
    folders = [folder / "platzer2021" for folder in (*folders, cache_folder() / "data")]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise DataError(
        f"there is no folder '{folders[0]}'",
        hint=f"name one with --data, or set {FOLDER} to the folder that holds platzer2021",
    )


def find_files(folder: Path, names: tuple[str, ...] = ()) -> list[Files]:
    """Find the files of the named data sets, or of all in the folder."""
    if not folder.is_dir():
        raise DataError(f"there is no folder '{folder}'", hint="check the path after --data")
    stems = _stems(folder)
    endings = tuple(f"_{role}" for role in (TRAINING, HOLDOUT))
    found = sorted({stem.rpartition("_")[0] for stem in stems if stem.endswith(endings)} - {""})
    if not (found or names):
        raise DataError(
            f"{folder}: there are no files named NAME_trn.csv and NAME_val.csv, packed or not",
            hint="name each file by its data set and generator, such as adult_trn.csv.gz",
        )
    return [_files(folder, name, stems, found) for name in dict.fromkeys(names or found)]


def _stems(folder: Path) -> dict[str, Path]:
    stems: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        extension = next((e for e in EXTENSIONS if path.name.endswith(e)), None)
        if extension is None or not path.is_file():
            continue
        stem = path.name.removesuffix(extension)
        if stem in stems:
            raise DataError(
                f"{folder}: there are both {stems[stem].name} and {path.name}",
                hint="keep one of the two",
            )
        stems[stem] = path
    return stems


def _files(folder: Path, name: str, stems: dict[str, Path], found: list[str]) -> Files:
    longer = tuple(f"{other}_" for other in found if other.startswith(f"{name}_"))
    own = {
        stem.removeprefix(f"{name}_"): path
        for stem, path in stems.items()
        if stem.startswith(f"{name}_") and not (longer and stem.startswith(longer))
    }
    if not own:
        raise DataError(f"{folder}: there is no data set '{name}'", hint=near(name, found))
    for role in (TRAINING, HOLDOUT):
        if role not in own:
            raise DataError(
                f"{folder}: there is no file {name}_{role}.csv or {name}_{role}.csv.gz",
                hint=f"a data set needs {name}_trn (training) and {name}_val (holdout)",
            )
    made = {label: own[label] for label in sorted(own) if label not in (TRAINING, HOLDOUT)}
    return Files(name, own[TRAINING], own[HOLDOUT], made)
