"""How one coded column of a small table is drawn given others: by sums over their codes.

Few rows tell a slope well and a tree badly. A column's codes are parted in classes: values that
many rows hold, words and missing values, and all other numbers as one class. Classes are drawn by a
ridge logit; the others' normal score by a ridge regression, with boosted trees for what is left
where these predict better, and normal residuals. The strength of every ridge is the one that
predicts rows left out best. What is learnt is a sum of one number for each predictor's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.synthesizers.forest.models import BOOSTED_ARRAYS, Predictors, group_codes
from understudy.synthesizers.model_file import Damaged, State

if TYPE_CHECKING:
    from understudy.kernels.boosting import Boosted

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

HEAVY = 0.08
FEWEST_FOR_SLOPE = 20
ALL = 2.0
DUMMY, CURVE = 2.0, 0.25
MOST_FEATURES = 120
FOLDS, ROUNDS, GAIN, LEAST_GAIN = 3, 60, 8.0, 1.0
MOST_BOOSTED = 12
QUANTILES, GRID = 401, 400
FEWEST_RANKED, NEAR = 100, 0.1
TAIL = 1e-4
DOUBT = 30.0


@dataclass(frozen=True)
class Parted:
    """The codes of a column as classes, and those that share one class in their order.

    Parameters
    ----------
    class_of : array
        The class of each code.
    code_of : array
        The code that each class shows; -1 is the class of the other numbers.
    loose : array
        The codes of the other numbers, in order.
    scores : array
        The normal score of each of these.
    until : array
        The share of their rows up to each of these, the last 1.
    """

    class_of: Places
    code_of: Places
    loose: Places
    scores: Floats
    until: Floats

    @classmethod
    def of(cls, counts: NDArray[np.int64], numbers: int, heavy: float = HEAVY) -> Self:
        """Part the codes of a column, numbers first, by how many rows hold each."""
        from scipy.special import ndtri

        is_loose = np.arange(len(counts)) < numbers
        is_loose &= counts < heavy * max(counts.sum(), 1)
        loose = np.flatnonzero(is_loose)
        if len(loose) < 2:
            is_loose[:] = False
            loose = loose[:0]
        own = np.flatnonzero(~is_loose)
        code_of = np.concatenate([own, np.full(min(len(loose), 1), -1)]).astype(np.int64)
        class_of = np.full(len(counts), len(own), np.int64)
        class_of[own] = np.arange(len(own))
        held = counts[loose].astype(float)
        if not held.sum():
            held += 1
        until = np.cumsum(held) / held.sum()
        scores = ndtri(np.clip(until - held / held.sum() / 2, TAIL, 1 - TAIL))
        return cls(class_of, code_of, loose, scores, until)


def features(counts: NDArray[np.int64], numbers: int) -> Floats:
    """Give what a code says as a predictor, one line a code; the last is one never shown.

    The normal score of a number and its square, and marks of words and of values that many rows
    hold; of two codes one mark is enough.
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
    for code in own:
        mark = np.zeros(len(counts) + 1)
        mark[code] = DUMMY
        made.append(mark)
    return np.column_stack(made) if made else np.empty((len(counts) + 1, 0))


@dataclass(frozen=True)
class Sums:
    """For each target a number for every code of the predictors, and one that is added."""

    places: Places
    sizes: Places
    values: Floats
    level: Floats

    def of(self, codes: Codes) -> Floats:
        """Add up, one row each."""
        from understudy.kernels.ridge import add_up

        starts = np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)
        return np.asarray(add_up(codes, self.places, starts, self.values, self.level))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        names = ("places", "sizes", "values", "level")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(cls, state: State, before: Sequence[int], targets: int) -> Self:
        """Take what was saved, over columns with so many codes each."""
        places = state.array("places", np.int64, (None,), 0, len(before) - 1)
        sizes = state.array("sizes", np.int64, places.shape, 1, MOST_CODES + 1)
        if any(before[place] + 1 != size for place, size in zip(places, sizes, strict=True)):
            raise Damaged("sums and their predictors do not fit together")
        values = state.array("values", float, (int(sizes.sum()), targets))
        return cls(places, sizes, values, state.array("level", float, (targets,)))


