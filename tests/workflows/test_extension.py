"""Measures of other packages and of one's own: by name or as a function, never to others' harm."""

import dataclasses
import json
import os
import re
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import process
import understudy as us
from installed import install
from people import people
from understudy.errors import OptionError
from understudy.measures import MEASURES, Measures, choose
from understudy.measures.fidelity.columns import hellinger
from understudy.testing import check_measure, check_synthesizer

EXAMPLE = Path(__file__).parents[2] / "examples" / "understudy-example"
GROUP = "understudy.measures"
NAME = "fidelity.level_coverage"
CARD = us.Card(
    name="acme.columns",
    title="Columns",
    meaning="How many columns were compared.",
    formula="n",
    unit="columns",
    better="higher",
    headline="columns",
    source="ours",
    not_shown="Whether any is faithful.",
)
MODULE = f"""
import dataclasses
import understudy as us
CARD = us.Card(**{dataclasses.asdict(CARD)!r})
@us.described(CARD)
def columns(comparison):
    return us.Finding(CARD.name, unit=CARD.unit, better=CARD.better, value=len(comparison.names))
bare = lambda comparison: None
plain = us.described(dataclasses.replace(CARD, name="plain"))(lambda comparison: None)
text = "no function"
"""


@us.described(CARD)
def columns(comparison, *, more: int = 0):
    value = float(len(comparison.names) + more)
    return us.Finding(CARD.name, unit=CARD.unit, better=CARD.better, value=value)


@pytest.fixture(scope="module")
def example():
    """Give the modules of the example."""
    sys.path.insert(0, str(EXAMPLE))
    import understudy_example
    import understudy_example_measure

    yield understudy_example, understudy_example_measure
    sys.path.remove(str(EXAMPLE))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Give an environment in which the example and a broken package are installed."""
    folder = tmp_path_factory.mktemp("installed")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    install(folder, project["name"], project["entry-points"][GROUP], group=GROUP)
    install(folder, "broken-thing", {"acme.broken": "broken_thing:x"}, "import nowhere", GROUP)
    paths = [str(folder), str(EXAMPLE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.mark.slow
def test_the_example_keeps_the_laws(example):
    methods, measures = example
    check_measure(measures.level_coverage)
    check_synthesizer(methods.HotDeck(cells=("sex",)))


def test_the_measure_of_the_page_keeps_the_laws():
    page = (EXAMPLE.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(import understudy.*?)```", page, re.S)
    made: dict = {}
    exec(code[1], made)
    check_measure(made["columns"], thorough=False)


def test_the_example_runs_by_its_name_and_a_broken_one_is_told(environment, tmp_path):
    real, made, out = (tmp_path / name for name in ("real.csv", "made.csv", "out.json"))
    people(200, 1).write_csv(real)
    people(200, 2).write_csv(made)
    done = process.understudy(
        "assess", real, made, "--measures", f"{NAME},acme", "--json", out, env=environment
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(out.read_text())
    found = {finding["measure"]: finding for finding in told["findings"]}
    assert 0.5 < found[NAME]["value"] <= 1
    assert found["acme.broken"]["status"] == "failed"
    why = "of broken-thing 1.2 cannot be loaded: ModuleNotFoundError"
    assert why in found["acme.broken"]["note"]
    assert "broken-thing 1.2" in done.stdout
    assert told["provenance"]["extensions"][NAME] == "understudy-example 1.2"
    listed = process.understudy("measures", env=environment).stdout
    assert NAME in listed
    assert "acme.broken" in listed


@pytest.fixture
def measures(tmp_path, monkeypatch):
    """Give a fresh registry that finds what is installed in a folder of its own."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return Measures({"fidelity.hellinger": hellinger})


@pytest.mark.parametrize(
    ("name", "target", "fault"),
    [
        ("acme.x", "pack_m:columns", "its card calls it 'acme.columns'"),
        ("acme.x", "pack_m:bare", "it has no card"),
        ("privacy.x", "pack_m:text", "'no function' is no function"),
        ("acme.x", "no_such_pack:x", "ModuleNotFoundError"),
        ("plain", "pack_m:plain", "its name has no family"),
    ],
)
def test_what_is_no_measure_is_a_finding_that_failed(measures, tmp_path, name, target, fault):
    install(tmp_path, "pack-m", {name: target}, MODULE, GROUP)
    assert list(measures) == ["fidelity.hellinger", name]
    found = measures[name](None)
    assert found.status == "failed"
    assert f"'{name}' of pack-m 1.2 cannot be loaded: " in found.note
    assert fault in found.note
    assert "mend or uninstall pack-m 1.2" in found.note
    assert measures.origin(name) == "pack-m 1.2"
    assert measures.origin("fidelity.hellinger") == ""


