"""Trees that predict a distribution, against slow ones in plain Python."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaln

from understudy.kernels.forest import STRENGTHS, TIE, Splits, apply_each, draw, fill, grow


def likelihood(groups) -> float:
    counts = np.unique(groups, return_counts=True)[1]
    return float((counts * np.log(counts / len(groups))).sum()) if len(groups) else 0.0


def gains(codes, groups, rows, min_leaf):
    """Try every cut of every predictor: what each gains, and which rows it sends left."""
    here = groups[rows]
    for j in range(codes.shape[1]):
        for cut in np.unique(codes[rows, j])[:-1]:
            left = codes[rows, j] <= cut
            if min(left.sum(), (~left).sum()) >= min_leaf:
                parts = likelihood(here[left]) + likelihood(here[~left])
                yield parts - likelihood(here), left


def slow_leaves(codes, groups, rows, min_leaf, penalty) -> list[frozenset[int]] | None:
    """Split as long as it gains enough; nothing where two splits are equally good."""
    least = penalty * (len(np.unique(groups[rows])) - 1)
    found = sorted(gains(codes, groups, rows, min_leaf), key=lambda pair: -pair[0])
    if not found or found[0][0] < least - 1e-9:
        return [frozenset(rows.tolist())]
    if found[0][0] < least + 1e-9 or (len(found) > 1 and found[1][0] > found[0][0] - 1e-9):
        return None
    left = found[0][1]
    sides = [slow_leaves(codes, groups, rows[s], min_leaf, penalty) for s in (left, ~left)]
    return None if None in sides else sides[0] + sides[1]


def table(seed: int, rows: int, kinds: int = 3):
    rng = np.random.default_rng(seed)
    sizes = np.array([6, 30, 3])
    codes = np.asfortranarray(rng.integers(0, sizes, (rows, 3)).astype(np.uint16))
    noise = rng.random(rows)
    groups = ((codes[:, 0] + codes[:, 1] // 8 + 2 * noise) % kinds).astype(np.uint16)
    return codes, sizes, groups, rng


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 0.5, 1.5, 4.0]))
def test_every_split_is_the_best_and_no_leaf_could_be_split(seed, min_leaf, penalty):
    codes, sizes, groups, rng = table(seed, int(np.random.default_rng(seed).integers(1, 120)))
    chosen = np.sort(rng.choice(len(codes), (len(codes) + 1) // 2, replace=False))
    tree = grow(codes, sizes, groups, chosen, min_leaf=min_leaf, penalty=penalty, most_leaves=999)

    def go(node, rows):
        best = max((gain for gain, _ in gains(codes, groups, rows, min_leaf)), default=-1.0)
        least = penalty * (len(np.unique(groups[rows])) - 1)
        if tree.left[node] < 0:
            assert best <= least + 1e-9
            return
        left = codes[rows, tree.feature[node]] <= tree.cut[node]
        here = groups[rows]
        gain = likelihood(here[left]) + likelihood(here[~left]) - likelihood(here)
        assert gain == pytest.approx(best, abs=1e-9)
        assert gain > least - 1e-9
        assert min(left.sum(), (~left).sum()) >= min_leaf
        go(tree.left[node], rows[left])
        go(tree.right[node], rows[~left])

    go(0, chosen)


def test_leaves_are_those_of_a_slow_search():
    compared = 0
    for seed in range(40):
        codes, sizes, groups, _ = table(seed, 150)
        rows = np.arange(100)
        slow = slow_leaves(codes, groups, rows, 8, 1.0)
        tree = grow(codes, sizes, groups, rows, min_leaf=8, penalty=1.0, most_leaves=999)
        leaf = tree.apply(codes)[rows]
        if slow is not None:
            assert {frozenset(rows[leaf == n].tolist()) for n in np.unique(leaf)} == set(slow)
            compared += len(slow) > 2
    assert compared > 5


def test_leaves_are_large_enough_few_enough_and_in_order():
    codes, sizes, groups, _ = table(0, 5000)
    rows = np.arange(5000)
    tree = grow(codes, sizes, groups, rows, min_leaf=30, penalty=0.0, most_leaves=1000)
    leaf = tree.apply(codes)
    assert np.unique(leaf, return_counts=True)[1].min() >= 30
    few = grow(codes, sizes, groups, rows, min_leaf=30, penalty=0.0, most_leaves=7)
    assert 1 < (few.feature < 0).sum() <= 7
    leaves = np.flatnonzero(tree.feature < 0)
    ends = tree.place[leaves[np.argsort(tree.place[leaves])]]
    assert (np.diff(ends) >= 30).all()
    coarse = grow(codes, sizes, groups, rows, min_leaf=30, penalty=50.0, most_leaves=1000)
    assert len(coarse.feature) < len(tree.feature)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows_equal_rows_and_no_predictors(rows):
    codes, sizes, groups, _ = table(0, 5)
    some = np.arange(rows)
    tree = grow(codes, sizes, groups, some, min_leaf=1, penalty=0.0, most_leaves=9)
    assert (tree.feature < 0).sum() <= max(rows, 1)
    same = np.zeros((50, 3), np.uint16, order="F")
    kinds = np.arange(50, dtype=np.uint16) % 3
    tree = grow(same, sizes, kinds, np.arange(50), min_leaf=1, penalty=0.0, most_leaves=9)
    assert tree.apply(same).tolist() == [0] * 50
    none = np.zeros((50, 0), np.uint16, order="F")
    tree = grow(none, sizes[:0], kinds, np.arange(50), min_leaf=1, penalty=0.0, most_leaves=9)
    assert tree.apply(none).tolist() == [0] * 50


def evidence(counts, shares, strength) -> float:
    """Give the log evidence of counts under a Dirichlet prior, but for what all strengths share."""
    seen = (counts > 0) & (shares > 0)
    mean = strength * shares[seen]
    total = gammaln(strength) - gammaln(strength + counts[seen].sum())
    return float((gammaln(mean + counts[seen]) - gammaln(mean)).sum() + total)


def best(strengths, score) -> float:
    """Choose the strength of the best score, of equal ones the strongest."""
    top, chosen = -np.inf, 0.0
    for strength in strengths[::-1]:
        reached = score(strength)
        assume(abs(reached - top - TIE) > TIE / 10)
        if reached > top + TIE:
            top, chosen = reached, float(strength)
    return chosen


def slow_fill(tree: Splits, codes, target, group_of, root, fine):
    """Shrink each child to its parent, top down, with sums written out."""
    many, leaf = group_of.max() + 1, tree.apply(codes)
    made = {0: root}

    def counts(node):
        if tree.left[node] < 0:
            return np.bincount(target[leaf == node], minlength=len(root))
        return counts(tree.left[node]) + counts(tree.right[node])

    def grouped(values):
        return np.bincount(group_of, values, minlength=many)

    def go(node):
        if tree.left[node] < 0:
            return
        children = [counts(tree.left[node]), counts(tree.right[node])]
        parent = made[node]
        coarse = grouped(parent)
        within = parent / coarse[group_of]
        a = best(STRENGTHS, lambda s: sum(evidence(grouped(c), coarse, s) for c in children))
        b = best(
            STRENGTHS[fine <= STRENGTHS],
            lambda s: sum(
                evidence(c[group_of == g], within[group_of == g], s)
                for c in children
                for g in range(many)
                if c[group_of == g].sum()
            ),
        )
        for child, count in zip((tree.left[node], tree.right[node]), children, strict=True):
            of_group = (grouped(count) + a * coarse) / (count.sum() + a)
            inside = (count + b * within) / (grouped(count)[group_of] + b)
            made[int(child)] = of_group[group_of] * inside
            go(child)

    go(0)
    return np.array([made[node] for node in range(len(tree.feature))])


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0.5, 64.0]))
def test_shrunk_shares_are_those_of_plain_python(seed, grouped, fine):
    codes, sizes, groups, rng = table(seed, 200)
    size = 6 if grouped else 3
    target = (groups * 2 + rng.integers(0, 2, 200) if grouped else groups).astype(np.uint16)
    group_of = np.arange(size) // 2 if grouped else np.arange(size)
    tree = grow(codes, sizes, groups, np.arange(100), min_leaf=5, penalty=0.0, most_leaves=99)
    root = (np.bincount(target, minlength=size) + 0.01) / (200 + 0.01 * size)
    made = fill(tree, codes[100:], target[100:], group_of, root, fine=fine)
    np.testing.assert_allclose(made.sum(axis=1), 1)
    assert (made >= 0).all()
    np.testing.assert_allclose(
        made, slow_fill(tree, codes[100:], target[100:], group_of, root, fine), rtol=1e-9
    )


def test_nobody_to_fill_a_tree_leaves_the_root():
    codes, sizes, groups, _ = table(0, 300)
    tree = grow(codes, sizes, groups, np.arange(300), min_leaf=5, penalty=0.0, most_leaves=99)
    root = np.array([0.5, 0.3, 0.2])
    made = fill(tree, codes[:0], groups[:0], np.arange(3), root, fine=64.0)
    np.testing.assert_allclose(made, np.tile(root, (len(tree.feature), 1)))


def test_a_single_row_says_nothing():
    codes, sizes, groups, _ = table(0, 300)
    tree = grow(codes, sizes, groups, np.arange(300), min_leaf=5, penalty=0.0, most_leaves=99)
    root = np.array([0.5, 0.3, 0.2])
    made = fill(tree, codes[:1], groups[:1], np.arange(3), root, fine=64.0)
    np.testing.assert_allclose(made, np.tile(root, (len(tree.feature), 1)), atol=1e-3)


def test_a_code_that_the_root_never_shows_is_never_shown():
    codes, sizes, groups, _ = table(0, 300)
    tree = grow(codes, sizes, groups, np.arange(300), min_leaf=5, penalty=0.0, most_leaves=99)
    made = fill(tree, codes, groups, np.arange(3), np.array([0.6, 0.0, 0.4]), fine=64.0)
    assert (made[:, 1] == 0).all()


@given(st.integers(0, 10**6), st.integers(1, 400))
def test_draws_are_spread_evenly(seed, rows):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(5), 3)
    leaves = rng.integers(0, 3, rows)
    cumulative = np.cumsum(shares, axis=1).astype(np.float32)
    made = draw(cumulative, leaves, rng.permutation(rows), rng.random())
    for leaf in range(3):
        here = made[leaves == leaf]
        apart = np.bincount(here, minlength=5) - len(here) * shares[leaf]
        # The golden ratio's discrepancy grows with the logarithm, chance with the square root.
        assert np.abs(apart).max() <= 2 + 0.5 * np.log(len(here) + 1)


def test_a_share_of_zero_is_never_drawn():
    cumulative = np.cumsum([[0.0, 0.4, 0.0, 0.6]], axis=1).astype(np.float32)
    made = draw(cumulative, np.zeros(10_000, np.int64), np.arange(10_000), 0.0)
    assert set(made.tolist()) == {1, 3}
    none = np.zeros(0, np.int64)
    assert draw(cumulative, none, none, 0.3).shape == (0,)


def test_each_row_falls_through_its_own_tree():
    codes, sizes, groups, rng = table(0, 500)
    trees = [
        grow(codes, sizes, groups, rows, min_leaf=9, penalty=0.0, most_leaves=99)
        for rows in (np.arange(250), np.arange(250, 500))
    ]
    start = len(trees[0].feature)
    both = [np.concatenate([getattr(t, name) for t in trees]) for name in ("feature", "cut")]
    child = [
        np.concatenate([getattr(trees[0], side), getattr(trees[1], side) + start])
        for side in ("left", "right")
    ]
    line = np.arange(len(both[0]), dtype=np.int32)[::-1].copy()
    which = rng.integers(0, 2, 500)
    places, starts = np.arange(len(sizes)) + 1, np.cumsum(sizes) - sizes
    codes = np.asfortranarray(np.column_stack([codes[:, 0], codes]))
    ranks = [np.concatenate([rng.permutation(size) for size in sizes]) for _ in trees]
    seen = [
        np.column_stack([rank[starts[j] + codes[:, places[j]]] for j in range(len(sizes))])
        for rank in ranks
    ]
    found = apply_each(
        codes, which, np.array([0, start]), *both, *child, line, places, starts,
        np.array(ranks, np.uint16),
    )  # fmt: skip
    leaves = [t.apply(np.asfortranarray(s, np.uint16)) for t, s in zip(trees, seen, strict=True)]
    expected = np.where(which, leaves[1] + start, leaves[0])
    assert (found == line[expected]).all()
