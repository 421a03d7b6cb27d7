"""Measures by the levels of a column, and what a failed measure may say."""

import numpy as np
import polars as pl
import pytest

from understudy.data.codec import Codec
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Card, described
from understudy.measures import MEASURES
from understudy.options import check_each
from understudy.workflows.assess import assess
from understudy.workflows.measuring import run_measure as run


def check_options(given):
    check_each(given, MEASURES, "measure")


FAST = {"fidelity.total_variation": {"resamples": 5, "pairs": 1}}


def people(rows, seed, spoilt=False):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", "x"], rows, p=[0.5, 0.45, 0.05])
    job = rng.choice(["a", "b"], rows)
    if spoilt:
        job = np.where(sex == "m", "a", job)
    return pl.DataFrame({"sex": sex, "job": job, "age": rng.integers(20, 60, rows)})


def assessed(**more):
    return assess(
        people(1000, 0), people(1000, 1, spoilt=True), holdout=people(1000, 2),
        measures=["fidelity.total_variation"], options=FAST, **more,
    )  # fmt: skip


def test_levels_are_measured_alone_and_small_ones_left_out_unnamed():
    result = assessed(by="sex")
    parts = {p.name: p for p in result["fidelity.total_variation"].parts}
    split = {name for name in parts if name.startswith("sex = ")}
    assert split == {"sex = f", "sex = m", "sex = 1 level not measured alone"}
    women, men = parts["sex = f"], parts["sex = m"]
    assert men.interval[0] > men.reference
    assert women.value < men.value
    assert result.provenance["by"] == ["sex"]
    assert any("1 of 3 levels" in note for note in result.provenance["notes"])


def test_a_level_gets_what_its_rows_alone_get():
    train, synthetic, holdout = people(1000, 0), people(1000, 1, spoilt=True), people(1000, 2)
    men = pl.col("sex") == "m"
    whole = assess(
        train, synthetic, holdout=holdout, by="sex",
        measures=["fidelity.total_variation"], options=FAST,
    )  # fmt: skip
    schema = compare_tables(train, synthetic).schema
    alone = assess(
        train.filter(men), synthetic.filter(men), holdout=holdout.filter(men), schema=schema,
        measures=["fidelity.total_variation"], options=FAST,
    )["fidelity.total_variation"]  # fmt: skip
    part = next(p for p in whole["fidelity.total_variation"].parts if p.name == "sex = m")
    assert (part.value, part.reference, part.interval) == (
        alone.value,
        alone.reference,
        alone.interval,
    )


def test_the_whole_finding_does_not_change():
    plain, split = assessed(), assessed(by="sex")
    name = "fidelity.total_variation"
    assert plain[name].value == split[name].value
    assert "by" not in plain.provenance


@pytest.mark.parametrize(
    ("by", "words"), [("se", "sex"), ("age", "no category"), ("id", "no column")]
)
def test_a_column_that_cannot_split_is_refused(by, words):
    with pytest.raises(OptionError, match=words):
        assessed(by=by)


def test_a_part_with_an_interval_survives_the_contract():
    result = assessed(by="sex")
    again = type(result).from_dict(result.to_dict())
    assert again.to_dict() == result.to_dict()


def test_a_foreign_message_gives_no_value_away():
    card = Card("fidelity.x", "t", "m", "f", "fraction", "lower", "h", "s", "n")

    @described(card)
    def broken(comparison):
        raise ValueError("could not convert 'Ms Unusual' to float, found 1234.5 at 2020-01-02")

    comparison = compare_tables(people(50, 0), people(50, 1))
    note = run(broken, comparison).note
    assert note == "ValueError: could not convert … to float, found … at …"


def test_several_columns_split_one_after_the_other():
    parts = [p.name for p in assessed(by=["sex", "job", "sex"])["fidelity.total_variation"].parts]
    assert [name for name in parts if " = " in name] == [
        "sex = f", "sex = m", "sex = 1 level not measured alone", "job = a", "job = b",
    ]  # fmt: skip


def test_a_level_that_the_synthetic_table_lost_is_no_pass():
    from understudy.workflows.policy import loads

    lost = people(1000, 1).filter(pl.col("sex") != "m")
    result = assess(
        people(1000, 0), lost, measures=["fidelity.total_variation"], options=FAST, by="sex"
    )
    rule = '[[rule]]\nmeasure = "fidelity.total_variation"\nby = "sex"\nupper = 0.9'
    (verdict,) = loads(rule).judge([f.to_dict() for f in result])
    assert verdict.outcome == "INCONCLUSIVE"