@dataclass(frozen=True)
class Numbers:
    """The normal score of a column's other numbers, given the columns before it.

    ``quantiles`` are those of the scores that are drawn, by which they find their code.
    """

    mean: Sums
    spread: float
    given: Predictors | None
    boosted: "Boosted | None"
    quantiles: Floats
    loose: Places
    until: Floats

    def expected(self, codes: Codes) -> Floats:
        """Give the expected score of each row."""
        made = self.mean.of(codes)[:, 0]
        if self.given is not None and self.boosted is not None:
            made = made + self.boosted.log_odds(self.given.see(codes))
        return made

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row; rows of like expectation share them out evenly."""
        from scipy.special import ndtri

        expected = self.expected(codes)
        share = evenly(expected, rng)
        drawn = expected + self.spread * ndtri(np.clip(share, TAIL, 1 - TAIL))
        heights = np.linspace(0, 1, len(self.quantiles))
        at = _even_ranks(np.interp(drawn, self.quantiles, heights), drawn)
        place = np.searchsorted(self.until, at, side="right")
        made: Codes = self.loose[np.minimum(place, len(self.loose) - 1)].astype(np.uint16)
        return made


@dataclass(frozen=True)
class Smooth:
    """Classes of a column by ridge logit, and its other numbers by their normal score."""

    code_of: Places
    classes: Sums
    numbers: Numbers | None

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""
        from understudy.kernels.ridge import softmax

        which = np.zeros(len(codes), np.int64)
        if len(self.code_of) > 1:
            until = np.cumsum(softmax(self.classes.of(codes)), axis=1)
            share = evenly(until[:, 0], rng)
            which = (share[:, None] >= until[:, :-1]).sum(axis=1)
        made = self.code_of[which]
        rows = np.flatnonzero(made < 0)
        if self.numbers is not None and len(rows):
            made[rows] = self.numbers.draw(codes[rows], rng)
        return made.astype(np.uint16)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        made: dict[str, NDArray[Any]] = {"code_of": self.code_of}
        made |= {f"classes_{k}": v for k, v in self.classes.arrays().items()}
        if (own := self.numbers) is not None:
            made |= {f"mean_{k}": v for k, v in own.mean.arrays().items()}
            made |= {"quantiles": own.quantiles, "loose": own.loose, "until": own.until}
            made["spread"] = np.array([own.spread])
            if own.given is not None:
                made |= {f"boosted_{k}": v for k, v in own.given.arrays().items()}
                made |= {f"boosted_{k}": getattr(own.boosted, k) for k in BOOSTED_ARRAYS}
        return made

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse codes beyond them."""
        code_of = state.array("code_of", np.int64, (None,), -1, size - 1)
        if not len(code_of) or (code_of[:-1] < 0).any():
            raise Damaged("the classes of a column are none, or show nothing")
        classes = Sums.restored(state.part("classes_"), before, len(code_of))
        if code_of[-1] >= 0:
            return cls(code_of, classes, None)
        loose = state.array("loose", np.int64, (None,), 0, size - 1, step=1)
        if not len(loose):
            raise Damaged("the numbers of a column show nothing")
        quantiles = state.array("quantiles", float, (QUANTILES,), step=0)
        numbers = Numbers(
            Sums.restored(state.part("mean_"), before, 1),
            float(state.array("spread", float, (1,), 0)[0]),
            *_restored_boosted(state.part("boosted_"), before),
            quantiles,
            loose,
            state.array("until", float, loose.shape, 0, 1 + 1e-9, step=0),
        )
        return cls(code_of, classes, numbers)


def _restored_boosted(
    state: State, before: Sequence[int]
) -> tuple[Predictors | None, "Boosted | None"]:
    from understudy.kernels.boosting import NODES, Boosted

    if "feature" not in state:
        return None, None
    given = Predictors.of(state, before)
    feature = state.array("feature", np.int16, (None, NODES), 0, len(given.places) - 1)
    cut = state.array("cut", np.uint16, feature.shape)
    return given, Boosted(
        0.0, feature, cut, state.array("value", np.float32, (len(feature), NODES + 1))
    )


def evenly(by: Floats, rng: np.random.Generator) -> Floats:
    """Draw shares from 0 to 1 that are spread evenly among rows that are alike in something."""
    from understudy.kernels.forest import GOLDEN

    order = rng.permutation(len(by))
    order = order[np.argsort(by[order], kind="stable")]
    made = np.empty(len(by))
    made[order] = (rng.random() + GOLDEN * np.arange(len(by))) % 1
    return made


