"""What an attacker asks of a synthetic table about a record: counts near it, and of its values."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.games import Floats
from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.tables import Table
from understudy.errors import OptionError

BINS = 20
RADII = (0.05, 0.1, 0.25, 0.5, 1.0)
NEIGHBOURS = 5
SINGLES = 4
PAIRS = 6
TAILS = 4
WAYS = (0.5, 1.0)
AT_ONCE = 4096
CUTS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of the rows released, as in privacy.membership

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """What is asked about one record.

    Parameters
    ----------
    point, codes : array
        The record on the scale of the mixed distance, and as codes.
    radii : tuple of float
        Distances within which rows are counted.
    singles, pairs : tuple
        Columns, and pairs of them, in which the record is rare.
    tails : tuple of (column, sign, number)
        Rows are counted whose number lies at least as far out as this one.
    """

    point: NDArray[np.float32]
    codes: Ints
    radii: tuple[float, ...]
    singles: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    tails: tuple[tuple[int, float, float], ...]

    @property
    def size(self) -> int:
        """How many numbers answer it: exact matches and two distances beside what is listed."""
        return 3 + sum(map(len, (self.radii, self.singles, self.pairs, self.tails)))

    def ask(self, points: NDArray[np.float32], codes: Ints, numbers: Floats) -> Floats:
        """Answer for a table; counts as square roots, whose noise does not grow with them."""
        # categories are whole numbers, so a difference is 0 or at least 1, as for the kernels
        far = np.concatenate(
            [
                np.minimum(np.abs(points[start : start + AT_ONCE] - self.point), 1).sum(axis=1)
                for start in range(0, len(points), AT_ONCE)
            ]
        ).astype(np.float64)
        same = codes == self.codes
        nearest = np.partition(far, min(NEIGHBOURS, len(far)) - 1)[:NEIGHBOURS]
        counts = [
            (far <= 1e-6).sum(),
            *((far <= radius).sum() for radius in self.radii),
            *(same[:, i].sum() for i in self.singles),
            *((same[:, i] & same[:, j]).sum() for i, j in self.pairs),
            *((sign * numbers[:, i] >= sign * end).sum() for i, sign, end in self.tails),
        ]
        return np.array([*np.sqrt(np.array(counts, float)), nearest.min(), nearest.mean()])


@dataclass(frozen=True)
class Queries:
    """The questions about some records, for whole samples and for their first rows.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f", "m"] * 20, "age": [20, 31, 31, 64] * 10}))
    >>> queries = Queries.about(table, table.frame[:1], (10, 40))
    >>> queries.shape, len(queries([table])) == 2 * queries.shape[2]
    ((2, 1, 11), True)
    """

    codec: Codec
    questions: tuple[Question, ...]
    sizes: tuple[int, ...]

    @classmethod
    def about(cls, base: Table, records: pl.DataFrame, sizes: Sequence[int]) -> "Queries":
        """Choose the questions by a table that the attacker knows, and the records."""
        frame = base.frame.select(records.columns)
        known = Table(pl.concat([frame, records.cast(frame.schema)]), base.schema)
        codec = Codec.fit(MemorySource(known), bins=BINS)
        points, codes, numbers = _read(codec, known)
        rows = base.height
        # a record is rare among the others: it does not count itself
        made = [
            _question(points, codes, numbers, rows + place, rows) for place in range(len(records))
        ]
        return cls(codec, tuple(made), tuple(sorted(sizes)))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Sizes, records, and the numbers of each; short questions are filled up with zeros."""
        return len(self.sizes), len(self.questions), max(q.size for q in self.questions)

    def __call__(self, samples: Sequence[Table]) -> Floats:
        """Give all numbers in one row, the mean over samples."""
        made = np.zeros((len(samples), *self.shape))
        for own, sample in zip(made, samples, strict=True):
            points, codes, numbers = _read(self.codec, sample)
            for place, size in enumerate(self.sizes):
                for record, question in enumerate(self.questions):
                    asked = question.ask(points[:size], codes[:size], numbers[:size])
                    own[place, record, : question.size] = asked
        mean: Floats = made.mean(axis=0).reshape(-1)
        return mean


def _read(codec: Codec, table: Table) -> tuple[NDArray[np.float32], Ints, Floats]:
    coded = codec.encode(table, scaled=True)
    numbers = np.full((table.height, len(codec.columns)), np.nan)
    for place, coder in enumerate(codec.columns):
        read = table.values(coder.column.name).numbers
        if read is not None:
            numbers[:, place] = read
    return coded.points()[0], coded.codes.astype(np.int64), numbers


