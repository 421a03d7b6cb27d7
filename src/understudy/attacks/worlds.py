"""attack.worlds: what was the last record? The strong attacker of Latner et al. (2025)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import polars as pl

from understudy.attacks.candidates import PossibleRecords, candidates
from understudy.attacks.posterior import (
    EQUAL,
    EVERY,
    ChanceJob,
    NearRows,
    RefitCounts,
    Released,
    judge,
    knows_chances,
    normalised,
)
from understudy.attacks.records import place_of
from understudy.attacks.refits import (
    AttackSetting,
    Floats,
    Refit,
    World,
    several,
    shareable,
)
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import Outcome
from understudy.judging.findings import LEVEL, Card, Finding, Part, TableOfNumbers, described
from understudy.judging.register import register
from understudy.options import AtLeast, OneOf

MOST_EXACT = 1000
MOST_REFITTED = 64
MOST_CANDIDATES_SHOWN = 40
EVIDENCE = 3.0
WAYS = ("auto", "likelihood", "counts", "nearness")
FIRST_ROUNDS = 4
CLEAR = 0.999
STABLE = 0.03
REDRAWS = 60
MOST_CELLS = 4096
RELEASE = "release"
GIVEN_UP = 2
FEWEST_REFITS = 2

CARD = Card(
    name="attack.worlds",
    title="The last record, guessed by refitting",
    meaning="How sure an attacker who knows all other records and can run the generator becomes of "
    "the values of the last record, once the synthetic table is released.",
    formula="P(w | S) = P(S | w) / Σ_v P(S | v) over the candidates v for the last record, all "
    "equally likely before. P(S | w) is the product of the chances of the released rows once the "
    "generator is fitted in world w, where it can say them. Otherwise the generator is refitted "
    "in every world again and again; a conditional logit on counts of rows equal or near to each "
    "candidate, fitted on the refits, gives P(w | S). Flagged if the odds of the truth grew at "
    f"least {EVIDENCE:g}-fold, by the interval's lower end.",
    unit="fraction",
    better="lower",
    headline="the posterior of the record's real values",
    source="Latner, Neunhoeffer and Drechsler 2025, section 4.1; records by Meeus et al. 2023",
    not_shown="It is the risk of one record against one release, under the strongest knowledge. A "
    "low posterior for this record and this draw says nothing of other records, and little of the "
    "next draw: absence from a release informs the attacker as well.",
    threat="Knows the generator and its settings, every record but one, and what that one could "
    "be; sees the released tables. Counted against the guess without a release: one in as many as "
    "there are candidates. Null: a generator that gives the same rows whatever it learnt, "
    "whose posterior is the prior. Positive control: copies of rows, drawn again, whose posterior "
    "is known exactly.",
    opening="The posterior of the real record is",
    against="a guess without the release gets",
)


class _NoAnswerError(Exception):
    """Why there is no finding."""


@dataclass
class WorldAnswers:
    """Numbers by the place of their world and their seed; errors by the place of their world."""

    worlds: Sequence[World]
    numbers: dict[tuple[int, int], Floats] = field(default_factory=dict)
    errors: dict[int, list[str]] = field(default_factory=dict)
    release: Floats | None = None
    release_error: str = ""

    def take(self, answers: Iterable[Outcome]) -> int:
        """Take answers as they come, and count them; those that the budget cut off are none."""
        places = {world.name: place for place, world in enumerate(self.worlds)}
        taken = 0
        for answer in answers:
            if answer.kind == "out of time":
                continue
            taken += 1
            place = places.get(answer.task.world.name)
            if place is None:
                self.release, self.release_error = answer.value, answer.error
            elif answer.value is None:
                self.errors.setdefault(place, []).append(answer.error)
            else:
                self.numbers[place, answer.task.seed] = answer.value
        return taken

    @property
    def tried(self) -> int:
        """How many refits there were, those that failed included."""
        return len(self.numbers) + sum(map(len, self.errors.values()))

    @property
    def places(self) -> list[int]:
        """The worlds that have numbers."""
        return sorted({place for place, _ in self.numbers})

    @property
    def fewest(self) -> int:
        """The fewest refits of any of these."""
        return min(Counter(place for place, _ in self.numbers).values(), default=0)

    def alive(self) -> list[int]:
        """Give the worlds that are worth another refit."""
        given_up = {place for place, errors in self.errors.items() if len(errors) >= GIVEN_UP}
        return sorted(set(range(len(self.worlds))) - given_up | set(self.places))

    def counts(self, shape: tuple[int, int]) -> RefitCounts:
        """Give the counts of the worlds that have any: of each candidate, of the shape given."""
        keys, places = sorted(self.numbers), self.places
        world = np.searchsorted(places, [place for place, _ in keys])
        return RefitCounts(
            np.array([self.numbers[key].reshape(shape)[places] for key in keys]), world
        )

    def failure(self, truth: int, generator: str) -> str:
        """Say why there is no answer: no world but those that fail may be missing.

        A world that was not reached cannot compete, and the real one would win for want of time.
        The number of the real world stays unsaid: with the seed it tells the values.
        """
        fine = self.places
        if truth in self.errors and truth not in fine:
            return f"{generator} failed in the real world: {shareable(self.errors[truth][0])}"
        if len(set(fine) | set(self.errors)) < len(self.worlds):
            return "the budget ended before every world was refitted; give more (budget, refits)"
        if len(fine) < FEWEST_REFITS:
            return f"{generator} failed in all worlds but one. {self.note()}"
        return ""

    def note(self) -> str:
        """Say what failed, by the name of the world, and what was left out."""
        dead = sorted(set(self.errors) - set(self.places))
        some = sorted(set(self.errors) - set(dead))
        said = []
        if dead:
            said.append(
                f"{several(len(dead), 'world')} failed and left out ({self._first_errors(dead)}): "
                f"the posterior and the guess are among the other {len(self.places):,}."
            )
        if some:
            many = sum(len(self.errors[place]) for place in some)
            said.append(f"{several(many, 'further refit')} failed ({self._first_errors(some)}).")
        return " ".join(said)

    def _first_errors(self, places: Sequence[int]) -> str:
        told = [f"{self.worlds[p].name}: {shareable(self.errors[p][0])}" for p in places[:3]]
        return "; ".join(told) + ("; …" if len(places) > len(told) else "")


@dataclass(frozen=True)
class CandidateChances:
    """The chance of each candidate, and what it rests on.

    ``posterior`` is that of the candidates at ``places``; the generator failed in other worlds.
    """

    posterior: Floats
    places: list[int]
    note: str
    parts: tuple[Part, ...]
    interval: tuple[float, float] | None = None
    is_exact: bool = False


@described(CARD)
def worlds(
    setting: AttackSetting,
    *,
    record: int | None = None,
    columns: Sequence[str] | str | None = None,
    most: int | None = None,
    alternatives: int = 15,
    copies: int = 1,
    by: Annotated[str, OneOf(*WAYS)] = "auto",
    rounds: Annotated[int, AtLeast(2)] = 200,
) -> Finding:
    """Guess the last record from what the generator makes in every world that it allows.

    Parameters
    ----------
    record : int, optional
        The row attacked, from 1; the record that stands most apart if not given.
    columns : list of str, optional
        What the attacker does not know of the record; all columns if not given.
    most : int, optional
        The most candidates when all combinations of values are tried; 1,000 if not given, 64 where
        the generator is refitted again and again.
    alternatives : int
        How many other records lend their values as candidates where there are more.
    copies : int
        How many tables the attack releases itself, where none is given.
    by : {"auto", "likelihood", "counts", "nearness"}
        How worlds are weighed: by exact chances where the generator knows them, by cells in
        small tables of categories, by rows near to the candidates otherwise.
    rounds : int
        The most refits of each world.
    """
    exact = knows_chances(setting.generator, setting.train)
    if by == "likelihood" and not exact:
        raise OptionError(
            f"{setting.generator.name} cannot say how likely rows are",
            hint="use by=auto; trees, independent and bootstrap can",
        )
    exact = exact and by in ("auto", "likelihood")
    place = place_of(setting, record)
    cap = most if most is not None else MOST_EXACT if exact else MOST_REFITTED
    stream = setting.stream(CARD.name, "candidates")
    among = candidates(setting.train, place, columns, cap, alternatives, stream)
    every = among.worlds(setting.train, place)
    try:
        if exact:
            weighed = _by_likelihood(setting, every, among.truth, copies)
        else:
            near, how = _near_rows(setting, among, place, by)
            weighed = _by_refits(setting, every, among.truth, copies, rounds, near, how)
    except _NoAnswerError as error:
        return CARD.failed(str(error))
    return _finding(place, among, weighed, is_named=record is not None)


def _by_likelihood(
    setting: AttackSetting, worlds: Sequence[World], truth: int, copies: int
) -> CandidateChances:
    """Fit each world once; the chances of the released rows are exact."""
    released, train = setting.release, setting.train
    if not released:
        setting.progress("making a release", 0, 1)
        made = setting.generator(train, train.height, copies, _seed(setting))
        released = tuple(Table.of(frame, train.schema) for frame in made)
    base = Table(train.frame, train.schema)
    job = ChanceJob(setting.generator, base, Released.of(released), released[0].height)
    answers = WorldAnswers(worlds)
    places = _truth_first(range(len(worlds)), truth)
    answers.take(setting.refit(job, [Refit(worlds[place], 0) for place in places]))
    if failure := answers.failure(truth, setting.generator.name):
        raise _NoAnswerError(failure)
    logs, impossible = np.array([answers.numbers[place, 0] for place in answers.places]).T
    note = (
        f"{several(len(released), 'table')} released; the chance of all their rows was computed "
        f"exactly in {several(len(logs), 'world')}."
    )
    strange = int(impossible.min())
    if strange:
        note += (
            f" {several(strange, 'row')} of the release cannot come from "
            f"{setting.generator.name} in any world: was it made otherwise?"
        )
    return CandidateChances(
        normalised(logs),
        answers.places,
        f"{note} {answers.note()}".strip(),
        _counted(len(released), len(logs)),
        is_exact=True,
    )


def _near_rows(
    setting: AttackSetting, among: PossibleRecords, record: int, by: str
) -> tuple[NearRows, str]:
    """Choose what is counted: equal rows where all values are categories, else near ones too."""
    train = setting.train
    known = Table(train.frame[np.delete(np.arange(train.height), record)], train.schema)
    small = not any(train.schema[name].is_numeric for name in train.schema.modelled)
    small &= len(train.modelled.unique()) <= MOST_CELLS
    if by == "counts" and not small:
        raise OptionError(
            "counts need a small table of categories alone", hint="use by=auto or by=nearness"
        )
    if small and by != "nearness":
        return NearRows.of(known, among.rows, EQUAL), "counts of equal rows, other worlds pooled"
    return NearRows.of(known, among.rows, EVERY), "counts of rows near to each candidate"


def _by_refits(
    setting: AttackSetting,
    worlds: Sequence[World],
    truth: int,
    copies: int,
    rounds: int,
    near: NearRows,
    how: str,
) -> CandidateChances:
    """Refit worlds, twice as often at every look, until the answer is clear or time is up."""
    name, copies = setting.generator.name, len(setting.release) or copies
    heights = {table.height for table in setting.release} or {setting.train.height}
    if len(heights) > 1:
        raise DataError(
            f"the released tables have different numbers of rows: {sorted(heights)}",
            hint="attack those of one size together",
        )
    job = setting.job(near, rows=heights.pop(), copies=copies)
    shape = (len(worlds), near.kinds)
    seen = near(setting.release) if setting.release else None
    seeds = setting.stream(CARD.name, "refits").integers(1, 2**31, rounds)
    answers, before, is_short = WorldAnswers(worlds), None, False
    done, stop, ended = 0, min(FIRST_ROUNDS, rounds), "as many as were allowed"
    while done < rounds:
        tasks = [
            Refit(worlds[place], int(seed))
            for seed in seeds[done:stop]
            for place in _truth_first(answers.alive(), truth)
        ]
        if setting.refits is not None:
            room = max(0, setting.refits - answers.tried)
            is_short = room < len(tasks)
            tasks = tasks[:room]
        if seen is None:
            tasks.insert(0, Refit(World(RELEASE), _seed(setting)))
        total = answers.tried + len(tasks)
        is_short |= answers.take(setting.refit(job, tasks, total)) < len(tasks)
        seen = answers.release if seen is None else seen
        if seen is None:
            error = answers.release_error
            raise _NoAnswerError(
                f"{name} failed to make a release: {shareable(error)}"
                if error
                else "the budget ended before a release was made"
            )
        if failure := answers.failure(truth, name):
            raise _NoAnswerError(failure)
        places, stream = answers.places, setting.stream(CARD.name, "intervals")
        judged = judge(answers.counts(shape), seen.reshape(shape)[places], stream, REDRAWS)
        posterior = np.zeros(len(worlds))
        posterior[places] = judged.posterior
        if is_short:
            ended = "until the budget was used up"
            break
        if before is not None:
            moved = float(np.abs(posterior - before).sum()) / 2
            if posterior.max() > CLEAR or moved < STABLE:
                ended = "until the answer was clear"
                break
        before, done, stop = posterior, stop, min(2 * stop, rounds)
    interval = None
    if answers.fewest >= FEWEST_REFITS:
        redrawn = judged.redrawn[:, places.index(truth)]
        low, high = np.quantile(redrawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        interval = float(low), float(high)
    many = len(answers.numbers)
    note = (
        f"{several(copies, 'table')} released. Worlds were weighed by {how}, after "
        f"{several(many, 'refit')} of {name}, {ended}. {answers.note()}"
    )
    mean = Part("mean posterior of the real world, over refits", judged.mean, 1 / len(places))
    return CandidateChances(
        judged.posterior, places, note.strip(), (mean, *_counted(copies, many)), interval
    )


def _truth_first(places: Sequence[int] | range, truth: int) -> list[int]:
    """Put the real world first: without it there is no answer when the time is short."""
    return sorted(places, key=lambda place: (place != truth, place))


def _seed(setting: AttackSetting) -> int:
    return int(setting.stream(CARD.name, RELEASE).integers(1, 2**31))


def _counted(tables: int, refits: int) -> tuple[Part, Part]:
    return Part("tables released", tables, unit=" "), Part("refits", refits, unit=" ")


def _finding(
    place: int, among: PossibleRecords, weighed: CandidateChances, *, is_named: bool
) -> Finding:
    posterior, many = weighed.posterior, len(weighed.places)
    value, prior = float(posterior[weighed.places.index(among.truth)]), 1 / many
    rank = 1 + int((posterior > value).sum())
    interval = (value, value) if weighed.is_exact else weighed.interval
    if weighed.is_exact:
        ends = "The answer is exact for this release."
    elif interval is None:
        ends = (
            f"Some world was refitted fewer than {FEWEST_REFITS} times: there is no interval, and "
            "nothing is flagged. Give more (budget, refits)."
        )
    else:
        interval = min(interval[0], value), max(interval[1], value)
        ends = "The interval is for this release: it covers what the refits leave open."
    how = (
        "A record named by the user was attacked."
        if is_named
        else "The record that stands most apart from all others was attacked."
    )
    note = f"{how} The candidates are {among.how}. {weighed.note} {ends}"
    return CARD.finding(
        value=value,
        interval=interval,
        reference=prior,
        flagged=interval is not None and _odds(interval[0]) >= EVIDENCE * _odds(prior),
        parts=(
            Part("rank of the real record", rank, more={"candidates": many}, unit=f"of {many:,}"),
            Part("highest posterior", float(posterior.max()), prior),
            Part(
                "entropy of the posterior", _entropy(posterior), float(np.log2(many)), unit="bits"
            ),
            *weighed.parts,
        ),
        tables={"histogram:posterior by rank": _ranked(posterior)},
        note=note,
        register=_register(place, among, weighed),
    )


def _odds(share: float) -> float:
    return share / max(1 - share, 1e-300)


def _entropy(posterior: Floats) -> float:
    present = posterior[posterior > 0]
    return max(0.0, -float((present * np.log2(present)).sum()))


def _ranked(posterior: Floats) -> TableOfNumbers:
    """Give the posterior beside the prior, likeliest first: which candidate it is stays unsaid."""
    ranked = np.sort(posterior)[::-1][:MOST_CANDIDATES_SHOWN]
    rows = tuple((i, float(p), 1 / len(posterior)) for i, p in enumerate(ranked, start=1))
    return TableOfNumbers(("rank", "posterior", "prior"), rows)


def _register(record: int, among: PossibleRecords, weighed: CandidateChances) -> pl.DataFrame:
    """List all candidates; those whose worlds failed have no posterior."""
    many = len(among)
    failed = np.setdiff1d(np.arange(many), weighed.places)
    ranked = np.argsort(-weighed.posterior, kind="stable")
    order = np.concatenate([np.array(weighed.places)[ranked], failed])
    chances = [*weighed.posterior[ranked].tolist(), *[None] * len(failed)]
    return register(
        CARD.name, [record] * many, "exact chances" if weighed.is_exact else "refits", most=None,
        candidate=among.in_words().gather(order).to_list(),
        is_real=order == among.truth,
        posterior=chances,
        prior=[None if chance is None else 1 / len(weighed.places) for chance in chances],
    )  # fmt: skip
