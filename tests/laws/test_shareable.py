"""What may be shared: no value that fewer than five training records hold is in it, anywhere."""

import datetime as dt
import html
import json
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.measures import MEASURES
from understudy.options import declared
from understudy.testing import patients, rare_values, rare_values_in
from understudy.testing.tables import NUMBER

K = 5
ROWS = 300
FAST = (
    ("resamples", 5),
    ("permutations", 19),
    ("iterations", 5),
    ("folds", 3),
    ("shuffles", 2),
)
QUICK = {
    name: {option: n for option, n in FAST if option in declared(measure)}
    for name, measure in MEASURES.items()
}
ROLES = {
    "keys": ["sex", "town"],
    "sensitive": ["illness"],
    "target": "class",
    "formula": ["income ~ town + illness + age + weight", "class ~ town + income"],
}


def assert_hidden(shared: str, train: pl.DataFrame, texts_at_least: int = 20) -> None:
    texts, numbers = rare_values(train)
    assert len(texts) > texts_at_least
    assert len(numbers) > 10 * texts_at_least
    assert rare_values_in(shared, train) == []


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    """The synthetic table copies a hundred training rows, rare values and all."""
    train, fresh = patients(1), patients(2)
    copied = train.sample(100, seed=1).vstack(fresh.head(ROWS - 100))
    return {"train": train, "synthetic": copied, "holdout": patients(3)}


@pytest.fixture(scope="module")
def result(laws) -> us.Assessment:
    return laws.assessed("patients")


def test_the_law_would_see_a_rare_value(tables):
    texts, numbers = rare_values(tables["train"])
    for told in (min(texts), f"up to {max(numbers):,}", f"-{abs(min(numbers))}"):
        with pytest.raises(AssertionError):
            assert_hidden(f"bin ≤ {told}: 3", tables["train"])


def test_every_measure_found_something(result):
    assert [finding.measure for finding in result] == list(MEASURES)
    assert {finding.measure for finding in result if finding.status == "failed"} == set()


def test_no_rare_value_in_the_assessment(result, tables):
    assert_hidden(json.dumps(result.to_dict(), ensure_ascii=False), tables["train"])


def test_no_rare_value_on_the_page(result, tables):
    assert_hidden(html.unescape(result.to_html()), tables["train"])


def test_no_rare_value_without_a_holdout_and_with_replicates(tables):
    train, made = tables["train"], tables["synthetic"]
    result = us.assess(train, [made, made], **ROLES, measures=["all"], options=QUICK)
    assert_hidden(json.dumps(result.to_dict(), ensure_ascii=False), train)


def test_no_value_at_all_of_four_training_records(tables):
    """Every value of four records is rare, and so is every mean of theirs."""
    few = tables["train"].tail(4)
    result = us.assess(few, tables["synthetic"], holdout=tables["holdout"], **ROLES, options=QUICK)
    shared = json.dumps(result.to_dict(), ensure_ascii=False)
    held = [str(v) for v in few["income"]] + [v for v in few["town"] if "hamlet" in v]
    assert {value for value in held if value in shared} == set()


def test_no_value_at_all_of_six_training_records(tables):
    """Enough for shares and means, but every value is rare."""
    few = tables["train"].head(6)
    result = us.assess(few, tables["holdout"], holdout=patients(4), **ROLES, options=QUICK)
    shared = json.dumps(result.to_dict(), ensure_ascii=False)
    assert_hidden(shared, few, texts_at_least=0)
    held = [f"{value:.12g}" for name in ("income", "wealth") for value in few[name]]
    assert {value for value in held if value in shared} == set()
    moments = result["fidelity.moments"].to_dict()["parts"]
    assert {part["train_mean"] for part in moments} == {None}


@pytest.mark.slow
def test_no_rare_level_of_the_target_nor_of_the_groups(tables):
    roles = {"keys": ["sex", "illness"], "sensitive": ["age"], "target": "town", "by": "class"}
    names = ["utility", "fidelity.hellinger", "privacy.closest_record"]
    result = us.assess(**tables, **roles, measures=names, options=QUICK)
    parts = [part.name for part in result["utility.classification"].parts]
    assert {"class North", "class (all others)"} <= set(parts)
    assert {"class = yes", "class = no"} <= set(parts)
    assert_hidden(json.dumps(result.to_dict(), ensure_ascii=False), tables["train"])
    assert_hidden(html.unescape(result.to_html()), tables["train"])


