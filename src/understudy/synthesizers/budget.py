"""A budget of differential privacy: every look at the data is bought and written down.

Two tables are neighbours if one is the other with one row added or removed. A release spends
epsilon if no set of outcomes is more than exp(epsilon) times as likely on one as on the other;
what is spent in steps adds up (Dwork et al. 2006; Dwork and Roth 2014, theorem 3.16).
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.errors import OptionError
from understudy.options import is_finite

NEIGHBOURS = "one row added or removed"
HIGH = 10.0
ROUNDING = 1e-9
WIDEST = 2.0**52


@dataclass(frozen=True)
class Step:
    """One look at the data and its price.

    ``sensitivity`` is the most that one row can change what is looked at. ``scale`` is that of
    the noise: of the discrete Laplace noise on counts, sensitivity / epsilon; of the Gumbel noise
    on scores that the exponential mechanism amounts to, 2 * sensitivity / epsilon.
    """

    what: str
    mechanism: str
    epsilon: float
    sensitivity: float
    scale: float

    def __str__(self) -> str:
        return f"{self.what}: {self.mechanism}, epsilon {self.epsilon:.4g}, scale {self.scale:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read plain values."""
        made = cls(**document)
        told = (made.what, made.mechanism)
        numbers = (made.epsilon, made.sensitivity, made.scale)
        if not all(isinstance(text, str) for text in told) or not all(map(is_finite, numbers)):
            raise ValueError("a step of the budget is not told in words and numbers")
        return made


@dataclass
class Budget:
    """How much of epsilon is left, and what it was spent on.

    Noise comes from the generator alone. The discrete Laplace mechanism (Ghosh, Roughgarden and
    Sundararajan 2009) gives whole numbers, so that the low bits of a float tell nothing (Mironov
    2012); the exponential mechanism is that of McSherry and Talwar 2007.

    Examples
    --------
    >>> budget = Budget(1.0, np.random.default_rng(1))
    >>> budget.counts("ages", [3, 40, 12], epsilon=0.5).shape
    (3,)
    >>> print(budget.steps[0])
    ages: laplace, epsilon 0.5, scale 2
    >>> budget.left
    0.5
    """

    epsilon: float
    rng: np.random.Generator
    _steps: list[Step] = field(default_factory=list, init=False, repr=False)
    _sum: float = field(default=0.0, init=False, repr=False)

    def __post_init__(self) -> None:
        self.epsilon = check_epsilon(self.epsilon)

    def counts(
        self, what: str, counts: ArrayLike, *, epsilon: float, sensitivity: float = 1
    ) -> NDArray[np.int64]:
        """Add discrete Laplace noise to counts, which may come out negative.

        One row must change all counts together by no more than ``sensitivity``: 1 for the cells
        of a table, the number of tables for several at once.
        """
        exact = np.asarray(counts)
        if exact.dtype.kind not in "iu":
            raise OptionError(f"{what}: {exact.dtype} is no type of counts", hint="count rows")
        scale = sensitivity / epsilon if epsilon > 0 else math.inf
        self._spend(Step(what, "laplace", epsilon, sensitivity, scale))
        noise = discrete_laplace(scale, exact.size, self.rng).reshape(exact.shape)
        made: NDArray[np.int64] = exact.astype(np.int64) + noise
        return made

    def choose(self, what: str, scores: ArrayLike, *, epsilon: float, sensitivity: float) -> int:
        """Choose one of several by the exponential mechanism.

        A choice has a chance proportional to exp(epsilon * score / (2 * sensitivity)); one row
        must change no score by more than ``sensitivity``.
        """
        exact = np.asarray(scores, float)
        if exact.ndim != 1 or not exact.size or not np.isfinite(exact).all():
            raise OptionError(
                f"{what}: there is nothing to choose from", hint="give one finite score a choice"
            )
        scale = 2 * sensitivity / epsilon if epsilon > 0 else math.inf
        self._spend(Step(what, "exponential", epsilon, sensitivity, scale))
        # the largest of exponents with Gumbel noise is a draw with these chances (Yellott 1977)
        return int(np.argmax((exact - exact.max()) / scale + self.rng.gumbel(size=exact.size)))

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was bought, in order."""
        return tuple(self._steps)

    @property
    def spent(self) -> float:
        """The sum over the steps."""
        return spent_in(self._steps)

    @property
    def left(self) -> float:
        """What can still be spent."""
        return max(self.epsilon - self.spent, 0.0)

    def _spend(self, step: Step) -> None:
        """Write a step down before its noise is drawn; refuse what is not there."""
        check_epsilon(step.epsilon)
        if not (step.sensitivity > 0 and step.scale < WIDEST):
            raise OptionError(
                f"{step.what}: sensitivity {step.sensitivity} at epsilon {step.epsilon}",
                hint="the noise would drown every whole number, or there would be none",
            )
        if self._sum + step.epsilon > self.epsilon * (1 + ROUNDING):
            raise OptionError(
                f"{step.what} asks for epsilon {step.epsilon:g}; {self.left:g} of "
                f"{self.epsilon:g} is left",
                hint="spend less on each step",
            )
        self._steps.append(step)
        self._sum += step.epsilon


def spent_in(steps: Iterable[Step]) -> float:
    """Add up what steps spend."""
    return math.fsum(step.epsilon for step in steps)


def check_epsilon(epsilon: Any) -> float:
    """Insist on a finite number above 0.

    Examples
    --------
    >>> check_epsilon(1)
    1.0
    """
    number = isinstance(epsilon, float | int | np.floating | np.integer)
    if not number or isinstance(epsilon, bool) or not (math.isfinite(epsilon) and epsilon > 0):
        raise OptionError(
            f"epsilon = {epsilon}", hint="give a finite number above 0; leave it out for none"
        )
    return float(epsilon)


def discrete_laplace(scale: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw whole numbers with chances proportional to exp(-abs(k) / scale).

    The difference of two geometric draws has this distribution; their chances are right to the
    53 bits of a uniform draw.
    """
    success = -math.expm1(-1 / scale)
    return rng.geometric(success, size) - rng.geometric(success, size)
