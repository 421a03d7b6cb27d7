"""How sums over the codes of columns are learnt: ridge, logit and boosted remainders.

Features are what the codes of the columns before say. The strength of every ridge is the one that
predicts rows left out best; a feature weighs as much as its own evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.synthesizers.forest.models import Predictors, group_codes
from understudy.synthesizers.forest.smooth import (
    QUANTILES,
    Codes,
    Floats,
    Numbers,
    Parted,
    Smooth,
    Sums,
)

if TYPE_CHECKING:
    from understudy.kernels.boosting import Boosted

ALL = 2.0  # no number is held by so large a share of the rows
FEWEST_FOR_SLOPE = 20
DUMMY, CURVE = 2.0, 0.25
MOST_FEATURES, MOST_MARKS = 120, 200
FOLDS, ROUNDS, GAIN, LEAST_GAIN = 3, 60, 8.0, 1.0
MOST_BOOSTED = 12
GRID = 400
DOUBT, FEW = 30.0, 500  # the evidence at which a feature has half its weight; more of few rows


def features(counts: NDArray[np.int64], numbers: int) -> Floats:
    """Give what a code says as a predictor, one line a code; the last is one never shown.

    The normal score of a number and its square, and marks of words and of values that many rows
    hold, the most frequent ones; of two codes one mark is enough.
    """
    made = []
    ordered, parted = Parted.of(counts, numbers, ALL), Parted.of(counts, numbers)
    own = parted.code_of[parted.code_of >= 0]
    own = own[np.argsort(-counts[own], kind="stable")]
    if numbers > 2:
        held = counts[:numbers]
        for values, scale in (
            (ordered.scores, 1.0),
            (np.clip(ordered.scores, -2.5, 2.5) ** 2, CURVE),
        ):
            line = np.zeros(len(counts) + 1)
            line[:numbers] = scale * (values - np.average(values, weights=np.maximum(held, 1e-9)))
            made.append(line)
    elif not len(parted.loose):
        own = own[1:]
    for code in own[:MOST_MARKS]:
        mark = np.zeros(len(counts) + 1)
        mark[code] = DUMMY
        made.append(mark)
    return np.column_stack(made) if made else np.empty((len(counts) + 1, 0))


@dataclass(frozen=True)
class CodeFeatures:
    """What the codes of all columns say as predictors, and the rows that sums are learnt from."""

    codecs: Sequence[ColumnCodec]
    codes: Codes
    tables: tuple[Floats, ...]

    @classmethod
    def of(cls, codes: Codes, codecs: Sequence[ColumnCodec], most: int) -> Self:
        """Part every column; of too many rows, so many are learnt from, drawn at random."""
        tables = []
        if len(codes) > most:
            drawn = np.random.default_rng(len(codes)).choice(len(codes), most, replace=False)
            codes = np.asfortranarray(codes[np.sort(drawn)])
        for place, codec in enumerate(codecs):
            counts = np.bincount(codes[:, place], minlength=codec.size + 1)[: codec.size]
            tables.append(features(counts, codec.bins))
        return cls(codecs, codes, tuple(tables))

    def rows(self, rows: NDArray[np.int64], place: int) -> Floats:
        """Give the features of one column, row by row."""
        made: Floats = self.tables[place][self.codes[rows, place]]
        return made

    def chosen(
        self, rows: NDArray[np.int64], places: Sequence[int], targets: Floats
    ) -> tuple[Floats, list[tuple[int, NDArray[np.int64]]], Floats]:
        """Give the features of rows; of too many, those that go along with a target most.

        Also which of each place are taken, and how much each is trusted.
        """
        told = [_evidence(self.rows(rows, place), targets) for place in places]
        along = np.concatenate([np.empty(0), *told])
        best = np.arange(len(along))
        if len(best) > MOST_FEATURES:
            best = np.sort(np.argsort(-along, kind="stable")[:MOST_FEATURES])
        best = best[along[best] > 0]
        which = np.repeat(np.arange(len(told)), [len(own) for own in told])
        inside = np.concatenate([np.empty(0, np.int64), *(np.arange(len(own)) for own in told)])
        found = [(place, inside[best[which[best] == i]]) for i, place in enumerate(places)]
        found = [(place, own) for place, own in found if len(own)]
        parts = [self.rows(rows, place)[:, own] for place, own in found]
        whole = np.column_stack(parts) if parts else np.empty((len(rows), 0))
        trust = along[best] / (along[best] + DOUBT * max(1.0, FEW / len(self.codes)))
        return whole * trust, found, trust

    def sums(self, found: list[tuple[int, NDArray[np.int64]]], made: Floats, level: Floats) -> Sums:
        """Turn coefficients of features into numbers for each code."""
        values, start = [np.empty((0, made.shape[1]))], 0
        for place, own in found:
            values.append(self.tables[place][:, own] @ made[start : start + len(own)])
            start += len(own)
        return Sums(
            np.array([place for place, _ in found], np.int64),
            np.array([len(self.tables[place]) for place, _ in found], np.int64),
            np.concatenate(values),
            np.asarray(level, float),
        )


def _evidence(features: Floats, targets: Floats) -> Floats:
    """Give how far beyond chance each feature goes along with a target: t² - 1, at least 0."""
    rows = len(features)
    centred, apart = features - features.mean(axis=0), targets - targets.mean(axis=0)
    long = (centred**2).sum(axis=0)[:, None] * (apart**2).sum(axis=0)
    square = (centred.T @ apart) ** 2 / np.maximum(long, 1e-12)
    told = rows * square / np.maximum(1 - square, 1e-3)
    return np.asarray(np.maximum(told.max(axis=1) - 1, 0))


@dataclass(frozen=True)
class FittedSmooth:
    """A model of one column, and the chance of each row's group of codes without that row."""

    model: Smooth
    chances: Floats


