"""assess(): choosing, options, replicates, failures, notes, provenance."""

import json

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy import measures
from understudy.errors import UnderstudyError
from understudy.judging.comparison import stream
from understudy.judging.findings import Card, Finding, Part, described, wilson
from understudy.judging.replicates import average
from understudy.workflows.assessment import Assessment

CARD = Card(
    name="fidelity.broken",
    title="t",
    meaning="m",
    formula="f",
    unit="fraction",
    better="lower",
    headline="h",
    source="s",
    not_shown="n",
)


@pytest.fixture
def real() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    return pl.DataFrame({"age": rng.integers(18, 90, 100), "sex": rng.choice(["f", "m"], 100)})


def test_an_interrupt_within_compiled_code_is_no_finding(real, monkeypatch):
    @described(CARD)
    def broken(comparison):
        raise SystemError("a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setitem(measures.MEASURES, CARD.name, broken)
    with pytest.raises(KeyboardInterrupt):
        us.assess(real, real, measures=["fidelity"])


def test_a_measure_that_fails_is_a_finding_and_the_run_goes_on(real, monkeypatch):
    @described(CARD)
    def broken(comparison):
        raise ZeroDivisionError("by design")

    monkeypatch.setitem(measures.MEASURES, CARD.name, broken)
    result = us.assess(real, real, measures=["fidelity"])
    assert result[CARD.name].status == "failed"
    assert result[CARD.name].note == "ZeroDivisionError: by design"
    assert result["fidelity.hellinger"].status == "ok"


def test_what_is_needed_and_missing_is_not_applicable(real, monkeypatch):
    import dataclasses

    @described(dataclasses.replace(CARD, needs=("holdout", "keys")))
    def needy(comparison):
        raise AssertionError("must not run")

    monkeypatch.setitem(measures.MEASURES, CARD.name, needy)
    found = us.assess(real, real, measures=[CARD.name])[CARD.name]
    assert found.status == "not_applicable"
    assert found.note.startswith("This needs a holdout and key columns.")
    assert "understudy split" in found.note
    assert CARD.name not in [f.measure for f in us.assess(real, real)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measures": ["fidelity.helinger"]}, "fidelity.helinger"),
        ({"options": {"fidelity.helinger": {}}}, "fidelity.helinger"),
        ({"options": {"fidelity.hellinger": {"bin": 3}}}, "no option 'bin'"),
        ({"options": {"fidelity.hellinger": {"bins": 0}}}, "bins = 0"),
        ({"options": {"fidelity.hellinger": {"bins": "many"}}}, "not a whole number"),
        ({"keys": ["aeg"]}, "aeg"),
        ({"sensitive": ["income"]}, "income"),
        ({"target": "income"}, "income"),
    ],
)
def test_wrong_names_and_options(real, given, message):
    with pytest.raises(us.UnderstudyError, match=message) as caught:
        us.assess(real, real, **given)
    assert caught.value.hint


def test_options_reach_the_measure(real):
    other = us.synthesizer("independent", seed=1).fit(real).sample()
    name = "fidelity.hellinger"
    plain = us.assess(real, other, measures=[name])
    few = us.assess(real, other, measures=[name], options={name: {"bins": 2}})
    assert few[name].value < plain[name].value
    assert few.provenance["options"] == {"fidelity.hellinger": {"bins": 2}}


def test_replicates_are_averaged(real):
    made = us.synthesizer("independent", seed=1).fit(real)
    copies = [made.sample(replicate=i) for i in range(3)]
    name = "fidelity.total_variation"
    alone = [us.assess(real, c, holdout=real, measures=[name])[name] for c in copies]
    together = us.assess(real, copies, holdout=real, measures=[name])[name]
    assert together.value == pytest.approx(np.mean([f.value for f in alone]))
    assert together.interval[0] == pytest.approx(np.mean([f.interval[0] for f in alone]))
    assert [r[1] for r in together.tables["replicates"].rows] == [f.value for f in alone]
    assert "Mean of 3 replicates" in together.note


def test_average_combines_p_values_and_reports_a_failure():
    def finding(p):
        return Finding("m", value=1.0, p_value=p, flagged=p < 0.05, parts=(Part("a", p),))

    combined = average([finding(0.01), finding(0.02)])
    assert combined.p_value == pytest.approx(0.03)
    assert combined.flagged
    assert not average([finding(0.01), finding(0.5)]).flagged
    failed = Finding("m", status="failed", note="why")
    assert average([finding(0.5), failed]).note == "replicate 2: why"


def test_values_that_do_not_parse_are_counted_and_named(real):
    strange = real.with_columns(pl.col("age").cast(pl.String)).with_columns(
        age=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("13.9.58")).otherwise("age")
    )
    few = ["fidelity.total_variation"]
    notes = us.assess(real, strange, holdout=strange, measures=few).provenance["notes"]
    assert notes == [
        "synthetic: 2 values of 'age' not a number ('13.9.58'), coded as unseen.",
        "holdout: 2 values of 'age' not a number, coded as unseen.",
    ]


