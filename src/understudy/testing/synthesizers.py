"""What every method must keep to."""

import copy
import importlib.util
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl

from understudy.errors import OptionError, UnderstudyError
from understudy.synthesizers import SYNTHESIZERS, Method, Synthesizer, synthesizer
from understudy.synthesizers.base import with_options
from understudy.synthesizers.registry import restorable
from understudy.synthesizers.synthesizer import load_model
from understudy.testing.laws import check_laws, expect
from understudy.testing.tables import people

ROWS = 300
BATCH = "understudy.synthesizers.drawing.BATCH"
OPTIONAL = ("coarser", "finer", "abilities")  # words of a card that not every method has
GIVEN = {"sex": "f", "smoker": False}


class SynthesizerLaws:
    """Laws, tried on a method over made-up people.

    Parameters
    ----------
    method : name, class or method with options
    """

    def __init__(self, method: str | type[Method] | Method) -> None:
        if isinstance(method, str):
            method = synthesizer(method).method
        self.kind = method if isinstance(method, type) else type(method)
        card = getattr(self.kind, "card", None)
        if fault := SYNTHESIZERS.fault(getattr(card, "name", ""), self.kind):
            raise OptionError(
                f"{self.kind.__qualname__} is no method: {fault}",
                hint="a method is a dataclass with a card that can fit, sample, state and restore",
            )
        self.method = method() if isinstance(method, type) else method
        self.train = people(ROWS, 1)

    def fit(self, train: Any, seed: int = 0) -> Synthesizer:
        """Fit the method anew."""
        return Synthesizer(copy.deepcopy(self.method), seed=seed).fit(train)

    @cached_property
    def _fitted(self) -> Synthesizer:
        return self.fit(self.train)

    @property
    def fitted(self) -> Synthesizer:
        """A fitted method from which nothing has been drawn yet."""
        return copy.deepcopy(self._fitted)

    def has_a_card(self) -> None:
        """Its card says what it keeps, what it loses, what it claims and what its file holds."""
        silent = [n for n, v in self.kind.card.to_dict().items() if not v and n not in OPTIONAL]
        expect(not silent, f"the card has no {', '.join(silent)}")

    def shape(self) -> None:
        """Samples have the columns, the types and the number of rows asked for."""
        expected = self.train
        for rows in (None, 0, 1, 7, 1000):
            made = self.fitted.sample(rows)
            expect(made.columns == expected.columns, f"columns {made.columns}")
            expect(made.dtypes == expected.dtypes, f"types {made.dtypes}")
            expect(made.height == (ROWS if rows is None else rows), f"{made.height} rows of {rows}")

    def frames(self) -> None:
        """Samples are of the caller's kind of frame, which is not changed."""
        for kind in ("pandas", "pyarrow", "polars"):
            if importlib.util.find_spec(kind) is None:
                continue
            given: Any = {
                "pandas": self.train.to_pandas,
                "pyarrow": self.train.to_arrow,
                "polars": self.train.clone,
            }[kind]()
            before = given.copy() if kind == "pandas" else given
            made = self.fit(given).sample(20)
            expect(type(made) is type(given), f"{type(made).__name__} where {kind} was given")
            if kind == "pandas":
                same = (made.dtypes == given.dtypes).all()
                expect(bool(same), f"types {dict(made.dtypes)}")
                expect(given.equals(before), "the pandas frame was changed")
            if kind == "pyarrow":
                expect(made.schema == given.schema, "other types")

    def same_seed(self) -> None:
        """The same seed gives the same rows, another seed gives others."""
        first, again = (self.fit(self.train, 3).sample(50) for _ in range(2))
        expect(first.equals(again, null_equal=True), "other rows by the same seed")
        other = self.fit(self.train, 4).sample(50)
        expect(not first.equals(other, null_equal=True), "the same rows by another seed")

    def fresh_rows(self) -> None:
        """Sampling again gives other rows, unless a seed is given."""
        made = self.fitted
        one, other = (made.sample(50) for _ in range(2))
        expect(not one.equals(other, null_equal=True), "the same rows again")
        one, other = (made.sample(50, seed=7) for _ in range(2))
        expect(one.equals(other, null_equal=True), "other rows by the same seed")

    def replicates(self) -> None:
        """Replicates differ."""
        one, other = (self.fitted.sample(50, replicate=i) for i in (0, 1))
        expect(not one.equals(other, null_equal=True), "two replicates are the same")

    def missing(self) -> None:
        """Missing values stay missing, about as many."""
        made = self.fitted.sample(2000)
        expect(made["nothing"].null_count() == 2000, "values where training has none")
        share = made["income"].null_count() / 2000
        expect(0.02 < share < 0.25, f"{share:.1%} missing where training has 10 %")
        expect(made["town"].null_count() == 0, "missing values where training has none")

    def file(self) -> None:
        """A model file samples the same rows without the real data, and has the same bytes again.

        A method without model files is left out.
        """
        try:
            restorable(self.kind)
        except UnderstudyError:
            return
        with tempfile.TemporaryDirectory() as folder:
            first, again = Path(folder) / "first", Path(folder) / "again"
            self.fitted.save(first)
            self.fitted.save(again)
            expect(first.read_bytes() == again.read_bytes(), "two files of one model differ")
            methods = {self.kind.card.name: self.kind}
            some = load_model(first, methods).sample(40)
            expect(
                some.equals(self.fitted.sample(40, seed=0), null_equal=True),
                "other rows after loading",
            )
            height = load_model(first, methods).sample().height
            expect(height == ROWS, f"{height} rows after loading")

    def leaves_training_alone(self) -> None:
        """The training table is as it was."""
        self.fitted.sample(10)
        expect(self.train.equals(people(ROWS, 1)), "it was changed")

    def tiny_tables(self) -> None:
        """Tables of few rows are sampled from, or refused with a reason; none without rows."""
        for rows in (0, 1, 2, 5):
            try:
                made = self.fit(people(max(rows, 1), 4).head(rows)).sample(10)
            except UnderstudyError as error:
                expect("rows" in error.message, f"{rows} rows: {error}")
            else:
                expect(made.height == 10 and rows > 0, f"{rows} rows give {made.height}")

    def refusals(self) -> None:
        """Unknown options, fewer than no rows and sampling before fitting are refused."""
        tries: dict[str, Callable[[], Any]] = {
            "no option": lambda: with_options(self.kind, {"nonsense": 1}),
            "rows = -1": lambda: self.fitted.sample(-1),
            "not been fitted": lambda: Synthesizer(copy.deepcopy(self.method)).sample(1),
        }
        for words, attempt in tries.items():
            try:
                attempt()
            except UnderstudyError as error:
                expect(words in error.message, f"another reason than '{words}': {error}")
            else:
                expect(False, f"'{words}' was not refused")

    def batches(self) -> None:
        """Batches together are the sample, and each is drawn anew."""
        with mock.patch(BATCH, 40):
            batches = list(self.fitted.batches(100, seed=2))
            whole = self.fitted.sample(100, seed=2)
            none = [batch.height for batch in self.fitted.batches(0)]
            other = list(self.fitted.batches(80, replicate=1, seed=2))[1]
        heights = [batch.height for batch in batches]
        expect(heights == [40, 40, 20], f"batches of {heights} rows")
        expect(len({tuple(b.schema.items()) for b in batches}) == 1, "batches of several types")
        expect(pl.concat(batches).equals(whole), "the batches are not the sample")
        expect(
            batches[0].equals(self.fitted.sample(40, seed=2)),
            "the first batch is no sample of its own",
        )
        expect(not batches[0].equals(batches[1]), "two batches are the same")
        expect(none == [0], f"batches of {none} rows where none were asked for")
        expect(not batches[1].equals(other), "batches of two replicates are the same")

    def given_values(self) -> None:
        """Rows with given values have them, and are otherwise drawn."""
        some = self.fitted.sample(200, given=GIVEN, seed=2)
        expect(some.height == 200, f"{some.height} rows of 200")
        for name, value in GIVEN.items():
            expect(set(some[name]) == {value}, f"'{name}' has other values than {value}")
        expect(some["town"].n_unique() > 10, "the other columns hardly vary")
        expect(some.schema == self.fitted.sample(1).schema, "other types")
        again = self.fitted.sample(200, given=GIVEN, seed=2)
        expect(some.equals(again), "other rows by the same seed")
        expect(self.fitted.sample(0, given={"sex": "f"}).height == 0, "rows where none are wanted")
        gone = self.fitted.sample(30, given={"income": None})["income"].null_count()
        expect(gone == 30, f"{gone} of 30 values are missing")

    def one_type(self) -> None:
        """A column has one type, whatever a batch of it holds."""
        rows = 400
        real = pl.DataFrame(
            {
                "count": [str(i) for i in range(rows - 8)] + ["N"] * 8,
                "share": [f"{i / 7:.3f}" for i in range(rows - 8)] + ["none"] * 8,
                "limit": [float(i) for i in range(rows - 8)] + [float("inf")] * 8,
                "sex": ["f", "m"] * (rows // 2),
            }
        )
        made = self.fit(real, seed=1)
        with mock.patch(BATCH, 5):
            found = {tuple(batch.dtypes) for batch in made.batches(300)}
        expect(found == {tuple(real.dtypes)}, f"types {found}")

    LAWS = (
        has_a_card, shape, frames, same_seed, fresh_rows, replicates, missing, file,
        leaves_training_alone, tiny_tables, refusals, batches, given_values, one_type,
    )  # fmt: skip


def check_synthesizer(method: str | type[Method] | Method) -> None:
    """Run the laws on a method.

    Parameters
    ----------
    method : name, class or method with options

    Raises
    ------
    AssertionError
        It says which law is broken, and what was found.
    """
    laws = SynthesizerLaws(method)
    check_laws(f"the method '{laws.kind.card.name}'", SynthesizerLaws.LAWS, laws)
