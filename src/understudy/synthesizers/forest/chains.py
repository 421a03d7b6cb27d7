"""Chained numbers: a column that follows another one, such as the bills of two months.

Trees over a number's codes see a few dozen groups of them; where one number follows another
closely, that is too coarse. Most rows then draw the step from where the other number leads one to
expect the value. Codes that stand out (a value of many rows, a missing value, a word) have no
place in a chain: whether a row shows one of them is drawn before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MOST_CODES, ColumnCodec
from understudy.synthesizers.forest.models import Codes, Trees
from understudy.synthesizers.model_file import Damaged, State

Links = NDArray[np.int64]

FEWEST_CODES, FEWEST_ROWS = 30, 1_000
CLOSE = 0.8
REACH, WITHIN = 60, 0.99
SHARE = 0.8
HEAVY = 0.03


@dataclass(frozen=True)
class Chain:
    """Which number leads to which, in places along the chain.

    Parameters
    ----------
    column : int
        Where the column that leads stands.
    expected : array
        For each of its codes the place that it leads to; -1 where it has no place in the chain.
    place_of : array
        The place of each code of the column that follows; -1 where it has none.
    code_at : array
        The code at each place.
    reach : int
        The longest step.
    """

    column: int
    expected: Links
    place_of: Links
    code_at: Links
    reach: int

    def steps(self, codes: Codes, target: Codes) -> tuple[NDArray[np.bool_], Codes]:
        """Say which rows are in the chain, and give the steps of these, from 0 on."""
        from_here, there = self.expected[codes[:, self.column]], self.place_of[target]
        chained = (from_here >= 0) & (there >= 0)
        step = np.clip(there[chained] - from_here[chained], -self.reach, self.reach)
        return chained, (step + self.reach).astype(np.uint16)


@dataclass(frozen=True)
class Chained:
    """Trees of a column's codes, and trees of its steps along a chain."""

    direct: Trees
    steps: Trees
    chain: Chain

    def draw(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw a code for each row; for most of those in the chain, draw the step instead."""
        made, chain = self.direct.draw(codes, rng), self.chain
        from_here = chain.expected[codes[:, chain.column]]
        again = (from_here >= 0) & (chain.place_of[made] >= 0) & (rng.random(len(made)) < SHARE)
        rows = np.flatnonzero(again)
        step = self.steps.draw(codes[rows], rng).astype(np.int64) - chain.reach
        place = np.clip(from_here[rows] + step, 0, len(chain.code_at) - 1)
        made[rows] = chain.code_at[place]
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give what is to be saved."""
        chain = self.chain
        parts = {f"direct_{k}": v for k, v in self.direct.arrays().items()}
        parts |= {f"steps_{k}": v for k, v in self.steps.arrays().items()}
        own = np.array([chain.column, chain.reach], np.int64)
        links = {"expected": chain.expected, "place_of": chain.place_of, "code_at": chain.code_at}
        return {**parts, "chain": own, **links}

    @classmethod
    def of(cls, state: State, before: Sequence[int], size: int) -> Self:
        """Take what was saved, of a column with so many codes; refuse places beyond the chain."""
        column, reach = state.array("chain", np.int64, (2,), 0, MOST_CODES).tolist()
        direct = Trees.of(state.part("direct_"), before, size)
        steps = Trees.of(state.part("steps_"), before, 2 * reach + 1)
        if column not in direct.given.places:
            raise Damaged("a chain begins nowhere")
        code_at = state.array("code_at", np.int64, (None,), 0, size - 1)
        last = len(code_at) - 1
        chain = Chain(
            column,
            state.array("expected", np.int64, (before[column] + 1,), -1, last),
            state.array("place_of", np.int64, (size + 1,), -1, last),
            code_at,
            reach,
        )
        return cls(direct, steps, chain)


def find_chain(
    codes: Codes,
    target: Codes,
    codec: ColumnCodec,
    codecs: Sequence[ColumnCodec],
    places: Sequence[int],
) -> Chain | None:
    """Find the number before it that a column follows most closely, if one is close enough."""
    there = _places(target, codec)
    if there.max(initial=-1) + 1 < FEWEST_CODES:
        return None
    best, chosen = CLOSE, None
    for column in places:
        if not codecs[column].column.is_numeric:
            continue
        here = _places(codes[:, column], codecs[column])
        both = (here[codes[:, column]] >= 0) & (there[target] >= 0)
        if here.max(initial=-1) + 1 < FEWEST_CODES or both.sum() < FEWEST_ROWS:
            continue
        one, other = here[codes[both, column]], there[target[both]]
        if one.std() > 0 and other.std() > 0 and (close := np.corrcoef(one, other)[0, 1]) > best:
            best, chosen = float(close), (column, here, both)
    if chosen is None:
        return None
    column, here, both = chosen
    one, other = here[codes[both, column]], there[target[both]]
    leads_to = np.quantile(other, _middles(one, int(here.max()) + 1)).round().astype(np.int64)
    expected = np.where(here >= 0, leads_to[here], -1)
    far = int(np.quantile(np.abs(other - leads_to[one]), WITHIN))
    return Chain(column, expected, there, np.flatnonzero(there >= 0), min(max(far, 5), REACH))


def _places(codes: Codes, codec: ColumnCodec) -> Links:
    """Number the codes that may be in a chain: those of numbers that do not stand out."""
    share = np.bincount(codes, minlength=codec.size + 1)[: codec.size + 1] / max(len(codes), 1)
    fits = (np.arange(codec.size + 1) < codec.bins) & (share < HEAVY)
    return np.where(fits, np.cumsum(fits) - 1, -1)


def _middles(places: Links, size: int) -> NDArray[np.float64]:
    """Give the share of rows below the middle of each place."""
    counts = np.bincount(places, minlength=size)
    return np.asarray((np.cumsum(counts) - counts / 2) / max(len(places), 1))