def _question(
    points: NDArray[np.float32], codes: Ints, numbers: Floats, own: int, rows: int
) -> Question:
    """Ask about the values that are rarest, and the numbers that lie farthest out."""
    far = np.minimum(np.abs(points[:rows] - points[own]), 1).sum(axis=1)
    apart = far[far > 1e-6]
    nearest = float(apart.min()) if len(apart) else 1.0
    same = codes[:rows] == codes[own]
    columns = range(codes.shape[1])
    singles = sorted(columns, key=lambda i: (int(same[:, i].sum()), i))[:SINGLES]
    pairs = sorted(
        ((i, j) for i in columns for j in columns if i < j),
        key=lambda pair: (int((same[:, pair[0]] & same[:, pair[1]]).sum()), pair),
    )[:PAIRS]
    tails = []
    for i in columns:
        known = numbers[:rows, i][~np.isnan(numbers[:rows, i])]
        value = numbers[own, i]
        if not len(known) or np.isnan(value):
            continue
        middle = float(np.median(known))
        if value == middle:
            continue
        sign = float(np.sign(value - middle))
        beyond = float((sign * known >= sign * value).mean())
        tails.append((beyond, i, sign, middle, float(value)))
    ends = tuple(
        (i, sign, middle + way * (value - middle))
        for _, i, sign, middle, value in sorted(tails)[:TAILS]
        for way in WAYS
    )
    return Question(
        points[own],
        codes[own],
        tuple(nearest * part for part in RADII),
        tuple(singles),
        tuple(pairs),
        ends,
    )


def modal(table: Table) -> pl.DataFrame:
    """Give the record of the most frequent value of every column; of equals, the smallest.

    Examples
    --------
    >>> modal(Table.of(pl.DataFrame({"sex": ["f", "f", "m"], "age": [31, 40, 40]}))).row(0)
    ('f', 40)
    """
    return pl.DataFrame(
        [
            pl.Series(s.name, s.drop_nulls().mode().sort()[:1].to_list() or [None], s.dtype)
            for s in table.frame
        ]
    )


def made_up(
    table: Table, many: int, rng: np.random.Generator, unlike: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Make up records of the rarest levels and the outermost numbers that a table has.

    With ``unlike``, no value is that record's, where a column has others.

    Examples
    --------
    >>> table = Table.of(pl.DataFrame({"sex": ["f"] * 9 + ["m"], "age": [*range(30, 39), 90]}))
    >>> set(made_up(table, 1, np.random.default_rng(1))["sex"])
    {'m'}
    """
    source = MemorySource(table)
    made: dict[str, pl.Series] = {}
    for name in table.frame.columns:
        rows = np.arange(table.height)
        if unlike is not None:
            others = np.flatnonzero(table.frame[name].ne_missing(unlike[name][0]).to_numpy())
            rows = others if len(others) else rows
        if name in table.schema.modelled:
            rows = _outermost(source, name, rows, many)
        made[name] = table.frame[name][rng.choice(rows, many)]
    return pl.DataFrame(made)


def _outermost(source: MemorySource, name: str, rows: Ints, many: int) -> Ints:
    """Choose rows of the smallest and the largest number, or of the rarest levels."""
    if source.schema[name].is_numeric:
        numbers = source.numbers(name)[rows]
        present = np.flatnonzero(~np.isnan(numbers))
        if len(present):
            ends = (np.argmin(numbers[present]), np.argmax(numbers[present]))
            return rows[present[list(ends)]]
    texts, times = source.labels(name).gather(rows), source.levels(name)
    levels = sorted((times[level], level) for level in texts.drop_nulls().unique())
    if not levels:
        return rows
    return rows[[int((texts == level).arg_max() or 0) for _, level in levels[: max(many, 1)]]]


def discriminant(features: Floats, positive: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Learn a linear discriminant: weights for features less their middle, by their spread.

    The covariance is drawn towards independent features, the more the fewer rows there are.
    """
    middle, spread = features.mean(axis=0), features.std(axis=0)
    scale = np.where(spread > 0, spread, np.inf)
    known = (features - middle) / scale
    rows, columns = known.shape
    apart = known[positive].mean(axis=0) - known[~positive].mean(axis=0)
    within = known - np.where(
        positive[:, None], known[positive].mean(axis=0), known[~positive].mean(axis=0)
    )
    share = columns / (columns + rows)
    covariance = (1 - share) * within.T @ within / rows + share * np.eye(columns)
    weights: Floats = np.linalg.solve(covariance, apart).astype(np.float64)
    return weights, middle, scale


def judged(features: Floats, learnt: tuple[Floats, Floats, Floats]) -> Floats:
    """Score rows by a discriminant."""
    weights, middle, scale = learnt
    made: Floats = ((features - middle) / scale) @ weights
    return made


def check_sizes(rows: object, height: int) -> tuple[int, ...]:
    """Read the option rows: one number or several.

    If none is given, the training table's own, and what its first parts would tell.

    Examples
    --------
    >>> check_sizes(None, 1000), check_sizes([50, 20], 1000)
    ((125, 250, 500, 1000), (20, 50))
    """
    if rows is None:
        return tuple(sorted({max(1, int(height * cut)) for cut in CUTS}))
    given = rows if isinstance(rows, list | tuple) else [rows]
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int) or each < 1:
            raise OptionError(f"rows = {rows!r}", hint="give numbers of rows from 1 up")
    return tuple(sorted(set(given)))
