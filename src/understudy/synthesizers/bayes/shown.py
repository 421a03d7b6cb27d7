"""What a code shows without epsilon: each number by one code only, so that chances are known."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from understudy.data.schema import Values
from understudy.synthesizers.support import Support

Codes = NDArray[np.uint16]
Floats = NDArray[np.float64]


def shown_once(support: Support, codes: Codes) -> tuple[Support, Codes]:
    """Leave each number to the code that shows it most; codes left with none are merged.

    Neighbouring bins may show the same rounded number. The chance of a value is then a sum over
    its codes; here it has one.
    """
    of_code = np.repeat(np.arange(support.bins), np.diff(support.begin))
    values, place = np.unique(support.numbers, return_inverse=True)
    if len(values) == len(support.numbers):
        return support, codes
    first = np.lexsort((of_code, -support.weights, place))
    first = first[np.unique(place[first], return_index=True)[1]]
    keeper = of_code[first]  # the code of each value
    kept = np.zeros(len(support.numbers), bool)
    kept[first] = True
    left = np.bincount(of_code[kept], minlength=support.bins)
    moved = np.arange(support.bins)
    for code in np.flatnonzero(left == 0):
        moved[code] = keeper[place[support.begin[code]]]
    weights = np.bincount(place, support.weights)[place[kept]]
    used = left > 0
    number = np.cumsum(used) - 1
    new = np.concatenate([number[moved], number[-1] + 1 + np.arange(len(support.labels) + 1)])
    begin = np.concatenate([[0], np.cumsum(left[used])]).astype(np.int64)
    made = dataclasses.replace(
        support, numbers=support.numbers[kept], begin=begin, weights=weights.astype(float)
    )
    return made, new[codes].astype(np.uint16)


def read_shown(support: Support, values: Values) -> tuple[Codes, Floats]:
    """Code values, and give the log of each one's chance among those of its code.

    What is never shown has the code that predictors know as such, and no chance.
    """
    codes = support.encode(values)
    with np.errstate(divide="ignore"):
        logs = np.log((codes < support.size).astype(float))
    if values.numbers is None or not support.bins:
        return codes, logs
    present = np.flatnonzero(~np.isnan(values.numbers))
    numbers = values.numbers[present]
    order = np.argsort(support.numbers, kind="stable")
    ordered = support.numbers[order]
    right = np.clip(np.searchsorted(ordered, numbers), 0, len(ordered) - 1)
    left = np.maximum(right - 1, 0)
    nearer = np.abs(ordered[left] - numbers) < np.abs(ordered[right] - numbers)
    place = order[np.where(nearer, left, right)]
    of_code = np.repeat(np.arange(support.bins), np.diff(support.begin))
    share = support.weights / np.bincount(of_code, support.weights)[of_code]
    same = np.abs(support.numbers[place] - numbers) <= 4 * np.spacing(np.abs(numbers))
    codes[present] = of_code[place]
    with np.errstate(divide="ignore"):
        logs[present] = np.log(np.where(same, share[place], 0))
    return codes, logs


def spread_evenly(support: Support, bins: int) -> tuple[Support, Floats]:
    """Show numbers evenly over their range instead, and give the shares of all codes.

    A number stands for the way to its neighbours. Numbers together weigh as much as ``bins``
    levels; each level, and a missing value if they are shown, as one.
    """
    if not support.bins:
        return support, np.full(support.size, 1 / support.size)
    order = np.argsort(support.numbers, kind="stable")
    ends = support.numbers[order] / max(1.0, float(np.abs(support.numbers).max()))
    middle = np.concatenate([ends[:1], (ends[1:] + ends[:-1]) / 2, ends[-1:]])
    width = np.ones(1) if len(ends) == 1 else np.diff(middle)
    weights = np.empty(len(ends))
    weights[order] = width / width.sum()
    of_code = np.repeat(np.arange(support.bins), np.diff(support.begin))
    parts = np.concatenate([bins * np.bincount(of_code, weights), np.ones(len(support.labels))])
    return dataclasses.replace(support, weights=weights), parts / parts.sum()
