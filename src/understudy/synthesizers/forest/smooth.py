"""How one coded column of a small table is drawn given others: by sums over their codes.

Few rows tell a slope well and a tree badly. A column's codes are parted in classes: values that
many rows hold, words and missing values, and all other numbers as one class. Classes are drawn by a
ridge logit; the others' normal score by a ridge regression, with boosted trees for what is left
where these predict better, and normal residuals. The strength of every ridge is the one that
predicts rows left out best. What is learnt is a sum of one number for each predictor's code.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES
from understudy.synthesizers.forest.models import BOOSTED_ARRAYS, Predictors
from understudy.synthesizers.model_file import Damaged, State

if TYPE_CHECKING:
    from understudy.kernels.boosting import Boosted

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]
Places = NDArray[np.int64]

HEAVY = 0.08
QUANTILES = 401
FEWEST_RANKED, NEAR = 100, 0.1
TAIL = 1e-4


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

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        made = {f"mean_{k}": v for k, v in self.mean.arrays().items()}
        made |= {"quantiles": self.quantiles, "loose": self.loose, "until": self.until}
        made["spread"] = np.array([self.spread])
        if self.given is not None:
            made |= {f"boosted_{k}": v for k, v in self.given.arrays().items()}
            made |= {f"boosted_{k}": getattr(self.boosted, k) for k in BOOSTED_ARRAYS}
        return made

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse codes beyond them."""
        loose = state.array("loose", np.int64, (None,), 0, size - 1, step=1)
        if not len(loose):
            raise Damaged("the numbers of a column show nothing")
        return cls(
            Sums.restored(state.part("mean_"), before, 1),
            float(state.array("spread", float, (1,), 0)[0]),
            *_restored_boosted(state.part("boosted_"), before),
            state.array("quantiles", float, (QUANTILES,), step=0),
            loose,
            state.array("until", float, loose.shape, 0, 1 + 1e-9, step=0),
        )


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
        return made if self.numbers is None else made | self.numbers.arrays()

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse codes beyond them."""
        code_of = state.array("code_of", np.int64, (None,), -1, size - 1)
        if not len(code_of) or (code_of[:-1] < 0).any():
            raise Damaged("the classes of a column are none, or show nothing")
        classes = Sums.restored(state.part("classes_"), before, len(code_of))
        numbers = None if code_of[-1] >= 0 else Numbers.of(state, before, size)
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
