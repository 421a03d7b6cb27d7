"""Schemas as TOML: whatever is written is read again, whatever is wrong is said."""

import cProfile
import dataclasses
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.data.schema import Column, Kind, Schema, Stored, dumps, loads, read
from understudy.errors import SchemaError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    [
        '"',
        "'",
        '"""',
        "\\",
        "a\nb",
        "\r",
        "\t",
        "\0",
        "\x7f",
        "🎭",
        "#",
        "[[column]]",
        "= ",
        "é",
        "",
    ]
)
NUMBERS = st.floats(-1e15, 1e15).map(lambda x: x + 0.0)
COLUMNS = st.builds(
    Column,
    name=TEXT,
    kind=st.sampled_from([k for k in get_args(Kind) if k != "date"]),
    stored=st.sampled_from(get_args(Stored)),
    decimals=st.none() | st.integers(0, 15),
    bounds=st.none() | st.tuples(NUMBERS, NUMBERS).map(lambda pair: (min(pair), max(pair))),
    levels=st.lists(TEXT, unique=True, max_size=5).map(tuple),
    format=st.none(),
    time_zone=st.none() | st.just("Europe/Berlin"),
    unit=st.none() | st.just("day"),
    missing=st.booleans(),
    inferred=st.frozensets(st.sampled_from(["kind", "decimals", "bounds", "levels"])),
    why=TEXT,
    method=st.none() | st.sampled_from(["cart", "linear", "keep"]),
)
WRITTEN = st.builds(Column, name=TEXT, kind=st.just("number"), format=st.just("$1,234.00"))


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    columns = draw(st.lists(COLUMNS | WRITTEN, min_size=1, max_size=4, unique_by=lambda c: c.name))
    some = st.lists(st.sampled_from([c.name for c in columns]), unique=True).map(tuple)
    columns = [dataclasses.replace(c, predictors=draw(st.none() | some)) for c in columns]
    rules = draw(st.lists(TEXT, max_size=3).map(tuple))
    return Schema(tuple(columns), draw(some | st.just("learnt")), rules)


SCHEMAS = schemas()


@given(schema=SCHEMAS)
def test_round_trip(schema: Schema) -> None:
    assert loads(dumps(schema)) == schema


@given(low=st.integers(-62_135_596_800_000_000, 253_402_300_799_000_000))
def test_round_trip_of_dates_to_the_microsecond(low: int) -> None:
    bounds = (float(low), float(low) + 4096)
    schema = Schema((Column("day", "date", bounds=bounds),))
    again = loads(dumps(schema))["day"].bounds
    assert again == bounds


def test_a_file_is_edited_by_hand(tmp_path: Path) -> None:
    schema = Schema((Column("age", "number", decimals=0, inferred=frozenset({"kind", "bounds"})),))
    path = tmp_path / "schema.toml"
    text = dumps(schema).replace('kind = "number"', 'kind = "category"')
    path.write_text(text.replace('"bounds"', ""), encoding="utf-8")
    changed = read(path)["age"]
    assert changed.kind == "category"
    assert changed.source("bounds") == "declared"
    assert changed.source("kind") == "data"
    assert text.startswith("# Schema")


def test_levels_and_bounds_may_be_written_plainly() -> None:
    text = '[[column]]\nname="a"\nkind="category"\nlevels=[1, true, "x", 2.5]\n'
    assert loads(text)["a"].levels == ("1", "true", "x", "2.5")
    text = '[[column]]\nname="d"\nkind="date"\nbounds=["1970-01-01", "1970-01-02T00:00:00+01:00"]\n'
    assert loads(text)["d"].bounds == (0.0, 23 * 3600e6)


