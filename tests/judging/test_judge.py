"""Several looks: exact on hand-worked cases, calibrated over all looks together."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.judging.judge import WITHOUT_HOLDOUT, Scores, judge, judge_draws


def comparison(train=50, holdout=50, seed=0):
    def frame(rows):
        return pl.DataFrame({"a": [str(i % 7) for i in range(rows)]})

    return compare_tables(frame(train), frame(20), frame(holdout), seed=seed)


def looks(scores, names=None, **more):
    table = comparison(more.pop("train", 50), more.pop("holdout", 50), more.pop("seed", 0))
    names = names or [f"look {i}" for i in range(scores.shape[1])]
    given = Scores(names, scores, table.height("train"), [{}] * len(names), more.pop("leak", 1))
    return judge(table, given, name="test", **more)


def test_means_leave_out_who_is_no_target():
    scores = np.zeros((100, 2))
    scores[:10, 0] = 1
    scores[:25, 1] = np.nan
    scores[25:30, 1] = 1
    scores[90:, 1] = np.nan
    found = looks(scores)
    assert found.value == pytest.approx([0.2, 0.2])
    assert found.reference == pytest.approx([0.0, 0.0])
    assert found.names == ("look 0", "look 1")


def test_one_look_at_hits_is_fishers_exact_test():
    scores = np.zeros((100, 1))
    scores[:9], scores[50:53] = 1, 1
    found = looks(scores, permutations=20_000)
    exact = fisher_exact([[9, 41], [3, 47]], alternative="greater").pvalue
    assert found.p_value[0] == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(("leak", "small"), [(1, True), (-1, False)])
def test_the_side_of_a_leak_is_given(leak, small):
    scores = np.zeros((100, 1))
    scores[:20] = 1
    assert (looks(scores, leak=leak).p_value[0] < 0.01) == small


def test_scores_that_are_all_equal_tell_nothing():
    found = looks(np.ones((100, 3)))
    assert found.p_value == pytest.approx(1.0)
    assert found.interval[0] == (1.0, 1.0)


def test_the_worst_look_is_shown_and_all_are_counted():
    rng = np.random.default_rng(0)
    scores = rng.random((100, 5))
    scores[:50, 3] += 1
    found = looks(scores, bounds=(-9, 9))
    assert found.headline == 3
    assert "5 looks" in found.note
    assert "look 3" in found.note
    low, high = found.interval[3]
    assert low < found.value[3] < high
    assert low > found.reference[3]


def test_a_group_and_a_wrong_number_of_swaps_are_looked_at():
    with pytest.raises(OptionError, match="permutations"):
        looks(np.zeros((100, 1)), permutations=1)
    with pytest.raises(ValueError, match="one row"):
        looks(np.zeros((99, 1)))


@pytest.mark.slow
def test_false_alarms_over_twenty_looks_stay_at_the_level():
    rng = np.random.default_rng(1)
    alarms = covered = 0
    for run in range(200):
        shared = rng.normal(size=(60, 1))
        scores = shared + rng.normal(size=(60, 20))
        found = looks(scores, train=30, holdout=30, seed=run, permutations=199)
        alarms += found.p_value.min() < 0.05
        # the true difference is 0: all twenty intervals hold it, or the run counts as a miss
        inside = np.abs(found.value - found.reference) <= found.reach * found.spread
        covered += inside.all()
    assert alarms <= 20
    assert covered >= 180


def test_equal_scores_swap_alike_for_unequal_sizes():
    scores = np.zeros((90, 1))
    scores[:6], scores[60:63] = 1, 1
    found = looks(scores, train=60, holdout=30, permutations=2000)
    assert (found.value[0], found.reference[0]) == (0.1, 0.1)
    assert found.p_value[0] > 0.4


@pytest.mark.parametrize(("rows", "train"), [(5, 2), (4, 4), (3, 0), (1, 1)])
def test_every_choice_of_labels_is_as_likely_as_any_other(rows, train):
    from collections import Counter
    from math import comb

    from scipy.stats import chisquare

    from understudy.judging.swaps import random_labels

    rng = np.random.default_rng(2)
    drawn = [random_labels(rng, rows, train) for _ in range(5000)]
    assert all(labels.sum() == train for labels in drawn)
    counts = Counter(labels.tobytes() for labels in drawn)
    assert len(counts) == comb(rows, train)
    assert len(counts) == 1 or chisquare(list(counts.values())).pvalue > 0.001


@pytest.mark.parametrize(("leak", "worst"), [(1, 0), (-1, 1)])
def test_of_looks_with_equal_evidence_the_one_on_the_side_of_a_leak_is_worst(leak, worst):
    value, reference = np.array([0.5, 0.1]), np.array([0.4, 0.4])
    draws = np.tile(value - reference, (9, 1))
    found = judge_draws(["up", "down"], value, reference, draws, leak=leak)
    assert found.p_value.tolist() == [1, 1]
    assert found.headline == worst


def test_intervals_are_plain_numbers():
    found = looks(np.random.default_rng(0).random((100, 2)))
    assert [type(end) for end in found.interval[0]] == [float, float]
    found = looks(np.random.default_rng(0).random((100, 2)), bounds=(1, 0))
    assert [type(end) for end in found.interval[0]] == [float, float]


def test_being_beyond_swaps_that_are_all_alike_is_evidence():
    found = judge_draws(["x"], np.array([1.0]), np.array([0.5]), np.zeros((99, 1)))
    assert found.p_value[0] == 0.01


def test_without_a_holdout_the_farthest_look_is_shown_and_nothing_is_tested():
    values = np.column_stack([np.full(50, 0.4), np.full(50, 0.7), np.full(50, np.nan)])
    values[:10, 2] = 0.5
    beside = [{"naive": 0.0}, {"naive": 0.6}, {"naive": 0.2}]
    given = Scores(["a", "b", "c"], values, 50, beside)
    table = comparison()
    plain = judge(table, given, name="test")
    assert (plain.names[plain.headline], plain.p_value, plain.reference) == ("b", None, None)
    assert plain.interval == (None, None, None)
    assert "3 looks were taken, each by itself" in plain.note
    assert WITHOUT_HOLDOUT in plain.note
    beyond = judge(table, given, name="test", beyond_naive=True)
    assert beyond.names[beyond.headline] == "a"


def test_looks_on_fewer_than_five_persons_of_a_side_are_left_out():
    values = np.zeros((100, 3))
    values[4:50, 0] = np.nan
    values[:46, 1] = np.nan
    values[54:, 1] = np.nan
    kept, few = Scores(["a", "b", "c"], values, 50, [{}] * 3).large_enough()
    assert (list(kept.names), few) == (["c"], 2)
    assert Scores(["a"], values[:, :1], 50, [{}]).large_enough() == (None, 1)
