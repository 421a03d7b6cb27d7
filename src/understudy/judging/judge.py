"""Scores of real persons, judged: from what an attack gives everybody to a finding.

An attack sees the synthetic table and gives every real person a score (a hit, an error). Training
persons are counted against holdout persons, who cannot have been learnt. If the holdout is a
random part of the same data and nothing leaks, the labels training and holdout can be swapped at
will. Several ways to look (sets of keys, sensitive columns, attackers) are looks: the largest of
all of them under swapped labels gives p-values and intervals that hold for all at once (Westfall
and Young 1993), however the looks depend on each other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.judging.comparison import Comparison
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, around, wilson
from understudy.judging.register import enough
from understudy.judging.swaps import swap_labels

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Interval = tuple[float, float]
Beside = Sequence[Mapping[str, float | None]]
AT_ONCE = 32
WITHOUT_HOLDOUT = (
    "Without holdout persons, what the same attack does to people who were never in the data is "
    "not known: a leak cannot be told from what is true of people in general, nor from chance."
)
PERSONS_LIKE_THESE = "The interval is for persons drawn like these."


@dataclass(frozen=True)
class Scores:
    """What an attack gives every real person, for each look.

    Parameters
    ----------
    names : sequence of str
        The looks.
    values : array of shape (persons, looks)
        Training persons first, then holdout persons if there are any, in the order of the tables;
        nan where a person is no target of a look.
    train : int
        The number of training persons.
    beside : sequence of mappings
        Further numbers of each look: ``naive``, what a guess without the release would get, and
        ``original``, what the training table itself would give away.
    leak : {1, -1}
        1 if a leak makes the scores of training persons larger (hits), -1 if smaller (errors).
    """

    names: Sequence[str]
    values: Floats
    train: int
    beside: Beside
    leak: int = 1

    @property
    def has_control(self) -> bool:
        """Whether there are holdout persons."""
        return len(self.values) > self.train

    @property
    def sides(self) -> list[Floats]:
        """The scores of training persons, and of holdout persons if there are any."""
        return [self.values[: self.train], self.values[self.train :]][: 1 + self.has_control]

    def counts(self) -> NDArray[np.int64]:
        """Count the targets of each look: a row for training, and one for holdout."""
        return np.array([(~np.isnan(side)).sum(axis=0) for side in self.sides])

    def large_enough(self) -> tuple["Scores | None", int]:
        """Keep the looks with enough persons on either side, and count those left out."""
        kept = [i for i, persons in enumerate(self.counts().T) if enough(*persons)]
        few = len(self.names) - len(kept)
        return (self.only(kept) if kept else None), few

    def only(self, looks: Sequence[int]) -> "Scores":
        """Keep some looks."""
        return Scores(
            [self.names[i] for i in looks],
            self.values[:, looks],
            self.train,
            [self.beside[i] for i in looks],
            self.leak,
        )


@dataclass(frozen=True)
class Judgement:
    """What each look gives on training and on holdout persons, and how sure that is.

    Parameters
    ----------
    names : tuple of str
    value : array
        The statistic of training persons.
    interval : tuple
        Its interval, corrected for all looks; none where there is no way to one.
    beside : sequence of mappings
        Further numbers of each look.
    headline : int
        The look in front.
    reference : array, optional
        The statistic of holdout persons; like all that follows, only with a holdout.
    p_value : array, optional
        Corrected: the chance that any look would be as far on the bad side without a leak.
    draws : array of shape (swaps, looks), optional
        The statistic less its reference, with the labels swapped.
    spread : array, optional
        The standard deviation of the draws.
    reach : float
        How many deviations an interval must reach so that all hold at once.
    because : str
        Without a holdout, why the look in front is in front.
    """

    names: tuple[str, ...]
    value: Floats
    interval: tuple[Interval | None, ...]
    beside: Beside
    headline: int
    reference: Floats | None = None
    p_value: Floats | None = None
    draws: Floats | None = None
    spread: Floats | None = None
    reach: float = 0.0
    because: str = ""

    @property
    def p(self) -> float | None:
        """The p-value of the look in front."""
        return None if self.p_value is None else float(self.p_value[self.headline])

    @property
    def flagged(self) -> bool:
        """Whether the look in front is evidence of a leak."""
        return self.p is not None and self.p < 1 - LEVEL

    @property
    def note(self) -> str:
        """Say how many looks were taken, and what is not known without a holdout."""
        many, shown = len(self.names), self.names[self.headline]
        said = []
        if many > 1 and self.p_value is not None:
            said.append(
                f"{many:,} looks were taken; p-values and intervals hold for all of them at once. "
                f"The number shown is that of {shown}."
            )
        elif many > 1:
            said.append(
                f"{many:,} looks were taken, each by itself; the number shown is that of {shown}, "
                f"{self.because}."
            )
        if self.p_value is None:
            said.append(WITHOUT_HOLDOUT)
            said += [PERSONS_LIKE_THESE] if self.interval[self.headline] else []
        return " ".join(said)

    def part(self, look: int) -> Part:
        """Give one look as a part of a finding."""
        reference, p_value = (
            None if numbers is None else float(numbers[look])
            for numbers in (self.reference, self.p_value)
        )
        more = {**self.beside[look], "p_value": p_value}
        return Part(
            self.names[look],
            float(self.value[look]),
            reference,
            more,
            interval=self.interval[look],
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """All looks as parts of a finding."""
        return tuple(self.part(look) for look in range(len(self.names)))

    def finding(
        self,
        card: Card,
        *,
        parts: Sequence[Part] | None = None,
        baselines: Mapping[str, float | None] | None = None,
        tables: Mapping[str, TableOfNumbers] | None = None,
        notes: Sequence[str] = (),
        register: pl.DataFrame | None = None,
    ) -> Finding:
        """Put one look in front, and all looks into parts unless others are given."""
        shown = self.part(self.headline)
        own = {name: shown.more[name] for name in ("original", "naive") if name in shown.more}
        return card.finding(
            value=shown.value,
            interval=shown.interval,
            reference=shown.reference,
            baselines={**own, **(baselines or {})},
            p_value=self.p,
            flagged=self.flagged,
            parts=self.parts if parts is None else tuple(parts),
            tables=tables or {},
            note=" ".join(filter(None, notes)),
            register=register,
            draws=self.draws[:, 0] if self.draws is not None and len(self.names) == 1 else None,
        )


def judge(
    comparison: Comparison,
    scores: Scores,
    *,
    name: str,
    permutations: int = 1000,
    strata: str | None = None,
    group: str | None = None,
    bounds: Interval = (0.0, 1.0),
    alone: Callable[[Floats], Interval] | None = None,
    beyond_naive: bool = False,
) -> Judgement:
    """Compare the mean score of training persons with that of holdout persons.

    Parameters
    ----------
    name : str
        The measure's name, for its random stream.
    permutations, strata, group
        How often labels are swapped, and what the split respected.
    bounds : tuple of float
        The smallest and the largest mean that there can be.
    alone : function
        The interval of a look's scores where there is no holdout.
    beyond_naive : bool
        Without a holdout, show the look that is farthest beyond its naive guess, instead of the
        farthest.
    """
    train = scores.train
    if not scores.has_control:
        own = [column[~np.isnan(column)] for column in scores.values.T]
        return unjudged(
            scores.names,
            np.array([column.mean() for column in own]),
            scores.beside,
            leak=scores.leak,
            interval=None if alone is None else [alone(column) for column in own],
            beyond_naive=beyond_naive,
        )
    if len(scores.values) != train + comparison.height("holdout"):
        raise ValueError("one row of scores for each real person")
    # who is no target of any look need not be swapped, unless a group goes as a whole
    asked = group is not None or ~np.isnan(scores.values).all(axis=1)
    who = np.flatnonzero(np.broadcast_to(asked, len(scores.values)))
    is_train = who < train
    labels = swap_labels(
        comparison, who, is_train, permutations, name=name, strata=strata, group=group
    )
    target = ~np.isnan(scores.values[who])
    filled = np.where(target, scores.values[who], 0.0)
    value, reference = _means(is_train[None], filled, target)
    main, control = _means(labels, filled, target)
    return judge_draws(
        scores.names, value[0], reference[0], main - control,
        leak=scores.leak, bounds=bounds, beside=scores.beside,
    )  # fmt: skip


def judge_draws(
    names: Sequence[str],
    value: Floats,
    reference: Floats,
    draws: Floats,
    *,
    leak: int = 1,
    bounds: Interval = (0.0, 1.0),
    beside: Beside | None = None,
    observed: Floats | None = None,
    reach: float | None = None,
) -> Judgement:
    """Judge looks by what swapped labels give: the largest of all looks is what counts.

    Parameters
    ----------
    value, reference : array
        What each look gives on training and on holdout persons.
    draws : array of shape (swaps, looks)
        Their difference with the labels swapped, all looks by the same labels.
    observed : array, optional
        Their difference with the labels as they are, where the draws are made of another estimate
        of it than value and reference.
    reach : float, optional
        The deviations that an interval reaches; of a single look, those of the normal
        distribution may be wanted.
    """
    differs = value - reference if observed is None else observed
    p_value, spread, swapped = corrected_p_values(differs, draws, leak)
    if reach is None:
        reach = float(np.quantile(np.abs(swapped).max(axis=1), LEVEL)) if spread.any() else 0.0
    low, high = bounds
    return Judgement(
        tuple(names),
        value,
        tuple(
            (float(max(low, v - reach * s)), float(min(high, v + reach * s)))
            for v, s in zip(value, spread, strict=True)
        ),
        beside or [{}] * len(value),
        int(np.lexsort((-leak * (value - reference), p_value))[0]),
        reference,
        p_value,
        draws,
        spread,
        reach,
    )


def corrected_p_values(
    observed: Floats, draws: Floats, leak: int = 1
) -> tuple[Floats, Floats, Floats]:
    """Give the chance that any look is as far by swapped labels as each is by those that are so.

    Beside it: the deviation of each look's draws, and the draws in units of it.
    """
    spread = draws.std(axis=0, ddof=1)
    beyond = leak * (observed - draws[0]) > 1e-12
    with np.errstate(divide="ignore", invalid="ignore"):
        # where all swaps are alike, being beyond them is as far as can be
        far = np.where(spread > 0, leak * observed / spread, np.where(beyond, np.inf, 0.0))
        swapped = np.where(spread > 0, leak * draws / spread, 0.0)
    # a difference between equal sums is zero but for rounding
    at_least = swapped.max(axis=1)[:, None] >= far[None] - 1e-9
    return (1 + at_least.sum(axis=0)) / (1 + len(draws)), spread, swapped


def unjudged(
    names: Sequence[str],
    value: Floats,
    beside: Beside,
    *,
    leak: int = 1,
    interval: Sequence[Interval | None] | None = None,
    beyond_naive: bool = False,
) -> Judgement:
    """Give looks without a holdout: each by itself, and the farthest in front."""
    naive = np.array([numbers["naive"] for numbers in beside], float) if beyond_naive else 0.0
    because = "the farthest beyond its naive guess"
    if not beyond_naive:
        because = "the largest" if leak > 0 else "the smallest"
    return Judgement(
        tuple(names),
        value,
        tuple(interval or [None] * len(value)),
        beside,
        int(np.nanargmax(leak * (value - naive))),
        because=because,
    )


def share_interval(scores: Floats) -> Interval:
    """Give the interval of a share of hits, by itself."""
    return wilson(round(float(scores.sum())), len(scores))


def mean_interval(scores: Floats) -> Interval:
    """Give the normal interval of a mean between 0 and 1, by itself."""
    return around(float(scores.mean()), float(scores.std()) / len(scores) ** 0.5, 0.0, 1.0)


def _means(labels: Flags, filled: Floats, target: Flags) -> tuple[Floats, Floats]:
    """Give the mean score of persons with and without the label, for each row of labels."""
    sums = _sums(labels, filled)
    every = target.all()
    counts = labels.sum(axis=1, dtype=float)[:, None] if every else _sums(labels, target)
    counts = np.broadcast_to(counts, sums.shape)
    rest, left = filled.sum(axis=0) - sums, target.sum(axis=0) - counts
    return _ratio(sums, counts), _ratio(rest, left)


def _sums(labels: Flags, values: NDArray[Any]) -> Floats:
    """Add up the values of persons with the label, a few rows of labels at a time."""
    used = np.flatnonzero(values.any(axis=1))
    if 2 * len(used) < len(values):
        labels, values = labels[:, used], values[used]
    chosen = values.astype(np.float64)
    blocks = np.split(labels, range(AT_ONCE, len(labels), AT_ONCE))
    return np.concatenate([block.astype(np.float64) @ chosen for block in blocks])


def _ratio(sums: Floats, counts: Floats) -> Floats:
    return np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
