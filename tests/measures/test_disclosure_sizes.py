"""repU and DiSCO with unequal sizes and swapped labels, against slow counts over all subsets."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.judging.rates import alone
from understudy.measures.privacy.attribute_disclosure import attribute_disclosure
from understudy.measures.privacy.uniques import replicated_uniques


def compared(train, release, holdout, keys=("sex", "age"), sensitive=("illness",)):
    return compare_tables(train, release, holdout, keys=keys, sensitive=sensitive)


def replicated(persons, release):
    s, d = Counter(release), Counter(persons)
    return sum(t == 1 and s[q] == 1 for q, t in d.items()) / len(persons)


def keyed(keys):
    return pl.DataFrame({"k": [str(k) for k in keys], "other": ["a"] * len(keys)})


def test_unequal_sizes_are_the_mean_over_all_subsets():
    train, holdout, release = [1, 1, 2, 3, 3, 3, 4], [1, 2, 2, 5, 5], [1, 2, 3, 4, 4]
    found = replicated_uniques(
        compared(keyed(train), keyed(release), keyed(holdout), ("k",), ("other",))
    )
    subsets = [replicated(chosen, release) for chosen in combinations(train, 5)]
    assert found.value == pytest.approx(np.mean(subsets))
    assert found.reference == replicated(holdout, release)
    uniques = [sum(t == 1 for t in Counter(c).values()) / 5 for c in combinations(train, 5)]
    assert found.baselines["original"] == pytest.approx(np.mean(uniques))
    assert found.baselines["original"] >= found.value
    assert "subsets of 5 persons" in found.note
    table = found.tables["identity"]
    [shown] = [row for row in table.rows if "repU" in row]
    assert shown[table.columns.index("training")] == replicated(train, release)


def test_the_chance_to_be_alone_in_a_subset():
    for persons, drawn in ((6, 4), (9, 1), (5, 5), (9, 8)):
        for many in range(min(persons, 5) + 1):
            ways = list(combinations(range(persons), drawn))
            alone_in = sum(sum(p < many for p in chosen) == 1 for chosen in ways) / len(ways)
            assert alone(many, drawn, persons)[many] == pytest.approx(alone_in)
    assert alone(0, 3, 5).tolist() == [0.0]
    assert alone(2, 29, 30)[2] == pytest.approx(58 / 870)


def test_draws_count_uniques_anew_under_swapped_labels():
    from understudy.judging.swaps import swap_labels

    rng = np.random.default_rng(3)
    train, holdout, release = (rng.integers(0, 25, n).tolist() for n in (20, 20, 30))
    tables = compared(keyed(train), keyed(release), keyed(holdout), ("k",), ("other",))
    found = replicated_uniques(tables, permutations=40)
    is_train = np.arange(40) < 20
    labels = swap_labels(tables, np.arange(40), is_train, 40, name="privacy.replicated_uniques")
    pooled = np.array(train + holdout)
    slow = [
        replicated(pooled[label].tolist(), release) - replicated(pooled[~label].tolist(), release)
        for label in labels
    ]
    assert found.draws == pytest.approx(slow)
    assert found.p_value == (1 + sum(np.array(slow) >= found.value - found.reference - 1e-9)) / 41


@pytest.mark.parametrize("measure", [replicated_uniques, attribute_disclosure])
def test_the_split_may_have_respected_groups_or_strata(measure):
    """Households copied as a whole are few, however many rows they have."""
    rng = np.random.default_rng(5)
    homes = pl.DataFrame(
        {
            "home": np.repeat(np.arange(12), 10).astype(str),
            "sex": ["f", "m"] * 60,
            "age": np.arange(120) // 2,
            "illness": rng.choice(["none", "flu"], 120),
        }
    )
    train, holdout = homes.head(60), homes.tail(60)
    release = train.head(20).vstack(train.tail(40).with_columns(age=pl.col("age") + 500))
    tables = compared(train, release, holdout)
    plain, grouped = measure(tables), measure(tables, group="home")
    assert plain.value == grouped.value == 20 / 60
    assert plain.p_value < 0.01
    assert grouped.p_value > 0.1
    with pytest.raises(OptionError, match="both named"):
        measure(tables, group="home", strata="sex")
    assert measure(tables, strata="home").p_value == 1  # each home is all on one side


def test_groups_of_unequal_size_keep_the_count_of_uniques_fair():
    from understudy.judging.swaps import swap_labels

    rng = np.random.default_rng(4)
    keys, homes = rng.integers(0, 14, 22), np.repeat(np.arange(7), [1, 2, 3, 5, 4, 3, 4])
    release = rng.integers(0, 14, 15)
    whole = keyed(keys).with_columns(home=pl.Series(homes).cast(pl.String))
    made = keyed(release).with_columns(home=pl.lit("0"))
    tables = compared(whole.head(11), made, whole.tail(11), ("k",), ("other",))
    found = replicated_uniques(tables, permutations=6, group="home")
    is_train = np.arange(22) < 11
    labels = swap_labels(
        tables, np.arange(22), is_train, 6, name="privacy.replicated_uniques", group="home"
    )
    assert len(set(labels.sum(axis=1))) > 1

    def mean(persons, drawn):
        return np.mean([replicated(c, release.tolist()) for c in combinations(persons, drawn)])

    for label, draw in zip(labels, found.draws, strict=True):
        mine, theirs = keys[label].tolist(), keys[~label].tolist()
        drawn = min(len(mine), len(theirs))
        assert draw == pytest.approx(mean(mine, drawn) - mean(theirs, drawn))
