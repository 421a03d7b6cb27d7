"""What is asked of a release, refused before any work is done if it cannot be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema import Schema, dumps, loads, near
from understudy.data.schema import read as read_schema
from understudy.data.tables import FORMATS, Taken, check_writable, take_in
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.measures.utility.estimates import check_formulas
from understudy.options import MOST_REPLICATES, MOST_ROWS, check_number
from understudy.synthesizers import SYNTHESIZERS, synthesizer
from understudy.synthesizers.claims import claimed
from understudy.workflows.advisor import ALL, AUTO
from understudy.workflows.running import SMALLEST, check_options, subgroups

FEWEST = 30  # rows on either side of the split
EXTENSIONS = {".txt": ".csv", ".xls": ".xlsx"}


def is_path(real: Any) -> bool:
    """Tell a file from a frame."""
    return isinstance(real, str | Path)


def check_method(
    method: str, options: Mapping[str, Mapping[str, Any]], rows: int | None, replicates: int
) -> None:
    """Refuse a method, options and numbers that are not to be had."""
    synthesizer(method, **options.get(method, {})).ready()
    for name in options:
        if name in SYNTHESIZERS and name != method:
            raise OptionError(f"{name} has options, but the method is {method}", hint="drop them")
    check_options({name: given for name, given in options.items() if name != method})
    if rows is not None:
        check_number("rows", rows, 1, MOST_ROWS, whole=True)
    check_number("replicates", replicates, 1, MOST_REPLICATES, whole=True)


def check_sizes(learn: int, control: int) -> None:
    """Refuse a split that leaves too few rows to learn from, or to judge by."""
    for rows, words in (
        (learn, "{} to learn from: too few"),
        (control, "a control of {}: too few to judge by"),
    ):
        if rows < FEWEST:
            some = words.format("1 row" if rows == 1 else f"{rows:,} rows")
            raise OptionError(
                f"{some}, {FEWEST} at least",
                hint="set --holdout-share nearer to 0.5, or give more rows or smaller groups",
            )


def take_in_real(
    real: Any, method: str, options: Mapping[str, Mapping[str, Any]], schema: Any
) -> Taken:
    """Take in the real table; where the method claims an epsilon, each line by itself."""
    alone = None
    if claimed(synthesizer(method, **options.get(method, {})).method) is not None:
        text = schema_text(schema)
        alone = Schema(()) if text is None else loads(text)
    return take_in(real, "real table", alone)


def schema_text(schema: Any) -> str | None:
    """Give a declared schema as the text of its file."""
    if schema is None:
        return None
    return dumps(schema if isinstance(schema, Schema) else read_schema(Path(schema)))


def extension_like(real: Any) -> str:
    """Choose the format of the synthetic files: that of the real one where it can be written."""
    name = Path(real).name.lower() if is_path(real) else ".parquet"
    known = max((e for e in FORMATS if name.endswith(e)), key=len)
    extension = EXTENSIONS.get(known, known)
    check_writable(Path(f"synthetic{extension}"))
    return extension


def check_columns(plan: Mapping[str, Any], schema: Schema) -> None:
    """Refuse roles of columns that are not there, or that training does not model."""
    words = {"keys": [AUTO], "sensitive": [ALL]}
    check_formulas(plan.get("formula", ()), schema.modelled)
    for role in ("target", "by", "keys", "sensitive"):
        if plan[role] == words.get(role):
            continue
        for name in plan[role] if isinstance(plan[role], list) else [plan[role]]:
            if name is not None and name not in schema.modelled:
                raise OptionError(
                    f"{role}: there is no column '{name}'", hint=near(name, schema.modelled)
                )


def check_levels(
    plan: Mapping[str, Any], schema: Schema, train: pl.DataFrame, holdout: pl.DataFrame
) -> None:
    """Refuse columns without levels that can be measured alone, as if training were the release."""
    if not plan["by"]:
        return
    rows = plan["rows"]
    release = train.head(rows) if rows is not None and rows < SMALLEST else train
    comparison = compare_tables(train, release, holdout, schema=schema)
    for column in plan["by"]:
        subgroups(comparison, column)
