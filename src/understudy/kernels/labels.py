"""What a swap of the labels training and holdout would have given, 64 swaps to a word."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

WORD = 64


def packed(labels: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack labels of shape (swaps, rows) into words of shape (rows, swaps / 64).

    Examples
    --------
    >>> packed(np.array([[True, False], [True, True]])).tolist()
    [[3], [2]]
    """
    swaps, rows = labels.shape
    words = np.zeros((rows, -(-swaps // WORD)), np.uint64)
    for swap in range(swaps):
        bits = labels[swap].astype(np.uint64) << np.uint64(swap % WORD)
        words[:, swap // WORD] |= bits
    return words


def tie_shares(
    indices: NDArray[np.int32], sizes: NDArray[np.int64], labels: NDArray[np.uint64], swaps: int
) -> NDArray[np.float64]:
    """Give, for each swap, the share of queries that are closer to rows labelled training.

    Parameters
    ----------
    indices : array of shape (queries, cap)
        The nearest rows of each query.
    sizes : array of int
        How many of them there are. A query counts 1, 0 or ½ as all, none or some are labelled.
    labels : array of words
        See ``packed``.
    """
    twice = np.zeros(labels.shape[1] * WORD, np.int64)
    _tie_shares(indices, sizes, labels, twice)
    return twice[:swaps] / (2 * len(indices))


@njit(cache=True, nogil=True)
def _tie_shares(indices, sizes, labels, twice):
    words = labels.shape[1]
    for query in range(len(indices)):
        for word in range(words):
            every, some = ~np.uint64(0), np.uint64(0)
            for place in range(sizes[query]):
                here = labels[indices[query, place], word]
                every &= here
                some |= here
            for bit in range(WORD):
                shift = np.uint64(bit)
                both = ((every >> shift) & np.uint64(1)) + ((some >> shift) & np.uint64(1))
                twice[word * WORD + bit] += np.int64(both)


def first_labelled(
    indices: NDArray[np.int64], labels: NDArray[np.bool_], wanted: int
) -> NDArray[np.int64]:
    """Give the places of the first rows labelled training in each list of neighbours.

    Where a list holds fewer, its last place stands in.
    """
    found = np.full((len(indices), wanted), indices.shape[1] - 1, np.int64)
    _first_labelled(indices, labels, found)
    return found


@njit(cache=True, nogil=True)
def _first_labelled(indices, labels, found):
    wanted = found.shape[1]
    for query in range(len(indices)):
        seen = 0
        for place in range(indices.shape[1]):
            row = indices[query, place]
            if row >= 0 and labels[row]:
                found[query, seen] = place
                seen += 1
                if seen == wanted:
                    break
