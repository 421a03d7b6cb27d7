"""Membership against a table: areas by hand, the null, copies, and what is said and listed."""

import itertools

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.errors import OptionError
from understudy.judging import rates
from understudy.judging.comparison import compare_tables
from understudy.kernels.roc import linear_areas
from understudy.measures.privacy.membership import (
    Discriminant,
    caught_between,
    first_part,
    log_density,
    membership,
    sides,
)


def part(finding, name):
    return next(p for p in finding.parts if p.name == name)


def slow_area(scores, positive):
    pairs = list(itertools.product(scores[positive], scores[~positive]))
    return sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)


def test_areas_agree_with_all_pairs():
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 9, 60).astype(float)
    labels = rng.random((5, 60)) < 0.4
    found = rates.areas(scores[:, None], labels)[:, 0]
    slow = [slow_area(scores, label) for label in labels]
    np.testing.assert_allclose(found, slow)
    np.testing.assert_allclose([rates.area_contributions(scores, row)[0] for row in labels], slow)
    asked = rng.random(labels.shape) < 0.7
    some = [slow_area(scores[a], label[a]) for a, label in zip(asked, labels, strict=True)]
    np.testing.assert_allclose(rates.areas(scores[:, None], labels & asked, asked)[:, 0], some)
    weights = np.array([[2.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    features = np.column_stack([scores, rng.random(60)])
    won, pairs = linear_areas(features, weights, labels)
    signs = np.sign(weights[:, 0])
    expected = [slow_area(sign * scores, label) for sign, label in zip(signs, labels, strict=True)]
    np.testing.assert_allclose(won / pairs, expected)


def test_a_side_without_anyone_is_a_coin():
    assert rates.areas(np.array([[1.0], [2.0]]), np.array([[True, True]]))[0, 0] == 0.5
    won, pairs = linear_areas(np.empty((0, 2)), np.ones((1, 2)), np.empty((1, 0), bool))
    assert (won[0], pairs[0]) == (0, 0)


def test_clopper_pearson_as_published():
    # Clopper and Pearson 1934: 3 of 10 at 95 %; 0 of 10 by (α/2)^(1/n)
    low, high = rates.clopper_pearson(3, 10)
    assert (round(float(low), 3), round(float(high), 3)) == (0.067, 0.652)
    low, high = rates.clopper_pearson(0, 10)
    assert low == 0
    assert float(high) == pytest.approx(1 - 0.025**0.1)
    assert float(rates.clopper_pearson(10, 10)[0]) == pytest.approx(0.025**0.1)


def test_at_most_the_stated_share_of_negatives_is_above_the_threshold():
    rng = np.random.default_rng(2)
    for _ in range(50):
        scores = rng.integers(0, rng.integers(2, 50), rng.integers(5, 80)).astype(float)
        rate = rng.choice([0.01, 0.1, 0.3])
        limit = rates.threshold(scores, rate)
        assert (scores > limit).mean() <= rate + 1e-9
        assert (scores >= limit).mean() > rate  # no smaller threshold would do


@pytest.mark.parametrize(("rate", "shift"), [(0.01, 0.0), (0.1, 0.0), (0.1, 1.0)])
def test_the_interval_allows_for_a_threshold_that_is_estimated(rate, shift):
    """1,000 runs, wrong in 1.25 % at most: with a threshold taken as known it was 12 to 22 %."""
    from scipy.stats import binom, norm

    truth = norm.sf(norm.isf(rate) - shift)
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(1000):
        low, high = caught_between(rng.normal(shift, 1, 500), rng.normal(size=500), rate, 0.0125)
        wrong += not low <= truth <= high
    assert wrong <= binom.ppf(0.9975, 1000, 0.0125)


def test_the_interval_of_a_rate_by_hand():
    # 10 others, rate ½: 2 to 8 of them lie above the true threshold with a chance of 1 - 2 · 0.011
    others, members = np.arange(10.0), np.array([0.5, 5.5, 8.5, 8.6])
    found = caught_between(members, others, 0.5, 0.1)
    # the second largest is 8, the ninth 1: 2 of 4 and 3 of 4 members are above
    assert found[0] == pytest.approx(rates.clopper_pearson(2, 4, 0.05)[0])
    assert found[1] == pytest.approx(rates.clopper_pearson(3, 4, 0.05)[1])
    # where the threshold may lie beyond all others, nothing is known on that side
    assert caught_between(members, others[:1], 0.5, 0.1) == (0, 1)


def test_the_measure_gives_this_interval():
    tables = [fresh(120, seed) for seed in (11, 12, 13)]
    found = membership(compare_tables(*tables), permutations=9, iterations=5, curve=False)
    tenth = part(found, "density ratio: true positives at 10 % false positives")
    plain = rates.clopper_pearson(round(tenth.value * 120), 120, 0.05 / 4)
    assert tenth.interval[0] < plain[0]
    assert tenth.interval[1] > plain[1]


def test_density_by_hand():
    # records at 0 (twice) and 1 of 4 rows, bandwidth 1: (2 + e⁻¹) / 4
    made = log_density(np.array([[0.0, 1.0]]), np.array([[2.0, 1.0]]), 4, 1.0)
    assert made[0] == pytest.approx(np.log((2 + np.exp(-1)) / 4))
    far = log_density(np.array([[900.0, 901.0]]), np.array([[1.0, 1.0]]), 1, 1.0)
    assert far[0] == pytest.approx(-900 + np.log1p(np.exp(-1)))


def test_groups_are_not_cut_apart():
    units = np.repeat(np.arange(40), 5)
    chosen = first_part(units, 0.5, np.random.default_rng(3))
    assert set(chosen.reshape(40, 5).sum(axis=1)) == {0, 5}
    assert chosen.mean() == pytest.approx(0.5, abs=0.05)


def test_reference_and_non_members_share_no_row():
    tables = [people(200, seed) for seed in (1, 2, 3)]
    made = sides(compare_tables(*tables), 0.4, None)
    assert (len(made.reference), int((~made.is_member).sum())) == (80, 120)
    assert sorted(made.rows[made.is_member]) == list(range(200))
    assert made.rows[~made.is_member].min() >= 200
    assert len(set(made.rows)) == 320


def test_the_combination_never_learns_from_whom_it_judges():
    """With useless scores it is a coin, although within its own half it would look good."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(200):
        labels = rng.permutation(np.arange(60) < 30)[None]
        made = Discriminant(rng.normal(size=(60, 6)), np.arange(60) % 2 == 0)
        comparison = type("Silent", (), {"progress": staticmethod(lambda *_: None)})
        found.append(made.areas(labels, comparison)[0])
    assert np.mean(found) == pytest.approx(0.5, abs=4 * np.std(found) / np.sqrt(200))


def fresh(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=rows), rng.normal(size=rows)
    names = rng.choice(["a", "b", "c"], rows)
    return pl.DataFrame({"x": x, "y": x + y, "z": names}).with_columns(
        w=pl.Series(rng.exponential(size=rows)).round(2)
    )


def test_a_bootstrap_of_three_times_the_rows_is_seen():
    train, holdout = fresh(1000, 1), fresh(1000, 2)
    release = us.synthesizer("bootstrap", seed=1).fit(train).sample(3000)
    found = membership(compare_tables(train, release, holdout), permutations=99)
    assert found.value > 0.95
    assert found.flagged
    assert part(found, "combination").value > 0.95
    tenth = part(found, "combination: true positives at 10 % false positives")
    assert tenth.interval[0] < tenth.value < tenth.interval[1]
    assert tenth.value > 0.9
    assert tenth.reference <= 0.1
    thousandth = part(found, "combination: true positives at 0.1 % false positives")
    assert thousandth.value is None
    assert "3,000 for 0.1 %" in found.note
    released = found.tables["line:released"]
    assert [row[0] for row in released.rows] == [375, 750, 1500, 3000]
    closest = [row[1] for row in released.rows]
    assert closest == sorted(closest)
    assert closest[-1] == pytest.approx(part(found, "distance to the closest record").value)
    # a member is drawn at least once in k·n rows with a chance of 1 - e⁻ᵏ
    expected = [1 - np.exp(-k) for k in (0.375, 0.75, 1.5, 3)]
    assert closest == pytest.approx([0.5 + e / 2 for e in expected], abs=0.03)


def test_copies_are_at_the_top_of_the_register():
    train, holdout = fresh(400, 3), fresh(400, 4)
    release = pl.concat([train.head(8), fresh(392, 5)])
    found = membership(compare_tables(train, release, holdout), permutations=99, register=0.02)
    rows = found.register["training_row"].to_list()
    assert len(rows) == 8
    assert len(set(rows) & set(range(8))) >= 4
    assert found.register["non_members_at_or_above"].max() < 0.05
    assert (found.register["distance"] == 0).sum() >= 4


def test_a_holdout_that_is_not_cut_would_be_biased():
    """Density against all of the holdout, non-members among them: why it is cut in two."""
    train, release, holdout = (fresh(300, seed) for seed in (6, 7, 8))
    comparison = compare_tables(train, release, holdout)
    from understudy.kernels.neighbors import mixed_neighbors

    made = sides(comparison, 0.5, None)
    everyone = np.concatenate([made.reference, made.persons[~made.is_member]])
    known = mixed_neighbors(made.persons, everyone, made.is_category, 1)[0][:, 0]
    near = mixed_neighbors(made.persons, made.synthetic, made.is_category, 1)[0][:, 0]
    ratio = np.log(known + 1e-3) - np.log(near + 1e-3)
    assert rates.area(ratio.astype(float), made.is_member) > 0.9
    found = membership(comparison, permutations=99)
    assert part(found, "density ratio").value == pytest.approx(0.5, abs=0.1)


def null_p_values(runs: int, rows: int, permutations: int) -> np.ndarray:
    made = []
    for run in range(runs):
        tables = [fresh(rows, 10_000 + 3 * run + i) for i in range(3)]
        found = membership(
            compare_tables(*tables), permutations=permutations, iterations=5, curve=False
        )
        assert found.flagged == (found.p_value <= 0.05)
        made.append(found.p_value)
    return np.array(made)


def test_few_alarms_without_a_leak():
    from scipy.stats import binom

    p_values = null_p_values(16, 60, 99)
    for alpha in (0.05, 0.1):
        assert (p_values <= alpha).sum() <= binom.ppf(0.9975, 16, alpha)


def test_whole_groups_are_swapped():
    def table(seed):
        rows = fresh(100, seed)
        homes = pl.Series("home", [f"{seed}-{i}" for i in range(100)])
        return pl.concat([rows.with_columns(homes)] * 4)

    tables = [table(seed) for seed in (1, 2, 3)]
    alone = membership(compare_tables(*tables), permutations=199, curve=False)
    found = membership(compare_tables(*tables), permutations=199, curve=False, group="home")
    wide = [f.interval[1] - f.interval[0] for f in (alone, found)]
    assert wide[1] > 1.5 * wide[0]
    with pytest.raises(OptionError, match="a group is in training and in holdout"):
        membership(compare_tables(tables[0], tables[1], tables[0]), group="home")


def test_a_cap_is_said():
    tables = [fresh(100, seed) for seed in (1, 2, 3)]
    found = membership(compare_tables(*tables), permutations=9, rows=60)
    assert "Boosting learnt from 60 of 100 synthetic rows (option rows)." in found.note


@pytest.mark.parametrize("bad", [{"reference": 1.0}, {"register": 2.0}, {"permutations": 1}])
def test_bad_options(bad):
    tables = [fresh(100, seed) for seed in (1, 2, 3)]
    with pytest.raises(OptionError):
        membership(compare_tables(*tables), **bad)


def test_too_few_persons():
    train, release, holdout = (fresh(100, seed) for seed in (1, 2, 3))
    for given in ((train, release, holdout.head(19)), (train.head(9), release, holdout)):
        assert membership(compare_tables(*given)).status == "not_applicable"
    cut = membership(compare_tables(train, release, holdout.head(30)), reference=0.9)
    assert cut.status == "not_applicable"


@pytest.mark.slow
def test_adult(real_data):
    train, holdout = (pl.read_csv(real_data(f"adult_{part}")) for part in ("trn", "val"))
    release = us.synthesizer("bootstrap", seed=1).fit(train).sample(3 * train.height)
    found = membership(compare_tables(train, release, holdout))
    assert found.value > 0.95
    rare = part(found, "combination: true positives at 0.1 % false positives")
    assert rare.value > 0.5
    assert rare.reference <= 0.001
    half = holdout.sample(fraction=1, shuffle=True, seed=1)
    fresh_rows, control = half.head(half.height // 2), half.tail(half.height // 2)
    assert not membership(compare_tables(train, fresh_rows, control)).flagged
