"""utility.estimates: the analyst's own model on real and on synthetic rows."""

import importlib
import json
import math
import re

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.errors import OptionError
from understudy.judging.comparison import Synthesis, compare_tables
from understudy.judging.findings import Finding, Z
from understudy.measures import MEASURES
from understudy.workflows.measuring import run_measure as run

sm = pytest.importorskip("statsmodels.api")
NAME = "utility.estimates"


def draw(rows: int, seed: int, slope: float = 0.5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x, g = rng.normal(size=rows), rng.random(rows) < 0.4
    y = 1 + slope * x - 0.7 * g + rng.normal(size=rows)
    z = rng.random(rows) < 1 / (1 + np.exp(-0.8 * x - 0.5 * g))
    visits = rng.poisson(np.exp(0.2 + 0.3 * x))
    return pl.DataFrame(
        {
            "x": x,
            "g": np.where(g, "b", "a"),
            "y": y,
            "z": np.where(z, "yes", "no"),
            "visits": visits,
        }
    )


def found(
    train, synthetic, formula="y ~ x + g", holdout=None, made=None, aligned=False, **options
) -> Finding:
    formulas = (formula,) if isinstance(formula, str) else tuple(formula)
    comparison = compare_tables(
        train,
        synthetic,
        holdout,
        formula=formulas,
        synthesis=made,
        aligned=aligned,
        options={NAME: options},
    )
    return run(MEASURES[NAME], comparison)


@pytest.mark.parametrize(
    ("formula", "family", "options"),
    [
        ("y ~ x + g", None, {}),
        ("z ~ x + g", sm.families.Binomial(), {}),
        ("visits ~ x + g", sm.families.Poisson(), {"family": "poisson"}),
    ],
)
def test_estimates_are_those_of_statsmodels(formula, family, options):
    train, synthetic = draw(500, 1), draw(400, 2)
    result = found(train, synthetic, formula, rule="naive", **options)
    for table, who in ((train, "train"), (synthetic, "synthetic")):
        y = table[formula.split(" ~ ")[0]]
        y = (y == "yes").to_numpy().astype(float) if y.dtype == pl.String else y.to_numpy()
        x = np.column_stack([np.ones(len(y)), table["x"], table["g"] == "b"])
        other = (sm.OLS(y, x) if family is None else sm.GLM(y, x, family=family)).fit()
        parts = {p.name: p.more for p in result.parts}
        for i, name in enumerate(["(intercept)", "x", "g[b]"]):
            near = {"rel": 1e-5} if who == "synthetic" else {"abs": 0.06 * other.bse[i]}
            assert parts[name][f"{who}_estimate"] == pytest.approx(other.params[i], **near)
            near = {"rel": 1e-5 if who == "synthetic" else 0.005}
            assert parts[name][f"{who}_error"] == pytest.approx(other.bse[i], **near)


def test_value_by_hand():
    """The overlap of the naive intervals of a mean: y ~ 1."""
    train, synthetic = draw(300, 1), draw(200, 2)
    result = found(train, synthetic, "y ~ 1", rule="naive")
    (part, *_) = result.parts
    more = part.more
    real = (more["train_estimate"], 1.96793 * more["train_error"])  # t with 299
    other = (synthetic["y"].mean(), Z * synthetic["y"].std() / math.sqrt(200))
    low = max(real[0] - real[1], other[0] - other[1])
    high = min(real[0] + real[1], other[0] + other[1])
    expected = (high - low) / 4 * (1 / real[1] + 1 / other[1])
    assert result.value == part.value == pytest.approx(expected, rel=1e-5)
    assert part.more["width_ratio"] == pytest.approx(other[1] / real[1], rel=1e-5)
    apart = (other[0] - real[0]) / more["train_error"]
    assert part.more["standardised_difference"] == pytest.approx(apart, rel=1e-5)
    assert result.reference is None
    assert "holdout" in result.note


def test_a_copy_agrees_and_a_broken_slope_is_flagged():
    train, holdout = draw(2000, 1), draw(2000, 2)
    copy = found(train, train, holdout=holdout, rule="naive")
    assert copy.value > 0.97
    assert not copy.flagged
    broken = found(train, draw(2000, 3, slope=-0.5), holdout=holdout)
    assert broken.flagged
    x = next(p for p in broken.parts if p.name == "x")
    assert x.value == 0
    assert x.reference > 0.3
    shares = {p.name: p.value for p in broken.parts}
    assert shares["(same sign)"] == pytest.approx(2 / 3)
    assert shares["(same significance)"] == 1
    row = next(r for r in broken.tables["estimates"].rows if r[1] == "x")
    assert row[-2:] == ("no", "yes")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "fresh", "m"), [(400, 400, 1), (200, 800, 1), (800, 200, 1), (200, 400, 2)]
)
def test_the_reference_is_what_fresh_rows_get_whatever_the_sizes(rows, fresh, m):
    """Mean of value and of reference over draws in which the release is fresh rows."""
    times = 200
    values, references = [], []
    for seed in range(times):
        first = 1000 + 10 * seed
        tables = [draw(rows, first + 2 + i) for i in range(m)]
        one = found(
            draw(400, first), tables, holdout=draw(fresh, first + 1), rule="simple", resamples=2
        )
        values.append(one.value)
        references.append(one.reference)
    error = np.std(np.subtract(values, references), ddof=1) / math.sqrt(times)
    assert error < 0.015
    assert abs(np.mean(values) - np.mean(references)) < 3.3 * error