def test_provenance_names_no_path_and_hashes_are_keyed(real, tmp_path):
    path = tmp_path / "secret-name.csv"
    real.write_csv(path)
    few = ["fidelity.moments", "privacy.identical_matches"]
    first, second = (us.assess(path, path, measures=few) for _ in range(2))
    assert "secret-name" not in first.to_json()
    assert first.provenance["train"]["hash"] != second.provenance["train"]["hash"]
    assert first.provenance["train"]["hash"] == first.provenance["synthetic"][0]["hash"]
    assert first.key.hex() not in first.to_json()
    assert set(first.provenance["seconds"]) == {f.measure for f in first}


def test_json_is_the_contract(real):
    data = json.loads(us.assess(real, real, holdout=real).to_json())
    assert set(data) == {"version", "findings", "verdicts", "provenance"}
    assert data["version"] == 1
    keys = {"measure", "status", "unit", "value", "interval", "level", "reference", "baselines"}
    keys |= {"better", "p_value", "flagged", "parts", "tables", "note"}
    for finding in data["findings"]:
        assert set(finding) == keys
        assert finding["better"] in ("lower", "higher", "reference")


def test_to_html_and_notebook(real, tmp_path):
    result = us.assess(real, real, measures=["fidelity.univariate", "privacy.identical_matches"])
    result.to_html(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == result.to_html()
    assert "<table" in result._repr_html_()


def test_streams_are_named_and_independent():
    a, b = (stream(0, name).random(1000) for name in ("a", "b"))
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.1
    assert not np.array_equal(stream(0, "ab").random(3), stream(0, "a", "b").random(3))


def test_wilson_against_scipy():
    from scipy.stats import binomtest

    for hits, trials in ((0, 10), (3, 10), (10, 10), (17, 400)):
        expected = binomtest(hits, trials).proportion_ci(method="wilson")
        assert wilson(hits, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_an_option_that_makes_no_sense_stops_the_run(real):
    for given in ({"distance": "foo"}, {"resamples": 1}):
        with pytest.raises(us.UnderstudyError) as caught:
            us.assess(real, real, options={"fidelity.univariate": given})
        assert caught.value.hint


def test_the_register_keeps_all_replicates(real):
    holdout = real.with_columns(age=pl.col("age") + 100)
    options = {"privacy.closest_record": {"permutations": 9}}
    result = us.assess(
        real, [real, real], holdout=holdout, measures=["privacy.closest_record"], options=options
    )
    register = result.register()
    assert set(register["replicate"]) == {1, 2}
    assert "synthetic_row" not in result.to_json()


ODD_NAMES = {"sex": "count", "town": "times", "age": "level", "income": "row", "children": "copies"}


@pytest.mark.slow
def test_columns_may_be_called_as_we_call_things_ourselves():
    train, holdout = (people(200, seed).rename(ODD_NAMES) for seed in (1, 2))
    synthetic = us.synthesizer("forest", seed=1).fit(train).sample(200)
    result = us.assess(
        train,
        synthetic,
        holdout=holdout,
        keys=["count", "level"],
        sensitive=["times"],
        target="count",
        formula="row ~ level + count",
    )
    assert [(f.measure, f.note) for f in result if f.status == "failed"] == []


def test_a_generator_is_named_in_the_provenance_and_fitted_on_splits():
    tables = [people(120, seed) for seed in (1, 2, 3)]
    quick = {"utility.regression": {"models": "linear", "splits": 2}}
    result = us.assess(
        tables[0],
        tables[1],
        holdout=tables[2],
        target="income",
        fit="bootstrap",
        measures=["utility.regression"],
        options=quick,
    )
    assert result.provenance["fit"] == "bootstrap"
    assert "fitted anew on 2 splits" in result["utility.regression"].note


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2}, {"findings": None}, {"findings": [3]}, {"findings": [{"value": 1}]},
        {"verdicts": [1]}, {"provenance": []},
        {"findings": [{"measure": "m", "value": "high"}]},
        {"findings": [{"measure": "m", "value": 1, "status": "fine"}]},
        {"findings": [{"measure": "m", "value": 1, "interval": [1]}]},
        {"findings": [{"measure": "m", "value": 1, "parts": [{"name": ["a"], "value": 1}]}]},
        {"findings": [{"measure": "m", "value": 1, "tables": {"t": {"columns": ["a"]}}}]},
    ],
)  # fmt: skip
def test_what_is_no_assessment_is_refused(change):
    whole = {"version": 1, "findings": [], "verdicts": [], "provenance": {}}
    assert len(Assessment.from_dict(whole)) == 0
    with pytest.raises(UnderstudyError, match="assessment") as caught:
        Assessment.from_dict({**whole, **change})
    assert caught.value.hint
