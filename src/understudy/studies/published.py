"""What the studies share: published figures, files, and tables that show both side by side."""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import polars as pl

from understudy.data.datasets import dataset
from understudy.data.tables import read_file
from understudy.errors import DataError, OptionError, near
from understudy.jobs.fingerprint import fingerprint
from understudy.jobs.journal import Journal, entry_value, opened, value_entry
from understudy.jobs.runner import run
from understudy.jobs.workers import Job

DIFFERS = " ≠"
SAME = "  "


@cache
def expected(study: str) -> dict[str, Any]:
    """Read the published figures of a study, as they are printed.

    Examples
    --------
    >>> expected("latner2025")["tables"]["Table 1"]["Original"]
    {'identity': '0.00', 'attribute': '0.00'}
    """
    path = Path(__file__).parent / study / "expected.json"
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return made


def chosen(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Give the data sets that are asked for, all if none is; refuse those that a study has not."""
    for name in names:
        if name not in known:
            raise OptionError(f"the study has no data set '{name}'", hint=near(name, known))
    return [name for name in known if not names or name in names]


def read_dataset(name: str, folder: Path | None) -> pl.DataFrame:
    """Read a data set of the registry as text, from a folder if one is given."""
    if folder is None:
        return read_file(dataset(name).path())
    path = folder / dataset(name).file
    if not path.is_file():
        raise DataError(f"there is no file '{path}'", hint="check the folder after --data")
    return read_file(path)


class StudyPart(NamedTuple):
    """A part of a study that is computed by itself; its words tell it from the others."""

    words: tuple[str, ...]

    @property
    def key(self) -> str:
        """What a journal calls it."""
        return ", ".join(self.words)


def kept_in(journal: Path | None, *decided_by: Any) -> AbstractContextManager[Journal | None]:
    """Open the journal of a study, if there is to be one: of these data and options alone."""
    own = partial(fingerprint, *decided_by)
    return opened(journal, own, "study", read=entry_value, write=value_entry)


def computed_parts(
    job: Job, parts: Iterable[tuple[str, ...]], kept: Journal | None, workers: int | None = 0
) -> Iterator[tuple[StudyPart, Any]]:
    """Compute parts that no journal knows, and give all as they come; a failure ends the study.

    They are computed in this process, unless more workers are asked for.
    """
    tasks = [StudyPart(words) for words in parts]
    for outcome in run(job, tasks, workers=workers, limit=math.inf, journal=kept):
        yield outcome.task, outcome.result()


def figure_table(title: str, labels: Iterable[str], figures: Iterable[str], **style: Any) -> Any:
    """Make a table for a terminal: columns of labels, then of figures."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    if title:
        table.title, table.title_justify = Text(title, style="bold"), "left"
    for label in labels:
        table.add_column(label, **style)
    for figure in figures:
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def dim(text: str) -> Any:
    """Give a published figure beside one that was computed."""
    from rich.text import Text

    return Text(text, style="dim")


def print_all(file: TextIO, parts: Iterable[Any]) -> None:
    """Print tables, each with an empty line after it, and sentences."""
    from rich.console import Console

    console = Console(file=file)
    for part in parts:
        console.print(part, highlight=False)
        if not isinstance(part, str):
            console.print()
