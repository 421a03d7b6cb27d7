"""Properties that every synthesizer must have, run over the whole dict of methods."""

import dataclasses
from functools import cache
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.synthesizers import MethodCard, native
from understudy.synthesizers.controls import Bootstrap
from understudy.testing import SynthesizerLaws, check_synthesizer

laws_of = cache(SynthesizerLaws)


@pytest.mark.parametrize("law", SynthesizerLaws.LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("method", native())  # what runs a foreign program has tests of its own
def test_laws(method, law):
    law(laws_of(method))


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("method", native())
def test_which_methods_refuse_tiny_tables(method, rows):
    train = people(rows, 4)
    if method in ("forest", "bayes", "copula") and rows < 5:
        with pytest.raises(us.UnderstudyError, match="fewer than 5 rows"):
            us.synthesizer(method).fit(train)
        return
    assert us.synthesizer(method).fit(train).sample(10).height == 10


@dataclasses.dataclass(kw_only=True)
class Careless(Bootstrap):
    """Draws from a generator of its own."""

    card: ClassVar[MethodCard] = dataclasses.replace(Bootstrap.card, name="careless")

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        return super().sample(rows, np.random.default_rng())


def test_a_broken_law_is_named():
    with pytest.raises(AssertionError, match=r"'careless' breaks a law: The same seed .* Found"):
        check_synthesizer(Careless)
