"""The worlds of an attack fitted, once or again and again, until the answer is clear."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.attacks.candidates import Candidates
from understudy.attacks.games import Floats, Task, World
from understudy.attacks.kept import FEWEST, Kept, several
from understudy.attacks.likelihoods import Chances, Released
from understudy.attacks.posterior import Judged, Refits, judge, normalised
from understudy.attacks.setting import Setting
from understudy.attacks.traces import EQUAL, EVERY, Near
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.judging.findings import LEVEL, Part

FIRST_ROUNDS = 4
CLEAR = 0.999
STABLE = 0.03
REDRAWS = 60
MOST_CELLS = 4096
NAME = "attack.worlds"
RELEASE = "release"
CLEAR_NOW = "until the answer was clear"


@dataclass(frozen=True)
class Weighed:
    """The chance of each candidate, and what it rests on; or why there is none.

    ``posterior`` is that of the candidates at ``places``; the generator failed in other worlds.
    """

    posterior: Floats
    places: list[int]
    note: str = ""
    interval: tuple[float, float] | None = None
    parts: tuple[Part, ...] = ()
    is_exact: bool = False
    failed: str = ""

    @classmethod
    def none(cls, why: str) -> "Weighed":
        """Say why there is no answer."""
        return cls(np.empty(0), [], failed=why)


def by_likelihood(setting: Setting, worlds: Sequence[World], truth: int, copies: int) -> Weighed:
    """Fit each world once; the chances of the released rows are exact."""
    released = setting.release
    if not released:
        setting.progress("making a release", 0, 1)
        made = setting.generator(setting.train, setting.train.height, copies, _seed(setting))
        released = tuple(Table.of(frame, setting.train.schema) for frame in made)
    base = Table(setting.train.frame, setting.train.schema)
    game = Chances(setting.generator, base, Released.of(released), released[0].height)
    tasks = [Task(worlds[place], 0) for place in _truth_first(range(len(worlds)), truth)]
    kept = Kept(worlds)
    kept.take(setting.play(game, tasks))
    if failed := kept.failure(truth, setting.generator.name):
        return Weighed.none(failed)
    found = {place: numbers for (place, _), numbers in sorted(kept.numbers.items())}
    logs = np.array([total for total, _ in found.values()])
    note = (
        f"{several(len(released), 'table')} released; the chance of all their rows was computed "
        f"exactly in {several(len(found), 'world')}."
    )
    strange = min(int(impossible) for _, impossible in found.values())
    if strange:
        note += (
            f" {several(strange, 'row')} of the release cannot come from "
            f"{setting.generator.name} in any world: was it made otherwise?"
        )
    return Weighed(
        normalised(logs),
        list(found),
        " ".join(filter(None, [note, kept.note()])),
        is_exact=True,
        parts=(Part("tables released", len(released), unit=" "), _refits(len(found))),
    )


def by_refits(
    setting: Setting,
    worlds: Sequence[World],
    among: Candidates,
    record: int,
    copies: int,
    by: str,
    rounds: int,
) -> Weighed:
    """Refit worlds round after round, until the answer is clear or the means are used up."""
    near, how = _way(setting, among, record, by)
    play = _Rounds(setting, worlds, among.truth, near, copies)
    before: Floats | None = None
    judged: Judged | None = None
    ended = "as many as were allowed"
    for refits, seen in play.go(rounds):
        stream = setting.stream(NAME, "intervals")
        judged = judge(refits, seen, stream, REDRAWS)
        posterior = np.zeros(len(worlds))
        posterior[play.places] = judged.posterior
        if before is not None and not play.is_short:
            moved = float(np.abs(posterior - before).sum()) / 2
            if posterior.max() > CLEAR or moved < STABLE:
                ended = CLEAR_NOW
                break
        before = posterior
    else:
        ended = "until the budget was used up" if play.is_short else ended
    if play.failed or judged is None:
        return Weighed.none(play.failed or "the budget allowed no refit")
    interval = None
    if play.kept.fewest >= FEWEST:
        redrawn = judged.redrawn[:, play.places.index(among.truth)]
        low, high = np.quantile(redrawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        interval = float(low), float(high)
    done = len(play.kept.numbers)
    note = (
        f"{several(play.copies, 'table')} released. Worlds were weighed by {how}, after "
        f"{several(done, 'refit')} of {setting.generator.name}, {ended}."
    )
    return Weighed(
        judged.posterior,
        play.places,
        " ".join(filter(None, [note, play.kept.note()])),
        interval,
        (
            Part(
                "mean posterior of the real world, over refits", judged.mean, 1 / len(play.places)
            ),
            Part("tables released", play.copies, unit=" "),
            _refits(done),
        ),
    )


def _way(setting: Setting, among: Candidates, record: int, by: str) -> tuple[Near, str]:
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
        return Near.of(known, among.rows, EQUAL), "counts of equal rows, other worlds pooled"
    return Near.of(known, among.rows, EVERY), "counts of rows near to each candidate"


class _Rounds:
    """Refits of all worlds, twice as many at every look."""

    def __init__(
        self,
        setting: Setting,
        worlds: Sequence[World],
        truth: int,
        near: Near,
        copies: int,
    ) -> None:
        self.setting, self.worlds, self.truth, self.near = setting, worlds, truth, near
        self.copies = len(setting.release) or copies
        heights = {table.height for table in setting.release} or {setting.train.height}
        if len(heights) > 1:
            raise DataError(
                f"the released tables have different numbers of rows: {sorted(heights)}",
                hint="attack those of one size together",
            )
        self.rows = heights.pop()
        self.kept = Kept(worlds)
        self.places: list[int] = []
        self.failed, self.is_short = "", False

    def go(self, rounds: int) -> Iterator[tuple[Refits, Floats]]:
        """Give after each look the refits of the worlds that have any, and what was released."""
        setting, name = self.setting, self.setting.generator.name
        seeds = setting.stream(NAME, "refits").integers(1, 2**31, rounds)
        done, stop = 0, min(FIRST_ROUNDS, rounds)
        seen = self.near(setting.release) if setting.release else None
        while done < rounds and not self.is_short:
            tasks = [
                Task(self.worlds[place], int(seed))
                for seed in seeds[done:stop]
                for place in _truth_first(self.kept.alive(), self.truth)
            ]
            if setting.refits is not None:
                room = max(0, setting.refits - self.kept.tried)
                self.is_short = room < len(tasks)
                tasks = tasks[:room]
            if seen is None:
                tasks.insert(0, Task(World(RELEASE), _seed(setting)))
            asked, total = len(tasks), self.kept.tried + len(tasks)
            answers = setting.refit(
                tasks, self.near, rows=self.rows, copies=self.copies, total=total
            )
            self.is_short |= self.kept.take(answers) < asked
            if seen is None:
                seen = self.kept.release
                if seen is None:
                    self.failed = self.kept.release_failure(name)
                    return
            self.failed = self.kept.failure(self.truth, name)
            if self.failed:
                return
            shape = (len(self.worlds), self.near.kinds)
            refits, self.places = self.kept.refits(shape)
            yield refits, seen.reshape(shape)[self.places]
            done, stop = stop, min(2 * stop, rounds)


def _truth_first(places: Sequence[int] | range, truth: int) -> list[int]:
    """Put the real world first: without it there is no answer when the time is short."""
    return sorted(places, key=lambda place: (place != truth, place))


def _seed(setting: Setting) -> int:
    return int(setting.stream(NAME, RELEASE).integers(1, 2**31))


def _refits(many: int) -> Part:
    return Part("refits", many, unit=" ")
