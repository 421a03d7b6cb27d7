"""Lines: latent normal scales, cut into parts that stand for codes.

A number or a date has one line, its codes in their order. A category has no order, so it has a
line for each question: is it missing, is it the most frequent level, if not, is it the second,
and so on; what is left, the rare levels, shares a last line in an order found from the other
columns. A line that a row never comes to is unknown for this row, not zero.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.synthesizers.copula.determined import Determined, in_order
from understudy.synthesizers.model_file import Damaged, State

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

MOST_LINES = 200
SHARE_ALONE = 0.005
ROWS_ALONE = 20
PROFILE_ROWS = 20_000
PROFILE_LEVELS = 5


@dataclass(frozen=True)
class LatentLine:
    """One latent normal scale of a column, cut into parts.

    Parameters
    ----------
    column : int
    targets : array of int
        Where each part leads, from the lowest: to a code, or if -1 - i to line i.
    shares : array of float
        The share of each part among the rows that come to this line.
    """

    column: int
    targets: Whole
    shares: Floats

    @property
    def until(self) -> Floats:
        """The shares below the cuts."""
        return np.clip(np.cumsum(self.shares)[:-1], 0, 1)


@dataclass(frozen=True)
class Lines:
    """The lines of all columns, those of a column one after the other.

    Codes that follow from another column's are ``determined``; they come to no line.
    """

    lines: tuple[LatentLine, ...]
    sizes: tuple[int, ...]
    determined: tuple[Determined, ...] = ()

    def __len__(self) -> int:
        return len(self.lines)

    def of(self, column: int) -> list[int]:
        """The lines of a column."""
        return [i for i, line in enumerate(self.lines) if line.column == column]

    def follows(self, column: int) -> bool:
        """Whether a column follows from others, in some rows at least."""
        return any(one.column == column for one in self.determined)

    def parts(self, codes: Codes) -> NDArray[np.int32]:
        """Give the part of each line, line by line, that rows lie in; -1 where it is unknown."""
        made = np.empty((len(self.lines), len(codes)), np.int32)
        places: dict[int, NDArray[np.int32]] = {}
        for number in reversed(range(len(self.lines))):
            line = self.lines[number]
            place = np.full(self.sizes[line.column] + 1, -1, np.int32)
            for part, target in enumerate(line.targets.tolist()):
                place[target if target >= 0 else places[-1 - target] >= 0] = part
            places[number] = place
            made[number] = place[codes[:, line.column]]
        return made

    def walk(self, latent: Floats, cuts: Sequence[Floats]) -> Codes:
        """Give the codes of all columns for rows of latent values, one row for each line."""
        rows = latent.shape[1]
        made = np.zeros((rows, len(self.sizes)), np.uint16, order="F")
        for column in in_order(range(len(self.sizes)), self.determined):
            state = self.begin(column, made)
            for number in self.of(column):
                here = np.flatnonzero(state == -1 - number)
                part = np.searchsorted(cuts[number], latent[number, here])
                state[here] = self.lines[number].targets[part]
            made[:, column] = state
        return made

    def begin(self, column: int, codes: Codes) -> Whole:
        """Give the code of a column where it follows from others, and else -1 - its first line."""
        own = self.of(column)
        state = np.full(len(codes), -1 - own[0] if own else 0)
        for one in reversed(self.determined):
            if one.column == column:
                code = one.lookup[codes[:, one.by]]
                state = np.where(code < self.sizes[column], code, state)
        return state

    def tied(self) -> list[list[int]]:
        """Give columns in groups that follow from each other, each after those it follows from."""
        group = list(range(len(self.sizes)))
        for one in self.determined:
            old, new = group[one.column], group[one.by]
            group = [new if g == old else g for g in group]
        order = in_order(range(len(self.sizes)), self.determined)
        return [[c for c in order if group[c] == g] for g in sorted(set(group))]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        return {
            "column": np.array([line.column for line in self.lines], np.int64),
            "length": np.array([len(line.targets) for line in self.lines], np.int64),
            "targets": np.concatenate([np.empty(0, np.int64), *(x.targets for x in self.lines)]),
            "shares": np.concatenate([np.empty(0), *(line.shares for line in self.lines)]),
        }

    @classmethod
    def restore(cls, state: State, sizes: Sequence[int], determined: Sequence[Determined]) -> Self:
        """Take what was saved; refuse lines that lead nowhere."""
        column = state.array("column", np.int64, (None,), 0, len(sizes) - 1)
        length = state.array("length", np.int64, column.shape, 2, MOST_CODES)
        targets = state.array("targets", np.int64, (int(length.sum()),))
        shares = state.array("shares", float, targets.shape, 0, 1)
        ends = np.cumsum(length)[:-1]
        parts = zip(column.tolist(), np.split(targets, ends), np.split(shares, ends), strict=True)
        lines = tuple(LatentLine(*part) for part in parts) if len(column) else ()
        for number, line in enumerate(lines):
            after = {
                -1 - i for i in range(number + 1, len(lines)) if lines[i].column == line.column
            }
            known = {*range(sizes[line.column]), *after}
            if not known.issuperset(line.targets.tolist()):
                raise Damaged("a line of the copula leads nowhere")
        in_order(range(len(sizes)), determined)
        return cls(lines, tuple(sizes), tuple(determined))


def plan_lines(
    codes: Codes,
    codecs: Sequence[ColumnCodec],
    places: Sequence[int],
    *,
    levels: int,
    pieces: int,
) -> Lines:
    """Lay out the lines of the columns at these places.

    Parameters
    ----------
    levels : int
        A number with at most this many values is asked for level by level, as a category is.
    pieces : int
        The parts that other numbers are cut into, each with a line of its own.
    """
    counts = [
        np.bincount(codes[:, j], minlength=s.size + 1)[: s.size] for j, s in enumerate(codecs)
    ]
    held = [np.flatnonzero(own).tolist() for own in counts]
    scales = {j: _scale_of(codecs[j], held[j], levels) for j in places}
    alone = _asked_alone(counts, codecs, held, scales, len(codes))
    features = _Profiles(codes, codecs, counts)
    made: list[LatentLine] = []
    for j in places:
        if len(held[j]) < 2:
            continue
        scale = scales[j]
        rest = [i for i in held[j] if i not in scale and i not in alone[j]]
        if len(rest) > 2:
            rest = features.ordered(j, rest)
        groups = _cut(scale, counts[j], pieces) if scale else []
        if rest and groups:
            groups[0] = rest + groups[0]
        elif rest:
            groups = [rest]
        made += _chain(j, [[i] for i in alone[j]] + groups, counts[j], len(made))
    return Lines(tuple(made), tuple(s.size for s in codecs))


def _scale_of(codec: ColumnCodec, held: Sequence[int], levels: int) -> list[int]:
    """Give the codes that lie on a scale: numbers, unless there are few of them."""
    numbers = [i for i in held if i < codec.bins]
    return numbers if codec.column.is_numeric and len(numbers) > levels else []


def _asked_alone(
    counts: Sequence[Whole],
    codecs: Sequence[ColumnCodec],
    held: Sequence[Sequence[int]],
    scales: Mapping[int, Sequence[int]],
    rows: int,
) -> dict[int, list[int]]:
    """Choose the codes that have a question of their own; missing first, then by frequency."""
    enough = max(ROWS_ALONE, SHARE_ALONE * rows)
    wanted = []
    for j, scale in scales.items():
        codec = codecs[j]
        loose = [i for i in held[j] if i not in scale]
        loose.sort(key=lambda i: (not _is_missing(codec, i), -counts[j][i]))
        first = [i for i in loose if scale or counts[j][i] >= enough or _is_missing(codec, i)]
        if not scale and len(first) >= len(loose) - 1:
            first = first[: max(len(loose) - 2, 0)]
        wanted += [(not (scale or _is_missing(codec, i)), -counts[j][i], j, i) for i in first]
    room = max(MOST_LINES - len(scales), 0)
    chosen = {(j, i) for *_, j, i in sorted(wanted)[:room]}
    return {j: [i for *_, at, i in wanted if at == j and (j, i) in chosen] for j in scales}


def _is_missing(codec: ColumnCodec, code: int) -> bool:
    return code >= codec.bins and codec.labels[code - codec.bins] is None


def _cut(scale: list[int], counts: Whole, pieces: int) -> list[list[int]]:
    """Cut a scale into pieces of about equal counts."""
    own = counts[scale].astype(float)
    middle = (np.cumsum(own) - own / 2) / max(own.sum(), 1)
    piece = np.minimum((middle * pieces).astype(int), pieces - 1)
    return [[i for i, p in zip(scale, piece, strict=True) if p == q] for q in np.unique(piece)]


def _chain(column: int, groups: list[list[int]], counts: Whole, start: int) -> Iterator[LatentLine]:
    """Ask for one group of codes after the other; a group of several has a line of its own."""
    number = start
    left = [float(sum(counts[i] for i in group)) for group in groups]
    for place, group in enumerate(groups):
        after = sum(left[place + 1 :])
        if place < len(groups) - 1:
            inner = len(group) > 1
            last = place == len(groups) - 2 and len(groups[-1]) == 1
            beyond = groups[-1][0] if last else -1 - (number + 1 + inner)
            targets = np.array([-1 - (number + 1) if inner else group[0], beyond])
            yield LatentLine(column, targets, _shares(np.array([left[place], after])))
            number += 1
        if len(group) > 1:
            yield LatentLine(column, np.array(group), _shares(counts[group].astype(float)))
            number += 1


def _shares(counts: Floats) -> Floats:
    return np.asarray(
        counts / counts.sum() if counts.sum() else np.full(len(counts), 1 / len(counts))
    )


class _Profiles:
    """What the other columns are like among the rows of each level."""

    def __init__(
        self, codes: Codes, codecs: Sequence[ColumnCodec], counts: Sequence[Whole]
    ) -> None:
        self.codes = codes[:: len(codes) // PROFILE_ROWS + 1]
        self.codecs, self.counts = codecs, counts
        self.features: list[Floats] = []

    def ordered(self, column: int, levels: list[int]) -> list[int]:
        """Order levels along the first axis of their profiles (Greenacre 2017, chapter 8)."""
        if not self.features:
            self.features = [self._features(j) for j in range(len(self.codecs))]
        others = [f for j, f in enumerate(self.features) if j != column and f.shape[1]]
        if not others:
            return levels
        size = self.codecs[column].size + 1
        here = self.codes[:, column]
        rows = np.bincount(here, minlength=size)[levels]
        sums = np.column_stack(
            [np.bincount(here, x, minlength=size)[levels] for f in others for x in f.T]
        )
        weighted = sums / np.sqrt(np.maximum(rows, 1) + 1)[:, None]
        axis = np.linalg.svd(weighted - weighted.mean(axis=0), full_matrices=False)[0][:, 0]
        position = axis / np.sqrt(np.maximum(rows, 1))
        return [levels[i] for i in np.argsort(position, kind="stable")]

    def _features(self, column: int) -> Floats:
        """Give standardised features of a column: ranks of numbers, the most frequent levels.

        They are made of the codes that the model knows; ``data.matrix.Matrix`` is made of values.
        """
        codec, codes = self.codecs[column], self.codes[:, column].astype(np.int64)
        frequent = np.argsort(-self.counts[column][codec.bins :], kind="stable")
        made = [codes == codec.bins + i for i in frequent[:PROFILE_LEVELS]]
        if codec.bins:
            made.append(np.where(codes < codec.bins, codes, (codec.bins - 1) / 2))
        if not made:
            return np.empty((len(codes), 0))
        table = np.column_stack(made).astype(float)
        table -= table.mean(axis=0)
        spread = table.std(axis=0)
        return np.asarray(table[:, spread > 0] / spread[spread > 0])