@pytest.mark.parametrize("epsilon", ["0.1", -3, float("nan"), True])
def test_an_epsilon_that_is_no_number_is_not_taken(epsilon):
    from understudy.data.tables import Marker

    text = Marker("bayes", 10, epsilon=epsilon).to_json()
    marker = Marker.from_json(text) or Marker("bayes", 10)
    assert marker.epsilon is None
    assert Marker.from_json(Marker("bayes", 10, epsilon=0.5).to_json()).epsilon == 0.5


def test_a_default_of_zero_may_be_written_and_a_negative_number_may_not():
    check_options({"privacy.correct_attribution": {"key_bins": 0, "target_bins": 5}})
    with pytest.raises(OptionError, match="key_bins = -1") as caught:
        check_options({"privacy.correct_attribution": {"key_bins": -1}})
    assert caught.value.hint == "use 0 or more"
    with pytest.raises(OptionError, match="attacks = 0") as caught:
        check_options({"privacy.singling_out": {"attacks": 0}})
    assert caught.value.hint == "use 1 or more"


def test_what_is_shown_may_be_nothing():
    for name in ("bivariate", "trivariate", "correlation"):
        check_options({f"fidelity.{name}": {"pictures": 0}})
        with pytest.raises(OptionError, match="pictures = -1") as caught:
            check_options({f"fidelity.{name}": {"pictures": -1}})
        assert caught.value.hint == "use 0 or more"
        with pytest.raises(OptionError, match="pictures = 'few' is not a whole number"):
            check_options({f"fidelity.{name}": {"pictures": "few"}})
    for name in ("total_variation", "hellinger", "relative_entropy"):
        check_options({f"fidelity.{name}": {"pairs": 0}})


def test_replicates_share_the_codes_of_the_real_tables(monkeypatch):
    fits = []
    fit = Codec.fit.__func__
    monkeypatch.setattr(
        Codec, "fit", classmethod(lambda cls, *a, **k: fits.append(k) or fit(cls, *a, **k))
    )
    made = [people(60, seed) for seed in (3, 4, 5)]
    comparison = compare_tables(people(60, 1), made, people(60, 2))
    each = [comparison.replicate(number) for number in range(3)]
    coded = [one.codes("train", one.codec(bins=5, levels=5)) for one in each]
    assert coded[0] is coded[1] is coded[2]
    pooled = [one.codes("holdout", one.pooled_codec(bins=5)) for one in each]
    assert pooled[0] is pooled[1] is pooled[2]
    assert len(fits) == 2
    assert comparison.once("of this replicate", lambda: "of all") == "of all"
    own = [one.once("of this replicate", lambda one=one: one.synthetic) for one in each]
    assert own == [(source,) for source in comparison.synthetic]


@pytest.mark.parametrize(
    "number",
    [float("nan"), float("inf"), np.float32("nan"), True, "x", np.array([1.0]), 10**400],
    ids=["nan", "infinite", "short nan", "true", "text", "array", "too large"],
)
@pytest.mark.parametrize("where", ["value", "reference", "p_value", "interval"])
def test_a_number_that_is_none_is_a_failed_finding(where, number):
    card = Card("fidelity.odd", "Odd", "m", "f", "fraction", "lower", "h", "s", "n")
    fields = {"value": 0.5, where: (number, number) if where == "interval" else number}
    measure = described(card)(lambda comparison: card.finding(**fields))
    result = assess(people(100, 0), people(100, 1), measures=measure)
    found = result["fidelity.odd"]
    assert found.status == "failed"
    assert found.value is None
    assert type(result).from_dict(result.to_dict())["fidelity.odd"].note == found.note
    assert result.to_json()
    assert repr(found)
    assert result.to_frame().height == 1


@pytest.mark.parametrize("number", [2, np.int64(2), np.float32(2), 2.0, None])
def test_numbers_of_any_width_are_taken(number):
    card = Card("fidelity.odd", "Odd", "m", "f", "fraction", "lower", "h", "s", "n")
    measure = described(card)(lambda comparison: card.finding(value=2.0, reference=number))
    result = assess(people(100, 0), people(100, 1), measures=measure)
    assert result["fidelity.odd"].status == "ok"
    assert result.to_json()
