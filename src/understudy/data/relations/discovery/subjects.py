"""What a row is: its weight, and whose row it is.

A weight is known by its name, or by a name and a mean of 1. A subject has several rows; a column
that orders them never repeats within one, where by chance it would.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from understudy.data.relations.discovery.evidence import ENOUGH
from understudy.data.relations.discovery.fields import Field

WEIGHT = re.compile(
    r"^(fnlwgt|perwt|hhwt|[pfi]we?i?ghts?|.*(survey|sampl\w*|design|person|household|final|expansion)"
    r"[\s_.-]*(we?i?ghts?|wgt|wt)|(sampwt|sampweight|svywt|finalwt|wtfinal|wtssall|wtper))$",
    re.IGNORECASE,
)
MAYBE_WEIGHT = re.compile(r"(^|[\s_.-])(w|wt|wts|wgt|weights?)([\s_.-]|$)", re.IGNORECASE)
ID_NAME = re.compile(
    r"(^|[\s_.-])(?i:id|nr|code|key|person|subject|firm|patient|pid|hhid|idcode|panelid)$"
    r"|[a-z](ID|Id)$|^(?i:id|nr)|(?i:id|no)$"
)
TIME_NAME = re.compile(
    r"(^|[\s_.-])(?i:year|yr|date|time|t|month|wave|period|day|week|quarter|visit|round|age|occasion)s?"
    r"\d*$|(?i:year|date|time|month|wave|week)"
)
FEWEST_SUBJECTS = 10


def find_weights(fields: Sequence[Field], taken: set[str]) -> list[str]:
    """Find columns that weigh rows, among those that no formula speaks of."""
    found = []
    for field in fields:
        if field.numbers is None or field.column.kind != "number" or field.name in taken:
            continue
        values = field.ordered
        if not len(values) or values[0] < 0 or field.levels < 5:
            continue
        mean = float(values.mean())
        if WEIGHT.search(field.name) or (
            MAYBE_WEIGHT.search(field.name) and abs(mean - 1) < 0.05 and (field.decimals or 9) > 1
        ):
            found.append(field.name)
    return found


def find_subject(
    fields: Sequence[Field], determined: dict[str, int]
) -> tuple[str, str | None] | None:
    """Find the column whose values are subjects with several rows, and the one that orders them.

    ``determined`` counts for each column the columns that are constant within its levels.
    """
    best: tuple[float, str, str | None] | None = None
    for field in fields:
        subjects, rows = int((field.counts > 0).sum()), int(field.counts.sum())
        if field.is_missing.any() or subjects < FEWEST_SUBJECTS or rows < 2 * subjects:
            continue
        named = bool(ID_NAME.search(field.name)) and not TIME_NAME.search(field.name)
        whole = field.decimals in (0, None) and field.column.kind != "date"
        if not whole or (TIME_NAME.search(field.name) and not named):
            continue
        blocks = 1 + int((field.codes[1:] != field.codes[:-1]).sum())
        contiguous = blocks <= 1.02 * subjects
        time = _ordering(field, fields)
        constant = determined.get(field.name, 0)
        if field.numbers is not None and not (named or (contiguous and time)):
            continue
        if time is None and not (named and (contiguous or constant)):
            continue
        if time is not None and not (named or contiguous or _cycles(field, blocks)):
            continue
        score = (time is not None) * 4 + named * 2 + contiguous + min(constant, 3) / 3
        score += math.log(subjects) / 100
        if best is None or score > best[0]:
            best = (score, field.name, time)
    return None if best is None else best[1:]


def _cycles(field: Field, blocks: int) -> bool:
    """Whether the rows of the table are sorted by time, each subject once in each."""
    return blocks == len(field.codes) and field.counts.min() == field.counts.max()


def _ordering(subject: Field, fields: Sequence[Field]) -> str | None:
    """Find the column that never repeats within a subject, and would by chance."""
    best: tuple[float, str] | None = None
    for field in fields:
        if field is subject or field.numbers is None or field.is_missing.any():
            continue
        if not TIME_NAME.search(field.name) or field.levels < 2:
            continue
        pairs = subject.codes.astype(np.int64) * field.levels + field.codes
        if len(np.unique(pairs)) < len(pairs):
            continue
        saved = 0.0
        for size in subject.counts[subject.counts > 1]:
            if size > field.levels:
                return None
            places = np.arange(size) / field.levels
            saved -= float(np.log1p(-places).sum())
        if saved < ENOUGH:
            continue
        repeats = len(field.codes) / field.levels
        if best is None or (repeats > best[0]):
            best = (repeats, field.name)
    return None if best is None else best[1]
