"""The register of single records at risk, for the steward alone, and how few persons are too few.

Every register has the same first columns: the measure, the training row, the attack that reached
it and why it is listed (a reason, or the columns by which the attack went). Numbers of the measure
stand beside them under names of their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

K = 5  # persons: a number that fewer stand behind is not given
MOST_LISTED = 1000
FEW_PERSONS = (
    f"Fewer than {K} training or holdout persons are targets: a number would tell about single "
    "ones."
)


def enough(*persons: int) -> bool:
    """Tell whether so many persons stand behind a number that it tells about no single one."""
    return min(persons) >= K


def register(
    measure: str,
    rows: NDArray[np.integer] | Sequence[int | None],
    attack: str | Sequence[str],
    why: str | Sequence[str] | None = None,
    *,
    most: int | None = MOST_LISTED,
    **numbers: NDArray[np.generic] | Sequence[Any],
) -> pl.DataFrame:
    """List training rows, the worst first, with numbers beside each; a made-up record has no row.

    Examples
    --------
    >>> register("privacy.x", np.array([4, 2]), "linked", "age", far=np.array([0.0, 0.5])).columns
    ['measure', 'training_row', 'attack', 'why', 'far']
    """
    many = len(rows[:most])

    def words(text: str | Sequence[str] | None) -> pl.Series:
        alike = text is None or isinstance(text, str)
        return pl.Series([text] * many if alike else list(text or ())[:most], dtype=pl.String)

    return pl.DataFrame(
        {
            "measure": words(measure),
            "training_row": pl.Series(rows[:most], dtype=pl.Int64),
            "attack": words(attack),
            "why": words(why),
            **{name: values[:most] for name, values in numbers.items()},
        }
    )
