"""Are the associations between columns preserved? Those that are there, and none invented."""

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import (
    Card,
    Finding,
    Part,
    Shown,
    TableOfNumbers,
    around,
    described,
)
from understudy.measures.fidelity.associations import Matrix, Rows, associations, rows_of
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.fidelity.marginals import MOST_PARTS, on_all_cores
from understudy.options import AtLeast, OneOf

FEWEST_REDRAWS = 20
DECIMALS = 4
WORK = 3e11
SCALES = {"ranks": "Spearman's ρ", "values": "Pearson's r"}
RATIO, CRAMER = "correlation ratio", "Cramér's V"

CARD = Card(
    name="fidelity.correlation",
    title="Associations between columns",
    meaning="How far the associations between pairs of columns differ from training's: the mean "
    "difference of coefficients between -1 and 1, each pair weighted by how strongly it is "
    "associated in either table, so that agreement where there is nothing to preserve earns "
    "nothing.",
    formula="Σ w |a_synthetic − a_training| / Σ w over all pairs, w = max(|a_training|, "
    "|a_synthetic|). a is, for two numbers or dates, Spearman's ρ (option scale = values: "
    "Pearson's r), for two categories Cramér's V with Bergsma's correction, for a number and a "
    "category the correlation ratio (of ranks) with Kelley's correction: uncorrected, both grow "
    "with the number of levels and shrink with the number of rows, so that tables of different "
    "size would differ without cause. A correlation is signed and needs none. Rows where either "
    "value is missing are left out of a pair; a word among numbers counts as missing; categories "
    "keep their 10 most frequent levels (option levels), the rest is one. A pair that is not "
    "defined in a table (a column does "
    "not vary, or fewer than 5 rows) has no association there: 0. Reference: the same of the "
    "holdout, rescaled to the number of synthetic rows; interval: ± 1.96 standard deviations of "
    "the difference when the rows of all tables are drawn again",
    unit="correlation",
    better="lower",
    headline="signal-weighted mean difference of associations",
    source="Hittmeir et al. 2019, section VI and figure 1; Bergsma 2013; Kelley 1935",
    not_shown="One coefficient a pair: a curve that rises and falls, or an interaction of three "
    "columns, can be lost unseen. A copy of training has 0: see the privacy measures.",
)


@described(CARD)
def correlation(
    comparison: Comparison,
    *,
    scale: Annotated[str, OneOf(*SCALES)] = "ranks",
    levels: int = 10,
    resamples: Annotated[int, AtLeast(2)] = 50,
    pictures: Shown = 60,
) -> Finding:
    """Signal-weighted mean difference of associations; at most ``pictures`` columns are drawn."""
    if scale not in SCALES:
        raise OptionError(f"scale = '{scale}'", hint=f"use one of {', '.join(SCALES)}")
    if resamples < 2:
        raise OptionError(f"resamples = {resamples}", hint="use at least 2")
    schema = comparison.schema
    numbers = [name for name in comparison.names if schema[name].is_numeric]
    categories = [name for name in comparison.names if not schema[name].is_numeric]
    rows = rows_of(comparison, numbers, categories, levels)
    found = {t: associations(own, ranks=scale == "ranks") for t, own in rows.items()}
    other = {t: associations(own, ranks=scale != "ranks") for t, own in rows.items()}
    if np.isnan(found["train"]).all() and np.isnan(found["synthetic"]).all():
        return CARD.not_applicable("There are no two columns that vary.")
    times = _affordable(rows, resamples)
    draws = _redraw(comparison, rows, times, ranks=scale == "ranks")
    value, plain = apart(found["train"], found["synthetic"])
    scaled = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0
    fresh = apart(found["train"], found["holdout"]) if comparison.has_holdout else None
    names = [*numbers, *categories]
    pairs = _Pairs(names, len(numbers), scale, found, other, scaled)
    shown, capped = _matrices(comparison, pairs, pictures)
    notes = [
        "" if fresh else NO_HOLDOUT,
        pairs.told(),
        f"{times} redraws of {resamples}, for the size of the table." if times < resamples else "",
        capped,
    ]
    return Finding(
        CARD.name,
        unit=CARD.unit,
        better=CARD.better,
        value=value,
        interval=around(value, float(draws.std(ddof=1)), 0.0, 2.0),
        reference=fresh and scaled * fresh[0],
        baselines={"plain": plain, **({"holdout_unscaled": fresh[0]} if fresh else {})},
        parts=(
            Part("plain mean over all pairs", plain, fresh and scaled * fresh[1]),
            *pairs.parts(),
        ),
        tables=shown,
        note=" ".join(filter(None, notes)),
        draws=draws,
    )


def apart(train: Matrix, other: Matrix) -> tuple[float, float]:
    """Give the mean difference of associations, weighted by their strength, and plain.

    Examples
    --------
    >>> train = np.array([[np.nan, 0.5, 0.0], [0.5, np.nan, 0.0], [0.0, 0.0, np.nan]])
    >>> weighted, plain = apart(train, train / 2)
    >>> weighted, round(plain, 4)
    (0.25, 0.0833)
    """
    upper = np.triu_indices(len(train), 1)
    a, b = train[upper], other[upper]
    defined = ~(np.isnan(a) & np.isnan(b))
    a, b = np.nan_to_num(a[defined]), np.nan_to_num(b[defined])
    weights = np.maximum(np.abs(a), np.abs(b))
    differences = np.abs(a - b)
    if not weights.sum():
        return 0.0, 0.0
    return float(weights @ differences / weights.sum()), float(differences.mean())


