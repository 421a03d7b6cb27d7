"""The answers of the worlds of an attack, and what is said of those that failed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.attacks.games import Answer, Floats, World
from understudy.attacks.posterior import Refits
from understudy.attacks.reasons import shareable
from understudy.attacks.workers import NO_TIME

GIVEN_UP = 2
FEWEST = 2


@dataclass
class Kept:
    """Numbers by the place of their world and their seed; errors by the place of their world."""

    worlds: Sequence[World]
    numbers: dict[tuple[int, int], Floats] = field(default_factory=dict)
    errors: dict[int, list[str]] = field(default_factory=dict)
    release: Floats | None = None
    release_error: str = ""

    def take(self, answers: Iterable[Answer]) -> int:
        """Take answers as they come, and count them; those that the budget cut off are none."""
        places = {world.name: place for place, world in enumerate(self.worlds)}
        taken = 0
        for answer in answers:
            if answer.error == NO_TIME:
                continue
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
        fine = set(self.places)
        return [
            place
            for place in range(len(self.worlds))
            if place in fine or len(self.errors.get(place, [])) < GIVEN_UP
        ]

    def refits(self, shape: tuple[int, int]) -> tuple[Refits, list[int]]:
        """Give the numbers of the worlds that have any, in an order of their own, and the worlds.

        The numbers of an answer are counts for each candidate, of the shape given.
        """
        keys, places = sorted(self.numbers), self.places
        world = np.searchsorted(places, [place for place, _ in keys])
        counts = np.array([self.numbers[key].reshape(shape)[places] for key in keys])
        return Refits(counts, world), places

    @property
    def places(self) -> list[int]:
        """The worlds that have numbers."""
        return sorted({place for place, _ in self.numbers})

    @property
    def fewest(self) -> int:
        """The fewest refits of any of these."""
        places = [place for place, _ in self.numbers]
        return min(map(places.count, self.places), default=0)

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
        if len(fine) < FEWEST:
            return f"{generator} failed in all worlds but one. {self.note()}"
        return ""

    def release_failure(self, generator: str) -> str:
        """Say why there is no release."""
        if not self.release_error:
            return "the budget ended before a release was made"
        return f"{generator} failed to make a release: {shareable(self.release_error)}"

    def note(self) -> str:
        """Say what failed, by the name of the world, and what was left out."""
        dead = sorted(set(self.errors) - set(self.places))
        said = []
        if dead:
            said.append(
                f"{several(len(dead), 'world')} failed and left out ({self._told(dead)}): the "
                f"posterior and the guess are among the other {len(self.places):,}."
            )
        some = sorted(set(self.errors) - set(dead))
        if some:
            many = sum(len(self.errors[place]) for place in some)
            said.append(f"{several(many, 'further refit')} failed ({self._told(some)}).")
        return " ".join(said)

    def _told(self, places: Sequence[int]) -> str:
        first = sorted(places)[:3]
        told = [f"{self.worlds[place].name}: {shareable(self.errors[place][0])}" for place in first]
        return "; ".join(told) + ("; …" if len(places) > len(first) else "")


def several(many: int, what: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> several(1, "world"), several(1200, "world")
    ('1 world', '1,200 worlds')
    """
    return f"1 {what}" if many == 1 else f"{many:,} {what}s"
