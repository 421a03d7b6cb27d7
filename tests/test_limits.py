"""Numbers that are asked for: not finite, or more than can be done; told before any work."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

import process
import understudy as us
from people import people
from understudy.attacks import ATTACKS
from understudy.cli import synthesize
from understudy.cli.common import parse_options
from understudy.errors import OptionError
from understudy.measures import MEASURES
from understudy.options import MOST_ROWS, check_each, check_number, declared
from understudy.synthesizers import SYNTHESIZERS
from understudy.workflows.attack import attack
from understudy.workflows.calibrate import calibrate

NOT_FINITE = [math.nan, math.inf, -math.inf]
FLOATS = [
    (name, field.name)
    for name, method in SYNTHESIZERS.items()
    for field in dataclasses.fields(method)
    if field.init and isinstance(field.default, float)
]
WHOLE = [
    (name, field.name)
    for name, method in SYNTHESIZERS.items()
    for field in dataclasses.fields(method)
    if field.init and type(field.default) is int
]


def check_options(given) -> None:
    check_each(given, MEASURES, "measure")


def refused(what: str, make) -> None:
    with pytest.raises(OptionError) as caught:
        make()
    assert what in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize(("name", "option"), FLOATS)
def test_no_number_of_a_method_is_nan_or_infinite(name, option, value):
    more = {"command": "x {train} {out}"} if name == "command" else {}
    refused(f"{name}: {option} = ", lambda: us.synthesizer(name, **more, **{option: value}))
    refused(f"{name}: {option} = ", lambda: SYNTHESIZERS[name](**more, **{option: value}))


@pytest.mark.parametrize(("name", "option"), WHOLE)
def test_every_whole_number_of_a_method_has_an_end(name, option):
    refused(f"{name}: {option} = 1", lambda: us.synthesizer(name, **{option: 10**21}))


@pytest.mark.parametrize("name", ["trees", "rounds"])
def test_a_million_trees_are_too_many(name):
    refused(f"{name} = 1000000", lambda: us.synthesizer("sequential", **{name: 10**6}))
    refused("forest: trees = 1000000", lambda: us.synthesizer("forest", trees=10**6))


@pytest.mark.parametrize("value", NOT_FINITE)
def test_no_number_of_a_measure_is_nan_or_infinite(value):
    seen = 0
    for name, measure in MEASURES.items():
        for option, taken in declared(measure).items():
            if taken.is_number and str not in taken.kinds:
                seen += 1
                refused(
                    f"{name}: {option}", lambda n=name, o=option: check_options({n: {o: value}})
                )
    assert seen > 50


def test_whole_numbers_of_measures_and_attacks_have_an_end():
    for name, measure in MEASURES.items():
        for option, taken in declared(measure).items():
            if taken.kinds == (int,):
                refused(
                    f"{name}: {option}", lambda n=name, o=option: check_options({n: {o: 10**21}})
                )
    for name, game in ATTACKS.items():
        for option, taken in declared(game).items():
            if taken.is_number:
                value = 10**21 if int in taken.kinds else math.nan
                refused(
                    f"{name}: {option}",
                    lambda n=name, o=option, v=value: attack(n, None, "cart", options={o: v}),
                )


def test_an_infinite_radius_means_something():
    check_options({"privacy.radius_attribution": {"radius": math.inf}})


@pytest.mark.parametrize("rows", [-1, MOST_ROWS + 1, 10**21, math.nan, math.inf])
def test_rows_can_be_counted(rows):
    made = us.synthesizer("bootstrap").fit(pl.DataFrame({"a": [1, 2, 3] * 10}))
    refused("rows = ", lambda: made.sample(rows))
    refused("rows = ", lambda: us.release(people(40, 1), "p.toml", "out", rows=rows))
    if not rows < 0:
        assert next(made.batches(MOST_ROWS)).height == 100_000


def test_replicates_splits_and_workers_have_an_end(tmp_path):
    real = people(40, 1)

    def asked(option: str, number: int) -> None:
        given = ["real.csv", "--out", str(tmp_path / "out.csv"), option, str(number)]
        synthesize.command.main(given, standalone_mode=False)

    refused("replicates = 100000", lambda: asked("--replicates", 10**5))
    refused("rows = 1000000000001", lambda: asked("--rows", 10**12 + 1))
    refused("replicates = 100000", lambda: us.release(real, "p.toml", "out", replicates=10**5))
    refused("replicates = 100000", lambda: us.replace(real, ["age"], replicates=10**5))
    refused("splits = 100000", lambda: us.benchmark(real, methods=["cart"], splits=10**5))
    refused("workers = 100000", lambda: attack("worlds", real, "cart", workers=10**5))
    refused("workers = 100000", lambda: calibrate(real, workers=10**5))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "cart.cp=NaN"], "cart: cp = 'NaN' is not a number"),
        (["-o", "cart.cp=" + "9" * 5000], "cart: cp = '999"),
        (["--replicates", "100000"], "replicates = 100000"),
        (["--rows", "1" + "0" * 21], "rows = 1000000000000000000000"),
    ],
)
def test_the_command_line_says_so_in_one_message(words, said, tmp_path):
    people(60, 1).write_csv(tmp_path / "real.csv")
    out = tmp_path / "out.csv"
    done = process.here(
        "synthesize", tmp_path / "real.csv", "--method", "cart", "--out", out, *words, cwd=tmp_path
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "hint: " in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_a_number_is_told_with_its_bound():
    refused("x = 3", lambda: check_number("x", 3, 4))
    with pytest.raises(OptionError) as caught:
        check_number("x", 5000, 1, 1000)
    assert caught.value.hint == "use 1,000 or less"


@pytest.mark.parametrize("rows", [2.5, 3.0, "3", True])
def test_rows_are_whole_numbers(rows):
    model = us.synthesizer("bootstrap").fit(people(60, 1))
    with pytest.raises(OptionError, match="rows = "):
        model.sample(rows)


def test_what_a_measure_refuses_is_declared_where_it_is_taken():
    for name, given in {
        "fidelity.trivariate": {"resamples": 1},
        "fidelity.univariate": {"distance": "far"},
        "fidelity.detection": {"folds": 1},
        "utility.estimates": {"family": "poison"},
        "privacy.adversary_error": {"share": 0.0},
        "privacy.radius_attribution": {"weights": "none"},
    }.items():
        ((option, value),) = given.items()
        refused(f"{name}: {option} = {value!r}", lambda n=name, g=given: check_options({n: g}))
    assert str(declared(MEASURES["fidelity.detection"])["folds"]) == "5 (2 or more)"


def test_every_kind_that_an_option_takes_is_taken():
    check_options(
        {
            "privacy.adversary_error": {"neighbours": [1, 3]},
            "utility.regression": {"models": ["linear"]},
            "privacy.correct_attribution": {"length": None, "strata": "sex"},
            "privacy.closest_record": {"distance": abs},
            "fidelity.hellinger": {"bins": np.int64(5)},
        }
    )
    refused("strata = 3 is not text", lambda: check_options({"privacy.membership": {"strata": 3}}))


def test_a_number_on_the_command_line_is_text_where_text_is_asked_for():
    given = ["privacy.closest_record.strata=1", "privacy.adversary_error.neighbours=3"]
    assert parse_options(given) == {
        "privacy.closest_record": {"strata": "1"},
        "privacy.adversary_error": {"neighbours": 3},
    }
