"""What a table is made of: columns, kinds, and where each fact comes from."""

from understudy.data.schema.columns import Column, Kind, Schema, Stored, few, shortened
from understudy.data.schema.inference import infer, learn_again
from understudy.data.schema.relations import Relation, RelationKind
from understudy.data.schema.toml import as_schema, dumps, loads, read
from understudy.data.schema.values import (
    Values,
    beyond_years,
    labels,
    read_values,
    same_level,
    same_number,
)

__all__ = [
    "Column",
    "Kind",
    "Relation",
    "RelationKind",
    "Schema",
    "Stored",
    "Values",
    "as_schema",
    "beyond_years",
    "dumps",
    "few",
    "infer",
    "labels",
    "learn_again",
    "loads",
    "read",
    "read_values",
    "same_level",
    "same_number",
    "shortened",
]
