"""Relations: read, written, refused, judged, learnt; never evaluated as code."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data import arithmetic
from understudy.data.arithmetic import (
    FUNCTIONS,
    SIGNS,
    Call,
    ColumnName,
    Constant,
    Negative,
    Operation,
)
from understudy.data.grammar import Joined, Not, PairTest, Test
from understudy.data.relations import Relation, judge, learn
from understudy.data.relations.learning import roundest
from understudy.data.schema import dumps, loads
from understudy.data.tables import Table
from understudy.errors import OptionError, SchemaError, UnderstudyError

NAMES = ["a", "b", "x-y", "birth place", "where", "log", "one", "is", "it`s", "classes", "of"]
columns = st.sampled_from(NAMES)
expressions = st.recursive(
    st.floats(0, 1e300, allow_nan=False).map(Constant) | columns.map(ColumnName),
    lambda inner: (
        inner.map(Negative)
        | st.builds(Operation, st.sampled_from(sorted(SIGNS)), inner, inner)
        | st.builds(
            lambda f, parts: Call(f, tuple(parts if FUNCTIONS[f][1] else parts[:1])),
            st.sampled_from(sorted(FUNCTIONS)),
            st.lists(inner, min_size=1, max_size=3),
        )
    ),
    max_leaves=8,
)
tests = (
    st.builds(
        lambda name, sign, value: Test(name, sign, (value,)),
        columns,
        st.sampled_from(["==", "!=", "<", ">="]),
        st.text(max_size=5),
    )
    | columns.map(lambda name: Test(name, "missing"))
    | st.builds(PairTest, columns, st.sampled_from(["<", "<=", "=="]), columns)
)
conditions = st.recursive(
    tests,
    lambda inner: (
        inner.map(Not)
        | st.builds(
            lambda word, parts: Joined(word, tuple(parts)),
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        )
    ),
    max_leaves=4,
)


@given(expressions)
def test_arithmetic_survives_being_written(expression):
    assert arithmetic.parse(str(expression), NAMES) == expression


def _texts():
    from understudy.data.schema.relations import Statement

    target, others = "target", columns
    two = st.lists(columns, min_size=2, max_size=4, unique=True).map(tuple)
    formulas = st.builds(
        lambda e, w: Statement("formula", target, arithmetic.column_names(e), e, w),
        expressions,
        st.none() | conditions,
    ).filter(lambda said: said.sources)
    return st.one_of(
        formulas,
        others.map(lambda o: Statement("lookup", target, (o,))),
        others.map(lambda o: Statement("classes", target, (o,))),
        two.map(lambda t: Statement("order", None, t[:2], sign="<=")),
        two.map(lambda t: Statement("one_hot", None, t)),
        conditions.map(lambda w: Statement("missing", target, (), where=w)),
        st.lists(st.text(max_size=4) | st.sampled_from(["-8", "9.5"]), min_size=1, unique=True).map(
            lambda v: Statement("code", target, (), values=tuple(v))
        ),
        st.just(Statement("weight", target, ())),
        st.lists(others, max_size=1).map(lambda o: Statement("subject", target, tuple(o))),
    )


@given(_texts())
def test_a_relation_survives_being_written(said):
    names = [*NAMES, "target"]
    made = Relation.parse(str(said), names)
    assert made.kind == said.kind
    assert Relation.parse(str(made), names) == made
    assert str(made) == made.text
    assert made.said == Relation.parse(made.text, made.names).said


@given(st.text(max_size=40) | st.text("ab =<+-*/()0.,'`", max_size=30))
def test_any_text_is_a_relation_or_an_error_with_a_hint(text):
    told = made = None
    try:
        made = Relation.parse(text, ["a", "b"])
    except OptionError as error:
        told = error.hint
    assert told or Relation.parse(made.text, ["a", "b"]) == made


@pytest.mark.parametrize(
    "text",
    [
        "a = __import__('os').system('true')",
        "a = b.real",
        "a = (lambda: b)()",
        "a = b if b else b",
        "a = b[0]",
        "a = open(b)",
        "a = b; b = a",
        "a = eval(b)",
        "a = a + b",
        "a = 3",
        "a = log(b, b)",
        "a = b -",
        "a = 1e999 * b",
        "a = b where a == 1",
        "a = b where c == 1",
        "a <= a",
        "a <= c",
        "a determines a",
        "one of a",
        "one of a, a",
        "-8, -8 are codes of a",
        "a is missing exactly where a == 1",
        "a is missing where b == 1",
        "a",
        "",
        "a = " + "(" * 100 + "b" + ")" * 100,
        "a = " + "b + " * 1000 + "b",
        "a = b-1c",
    ],
)
def test_what_is_no_relation_is_refused_with_a_hint(text):
    with pytest.raises(OptionError) as told:
        Relation.parse(text, ["a", "b"])
    assert told.value.hint


def test_a_hyphen_is_part_of_a_name():
    with pytest.raises(OptionError, match="between spaces"):
        Relation.parse("a = b-c", ["a", "b", "c"])
    assert Relation.parse("a = b-c", ["a", "b-c"]).sources == ("b-c",)
    assert Relation.parse("a = b -5", ["a", "b"]).text == "a = b - 5"
    assert Relation.parse("a = 2-3 * b", ["a", "b"]).text == "a = 2 - 3 * b"


def test_signs_bind_as_in_python():
    x = np.array([3.0])
    for text in ("-x ** 2", "2 ** 3 ** 2 - x", "2 - 3 - x", "x / 2 / 3", "2 ** -x", "-(-x) * +2"):
        made = float(arithmetic.evaluate(arithmetic.parse(text, ["x"]), {"x": x})[0])
        assert made == pytest.approx(eval(text, {"x": 3.0}))


def test_a_schema_keeps_its_relations():
    frame = pl.DataFrame({"a": np.arange(40) / 8, "b": np.arange(40) / 4, "c": ["x", "y"] * 20})
    schema = Table.of(frame).schema
    found = Relation.parse("b = 2 * a", schema.names, rows=40, broken=0, inferred=True)
    declared = Relation.parse("a is missing exactly where c == 'z'", schema.names)
    from dataclasses import replace

    schema = replace(schema, relations=(found, declared))
    again = loads(dumps(schema))
    assert again == schema
    assert "2 relations" in repr(again)
    own = '[[relation]]\nholds = "{}"\n'
    base = dumps(replace(schema, relations=()))
    assert loads(base + own.format("b = 2*a")).relations[0].text == "b = 2 * a"
    for wrong in (
        own.format("b = 2 * d"),
        own.format("b = 2 *"),
        own.format("b = 2 * a") * 2,
        own.format("b = 2 * a") + "rows = -1\n",
        own.format("b = 2 * a") + "rows = true\n",
        own.format("b = 2 * a") + "kind = 'x'\n",
        "[[relation]]\nrows = 3\n",
        "[relation]\nholds = 'a <= b'\n",
    ):
        with pytest.raises(SchemaError) as told:
            loads(base + wrong)
        assert told.value.hint


def test_a_relation_is_what_its_text_says():
    with pytest.raises(OptionError):
        Relation("a <= b", "formula", "a", ("b",))


def _table(**columns):
    return Table.of(pl.DataFrame(columns))


def _judged(text, table):
    return judge(Relation.parse(text, table.schema.names), table)


def test_a_formula_allows_for_rounding():
    rng = np.random.default_rng(0)
    weight, height = rng.integers(45, 120, 300), rng.integers(150, 200, 300)
    bmi = np.round(weight / (height / 100) ** 2, 2)
    table = _table(weight=weight, height=height, bmi=bmi)
    assert _judged("bmi = weight / (height / 100) ** 2", table).broken == 0
    off = bmi.copy()
    off[7] += 0.02
    off[9] = np.nan
    table = _table(weight=weight, height=height, bmi=off)
    found = _judged("bmi = weight / (height / 100) ** 2", table)
    assert np.flatnonzero(found.breaks).tolist() == [7]
    assert not found.applies[9]
    metres = np.round(height / 100 + rng.normal(0, 0.003, 300), 3)
    exact = _table(weight=weight, metres=np.round(metres, 2), bmi=np.round(weight / metres**2, 4))
    assert _judged("bmi = weight / metres ** 2", exact).broken == 0
    assert _judged("bmi = weight / (metres + 0.02) ** 2", exact).broken == 300


def test_floats_of_32_bits_are_no_break():
    wage = np.random.default_rng(1).gamma(3, 5, 200)
    single = pl.Series(np.log(wage).astype(np.float32))
    assert _judged("lwage = log(wage)", _table(wage=wage, lwage=single)).broken == 0
    doubles = _table(wage=wage, lwage=np.log(wage).astype(np.float32).astype(float))
    assert _judged("lwage = log(wage)", doubles).broken == 0
    made = learn(Relation.parse("lwage = log(wage)", doubles.schema.names), doubles)
    assert made.digits == "float32"
    assert np.array_equal(made.values(doubles)[0].to_numpy(), doubles.frame["lwage"].to_numpy())


def test_a_formula_where():
    table = _table(y=[1, 2, 9, None], x=[1, 3, 2, 4], k=["u", "u", "v", None])
    found = _judged("y = x where k == 'u'", table)
    assert found.applies.tolist() == [True, True, False, False]
    assert found.breaks.tolist() == [False, True, False, False]


def test_orders_one_hot_and_missing():
    table = _table(a=[1.5, 2.0, None], b=[2.0, 1.0, 3.0])
    found = _judged("a <= b", table)
    assert (found.applies.tolist(), found.breaks.tolist()) == (
        [True, True, False],
        [False, True, False],
    )
    hot = _table(n=[1, 0, 1, 0, None], s=["0", "1", "1", "0", "0"], w=[False, False] * 2 + [True])
    found = _judged("one of n, s, w", hot)
    assert found.applies.tolist() == [True] * 4 + [False]
    assert found.breaks.tolist() == [False, False, True, True, False]
    gone = _table(age=[30.5, None, None, 40.5], m=["y", "n", "y", "n"])
    found = _judged("age is missing exactly where m == 'n'", gone)
    assert found.breaks.tolist() == [False, False, True, True]
    for text in ("age is a weight", "m is a subject", "-8 is a code of age"):
        assert not _judged(text, gone).applies.any()


def test_a_lookup_tells_nothing_of_fewer_than_k_rows():
    city = ["Graz"] * 6 + ["Linz"] * 5 + ["Bonn"] * 4 + [None] * 6
    land = ["A"] * 6 + ["A"] * 5 + ["D"] * 4 + ["A"] * 3 + ["D"] * 3
    table = _table(city=city, land=land)
    relation = Relation.parse("city determines land", table.schema.names)
    made = relation.learn(table)
    assert dict(zip(made.keys, made.pool, strict=True)) == {"Graz": "A", "Linz": "A"}
    fresh = Table.of(pl.DataFrame({"city": ["Graz", "Bonn", "Wien"], "land": ["D", "A", "A"]}))
    fresh = Table(fresh.frame, table.schema)
    found = made.judge(fresh)
    assert (found.applies.tolist(), found.breaks.tolist()) == (
        [True, False, False],
        [True, False, False],
    )
    values, known = made.values(fresh)
    assert (values.to_list(), known.tolist()) == (["A", None, None], [True, False, False])
    assert len(relation.learn(table, k=1).keys) == 3
    with pytest.raises(OptionError, match="learn"):
        relation.judge(table)


def test_a_lookup_whose_target_is_partly_missing():
    table = _table(code=["a"] * 8 + ["b"] * 6, label=["A"] * 7 + [None] * 7)
    made = Relation.parse("code determines label", table.schema.names).learn(table)
    assert dict(zip(made.keys, made.pool, strict=True)) == {"a": "A", "b": None}
    found = made.judge(table)
    assert found.applies.tolist() == [True] * 7 + [False] + [True] * 6
    assert not found.breaks.any()


def test_classes_are_cut_at_round_numbers_and_beside_atoms():
    age = np.concatenate([np.linspace(18, 29.7, 50), np.linspace(30.4, 64, 60), [65.0] * 9])
    group = ["young"] * 50 + ["middle"] * 60 + ["old"] * 9
    table = _table(age=age, group=group)
    made = Relation.parse("group = classes of age", table.schema.names).learn(table)
    assert made.cuts.tolist() == [30.0, 65.0]
    assert made.closed.tolist() == [False, False]
    fresh = Table(
        pl.DataFrame({"age": [29.9, 30.0, 64.9, 65.0, None], "group": ["old"] * 5}), table.schema
    )
    assert made.values(fresh)[0].to_list() == ["young", "middle", "middle", "old", None]
    assert made.judge(fresh).breaks.tolist() == [True, True, True, False, False]
    hours = np.concatenate([np.zeros(40), np.linspace(0.5, 40, 60)])
    table = _table(hours=hours, works=(hours > 0).astype(int))
    made = Relation.parse("works = classes of hours", table.schema.names).learn(table)
    assert (made.cuts.tolist(), made.closed.tolist()) == ([0.0], [True])
    assert made.judge(table).broken == 0


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e5))
def test_the_roundest_number_lies_between(low, width):
    high = low + width
    if high > low:
        made = roundest(low, high)
        assert low < made <= high


def test_a_relation_of_wrong_things_does_not_fail():
    table = _table(a=["x", "y"] * 10, b=[1.5, 2.5] * 10)
    assert not _judged("b = 2 * a", table).applies.any()
    assert not math.isnan(_judged("a <= b", table).broken)
    with pytest.raises(UnderstudyError):
        Relation.parse("b = 2 * zz", table.schema.names)
