"""Formulas: read, refused, and turned into the same columns as patsy's."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.utility.estimates.formula import (
    FUNCTIONS,
    Factor,
    Formula,
    as_formulas,
    check_formulas,
)
from understudy.measures.utility.estimates.model import Design, Impossible, design


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("y ~ x", "y ~ x"),
        (" y~a+b ", "y ~ a + b"),
        ("y ~ a*b", "y ~ a + b + a:b"),
        ("y ~ a:b + a", "y ~ a + a:b"),
        ("y ~ a*b*c - 1", "y ~ a + b + c + a:b + a:c + b:c + a:b:c - 1"),
        ("y ~ b + b + a:b + b:a", "y ~ b + a:b"),
        ("y ~ 1", "y ~ 1"),
        ("y ~ -1 + x", "y ~ x - 1"),
        ("y ~ 0 + x", "y ~ x - 1"),
        ("log(y) ~ C(x) + log(`capital-gain`)", "log(y) ~ C(x) + log(`capital-gain`)"),
        ("number(kids) ~ größe.cm", "number(kids) ~ größe.cm"),
        ("`a ``b``` ~ `1` + C", "`a ``b``` ~ `1` + C"),
    ],
)
def test_reads(text: str, read: str) -> None:
    assert str(Formula.parse(text)) == read
    assert Formula.parse(read) == Formula.parse(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a column is missing"),
        ("y", "there is no '~'"),
        ("y ~", "a column is missing"),
        ("~ x", "in place of a column"),
        ("y ~ x +", "a column is missing"),
        ("y ~ x z", "is not expected"),
        ("y ~ x - z", "only '- 1'"),
        ("y ~ exp(x)", "no function 'exp'"),
        ("y ~ log(log(x))", "a function of a function"),
        ("y ~ log(x", r"no '\)'"),
        ("y ~ x^2", "cannot be read"),
        ("y ~ 2", "cannot be read"),
        ("y ~ x + y", "on both sides"),
        ("y ~ log(y)", "on both sides"),
        ("y ~ 0", "no term is left"),
        ("y ~ `x", "cannot be read"),
        ("y ~ __import__('os')", "cannot be read|no function"),
    ],
)
def test_refuses(text: str, why: str) -> None:
    with pytest.raises(OptionError, match=why) as caught:
        Formula.parse(text)
    assert caught.value.hint


NAME = st.text(min_size=1, max_size=8).filter(str.strip) | st.sampled_from(["x", "sex", "log"])
FACTORS = st.builds(Factor, NAME, st.sampled_from(["", *FUNCTIONS]))
TERMS = st.lists(st.lists(FACTORS, min_size=1, max_size=3, unique=True).map(tuple), max_size=4)


@given(FACTORS, TERMS, st.booleans())
def test_what_is_written_reads_back(response: Factor, terms: list, intercept: bool) -> None:
    kept = {frozenset(t): t for t in terms if all(f.name != response.name for f in t)}
    made = Formula(response, tuple(sorted(kept.values(), key=len)), intercept or not kept)
    again = Formula.parse(str(made))
    assert (again.response, again.intercept) == (made.response, made.intercept)
    assert [frozenset(t) for t in again.terms] == [frozenset(t) for t in made.terms]


@given(st.text(alphabet="ab~+-:*()`C10 log", max_size=25))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        made = Formula.parse(text)
    except OptionError:
        return
    assert Formula.parse(str(made)) == made


def test_an_unknown_column_is_named_with_a_near_one() -> None:
    with pytest.raises(OptionError, match="no column 'agee'") as caught:
        check_formulas(["income ~ agee"], ["age", "income"])
    assert "'age'" in caught.value.hint
    check_formulas(as_formulas("income ~ age"), ["age", "income"])


def table(rows: int = 60, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "y": rng.normal(size=rows),
            "x": rng.normal(5, 1, rows),
            "a": rng.choice(["p", "q", "r"], rows, p=[0.5, 0.3, 0.2]),
            "b": rng.choice(["u", "v"], rows, p=[0.7, 0.3]),
        }
    )


def made(text: str, train: pl.DataFrame, synthetic: pl.DataFrame | None = None, **more) -> Design:
    comparison = compare_tables(train, train if synthetic is None else synthetic)
    return design(
        comparison, Formula.parse(text), more.get("family", "auto"), more.get("levels", 9)
    )


@pytest.mark.parametrize(
    "text",
    ["y ~ x", "y ~ a", "y ~ a + b", "y ~ a*b", "y ~ a - 1", "y ~ a + b - 1", "y ~ a:b", "y ~ a:x",
     "y ~ x*a", "y ~ a + a:x", "y ~ log(x) + b", "y ~ 1", "y ~ x - 1", "y ~ a:b + a"],
)  # fmt: skip
def test_columns_span_what_patsy_spans(text: str) -> None:
    patsy = pytest.importorskip("patsy")
    frame = table()
    pandas = frame.to_pandas()
    right = text.split("~")[1].replace("log", "np.log")
    other = np.asarray(patsy.dmatrix(right, pandas))
    own = made(text, frame).train.design
    rank = np.linalg.matrix_rank
    assert own.shape[1] - rank(own) == (text == "y ~ a:b")  # as in R: the last is redundant
    assert rank(own) == rank(other) == rank(np.column_stack([own, other]))


def test_names_and_the_most_frequent_level_as_base() -> None:
    found = made("y ~ x + a*b", table(400))
    assert found.names == (
        "(intercept)", "x", "a[q]", "a[r]", "b[v]", "a[q]:b[v]", "a[r]:b[v]"
    )  # fmt: skip
    assert found.family == "linear"


def test_all_tables_have_the_same_columns_whatever_levels_they_have() -> None:
    train, synthetic = table(), table(seed=2).with_columns(a=pl.lit("p"))
    found = made("y ~ a", train, synthetic)
    assert found.synthetic[0].design.shape[1] == found.train.design.shape[1] == 3
    assert found.synthetic[0].design[:, 1:].sum() == 0


def test_rare_and_foreign_levels_are_one_level_never_named() -> None:
    train = table(200).with_columns(
        a=pl.when(pl.int_range(pl.len()) < 8)
        .then(pl.lit("rare ") + (pl.int_range(pl.len()) // 2).cast(pl.String))
        .otherwise("a")
    )
    synthetic = table(200, 2).with_columns(a=pl.lit("foreign"))
    found = made("y ~ a", train, synthetic)
    assert found.names == ("(intercept)", "a[q]", "a[r]", "a[(all others)]")
    assert found.train.design[:, 3].sum() == 8
    assert found.synthetic[0].design[:, 3].sum() == 200
    assert "one level" in " ".join(found.notes)


def test_too_few_others_are_left_out_with_their_rows() -> None:
    train = table(200).with_columns(
        a=pl.when(pl.int_range(pl.len()) < 4).then(pl.lit("rare")).otherwise("a")
    )
    found = made("y ~ a", train)
    assert found.names == ("(intercept)", "a[q]", "a[r]")
    assert found.train.left_out == 4
    assert "left out" in found.notes[0]


def test_at_most_so_many_levels_are_told_apart() -> None:
    assert made("y ~ a", table(200), levels=2).names == ("(intercept)", "a[q]", "a[(all others)]")


def test_missing_values_and_logarithms_of_zero_leave_rows_out() -> None:
    train = table(100).with_columns(
        x=pl.when(pl.int_range(pl.len()) < 3).then(-1.0).otherwise("x"),
        b=pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("b"),
    )
    assert made("y ~ log(x)", train).train.left_out == 3
    assert made("y ~ log(x) + b", train).train.left_out == 5


def test_the_family_follows_the_response() -> None:
    rng = np.random.default_rng(1)
    frame = table(200).with_columns(
        kids=pl.Series(rng.poisson(1.0, 200).clip(0, 3)), yes=pl.Series(rng.random(200) < 0.4)
    )
    assert made("y ~ x", frame).family == "linear"
    assert made("b ~ x", frame).family == made("yes ~ x", frame).family == "logistic"
    assert made("kids ~ x", frame).family == "linear"
    counts = made("kids ~ x", frame, family="poisson")
    assert set(counts.train.response) == {0, 1, 2, 3}
    assert set(made("yes ~ x", frame).train.response) == {0, 1}
    assert made("y ~ number(kids)", frame).names == ("(intercept)", "number(kids)")
    assert made("y ~ kids", frame).names[1].startswith("kids[")
    with pytest.raises(Impossible, match="3 levels"):
        made("a ~ x", frame)
    with pytest.raises(Impossible, match="no numbers"):
        made("a ~ x", frame, family="linear")


def test_dates_are_years() -> None:
    days = pl.date_range(pl.date(2000, 1, 1), pl.date(2010, 1, 1), "30d", eager=True)
    frame = pl.DataFrame({"day": days, "y": np.arange(len(days)) % 7 + 0.5})
    years = made("y ~ day", frame).train.design[:, 1]
    assert years[-1] - years[0] == pytest.approx(10, abs=0.1)
