"""The adversary's error: worked by hand, against a slow adversary, its groups, and bad input."""

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.privacy.adversary import adversary_error, nearest_errors, nearest_keys
from understudy.measures.privacy.guesses import SensitiveColumn


def errors(persons, table, truth, values, counts, *, levels=0):
    near = nearest_keys(
        np.array(persons, np.float32)[:, None],
        np.array(table, np.float32)[:, None],
        np.array([False]),
        max(counts),
    )
    kind = np.int64 if levels else float
    secret = SensitiveColumn("y", not levels, np.array(truth, kind), np.array(values, kind), levels)
    return nearest_errors([secret], near, counts)[0]


def part(finding, name):
    return next(p for p in finding.parts if p.name == name)


def test_relative_change_by_hand():
    # k = 1: 4 against 2, |4 − 2| / 3; k = 3: mean of 2, 6, 10 is 6, |4 − 6| / 5
    found = errors([0.0], [0.1, 0.2, 0.3], [4], [2, 6, 10], [1, 3])
    assert found[0] == pytest.approx([2 / 3, 0.4])
    assert errors([0.0], [0.1], [0], [0], [1])[0, 0] == 0
    assert errors([0.0], [0.1], [0], [5], [1])[0, 0] == 2
    assert errors([0.0], [0.1], [-3], [3], [1])[0, 0] == 2


def test_equally_near_records_count_alike():
    # two records at the same keys, and one on the other side, all equally near
    found = errors([0.5], [0.25, 0.25, 0.75, 0.9], [4], [1, 2, 6, 100], [1, 2, 3])
    assert found[0] == pytest.approx([1 / 3.5] * 3)
    votes = errors([0.5], [0.25, 0.25, 0.75, 0.9], [1], [1, 0, 1, 1], [1, 3, 4], levels=2)
    assert votes[0] == pytest.approx([1 / 3, 1 / 3, 1 / 4])


@pytest.mark.parametrize("turned", [False, True])
def test_a_crowd_of_equally_near_points_counts_as_a_whole(turned):
    """300 levels are as far from a person's own: half of their records have the true level."""
    code = np.arange(300)
    right = (code < 150) != turned
    near = nearest_keys(
        np.array([[400.0, 0.5], [299.0, 0.5]], np.float32),
        np.column_stack([code, np.full(300, 0.5)]).astype(np.float32),
        np.array([True, False]),
        21,
    )
    assert near.cut.tolist() == [True, True]
    votes = SensitiveColumn("y", False, np.array([1, 1]), right.astype(np.int64), 2)
    money = SensitiveColumn("z", True, np.array([4.0, 4.0]), np.where(right, 2.0, 6.0), 0)
    made, numbers = nearest_errors([votes, money], near, [1, 3, 21])
    assert made[0] == pytest.approx([0.5] * 3)
    assert numbers[0] == pytest.approx([0.0] * 3)
    # the second person's own level stands alone; then 299 share what is left of k
    own, others = float(right[299]), right[:299].mean()
    share = [(own + (k - 1) * others) / k for k in (1, 3, 21)]
    assert made[1] == pytest.approx([1 - s for s in share])


def test_a_crowd_is_counted_a_block_at_a_time(monkeypatch):
    from understudy.measures.privacy import adversary

    rng = np.random.default_rng(1)
    points = rng.integers(0, 20, (500, 2)).astype(np.float32)
    secret = SensitiveColumn("y", False, rng.integers(0, 3, 500), rng.integers(0, 3, 500), 3)
    near = nearest_keys(points, points[::-1], np.array([True, True]), 5)
    assert near.cut.any()
    whole = nearest_errors([secret], near, [1, 5])[0]
    # by hand: all records, weighed by how many are nearer
    far = (points[:, None] != points[::-1][None]).sum(axis=2)
    for k, errors in zip((1, 5), whole.T, strict=True):
        weight, left = np.zeros(far.shape), np.full(500, float(k))
        for distance in range(3):
            shell = far == distance
            many = np.maximum(shell.sum(axis=1), 1)
            weight += shell * (np.minimum(left, many) / many)[:, None]
            left = np.maximum(left - shell.sum(axis=1), 0)
        right = secret.table[None] == secret.persons[:, None]
        assert errors == pytest.approx(1 - (weight * right).sum(axis=1) / weight.sum(axis=1))
    monkeypatch.setattr(adversary, "CELLS", 40)
    assert np.array_equal(nearest_errors([secret], near, [1, 5])[0], whole)


