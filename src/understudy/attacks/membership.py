"""attack.membership: was this record in the training data? Played by refitting with and without."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.attacks.records import made_up, place_of, vulnerable
from understudy.attacks.refits import AttackSetting, Floats, Refit, World, several
from understudy.attacks.shadows import (
    NOT_USED,
    Flags,
    HitCounts,
    Planned,
    Queries,
    Runs,
    enough,
    gather,
    held_out,
    plan,
)
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.judging.findings import (
    LEVEL,
    Card,
    Finding,
    Part,
    TableOfNumbers,
    around,
    described,
)
from understudy.judging.judge import corrected_p_values
from understudy.judging.rates import EXPECTED, RATES, areas, clopper_pearson, threshold
from understudy.judging.register import register
from understudy.options import AtLeast, OneOf

FEWEST_RUNS = 8
GAMES = ("alone", "together")
CUTS = (1 / 8, 1 / 4, 1 / 2, 1.0)  # of the rows released, as in privacy.membership

CARD = Card(
    name="attack.membership",
    title="Membership, by refitting",
    meaning="How well an attacker who can run the generator tells from a synthetic table whether "
    "a given record was in the training data: the chance that a release made with the record gets "
    "the higher score than one made without. 0.5 is a coin, 1 is certainty.",
    formula="For each record attacked, the generator is refitted on the training table with and "
    "without it. Of every release: the square roots of how many rows equal the record, lie within "
    "five distances of it, share its rarest values and pairs of values or are as far out, and "
    "the distances of the nearest rows. A linear discriminant (the likelihood ratio of two normal "
    "distributions of equal spread) learns with from without on one half of the runs; the area "
    "under its ROC curve on the other half, mean over records. Runs of the other half exchanged "
    "between worlds: interval, and p-values corrected for all records (max-T): of a single record "
    "exact only if no record has an influence, of all together always. True positive "
    "rates: the threshold is chosen on the first half; Clopper–Pearson intervals",
    unit="AUC",
    better="lower",
    headline="mean area under the ROC curve over the records attacked",
    source="Stadler, Oprisanu and Troncoso 2022 (shadow models with and without a record); "
    "Houssiau et al. 2022 (queries about the record); Meeus et al. 2023 (vulnerable records); "
    "Carlini et al. 2022 (likelihood ratio, true positives at few false positives)",
    not_shown="The records attacked are those that stand most apart, and made-up ones: others are "
    "less exposed as a rule. Another attacker may ask better questions. A value near 0.5 says that "
    "this attack fails. The interval speaks of this generator and these records.",
    threat="Knows the generator and its settings, the full record, and every other record (game "
    "alone) or all but the other records attacked (game together); sees the released table. "
    "Counted against releases made without the record. Null: worlds exchanged. Positive control: "
    "bootstrap, whose area is 0.5 + (1 − 1/e)/2 = 0.816 with as many rows released as learnt.",
    opening="The risk under this attack is",
    against="a coin gets",
)


@dataclass(frozen=True)
class Targets:
    """The records attacked: rows of training first, then made-up ones."""

    rows: NDArray[np.int64]
    made_up: pl.DataFrame

    def __len__(self) -> int:
        return len(self.rows) + self.made_up.height

    @property
    def names(self) -> list[str]:
        """What to call them, without saying who they are."""
        real = [f"record {i}" for i in range(1, len(self.rows) + 1)]
        return real + [f"canary {i}" for i in range(1, self.made_up.height + 1)]

    def frame(self, setting: AttackSetting) -> pl.DataFrame:
        """Give all their values."""
        return pl.concat([setting.train.frame[self.rows], self.made_up])


@described(CARD)
def membership(
    setting: AttackSetting,
    *,
    record: int | None = None,
    records: Annotated[int, AtLeast(0)] = 4,
    canaries: Annotated[int, AtLeast(0)] = 1,
    trials: Annotated[int, AtLeast(2 * FEWEST_RUNS)] = 100,
    rows: Any = None,
    game: Annotated[str, OneOf(*GAMES)] = "alone",
    permutations: Annotated[int, AtLeast(2)] = 1000,
) -> Finding:
    """Tell releases made with a record from those made without it.

    Parameters
    ----------
    record : int, optional
        The row attacked, from 1; if not given, the records that stand most apart.
    records, canaries : int
        How many records to attack, and how many to make up of rare and extreme values.
    trials : int
        Refits of every world; half of them teach the attacker, the others test the attack.
    rows : int or list of int, optional
        How many rows are released; of several, the largest is in front and the others say what
        the first rows of a release would have told. If not given: as many as training has, and
        the first eighth, quarter and half of them.
    game : {"alone", "together"}
        Alone: with and without each record, all others being known. Together: every refit holds a
        random half of the records attacked, which takes far fewer refits.
    """
    targets = _targets(setting, record, records, canaries)
    sizes = check_sizes(rows, setting.train.height)
    base = np.delete(np.arange(setting.train.height), targets.rows)
    known = Table(setting.train.frame[base], setting.train.schema)
    queries = Queries.about(known, targets.frame(setting), sizes)
    refits = (
        plan(setting, CARD.name, _alone(setting, targets), trials)
        if game == "alone"
        else _together(setting, targets, trials)
    )
    runs = gather(setting, refits, setting.job(queries, rows=sizes[-1]))
    if not enough(runs, FEWEST_RUNS // 2):
        return CARD.failed(
            f"{runs.note} Too few refits to learn from and to test: every record needs at least "
            f"{FEWEST_RUNS} with it and {FEWEST_RUNS} without."
        )
    rng = setting.stream(CARD.name, "swaps")
    shadows = judge(runs, queries.shape, rng, permutations)
    return _finding(setting, targets, runs, shadows, sizes, game)


def _targets(setting: AttackSetting, record: int | None, records: int, many: int) -> Targets:
    if records < 0 or many < 0 or records + many < 1 or records > setting.train.height // 2:
        raise OptionError(
            f"records = {records}, canaries = {many}",
            hint="attack at least one, and at most half of the table",
        )
    if record is not None:
        chosen = np.array([place_of(setting, record)])
    else:
        setting.progress("choosing records", 0, 1)
        chosen = vulnerable(setting.train, records) if records else np.empty(0, np.int64)
    stream = setting.stream(CARD.name, "canaries")
    return Targets(chosen, made_up(setting.train, many, stream))


def _alone(setting: AttackSetting, targets: Targets) -> list[tuple[World, NDArray[np.float64]]]:
    """One world as it is, one without each record, one with each canary; nan: not asked there."""
    every = np.arange(setting.train.height)
    real = len(targets.rows)
    inside = np.concatenate([np.ones(real), np.zeros(len(targets) - real)])
    made = [(World("as it is"), inside)]
    for place, name in enumerate(targets.names):
        own = np.full(len(targets), np.nan)
        own[place] = float(place >= real)
        world = (
            World(f"without {name}", np.delete(every, targets.rows[place]))
            if place < real
            else World(f"with {name}", added=targets.made_up[place - real : place - real + 1])
        )
        made.append((world, own))
    return made


def _together(setting: AttackSetting, targets: Targets, trials: int) -> list[Planned]:
    """Worlds in pairs: a random half of the records attacked, and the other half."""
    rng = setting.stream(CARD.name, "halves")
    seeds = rng.choice(2**31, (trials, 2), replace=False)
    every, real = np.arange(setting.train.height), len(targets.rows)
    made = []
    for number in range(trials):
        drawn = rng.random(len(targets)) < 0.5
        for side, chosen in enumerate((drawn, ~drawn)):
            kept = np.delete(every, targets.rows[~chosen[:real]])
            added = targets.made_up.filter(pl.Series(chosen[real:], dtype=pl.Boolean))
            name = f"coins {number + 1}, {('heads', 'tails')[side]}"
            world = World(name, kept, added if added.height else None)
            refit = Refit(world, int(seeds[number, side]))
            made.append(Planned(refit, chosen.astype(np.float64), number % 2 == 0))
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
            [
                areas_by_world(scores[~runs.teaches, k], tested[None, :, k])[0]
                for k in range(records)
            ]
        )
        means.append(float(area.mean()))
    orders = np.array([rng.permutation(len(tested)) for _ in range(permutations)])
    draws = np.column_stack(
        [areas_by_world(scores[~runs.teaches, k], tested[orders, k]) for k in range(records)]
    )
    both = np.column_stack([draws, draws.mean(axis=1)]) - 0.5
    p_value, spread, _ = corrected_p_values(np.append(area, means[-1]) - 0.5, both)
    return Shadows(
        scores, runs.inside, runs.teaches, area, spread[:-1], p_value[:-1],
        np.array(means), float(spread[-1]), float(p_value[-1]),
    )  # fmt: skip


def areas_by_world(scores: Floats, inside: Floats) -> Floats:
    """Give the area for each row of who was inside (1), outside (0) or not asked (nan)."""
    order = np.argsort(scores)
    steps = np.empty(len(scores))  # what differs by rounding only is one
    steps[order] = np.cumsum(np.diff(scores[order], prepend=0.0) > 1e-9)
    return areas(steps[:, None], inside == 1, ~np.isnan(inside))[:, 0]


@dataclass(frozen=True)
class ThresholdHits(HitCounts):
    """What a threshold finds; so many tests with a record are ``runs`` of their own."""

    runs: int

    def interval(self, alpha: float) -> tuple[float, float]:
        """Give the exact interval of the true positive rate.

        Several records share a run, so no more tests are counted than there are runs.
        """
        counted = min(self.members, self.runs)
        low, _ = clopper_pearson(int(self.hits * counted / self.members), counted, alpha)
        _, high = clopper_pearson(-(-self.hits * counted // self.members), counted, alpha)
        return float(low), float(high)


def caught(shadows: Shadows, rate: float, place: int | None = None) -> ThresholdHits:
    """Count what a threshold finds that was chosen on the runs that teach: of one record or all."""
    places = range(shadows.scores.shape[1]) if place is None else [place]

    def scores(teaches: bool, inside: bool) -> list[Floats]:
        return [shadows.using(teaches=teaches, inside=inside, place=k) for k in places]

    limit = threshold(np.concatenate(scores(True, False)), rate)
    members, others = scores(False, True), scores(False, False)
    return ThresholdHits(
        sum(int((s > limit).sum()) for s in members),
        sum(map(len, members)),
        sum(int((s > limit).sum()) for s in others),
        sum(map(len, others)),
        max(map(len, members)),
    )


def _finding(
    setting: AttackSetting,
    targets: Targets,
    runs: Runs,
    shadows: Shadows,
    sizes: Sequence[int],
    game: str,
) -> Finding:
    value = float(shadows.mean[-1])
    p_value = float(min(shadows.p_value.min(), shadows.p_mean))
    each = [
        _of_target(name, shadows, place, len(targets)) for place, name in enumerate(targets.names)
    ]
    rates = [_pooled(shadows, rate) for rate in RATES]
    tables = {}
    if len(sizes) > 1:
        released = tuple((size, float(a)) for size, a in zip(sizes, shadows.mean, strict=True))
        tables["line:released"] = TableOfNumbers(("synthetic rows released", "AUC"), released)
    missing = [part.name for part in rates if part.value is None]
    notes = [
        f"{several(len(targets.rows), 'record')} of the training table and "
        f"{several(targets.made_up.height, 'made-up one')} were attacked, game {game}, "
        f"{sizes[-1]:,} rows released.",
        runs.note,
        NOT_USED if setting.release else "",
        f"Flagged if any of {len(targets) + 1:,} areas (each record's, and the mean) is too large "
        "for exchanged worlds, all taken together. The flag holds at its level; the p-value of a "
        "single record is exact only if no record leaks.",
        "Too few tests for some rates of false positives: it takes three times as many as one "
        "false positive needs."
        if missing
        else "",
    ]
    return CARD.finding(
        value=value,
        interval=around(value, float(shadows.spread_mean), 0.0, 1.0),
        reference=0.5,
        p_value=p_value,
        flagged=p_value <= 1 - LEVEL,
        parts=(*each, *rates),
        tables=tables,
        note=" ".join(filter(None, notes)),
        register=register(
            CARD.name,
            [*targets.rows.tolist(), *[None] * targets.made_up.height],
            targets.names,
            area=shadows.area,
            p_value=shadows.p_value,
        ),
    )


def _of_target(name: str, shadows: Shadows, place: int, looks: int) -> Part:
    """Give a record's area, and what its own threshold catches at a tenth of false positives."""
    found = caught(shadows, 0.1, place)
    low, high = found.interval((1 - LEVEL) / looks)
    area, rates = float(shadows.area[place]), found.rates()
    more = {
        "p_value": float(shadows.p_value[place]),
        "true_positives": rates.pop("true_positives"),
        "true_positives_low": low,
        "true_positives_high": high,
        **rates,
    }
    interval = around(area, float(shadows.spread[place]), 0.0, 1.0)
    return Part(name, area, 0.5, more, interval=interval)


def _pooled(shadows: Shadows, rate: float) -> Part:
    title = f"true positives at {100 * rate:g} % false positives"
    found = caught(shadows, rate)
    if found.others < EXPECTED / rate - 1e-9:
        return Part(title, None, unit="fraction")
    return Part(
        title,
        found.hits / found.members,
        found.wrong / found.others,
        unit="fraction",
        interval=found.interval(1 - LEVEL),
    )