def fit_smooth(
    design: CodeFeatures,
    rows: NDArray[np.int64],
    places: Sequence[int],
    place: int,
    group_of: NDArray[np.int64],
    rng: np.random.Generator,
) -> FittedSmooth:
    """Model one column, of which these rows may be shown, given others.

    Numbers that many rows hold are classes of their own, or places on one scale with the others:
    whichever predicts rows left out better. ``group_of`` says which codes are one group.
    """
    codec = design.codecs[place]
    target = design.codes[rows, place]
    counts = np.bincount(target, minlength=codec.size)
    parted = Parted.of(counts, codec.bins)
    classes = _fit_classes(design, rows, places, parted, target)
    numbers: Numbers | None = None
    left = np.empty(0)
    on_scale = False
    if codec.bins > 2 and places and (parted.code_of[:-1] < codec.bins).any():
        ordered = Parted.of(counts, codec.bins, ALL)
        is_number = target < codec.bins
        numbers, left = fit_numbers(design, rows[is_number], places, place, ordered, rng)
        loss = _loss_on_scale(numbers, left, ordered, parted, target[is_number])
        on_scale = loss < _loss_of_classes(classes, parted, target, is_number)
        if on_scale:
            parted, classes = ordered, _fit_classes(design, rows, places, ordered, target)
    if parted.code_of[-1] >= 0:
        numbers = None
    elif not on_scale:
        loose = rows[parted.class_of[target] == len(parted.code_of) - 1]
        numbers, left = fit_numbers(design, loose, places, place, parted, rng)
    model = Smooth(parted.code_of, classes.sums, numbers)
    seen = np.asfortranarray(design.codes[rows])
    return FittedSmooth(model, _chances(model, classes, parted, left, seen, target, group_of))