def test_more_neighbours_than_records_is_everybody():
    found = errors([0.0], [0.1, 0.2], [4], [2, 6], [21])
    assert found[0, 0] == 0


def test_missing_values_are_neither_guessed_nor_used():
    found = errors([0.0, 0.9], [0.0, 0.1, 0.9], [4, np.nan], [np.nan, 4, 1], [1, 2])
    assert np.isnan(found[0, 0])
    assert found[0, 1] == 0
    assert np.isnan(found[1]).all()


def slow(persons, table, truth, values, k):
    """Average over every way to break ties, by the mean over equally near records."""
    made = []
    for person, true in zip(persons, truth, strict=True):
        far = np.abs(table - person)
        order = np.sort(far)
        edge = order[min(k, len(far)) - 1]
        inside, border = far < edge, far == edge
        left = min(k, len(far)) - inside.sum()
        guess = (values[inside].sum() + left * values[border].mean()) / min(k, len(far))
        size = (abs(true) + abs(guess)) / 2
        made.append(abs(true - guess) / size if size else 0.0)
    return np.array(made)


@given(seed=st.integers(0, 999), k=st.sampled_from([1, 3, 7]), grid=st.sampled_from([4, 64]))
@settings(max_examples=40)
def test_a_slow_adversary_is_as_wrong(seed, k, grid):
    rng = np.random.default_rng(seed)
    persons, table = rng.integers(0, grid, 12) / grid, rng.integers(0, grid, 40) / grid
    truth, values = rng.integers(-2, 4, 12).astype(float), rng.integers(-2, 4, 40).astype(float)
    found = errors(persons, table, truth, values, [k])[:, 0]
    assert found == pytest.approx(slow(persons, table, truth, values, k), abs=1e-9)


def three(rows=300, **more):
    train, release, holdout = (people(rows, seed) for seed in (1, 2, 3))
    more = {"keys": ("sex", "age", "town"), "sensitive": ("income", "children"), **more}
    return train, compare_tables(train, release, holdout, **more)


def test_looks_are_columns_neighbours_and_groups():
    _, comparison = three()
    found = adversary_error(comparison, permutations=49)
    names = [p.name for p in found.parts[1:]]
    assert len(names) == 24
    assert names[:5] == [f"income, k = {k}" for k in (1, 3, 7, 13, 21)]
    assert names[5:8] == [
        "income, k = 1, the most unique 1 % by distance",
        "income, k = 1, the most unique 1 % by class",
        "income, k = 1, the surest 1 %",
    ]
    assert names[-8] == "all sensitive columns, k = 1"
    assert "24 looks" in found.note
    assert found.value in [p.value for p in found.parts]
    assert set(found.tables) == {"line:income", "line:children", "line:all sensitive columns"}
    assert [row[0] for row in found.tables["line:income"].rows] == [1, 3, 7, 13, 21]
    for p in found.parts[1:]:
        assert p.more["original"] < p.value
        assert p.interval[0] <= p.value <= p.interval[1]


def test_one_column_has_no_mean_over_columns():
    _, comparison = three(sensitive=("income",))
    found = adversary_error(comparison, neighbours="1, 5", share=0.1, permutations=49)
    assert [p.name for p in found.parts[1:]] == [
        "income, k = 1",
        "income, k = 5",
        "income, k = 1, the most unique 10 % by distance",
        "income, k = 1, the most unique 10 % by class",
        "income, k = 1, the surest 10 %",
    ]


def test_the_most_unique_are_chosen_by_keys_alone_and_blind_to_the_labels():
    """Ten far persons in each table are the most unique 20; the nearest record to them has z."""
    common = pl.DataFrame({"k": [i % 50 for i in range(290)], "y": ["a", "b"] * 145})
    tables = [
        pl.concat([common, pl.DataFrame({"k": range(start, start + 1000, 100), "y": ["z"] * 10})])
        for start in (1000, 1050)
    ]
    release = common.with_columns(y=pl.when(pl.col("k") == 49).then(pl.lit("z")).otherwise("y"))
    comparison = compare_tables(tables[0], release, tables[1], keys=("k",), sensitive=("y",))
    found = adversary_error(comparison, permutations=49)
    for how in ("distance", "class"):
        unique = part(found, f"y, k = 1, the most unique 1 % by {how}")
        assert (unique.value, unique.reference) == (0, 0)
    assert part(found, "y, k = 1").value == pytest.approx(5 / 300)


