"""Utility and disclosure of data for regression: what the paper prints of the original data.

Tables II to V, row Real: how well models trained on real rows predict a number. The authors scale
the rows to test by themselves. That is not how a model is used: a single new row has no mean of its
own. Both are computed, with the authors' scaling and with that of training.

Tables VII to X, row Original: what an attacker guesses from the original data, by radius neighbours
and the mean. The README beside this file tells how the figures were made.
"""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.jobs.progress import Progress, silent
from understudy.jobs.workers import one_thread
from understudy.measures.privacy.coding import KeyPoints
from understudy.measures.privacy.guesses import SensitiveColumn
from understudy.measures.privacy.radius import radius_guess
from understudy.studies import published as shared
from understudy.studies.published import DIFFERS, SAME, dim, figure_table, print_all, read_dataset

Floats = NDArray[np.float64]
Row = dict[str, Any]

FIGURES = ("MAE", "MAPE", "R2")
TEST_SHARE = 0.2
SPLITS = 10
SEEDS = 5
MODELS = ("LR", "SVR", "MLP")
DIGITS = 2  # the paper rounds each key's figure before it takes the mean
SCALED = (
    "Tables II to V scale training and test rows apart, as the paper does; 'scaled by training' is "
    "how a model meets new rows, and what utility.regression does."
)


@dataclass(frozen=True)
class Prediction:
    """A data set, what is predicted, and the columns that are left out."""

    dataset: str
    table: str
    target: str
    left_out: tuple[str, ...] = ()


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


