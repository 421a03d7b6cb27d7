"""Split: sizes, shares, groups, seeds."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.tables import split, take_in
from understudy.errors import DataError, OptionError, UnderstudyError

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

FRAME = pl.DataFrame(
    {
        "row": range(60),
        "sex": ["f", "m", "m"] * 20,
        "home": [f"h{i // 3}" for i in range(60)],
        "town": [f"t{i // 3 % 4}" for i in range(60)],
    }
)
KINDS = {
    "pandas": lambda: FRAME.to_pandas(),
    "pandas arrow": lambda: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "polars": lambda: FRAME,
    "lazy": lambda: FRAME.lazy(),
    "pyarrow": lambda: FRAME.to_arrow(),
}


def rows(part: Any) -> list[int]:
    made: list[int] = take_in(part).frame["row"].to_list()
    return made


@given(n=st.integers(2, 200), share=st.floats(0.01, 0.99), seed=st.integers(0, 9))
def test_sizes_disjoint_complete_and_in_order(n: int, share: float, seed: int) -> None:
    train, holdout = split(pl.DataFrame({"row": range(n)}), holdout=share, seed=seed)
    assert abs(holdout.height - n * share) <= 1
    assert train.height
    assert holdout.height
    assert sorted(rows(train) + rows(holdout)) == list(range(n))
    assert rows(train) == sorted(rows(train))
    assert rows(holdout) == sorted(rows(holdout))


def test_seeded() -> None:
    assert rows(split(FRAME, seed=1)[0]) == rows(split(FRAME, seed=1)[0])
    assert rows(split(FRAME, seed=1)[0]) != rows(split(FRAME, seed=2)[0])


def test_every_row_is_as_likely_as_another() -> None:
    frame = pl.DataFrame({"row": range(10)})
    drawn = np.bincount([r for s in range(400) for r in rows(split(frame, holdout=0.3, seed=s)[1])])
    assert drawn.sum() == 1200
    assert np.all(np.abs(drawn - 120) < 5 * np.sqrt(400 * 0.3 * 0.7))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame(kind: str) -> None:
    frame = KINDS[kind]()
    train, holdout = split(frame, holdout=0.25, seed=3)
    want = pl.DataFrame if kind == "lazy" else type(frame)
    assert type(train) is type(holdout) is want
    assert (len(rows(train)), len(rows(holdout))) == (45, 15)
    assert rows(holdout) == rows(split(FRAME, holdout=0.25, seed=3)[1])
    if want is pd.DataFrame:
        assert (train.dtypes == frame.dtypes).all()
    if want is pa.Table:
        assert train.schema == frame.schema


def test_pandas_index_is_kept() -> None:
    frame = FRAME.to_pandas().set_index(pd.Index([f"r{i}" for i in range(60)], name="who"))
    train, holdout = split(frame, seed=1)
    for part in (train, holdout):
        assert part.index.tolist() == [f"r{i}" for i in part["row"]]
        assert part.index.name == "who"


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_path(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{extension}"
    getattr(FRAME, f"write_{extension}")(path)
    for given_path in (path, str(path)):
        train, holdout = split(given_path, holdout=0.5, seed=1, stratify="sex")
        assert rows(holdout) == rows(split(FRAME, holdout=0.5, seed=1, stratify="sex")[1])
        assert train.schema["row"] == pl.Int64


@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 5))
def test_stratify_keeps_shares(share: float, seed: int) -> None:
    frame = FRAME.with_columns(pl.when(pl.col("row") > 8).then("sex").alias("sex"))
    _, holdout = split(frame, holdout=share, seed=seed, stratify="sex")
    assert abs(holdout.height - 60 * share) <= 1
    for level in ("f", "m", None):
        whole = frame.filter(pl.col("sex").eq_missing(level)).height
        part = holdout.filter(pl.col("sex").eq_missing(level)).height
        assert abs(part - whole * share) <= 1


def test_group_keeps_persons_together() -> None:
    for seed in range(5):
        train, holdout = split(FRAME, holdout=0.3, seed=seed, group="home")
        assert not set(train["home"]) & set(holdout["home"])
        assert holdout["home"].n_unique() == 6
        assert holdout.height == 18


def test_missing_groups_are_one_group() -> None:
    frame = FRAME.with_columns(pl.when(pl.col("row") > 8).then("home").alias("home"))
    train, holdout = split(frame, seed=1, group="home")
    assert (train["home"].null_count() == 0) != (holdout["home"].null_count() == 0)


def test_stratify_and_group() -> None:
    train, holdout = split(FRAME, holdout=0.4, seed=2, stratify="town", group="home")
    assert not set(train["home"]) & set(holdout["home"])
    assert holdout.group_by("town").len()["len"].to_list() == [6] * 4


def test_stratify_that_differs_within_a_group() -> None:
    with pytest.raises(OptionError, match="'sex' differs within a group of 'home'") as caught:
        split(FRAME, stratify="sex", group="home")
    assert caught.value.hint


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_impossible_share(share: float) -> None:
    with pytest.raises(OptionError, match="holdout = ") as caught:
        split(FRAME, holdout=share)
    assert "between 0 and 1" in caught.value.hint


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows(n: int) -> None:
    with pytest.raises(DataError, match=f"{n} row"):
        split(FRAME.head(n))


def test_single_group() -> None:
    with pytest.raises(DataError, match="single group"):
        split(FRAME.with_columns(pl.lit("a").alias("home")), group="home")


@pytest.mark.parametrize("role", ["stratify", "group"])
def test_unknown_column(role: str) -> None:
    with pytest.raises(UnderstudyError, match="no column 'hoome'") as caught:
        split(FRAME, **{role: "hoome"})
    assert caught.value.hint == "did you mean 'home'?"


def test_a_stratum_for_every_row() -> None:
    train, holdout = split(FRAME, holdout=0.5, seed=1, stratify="row")
    assert (train.height, holdout.height) == (30, 30)


def test_groups_that_differ_by_a_character_nobody_sees_are_two() -> None:
    homes = pl.DataFrame({"row": range(4), "home": ["a", "a\0", "a", "a\0"]})
    training, holdout = split(homes, holdout=0.5, group="home", seed=1)
    assert sorted(map(sorted, (rows(training), rows(holdout)))) == [[0, 2], [1, 3]]