def test_who_is_surest():
    near = nearest_keys(
        np.array([[0.0], [0.5], [0.9]], np.float32),
        np.array([[0.01], [0.3], [0.69], [0.9], [0.9]], np.float32),
        np.array([False]),
        2,
    )
    ratio, far = near.doubt()
    assert ratio == pytest.approx([0.01 / 0.3, 0.19 / 0.2, 1.0], rel=1e-4)
    assert far[0] == pytest.approx(-0.3)
    assert near.first() == pytest.approx([0.01, 0.19, 0.0], abs=1e-6)


def test_a_copy_is_found_and_the_persons_are_listed():
    train, comparison = three()
    copied = compare_tables(
        train, train, people(300, 3), keys=comparison.keys, sensitive=("income",)
    )
    found = adversary_error(copied, permutations=99)
    assert found.flagged
    assert found.value < found.interval[1] < found.reference
    assert found.baselines["original"] == pytest.approx(found.value)
    assert found.register.height > 0
    assert set(found.register["training_row"]) <= set(range(300))
    assert found.register["attack"].n_unique() == 1
    assert found.register.height <= 1000
    ahead = found.parts[0]
    assert ahead.name.startswith("advantage")
    assert ahead.value == pytest.approx(found.reference - found.value)
    assert ahead.interval[0] == pytest.approx(found.reference - found.interval[1])
    assert 0 < ahead.interval[0] < ahead.value


def test_without_a_holdout_nothing_is_claimed():
    train, release = people(200, 1), people(200, 2)
    found = adversary_error(
        compare_tables(train, release, keys=("age", "sex"), sensitive=("income",))
    )
    assert (found.status, found.reference, found.p_value) == ("ok", None, None)
    assert not found.flagged
    assert "Without holdout persons" in found.note
    assert set(found.baselines) == {"original", "naive"}
    assert "holdout" not in found.tables["line:income"].columns


def test_dates_count_from_the_first_one():
    _, comparison = three(sensitive=("day",))
    found = adversary_error(comparison, permutations=19)
    assert part(found, "day, k = 1").value > 0.3


BAD = {
    "word": ({"neighbours": "one"}, "neighbours = 'one'"),
    "zero": ({"neighbours": "0,1"}, "neighbours = '0,1'"),
    "share": ({"share": 0.0}, "share = 0.0"),
    "swaps": ({"permutations": 1}, "permutations = 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case):
    options, message = BAD[case]
    with pytest.raises(OptionError, match=message) as caught:
        adversary_error(three()[1], **options)
    assert caught.value.hint


def test_a_sensitive_key_is_refused_and_what_cannot_be_told_is_not_applicable():
    train, release = people(50, 1), people(50, 2)
    with pytest.raises(OptionError, match="'age'"):
        adversary_error(compare_tables(train, release, keys=("age",), sensitive=("age",)))
    constant = train.with_columns(age=pl.lit(40))
    found = adversary_error(compare_tables(constant, release, keys=("age",), sensitive=("income",)))
    assert found.status == "not_applicable"
    missing = train.with_columns(income=pl.lit(None, pl.Float64))
    found = adversary_error(compare_tables(missing, release, keys=("age",), sensitive=("income",)))
    assert found.status == "not_applicable"
    assert "income" in found.note


def test_relative_change_is_at_most_two():
    _, comparison = three()
    found = adversary_error(comparison, permutations=19)
    assert all(0 <= p.value <= 2 and math.isfinite(p.reference) for p in found.parts[1:])


def test_errors_do_not_change_when_levels_are_renamed():
    """No key of a person is in the release: all 300 records are as far, whatever their names."""
    rows = 300
    real = pl.DataFrame({"k": [f"t{i % 60}" for i in range(rows)], "y": ["a"] * 90 + ["b"] * 210})
    release = pl.DataFrame({"k": [f"r{i:03}" for i in range(rows)], "y": ["a"] * 150 + ["b"] * 150})
    renamed = release.with_columns(k=pl.Series([f"r{rows - i:03}" for i in range(rows)]))
    for table in (release, renamed):
        comparison = compare_tables(real, table, real, keys=("k",), sensitive=("y",))
        found = adversary_error(comparison, permutations=9)
        for k in (1, 21):
            assert part(found, f"y, k = {k}").value == pytest.approx(0.5)