MADE = {
    "simple": Synthesis("sequential", models=("linear",)),
    "proper": Synthesis("sequential", proper=True, models=("linear",)),
    "partially": Synthesis("sequential", partial=True, models=("linear",)),
}


@pytest.mark.parametrize("rule", MADE)
def test_the_rule_follows_from_how_the_release_was_made(rule):
    train, tables = draw(200, 1), [draw(200, 2), draw(200, 3)]
    result = found(train, tables, made=MADE[rule])
    assert f"Rule {rule}:" in result.note
    assert "Warning" not in result.note
    assert result == found(train, tables, made=MADE[rule])
    errors = [p.more.get("synthetic_error") for p in result.parts]
    assert errors == [p.more.get("synthetic_error") for p in found(train, tables, rule=rule).parts]


def test_one_partially_synthetic_table_is_read_by_the_simple_rule():
    result = found(draw(200, 1), draw(200, 2), made=MADE["partially"])
    assert "Rule simple:" in result.note
    assert "upper bound" in result.note
    train = draw(200, 1)
    marked = found(train, [train, train], aligned=True)
    assert "Rule partially:" in marked.note


def test_one_partially_synthetic_table_of_a_drawn_model_is_read_by_the_proper_rule():
    """The simple rule covers too seldom there: see benchmarks/intervals.py."""
    made = Synthesis("sequential", partial=True, proper=True, models=("linear",))
    train, synthetic = draw(200, 1), draw(200, 2)
    assert "Rule proper:" in found(train, synthetic, made=made).note
    assert "Rule partially:" in found(train, [synthetic, synthetic], made=made).note


def test_nothing_said_is_assumed_and_said():
    result = found(draw(200, 1), draw(200, 2))
    assert "Rule simple:" in result.note
    assert "assumed" in result.note
    assert "Warning:" in result.note


@pytest.mark.parametrize(
    "made",
    [
        Synthesis("forest"),
        Synthesis("cart", models=("cart",)),
        Synthesis("sequential", models=("linear", "random_forest")),
        Synthesis("independent"),
        Synthesis("copula"),
        Synthesis("sequential"),
    ],
)
def test_generators_for_which_the_rules_fail_or_are_untried_carry_a_warning(made):
    note = found(draw(200, 1), draw(200, 2), made=made).note
    assert "Warning:" in note
    untried = made in (Synthesis("copula"), Synthesis("sequential"))
    assert untried == ("has not been measured" in note)
    assert untried != ("covered a coefficient" in note)


def test_a_negative_variance_is_replaced_and_said():
    same = draw(200, 2)
    result = found(draw(200, 1), [same, same], rule="fully")
    assert "T_f was not above zero for 3 of 3" in result.note
    naive = found(draw(200, 1), [same, same], rule="naive")
    assert [p.value for p in result.parts] == [p.value for p in naive.parts]


def test_the_printed_freedom_widens_intervals():
    train, tables = draw(200, 1), [draw(200, 2), draw(200, 3)]
    reiter = found(train, tables, rule="partially").parts[1].more["width_ratio"]
    printed = found(train, tables, rule="partially", printed=True).parts[1].more["width_ratio"]
    assert printed > reiter
    ignored = "printed changes the rule partially only"
    assert ignored in found(train, tables, rule="simple", printed=True).note
    assert ignored in found(train, tables, printed=True).note
    assert ignored not in found(train, tables, rule="partially", printed=True).note


