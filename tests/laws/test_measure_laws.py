"""Properties that every measure must have, run over the whole dict of measures."""

import dataclasses
import json

import polars as pl
import pytest

import understudy as us
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures import MEASURES
from understudy.options import declared
from understudy.testing import MeasureLaws, check_measure
from understudy.testing.measures import ROLES, CountedSource
from understudy.workflows.measuring import run_measure

NAMES = list(MEASURES)
FIDELITY = [name for name in NAMES if name.startswith("fidelity.")]
AGAINST_HOLDOUT = "fidelity.detection"  # plays against the holdout, as training itself does


@pytest.fixture(scope="module")
def tables(laws) -> dict[str, pl.DataFrame]:
    return laws.tables


def one(laws: MeasureLaws, name: str, train, synthetic, holdout) -> Finding:
    return laws.assess(train, synthetic, holdout, measures=[name])[name]


@pytest.mark.parametrize(
    "law",
    [*MeasureLaws.LAWS, pytest.param(MeasureLaws.odd_synthetic, marks=pytest.mark.slow)],
    ids=lambda law: law.__name__,
)
@pytest.mark.parametrize("name", NAMES)
def test_laws(name, law, laws):
    if law is MeasureLaws.copies and name == AGAINST_HOLDOUT:
        copy, apart = laws.assessed("copied")[name], laws.assessed("unrelated")[name]
        assert not copy.flagged
        assert copy.value == copy.reference < apart.value
    else:
        law(laws, name)


@pytest.mark.parametrize("name", [n for n in NAMES if MEASURES[n].card.in_memory])
def test_a_card_says_no_more_than_needed_about_memory(name, laws):
    """The law is that measures without need of rows ask for none; here: all others do ask."""
    roles = {**ROLES, "target": "income" if name == "utility.regression" else ROLES["target"]}
    comparison = compare_tables(**laws.tables, options=laws.options, aligned=True, **roles)
    found = run_measure(MEASURES[name], CountedSource.compare(comparison))
    assert found.status == "failed"
    assert "only counts was asked for" in found.note


@pytest.mark.parametrize("name", FIDELITY)
def test_a_copy_of_training_is_at_no_distance(name, laws):
    copy = laws.assessed("copied")[name]
    if copy.better == "lower" and name != AGAINST_HOLDOUT:
        assert copy.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("case", ["plain", "without holdout"])
def test_an_assessment_can_be_read_back(laws, case):
    result = laws.assessed(case)
    again = us.Assessment.from_dict(json.loads(result.to_json()))
    assert again.to_json() == result.to_json()


@pytest.mark.parametrize("name", FIDELITY)
def test_a_broken_column_is_flagged_in_fidelity(name, laws, tables):
    if name == "fidelity.moments":
        broken = tables["synthetic"].with_columns(age=pl.col("age") * 1e6, income=pl.lit(0.5))
    elif name == "fidelity.correlation":  # a town is related to nothing that could break
        broken = tables["synthetic"].with_columns(pl.col("income").shuffle(1))
    elif name == "fidelity.relations":
        broken = tables["synthetic"].with_columns(age=pl.lit(1))
    elif name == "fidelity.missingness":
        broken = tables["synthetic"].with_columns(pl.col("income").fill_null(0))
    else:
        broken = tables["synthetic"].with_columns(town=pl.lit("town 1"))
    assert one(laws, name, tables["train"], broken, tables["holdout"]).flagged


@pytest.mark.parametrize("empty", ["train", "synthetic", "holdout"])
def test_tables_without_rows_are_errors(empty, tables):
    given = {**tables, empty: tables[empty].head(0)}
    with pytest.raises(us.UnderstudyError, match="no rows"):
        compare_tables(given["train"], given["synthetic"], given["holdout"])


@pytest.mark.parametrize("role", ["synthetic", "holdout"])
def test_a_missing_or_additional_column_is_an_error_that_names_it(role, tables):
    for frame, named in (
        (tables[role].drop("town"), "town"),
        (tables[role].with_columns(tonw=pl.lit(1)), "tonw"),
    ):
        with pytest.raises(us.UnderstudyError, match=named) as caught:
            us.assess(**{**tables, role: frame})
        assert caught.value.hint


def test_identifiers_may_be_absent_from_the_synthetic_table(tables):
    made = tables["synthetic"].drop("person_id")
    few = ["fidelity.univariate", "privacy.closest_record"]
    result = us.assess(**{**tables, "synthetic": made}, measures=few)
    assert result.provenance["left_out"][0]["column"] == "person_id"


def test_progress_is_reported(laws, tables):
    said = []
    laws.assess(**tables, progress=lambda *now: said.append(now))
    assert all(label and 0 <= done <= total for label, done, total in said)
    own = {label.split(" (")[0] for label, _, _ in said}
    assert set(NAMES) <= own


REDRAWN = {
    *(name for name in FIDELITY if "resamples" in declared(MEASURES[name])),
    "privacy.closest_record",
    "privacy.neighbour_ratio",
    "privacy.mean_minimal_distance",
    "privacy.too_close",
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_drawn_again_keeps_its_draws(name, laws):
    assert (laws.assessed("plain")[name].draws is not None) or name not in REDRAWN


@us.described(
    us.Card(
        name="acme.rows",
        title="Rows",
        meaning="How many training rows there are.",
        formula="n",
        unit="rows",
        better="higher",
        headline="rows",
        source="none",
        not_shown="Whether they are any good.",
    )
)
def rows(comparison, *, first: int = 0):
    """Find what the first row is: the order of the rows matters."""
    value = comparison.rows("train")["age"].cast(pl.Float64)[first]
    return us.Finding("acme.rows", unit="rows", better="higher", value=value)


def test_the_law_of_fresh_rows_finds_a_measure_that_always_warns():
    """What the law claims of our own measures is shown over more splits, for all at once."""

    def warns(comparison, *, flagged: bool = True):
        return us.Finding("acme.rows", unit="rows", better="higher", value=1.0, flagged=flagged)

    laws = MeasureLaws([us.described(rows.card)(warns)])
    laws.options["acme.rows"] = {"flagged": False}
    laws.fresh_rows("acme.rows")
    laws.options["acme.rows"] = {"flagged": True}
    with pytest.raises(AssertionError, match="flagged in 10 of 10 splits without a leak"):
        laws.fresh_rows("acme.rows")


def test_a_broken_law_is_named():
    with pytest.raises(
        AssertionError, match=r"acme.rows breaks a law: The order of the rows .* Found: the value"
    ):
        check_measure(rows)
    with pytest.raises(us.UnderstudyError, match="has no card"):
        check_measure(lambda comparison: None)


def test_a_value_that_is_no_number_is_told_before_all_else():
    card = dataclasses.replace(MEASURES["fidelity.moments"].card, name="acme.nothing", needs=())

    @us.described(card)
    def nothing(comparison):
        return card.finding(value=float("nan"))

    with pytest.raises(AssertionError, match="value is nan in its finding, not a finite number"):
        check_measure(nothing, thorough=False)
