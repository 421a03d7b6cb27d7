"""Led numbers: columns that those before them nearly tell, such as the bill of the next month.

A tree cuts one column at a time, and many small steps along many columns are more than its rows can
tell. Where a sum over the codes of the columns before, with boosted trees for what is left, tells
a number well, that expectation is one more column that the trees may ask, and they are grown by
finer groups of the number's codes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import ColumnCodec
from understudy.synthesizers.forest.learning import CodeFeatures, fit_numbers
from understudy.synthesizers.forest.models import Codes, Trees, group_codes
from understudy.synthesizers.forest.smooth import Floats, Numbers, Parted
from understudy.synthesizers.model_file import State

Grow = Callable[[Codes, Sequence[ColumnCodec], Sequence[int], NDArray[np.int64]], Trees]

FEWEST_CODES, FEWEST_ROWS = 30, 1_000
TOLD = 0.5  # of the variance of the normal scores of rows left out
STANDS_OUT = 0.03  # of the rows: a number by itself, which nothing leads to
FINE_GROUPS, ROWS_A_FINE_GROUP = 60, 50


@dataclass(frozen=True)
class Expectation:
    """What the columns before a number lead one to expect of it: one of its codes.

    Parameters
    ----------
    numbers : Numbers
        The expected normal score.
    between : array
        The scores between neighbouring codes.
    """

    numbers: Numbers
    between: Floats

    def join(self, codes: Codes, places: Sequence[int]) -> Codes:
        """Give the columns at some places, and the expected code as one more."""
        made = np.empty((len(codes), len(places) + 1), np.uint16, order="F")
        for j, place in enumerate(places):
            made[:, j] = codes[:, place]
        nearest = np.searchsorted(self.between, self.numbers.expected(codes))
        made[:, -1] = self.numbers.loose[nearest]
        return made


@dataclass(frozen=True)
class Led:
    """Trees of a column's codes that ask the columns at some places and what is expected."""

    trees: Trees
    expectation: Expectation
    places: tuple[int, ...]

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row."""
        return self.trees.draw(self.expectation.join(codes, self.places), rng)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        made = {f"trees_{k}": v for k, v in self.trees.arrays().items()}
        made |= {f"lead_{k}": v for k, v in self.expectation.numbers.arrays().items()}
        places = np.array(self.places, np.int64)
        return {**made, "between": self.expectation.between, "places": places}

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse what leads nowhere."""
        numbers = Numbers.of(state.part("lead_"), before, size)
        between = state.array("between", float, (len(numbers.loose) - 1,), step=0)
        places = state.array("places", np.int64, (None,), 0, len(before) - 1).tolist()
        sizes = [*(before[place] for place in places), size]
        trees = Trees.of(state.part("trees_"), sizes, size)
        return cls(trees, Expectation(numbers, between), tuple(places))


def fit_led(
    design: CodeFeatures, rows: Codes, target: Codes, places: Sequence[int], place: int,
    rng: np.random.Generator, grow: Grow,
) -> Led | None:  # fmt: skip
    """Model a number by trees that see what is expected of it; none if too little is told."""
    codec = design.codecs[place]
    counts = np.bincount(target, minlength=codec.size)
    parted = Parted.of(counts, codec.bins, STANDS_OUT)
    known = np.flatnonzero(np.isin(design.codes[:, place], parted.loose))
    if len(parted.loose) < FEWEST_CODES or len(known) < FEWEST_ROWS or not places:
        return None
    numbers, left = fit_numbers(design, known, places, place, parted, rng)
    score = parted.scores[np.searchsorted(parted.loose, design.codes[known, place])]
    if (left**2).mean() > (1 - TOLD) * score.var():
        return None
    expectation = Expectation(numbers, (parted.scores[1:] + parted.scores[:-1]) / 2)
    groups = group_codes(counts, ordered=True, most=FINE_GROUPS, rows_each=ROWS_A_FINE_GROUP)
    seen, codecs = expectation.join(rows, places), [*(design.codecs[j] for j in places), codec]
    return Led(grow(seen, codecs, range(len(codecs)), groups), expectation, tuple(places))