def _chances(
    model: Smooth,
    classes: "FittedClasses",
    parted: Parted,
    left: Floats,
    codes: Codes,
    target: Codes,
    group_of: NDArray[np.int64],
) -> Floats:
    """Give the chance of each row's group of codes, as rows left out are predicted."""
    group = group_of[target]
    own = parted.code_of[parted.code_of >= 0]
    same = group_of[own] == group[:, None]
    made = np.asarray((classes.left_out[:, : len(own)] * same).sum(axis=1))
    if model.numbers is None:
        return made
    expected = model.numbers.expected(codes)
    is_loose = parted.class_of[target] == len(own)
    expected[is_loose] = parted.scores[np.searchsorted(parted.loose, target[is_loose])] - left
    same = group_of[parted.loose] == group[:, None]
    inside = (_shares_on_scale(model.numbers, parted, expected) * same).sum(axis=1)
    return np.asarray(made + classes.left_out[:, -1] * inside)


def _shares_on_scale(numbers: Numbers, parted: Parted, expected: Floats) -> Floats:
    """Give the chances of the codes of numbers, one row for each expectation."""
    from scipy.special import ndtr

    heights = np.linspace(0, 1, len(numbers.quantiles))
    ends = np.interp(parted.until, heights, numbers.quantiles)
    ends = np.concatenate([[-np.inf], ends[:-1], [np.inf]])
    below = ndtr((ends - expected[:, None]) / max(numbers.spread, 1e-6))
    return np.diff(below, axis=1)


@dataclass(frozen=True)
class FittedClasses:
    """Sums for classes, and what the classes of rows left out are expected to be, in shares."""

    sums: Sums
    left_out: Floats


def _fit_classes(
    design: CodeFeatures,
    rows: NDArray[np.int64],
    places: Sequence[int],
    parted: Parted,
    target: Codes,
) -> FittedClasses:
    from understudy.kernels.ridge import Axes, logit

    which, many = parted.class_of[target], len(parted.code_of)
    share = np.bincount(which, minlength=many) / len(which)
    none = np.empty(0, np.int64)
    level = np.log(np.maximum(share, 0.5 / len(which)))
    plain = FittedClasses(
        Sums(none, none, np.empty((0, many)), level), np.tile(share, (len(which), 1))
    )
    if many < 2 or not places:
        return plain
    marks = (which[:, None] == np.arange(many)).astype(float)
    chosen, found, trust = design.chosen(rows, places, marks)
    if not chosen.shape[1]:
        return plain
    axes = Axes.of(chosen)
    along, level, left_out = logit(axes, which, many)
    back, level = axes.back(along, level)
    return FittedClasses(design.sums(found, back * trust[:, None], level), left_out)


def _loss_of_classes(
    classes: FittedClasses, parted: Parted, target: Codes, is_number: NDArray[np.bool_]
) -> float:
    """Give minus the log-likelihood of the classes of numbers, among numbers."""
    which = parted.class_of[target[is_number]]
    of_number = np.isin(np.arange(len(parted.code_of)), np.unique(which))
    shares = classes.left_out[is_number]
    own = shares[np.arange(len(which)), which] / shares[:, of_number].sum(axis=1)
    return float(-np.log(np.maximum(own, 1e-9)).sum())


def _loss_on_scale(
    numbers: "Numbers", left: Floats, ordered: Parted, parted: Parted, target: Codes
) -> float:
    """Give the same where all numbers are places on one scale."""
    expected = ordered.scores[np.searchsorted(ordered.loose, target)] - left
    shares = _shares_on_scale(numbers, ordered, expected)
    which = parted.class_of[ordered.loose]
    same = which[None, :] == parted.class_of[target][:, None]
    return float(-np.log(np.maximum((shares * same).sum(axis=1), 1e-9)).sum())