PREDICTIONS = (
    Prediction("boston_housing", "II", "medv"),
    Prediction("bike_sharing_day", "III", "cnt", ("instant", "dteday")),
    Prediction("social_network_ads", "IV", "EstimatedSalary", ("User ID",)),
    Prediction("insurance", "V", "charges"),
)
SCENARIOS = (
    Scenario(
        "insurance", ("age", "sex", "children", "smoker", "region"), 3, "bmi", "VII", "VIII", None
    ),
    Scenario(
        "social_network_ads", ("Gender", "EstimatedSalary", "Purchased"), 2, "Age", "IX", "X", 9
    ),
)


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = silent,
    journal: Path | None = None,
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
    journal : Path, optional
        A file to go on from when the study was stopped.
    """
    names = shared.chosen(datasets, [task.dataset for task in PREDICTIONS])
    frames = {name: read_dataset(name, data) for name in names}
    predicted = [task for task in PREDICTIONS if task.dataset in names]
    job = PredictionJob({task.dataset: _points(task, frames[task.dataset]) for task in predicted})
    seeds = 0 if quick else SEEDS
    parts = [(task.dataset, *trained) for task in predicted for trained in _trainings(seeds)]
    found: dict[tuple[str, ...], Row] = {}
    with shared.kept_in(journal, job) as kept:
        for part, value in shared.computed_parts(job, parts, kept, 0 if quick else None):
            progress(part.key, len(found), len(parts))
            found[part.words] = value
    rows = [row for task in predicted for row in _prediction_rows(task, found, seeds)]
    for scenario in SCENARIOS:
        if scenario.dataset in names:
            rows += _attack(scenario, frames[scenario.dataset])
    progress("done", len(parts), len(parts))
    return {"rows": rows}


def _numbers(column: pl.Series) -> Floats:
    """Read numbers; the levels of a text are numbered in alphabetical order."""
    made = column.cast(pl.Float64, strict=False)
    return (column.rank("dense") - 1 if made.null_count() else made).to_numpy().astype(float)


def _standard(points: Floats, like: Floats | None = None) -> Floats:
    """Scale rows by themselves, as the paper does with both parts of a split, or like others."""
    by = points if like is None else like
    spread = by.std(axis=0)
    made: Floats = (points - by.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return made


def _scores(truth: Floats, guess: Floats) -> dict[str, float]:
    """Give the three figures; MAPE is in per cent."""
    apart = np.abs(truth - guess)
    around = float(((truth - truth.mean()) ** 2).sum())
    return {
        "MAE": float(apart.mean()),
        "MAPE": 100 * float((apart / truth).mean()),
        "R2": 1 - float((apart**2).sum()) / around if around else math.nan,
    }


def _mean_scores(found: Sequence[dict[str, float]], digits: int | None = None) -> Row:
    """Give mean and spread of figures, each rounded first where digits are given."""
    made = {}
    for figure in FIGURES:
        exact = np.array([one[figure] for one in found])
        values = exact if digits is None else np.array([round(x, digits) for x in exact.tolist()])
        spread = float(values.std()) if len(found) > 1 else None
        mean, unrounded = float(values.mean()), float(exact.mean())
        made[figure] = {"mean": mean, "spread": spread, "unrounded": unrounded}
    return made


def _split(rows: int, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.model_selection import train_test_split

    seen, others = train_test_split(np.arange(rows), test_size=TEST_SHARE, random_state=seed)
    return seen, others


def _points(task: Prediction, frame: pl.DataFrame) -> tuple[Floats, Floats]:
    """Give what is known of each row, and what is predicted."""
    used = [name for name in frame.columns if name not in (task.target, *task.left_out)]
    return np.column_stack([_numbers(frame[name]) for name in used]), _numbers(frame[task.target])


def _trainings(seeds: int) -> list[tuple[str, str, str]]:
    """Name the models, their seeds, and whose scaler: the authors' protocol, or training's.

    The perceptron's seeds are not printed: it is trained with several, the first being the number
    of the split. Without seeds it is left out.
    """
    made = []
    for model in MODELS if seeds else MODELS[:-1]:
        several = range(seeds if model == "MLP" else 1)
        made += [(model, str(10 * number), "apart") for number in several]
        made.append((model, "0", "by training"))
    return made


@dataclass(frozen=True)
class PredictionJob:
    """Trains a model on ten splits of a data set; both parts of a split may be scaled apart."""

    points: dict[str, tuple[Floats, Floats]]

    def do(self, part: shared.StudyPart) -> Row:
        """Give mean and spread of the figures."""
        dataset, model, seed, scaled = part.words
        return _over_splits(*self.points[dataset], model, seed=int(seed), apart=scaled == "apart")


def _prediction_rows(
    task: Prediction, found: dict[tuple[str, ...], Row], seeds: int
) -> Iterator[Row]:
    """Give the row Real of a table, one line a model.

    Each line has the figures of the authors' protocol and, under ``correct``, those with the
    scaler of training; ``seeds`` has those of all seeds of the perceptron.
    """
    for model in MODELS if seeds else MODELS[:-1]:
        of = [part for part in found if part[:2] == (task.dataset, model) and part[3] == "apart"]
        several = [found[part] for part in sorted(of, key=lambda part: int(part[2]))]
        line: Row = {
            "table": task.table,
            "dataset": task.dataset,
            "row": f"Real, {model}",
            "keys": 0,
            **several[0],
            "correct": found[task.dataset, model, "0", "by training"],
        }
        if model == "MLP":
            line["seeds"] = {
                figure: [[one[figure]["mean"], one[figure]["spread"]] for one in several]
                for figure in FIGURES
            }
        yield line


def _over_splits(points: Floats, target: Floats, model: str, *, seed: int, apart: bool) -> Row:
    """Train on ten splits and give mean and spread of the figures.

    ``apart``: both parts of a split are scaled by themselves.
    """
    found = []
    for split in range(SPLITS):
        train, test = _split(len(points), split)
        seen = _standard(points[train])
        asked = _standard(points[test], None if apart else points[train])
        guess = _guess(model, seed + split, seen, target[train], asked)
        found.append(_scores(target[test], guess))
    return _mean_scores(found)


def _guess(model: str, seed: int, seen: Floats, numbers: Floats, asked: Floats) -> Floats:
    """Train a model with the settings of the paper; gamma is scikit-learn's of that time."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVR

    make: dict[str, Callable[[], Any]] = {
        "LR": LinearRegression,
        "SVR": lambda: SVR(kernel="rbf", C=100, gamma="auto"),
        "MLP": lambda: MLPRegressor(solver="lbfgs", random_state=seed),
    }
    with one_thread(), warnings.catch_warnings():
        # the paper keeps scikit-learn's limit of 200 iterations, which is met often
        warnings.simplefilter("ignore", ConvergenceWarning)
        made: Floats = make[model]().fit(seen, numbers).predict(asked)
    return made


def _attack(scenario: Scenario, frame: pl.DataFrame) -> list[Row]:
    """Attack with every set of keys, and without any."""
    seen = persons = np.arange(frame.height)
    if scenario.split is not None:
        seen, persons = _split(frame.height, scenario.split)
    target = _numbers(frame[scenario.target])
    coded = {name: _numbers(frame[name]) for name in scenario.keys}
    secret = SensitiveColumn(scenario.target, True, target[persons], target[seen], 0)
    sets = list(itertools.combinations(scenario.keys, scenario.length))
    found = []
    for keys in sets:
        points = np.column_stack([coded[name] for name in keys])
        parts = _standard(points[persons]), _standard(points[seen])
        known = KeyPoints(parts[0], parts[1], np.zeros(len(keys), bool), keys)
        found.append(_scores(target[persons], radius_guess(known, [secret])[0].guess))
    dummy = _scores(target[persons], np.full(len(target[persons]), target[seen].mean()))
    made = {"dataset": scenario.dataset, "row": "Original"}
    return [
        {"table": scenario.radius_table, **made, "keys": len(sets), **_mean_scores(found, DIGITS)},
        {"table": scenario.dummy_table, **made, "keys": 0, **_mean_scores([dummy])},
    ]


