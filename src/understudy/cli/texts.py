"""What options of the command line say: given values, margins, the names of replicates."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from understudy.cli import common
from understudy.errors import OptionError
from understudy.options import MOST_REPLICATES, check_number

GIVEN = "write --given A=VALUE, such as sex=F"
MARGIN = "write such as sex=F:0.5,M:0.5"


def given_values(texts: Iterable[str]) -> dict[str, str | None] | None:
    """Read ``A=VALUE`` pairs; a comma within a value is written twice.

    Examples
    --------
    >>> given_values(["sex=F,age=30", "income="])
    {'sex': 'F', 'age': '30', 'income': None}
    """
    given: dict[str, str | None] = {}
    for text in texts:
        for part in _parts(text):
            name, equals, value = part.partition("=")
            name = name.strip()
            if not equals or not name:
                raise OptionError(f"--given {text}", hint=GIVEN)
            if name in given:
                raise OptionError(f"--given names '{name}' twice", hint="give one value")
            given[name] = value.strip() or None
    return given or None


def margin_shares(texts: Iterable[str]) -> dict[str, dict[str | None, float]] | None:
    """Read ``A=VALUE:SHARE,VALUE:SHARE``; a comma within a value is written twice.

    Examples
    --------
    >>> margin_shares(["sex=F:0.5,M:0.5", "income=:0.1"])
    {'sex': {'F': 0.5, 'M': 0.5}, 'income': {None: 0.1}}
    """
    made: dict[str, dict[str | None, float]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        if not equals or not name.strip():
            raise OptionError(f"--margin {text}", hint=MARGIN)
        own = made.setdefault(name.strip(), {})
        for part in _parts(listed):
            value, colon, share = part.rpartition(":")
            level = value.strip() or None
            try:
                number = float(share)
            except ValueError:
                number = math.nan
            if not colon or not math.isfinite(number):
                raise OptionError(f"--margin {text}: '{part}' names no share", hint=MARGIN)
            if level in own:
                raise OptionError(f"--margin {text}: '{value}' stands twice", hint="name it once")
            own[level] = number
    return made or None


def _parts(text: str) -> Iterator[str]:
    """Split at commas, but not where one is written twice, which is a comma."""
    return (part.replace("\0", ",") for part in text.replace(",,", "\0").split(","))


def replicate_paths(out: Path, replicates: int) -> list[Path]:
    """Number the files of several replicates.

    Examples
    --------
    >>> [p.name for p in replicate_paths(Path("v1.2.csv.gz"), 2)]
    ['v1.2_1.csv.gz', 'v1.2_2.csv.gz']
    """
    check_number("replicates", replicates, 1, MOST_REPLICATES)
    if replicates == 1:
        return [out]
    extension = common.extension_of(out)
    stem = out.name[: len(out.name) - len(extension)]
    return [out.with_name(f"{stem}_{number}{extension}") for number in range(1, replicates + 1)]
