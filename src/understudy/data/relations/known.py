"""The relations of a table: those of its schema, or those found in its rows where nobody looked."""

import dataclasses

from understudy.data.relations.discovery import discover
from understudy.data.schema import Relation
from understudy.data.tables import Table

FEWEST = 5


def relations_of(table: Table, *, k: int = FEWEST) -> tuple[Relation, ...]:
    """Give the relations between the columns of a table.

    A schema that a person gave is taken at its word: what is not in it was taken out. Otherwise
    they are found in the rows, once a table; none of them tells a value of fewer than k rows.
    """
    if table.schema.relations or not table.is_inferred:
        return table.schema.relations
    return table.once(("relations", k), lambda: discover(table, k=k))


def with_relations(table: Table, *, k: int = FEWEST) -> Table:
    """Give a table whose schema says its relations; nobody looks for them again."""
    if not table.is_inferred:
        return table
    schema = dataclasses.replace(table.schema, relations=relations_of(table, k=k))
    return dataclasses.replace(table, schema=schema, is_inferred=False)
