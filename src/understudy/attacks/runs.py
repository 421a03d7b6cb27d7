"""Refits that teach an attacker and refits that test the attack, gathered in a fixed order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.attacks.games import Floats, Summary, Task, World
from understudy.attacks.reasons import shareable
from understudy.attacks.setting import Setting
from understudy.attacks.workers import NO_TIME
from understudy.data.tables import Table

SHOWN = 3
HOPELESS = 20
NOT_USED = "The attack makes its own releases; the one given was not used."


@dataclass(frozen=True)
class Planned:
    """A refit, which records are inside (1), outside (0) or not asked for (nan), and its use."""

    task: Task
    inside: Floats
    teaches: bool


@dataclass(frozen=True)
class Runs:
    """What came of refits: features, who was inside, which runs teach; and what is to be said."""

    features: Floats
    inside: Floats
    teaches: NDArray[np.bool_]
    note: str


def plan(
    setting: Setting,
    name: str,
    worlds: Sequence[tuple[World, Floats]],
    times: int,
    *,
    every: int = 2,
) -> list[Planned]:
    """Refit in all worlds, round by round; every second (or so) round teaches, the others test.

    Every world has seeds of its own, so that no run says anything about another.
    """
    seeds = [
        setting.stream(name, "seeds", world.name).choice(2**31, times, replace=False)
        for world, _ in worlds
    ]
    return [
        Planned(Task(world, int(own[time])), inside, time % every == 0)
        for time in range(times)
        for (world, inside), own in zip(worlds, seeds, strict=True)
    ]


def gather(
    setting: Setting,
    planned: Sequence[Planned],
    summary: Summary,
    *,
    rows: int,
    base: Table | None = None,
) -> Runs:
    """Play, and put answers back into the order of the plan.

    A generator that fails from the start, time after time, is given up.
    """
    asked = planned if setting.refits is None else planned[: setting.refits]
    numbers: dict[str, Floats] = {}
    errors: list[tuple[str, str]] = []
    tasks = [one.task for one in asked]
    for answer in setting.refit(tasks, summary, base=base, rows=rows, total=len(tasks)):
        if answer.error == NO_TIME:
            continue
        if answer.numbers is None:
            errors.append((answer.task.world.name, answer.error))
            if len(errors) >= HOPELESS and not numbers:
                break
        else:
            numbers[answer.task.name] = answer.numbers
    kept = [one for one in asked if one.task.name in numbers]
    width = len(planned[0].inside)
    return Runs(
        np.array([numbers[one.task.name] for one in kept]).reshape(len(kept), -1 if kept else 0),
        np.array([one.inside for one in kept]).reshape(len(kept), width),
        np.array([one.teaches for one in kept], bool),
        _note(len(planned), len(kept), sorted(errors)),
    )


def _note(planned: int, done: int, errors: Sequence[tuple[str, str]]) -> str:
    said = [f"{done:,} refits."]
    late = planned - done - len(errors)
    if late and len(errors) >= HOPELESS and not done:
        said.append(f"{late:,} more were planned; it was given up.")
    elif late:
        said.append(f"{late:,} more were planned and not made for want of time (budget, refits).")
    if errors:
        told = list(dict.fromkeys(f"{w}: {shareable(e)}" for w, e in errors))
        more = f"; and {len(told) - SHOWN:,} more" if len(told) > SHOWN else ""
        said.append(f"{len(errors):,} refits failed ({'; '.join(told[:SHOWN])}{more}).")
    return " ".join(said)
