"""Which of the keys an attacker knows: all of them, or every set of so many."""

import itertools
import math

from understudy.errors import OptionError
from understudy.judging.comparison import Comparison

KeySet = tuple[str, ...]


def key_sets(
    comparison: Comparison, length: int | None, most: int, *, name: str
) -> tuple[list[KeySet], str]:
    """Give the sets of keys that are tried, and say so where they are not all.

    ``length`` is the number of keys that the attacker knows, all if not given; ``most`` sets are
    drawn from the stream of the measure ``name`` where there are more.
    """
    if most < 1:
        raise OptionError(f"subsets = {most}", hint="try at least 1 set of keys")
    keys = tuple(dict.fromkeys(comparison.keys))
    many = len(keys) if length is None else length
    if isinstance(many, bool) or not isinstance(many, int) or not 1 <= many <= len(keys):
        raise OptionError(
            f"length = {length!r} with {len(keys)} keys",
            hint=f"give a whole number from 1 to {len(keys)}",
        )
    count = math.comb(len(keys), many)
    if count <= most:
        return list(itertools.combinations(keys, many)), ""
    rng = comparison.stream(name, "keys")
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.permutation(len(keys))[:many].tolist())))
    sets = [tuple(keys[place] for place in places) for places in sorted(drawn)]
    return sets, f"{most:,} of {count:,} sets of {many} keys were drawn at random (subsets)."
