"""Whatever a public function gives is shown in a few lines, also where the table is wide."""

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.source import source_of
from understudy.judging.comparison import compare_tables
from understudy.workflows.verify import of, verify

LINES, WIDTH = 10, 100
MEASURES = ["fidelity.univariate", "fidelity.moments", "privacy.closest_record"]
FAST = {"fidelity.univariate": {"resamples": 3}, "privacy.closest_record": {"permutations": 9}}
POLICY = "".join(
    f'[[rule]]\nmeasure = "{name}"\nupper = 0.001\nreason = "{"long " * 60}"\n' for name in MEASURES
)


def wide(seed: int, rows: int = 150) -> pl.DataFrame:
    """Forty columns with long names, one of them a category of many long levels."""
    rng = np.random.default_rng(seed)
    made = {f"a rather long name of column {n:02d}": rng.integers(0, 9, rows) for n in range(39)}
    levels = [f"a level whose name is not short at all, number {n:03d}" for n in range(40)]
    return pl.DataFrame({**made, "town": rng.choice(levels, rows)})


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reprs")
    tables = {"train": wide(1), "synthetic": wide(2), "holdout": wide(3)}
    policy = us.Policy.loads(POLICY)
    result = us.assess(**tables, measures=MEASURES, options=FAST, policy=policy)
    table = us.Table.of(tables["train"])
    receipt = of(result, *tables.values(), policy=POLICY)
    receipt.write(folder / "receipt.json")
    (folder / "policy.toml").write_text('[[rule]]\nmeasure = "fidelity.moments"\nupper = 99\n')
    few = {
        "measures": ["fidelity.moments"],
        "options": {"fidelity.trivariate": {"subsets": 5, "resamples": 2, "permutations": 2}},
    }
    return {
        "assessment": result,
        "finding": result["fidelity.univariate"],
        "part": result["fidelity.univariate"].parts[0],
        "numbers": next(iter(result["fidelity.univariate"].tables.values())),
        "card": us.MEASURES["privacy.closest_record"].card,
        "table": table,
        "schema": table.schema,
        "column": table.schema["town"],
        "codec": us.Codec.fit(source_of(table)),
        "column codec": us.Codec.fit(source_of(table)).columns[-1],
        "comparison": compare_tables(**tables),
        "model": us.synthesizer("independent").fit(tables["train"]),
        "candidates": us.compare(
            tables["train"], {f"candidate {n}": wide(n) for n in (4, 5)}, curve=False, **few
        ),
        "policy": policy,
        "rule": policy.rules[0],
        "advice": us.keys(tables["train"]),
        "receipt": receipt,
        "verification": verify(folder / "receipt.json", **tables),
        "release": us.release(
            tables["train"], folder / "policy.toml", folder / "out", method="independent", **few
        ),
        "calibration": us.Calibration({f"measure {n}": {"blind": True} for n in range(40)}, {}),
        "benchmark": us.Benchmark(({"method": "cart", "status": "ok"},) * 400, {}),
        "measures": us.MEASURES,
        "methods": us.SYNTHESIZERS,
    }


def lines(text: str) -> int:
    return sum(1 + len(line) // WIDTH for line in text.splitlines())


@pytest.mark.slow
def test_reprs_are_a_few_lines(shown):
    texts = {name: repr(found) for name, found in shown.items()}
    assert {name: text for name, text in texts.items() if lines(text) > LINES} == {}


@pytest.mark.slow
def test_reprs_say_what_they_are(shown):
    spoken = {"measures": "Measures", "methods": "Methods"}
    for name, found in shown.items():
        assert repr(found).startswith(spoken.get(name, type(found).__name__))
    assert repr(shown["codec"]).startswith("Codec(40 columns, ")
    assert repr(shown["column codec"]).startswith("ColumnCodec(town: category, ")
