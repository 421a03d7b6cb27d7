"""Partial synthesis: what is kept stays, what is replaced is drawn given it, rows in place."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.errors import DataError, OptionError, UnderstudyError
from understudy.synthesizers import SYNTHESIZERS, MethodCard
from understudy.synthesizers.model_file import State
from understudy.synthesizers.partial import Replacement, can_complete

REAL = people(400, 1)
KEPT = ["sex", "town", "day", "children", "smoker", "country", "nothing"]


@dataclass
class Recorder:
    """Notes what it is given; draws the first training value everywhere."""

    keep: tuple[str, ...] = ()
    proper: bool = False
    seen: ClassVar[list] = []
    first_: dict = field(init=False, default_factory=dict)

    card: ClassVar[MethodCard] = MethodCard(*["recorder"] * 7)

    def fit(self, table, rng, progress):
        self.seen.append(("fit", table, rng.random()))
        self.first_ = table.frame.row(0, named=True)
        return self

    def complete(self, kept, rng):
        self.seen.append(("complete", kept, rng.random()))
        others = [name for name in self.first_ if name not in self.keep]
        return kept.frame.with_columns(pl.lit(self.first_[name]).alias(name) for name in others)

    def sample(self, rows, rng):
        raise AssertionError

    def state(self):
        return State()

    def restore(self, state, schema):
        return self


@pytest.fixture
def seen(monkeypatch) -> list:
    monkeypatch.setitem(SYNTHESIZERS, "recorder", Recorder)
    Recorder.seen.clear()
    return Recorder.seen


def recorded(*columns: str, real=REAL, **more):
    return us.replace(real, columns, method="recorder", **more)


def test_the_method_sees_no_value_that_is_replaced(seen):
    made = recorded("income", "age")
    (_, train, _), (_, kept, _) = seen
    assert train.frame.columns == [*KEPT, "income", "age"]
    assert train.schema.names == tuple(train.frame.columns)
    assert kept.frame.columns == KEPT
    assert kept.schema.names == tuple(KEPT)
    assert made.columns == REAL.drop("person_id").columns
    assert made.dtypes == REAL.drop("person_id").dtypes
    assert set(made["income"]) == {REAL["income"][0]}
    assert made.select(KEPT).equals(REAL.select(KEPT))


def test_identifiers_are_dropped(seen):
    assert "person_id" not in recorded("age").columns


def test_only_records_that_meet_the_condition(seen):
    made = recorded("income", "age", where="income > 20000 or age < 26")
    hit = ((REAL["income"] > 20000).fill_null(False)) | (REAL["age"] < 26)
    assert 20 < hit.sum() < 380
    assert made.filter(~hit).equals(REAL.drop("person_id").filter(~hit))
    assert made.filter(hit).select(KEPT).equals(REAL.filter(hit).select(KEPT))
    assert made.filter(hit)["age"].n_unique() == 1
    (_, train, _), (_, kept, _) = seen
    assert train.height == kept.height == hit.sum()
    assert train.frame["age"].equals(REAL.filter(hit)["age"])


def test_learning_from_other_records(seen):
    other = people(250, 9).with_columns(age=pl.lit(33))
    made = recorded("age", train_on=other, where="sex == f")
    (_, train, _), _ = seen
    assert train.height == (other["sex"] == "f").sum()
    women = REAL["sex"] == "f"
    assert set(made.filter(women)["age"]) == {33}
    assert made.filter(~women)["age"].equals(REAL.filter(~women)["age"])


def test_replicates_draw_anew_and_proper_ones_fit_anew(seen):
    assert isinstance(recorded("age", replicates=3), list)
    assert [what for what, *_ in seen] == ["fit", *["complete"] * 3]
    assert len({number for what, _, number in seen if what == "complete"}) == 3
    seen.clear()
    recorded("age", replicates=2, proper=True)
    assert [what for what, *_ in seen] == ["fit", "complete", "fit", "complete"]
    assert seen[0][2] != seen[2][2]


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
def test_the_callers_kind_of_frame(seen, kind):
    real = REAL.drop("nothing")
    given = real.to_pandas() if kind == "pandas" else real.to_arrow()
    made = recorded("income", real=given)
    assert type(made) is type(given)
    if kind == "pandas":
        assert (made.dtypes == given.drop(columns="person_id").dtypes).all()


def test_categories_keep_their_type(seen):
    real = REAL.with_columns(pl.col("town").cast(pl.Categorical), pl.col("age").cast(pl.Int8))
    made = recorded("town", "age", real=real, where="smoker == true")
    assert made.schema == real.drop("person_id").schema
    assert made.filter(~REAL["smoker"]).equals(real.drop("person_id").filter(~REAL["smoker"]))


@pytest.mark.parametrize(
    ("columns", "more", "message", "hint"),
    [
        (["incme"], {}, "replace: there is no column 'incme'", "'income'?"),
        (["person_id"], {}, "'person_id' is left out of synthesis", ""),
        ([], {}, "no column is named", "name"),
        (["age", "age"], {}, "'age' stands twice", "once"),
        (REAL.columns[1:], {}, "every column would be replaced", "fully synthetic"),
        (["age"], {"where": "agee > 1"}, "there is no column 'agee'", "'age'?"),
        (["age"], {"where": "age >"}, "a value is expected at the end", "write such as"),
        (["age"], {"where": "age > 200"}, "no record meets the condition age > 200", "check"),
        (["age"], {"method": "corrupt"}, "the method 'corrupt' cannot keep some", "cart"),
        (["age"], {"method": "carrt"}, "there is no method 'carrt'", "'cart'?"),
        (["age"], {"keep": ["sex"]}, "keep is what is not replaced", "leave it out"),
        (["age"], {"nonsense": 1}, "has no option 'nonsense'", ""),
        (["age"], {"replicates": 0}, "replicates = 0", "1 or more"),
        (["age"], {"train_on": REAL.drop("sex")}, "the column 'sex' is missing", ""),
        (["age"], {"train_on": REAL.head(0)}, "the table has no rows", ""),
    ],
)
def test_what_cannot_be_done(columns, more, message, hint):
    with pytest.raises(UnderstudyError) as caught:
        us.replace(REAL, columns, **{"method": "cart", **more})
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert isinstance(caught.value, OptionError | DataError)


CONTROLS = ("independent", "bootstrap", "flip")  # these lose relations, or copy the record itself


@pytest.mark.parametrize(
    "method", [name for name in SYNTHESIZERS if can_complete(name) and name not in CONTROLS]
)
def test_every_method_that_can(method):
    real = people(600, 3).with_columns(age=pl.col("age") + 100 * (pl.col("sex") == "f"))
    how = {"method": method, "relations": False}  # sex would follow from age
    first, second = us.replace(real, ["age"], replicates=2, seed=4, **how)
    least = 0.75 if method == "copula" else 0.95  # a correlation of latent normals is below 1
    for made in (first, second):
        assert made.drop("age").equals(real.drop("person_id", "age"))
        assert made.schema == real.drop("person_id").schema
        assert ((made["age"] > 100) == (real["sex"] == "f")).mean() > least
        assert (made["age"] == real["age"]).mean() < 0.3
    assert not first.equals(second)
    assert first.equals(us.replace(real, ["age"], seed=4, **how))
    where = us.replace(real, ["age", "income"], where="smoker == true", **how)
    assert where.filter(~real["smoker"]).equals(real.drop("person_id").filter(~real["smoker"]))
    assert where.filter(real["smoker"])["income"].null_count() > 0


@pytest.mark.parametrize("method", [name for name in SYNTHESIZERS if can_complete(name)])
def test_levels_that_the_model_never_saw(method):
    other = people(300, 5).filter(~pl.col("town").is_in(["town 29", "town 28"]))
    made = us.replace(REAL, ["age"], method=method, train_on=other)
    assert made.drop("age").equals(REAL.drop("person_id", "age"))
    assert set(made["age"]) <= set(range(18, 90))


def test_controls_complete_records_as_they_draw_rows():
    real = people(1500, 3)
    alone = us.replace(real, ["age", "smoker"], method="independent", seed=1)
    same = alone["age"] == real["age"]
    assert same.mean() == pytest.approx(1 / 72, abs=0.012)
    copied = us.replace(real, ["age", "smoker"], method="bootstrap", seed=1)
    assert copied.equals(real.drop("person_id"))
    few = us.replace(real.select("sex", "smoker", "age"), ["age"], method="bootstrap", seed=1)
    assert (few["age"] == real["age"]).mean() < 0.05
    flipped = us.replace(real, ["age", "smoker"], method="flip", p=0.4, seed=1)
    assert (flipped["age"] == real["age"]).mean() == pytest.approx(0.6, abs=0.05)
    for made in (alone, copied, flipped):
        assert made.drop("age", "smoker").equals(real.drop("person_id", "age", "smoker"))
    with pytest.raises(OptionError, match="the columns that are kept"):
        us.synthesizer("flip", keep=["sex"]).fit(real).sample(3)


def test_a_copied_row_has_the_same_kept_values():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    real = pl.DataFrame({"a": a, "b": b, "c": a * 10 + b, "d": rng.random(900)})
    made = us.replace(real, ["c", "d"], method="bootstrap", seed=1)
    assert (made["c"] == real["c"]).all()
    assert (made["d"] == real["d"]).mean() < 0.05
    other = us.replace(
        real.head(50), ["c"], method="bootstrap", train_on=real.filter(pl.col("a") > 0)
    )
    assert set(other["c"]) <= {10, 11, 20, 21}


def test_the_order_is_the_one_given():
    table = Replacement.of(REAL, ["income", "sex", "age"], method="cart").train
    assert table.schema.names[-3:] == ("income", "sex", "age")


def test_replacing_leaves_the_mean_in_place():
    """As in Dandekar: high incomes replaced by a model of high incomes keep their level."""
    rng = np.random.default_rng(1)
    income = np.round(rng.lognormal(10, 1, 4000))
    real = pl.DataFrame({"income": income, "sex": rng.choice(["f", "m"], 4000)})
    made = us.replace(real, ["income"], where="income > 70000", method="cart", seed=1)
    assert made["income"].mean() == pytest.approx(real["income"].mean(), rel=0.03)
