"""Numbers and dates as people write them: read, said in the schema, and written the same way."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.data.codec import write_values
from understudy.data.schema import Column, Schema, dumps, infer, loads, read_values
from understudy.data.schema.writing import GROUPS, NumberFormat, guess_format
from understudy.data.tables import read_file
from understudy.errors import SchemaError

ENDS = [
    ("", ""),
    ("$", ""),
    ("€ ", ""),
    ("", " €"),
    ("", "%"),
    ("", " %"),
    ("CHF ", ""),
    ("", " kr"),
]
FORMATS = st.builds(
    lambda ends, group, point, digits, brackets: NumberFormat(
        *ends, "" if group == point else group, point, digits, brackets
    ),
    st.sampled_from(ENDS),
    st.sampled_from(["", *GROUPS]),
    st.sampled_from([".", ","]),
    st.sampled_from([None, 0, 1, 2, 5]),
    st.booleans(),
)
NUMBERS = st.lists(
    st.integers(-(10**12), 10**12).flatmap(
        lambda whole: st.integers(0, 5).map(lambda places: whole / 10**places)
    ),
    min_size=1,
    max_size=20,
)


@given(FORMATS, NUMBERS)
def test_what_is_written_is_read_again(form: NumberFormat, numbers: list[float]) -> None:
    series = pl.Series([round(x, form.digits) if form.digits is not None else x for x in numbers])
    texts = form.write(series)
    assert form.read(texts).to_list() == series.to_list()
    assert form.write(form.read(texts)).to_list() == texts.to_list()


@given(FORMATS)
def test_a_picture_says_all(form: NumberFormat) -> None:
    said = NumberFormat.parse(str(form))
    numbers = pl.Series([1234567.0, -0.25, 12.0])
    assert said.write(numbers).to_list() == form.write(numbers).to_list()
    assert str(said) == str(form)


@given(FORMATS, st.randoms(use_true_random=False))
def test_a_writing_is_found_in_what_was_written(form: NumberFormat, random: object) -> None:
    draw = random.randint  # type: ignore[attr-defined]
    numbers = pl.Series([float(draw(-(10**7), 10**7)) / 4 for _ in range(60)])
    if form.digits is not None:
        numbers = numbers.round(form.digits)
    texts = form.write(numbers)
    found = guess_format(texts)
    read = texts.cast(pl.Float64, strict=False) if found is None else found.read(texts)
    assert read.to_list() == form.read(texts).to_list()


@pytest.mark.parametrize(
    ("texts", "picture", "numbers"),
    [
        (["$1,234.00", "-$3.50", "$-2.25"], "$1,234.00", [1234, -3.5, -2.25]),
        (["1,234", "12", "999"], "1,234", [1234, 12, 999]),
        (["1,5", "2,25", "3"], "1234,5", [1.5, 2.25, 3]),
        (["0,234", "0,500"], "1234,000", [0.234, 0.5]),
        (["1.234.567", "1.234"], "1.234", [1234567, 1234]),
        (["12 %", "3 %"], "1234 %", [12, 3]),
        (["(1,200)", "300"], "(1,234)", [-1200, 300]),
        (["12\u00a0345,5 €", "3 €"], "1\u00a0234,5 €", [12345.5, 3]),
    ],
)
def test_writings(texts: list[str], picture: str, numbers: list[float]) -> None:
    found = guess_format(pl.Series(texts))
    assert str(found) == picture
    assert found is not None
    assert found.read(pl.Series(texts)).to_list() == numbers


@pytest.mark.parametrize(
    "texts",
    [["1.5", "2"], ["1.234", "1.5"], ["555 123 4567", "555 123 4568"], ["a", "b"], ["10.0.0.1"]],
)
def test_what_is_plain_or_no_number_has_no_writing(texts: list[str]) -> None:
    assert guess_format(pl.Series(texts)) is None


@pytest.mark.parametrize("picture", ["1234,50", "x1234", "1,234,00", "(1234", "€", ""])
def test_a_picture_that_is_none_is_refused(picture: str) -> None:
    with pytest.raises(SchemaError, match="column 'x': format = ") as told:
        Column("x", "number", format=picture)
    assert "$1,234.00" in told.value.hint


def test_a_schema_file_keeps_the_writing() -> None:
    schema = infer(pl.DataFrame({"pay": [f"${i:,}.00" for i in range(0, 40_000, 1_000)] * 2}))
    assert schema["pay"].format == "$1,234.00"
    assert loads(dumps(schema)) == schema
    with pytest.raises(SchemaError, match="no picture of a number"):
        loads(dumps(schema).replace("$1,234.00", "$9"))


def test_dates_in_several_formats() -> None:
    days = [f"2020-03-{day:02}" for day in range(1, 29)] + [
        f"{day}.04.2021" for day in range(1, 29)
    ]
    column = infer(pl.DataFrame({"day": [*days, "soon"]}))["day"]
    assert (column.kind, column.format, column.levels) == ("date", "%Y-%m-%d | %d.%m.%Y", ("soon",))
    assert "made in the first" in column.why
    assert loads(dumps(Schema((column,))))["day"] == column
    values = read_values(pl.Series([*days, "soon"]), column)
    assert values.labels.drop_nulls().to_list() == ["soon"]
    written = write_values(values, column)
    assert written[28] == "2021-04-01"
    assert read_values(written, column).numbers[:-1].tolist() == values.numbers[:-1].tolist()  # type: ignore[index]


def test_days_and_months_are_never_guessed_line_by_line() -> None:
    """31/12/2020 and 12/31/2020 in one column: nobody knows what 01/02/2020 is."""
    pairs = [(day, month) for day in range(13, 29) for month in range(1, 9)]
    days = [f"{d}/{m}/2020" for d, m in pairs] + [f"{m}/{d}/2020" for d, m in pairs]
    assert infer(pl.DataFrame({"day": days}))["day"].kind != "date"


def test_numbers_of_accounts_are_identifiers_and_amounts_are_not() -> None:
    accounts = pl.Series("number", [(7**11 * i) % 9_000_000_000 + 10**9 for i in range(1, 300)])
    assert infer(pl.DataFrame(accounts))["number"].kind == "identifier"
    seconds = pl.Series("number", [1_400_000_000 + 1_234_567 * i for i in range(300)])
    assert infer(pl.DataFrame(seconds))["number"].kind == "number"


@pytest.mark.parametrize("method", ["forest", "cart", "copula"])
def test_a_release_is_written_like_training(method: str) -> None:
    rows = range(300)
    train = pl.DataFrame(
        {
            "pay": [f"${(i * 7919 % 90_001) / 4:,.2f}" for i in rows],
            "share": [f"{i * 37 % 1_000 / 10} %".replace(".", ",") for i in rows],
            "people": [f"{(i * 997) % 4_001:,}" if i % 10 else None for i in rows],
            "sex": [("f", "m")[i % 2] for i in rows],
        }
    )
    schema = us.schema(train)
    made = us.synthesizer(method, seed=1).fit(train).sample()
    again = us.schema(made)
    for name in ("pay", "share", "people"):
        assert (again[name].kind, again[name].format) == ("number", schema[name].format)
        assert read_values(made[name], schema[name]).labels.is_null().all()
    found = us.assess(train, made, measures=["fidelity.univariate"])
    assert found["fidelity.univariate"].value < 0.5


def test_decimal_commas_and_points_for_thousands_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pay.csv"
    lines = [f"{i % 3};{i % 9}.{i % 1000:03},50" if i % 2 else f"{i % 3};{i},5" for i in range(90)]
    path.write_text("\n".join(["a;pay", *lines]), "utf-8")
    column = infer(read_file(path))["pay"]
    assert (column.kind, column.format) == ("number", "1.234,5")


def test_under_epsilon_each_line_is_read_by_the_declared_writing(tmp_path: Path) -> None:
    """A line more changes no other, whatever it holds."""
    pay = Column("pay", "number", format="1.234,00", decimals=2, bounds=(0, 9e3))
    schema = Schema((pay, Column("sex", "category", levels=("f", "m"))))
    lines = ["pay;sex", *(f"1.{i:03},50;f" for i in range(50)), *(f"{i},25;m" for i in range(50))]
    frames = []
    for more in ("", "3.5;m\n", "what;f\n"):
        path = tmp_path / "pay.csv"
        path.write_text("\n".join(lines) + "\n" + more, "utf-8")
        frames.append(read_values(read_file(path, alone=schema)["pay"], pay).numbers[:100].tolist())  # type: ignore[index]
    assert frames[0] == frames[1] == frames[2]
    assert frames[0][:2] == [1000.5, 1001.5]
    made = us.synthesizer("bayes", epsilon=5.0, seed=1)
    with pytest.warns(UserWarning, match="seed"):
        made.fit(tmp_path / "pay.csv", schema=schema)
    texts = made.sample(50)["pay"].drop_nulls()
    assert texts.str.contains(r"^\d{1,3}(\.\d{3})*,\d\d$").all()
