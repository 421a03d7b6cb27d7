"""The schema of a table with the relations that its rows hold."""

import dataclasses
from pathlib import Path
from typing import Any

from understudy.data.relations.discovery import discover
from understudy.data.relations.known import relations_of
from understudy.data.schema import Schema, infer, read
from understudy.data.tables import Table, take_in


def schema(data: Any) -> Schema:
    """Say what the columns of a path or a frame are, and which relations hold between them.

    A schema file (TOML) is read as it is; relations that a table declares stay as they are.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"sex": ["f", "m"] * 60, "age": [*range(20, 80)] * 2})
    >>> made = schema(frame.with_columns(born=2020 - pl.col("age")))
    >>> made["sex"].kind, [str(relation) for relation in made.relations]
    ('category', ['born = 2020 - age'])
    """
    if isinstance(data, str | Path) and Path(data).suffix == ".toml":
        return read(Path(data))
    if isinstance(data, Table):
        return dataclasses.replace(data.schema, relations=relations_of(data))
    taken = take_in(data)
    made = infer(taken.frame)
    if not made.modelled:
        return made
    return dataclasses.replace(made, relations=discover(Table.of(taken.frame, made)))