HEAD = '[[column]]\nname = "age"\nkind = "number"\n'
WRONG: dict[str, tuple[str, str]] = {
    "unknown key": (HEAD + "decimal = 1", "unknown key 'decimal'"),
    "unknown key above": ("colunm = 1", "unknown key 'colunm'"),
    "unknown kind": ('[[column]]\nname = "age"\nkind = "numeric"', "unknown kind 'numeric'"),
    "unknown storage": (HEAD + 'stored = "int"', "stored = 'int' is unknown"),
    "unknown unit": (HEAD + 'unit = "week"', "unit = 'week' is unknown"),
    "unknown fact": (HEAD + 'inferred = ["colour"]', "'colour' is not a fact"),
    "upside-down bounds": (HEAD + "bounds = [5, 1]", "upside down"),
    "nan bounds": (HEAD + "bounds = [nan, 1.0]", "not finite"),
    "infinite bounds": (HEAD + "bounds = [0, inf]", "not finite"),
    "bounds of 5,000 digits": (HEAD + f"bounds = [0, {'9' * 5000}]", "schema.toml"),
    "a deep nest": (HEAD + f"levels = {'[' * 5000}{']' * 5000}", "nested"),
    "dates after the year 9999": (
        HEAD.replace("number", "date") + "bounds = [0, 1e18]",
        "bounds lie outside the years 1 to 9999",
    ),
    "one bound": (HEAD + "bounds = [5]", "wrong form"),
    "bounds that are no list": (HEAD + "bounds = 5", "wrong form"),
    "bounds of words": (HEAD + 'bounds = ["low", "high"]', "wrong form"),
    "bounds of booleans": (HEAD + "bounds = [false, true]", "wrong form"),
    "levels that are no list": (HEAD + "levels = 5", "wrong form"),
    "levels that are one text": (HEAD + 'levels = "abc"', "wrong form"),
    "level twice": (HEAD + 'levels = ["a", "a"]', "'a' twice"),
    "decimals in words": (HEAD + 'decimals = "two"', "wrong form"),
    "decimals with a point": (HEAD + "decimals = 1.5", "wrong form"),
    "too many decimals": (HEAD + "decimals = 99", "decimals = 99"),
    "missing in words": (HEAD + 'missing = "no"', "wrong form"),
    "format of a wrong type": (HEAD + "format = 5", "wrong form"),
    "why of a wrong type": (HEAD + "why = 5", "wrong form"),
    "stored of a wrong type": (HEAD + "stored = [1]", "wrong form"),
    "inferred of a wrong type": (HEAD + "inferred = 5", "wrong form"),
    "column twice": (HEAD + HEAD, "'age' stands twice"),
    "column without a name": ('[[column]]\nkind = "number"', "without a name or a kind"),
    "column without a kind": ('[[column]]\nname = "a"', "without a name or a kind"),
    "name of a wrong type": ('[[column]]\nname = 1\nkind = "number"', "without a name or a kind"),
    "columns that are no tables": ("column = [1, 2]", "no columns"),
    "no columns": ("version = 1", "no columns"),
    "one column table": ('[column]\nname = "a"', "no columns"),
    "later version": ("version = 2\n" + HEAD, "version 2"),
    "visit in words": ('visit = "backwards"\n' + HEAD, "visit = 'backwards' is no list"),
    "visit of a wrong type": ("visit = [1]\n" + HEAD, "visit = [1] is no list"),
    "visit of an unknown column": ('visit = ["agee"]\n' + HEAD, "unknown column 'agee'"),
    "visit twice": ('visit = ["age", "age"]\n' + HEAD, "visit names 'age' twice"),
    "rules in words": ('rules = "age is 0"\n' + HEAD, "rules = 'age is 0' is no list"),
    "unknown predictor": (HEAD + 'predictors = ["sex"]', "unknown column 'sex'"),
    "predictors of a wrong type": (HEAD + "predictors = [1]", "wrong form"),
    "predictors that are no list": (HEAD + 'predictors = "age"', "wrong form"),
    "method of a wrong type": (HEAD + "method = 5", "wrong form"),
    "no TOML": ("[[column]\n", "schema.toml"),
    "key twice": (HEAD + 'kind = "date"', "schema.toml"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_named_with_a_hint(case: str, tmp_path: Path) -> None:
    text, words = WRONG[case]
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        read(path)
    assert words in caught.value.message
    assert caught.value.hint
    assert "age" in caught.value.message or "age" not in text or "schema.toml" in str(caught.value)


def test_near_names_are_hinted() -> None:
    with pytest.raises(SchemaError) as caught:
        loads(HEAD + "decimal = 1")
    assert caught.value.hint == "did you mean 'decimals'?"


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_files_that_cannot_be_read(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    if content:
        path.write_bytes(content)
    with pytest.raises(SchemaError, match=r"schema\.toml") as caught:
        read(path)
    assert caught.value.hint


def test_replace_declares_a_fact() -> None:
    schema = Schema((Column("a", "number", inferred=frozenset({"kind", "bounds"})),))
    changed: Any = schema.replace("a", bounds=(0.0, 1.0))["a"]
    assert changed.source("bounds") == "declared"
    assert changed.source("kind") == "data"
    with pytest.raises(SchemaError, match="no column 'b'"):
        schema.replace("b", kind="date")


def test_replace_keeps_the_order_and_the_rules() -> None:
    schema = Schema(
        (Column("a", "number"), Column("b", "number")), ("b", "a"), ("a is 0 where b < 1",)
    )
    changed = schema.replace("a", decimals=0)
    assert (changed.visit, changed.rules) == (schema.visit, schema.rules)


def test_constraints_survive_and_are_checked() -> None:
    schema = Schema((Column("a", "number"),), constraints=("a > 0", "unique `b c`"))
    assert loads(dumps(schema)) == schema
    assert loads(dumps(Schema((Column("a", "number"),)))).constraints == ()
    column = '[[column]]\nname = "a"\nkind = "number"\n'
    for wrong in ('"a > 0"', "[1]", "{}"):
        with pytest.raises(SchemaError, match=r"^mine: constraints = .* is no list of texts"):
            loads(f"constraints = {wrong}\n{column}", name="mine")
    with pytest.raises(SchemaError, match="unknown key 'constraint'") as caught:
        loads(f'constraint = ["a > 0"]\n{column}')
    assert "'constraints'?" in caught.value.hint


def test_a_pipe_that_nobody_writes_to_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "schema.toml")
    with pytest.raises(SchemaError, match="no ordinary file"):
        read(tmp_path / "schema.toml")


@pytest.mark.parametrize("bound", [1e300, -1e22, 2.0**63, 2.0**62, 1e-300, 0.1])
def test_bounds_of_any_size_are_written_and_read(bound: float) -> None:
    column = Column("x", "number", bounds=(-abs(bound), abs(bound)))
    assert loads(dumps(Schema((column,)))) == Schema((column,))


@given(st.text(st.characters(exclude_categories=["Cs"])), st.lists(st.text("a\"'\\\n\t\x7f\x00é")))
def test_any_text_is_written_and_read(name: str, levels: list[str]) -> None:
    column = Column(name, "category", levels=tuple(dict.fromkeys(levels)), why=name)
    schema = Schema((column,), rules=(name,), constraints=tuple(levels))
    assert loads(dumps(schema)) == schema


def test_many_levels_and_columns_take_time_in_proportion() -> None:
    """Twice as many levels or columns make about twice as many calls, not four times."""

    def calls(schema: Schema) -> int:
        profile = cProfile.Profile()
        profile.runcall(lambda: loads(dumps(schema)))
        return sum(entry.callcount for entry in profile.getstats())

    def levels(many: int) -> Schema:
        return Schema((Column("x", "category", levels=tuple(map(str, range(many)))),))

    def columns(many: int) -> Schema:
        return Schema(tuple(Column(f"x{n}", "number") for n in range(many)))

    for make in (levels, columns):
        assert calls(make(400)) < 2.5 * calls(make(200))
