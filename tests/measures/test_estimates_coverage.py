"""Coverage: how often intervals from synthetic tables cover the truth, where the model is right."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("statsmodels")
STUDY = Path(__file__).parents[2] / "benchmarks" / "intervals.py"
RUNS = 250
BAND = (0.935, 0.965)


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("intervals_study", STUDY)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def shares(study: ModuleType, case: str, runs: int) -> dict[str, np.ndarray]:
    """Give the share of runs that cover, by rule, for all six coefficients."""
    made = study.CASES[case]
    hits = study.covered(made, runs)
    return {r: np.concatenate([hits[r, f] for f in study.MODELS]) / runs for r in made.rules}


def test_the_study_runs(study):
    found = shares(study, "linear, 1", 3)
    assert set(found) == {"simple", "naive"}
    assert all(len(each) == 6 for each in found.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("linear, 1", "simple"),
        ("linear, 5", "simple"),
        ("linear, 5 of half the rows", "simple"),
        ("linear proper, 1", "proper"),
        ("linear proper, 5", "proper"),
        ("linear, y and z replaced, 5", "partially"),
        ("linear proper, y and z replaced, 1", "proper"),
    ],
)
def test_parametric_synthesis_covers(study, case, rule):
    """The band is that of 2,000 runs; single coefficients get two standard errors more."""
    found = shares(study, case, RUNS)
    error = np.sqrt(0.95 * 0.05 / RUNS)
    assert BAND[0] <= found[rule].mean() <= BAND[1]
    assert (found[rule] >= BAND[0] - 2 * error).all()
    assert (found[rule] <= BAND[1] + 2 * error).all()
    if "naive" in found and case == "linear, 1":
        assert found["naive"].mean() < 0.87
    if "replaced, 1" in case:
        assert found["simple"].mean() < 0.92


@pytest.mark.slow
@pytest.mark.parametrize("case", ["forest, 1", "forest, 5"])
def test_forest_keeps_slopes_of_small_tables(study, case):
    """Of 400 rows, forest's intervals covered 51 to 58 % on average while trees alone drew them."""
    found = shares(study, case, 150)["simple"]
    assert found.mean() >= 0.90
    assert found.min() >= 0.82
