"""Predicates made from the synthetic table: by hand, calibrated, and with planted copies."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom, hypergeom

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.judging.rates import alone, hypergeometric
from understudy.measures.privacy.singling_out import chances, singling_out


def play(train, synthetic, holdout=None, **options):
    return singling_out(compare_tables(train, synthetic, holdout), **options)


def parts(finding):
    return {part.name: part for part in finding.parts}


def column(*values):
    return pl.DataFrame({"age": values})


def test_univariate_predicates_by_hand():
    synthetic = column(10, 20, 20, 30, 50, 40, 40).with_columns(town=pl.lit("Ely"))
    train = column(5, 30, 30, 60, 70, 20, 20).with_columns(town=pl.lit("Ely"))
    holdout = column(1, 2, 30, 50, 20, 20, 20).with_columns(town=pl.lit("Ely"))
    found = play(train, synthetic, holdout, permutations=9)
    rows = {row[1]: row for row in found.tables["arms"].rows}
    # distinct records: = 10, = 20, = 30, = 40, = 50, ≤ 10 and ≥ 50 hold for one each
    assert rows["main"][3] == 7
    assert rows["main"][2] == 1  # ≤ 10 holds for 5 alone
    assert rows["control"][2] == 3  # = 30, = 50 and ≥ 50
    assert found.register["training_row"].to_list() == [0]
    assert "7 predicates" in found.note


def test_a_copy_of_training_singles_out_by_construction():
    train = people(300, 1)
    found = play(train, train, people(300, 2), permutations=199)
    assert found.flagged
    assert parts(found)["univariate"].value == 1
    assert parts(found)["multivariate"].value == 1
    assert found.baselines["original"] == 1


def test_planted_copies_are_found_and_listed():
    train = people(800, 1)
    synthetic = people(800, 2).vstack(train.head(100))
    found = play(train, synthetic, people(800, 3), permutations=499)
    assert found.flagged
    listed = found.register.filter(pl.col("attack") == "univariate")["training_row"]
    # their incomes are their own; by chance one of eight is a planted person
    assert (listed < 100).mean() > 0.4


@pytest.mark.slow
def test_no_more_alarms_than_chance_at_unequal_sizes():
    alarms, apart = 0, []
    for seed in range(40):
        train, holdout, made = (
            people(n, 2000 + 3 * seed + i) for i, n in enumerate((300, 100, 200))
        )
        found = play(train, made, holdout, attacks=300, permutations=199)
        alarms += found.flagged
        many = parts(found)["multivariate"]
        apart.append(many.value - many.reference)
    assert alarms <= binom.ppf(0.995, 40, 0.05)
    # more persons in training do not make the main arm win
    assert abs(np.mean(apart)) < 3 * np.std(apart, ddof=1) / np.sqrt(len(apart))


def test_the_chance_of_being_the_only_one_is_hypergeometric():
    many = np.arange(9)
    expected = [hypergeom.pmf(1, 30, m, 10) for m in many]
    assert alone(8, 10, 30) == pytest.approx(expected)
    assert hypergeometric(many, 30, np.full(9, 8), 10) == pytest.approx(
        hypergeom.pmf(many, 30, 8, 10)
    )
    # of one match among two equal halves, half are training; of two, half are one each
    assert chances(np.array([0, 1, 2]), 10, 10, alone(8, 10, 10)) == pytest.approx(
        [0, 1 / 2, 10 / 19]
    )


def test_the_baseline_has_the_weights_of_the_predicates():
    found = play(people(300, 1), people(300, 2), people(300, 3), permutations=499)
    for kind in ("univariate", "multivariate"):
        part = parts(found)[kind]
        middle = (part.value + part.reference) / 2
        assert part.more["naive"] == pytest.approx(middle, abs=0.03)


def test_fewer_predicates_than_wanted_are_said_and_rates_are_of_those():
    some = [people(60, i).select("sex", "age", "smoker") for i in (1, 2, 3)]
    found = play(*some, attacks=2000, permutations=99)
    assert "of 2,000 wanted" in found.note
    assert "all records and sets of columns were tried" in found.note
    assert all(row[3] is None or row[3] < 2000 for row in found.tables["arms"].rows)


def test_same_seed_same_predicates_whatever_the_order():
    tables = [people(200, i) for i in (1, 2, 3)]
    shuffled = [t.sample(fraction=1, shuffle=True, seed=4) for t in tables]
    a, b = (play(*some, attacks=100, permutations=99) for some in (tables, shuffled))
    assert (a.value, a.reference, a.baselines) == (b.value, b.reference, b.baselines)


def test_without_a_holdout_there_is_no_reference_and_no_interval():
    found = play(people(200, 1), people(200, 2))
    assert (found.reference, found.interval, found.p_value) == (None, None, None)
    assert "holdout" in found.note
    assert found.baselines["naive"] == pytest.approx(0.37, abs=0.005)


def test_a_table_that_singles_out_nobody():
    alike = column(3, 3, 3)
    assert play(people(50, 1).select("age"), alike).status == "not_applicable"
    real = column(*(i / 2 for i in range(100)))
    elsewhere = column(*(500 + i / 2 for i in range(100)))
    nothing = play(real, elsewhere, real.with_columns(pl.col("age") + 0.25), permutations=99)
    assert nothing.value <= nothing.baselines["naive"]
    assert "Attack too weak: no evidence" in nothing.note


def test_missing_values_and_words_can_be_what_is_special():
    rows = [str(i % 5) for i in range(60)]
    real = pl.DataFrame({"code": [*rows, None, "refused"], "sex": ["f", "m"] * 31})
    found = play(real, real, permutations=9)
    assert set(found.register["training_row"]) >= {60, 61}


def test_strata_and_groups_are_respected():
    tables = [people(200, i) for i in (1, 2, 3)]
    for option in ({"strata": "sex"}, {"group": "person_id"}):
        found = play(*tables, attacks=200, permutations=99, **option)
        assert 0 < found.p_value <= 1


def test_bad_options_and_too_few_persons():
    real, release = people(50, 1), people(50, 2)
    for option in ("attacks", "columns"):
        with pytest.raises(OptionError, match=f"{option} = 0") as caught:
            play(real, release, **{option: 0})
        assert caught.value.hint
    few = play(real, release, people(4, 3))
    assert few.status == "not_applicable"
    assert "Fewer than 5 training or holdout persons" in few.note