def expected() -> dict[str, Any]:
    """Give ``tables``, figures by table and row: the mean, and the spread where there is one.

    ``digits`` is how many are printed, ``misprints`` has what is right where a printed figure
    cannot be.
    """
    return shared.expected("hittmeir2019")


def printed(value: float, digits: int) -> str:
    """Write a figure as the paper prints it: no zero at its end, and none before an R2's point.

    Examples
    --------
    >>> printed(0.4996, 2), printed(16.6, 2), printed(-0.00110, 4)
    ('0.5', '16.6', '-0.0011')
    >>> printed(195.67, 0)
    '196'
    """
    rounded = round(value, digits) + 0.0
    return repr(rounded) if digits else f"{rounded:.0f}"


def published(row: Row, figure: str) -> list[str]:
    """Give the published mean and spread of a figure of a row."""
    return list(expected()["tables"].get(row["table"], {}).get(row["row"], {}).get(figure, []))


def computed(row: Row, figure: str, *, correct: bool = False) -> list[str]:
    """Give what was computed, with as many digits as the paper has.

    ``correct`` asks for what the scaler of training gives, where there is that.
    """
    digits = expected()["digits"][row["table"]][figure]
    found = (row["correct"] if correct else row)[figure]
    made = [found["mean"], found["spread"]]
    return [printed(value, digits) for value in made if value is not None]


def misprinted(row: Row, figure: str) -> bool:
    """Tell whether the printed figure is known to be wrong, and what is right was computed."""
    known = expected()["misprints"].get(row["table"], {}).get(row["row"], {})
    return figure in known and computed(row, figure)[0] == known[figure]


def by_seed(row: Row, figure: str) -> bool:
    """Tell whether the printed mean and spread are what another seed may well give.

    They lie within the interval of 95 % for one more draw like those computed, or print like
    its ends.
    """
    several = np.array(row.get("seeds", {}).get(figure, []))
    wanted = published(row, figure)
    if len(several) < 2 or len(wanted) != several.shape[1]:
        return False
    from scipy.stats import t

    number = len(several)
    factor = float(t.ppf(0.975, number - 1)) * math.sqrt(1 + 1 / number)
    last = 0.5 * 10.0 ** -expected()["digits"][row["table"]][figure]
    apart = np.abs(np.array([float(x) for x in wanted]) - several.mean(axis=0))
    return bool((apart <= factor * several.std(axis=0, ddof=1) + last).all())


def _wrong(row: Row, figure: str) -> int:
    """Count the printed numbers of a figure, mean and spread, that differ from those computed."""
    wanted, found = published(row, figure), computed(row, figure)
    return sum(
        float(a) != float(b) for a, b in itertools.zip_longest(wanted, found, fillvalue="nan")
    )


def differing(row: Row) -> list[str]:
    """Name the figures of a row that differ from the printed ones; what is not printed does not."""
    return [figure for figure in FIGURES if published(row, figure) and _wrong(row, figure)]


def show(result: dict[str, Any], file: TextIO) -> None:
    """Print one line a row, and under it the published figures; a sign marks what differs.

    Where the paper scales the rows to test by themselves, the figures with the scaler of training
    stand under both.
    """
    headings = ("table", "data set", "row"), ("MAE", "MAPE %", "R²")
    table = figure_table("", *headings, no_wrap=True)
    for row in result["rows"]:
        wrong = differing(row)
        cells = (
            "±".join(computed(row, figure)) + (DIFFERS if figure in wrong else SAME)
            for figure in FIGURES
        )
        table.add_row(row["table"], row["dataset"], row["row"], *cells)
        under = {"published": [published(row, figure) for figure in FIGURES]}
        if "correct" in row:
            under["scaled by training"] = [computed(row, f, correct=True) for f in FIGURES]
        for what, figures in under.items():
            cells = (dim("±".join(figure) + SAME) for figure in figures)
            table.add_row("", "", dim(f"  {what}"), *cells)
    print_all(file, [table, *_summary(result["rows"])])


def _summary(rows: Sequence[Row]) -> list[str]:
    """Say how many printed figures agree, and which do not."""
    many = sum(len(published(row, figure)) for row in rows for figure in FIGURES)
    wrong = [(row, figure) for row in rows for figure in differing(row)]
    off = sum(_wrong(row, figure) for row, figure in wrong)
    lines = [f"{many - off} of {many} printed figures agree."]
    for row, figure in wrong:
        why = "; the printed figure cannot be right" if misprinted(row, figure) else ""
        why = "; within what other seeds give" if by_seed(row, figure) else why
        lines.append(f"differs: table {row['table']}, {row['row']}: {figure}{why}")
    return lines + ([SCALED] if any("correct" in row for row in rows) else [])
