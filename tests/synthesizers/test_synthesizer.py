"""A synthesizer in Python: sampled again, copied, pickled, cloned, printed."""

import copy
import dataclasses
import pickle

import pytest
from sklearn.base import clone

import understudy as us
from people import people
from understudy.errors import OptionError
from understudy.synthesizers import SYNTHESIZERS, MethodCard, abilities_of, native
from understudy.synthesizers.base import ABILITIES, ability_fault, options_given
from understudy.synthesizers.registry import Methods

TRAIN = people(200, 1)
KINDS = {"polars": lambda: TRAIN, "pandas": TRAIN.to_pandas, "pyarrow": TRAIN.to_arrow}


@pytest.fixture(scope="module")
def fitted():
    return us.synthesizer("forest", seed=3, trees=2).fit(TRAIN)


def test_sampled_again_it_draws_fresh_rows(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    again = us.load(tmp_path / "m")
    calls = [again.sample(50) for _ in range(4)]
    assert len({frame.write_csv() for frame in calls}) == 4
    assert calls[0].equals(again.sample(50, replicate=0))
    assert not any(frame.equals(again.sample(50, replicate=1)) for frame in calls)
    repeated = us.load(tmp_path / "m")
    assert all(repeated.sample(50).equals(frame) for frame in calls)


def test_a_seed_fixes_any_call(fitted):
    one, other = fitted.sample(50, seed=8), fitted.sample(50, seed=9)
    assert not one.equals(other)
    assert one.equals(fitted.sample(50, seed=8))
    assert fitted.sample(50, seed=3).equals(fitted.sample(50, replicate=0))
    assert not one.equals(fitted.sample(50, seed=8, replicate=1))
    with pytest.raises(OptionError, match="seed = -1"):
        fitted.sample(5, seed=-1)


def test_a_seed_leaves_the_calls_without_one_alone():
    first, second = (us.synthesizer("flip", seed=1).fit(TRAIN) for _ in range(2))
    rows = first.sample(30), first.sample(30)
    made = second.sample(30), second.sample(30, seed=5), second.sample(30)
    assert rows[0].equals(made[0])
    assert rows[1].equals(made[2])
    assert first.fit(TRAIN).sample(30).equals(rows[0])


@pytest.mark.parametrize(
    ("method", "kind"),
    [*((method, "polars") for method in native()), *(("flip", kind) for kind in KINDS)],
)
def test_fitted_models_can_be_pickled_copied_and_cloned(method, kind):
    given = KINDS[kind]()
    made = us.synthesizer(method, seed=2).fit(given)
    copies = [pickle.loads(pickle.dumps(made)), copy.deepcopy(made), clone(made).fit(given)]
    rows = made.sample(20)
    for one in copies:
        drawn = one.sample(20)
        assert type(drawn) is type(given)
        assert drawn.equals(rows)
    assert copies[0].schema_ == made.schema_


def test_a_copy_goes_its_own_way(fitted):
    other = copy.deepcopy(fitted)
    rows = other.sample(30)
    assert not other.sample(30).equals(rows)
    other.method.codecs_.clear()
    assert fitted.sample(5).columns == TRAIN.columns


def test_a_clone_has_learnt_nothing_and_shares_nothing():
    made = us.synthesizer("sequential", predictors={"age": ["sex"]}, seed=4).fit(TRAIN)
    other = clone(made)
    assert (other.schema_, other.seed, other.rows_) == (None, 4, 0)
    assert options_given(other.method) == options_given(made.method)
    assert not other.method.models_
    assert other.method.predictors is not made.method.predictors
    with pytest.raises(OptionError, match="has not been fitted"):
        other.sample(1)


@pytest.mark.parametrize("method", native())
def test_a_synthesizer_is_told_in_a_line_or_two(method):
    made = us.synthesizer(method, seed=2)
    before = repr(made)
    made.fit(TRAIN)
    assert type(made.method).__name__ in before
    assert "fitted" not in before
    assert "seed=2" in before
    assert repr(made).endswith("fitted to 200 rows of 9 columns)")
    assert len(repr(made)) < 500
    assert "\n" not in repr(made)


# abilities


@pytest.mark.parametrize("method", native())
def test_cards_declare_all_that_a_method_can_do(method):
    kind = SYNTHESIZERS[method]
    assert abilities_of(kind) == set(kind.card.abilities) == abilities_of(kind())
    assert not ability_fault(kind)


def test_methods_that_run_a_program_are_told_apart():
    for method in set(SYNTHESIZERS) - set(native()):
        assert abilities_of(SYNTHESIZERS[method]) == {"program", "ready", "identity"}


def _claiming(*abilities: str) -> type:
    bootstrap = SYNTHESIZERS["bootstrap"]
    card = dataclasses.replace(bootstrap.card, abilities=abilities)
    return type("Claiming", (bootstrap,), {"card": card})


def test_a_method_must_have_the_parts_of_what_it_claims():
    methods = Methods({})
    with pytest.raises(OptionError, match="claims the ability 'epsilon', and it has no option eps"):
        methods["claiming"] = _claiming("complete", "epsilon")
    with pytest.raises(OptionError, match="claims the ability 'flying', which is none"):
        methods["claiming"] = _claiming("flying")
    methods["claiming"] = _claiming("complete")
    assert "likelihood" in abilities_of(methods["claiming"])  # it has the parts, said or not


def test_a_method_that_says_nothing_has_what_it_has_the_parts_for():
    @dataclasses.dataclass
    class Plain:
        proper: bool = False
        card = MethodCard("plain", *["something"] * 6)

        def emitted(self, schema):
            return schema

    assert abilities_of(Plain) == {"proper", "emitted"}
    assert all(ability.text for ability in ABILITIES.values())
