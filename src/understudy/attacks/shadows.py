"""Runs with and without records: learnt on some, tested on others, and worlds exchanged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.features import discriminant, judged
from understudy.attacks.games import Floats
from understudy.attacks.runs import Runs
from understudy.judging.rates import clopper_pearson, threshold

FOLDS = 4
SMALL = 1e-3

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Shadows:
    """How well runs with a record are told from runs without it.

    Parameters
    ----------
    scores : array of shape (runs, records)
        Less the mean of the runs that taught without the record, by their deviation.
    inside : array of shape (runs, records)
        1 with the record, 0 without, nan where it was not asked for.
    teaches : array of bool
        Runs that taught; the others test.
    area, spread, p_value : array
        Of each record in the runs that test; the deviation with worlds exchanged; corrected.
    mean : array
        The mean area over records, for each number of rows released.
    """

    scores: Floats
    inside: Floats
    teaches: Flags
    area: Floats
    spread: Floats
    p_value: Floats
    mean: Floats
    spread_mean: float
    p_mean: float

    def using(self, *, teaches: bool, inside: bool, place: int) -> Floats:
        """Give the scores of a record in runs that teach or test, with or without it."""
        chosen = (self.teaches == teaches) & (self.inside[:, place] == inside)
        made: Floats = self.scores[chosen, place]
        return made


def enough(runs: Runs, fewest: int) -> bool:
    """Tell whether every record has so many runs of each kind, with and without it."""
    return all(
        int(((runs.inside[runs.teaches == teaches] == side).sum(axis=0)).min(initial=fewest))
        >= fewest
        for teaches in (True, False)
        for side in (0.0, 1.0)
    )


def judge(
    runs: Runs, shape: tuple[int, int, int], rng: np.random.Generator, permutations: int
) -> Shadows:
    """Learn on the runs that teach, test on the others, and exchange worlds among those.

    Without any influence of the records all runs are alike, so that what a world is called may be
    exchanged between runs. All records are exchanged together: the largest of their areas, each by
    its own deviation, is what counts. The test whether any record leaks is exact; which
    one does is told exactly only if no other leaks, since its runs are then not all alike.
    """
    sizes, records, width = shape
    features = runs.features.reshape(-1, sizes, records, width)
    means, scores = [], np.empty((0, 0))
    area = np.empty(0)
    tested = runs.inside[~runs.teaches]
    for size in range(sizes):
        scores = np.column_stack(
            [
                held_out(features[:, size, k], runs.inside[:, k], runs.teaches)
                for k in range(records)
            ]
        )
        area = np.array(
            [_areas(scores[~runs.teaches, k], tested[None, :, k])[0] for k in range(records)]
        )
        means.append(float(area.mean()))
    orders = np.array([rng.permutation(len(tested)) for _ in range(permutations)])
    draws = np.column_stack(
        [_areas(scores[~runs.teaches, k], tested[orders, k]) for k in range(records)]
    )
    both = np.column_stack([draws, draws.mean(axis=1)]) - 0.5
    spread = both.std(axis=0, ddof=1)
    by = np.where(spread > 0, spread, np.inf)
    found = (np.append(area, means[-1]) - 0.5) / by
    largest = (both / by).max(axis=1)
    p_value = (1 + (largest[:, None] >= found - 1e-9).sum(axis=0)) / (1 + permutations)
    return Shadows(
        scores, runs.inside, runs.teaches, area, spread[:-1], p_value[:-1],
        np.array(means), float(spread[-1]), float(p_value[-1]),
    )  # fmt: skip


def held_out(features: Floats, own: Floats, teaches: Flags) -> Floats:
    """Score all runs; those that teach by what was learnt on others, for honest thresholds."""
    teach = np.flatnonzero(teaches & ~np.isnan(own))
    made = _learnt(features, own, teach)
    # with and without take turns, so that every fold has both
    turn = np.empty(len(teach), np.int64)
    for side in (0, 1):
        chosen = own[teach] == side
        turn[chosen] = np.arange(int(chosen.sum())) % FOLDS
    for fold in range(FOLDS):
        made[teach[turn == fold]] = _learnt(features, own, teach[turn != fold])[teach[turn == fold]]
    return made


def _learnt(features: Floats, own: Floats, teach: NDArray[np.int64]) -> Floats:
    """Learn on these runs, and score all by their distance to the mean run without the record."""
    score = judged(features, discriminant(features[teach], own[teach] == 1))
    with_, without = (score[teach[own[teach] == side]] for side in (1, 0))
    # where runs without the record are all alike, their distance to the others is the scale
    spread = float(np.hypot(without.std(), SMALL * (with_.mean() - without.mean())))
    made: Floats = (score - without.mean()) / (spread if spread > 0 else 1.0)
    return made


def _areas(scores: Floats, inside: Floats) -> Floats:
    """Give the area for each row of who was inside (1), outside (0) or not asked (nan)."""
    larger = (scores[:, None] > scores) + 0.5 * (np.abs(scores[:, None] - scores) <= 1e-9)
    larger = np.minimum(larger, 1.0)
    with_, without = (inside == 1).astype(np.float64), (inside == 0).astype(np.float64)
    pairs = with_.sum(axis=1) * without.sum(axis=1)
    won = ((with_ @ larger) * without).sum(axis=1)
    made: Floats = np.divide(won, pairs, out=np.full(len(pairs), 0.5), where=pairs > 0)
    return made


@dataclass(frozen=True)
class Caught:
    """How many tests a threshold calls members; of how many with the record, and without it.

    ``runs`` is how many tests with a record are runs of their own.
    """

    hits: int
    members: int
    wrong: int
    others: int
    runs: int

    def interval(self, alpha: float) -> tuple[float, float]:
        """Give the exact interval of the true positive rate.

        Several records share a run, so no more tests are counted than there are runs.
        """
        counted = min(self.members, self.runs)
        low, _ = clopper_pearson(int(self.hits * counted / self.members), counted, alpha)
        _, high = clopper_pearson(-(-self.hits * counted // self.members), counted, alpha)
        return float(low), float(high)


def caught(shadows: Shadows, rate: float, place: int | None = None) -> Caught:
    """Count what a threshold finds that was chosen on the runs that teach: of one record or all."""
    places = range(shadows.scores.shape[1]) if place is None else [place]

    def scores(teaches: bool, inside: bool) -> list[Floats]:
        return [shadows.using(teaches=teaches, inside=inside, place=k) for k in places]

    limit = threshold(np.concatenate(scores(True, False)), rate)
    members, others = scores(False, True), scores(False, False)
    return Caught(
        sum(int((s > limit).sum()) for s in members),
        sum(map(len, members)),
        sum(int((s > limit).sum()) for s in others),
        sum(map(len, others)),
        max(map(len, members)),
    )
