"""Fidelity and distances to closest records, as the authors' code computes them.

The authors' code and their text differ in places; the README beside this file lists them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import DataError
from understudy.kernels.marginals import Layout, count_tables, table_distances
from understudy.kernels.neighbors import hamming_neighbors
from understudy.studies.platzer2021.binning import (
    Codes,
    LumpedNumbers,
    LumpedTexts,
    cut,
    level_codes,
    pooled_breaks,
)
from understudy.studies.platzer2021.expected import expected
from understudy.studies.platzer2021.folder import HOLDOUT, Files, default_folder, find_files
from understudy.studies.platzer2021.reading import Columns, read_other, read_training

Progress = Callable[[str, int, int], None]

WAYS = {1: 100, 2: 10, 3: 5}
DISTANCE_BINS = 100
QUICK = 3


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = lambda label, done, total: None,
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
    """
    found = find_files(default_folder() if data is None else data, datasets)
    chosen = {files.name: _generators(files, quick) for files in found}
    total = sum(len(labels) + 1 for labels in chosen.values())
    pairs: list[dict[str, Any]] = []
    for files in found:
        progress(files.name, len(pairs), total)
        for label, measured in _dataset(files, chosen[files.name]):
            pairs.append({"dataset": files.name, "generator": label, **measured})
            progress(f"{files.name} {label}", len(pairs), total)
    result: dict[str, Any] = {"pairs": pairs}
    if quick:
        made = sum(len(files.generators) for files in found)
        kept = sum(len(labels) for labels in chosen.values())
        result["note"] = f"quick: {kept} of {made} generators; leave out --quick for all"
    return result


def _generators(files: Files, quick: bool) -> list[str]:
    labels = list(files.generators)
    if not quick:
        return labels
    known = expected().quick
    return sorted(sorted(labels, key=lambda label: label not in known)[:QUICK])


def _dataset(files: Files, labels: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    training = read_training(files.training)
    holdout = read_other(files.holdout, training)
    if holdout.rows < 2:
        raise DataError(
            f"{files.holdout}: there is only one row", hint="a holdout needs two rows or more"
        )
    fidelity = Fidelity(training)
    levels = {name: _levels(training.texts[name], holdout.texts[name]) for name in training.texts}
    for label in labels:
        synthetic = read_other(files.generators[label], training)
        measured = closest_records(training, holdout, synthetic, levels)
        yield label, {**fidelity.of(synthetic), **measured}
    measured = closest_records(training, holdout, None, levels)
    yield HOLDOUT, {**fidelity.of(holdout), **measured}


@dataclass(frozen=True)
class Lumped:
    """The bins and levels of all columns of training."""

    numbers: dict[str, LumpedNumbers]
    texts: dict[str, LumpedTexts]

    @classmethod
    def learn(cls, training: Columns, most: int) -> "Lumped":
        """Learn at most so many bins and levels of each column."""
        return cls(
            {name: LumpedNumbers.learn(x, most) for name, x in training.numbers.items()},
            {name: LumpedTexts.learn(x, most) for name, x in training.texts.items()},
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of codes of each column."""
        sizes = [lumped.size for lumped in self.numbers.values()]
        sizes += [lumped.size for lumped in self.texts.values()]
        return np.array(sizes, np.int64)

    def codes(self, table: Columns) -> Codes:
        """Code all columns of a table."""
        columns = [lumped.codes(table.numbers[name]) for name, lumped in self.numbers.items()]
        columns += [lumped.codes(table.texts[name]) for name, lumped in self.texts.items()]
        return np.column_stack(columns).astype(np.uint8)


class Fidelity:
    """Average total variation distance from training over all columns, pairs and triples.

    Examples
    --------
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


def _levels(training: pl.Series, holdout: pl.Series) -> dict[str, int]:
    """Number all levels of the real rows from 1; 0 is for missing."""
    seen = pl.concat([training, holdout]).drop_nulls().unique(maintain_order=True)
    return {level: code for code, level in enumerate(seen, start=1)}


def closest_records(
    training: Columns,
    holdout: Columns,
    synthetic: Columns | None,
    levels: dict[str, dict[str, int]],
) -> dict[str, Any]:
    """Count the rows closer to training than to the holdout, by the number of differing columns.

    Without synthetic rows, those of the holdout take their place, none being its own neighbour.
    """
    queried = holdout if synthetic is None else synthetic
    tables = (training, holdout, queried)
    widest = max((len(codes) + 2 for codes in levels.values()), default=0)
    dtype = np.uint16 if widest <= np.iinfo(np.uint16).max else np.uint32
    coded = [np.zeros((table.rows, len(table.names)), dtype) for table in tables]
    for position, name in enumerate(training.numbers):
        breaks = pooled_breaks(
            np.concatenate([table.numbers[name] for table in tables]), DISTANCE_BINS
        )
        for table, codes in zip(tables, coded, strict=True):
            codes[:, position] = cut(table.numbers[name], breaks)
    for position, (name, known) in enumerate(levels.items(), start=len(training.numbers)):
        for table, codes in zip(tables, coded, strict=True):
            texts = table.texts[name]
            column = level_codes(texts, known, len(known) + 1)
            codes[:, position] = np.where(texts.is_null(), 0, column)
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
