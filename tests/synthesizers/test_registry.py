"""Methods of other packages: by name, when asked for, and never to the harm of the rest."""

import json
import os
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import process
import understudy as us
from installed import install
from understudy.errors import OptionError
from understudy.synthesizers import SYNTHESIZERS, native
from understudy.synthesizers.controls import Bootstrap
from understudy.synthesizers.registry import Methods

EXAMPLE = Path(__file__).parents[2] / "examples" / "understudy-example"
ADAPTERS = ("sdv", "datasynthesizer", "mostlyai")


@pytest.fixture
def methods(tmp_path, monkeypatch):
    """Give a fresh registry that finds what is installed in a folder of its own."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return Methods({"bootstrap": Bootstrap, "late": "understudy.synthesizers.sequential:Cart"})


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Give an environment in which the example and a broken package are installed."""
    folder = tmp_path_factory.mktemp("installed")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"]["understudy.synthesizers"])
    install(folder, "broken-thing", {"broken": "broken_thing:Method"}, "import no_such_module")
    install(folder, "cheeky", {"cart": "cheeky:Cart"}, "raise RuntimeError('never loaded')")
    paths = [str(folder), str(EXAMPLE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.fixture(scope="module")
def real(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("real") / "real.csv"
    rows = [(i % 3, "f" if i % 3 else "m", i * i % 37) for i in range(90)]
    pl.DataFrame(rows, schema=["group", "sex", "number"], orient="row").write_csv(path)
    return path


def test_the_example_runs_by_its_name(environment, real, tmp_path):
    out, model = tmp_path / "out.csv", tmp_path / "model"
    done = process.understudy(
        "synthesize", real, "--out", out, "--method", "hotdeck", "--rows", "60",
        "-o", 'hotdeck.cells=["group"]', "--save", model, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = pl.read_csv(out)
    assert made.height == 60
    pairs = set(pl.read_csv(real).select("group", "sex").iter_rows())
    assert set(made.select("group", "sex").iter_rows()) <= pairs  # sex goes by the cell
    again = tmp_path / "again.csv"
    done = process.understudy("synthesize", "--from", model, "--out", again, env=environment)
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(again).height == 90


def test_all_methods_are_listed_and_what_is_wrong_is_told(environment, tmp_path):
    path = tmp_path / "methods.json"
    done = process.understudy("methods", "--json", path, env=environment)
    assert done.returncode == 0, done.stderr
    listed = {card["name"]: card for card in json.loads(path.read_text())["methods"]}
    assert set(listed) == {*SYNTHESIZERS, "hotdeck", "broken"}
    assert listed["hotdeck"]["options"] == {"cells": []}
    assert "No module named 'no_such_module'" in listed["broken"]["title"]
    assert listed["broken"]["source"] == "broken-thing 1.2"
    assert listed["cart"]["title"] == SYNTHESIZERS["cart"].card.title
    assert "cheeky 1.2 declares the method 'cart'" in done.stderr
    shown = process.understudy("methods", env=environment).stdout
    assert "It comes from broken-thing 1.2." in shown


def test_a_broken_method_is_refused_by_name(environment, real, tmp_path):
    done = process.understudy(
        "synthesize", real, "--out", tmp_path / "out.csv", "--method", "broken",
        "-o", "broken.option=1", env=environment,
    )  # fmt: skip
    assert done.returncode != 0
    assert "the method 'broken' of broken-thing 1.2 cannot be loaded" in done.stderr
    assert "mend or uninstall broken-thing 1.2" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out.csv").exists()


GOOD = """
from dataclasses import dataclass
from understudy.synthesizers.controls import Bootstrap
from understudy.synthesizers import MethodCard
import dataclasses
@dataclass
class Copies(Bootstrap):
    card = dataclasses.replace(Bootstrap.card, name="copies")
class Plain:
    pass
@dataclass
class NoCard:
    pass
@dataclass
class Half:
    card = dataclasses.replace(Bootstrap.card, name="half")
    def fit(self): ...
"""


def test_a_method_is_loaded_when_it_is_used(methods, tmp_path):
    install(tmp_path, "pack-a", {"copies": "pack_a:Copies"}, GOOD)
    assert list(methods) == ["bootstrap", "late", "copies"]
    assert "copies" in methods
    assert "pack_a" not in sys.modules
    assert len(methods) == 3
    assert methods["copies"].card.name == "copies"
    assert "pack_a" in sys.modules
    assert methods["late"].card.name == "cart"
    assert methods.get("nothing") is None


@pytest.mark.parametrize(
    ("name", "target", "fault"),
    [
        ("x", "pack_b:Plain", "is no dataclass"),
        ("x", "pack_b:NoCard", "no card"),
        ("x", "pack_b:Copies", "its card calls it 'copies'"),
        ("half", "pack_b:Half", "it cannot sample or state or restore"),
        ("x", "pack_b:Nothing", "AttributeError"),
        ("x", "no_such_pack:Thing", "ModuleNotFoundError"),
    ],
)
def test_what_is_no_method_is_told_when_it_is_used(methods, tmp_path, name, target, fault):
    install(tmp_path, "pack-b", {name: target}, GOOD)
    stand_in = methods[name]
    assert fault in stand_in.card.title
    with pytest.raises(OptionError, match=f"'{name}' of pack-b 1.2 cannot be loaded: .*{fault}"):
        stand_in()
    assert methods["late"].card.name == "cart"


def test_two_packages_with_one_name_are_both_named(methods, tmp_path):
    for number in (1, 2):
        install(tmp_path, f"pack-{number}", {"copies": f"pack_{number}:Copies"}, GOOD)
    with pytest.raises(OptionError, match=r"pack-\d 1.2 and pack-\d 1.2 declare it both"):
        methods["copies"]()


def test_our_own_name_stays_ours_with_a_warning(methods, tmp_path):
    install(tmp_path, "pack-c", {"bootstrap": "pack_c:Copies"}, GOOD)
    with pytest.warns(UserWarning, match="pack-c 1.2 declares the method 'bootstrap'"):
        assert methods["bootstrap"] is Bootstrap


def test_foreign_methods_are_named_apart():
    assert set(SYNTHESIZERS) - set(native()) >= {"command", *ADAPTERS}
    assert "forest" in native()
    with pytest.raises(OptionError, match="there is no method 'sdw'") as caught:
        us.synthesizer("sdw")
    assert "sdv" in caught.value.hint