def test_less_than_one_degree_of_freedom_is_said():
    """T_f is a little above zero: two tables whose intercepts lie 1.5 standard errors apart."""
    first = draw(200, 2)
    error = first["y"].std() / math.sqrt(200)
    tables = [first, first.with_columns(pl.col("y") + 1.5 * error)]
    result = found(draw(200, 1), tables, "y ~ 1", rule="fully")
    assert "less than one degree of freedom for 1 of 1" in result.note
    assert result.parts[0].more["width_ratio"] > 50
    tables = [first, first.with_columns(pl.col("y") + 15 * error)]
    assert "freedom" not in found(draw(200, 1), tables, "y ~ 1", rule="naive").note


def test_rules_for_several_tables_need_them():
    result = found(draw(200, 1), draw(200, 2), rule="fully")
    assert result.status == "not_applicable"
    assert "two synthetic tables" in result.note


def test_several_formulas_are_averaged():
    train, synthetic, holdout = (draw(300, seed) for seed in (1, 2, 3))
    one = found(train, synthetic, "y ~ x", holdout)
    two = found(train, synthetic, "z ~ x + g", holdout)
    both = found(train, synthetic, ["y ~ x", "z ~ x + g"], holdout)
    assert both.value == pytest.approx((one.value + two.value) / 2)
    assert both.reference == pytest.approx((one.reference + two.reference) / 2)
    assert len(both.parts) == len(one.parts) + len(two.parts)
    assert len(both.tables["estimates"].rows) == 5
    assert both.parts[0].name.startswith("y ~ x · ")