def fit_numbers(
    design: CodeFeatures,
    rows: NDArray[np.int64],
    places: Sequence[int],
    place: int,
    parted: Parted,
    rng: np.random.Generator,
) -> tuple[Numbers, Floats]:
    """Regress the scores of rows; gives also what is left of each when it is left out."""
    from understudy.kernels.ridge import Axes, ridge

    score = parted.scores[np.searchsorted(parted.loose, design.codes[rows, place])]
    level = np.array([score.mean() if len(score) else 0.0])
    none = np.empty(0, np.int64)
    mean = Sums(none, none, np.empty((0, 1)), level)
    left, given, boosted = score - level[0], None, None
    if places and len(rows) >= FEWEST_FOR_SLOPE:
        chosen, found, trust = design.chosen(rows, places, score[:, None])
        if chosen.shape[1]:
            axes = Axes.of(chosen)
            fit = ridge(axes, score[:, None])
            back, level = axes.back(fit.along, fit.level)
            mean = design.sums(found, back * trust[:, None], level)
            left = fit.left_out[:, 0]
        asked = _most_telling(design, rows, places, score)
        given, boosted, left = _boost_left(design, rows, asked, left, rng)
    spread = float(np.sqrt((left**2).mean())) if len(left) > 1 else 1.0
    numbers = Numbers(mean, spread, given, boosted, np.zeros(0), parted.loose, parted.until)
    expected = numbers.expected(np.asfortranarray(design.codes[rows]))
    return replace(numbers, quantiles=_quantiles(expected, spread)), left


def _most_telling(
    design: CodeFeatures, rows: NDArray[np.int64], places: Sequence[int], score: Floats
) -> tuple[int, ...]:
    """Keep the columns that go along with a score most, in their order; all where they are few."""
    if len(places) <= MOST_BOOSTED:
        return tuple(places)
    told = [
        float(_evidence(design.rows(rows, place), score[:, None]).max(initial=0))
        for place in places
    ]
    best = np.argsort(-np.array(told), kind="stable")[:MOST_BOOSTED]
    return tuple(places[i] for i in np.sort(best))


def _boost_left(
    design: CodeFeatures,
    rows: NDArray[np.int64],
    places: Sequence[int],
    left: Floats,
    rng: np.random.Generator,
) -> tuple[Predictors | None, "Boosted | None", Floats]:
    """Boost what is left of the scores, if folds are predicted better; gives what is left then."""
    from understudy.kernels.boosting import boost_numbers

    own = np.asfortranarray(design.codes[rows])
    groups = group_codes(np.ones(len(left), np.int64), ordered=True)
    order = np.argsort(left, kind="stable")
    group = np.empty(len(left), np.int64)
    group[order] = groups
    given = Predictors.ranked(design.codecs, places, own, group, [np.arange(len(left))])
    seen, seed = given.see(own), int(rng.integers(1 << 62))
    folds = np.array_split(rng.permutation(len(left)), FOLDS)
    paths = np.zeros(ROUNDS + 1)
    for number in range(FOLDS):
        others = np.concatenate(folds[:number] + folds[number + 1 :])
        _, path = boost_numbers(
            seen, given.sizes, left, others, folds[number], rounds=ROUNDS, seed=seed
        )
        paths += path
        if len(folds[number]) / 2 * np.log(path[0] / max(path.min(), 1e-12)) <= LEAST_GAIN:
            return None, None, left
    rounds = int(paths.argmin())
    gain = len(left) / 2 * np.log(paths[0] / max(paths[rounds], 1e-12))
    if not rounds or gain <= GAIN:
        return None, None, left
    all_rows = np.arange(len(left))
    boosted, _ = boost_numbers(
        seen, given.sizes, left, all_rows, all_rows[:0], rounds=rounds, seed=seed
    )
    return given, boosted, left * np.sqrt(paths[rounds] / paths[0])


def _quantiles(expected: Floats, spread: float) -> Floats:
    """Give even quantiles of normal draws around expectations."""
    from scipy.special import ndtr

    if not len(expected):
        expected = np.zeros(1)
    some = np.sort(expected)[:: max(1, len(expected) // 500)]
    reach = 4 * spread + 1e-9
    grid = np.linspace(some[0] - reach, some[-1] + reach, GRID)
    height = ndtr((grid[:, None] - some) / max(spread, 1e-9)).mean(axis=1)
    return np.maximum.accumulate(np.interp(np.linspace(0, 1, QUANTILES), height, grid))
