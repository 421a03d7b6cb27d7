"""Whether values are missing as in the real table, in one column and in several together."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import MISSING
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, TableOfNumbers, around, described
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.pictures.rule import K, share
from understudy.options import AtLeast

Counts = NDArray[np.float64]
WAYS = ("one column at a time", "two columns together", "three columns together")
MOST_PATTERNS_SHOWN = 20

CARD = Card(
    name="fidelity.missingness",
    title="Patterns of missing values",
    meaning="How far the patterns of missing values are from those of training, one, two and three "
    "columns at a time: the share of records that would have to lose or gain a value.",
    formula="½ Σ |p − q| between the joint patterns (missing or not) of every one, two and three "
    "columns; mean over the sets of each size, and mean of the sizes. Only columns in which some "
    "values are missing and some are not, in the tables together. Reference: the same of the "
    "holdout, rescaled to the number of synthetic rows; interval: ± 1.96 standard deviations of "
    "the difference when the rows of all tables are drawn again. Real shares are shown in steps of "
    "5 records, and patterns of fewer than 5 training records are not shown",
    unit="fraction",
    better="lower",
    headline="mean of the distances of one, two and three columns",
    source="patterns as in Little and Rubin 2002, section 1.2; distance and reference as in "
    "Platzer and Reutterer 2021, section 3.1",
    not_shown="Whether a value is missing for the same reason: that it is missing more often where "
    "another column has a certain value does not show (detection sees it). Patterns of four and "
    "more columns do not show.",
)


@dataclass(frozen=True)
class Patterns:
    """The distinct patterns of missing values in a table, and how many rows have each."""

    missing: NDArray[np.bool_]
    times: NDArray[np.int64]

    @classmethod
    def of(cls, missing: NDArray[np.bool_]) -> "Patterns":
        """Count the distinct rows."""
        distinct, times = np.unique(missing, axis=0, return_counts=True)
        return cls(distinct, times)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.times.sum())

    def redraw(self, rng: np.random.Generator) -> "Patterns":
        """Draw as many rows with replacement."""
        drawn = rng.multinomial(self.rows, self.times / self.rows)
        return Patterns(self.missing, drawn)


NOTHING_MISSING = "No column has both values and missing values, in any table: nothing to preserve."


@described(CARD)
def missingness(
    comparison: Comparison, *, columns: int = 40, resamples: Annotated[int, AtLeast(2)] = 100
) -> Finding:
    """Mean distance of the patterns of missing values, of one, two and three columns."""
    codec = comparison.codec(bins=1, levels=None)
    gone = {t: comparison.codes(t, codec) == MISSING for t in comparison.tables}
    share_of = {t: missing.mean(axis=0) for t, missing in gone.items()}
    varies = [
        i
        for i in range(len(codec.names))
        if not all(s[i] == 0 for s in share_of.values())
        and not all(s[i] == 1 for s in share_of.values())
    ]
    if not varies:
        return CARD.finding(
            value=0.0,
            interval=(0.0, 0.0),
            reference=0.0 if comparison.has_holdout else None,
            note=" ".join([NOTHING_MISSING, *([] if comparison.has_holdout else [NO_HOLDOUT])]),
        )
    names = {i: codec.names[i] for i in varies}
    most = {i: max(float(shares[i]) for shares in share_of.values()) for i in varies}
    chosen = sorted(varies, key=lambda i: (-most[i], names[i]))[:columns]
    chosen.sort(key=lambda i: names[i])
    found = {t: Patterns.of(missing[:, chosen]) for t, missing in gone.items()}
    scale = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0
    value, reference = _apart(found, scale)
    draws = []
    for time in range(resamples):
        again = {
            table: own.redraw(comparison.stream(CARD.name, table, str(time)))
            for table, own in found.items()
        }
        near, fresh = _apart(again, scale)
        draws.append(near.mean() - (0.0 if fresh is None else fresh.mean()))
        comparison.progress(f"{CARD.name}: interval", time + 1, resamples)
    mean = float(value.mean())
    own_names = [names[i] for i in chosen]
    ways = tuple(
        Part(way, float(v), None if reference is None else float(reference[i]))
        for i, (way, v) in enumerate(zip(WAYS, value, strict=False))
    )
    capped = f"The {columns} of {len(varies)} columns with most values missing in some table."
    notes = [
        "" if comparison.has_holdout else NO_HOLDOUT,
        capped if len(chosen) < len(varies) else "",
        "" if len(chosen) > 2 else f"Only {_many(len(chosen))} missing values.",
    ]
    return CARD.finding(
        value=mean,
        interval=around(mean, float(np.std(draws, ddof=1)), 0.0, 1.0),
        reference=None if reference is None else float(reference.mean()),
        parts=(*ways, *_parts(own_names, found, scale)),
        tables={"patterns": _shown(own_names, found)},
        note=" ".join(filter(None, notes)),
        draws=np.array(draws),
    )


def _many(columns: int) -> str:
    return "1 column has" if columns == 1 else f"{columns} columns have"


def _apart(found: dict[Which, Patterns], scale: float) -> tuple[Counts, Counts | None]:
    """Give the mean distances of synthetic and (rescaled) of the holdout, by size of the sets."""
    shares = {table: joint_shares(own) for table, own in found.items()}

    def mean(other: Which) -> Counts:
        return np.array(
            [
                float(np.abs(p - q).sum(axis=0).mean() / 2)
                for p, q in zip(shares["train"], shares[other], strict=True)
            ]
        )

    return mean("synthetic"), scale * mean("holdout") if "holdout" in shares else None


def joint_shares(patterns: Patterns) -> list[Counts]:
    """Give the shares of all joint patterns of one, two and three columns.

    Each array has a row for each pattern and a column for each set. The shares of "missing in all
    of the set" come from products of indicators; the other patterns follow by subtraction.
    """
    gone = patterns.missing.astype(float)
    weights = patterns.times / patterns.rows
    wide = gone.shape[1]
    one = weights @ gone
    made = [np.array([one, 1 - one])]
    if wide < 2:
        return made
    i, j = np.triu_indices(wide, 1)
    two = (gone.T * weights) @ gone
    both = two[i, j]
    made.append(np.array([both, one[i] - both, one[j] - both, 1 - one[i] - one[j] + both]))
    if wide < 3:
        return made
    pairs = gone[:, i] * gone[:, j]
    three = (pairs.T * weights) @ gone
    place = np.zeros((wide, wide), np.int64)
    place[i, j] = np.arange(len(i))
    a, b, c = np.array(list(itertools.combinations(range(wide), 3))).T
    every = three[place[a, b], c]
    ab, ac, bc = two[a, b] - every, two[a, c] - every, two[b, c] - every
    only = [one[x] - y - z - every for x, y, z in ((a, ab, ac), (b, ab, bc), (c, ac, bc))]
    made.append(np.array([every, ab, ac, bc, *only, 1 - every - ab - ac - bc - sum(only)]))
    return made


def _parts(names: Sequence[str], found: dict[Which, Patterns], scale: float) -> list[Part]:
    """Give for each column the shares missing; real ones in steps of five records."""
    counts = {table: own.times @ own.missing for table, own in found.items()}
    parts = []
    for i, name in enumerate(names):
        train, made, fresh = (
            share(float(counts[t][i]), found[t].rows, real=t != "synthetic") if t in found else None
            for t in ("train", "synthetic", "holdout")
        )
        own = None if train is None or made is None else abs(train - made)
        other = None if train is None or fresh is None else scale * abs(train - fresh)
        more = {"synthetic": made, "train": train, "holdout": fresh}
        parts.append(Part(name, own, other, {t: s for t, s in more.items() if t in found}))
    return sorted(parts, key=lambda part: (-(part.value or 0.0), part.name))


def _shown(names: Sequence[str], found: dict[Which, Patterns]) -> TableOfNumbers:
    """List the most frequent patterns that at least five training records have."""
    counts = {
        table: {tuple(p): int(n) for p, n in zip(own.missing.tolist(), own.times, strict=True)}
        for table, own in found.items()
    }
    often = {pattern: times for pattern, times in counts["train"].items() if times >= K}
    first = sorted(often, key=lambda pattern: (-often[pattern], pattern))[:MOST_PATTERNS_SHOWN]
    rows = []
    for pattern in first:
        told = " + ".join(name for name, gone in zip(names, pattern, strict=True) if gone)
        rows.append(
            (told or "nothing missing", *(_share(t, counts, found, [pattern]) for t in found))
        )
    rest = {table: [p for p in own if p not in set(first)] for table, own in counts.items()}
    rows.append(("all other patterns", *(_share(t, counts, found, rest[t]) for t in found)))
    return TableOfNumbers(("missing", *found), tuple(rows))


def _share(
    table: Which,
    counts: dict[Which, dict[tuple[bool, ...], int]],
    found: dict[Which, Patterns],
    patterns: Sequence[tuple[bool, ...]],
) -> float | None:
    times = sum(counts[table].get(pattern, 0) for pattern in patterns)
    return share(times, found[table].rows, real=table != "synthetic")
