"""What an attacker guesses from the original data: radius neighbours and the mean.

Tables VII to X, row Original. The README beside this file tells how the figures were made.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.datasets import dataset
from understudy.errors import DataError
from understudy.measures.privacy.attackers import radius_guess
from understudy.measures.privacy.guesses import Known, Secret
from understudy.schema import near
from understudy.studies.hittmeir2019.expected import FIGURES

Progress = Callable[[str, int, int], None]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scenario:
    """A data set, what the attacker knows and wants, and the tables that it fills.

    ``split`` is the seed of the split into the rows attacked from and the persons attacked; without
    one, all rows are both.
    """

    dataset: str
    keys: tuple[str, ...]
    length: int
    target: str
    radius_table: str
    dummy_table: str
    split: int | None


SCENARIOS = (
    Scenario(
        "insurance", ("age", "sex", "children", "smoker", "region"), 3, "bmi", "VII", "VIII", None
    ),
    Scenario(
        "social_network_ads", ("Gender", "EstimatedSalary", "Purchased"), 2, "Age", "IX", "X", 9
    ),
)
TEST_SHARE = 0.2


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """Compute the row Original of tables VII to X.

    Parameters
    ----------
    data : Path, optional
        A folder with insurance.csv and social_network_ads.csv; by the registry if not given.
    datasets : tuple of str
        Names of data sets; both if none is given.
    quick : bool
        There is nothing to leave out: all takes a second.
    """
    known = [scenario.dataset for scenario in SCENARIOS]
    for name in datasets:
        if name not in known:
            raise DataError(f"there is no data set '{name}' here", hint=near(name, known))
    rows: list[dict[str, Any]] = []
    for done, scenario in enumerate(SCENARIOS):
        progress(scenario.dataset, done, len(SCENARIOS))
        if not datasets or scenario.dataset in datasets:
            rows += _scenario(scenario, _read(scenario.dataset, data))
    progress("done", len(SCENARIOS), len(SCENARIOS))
    return {"rows": rows}


def _read(name: str, folder: Path | None) -> pl.DataFrame:
    path = dataset(name).path() if folder is None else folder / f"{name}.csv"
    if not path.is_file():
        raise DataError(f"there is no file '{path}'", hint="check the folder after --data")
    return pl.read_csv(path)


def _scenario(scenario: Scenario, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Attack with every set of keys, and without any."""
    seen, persons = _parts(frame, scenario.split)
    target = frame[scenario.target].to_numpy().astype(float)
    coded = {name: _places(frame[name]) for name in scenario.keys}
    sets = list(itertools.combinations(scenario.keys, scenario.length))
    scores = []
    for keys in sets:
        known = Known(
            _standard(np.column_stack([coded[name][persons] for name in keys])),
            _standard(np.column_stack([coded[name][seen] for name in keys])),
            np.zeros(len(keys), bool),
            keys,
        )
        secret = Secret(scenario.target, True, target[persons], target[seen], 0)
        scores.append(_scores(target[persons], radius_guess(known, [secret])[0].guess))
    dummy = _scores(target[persons], np.full(len(target[persons]), target[seen].mean()))
    made = {"dataset": scenario.dataset, "row": "Original"}
    return [
        {"table": scenario.radius_table, **made, "keys": len(sets), **_over_keys(scores)},
        {"table": scenario.dummy_table, **made, "keys": 0, **_alone(dummy)},
    ]


def _parts(frame: pl.DataFrame, split: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = np.arange(frame.height)
    if split is None:
        return rows, rows
    from sklearn.model_selection import train_test_split

    seen, persons = train_test_split(rows, test_size=TEST_SHARE, random_state=split)
    return seen, persons


def _places(column: pl.Series) -> Floats:
    """Number the levels of a text in alphabetical order; numbers stay as they are."""
    if column.dtype == pl.String:
        column = column.rank("dense") - 1
    return column.to_numpy().astype(float)


def _standard(points: Floats) -> Floats:
    """Scale the rows at hand by themselves: the paper scales both parts of a split apart."""
    spread = points.std(axis=0)
    made: Floats = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return made


def _scores(truth: Floats, guess: Floats) -> dict[str, float]:
    apart = np.abs(truth - guess)
    around = float(((truth - truth.mean()) ** 2).sum())
    return {
        "MAE": float(apart.mean()),
        "MAPE": 100 * float((apart / truth).mean()),
        "R2": 1 - float((apart**2).sum()) / around if around else math.nan,
    }


def _over_keys(scores: list[dict[str, float]]) -> dict[str, Any]:
    """Give mean and spread over keys; the paper rounds each key's figure to two digits first."""
    made = {}
    for figure in FIGURES:
        values = np.array([round(score[figure], 2) for score in scores])
        exact = float(np.mean([score[figure] for score in scores]))
        made[figure] = {
            "mean": float(values.mean()),
            "spread": float(values.std()),
            "unrounded": exact,
        }
    return made


def _alone(score: dict[str, float]) -> dict[str, Any]:
    return {
        figure: {"mean": score[figure], "spread": None, "unrounded": score[figure]}
        for figure in FIGURES
    }