def dated(seed: int, rows: int) -> pl.DataFrame:
    """Draw dates that are all the first of a year, or of a month: many of them are rare."""
    rng = np.random.default_rng(seed)
    years = rng.normal(1970, 12, rows).astype(int)
    months = rng.integers(0, 150, rows)
    return pl.DataFrame(
        {
            "year": [dt.date(year, 1, 1) for year in years],
            "month": [dt.date(2001 + m // 12, m % 12 + 1, 1) for m in months],
            "sex": rng.choice(["f", "m"], rows),
        }
    )


@pytest.mark.parametrize("rows", [6, 60, 300, 1500])
def test_no_rare_year_nor_month_in_a_picture(rows):
    train, made, fresh = (dated(seed, rows) for seed in (1, 2, 3))
    names = ["fidelity.total_variation", "fidelity.bivariate", "fidelity.trivariate"]
    options = {name: {**QUICK[name], "c": 10} for name in names[1:]} | {names[0]: QUICK[names[0]]}
    result = us.assess(train, made, holdout=fresh, measures=names, options=options)
    for column, written in (("year", ("%Y", "%Y-%m", "%Y-%m-%d")), ("month", ("%Y-%m", "%F"))):
        seen = Counter(train[column].to_list())
        rare = {day.strftime(form) for day, n in seen.items() if n < K for form in written}
        often = {day.strftime("%Y") for day, n in seen.items() if n >= K}
        words = {word for label in labels_of(result, column) for word in label.split()}
        assert rare
        assert words & rare == set()
        assert rows < 300 or words & often


def labels_of(result: us.Assessment, column: str) -> set[str]:
    """Collect what the pictures write for a column."""
    found = set()
    for finding in result:
        for title, table in finding.tables.items():
            if title == f"histogram:{column}":
                found |= {row[0] for row in table.rows}
            elif title.startswith("heat:") and column in table.columns:
                found |= {row[table.columns.index(column)] for row in table.rows}
    assert found
    return found


@pytest.mark.parametrize("outliers", [1, 2, 4])
def test_moments_do_not_give_an_outlier_away(outliers):
    """With one record far out, its value is mean + deviation · √(n - 1)."""
    far = 987_654.0

    def draw(seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        return pl.DataFrame({"wealth": rng.normal(50, 9, ROWS), "age": rng.normal(40, 12, ROWS)})

    train = draw(1).with_columns(
        wealth=pl.when(pl.int_range(pl.len()) < outliers).then(far).otherwise("wealth")
    )
    told = us.assess(train, draw(2), holdout=train.reverse(), measures=["fidelity.moments"])
    numbers = [float(n) for n in NUMBER.findall(json.dumps(told["fidelity.moments"].to_dict()))]
    assert len(numbers) > 5

    def nearest(given: list[float]) -> float:
        """Say how near to the outlier somebody gets who tries all pairs for mean and deviation."""
        steps = [math.sqrt((ROWS - m) / m) for m in range(1, K)]
        guesses = [a + b * step for a in given for b in given for step in steps]
        return min(abs(guess / far - 1) for guess in guesses)

    assert nearest([train["wealth"].mean(), train["wealth"].std(ddof=0)]) < 0.001
    assert nearest(numbers) > 0.5


def test_no_mean_gives_an_outlier_away(tables):
    """With one record far out, n times a mean error, or √n times a root mean square, is it."""
    far = 71_987_654.0
    first = pl.int_range(pl.len()) == 0
    several = {
        name: table.select("sex", "illness", "class", "age", income=pl.col("income") / 1000)
        for name, table in tables.items()
    }
    train = several["train"].with_columns(income=pl.when(first).then(far).otherwise("income"))
    result = us.assess(
        **(several | {"train": train}),
        keys=["sex", "illness"],
        sensitive=["income"],
        target="class",
        formula=["income ~ sex + illness", "income ~ sex - 1", "class ~ income", "age ~ income"],
        measures=["all"],
        options=QUICK,
    )
    times = [1, ROWS, 2 * ROWS, math.sqrt(ROWS), math.sqrt(2 * ROWS)]
    for finding in result:
        found = NUMBER.findall(json.dumps(finding.to_dict()))
        told = [float(number.replace(",", "")) for number in found]
        near = {n for n in told for m in times if abs(n * m / far - 1) < 0.05}
        assert near == set(), finding.measure


@pytest.mark.parametrize("name", MEASURES)
def test_real_shares_in_pictures_are_rounded(name, result):
    """Real counts are multiples of five, whatever the picture."""
    for title, table in result[name].tables.items():
        if not title.startswith(("histogram:", "heat:")):
            continue
        for column, role in enumerate(table.columns):
            rounded = role in ("train", "holdout", "training") and column
            for row in table.rows if rounded else ():
                count = row[column] * ROWS
                assert count == pytest.approx(5 * round(count / 5), abs=1e-3), (title, row)