def _affordable(rows: dict[Which, Rows], wanted: int) -> int:
    """Give the number of redraws that large or wide tables allow."""
    work = sum(len(own.levels) * own.width**2 for own in rows.values())
    return min(wanted, max(FEWEST_REDRAWS, int(WORK / max(work, 1))))


def _redraw(
    comparison: Comparison, rows: dict[Which, Rows], times: int, *, ranks: bool
) -> NDArray[np.float64]:
    """Give the difference to the reference when all rows are drawn again, time after time."""
    scale = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0

    def redraw(time: int) -> float:
        drawn = {}
        for table, own in rows.items():
            height = len(own.levels)
            chosen = comparison.stream("redraw", table, str(time)).integers(0, height, height)
            weights = np.bincount(chosen, minlength=height).astype(float)
            drawn[table] = associations(own, weights, ranks=ranks)
        value = apart(drawn["train"], drawn["synthetic"])[0]
        if "holdout" in drawn:
            value -= scale * apart(drawn["train"], drawn["holdout"])[0]
        return value

    return np.array(list(on_all_cores(redraw, times, comparison, f"{CARD.name}: interval")))


class _Pairs:
    """The pairs of columns with their coefficients in all tables."""

    def __init__(
        self,
        names: list[str],
        numbers: int,
        scale: str,
        found: dict[Which, Matrix],
        other: dict[Which, Matrix],
        scaled: float,
    ) -> None:
        self.names, self.numbers, self.scale = names, numbers, scale
        self.found, self.other, self.scaled = found, other, scaled
        self.zeros = {t: np.nan_to_num(m) for t, m in found.items()}
        self.lost = np.abs(self.zeros["train"] - self.zeros["synthetic"])
        i, j = np.triu_indices(len(names), 1)
        defined = ~(np.isnan(found["train"][i, j]) & np.isnan(found["synthetic"][i, j]))
        self.pairs = list(zip(i[defined].tolist(), j[defined].tolist(), strict=True))

    def coefficient(self, i: int, j: int) -> str:
        """Name the coefficient of a pair."""
        if j < self.numbers:
            return SCALES[self.scale]
        return CRAMER if i >= self.numbers else RATIO

    def told(self) -> str:
        """Say which coefficients were used, and for how many pairs."""
        kinds = [self.coefficient(i, j) for i, j in self.pairs]
        used = [k for k in (*SCALES.values(), CRAMER, RATIO) if k in kinds]
        every = len(self.names) * (len(self.names) - 1) // 2
        left = every - len(kinds)
        rest = f" {left:,} pairs with a column that does not vary are left out." if left else ""
        most = (
            f" The {MOST_PARTS:,} worst pairs are listed." if len(self.pairs) > MOST_PARTS else ""
        )
        return "; ".join(f"{k}: {kinds.count(k):,} pairs" for k in used) + "." + rest + most

    def parts(self) -> list[Part]:
        """List the pairs, those that differ most first."""
        named = [(" × ".join(sorted((self.names[i], self.names[j]))), i, j) for i, j in self.pairs]
        worst = sorted(named, key=lambda pair: (-self.lost[pair[1], pair[2]], pair[0]))
        return [self._part(*pair) for pair in worst[:MOST_PARTS]]

    def _part(self, name: str, i: int, j: int) -> Part:
        tables: tuple[Which, ...] = ("train", "synthetic")
        more: dict[str, float | None] = {t: _shown(self.found[t][i, j]) for t in tables}
        if j < self.numbers:
            beside = {"ranks": "pearson", "values": "spearman"}[self.scale]
            more |= {f"{beside}_{t}": _shown(self.other[t][i, j]) for t in tables}
        reference = None
        if "holdout" in self.zeros:
            fresh = abs(self.zeros["train"][i, j] - self.zeros["holdout"][i, j])
            reference = _shown(self.scaled * fresh)
        return Part(name, _shown(self.lost[i, j]), reference, more, self.coefficient(i, j))


def _matrices(
    comparison: Comparison, pairs: _Pairs, most: int
) -> tuple[dict[str, TableOfNumbers], str]:
    """Give the associations as matrices: all, and beside them Pearson's (or Spearman's)."""
    if not most:
        return {}, "No matrix is shown (option pictures)."
    place = {name: i for i, name in enumerate(pairs.names)}
    order = [place[name] for name in comparison.names]
    note = ""
    if len(order) > most:
        weight = np.maximum(np.abs(pairs.zeros["train"]), np.abs(pairs.zeros["synthetic"]))
        telling = (weight * pairs.lost).sum(axis=0)
        kept = set(sorted(order, key=lambda i: (-telling[i], pairs.names[i]))[:most])
        order = [i for i in order if i in kept]
        note = f"The matrix shows the {most} of {len(pairs.names)} columns that differ most."
    made = {"matrix:association": _matrix(pairs.names, pairs.found, order)}
    numbers = [i for i in order if i < pairs.numbers]
    if len(numbers) > 1:
        name = {"ranks": "Pearson", "values": "Spearman"}[pairs.scale]
        made[f"matrix:{name}"] = _matrix(pairs.names, pairs.other, numbers)
    return made, note


def _shown(coefficient: float) -> float:
    """Round what is shown of a pair, for an exact coefficient of few records may tell of one."""
    return round(float(coefficient), DECIMALS)


def _matrix(names: list[str], found: dict[Which, Matrix], order: list[int]) -> TableOfNumbers:
    rows = [
        (names[i], names[j], *(_shown(matrix[i, j]) for matrix in found.values()))
        for position, i in enumerate(order)
        for j in order[position + 1 :]
    ]
    return TableOfNumbers(("column", "other", *found), tuple(rows))
