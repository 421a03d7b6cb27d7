"""What an attacker guesses from the original data: radius neighbours and the mean.

Tables VII to X, row Original; ``prediction`` has tables II to V, row Real. The README beside this
file tells how the figures were made.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.datasets import dataset
from understudy.data.schema import near
from understudy.errors import DataError
from understudy.measures.privacy.coding import Known
from understudy.measures.privacy.guesses import SensitiveColumn
from understudy.measures.privacy.radius import radius_guess
from understudy.studies.hittmeir2019.expected import FIGURES
from understudy.studies.hittmeir2019.prediction import SEEDS, TASKS, predict
from understudy.studies.hittmeir2019.scaling import mean_scores, places, scores, standard

Progress = Callable[[str, int, int], None]


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
DIGITS = 2  # the paper rounds each key's figure before it takes the mean


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """Compute tables II to V, row Real, and tables VII to X, row Original.

    Parameters
    ----------
    data : Path, optional
        A folder with the four files, named NAME.csv; by the registry if not given.
    datasets : tuple of str
        Names of data sets; all four if none is given.
    quick : bool
        Leave out the perceptron, which takes most of the time.
    """
    known = [task.dataset for task in TASKS]
    for name in datasets:
        if name not in known:
            raise DataError(f"there is no data set '{name}' here", hint=near(name, known))
    rows: list[dict[str, Any]] = []
    jobs = [job for job in (*TASKS, *SCENARIOS) if not datasets or job.dataset in datasets]
    for done, job in enumerate(jobs):
        progress(job.dataset, done, len(jobs))
        frame = _read(job.dataset, data)
        if isinstance(job, Scenario):
            rows += _scenario(job, frame)
        else:
            rows += predict(job, frame, seeds=0 if quick else SEEDS)
    progress("done", len(jobs), len(jobs))
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
    coded = {name: places(frame[name]) for name in scenario.keys}
    sets = list(itertools.combinations(scenario.keys, scenario.length))
    found = []
    for keys in sets:
        known = Known(
            standard(np.column_stack([coded[name][persons] for name in keys])),
            standard(np.column_stack([coded[name][seen] for name in keys])),
            np.zeros(len(keys), bool),
            keys,
        )
        secret = SensitiveColumn(scenario.target, True, target[persons], target[seen], 0)
        found.append(scores(target[persons], radius_guess(known, [secret])[0].guess))
    dummy = scores(target[persons], np.full(len(target[persons]), target[seen].mean()))
    made = {"dataset": scenario.dataset, "row": "Original"}
    return [
        {"table": scenario.radius_table, **made, "keys": len(sets), **mean_scores(found, DIGITS)},
        {"table": scenario.dummy_table, **made, "keys": 0, **_alone(dummy)},
    ]


def _parts(frame: pl.DataFrame, split: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = np.arange(frame.height)
    if split is None:
        return rows, rows
    from sklearn.model_selection import train_test_split

    seen, persons = train_test_split(rows, test_size=TEST_SHARE, random_state=split)
    return seen, persons


def _alone(score: dict[str, float]) -> dict[str, Any]:
    return {
        figure: {"mean": score[figure], "spread": None, "unrounded": score[figure]}
        for figure in FIGURES
    }
