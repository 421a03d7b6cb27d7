"""Whatever is given to a public function: our own error that says what was found, and a hint."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import polars as pl
import pytest

import process
import understudy as us
from people import people
from understudy.errors import OptionError, near
from understudy.options import NUMBERS_OR_BINS, SECONDS, Between, OneOf, Seed, check_arguments
from understudy.synthesizers import MethodCard

NAME = "fidelity.hellinger"
TRAIN = people(60, 1).drop("person_id")
GIVEN = {
    us.assess: {"train": TRAIN, "synthetic": TRAIN, "measures": NAME},
    us.compare: {"train": TRAIN, "candidates": {"a": TRAIN}, "measures": NAME, "curve": False},
    us.release: {"real": TRAIN, "policy": "policy.toml", "out": "out", "method": "independent"},
    us.verify: {"path": "receipt.json"},
    us.attack: {"game": "membership", "train": TRAIN, "generator": "independent"},
    us.keys: {"data": TRAIN},
    us.benchmark: {"train": TRAIN, "methods": ["independent"], "splits": 1},
    us.calibrate: {"real": TRAIN, "measures": "privacy.too_close"},
    us.replace: {"real": TRAIN, "columns": ["age"]},
    us.split: {"real": TRAIN},
    us.load: {"path": "model.understudy"},
    us.synthesizer: {},
}
WRONG = {
    us.assess: "train synthetic holdout keys sensitive target formula fit by measures options "
    "calibration schema policy progress aligned",
    us.compare: "train candidates holdout keys sensitive target formula aligned by measures "
    "options calibration schema curve progress",
    us.release: "real policy out method group target formula keys sensitive by measures options "
    "schema ledger steward_out allow_inconclusive restart progress tell",
    us.verify: "path progress",
    us.attack: "game train generator release schema journal version options progress tell",
    us.keys: "data schema sensitive",
    us.benchmark: "train methods holdout target options schema out progress",
    us.calibrate: "real method keys sensitive measures options schema journal progress",
    us.replace: "real columns where method schema progress constraints train_on",
    us.split: "real holdout stratify group",
    us.load: "path",
    us.synthesizer: "name",
}
CASES = [(f, name) for f, names in WRONG.items() for name in names.split()]


@pytest.mark.parametrize(("function", "name"), CASES, ids=lambda x: getattr(x, "__name__", x))
@pytest.mark.parametrize("wrong", [3, object()], ids=["number", "object"])
def test_an_argument_of_another_kind_is_refused(function, name, wrong, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(us.UnderstudyError) as caught:
        function(**{**GIVEN[function], name: wrong})
    assert caught.value.hint
    assert "3" in str(caught.value) or "object" in str(caught.value) or "int" in str(caught.value)


@pytest.mark.parametrize(
    ("function", "given", "words"),
    [
        (us.attack, {"budget": 0}, "seconds above 0"),
        (us.attack, {"budget": "long"}, "'long' is not a number"),
        (us.attack, {"limit": -1.0}, "seconds above 0"),
        (us.attack, {"refits": 0}, "use 1 or more"),
        (us.attack, {"refits": 1.5}, "refits = 1.5 is not a whole number"),
        (us.attack, {"workers": 10**6}, "1,024 or less"),
        (us.keys, {"budget": math.nan}, "budget = nan is no finite number"),
        (us.keys, {"sensitive": "wages"}, "sensitive: there is no column 'wages'"),
        (us.verify, {"tolerance": 1}, "such as 1e-9"),
        (us.calibrate, {"rows": 0}, "use 1 or more"),
        (us.benchmark, {"splits": 0}, "use 1 or more"),
        (us.benchmark, {"options": {"independent": 3}}, "the options of independent are 3"),
        (us.release, {"options": {"independent": 3}}, "the options of independent are 3"),
        (us.calibrate, {"options": {"privacy.too_close": 3}}, "are 3"),
        (us.split, {"holdout": 1}, "such as 0.5"),
        (us.split, {"seed": -1}, "use 0 or more"),
        (us.synthesizer, {"seed": -1}, "use 0 or more"),
        (us.assess, {"seed": True}, "seed = True"),
    ],
)
def test_bounds_are_those_of_the_signature(function, given, words):
    with pytest.raises(us.UnderstudyError) as caught:
        function(**{**GIVEN[function], **given})
    assert words in str(caught.value)


def test_a_table_in_the_wrong_place_is_not_quoted():
    for given in ({"calibration": TRAIN}, {"schema": TRAIN}, {"policy": [TRAIN]}):
        with pytest.raises(us.UnderstudyError) as caught:
            us.assess(TRAIN, TRAIN, **given)
        assert len(str(caught.value)) < 250
        assert "type DataFrame" in str(caught.value) or "type list" in str(caught.value)


@pytest.mark.parametrize("function", [us.assess, us.calibrate])
def test_no_measure_at_all_is_refused(function):
    with pytest.raises(OptionError, match="nothing to measure") as caught:
        function(**{**GIVEN[function], "measures": []})
    assert caught.value.hint


def test_names_divided_by_commas_are_shown_as_a_list():
    with pytest.raises(OptionError, match="no column 'age, sex'") as caught:
        us.assess(TRAIN, TRAIN, keys="age, sex", measures=NAME)
    assert caught.value.hint == 'give a list: ["age", "sex"]'
    assert near("age,town", ["age", "sex"]) == "there are: age, sex"
    assert near(3, ["age"]) == "there are: age"


@dataclass
class Mine:
    card: ClassVar[MethodCard] = MethodCard("mine", "t", "k", "l", "c", "f", "s")


def test_a_class_is_taken_where_it_is_registered():
    made = us.synthesizer(us.SYNTHESIZERS["flip"], p=0.2, seed=1)
    assert repr(made) == repr(us.synthesizer("flip", p=0.2, seed=1))
    with pytest.raises(OptionError, match="Mine is not registered as 'mine'") as caught:
        us.synthesizer(Mine)
    assert 'SYNTHESIZERS["mine"] = Mine' in caught.value.hint
    for other in (Mine(), int, ["cart"]):
        with pytest.raises(OptionError, match="is no name of a method") as caught:
            us.synthesizer(other)
        assert caught.value.hint


def test_what_a_signature_can_declare():
    def draw(
        path: Annotated[str | Path, "give a path"] = "x",
        *,
        bins: Annotated[int, NUMBERS_OR_BINS] = 0,
        seconds: Annotated[float, SECONDS] = 1.0,
        part: Annotated[float, Between(above=0, below=1)] = 0.5,
        seed: Seed | None = None,
        kind: Annotated[str, OneOf("a", "b")] = "a",
    ) -> None:
        check_arguments(draw, locals())

    draw(Path("x"), bins=2, seconds=math.inf, seed=10**12)
    for given, words in (
        ({"path": 3}, "path = 3 is not a path\nhint: give a path"),
        ({"bins": 1}, "0 leaves numbers as they are"),
        ({"seconds": -math.inf}, "no finite number"),
        ({"part": 1}, "use a number below 1"),
        ({"part": 0}, "use a number above 0"),
        ({"seed": -1}, "use 0 or more"),
        ({"seed": "x"}, "give a whole number, or leave it out"),
        ({"kind": "c"}, "use one of a, b"),
    ):
        with pytest.raises(OptionError) as caught:
            draw(**given)
        assert words in str(caught.value)


@pytest.mark.parametrize("name", ["out.xlsx", "out"])
def test_findings_are_written_as_csv_alone(name, tmp_path):
    path = tmp_path / "train.csv"
    TRAIN.write_csv(path)
    done = process.understudy("assess", path, path, "--measures", NAME, "--csv", tmp_path / name)
    assert done.returncode == 2
    assert "name it .csv" in done.stderr
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("give", [None, "to_pandas", "to_arrow"])
def test_candidates_as_a_frame(give):
    train = TRAIN if give is None else getattr(TRAIN, give)()
    options = {"fidelity.trivariate": {"resamples": 2, "permutations": 2}}
    found = us.compare(train, {"a": TRAIN, "b": TRAIN}, measures=NAME, curve=False, options=options)
    frame = found.to_frame()
    assert type(frame) is type(train)
    made = pl.DataFrame(frame)
    assert made["candidate"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert made.filter(candidate="b")["measure"].to_list() == [one.measure for one in found["b"]]
