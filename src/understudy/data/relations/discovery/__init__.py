"""Relations that a table holds, found by evidence.

The search goes from what is cheap to say to what is dear: columns switched on and off, the same
column transformed, lookups and classes, products, linear combinations; then groups, orders, missing
values and what a row is. Pairs and triples are screened on at most 2,000 rows; whatever is said was
verified on every row. A relation must save far more nats than it costs to state.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.data.grammar import quoted_value
from understudy.data.relations.discovery.choosing import (
    Derived,
    choose_lookups,
    choose_products,
    choose_transforms,
)
from understudy.data.relations.discovery.evidence import NEAR
from understudy.data.relations.discovery.fields import Field, read_fields, read_names, screened_rows
from understudy.data.relations.discovery.formulas import Proposal, quoted
from understudy.data.relations.discovery.groups import (
    find_codes,
    find_missing,
    find_one_hot,
    find_orders,
    without_detours,
)
from understudy.data.relations.discovery.linear import find_sums
from understudy.data.relations.discovery.lookups import find_classes, find_lookups
from understudy.data.relations.discovery.products import find_interactions, find_products
from understudy.data.relations.discovery.subjects import find_subject, find_weights
from understudy.data.relations.discovery.switches import find_switches
from understudy.data.relations.discovery.transforms import find_transforms
from understudy.data.relations.judging import computed_values, is_missing
from understudy.data.schema import Relation
from understudy.data.tables import Table

__all__ = ["discover"]

FEWEST_ROWS = 40


def discover(table: Table, *, k: int = 5) -> tuple[Relation, ...]:
    """Find the relations of a table, each with the rows that support and that break it.

    Parameters
    ----------
    table : Table
    k : int
        Lookups and classes speak only of levels that at least this many rows hold.

    Returns
    -------
    tuple of Relation
        Those that broken rows are few of (at most 0.5 %) are near ones: said, but not held.

    Examples
    --------
    >>> import polars as pl
    >>> x = np.random.default_rng(0).integers(50, 99, 80)
    >>> found = discover(Table.of(pl.DataFrame({"grams": 1000 * x, "kilos": x})))
    >>> [relation.text for relation in found]
    ['kilos = grams / 1000']
    """
    if table.height < FEWEST_ROWS:
        return ()
    with np.errstate(all="ignore"):  # logarithms of 0, ratios by 0: no numbers, no values
        return _discover(table, k)


def _discover(table: Table, k: int) -> tuple[Relation, ...]:
    fields = read_fields(table)
    rows = screened_rows(table.height)
    texts: list[str] = []
    codes: list[str] = []
    for place, field in enumerate(fields):
        values = find_codes(field, k)
        if values:
            said = "are codes" if len(values) > 1 else "is a code"
            codes.append(f"{', '.join(map(quoted_value, values))} {said} of {quoted(field.name)}")
            fields[place] = _without(field, [float(value) for value in values])
    derived = _derive(fields, rows, k)
    texts += [one.text for one in derived.said]
    texts += codes
    groups = [g for g in find_one_hot(fields) if not any(name in derived for name in g)]
    texts += [f"one of {', '.join(map(quoted, group))}" for group in groups]
    free = [f for f in fields if f.name not in derived]
    together = [{one.target, *one.sources} for one in derived.said]
    for low, high in without_detours(find_orders(free, rows)):
        if not any({low, high} <= names for names in together):
            texts.append(f"{quoted(low)} <= {quoted(high)}")
    implied = _missing_by_formula(table, texts)
    for name, where, other in find_missing(fields, k):
        if name not in implied and other not in derived.sources.get(name, ()):
            texts.append(f"{quoted(name)} is missing exactly where {where}")
    used = {name for one in derived.said for name in (one.target, *one.sources)}
    texts += [f"{quoted(name)} is a weight" for name in find_weights(fields, used)]
    constant: dict[str, int] = {}
    for one in derived.said:
        if " determines " in one.text:
            constant[one.sources[0]] = constant.get(one.sources[0], 0) + 1
    subject = find_subject([*fields, *read_names(table)], constant)
    if subject is not None:
        by = f" ordered by {quoted(subject[1])}" if subject[1] else ""
        texts.append(f"{quoted(subject[0])} is a subject{by}")
    found = [_counted(table, text, k) for text in texts]
    return tuple(relation for relation in found if relation is not None)


def _missing_by_formula(table: Table, texts: Sequence[str]) -> set[str]:
    """Give the columns that are missing exactly where their formula has no value."""
    found = set()
    for text in texts:
        relation = Relation.parse(text, table.schema.names)
        if relation.kind == "formula" and relation.said.where is None and relation.target:
            computed = computed_values(relation, table)[0]
            if np.array_equal(np.isnan(computed), np.isnan(table.numbers(relation.target))):
                found.add(relation.target)
    return found


def _derive(fields: Sequence[Field], rows: NDArray[np.int64], k: int) -> Derived:
    """Choose what is computed from what."""
    named = {f.name: f for f in fields}
    derived = Derived()
    choose_transforms(find_transforms(fields, rows), named, derived)
    choose_products(find_interactions(fields, rows), named, derived)
    left = [f for f in fields if f.name not in derived]
    both = [*find_lookups(left, rows, k), *find_classes(left, rows, k)]
    choose_lookups(_cheapest(both), named, derived)
    choose_products(find_products(left, rows), named, derived)
    hidden = {group[-1] for group in find_one_hot(fields)}
    plain = [f for f in left if f.name not in derived and f.name not in hidden]
    for one in find_sums(plain, rows):
        derived.take(one)
    _choose_switches(left, rows, k, derived)
    derived.take_near()
    return derived


def _choose_switches(
    fields: Sequence[Field], rows: NDArray[np.int64], k: int, derived: Derived
) -> None:
    """Say switches of columns that nothing else computes: first those with most sources."""
    explained = [frozenset((one.target, *one.sources)) for one in derived.said]
    places = {f.name: place for place, f in enumerate(fields)}
    found = [
        one
        for one in find_switches(fields, rows, k)
        if not any({one[0].target, one[0].sources[0]} <= names for names in explained)
    ]
    pairs = {(p.target, p.sources[0]) for p, _, _ in found}
    many = Counter(target for target, _ in pairs)
    found.sort(key=lambda one: (-many[one[0].target], -places[one[0].target], -one[0].nats))
    for proposal, key, levels in found:
        derived.take_switch(proposal, key, levels)


def _cheapest(found: Sequence[Proposal]) -> list[Proposal]:
    """Of a lookup and classes of the same two columns, keep what is cheaper to say."""
    best: dict[tuple[str, str], Proposal] = {}
    for one in found:
        pair = (one.sources[0], one.target)
        if pair not in best or (one.broken, -one.nats) < (best[pair].broken, -best[pair].nats):
            best[pair] = one
    return list(best.values())


def _without(field: Field, values: Sequence[float]) -> Field:
    """Give a column whose codes are no numbers."""
    assert field.numbers is not None
    gone = np.isin(field.numbers, values)
    return dataclasses.replace(field, numbers=np.where(gone, np.nan, field.numbers))


def _counted(table: Table, text: str, k: int) -> Relation | None:
    """Judge a relation on every row; none if it breaks in more than a few."""
    relation = Relation.parse(text, table.schema.names)
    if not relation.is_judged:
        return dataclasses.replace(relation, rows=_speaks(table, relation), broken=0, inferred=True)
    judged = relation.learn(table, k=k).judge(table)
    if judged.broken > NEAR * (judged.holds + judged.broken) or not judged.holds:
        return None
    return dataclasses.replace(relation, rows=judged.holds, broken=judged.broken, inferred=True)


def _speaks(table: Table, relation: Relation) -> int:
    """Count the rows that a code, a weight or a subject is said of."""
    assert relation.target is not None
    if relation.kind == "code":
        codes = [float(value) for value in relation.said.values]
        return int(np.isin(table.numbers(relation.target), codes).sum())
    return int((~is_missing(table, relation.target)).sum())
