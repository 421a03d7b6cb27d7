"""The answers of the worlds of an attack, and what is said of those that failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.attacks.games import Answer, Floats, World
from understudy.attacks.posterior import Refits

GIVEN_UP = 2
LONGEST = 200


@dataclass
class Kept:
    """Numbers by the place of their world and their seed; errors by the place of their world."""

    worlds: Sequence[World]
    numbers: dict[tuple[int, int], Floats] = field(default_factory=dict)
    errors: dict[int, list[str]] = field(default_factory=dict)
    release: Floats | None = None
    release_error: str = ""

    def take(self, answers: Iterable[Answer]) -> int:
        """Take answers as they come, and count them."""
        places = {world.name: place for place, world in enumerate(self.worlds)}
        taken = 0
        for answer in answers:
            taken += 1
            place = places.get(answer.task.world.name)
            if place is None:
                self.release, self.release_error = answer.numbers, answer.error
            elif answer.numbers is None:
                self.errors.setdefault(place, []).append(answer.error)
            else:
                self.numbers[place, answer.task.seed] = answer.numbers
        return taken

    @property
    def tried(self) -> int:
        """How many refits there were, those that failed included."""
        return len(self.numbers) + sum(map(len, self.errors.values()))

    def alive(self) -> list[int]:
        """Give the worlds that are worth another refit."""
        fine = {place for place, _ in self.numbers}
        return [
            place
            for place in range(len(self.worlds))
            if place in fine or len(self.errors.get(place, [])) < GIVEN_UP
        ]

    def refits(self, shape: tuple[int, int]) -> tuple[Refits, list[int]]:
        """Give the numbers of the worlds that have any, in an order of their own, and the worlds.

        The numbers of an answer are counts for each candidate, of the shape given.
        """
        keys = sorted(self.numbers)
        places = sorted({place for place, _ in keys})
        world = np.searchsorted(places, [place for place, _ in keys])
        counts = np.array([self.numbers[key].reshape(shape)[places] for key in keys])
        return Refits(counts, world), places

    def failure(self, truth: int, generator: str) -> str:
        """Say why there is no answer, if the real world has none."""
        if any(place == truth for place, _ in self.numbers):
            return ""
        if truth in self.errors:
            world = self.worlds[truth].name
            return f"{generator} failed in the real world ({world}): {_short(self.errors[truth])}"
        return "the budget ended before the real world was refitted"

    def release_failure(self, generator: str) -> str:
        """Say why there is no release."""
        if not self.release_error:
            return "the budget ended before a release was made"
        return f"{generator} failed to make a release: {_short([self.release_error])}"

    def note(self) -> str:
        """Say what failed, by the name of the world, and what was left out."""
        fine = {place for place, _ in self.numbers}
        dead = [place for place in self.errors if place not in fine]
        left = len(self.worlds) - len(fine) - len(dead)
        said = []
        if dead:
            said.append(f"{several(len(dead), 'world')} failed and left out ({self._told(dead)}).")
        some = sorted(set(self.errors) - set(dead))
        if some:
            many = sum(len(self.errors[place]) for place in some)
            said.append(f"{several(many, 'further refit')} failed ({self._told(some)}).")
        if left:
            said.append(f"{several(left, 'world')} not refitted in time and left out.")
        return " ".join(said)

    def _told(self, places: Sequence[int]) -> str:
        first = sorted(places)[:3]
        told = [f"{self.worlds[place].name}: {_short(self.errors[place])}" for place in first]
        return "; ".join(told) + ("; …" if len(places) > len(first) else "")


def several(many: int, what: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> several(1, "world"), several(1200, "world")
    ('1 world', '1,200 worlds')
    """
    return f"1 {what}" if many == 1 else f"{many:,} {what}s"


def _short(errors: Sequence[str]) -> str:
    text = errors[0].rstrip(".")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