def test_our_own_name_stays_ours_with_a_warning(measures, tmp_path):
    install(tmp_path, "pack-n", {"fidelity.hellinger": "pack_n:x"}, MODULE, GROUP)
    with pytest.warns(UserWarning, match="pack-n 1.2 declares the measure 'fidelity.hellinger'"):
        assert measures["fidelity.hellinger"] is hellinger


def test_a_function_stands_among_names():
    train, made = people(400, 1), people(400, 2)
    options = {"acme.columns": {"more": 2}}
    asked = [columns, "fidelity.univariate"]
    result = us.assess(train, made, measures=asked, options=options)
    assert [finding.measure for finding in result] == ["fidelity.univariate", "acme.columns"]
    assert result["acme.columns"].value == 11
    assert result.provenance["extensions"] == {"acme.columns": "the function columns"}
    assert "Whether any is faithful." in result.to_html()
    assert "Columns" in result._repr_html_()
    compared = us.compare(train, {"a": made}, measures=asked, curve=False)
    assert compared["a"]["acme.columns"].value == 9
    assert f">{CARD.title}<" in compared.to_html()


def test_a_function_that_gives_something_else_failed(monkeypatch):
    contradictory = us.Finding(CARD.name, unit=CARD.unit, better="lower", value=1.0)
    for given, why in (
        (None, "NoneType, not a Finding"),
        (us.Finding("a.b", value=1.0), "'a.b'"),
        (contradictory, "better is 'lower' in its finding, 'higher' on its card"),
    ):
        wrong = us.described(CARD)(lambda comparison, given=given: given)
        result = us.assess(people(50, 1), people(50, 2), measures=[wrong])
        assert result["acme.columns"].status == "failed"
        assert why in result["acme.columns"].note


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (lambda comparison: None, "has no card"),
        (3, "3 has no card"),
        (us.described(MEASURES["fidelity.moments"].card)(lambda c: None), "which is another's"),
        (us.described(dataclasses.replace(CARD, name="columns"))(lambda c: None), "no family"),
        (us.described(dataclasses.replace(CARD, name="acme."))(lambda c: None), "no family"),
    ],
)
def test_what_is_no_measure_is_refused(wanted, why):
    with pytest.raises(OptionError, match=why):
        choose([wanted], functions=True)


def test_two_functions_with_one_name_are_refused():
    other = us.described(CARD)(lambda comparison: None)
    with pytest.raises(OptionError, match=r"two functions .* 'acme.columns'"):
        choose([columns, other], functions=True)
    assert choose([columns, columns], functions=True) == {"acme.columns": columns}


def test_a_function_alone_needs_no_list():
    assert choose(columns, functions=True) == {"acme.columns": columns}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"better": "more"}, "acme.columns: better 'more' is none of lower, higher, reference"),
        ({"needs": ("patience",)}, "acme.columns: needs 'patience' is none of holdout, keys"),
    ],
)
def test_a_card_with_unknown_words_is_refused(words, why):
    with pytest.raises(ValueError, match=why):
        dataclasses.replace(CARD, **words)


@pytest.mark.parametrize(
    ("method", "why"),
    [("hotdek", "there is no method 'hotdek'"), (int, "int is no method: .* is no dataclass")],
)
def test_the_laws_refuse_what_is_no_method(method, why):
    with pytest.raises(OptionError, match=why):
        check_synthesizer(method)


def test_functions_are_refused_where_work_is_written_down(tmp_path):
    with pytest.raises(OptionError, match="function columns has no name that another process"):
        us.calibrate(people(100, 1), measures=[columns])
    policy = tmp_path / "policy.toml"
    policy.write_text('required = ["fidelity.univariate"]')
    with pytest.raises(OptionError, match="function columns has no name that another process"):
        us.release(people(100, 1), policy, tmp_path / "out", measures=[columns])


def test_options_of_a_function_are_checked():
    with pytest.raises(OptionError, match=r"acme.columns has no option 'les'"):
        us.assess(
            pl.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}),
            measures=[columns], options={"acme.columns": {"les": 1}},
        )  # fmt: skip
