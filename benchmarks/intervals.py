"""How often 95 % intervals from synthetic tables cover the truth, by method and combining rule.

A population with known coefficients is sampled, each sample is synthesized and analysed, and the
intervals that cover the population's coefficients are counted: g is a mark with two levels, x is
normal given g, y is normal given both, z is a mark whose log odds are linear in them. So the column
method ``linear`` has the right model, and trees do not. The analyses are y ~ x + g and z ~ x + g.

Run: python benchmarks/intervals.py [RUNS] [CASE…]
"""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from understudy.judging.comparison import stream
from understudy.measures.overlap import Intervals
from understudy.measures.utility.estimates.model import ModelRows, fit, together
from understudy.measures.utility.estimates.rules import RULES
from understudy.synthesizers import synthesizer
from understudy.synthesizers.partial import Replacement

LINEAR = np.array([1.0, 0.5, -0.7])
LOGISTIC = np.array([-0.4, 0.8, 0.5])
MODELS = {"linear": ("y", LINEAR), "logistic": ("z", LOGISTIC)}
ROWS, RUNS = 400, 1000
PARAMETRIC = {"method": "linear", "spike": 1.0}


@dataclass(frozen=True)
class Case:
    """A way to synthesize, and the rules by which its tables are read."""

    method: str
    rules: tuple[str, ...]
    m: int
    options: dict[str, Any] = field(default_factory=dict)
    partial: bool = False
    share: float = 1.0
    times: float = 1.0


CASES = {
    "linear, 1": Case("sequential", ("simple", "naive"), 1, PARAMETRIC),
    "linear, 5": Case("sequential", ("simple", "naive"), 5, PARAMETRIC),
    "linear, 5 of half the rows": Case("sequential", ("simple",), 5, PARAMETRIC, share=0.5),
    "linear proper, 1": Case("sequential", ("proper",), 1, {**PARAMETRIC, "proper": True}),
    "linear proper, 5": Case("sequential", ("proper", "fully"), 5, {**PARAMETRIC, "proper": True}),
    "linear, y and z replaced, 5": Case("sequential", ("partially",), 5, PARAMETRIC, partial=True),
    "linear, y and z replaced, 1": Case("sequential", ("simple",), 1, PARAMETRIC, partial=True),
    "linear proper, y and z replaced, 1": Case(
        "sequential", ("proper", "simple"), 1, {**PARAMETRIC, "proper": True}, partial=True
    ),
    "pmm, 5": Case("sequential", ("simple",), 5, {"method": "pmm", "spike": 1.0}),
    "cart, 1": Case("cart", ("simple",), 1),
    "cart, 5": Case("cart", ("simple",), 5),
    "cart proper, 5": Case("cart", ("proper",), 5, {"proper": True}),
    "cart, y and z replaced, 5": Case("cart", ("partially",), 5, partial=True),
    "random_forest, 5": Case("sequential", ("simple",), 5, {"method": "random_forest"}, times=0.2),
    "boost, 5": Case("sequential", ("simple",), 5, {"method": "boost"}, times=0.2),
    "forest, 1": Case("forest", ("simple",), 1, times=0.3),
    "forest, 5": Case("forest", ("simple",), 5, times=0.3),
    "bootstrap, 1": Case("bootstrap", ("simple",), 1),
    "bootstrap, 5": Case("bootstrap", ("simple",), 5),
    "independent, 5": Case("independent", ("simple",), 5),
}


def population(rows: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw people whose coefficients are known."""
    g = rng.random(rows) < 0.4
    x = 0.5 * g + rng.normal(size=rows)
    y = LINEAR[0] + LINEAR[1] * x + LINEAR[2] * g + rng.normal(size=rows)
    odds = LOGISTIC[0] + LOGISTIC[1] * x + LOGISTIC[2] * g
    z = rng.random(rows) < 1 / (1 + np.exp(-odds))
    return pl.DataFrame({"g": np.where(g, "b", "a"), "x": x, "y": y, "z": np.where(z, "yes", "no")})


def made(case: Case, train: pl.DataFrame, seed: int) -> list[pl.DataFrame]:
    """Synthesize the replicates."""
    if case.partial:
        drawn = Replacement.of(
            train, ["y", "z"], method=case.method, seed=seed, options=case.options
        )
        return [drawn.table(number) for number in range(case.m)]
    rows = round(case.share * train.height)
    model = synthesizer(case.method, seed=seed, **case.options).fit(train)
    tables = []
    for number in range(case.m):
        if number and case.options.get("proper"):
            model.fit(train, replicate=number)
        tables.append(model.sample(rows, replicate=number))
    return tables


def rows_of(frame: pl.DataFrame, response: str) -> ModelRows:
    """Give the design that every table has."""
    g, values = (frame["g"] == "b").to_numpy(), frame[response]
    y = (values == "yes").to_numpy() if response == "z" else values.to_numpy()
    x = frame["x"].to_numpy()
    return ModelRows(y.astype(float), np.column_stack([np.ones(len(x)), x, g]).astype(float), 0)


def covered(
    case: Case, runs: int, *, rows: int = ROWS, tell: Callable[[int], None] = lambda run: None
) -> dict[tuple[str, str], np.ndarray]:
    """Count the runs in which the interval covers, by rule and model; one number a coefficient."""
    hits = {(rule, family): np.zeros(3) for rule in case.rules for family in MODELS}
    for run in range(runs):
        train = population(rows, stream(run, "coverage", "population"))
        tables = made(case, train, run)
        for family, (response, truth) in MODELS.items():
            fits = [fit(rows_of(table, response), family, "the table") for table in tables]
            q, v = together(fits)
            for rule in case.rules:
                found = RULES[rule](q, v, tables[0].height, rows)
                ends = Intervals.of(found.estimate, np.sqrt(found.variance), found.freedom)
                hits[rule, family] += np.abs(ends.estimate - truth) <= ends.half
        tell(run)
    return hits


def main(wanted: Iterable[str], runs: int) -> None:
    print(
        f"{ROWS} rows; per cent of 95 % intervals that cover: linear (1, x, g), logistic (1, x, g)"
    )
    for name, case in CASES.items():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        begin, times = time.perf_counter(), max(1, round(case.times * runs))
        hits = covered(case, times)
        spent = time.perf_counter() - begin
        for rule in case.rules:
            cells = [f"{100 * h / times:5.1f}" for f in MODELS for h in hits[rule, f]]
            every = np.concatenate([hits[rule, family] for family in MODELS]).mean() / times
            print(f"{name:35} {rule:10} {' '.join(cells)}  mean {100 * every:5.1f}"
                  f"  ({times} runs, {spent:.0f} s)", flush=True)  # fmt: skip


if __name__ == "__main__":
    numbers = [word for word in sys.argv[1:] if word.isdigit()]
    main([w for w in sys.argv[1:] if not w.isdigit()], int(numbers[0]) if numbers else RUNS)
