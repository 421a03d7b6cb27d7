"""What may be shared: no value that fewer than five training records hold is in it, anywhere."""

import datetime as dt
import html
import json
import re
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.measures import MEASURES
from understudy.running import options_of

K = 5
ROWS = 300
FAST = (("resamples", 5), ("permutations", 19), ("iterations", 5))
QUICK = {
    name: {option: n for option, n in FAST if option in options_of(measure)}
    for name, measure in MEASURES.items()
}
ROLES = {"keys": ["sex", "town"], "sensitive": ["illness"], "target": "class"}
NUMBER = re.compile(r"-?\d+(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def patients(seed: int, rows: int = ROWS) -> pl.DataFrame:
    """Draw a table in which every kind of column has values that few records hold.

    They are long enough not to be met by chance among shares, p-values and coordinates.
    """
    rng = np.random.default_rng(seed)
    base = 1000 * seed

    def with_rare(values: list[Any], rare: list[Any], times: int) -> list[Any]:
        places = rng.permutation(rows)[: len(rare) * times]
        for place, value in zip(places, rare * times, strict=True):
            values[place] = value
        return values

    day = dt.date(2015, 1, 1)
    days = [day + dt.timedelta(days=7 * int(d)) for d in rng.integers(0, 30, rows)]
    first = dt.date(1801, 1, 1) + dt.timedelta(days=seed * 400)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "town": with_rare(
                rng.choice(["North", "South", "West"], rows).tolist(),
                [f"hamlet {base + i}" for i in range(12)],
                1 + seed % 4,
            ),
            "illness": with_rare(
                rng.choice(["none", "flu"], rows).tolist(), [f"syndrome-{base}x", f"gene {base}"], 2
            ),
            "class": with_rare(
                rng.choice(["yes", "no"], rows).tolist(), [f"refused {base}"], K - 1
            ),
            "age": with_rare(
                rng.integers(30, 36, rows).tolist(), [90_000 + base + i for i in range(4)], K - 1
            ),
            "wealth": with_rare(
                (10_000 * rng.integers(100, 300, rows)).tolist(),  # round, and yet rare
                [-987_654_000 - base, 123_456_000 + base, 31_007_000 + base],
                1,
            ),
            "income": (rng.lognormal(10.5, 0.4, rows) + 10_000).round(3),
            "weight": with_rare(
                rng.choice([0.0, 60.5, 70.5, 80.5], rows).tolist(),
                [round(55_555.125 + base + i, 3) for i in range(20)],
                2,
            ),
            "visit": with_rare(days, [first + dt.timedelta(days=3 * i) for i in range(9)], 2),
            "code": with_rare([str(c) for c in rng.integers(100, 160, rows)], [f"word{base}w"], 3),
            "seldom": [None] * (rows - 3) + [700_001.5 + base, 700_002.5 + base, 700_003.5 + base],
        }
    )


def rare_values(train: pl.DataFrame) -> tuple[set[str], set[float]]:
    """Collect what fewer than five training records hold and nobody meets by chance."""
    texts, numbers = set(), set()
    for name in train.columns:
        for value, times in Counter(train[name].drop_nulls().to_list()).items():
            if times >= K:
                continue
            if isinstance(value, int | float) and abs(value) >= 5000:
                numbers.add(float(value))
            elif not isinstance(value, int | float) and len(str(value)) >= 5:
                texts.add(str(value))
    return texts, numbers


def assert_hidden(shared: str, train: pl.DataFrame) -> None:
    texts, numbers = rare_values(train)
    assert len(texts) > 20
    assert len(numbers) > 200
    assert {text for text in texts if text in shared} == set()
    printed = {float(number.replace(",", "")) for number in NUMBER.findall(shared)}
    printed |= {abs(number) for number in printed}
    assert {n for n in numbers if abs(n) in printed} == set()


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    """The synthetic table copies a hundred training rows, rare values and all."""
    train, fresh = patients(1), patients(2)
    copied = train.sample(100, seed=1).vstack(fresh.head(ROWS - 100))
    return {"train": train, "synthetic": copied, "holdout": patients(3)}


@pytest.fixture(scope="module")
def result(tables) -> us.Assessment:
    return us.assess(**tables, **ROLES, measures=["all"], options=QUICK)


def test_the_law_would_see_a_rare_value(tables):
    texts, numbers = rare_values(tables["train"])
    for told in (min(texts), f"up to {max(numbers):,}", f"-{abs(min(numbers))}"):
        with pytest.raises(AssertionError):
            assert_hidden(f"bin ≤ {told}: 3", tables["train"])


def test_every_measure_found_something(result):
    assert [finding.measure for finding in result] == list(MEASURES)
    assert {finding.measure for finding in result if finding.status == "failed"} == set()


@pytest.mark.parametrize("name", MEASURES)
def test_no_rare_value_in_a_finding(name, result, tables):
    assert_hidden(json.dumps(result[name].to_dict(), ensure_ascii=False), tables["train"])


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