BAD = {
    "unknown family": ({"family": "probit"}, "family"),
    "unknown rule": ({"rule": "rubin"}, "rule"),
    "printed is no truth value": ({"printed": "yes"}, "printed"),
    "too few redraws": ({"resamples": 1}, "resamples"),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_options_are_errors(bad):
    options, word = BAD[bad]
    with pytest.raises(OptionError, match=word):
        found(draw(100, 1), draw(100, 2), **options)


@pytest.mark.parametrize("formula", ["y ~ w", "w ~ x", "y ~ x +"])
def test_a_bad_formula_is_an_error_before_any_work(formula):
    with pytest.raises(OptionError, match="formula"):
        us.assess(draw(100, 1), draw(100, 2), formula=formula)


NOT_POSSIBLE = {
    "response missing in training": ("train", {"y": None}, "y ~ x", "missing from every"),
    "response missing in synthetic": ("synthetic", {"y": None}, "y ~ x", "no row in which"),
    "one class": ("train", {"z": "yes"}, "z ~ x", "one class only"),
    "one class in synthetic": ("synthetic", {"z": "yes"}, "z ~ x", "one class only in the synth"),
    "constant response": ("synthetic", {"y": 1.0}, "y ~ x", "one value only in the synthetic"),
    "negative counts": ("synthetic", {"visits": -1}, "visits ~ x", "negative|one value"),
    "all levels strange": ("synthetic", {"g": "zz"}, "y ~ g", "no row in which"),
}


@pytest.mark.parametrize("case", NOT_POSSIBLE)
def test_what_cannot_be_fitted_is_said(case):
    which, change, formula, words = NOT_POSSIBLE[case]
    tables = {"train": draw(200, 1), "synthetic": draw(200, 2)}
    tables[which] = tables[which].with_columns(
        pl.lit(value, tables[which][name].dtype).alias(name) for name, value in change.items()
    )
    family = "poisson" if formula.startswith("visits") else "auto"
    result = found(tables["train"], tables["synthetic"], formula, family=family)
    assert result.status == "not_applicable"
    assert formula in result.note
    assert re.search(words, result.note), result.note


def test_negative_counts_are_said():
    bad = draw(200, 1).with_columns(visits=pl.col("visits") - 3)
    result = found(bad, draw(200, 2), "visits ~ x", family="poisson")
    assert "negative" in result.note


def test_separated_classes_are_said():
    train = draw(300, 1).with_columns(
        z=pl.when(pl.col("x") > 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
    )
    result = found(train, draw(300, 2), "z ~ x")
    assert result.status == "not_applicable"
    assert "separate" in result.note
    result = found(draw(300, 2), train, "z ~ x")
    assert "the synthetic table" in result.note


def test_a_level_that_decides_the_class_is_left_out():
    train = draw(400, 1).with_columns(
        z=pl.when(pl.col("g") == "b").then(pl.lit("yes")).otherwise("z")
    )
    result = found(train, draw(400, 2), "z ~ x + g")
    assert [p.name for p in result.parts[:2]] == ["(intercept)", "x"]
    assert "g[b]" in result.note


def test_redundant_terms_are_left_out_and_named():
    def doubled(seed: int) -> pl.DataFrame:
        return draw(200, seed).with_columns(twice=2 * pl.col("x"), same=pl.col("g"))

    result = found(doubled(1), doubled(2), "y ~ x + twice + g + same")
    assert [p.name for p in result.parts[:3]] == ["(intercept)", "x", "g[b]"]
    assert "twice, same[b]" in result.note


def test_a_column_of_few_persons_that_cannot_be_told_is_withheld_and_not_named():
    """Of those with h = c, three are of g = b, and all of them say yes: g[b]:h[c] is infinite."""

    def marked(seed: int, few: int) -> pl.DataFrame:
        row, of_b = pl.int_range(pl.len()), pl.col("g") == "b"
        picked = pl.when(of_b).then(row < few).otherwise(row < 150)
        made = draw(400, seed).sort("g", descending=True)
        made = made.with_columns(h=pl.when(picked).then(pl.lit("c")).otherwise(pl.lit("d")))
        a = (pl.col("g") == "a") & (row > 300)
        made = made.with_columns(h=pl.when(a).then(pl.lit("c")).otherwise("h"))
        both = (pl.col("g") == "b") & (pl.col("h") == "c")
        return made.with_columns(z=pl.when(both).then(pl.lit("yes")).otherwise("z"))

    for few, named in ((3, False), (30, True)):
        result = found(marked(1, few), marked(2, 30), "z ~ x + g*h", resamples=2)
        shared = json.dumps(result.to_dict())
        assert ("g[b]:h[c]" in shared) == named
        assert ("1 of 5 coefficients are withheld" in result.note) != named


def test_rows_with_levels_that_training_lacks_are_counted_and_have_no_overlap():
    train, holdout = draw(400, 1), draw(400, 3)
    strange = pl.when(pl.int_range(pl.len()) < 300).then(pl.lit("garbage")).otherwise("g")
    result = found(train, draw(400, 2).with_columns(g=strange), holdout=holdout)
    part = next(p for p in result.parts if p.name == "g[b]")
    assert (part.value, part.more["synthetic_estimate"]) == (0, None)
    assert "synthetic: 300 of 400 rows (75 %) have a level of g that training lacks" in result.note
    assert "lack a value" not in result.note
    assert next(p for p in result.parts if p.name == "x").value > 0
    few = pl.when(pl.int_range(pl.len()) < 8).then(pl.lit("garbage")).otherwise("g")
    result = found(train, draw(400, 2).with_columns(g=few), holdout=holdout)
    assert "8 of 400 rows (2 %) have a level of g that training lacks" in result.note
    assert next(p for p in result.parts if p.name == "g[b]").value > 0
    answers = pl.when(pl.int_range(pl.len()) < 100).then(pl.lit("perhaps")).otherwise("z")
    result = found(train, draw(400, 2).with_columns(z=answers), "z ~ x", holdout=holdout)
    assert result.value == 0
    assert result.flagged


def test_a_predictor_with_a_large_mean_is_told():
    """Its deviation is small beside its mean, but it is not constant."""

    def moved(seed: int) -> pl.DataFrame:
        return draw(300, seed).with_columns(pl.col("x") + 2e7)

    result = found(moved(1), moved(2), "y ~ x", rule="naive")
    part = next(p for p in result.parts if p.name == "x")
    plain = next(p for p in found(draw(300, 1), draw(300, 2), "y ~ x", rule="naive").parts
                 if p.name == "x")  # fmt: skip
    assert part.more["synthetic_estimate"] == pytest.approx(
        plain.more["synthetic_estimate"], rel=1e-4
    )
    assert part.value == pytest.approx(plain.value, abs=1e-3)
    same = found(
        *(draw(300, s).with_columns(one=pl.lit(0.1)) for s in (1, 2)), "y ~ x + number(one)"
    )
    assert "number(one)" not in [p.name for p in same.parts]


def test_a_coefficient_that_synthetic_rows_cannot_tell_has_no_overlap():
    train, holdout = draw(300, 1), draw(300, 3)
    result = found(train, draw(300, 2).with_columns(g=pl.lit("a")), holdout=holdout)
    part = next(p for p in result.parts if p.name == "g[b]")
    assert (part.value, part.more["synthetic_estimate"]) == (0, None)
    assert part.reference is not None
    assert "cannot tell" in result.note
    again = found(train, draw(300, 2), holdout=draw(300, 3).with_columns(g=pl.lit("a")))
    assert "The reference is of 2" in again.note
    assert next(p for p in again.parts if p.name == "g[b]").reference is None


def test_a_holdout_that_cannot_be_fitted_gives_no_reference():
    holdout = draw(300, 3).with_columns(y=pl.lit(2.0))
    result = found(draw(300, 1), draw(300, 2), holdout=holdout)
    assert result.reference is None
    assert "one value only in the holdout" in result.note


def test_too_few_rows_for_the_coefficients():
    result = found(draw(25, 1), draw(200, 2), "y ~ x + g")
    assert result.status == "not_applicable"
    assert "10 for each" in result.note
    assert found(draw(200, 1), draw(2, 2), "y ~ x").status == "not_applicable"


def test_an_outlier_is_not_given_away():
    """With a response or a predictor far out, the coefficients or their errors would tell it."""
    far = 71_987_654.0
    for column, formula in (("y", "y ~ x + g"), ("y", "y ~ 1"), ("y", "y ~ g - 1"), ("x", "y ~ x")):
        train = draw(300, 1).with_columns(
            pl.when(pl.int_range(pl.len()) == 0).then(far).otherwise(column).alias(column)
        )
        result = found(train, draw(300, 2), formula, holdout=draw(300, 3))
        shared = result.to_dict()
        assert result.status == "not_applicable" or "withheld" in result.note
        assert column not in [p.name for p in result.parts]
        # the outlier itself, its share of a mean, its leverage: nothing of that size is shared
        assert [n for n in _numbers(shared) if abs(n) > far / 300 / 10] == []
        if column == "y":
            assert result.status == "not_applicable"


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [x for one in value for x in _numbers(one)]
    return [value] if isinstance(value, float) else []


def test_a_level_of_eight_persons_is_withheld():
    train = draw(300, 1).with_columns(
        g=pl.when(pl.int_range(pl.len()) < 8).then(pl.lit("seldom")).otherwise("g")
    )
    result = found(train, train)
    assert {p.name for p in result.parts} == {
        "(intercept)", "x", "g[b]", "(same sign)", "(same significance)"
    }  # fmt: skip
    assert "1 of 4 coefficients are withheld" in result.note


def test_real_estimates_are_rounded_to_what_one_row_could_move():
    train = draw(400, 1)
    result = found(train, draw(400, 2), "y ~ 1")
    more = result.parts[0].more
    exact, error = train["y"].mean(), train["y"].std() / 20
    assert more["train_estimate"] != exact
    assert abs(more["train_estimate"] - exact) <= 1.25 * error / 20
    assert len(f"{more['train_estimate']:.10g}") < 8


def test_without_statsmodels_it_says_what_to_install(monkeypatch):
    def absent(module: str):
        if module.startswith("statsmodels"):
            raise ModuleNotFoundError("No module named 'statsmodels'", name="statsmodels")
        return importlib.__import__(module)

    monkeypatch.setattr(importlib, "import_module", absent)
    result = found(draw(100, 1), draw(100, 2))
    assert result.status == "failed"
    assert "pip install 'understudy[stats]'" in result.note


def test_no_formula_is_not_applicable_and_says_how():
    result = us.assess(draw(100, 1), draw(100, 2), measures=[NAME])[NAME]
    assert result.status == "not_applicable"
    assert "--formula" in result.note
    assert NAME not in [f.measure for f in us.assess(draw(100, 1), draw(100, 2))]


def test_levels_of_a_column_alone():
    train, synthetic = draw(600, 1), draw(600, 2)
    result = us.assess(train, synthetic, formula="y ~ x", measures=[NAME], by="g")[NAME]
    assert {"g = a", "g = b"} <= {p.name for p in result.parts}
