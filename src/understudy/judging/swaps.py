"""The labels training and holdout, swapped at will.

If the holdout is a random part of the same data, the labels carry no information: swapping them
gives the distribution that any statistic would have without a leak.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Which

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
SIDES: tuple[Which, Which] = ("train", "holdout")
FEWEST_GROUPS = 10


def swap_labels(
    comparison: Comparison,
    rows: Ints,
    is_train: Flags,
    times: int,
    *,
    name: str,
    strata: str | None = None,
    group: str | None = None,
) -> Flags:
    """Swap the labels of real rows at random, within strata or by whole groups if named.

    ``rows`` are places in training followed by holdout; the answer has a row for each swap.
    """
    check_times(name, times)
    if strata and group:
        raise OptionError(
            "strata and group are both named", hint="name the one the split respected"
        )
    rng = comparison.stream(name, "labels")
    made = np.empty((times, len(is_train)), bool)
    if group:
        # of some rows only, the numbers have gaps
        _, first, of_row = np.unique(
            groups(comparison, group, rows), return_index=True, return_inverse=True
        )
        by_group = is_train[first]
        if not np.array_equal(by_group[of_row], is_train):
            raise OptionError(
                f"group = '{group}': a group is in training and in holdout",
                hint="split with --group, so that groups stay together",
            )
        for time in range(times):
            made[time] = rng.permutation(by_group)[of_row]
    elif strata:
        of_row = _numbered(comparison, strata)[rows]
        labels = is_train[np.argsort(of_row, kind="stable")]
        for time in range(times):
            made[time, np.lexsort((rng.random(len(of_row)), of_row))] = labels
    else:
        train = int(is_train.sum())
        for time in range(times):
            made[time] = random_labels(rng, len(is_train), train)
    return made


def swap_some_labels(
    comparison: Comparison,
    some: Ints,
    is_train: Flags,
    times: int,
    *,
    name: str,
    strata: str | None = None,
    group: str | None = None,
) -> Flags:
    """Swap the labels of all real rows, and keep those of some.

    Without strata or groups, how many of them carry the label training is drawn first.
    """
    if strata or group:
        every = np.arange(len(is_train))
        made = swap_labels(
            comparison, every, is_train, times, name=name, strata=strata, group=group
        )
        return made[:, some]
    check_times(name, times)
    rng = comparison.stream(name, "labels")
    train = int(is_train.sum())
    many = rng.hypergeometric(train, len(is_train) - train, len(some), times)
    return np.array([permuted_labels(rng, len(some), count) for count in many])


def check_times(name: str, times: int) -> None:
    """Refuse fewer swaps than a spread takes."""
    if times < 2:
        raise OptionError(f"{name}: permutations = {times}", hint="use at least 2")


def permuted_labels(rng: np.random.Generator, rows: int, train: int) -> Flags:
    """Label ``train`` of the rows by a permutation; ``random_labels`` is quicker for many rows."""
    labels = np.zeros(rows, bool)
    labels[rng.permutation(rows)[:train]] = True
    return labels


def random_labels(rng: np.random.Generator, rows: int, train: int) -> Flags:
    """Label ``train`` of the rows, all choices alike.

    Every row is labelled by chance, then as many as are missing or too many are turned at random:
    no row is treated unlike another, so every choice of that size is as likely as any other, and
    it takes a fraction of the time of a permutation.
    """
    labels: Flags = rng.random(rows, dtype=np.float32) < train / max(rows, 1)
    surplus = int(labels.sum()) - train
    if surplus:
        candidates = np.flatnonzero(labels == (surplus > 0))
        turned = rng.choice(candidates, abs(surplus), replace=False, shuffle=False)
        labels[turned] = surplus < 0
    return labels


def kept_together(comparison: Comparison) -> str | None:
    """Find the column whose groups of rows the split kept together: persons, firms, households.

    Its values repeat in training and in holdout, and none is in both, which a split by rows does
    not bring about. Of several such columns the one with the fewest values, but no fewer than
    ``FEWEST_GROUPS`` on each side, so that swapping their labels can tell something.
    """
    if not comparison.has_holdout:
        return None
    found: list[tuple[int, str]] = []
    there = [set(comparison.source(which).table.frame.columns) for which in SIDES]
    for name in comparison.schema.names:
        dated = comparison.schema[name].kind == "date"  # a split by time keeps days together
        if dated or not all(name in columns for columns in there):
            continue
        texts = [comparison.labels(which, name).drop_nulls() for which in SIDES]
        values = [own.unique() for own in texts]
        if (
            all(
                FEWEST_GROUPS <= len(own) <= comparison.height(which) / 2
                for which, own in zip(SIDES, values, strict=True)
            )
            and not values[0].is_in(values[1].implode()).any()
        ):
            found.append((len(values[0]) + len(values[1]), name))
    return min(found)[1] if found else None


def groups(comparison: Comparison, name: str, rows: Ints) -> Ints:
    """Number the groups of real rows; a row without one is a group of its own."""
    of_row = _numbered(comparison, name)
    alone = np.flatnonzero(of_row == 0)
    of_row[alone] = of_row.max() + 1 + np.arange(len(alone))
    return np.unique(of_row, return_inverse=True)[1][rows]


def _numbered(comparison: Comparison, name: str) -> Ints:
    """Number the values of a column over training and holdout from 1; missing is 0."""
    texts = pl.concat([comparison.labels("train", name), comparison.labels("holdout", name)])
    return np.array(texts.rank("dense").fill_null(0), np.int64)