@dataclass(frozen=True)
class CodeFeatures:
    """What the codes of all columns say as predictors, learnt from the training rows once."""

    codecs: Sequence[ColumnCodec]
    tables: tuple[Floats, ...]
    rows: tuple[Floats, ...]

    @classmethod
    def of(cls, codes: Codes, codecs: Sequence[ColumnCodec]) -> Self:
        """Part every column, and look up its rows."""
        tables = []
        for place, codec in enumerate(codecs):
            counts = np.bincount(codes[:, place], minlength=codec.size + 1)[: codec.size]
            tables.append(features(counts, codec.bins))
        rows = tuple(table[codes[:, j]] for j, table in enumerate(tables))
        return cls(codecs, tuple(tables), rows)

    def chosen(
        self, rows: NDArray[np.int64], places: Sequence[int], targets: Floats
    ) -> tuple[Floats, list[tuple[int, NDArray[np.int64]]], Floats]:
        """Give the features of rows; of too many, those that go along with a target most.

        Also which of each place are taken.
        """
        parts = [self.rows[place][rows] for place in places]
        found = [(p, np.arange(part.shape[1])) for p, part in zip(places, parts, strict=True)]
        whole = np.column_stack(parts) if parts else np.empty((len(rows), 0))
        along = _evidence(whole, targets)
        best = np.arange(whole.shape[1])
        if len(best) > MOST_FEATURES:
            best = np.sort(np.argsort(-along, kind="stable")[:MOST_FEATURES])
        if DOUBT:
            best = best[along[best] > 0]
        which = np.repeat(np.arange(len(found)), [len(own) for _, own in found])
        inside = np.concatenate([np.empty(0, np.int64), *(own for _, own in found)])
        found = [(place, inside[best[which[best] == i]]) for i, (place, _) in enumerate(found)]
        trust = along[best] / (along[best] + DOUBT) if DOUBT else np.ones(len(best))
        return whole[:, best] * trust, [(place, own) for place, own in found if len(own)], trust

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
    codes: Codes,
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
    target = codes[rows, place]
    counts = np.bincount(target, minlength=codec.size)
    parted = Parted.of(counts, codec.bins)
    classes = _fit_classes(design, rows, places, parted, target)
    numbers: Numbers | None = None
    left = np.empty(0)
    on_scale = False
    if codec.bins > 2 and places and (parted.code_of[:-1] < codec.bins).any():
        ordered = Parted.of(counts, codec.bins, ALL)
        is_number = target < codec.bins
        numbers, left = _fit_numbers(design, codes, rows[is_number], places, place, ordered, rng)
        loss = _loss_on_scale(numbers, left, ordered, parted, target[is_number])
        on_scale = loss < _loss_of_classes(classes, parted, target, is_number)
        if on_scale:
            parted, classes = ordered, _fit_classes(design, rows, places, ordered, target)
    if parted.code_of[-1] >= 0:
        numbers = None
    elif not on_scale:
        loose = rows[parted.class_of[target] == len(parted.code_of) - 1]
        numbers, left = _fit_numbers(design, codes, loose, places, place, parted, rng)
    model = Smooth(parted.code_of, classes.sums, numbers)
    seen = np.asfortranarray(codes[rows])
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


def _fit_numbers(
    design: CodeFeatures,
    codes: Codes,
    rows: NDArray[np.int64],
    places: Sequence[int],
    place: int,
    parted: Parted,
    rng: np.random.Generator,
) -> tuple[Numbers, Floats]:
    """Regress the scores of rows; gives also what is left of each when it is left out."""
    from understudy.kernels.ridge import Axes, ridge

    score = parted.scores[np.searchsorted(parted.loose, codes[rows, place])]
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
        given, boosted, left = _boost_left(design, codes, rows, asked, left, rng)
    spread = float(np.sqrt((left**2).mean())) if len(left) > 1 else 1.0
    numbers = Numbers(mean, spread, given, boosted, np.zeros(0), parted.loose, parted.until)
    expected = numbers.expected(np.asfortranarray(codes[rows]))
    return replace(numbers, quantiles=_quantiles(expected, spread)), left


def _most_telling(
    design: CodeFeatures, rows: NDArray[np.int64], places: Sequence[int], score: Floats
) -> tuple[int, ...]:
    """Keep the columns that go along with a score most, in their order; all where they are few."""
    if len(places) <= MOST_BOOSTED:
        return tuple(places)
    told = [
        float(_evidence(design.rows[place][rows], score[:, None]).max(initial=0))
        for place in places
    ]
    best = np.argsort(-np.array(told), kind="stable")[:MOST_BOOSTED]
    return tuple(places[i] for i in np.sort(best))


def _boost_left(
    design: CodeFeatures,
    codes: Codes,
    rows: NDArray[np.int64],
    places: Sequence[int],
    left: Floats,
    rng: np.random.Generator,
) -> tuple[Predictors | None, "Boosted | None", Floats]:
    """Boost what is left of the scores, if folds are predicted better; gives what is left then."""
    from understudy.kernels.boosting import boost_numbers

    own = np.asfortranarray(codes[rows])
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


def _even_ranks(at: Floats, drawn: Floats) -> Floats:
    """Put ranks in the place of heights, where many draws are spread as those of training are."""
    many = len(drawn)
    even = (np.arange(many) + 0.5) / max(many, 1)
    order = np.argsort(drawn, kind="stable")
    if many < FEWEST_RANKED or np.abs(at[order] - even).max() > NEAR:
        return at
    made = np.empty(many)
    made[order] = even
    return made
