"""Power against the size of a leak: a probit curve, and where it reaches 80 %.

    P(alarm | size) = c + (1 - c) Φ(a + b log10 size)

c, the share of alarms without a leak, is fitted together with the curve, from the leak-free runs.
The first size at which 80 % of the runs raised an alarm would be biased low: of several sizes with
a power near 80 %, the luckiest is first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

POWER = 0.8
STEP = 0.01
LOW, HIGH = -5.0, 1.0
STEEPEST, FLATTEST = 40.0, 0.5
FALSE = (0.001, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.13, 0.17, 0.22, 0.3, 0.4, 0.55)
# half the 95 % point of a chi-square with two degrees of freedom: with few runs, and sizes chosen
# one after the other, that with one covers in 88 to 94 % of simulations only
DROP = 2.995732273553991

Floats = NDArray[np.float64]
Censored = Literal["above", "below"] | None
Point = tuple[float, int, int]


@dataclass(frozen=True)
class Power:
    """A fitted curve, and the smallest leak that raises an alarm in 80 % of the runs.

    ``censored`` is ``above`` where the curve does not get there within the sizes planted, and
    ``below`` where it is there at the smallest already; ``bound`` is that largest or smallest
    size. An end of the interval beyond the sizes planted is none. ``planted`` are the smallest and
    the largest size, ``beyond`` whether the whole interval lies above the largest.
    """

    a: float
    b: float
    c: float
    value: float | None
    interval: tuple[float | None, float | None]
    censored: Censored
    bound: float | None = None
    planted: tuple[float, float] | None = None
    beyond: bool = False

    def at(self, size: float) -> float:
        """Give the power at a size of leak."""
        from scipy.special import ndtr

        return self.c + (1 - self.c) * float(ndtr(self.a + self.b * math.log10(size)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "probit": {"a": self.a, "b": self.b, "c": self.c},
            "smallest": {
                "value": self.value,
                "interval": list(self.interval),
                "censored": self.censored,
                "bound": self.bound,
                "planted": list(self.planted) if self.planted else None,
            },
        }


def fit_power(points: Sequence[Point], alarms: int, runs: int) -> Power | None:
    """Fit the curve by maximum likelihood; the interval is where the profile is high enough.

    Parameters
    ----------
    points : sequence of (size, runs, alarms)
    alarms, runs : int
        Without a leak.

    The likelihood is computed on a grid of slopes, places and false-alarm rates: it has a plateau
    where alarms are all or none, and no climber stumbles over it. Of a plateau, take the middle.

    Examples
    --------
    >>> found = fit_power([(0.001, 40, 2), (0.01, 40, 32), (0.1, 40, 40)], 2, 40)
    >>> round(found.value, 3), found.censored
    (0.01, None)
    """
    points = [point for point in points if point[1]]
    if not points:
        return None
    whole = _log_likelihood(points, alarms, runs)
    best = whole.max()
    rate, slope, _ = np.unravel_index(int(whole.argmax()), whole.shape)
    profile = whole.max(axis=(0, 1))
    places, slopes = _places(), _slopes()
    at = float(places[profile >= best - 1e-6].mean())
    inside = places[profile >= best - DROP]
    c, b = FALSE[rate], float(slopes[slope])
    first, last = math.log10(min(p[0] for p in points)), math.log10(max(p[0] for p in points))
    ends = float(inside[0]), float(inside[-1])
    censored: Censored = "above" if at > last + STEP else "below" if at < first - STEP else None
    return Power(
        _offset(c) - b * at,
        b,
        c,
        None if censored else 10**at,
        (
            10 ** min(ends[0], last) if ends[0] >= first - STEP else None,
            10 ** max(ends[1], first) if ends[1] <= last + STEP else None,
        ),
        censored,
        {"above": 10**last, "below": 10**first}[censored] if censored else None,
        (10**first, 10**last),
        ends[0] > last + STEP,
    )


def _log_likelihood(points: Sequence[Point], alarms: int, runs: int) -> Floats:
    """Give the log-likelihood for each false-alarm rate, slope and place of 80 % power."""
    from scipy.special import xlog1py, xlogy

    rates = np.array(FALSE)
    none = xlogy(alarms, rates) + xlog1py(runs - alarms, -rates)
    made = np.broadcast_to(none[:, None, None], (len(FALSE), len(_slopes()), len(_places()))).copy()
    for size, tried, seen in points:
        yes, no = _logarithms(size)
        made += seen * yes
        made += (tried - seen) * no
    return made


@lru_cache(maxsize=10)
def _logarithms(size: float) -> tuple[Floats, Floats]:
    """Give the logarithms of power and of its complement at a size, over the whole grid."""
    from scipy.special import ndtr

    rates = np.array(FALSE)[:, None, None]
    middle = np.array([_offset(c) for c in FALSE])[:, None, None]
    steps = middle + _slopes()[:, None] * (math.log10(size) - _places())
    p = np.clip(rates + (1 - rates) * ndtr(steps), 1e-12, 1 - 1e-12)
    return np.log(p), np.log1p(-p)


@cache
def _places() -> Floats:
    return np.arange(LOW, HIGH + STEP / 2, STEP)


@cache
def _slopes() -> Floats:
    return np.geomspace(FLATTEST, STEEPEST, 36)


@cache
def _offset(c: float) -> float:
    """Give the normal quantile at which the whole curve is at 80 %."""
    from scipy.special import ndtri

    return float(ndtri((POWER - c) / (1 - c)))


def next_size(points: Sequence[Point], sizes: Sequence[float], rng: np.random.Generator) -> int:
    """Say which size to plant next: a place drawn from where 80 % power may lie, or beside it.

    Beside it lie the places of 50 % and 95 % power, which tell the slope. What is unknown is tried:
    the fewer the runs, the wider the draw.
    """
    from scipy.special import ndtr, ndtri, xlog1py, xlogy

    places, slopes = np.linspace(-4, 0, 81), np.geomspace(1.5, 12, 8)
    c = 0.05
    weight = np.zeros((len(slopes), len(places)))
    for size, tried, seen in points:
        steps = _offset(c) + slopes[:, None] * (math.log10(size) - places)
        p = np.clip(c + (1 - c) * ndtr(steps), 1e-9, 1 - 1e-9)
        weight += xlogy(seen, p) + xlog1py(tried - seen, -p)
    weight = np.exp(weight - weight.max()).ravel()
    slope, place = divmod(int(rng.choice(len(weight), p=weight / weight.sum())), len(places))
    power = rng.choice([0.5, POWER, POWER, 0.95])
    wanted = places[place] + (float(ndtri((power - c) / (1 - c))) - _offset(c)) / slopes[slope]
    return int(np.abs(np.log10(sizes) - wanted).argmin())
