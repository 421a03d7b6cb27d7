"""Fidelity and distances to closest records, as the authors' code computes them.

The authors' code and their text differ in places; the README beside this file lists them.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.data.datasets import FOLDER, cache_folder
from understudy.data.schema import Values
from understudy.errors import DataError, near
from understudy.jobs.fingerprint import file_digest
from understudy.jobs.progress import Progress, silent
from understudy.kernels.marginals import Layout, count_tables, table_distances
from understudy.kernels.neighbors import hamming_neighbors
from understudy.studies import published as shared
from understudy.studies.platzer2021.tables import (
    Columns,
    Lumped,
    cut,
    every_level,
    pooled_breaks,
    read_other,
    read_training,
)
from understudy.studies.published import DIFFERS, SAME, dim, figure_table, print_all

TRAINING, HOLDOUT = "trn", "val"
EXTENSIONS = (".csv.gz", ".csv")
WAYS = {1: 100, 2: 10, 3: 5}
DISTANCE_BINS = 100
QUICK = 3
PERCENT = ("f1", "f2", "f3", "share")
FIGURES = {
    **dict(zip(PERCENT, ("F1 %", "F2 %", "F3 %", "share %"), strict=True)),
    "distance_training": "to train",
    "distance_holdout": "to hold.",
}
COUNTS = ("n_closer", "n_further", "n_equal")
CUT = "…"


@dataclass(frozen=True)
class Files:
    """The files of one data set; generators by name, in alphabetical order."""

    name: str
    training: Path
    holdout: Path
    generators: dict[str, Path]

    def paths(self, labels: Iterable[str]) -> list[Path]:
        """Name the files that these generators are measured by."""
        return [self.training, self.holdout, *(self.generators[label] for label in labels)]


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


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = silent,
    journal: Path | None = None,
) -> dict[str, Any]:
    """Compute all measures of each generator, and of the holdout as generator ``val``.

    Parameters
    ----------
    data : Path, optional
        A folder with files NAME_trn, NAME_val and NAME_generator, as .csv or .csv.gz. The authors'
        files if not given.
    datasets : tuple of str
        Names of data sets; all in the folder if none is given.
    quick : bool
        Only a few generators of each data set.
    journal : Path, optional
        A file to go on from when the study was stopped.
    """
    found = find_files(default_folder() if data is None else data, datasets)
    chosen = {files.name: _generators(files, quick) for files in found}
    total = sum(len(labels) + 1 for labels in chosen.values())
    pairs: list[dict[str, Any]] = []
    used = [path for files in found if journal for path in files.paths(chosen[files.name])]
    with shared.kept_in(journal, [(path.name, file_digest(path)) for path in used]) as kept:
        for files in found:
            progress(files.name, len(pairs), total)
            parts = [(files.name, label) for label in (*chosen[files.name], HOLDOUT)]
            for part, measured in shared.computed_parts(GeneratorJob(files), parts, kept):
                dataset, label = part.words
                pairs.append({"dataset": dataset, "generator": label, **measured})
                progress(f"{dataset} {label}", len(pairs), total)
    result: dict[str, Any] = {"pairs": pairs}
    if quick:
        made = sum(len(files.generators) for files in found)
        few = sum(len(labels) for labels in chosen.values())
        result["note"] = f"quick: {few} of {made} generators; leave out --quick for all"
    return result


def _generators(files: Files, quick: bool) -> list[str]:
    labels = list(files.generators)
    if not quick:
        return labels
    known = expected()["quick"]
    return sorted(sorted(labels, key=lambda label: label not in known)[:QUICK])


class GeneratorJob:
    """Measures generators of one data set; the real rows are read when they are first needed."""

    def __init__(self, files: Files) -> None:
        self.files = files

    @cached_property
    def real(self) -> tuple[Columns, Columns, "Fidelity", tuple[ColumnCodec, ...]]:
        """Training, holdout, the tables of counts of training, and all levels by number."""
        training = read_training(self.files.training)
        holdout = read_other(self.files.holdout, training)
        if holdout.rows < 2:
            raise DataError(
                f"{self.files.holdout}: there is only one row",
                hint="a holdout needs two rows or more",
            )
        levels = tuple(every_level(name, (training, holdout)) for name in training.texts)
        return training, holdout, Fidelity(training), levels

    def do(self, part: shared.StudyPart) -> dict[str, Any]:
        """Measure a generator, or the holdout in its place."""
        training, holdout, fidelity, levels = self.real
        path = self.files.generators.get(part.words[1])
        synthetic = None if path is None else read_other(path, training)
        found = fidelity.of(holdout if synthetic is None else synthetic)
        return {**found, **closest_records(training, holdout, synthetic, levels)}


class Fidelity:
    """Average total variation distance from training over all columns, pairs and triples.

    Examples
    --------
    >>> import polars as pl
    >>> table = Columns(2, {"x": np.array([0.0, 1.0])}, {"c": pl.Series(["a", "b"])})
    >>> Fidelity(table).of(Columns(1, {"x": np.array([0.0])}, {"c": pl.Series(["c"])}))
    {'f1': 0.75, 'f2': 1.0, 'f3': None}
    """

    def __init__(self, training: Columns) -> None:
        self.ways: dict[int, tuple[Lumped, Layout, NDArray[np.int64]]] = {}
        for ways, most in WAYS.items():
            lumped = Lumped.learn(training, most)
            layout = Layout.all_ways(lumped.sizes, ways)
            self.ways[ways] = lumped, layout, count_tables(lumped.codes(training), layout)

    def of(self, other: Columns) -> dict[str, float | None]:
        """Compare a table; where there are too few columns, there is no figure."""
        found: dict[str, float | None] = {}
        for ways, (lumped, layout, counts) in self.ways.items():
            others = count_tables(lumped.codes(other), layout)
            distances = table_distances(counts, others, layout)
            found[f"f{ways}"] = float(distances.mean()) if len(distances) else None
        return found


def closest_records(
    training: Columns,
    holdout: Columns,
    synthetic: Columns | None,
    levels: Sequence[ColumnCodec],
) -> dict[str, Any]:
    """Count the rows closer to training than to the holdout, by the number of differing columns.

    Without synthetic rows, those of the holdout take their place, none being its own neighbour.
    """
    queried = holdout if synthetic is None else synthetic
    tables = (training, holdout, queried)
    widest = max((codec.size + 1 for codec in levels), default=0)
    dtype = np.uint16 if widest <= np.iinfo(np.uint16).max else np.uint32
    coded = [np.zeros((table.rows, len(table.names)), dtype) for table in tables]
    for position, name in enumerate(training.numbers):
        breaks = pooled_breaks(
            np.concatenate([table.numbers[name] for table in tables]), DISTANCE_BINS
        )
        for table, codes in zip(tables, coded, strict=True):
            codes[:, position] = cut(table.numbers[name], breaks)
    for position, codec in enumerate(levels, start=len(training.numbers)):
        for table, codes in zip(tables, coded, strict=True):
            codes[:, position] = codec.encode(Values(None, table.texts[codec.column.name]))
    near = hamming_neighbors(coded[2], coded[0], cap=0).distance
    itself = synthetic is None
    far = hamming_neighbors(coded[2], coded[1], cap=0, exclude_self=itself).distance
    closer, further, equal = (int(n.sum()) for n in (near < far, near > far, near == far))
    tied = training.rows / (training.rows + holdout.rows)
    return {
        "share": closer / queried.rows + tied * (equal / queried.rows),
        "n_closer": closer,
        "n_further": further,
        "n_equal": equal,
        "distance_training": float(near.mean()),
        "distance_holdout": float(far.mean()),
    }


def expected() -> dict[str, Any]:
    """Give figures 7 and 8 as printed, and the authors' own ``counts``, by data set and generator.

    ``quick`` names the generators of a quick run.
    """
    return shared.expected("platzer2021")


def printed(name: str, value: float | None) -> str:
    """Write a figure as the paper prints it.

    Examples
    --------
    >>> printed("f1", 0.00581), printed("distance_training", 2.1366), printed("f3", None)
    ('0.6', '2.14', '–')
    """
    if value is None:
        return "–"
    return f"{100 * value:.1f}" if name in PERCENT else f"{value:.2f}"


def agrees(name: str, value: float | None, published: str) -> bool:
    """Tell whether a figure is the published one at the printed digits.

    Some figures are cut short in the text at hand; they end in ``…``.

    Examples
    --------
    >>> agrees("f1", 0.00581, "0.6"), agrees("distance_holdout", 4.288, "4.2…")
    (True, True)
    """
    if published.endswith(CUT):
        return printed(name, value).startswith(published.removesuffix(CUT))
    return printed(name, value) == published


def published_figures(pair: dict[str, Any]) -> dict[str, str]:
    """Give the published figures of a pair, if there are any."""
    made: dict[str, str] = expected()["figures"].get(pair["dataset"], {}).get(pair["generator"], {})
    return made


def _published_counts(pair: dict[str, Any]) -> dict[str, int]:
    found = expected()["counts"].get(pair["dataset"], {}).get(pair["generator"], ())
    return dict(zip(COUNTS, found, strict=False))


def differing(pair: dict[str, Any]) -> list[str]:
    """Name the figures and counts of a pair that differ from the published ones."""
    figures, counts = published_figures(pair), _published_counts(pair)
    wrong = [name for name, text in figures.items() if not agrees(name, pair[name], text)]
    return wrong + [name for name, count in counts.items() if pair[name] != count]


def show(result: dict[str, Any], file: TextIO) -> None:
    """Print one table a data set; a sign marks what differs at the printed digits."""
    from rich.text import Text

    tables: dict[str, Any] = {}
    for pair in result["pairs"]:
        name, published, wrong = pair["dataset"], published_figures(pair), differing(pair)
        if name not in tables:
            tables[name] = figure_table(name, ["generator"], FIGURES.values(), overflow="fold")
        cells = (printed(f, pair[f]) + (DIFFERS if f in wrong else SAME) for f in FIGURES)
        tables[name].add_row(Text(pair["generator"]), *cells)
        if published:
            cells = (dim(published[figure] + SAME) for figure in FIGURES)
            tables[name].add_row(dim("  published"), *cells)
    print_all(file, [*tables.values(), *_summary(result)])


def _summary(result: dict[str, Any]) -> list[str]:
    """Say how many figures and counts are the published ones, and which are not."""
    pairs = result["pairs"]
    figures = sum(len(published_figures(pair)) for pair in pairs)
    counts = sum(len(_published_counts(pair)) for pair in pairs)
    wrong = [(pair, name) for pair in pairs for name in differing(pair)]
    off = sum(name in COUNTS for _, name in wrong)
    lines = []
    if figures:
        agreed = figures - (len(wrong) - off)
        lines.append(f"{agreed} of {figures} printed figures agree with figures 7 and 8.")
    if counts:
        lines.append(f"{counts - off} of {counts} counts agree with the authors' results file.")
    if not (figures or counts):
        lines.append("There are no published figures for these files.")
    lines += [f"differs: {p['dataset']}, {p['generator']}: {name}" for p, name in wrong]
    return lines + ([result["note"]] if "note" in result else [])
