"""Schemas as TOML: written with the reasons, edited by people, read with care."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.schema.columns import FACTS, Column, Schema
from understudy.data.schema.relations import Relation
from understudy.data.schema.values import EITHER
from understudy.documents import loads_toml, read_text
from understudy.errors import DataError, OptionError, SchemaError, near

VERSION = 1
HEADER = """\
Schema of a table, read by `understudy ... --schema FILE`.
kind: number, category, date, identifier, name, text or constant; identifiers, names and text are
not learnt: identifiers are counted anew, names become pseudonyms, text is left out.
format: of a date such as "%d.%m.%Y", of a number the picture of 1234, such as "$1,234.00".
levels: the values of a category; in a number or a date, the words that stand among the values.
inferred: the facts that were read off the data. Once you have checked or changed a fact, delete
its name from this list: it is then declared by you, and free under differential privacy.
For sequential methods: method and predictors of a column; above the columns, visit = ["a", "b"]
(or "learnt") is the order of drawing, and rules = ["a is missing where b == 'x'"].
For every method, above the columns: constraints = ["start <= end", "18 <= age <= 99",
"positive income", "together city, country", "unique id"].
Below the columns, each [[relation]] holds in the rows of the table, and in synthetic ones: delete
it if it is chance, add one with holds alone: holds = "bmi = weight / (height / 100) ** 2",
"city determines country", "age_class = classes of age", "start <= end", "one of a, b, c",
"a is missing exactly where b == 'x'", "-8, -9 are codes of income", "w is a weight",
"id is a subject ordered by year". rows hold it, broken do not; inferred: read off the data."""
TYPES: dict[str, type] = {
    "name": str,
    "kind": str,
    "why": str,
    "stored": str,
    "decimals": int,
    "bounds": list,
    "levels": list,
    "format": str,
    "time_zone": str,
    "unit": str,
    "rest": str,
    "missing": bool,
    "inferred": list,
    "method": str,
    "predictors": list,
}
TOP = ("version", "visit", "rules", "constraints", "column", "relation")
RELATION = {"holds": str, "rows": int, "broken": int, "inferred": bool}
LARGEST_WHOLE = 2**63
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dumps(schema: Schema) -> str:
    """Write a schema as TOML.

    Examples
    --------
    >>> schema = Schema((Column("age", "number", decimals=0, bounds=(0.0, 120.0)),))
    >>> loads(dumps(schema)) == schema
    True
    """
    lines = [f"# {line}" for line in HEADER.splitlines()]
    lines.append(f"version = {VERSION}")
    for key in ("visit", "rules", "constraints"):
        value = getattr(schema, key)
        if value:
            lines.append(f"{key} = {_written(value)}")
    for column in schema:
        lines += ["", "[[column]]"]
        lines += [f"{key} = {_written(value)}" for key, value in _to_plain(column).items()]
    for relation in schema.relations:
        lines += ["", "[[relation]]", f"holds = {_written(relation.text)}"]
        facts = {"rows": relation.rows, "broken": relation.broken, "inferred": relation.inferred}
        lines += [
            f"{key} = {_written(value)}"
            for key, value in facts.items()
            if value is not None and value is not False
        ]
    return "\n".join([*lines, ""])


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, str):  # as in JSON, where one more character may stand as it is
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _to_plain(column: Column) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": column.name, "kind": column.kind}
    for key in ("why", "stored", "decimals", "format", "time_zone", "unit", "rest", "method"):
        value = getattr(column, key)
        if value not in (None, ""):
            plain[key] = value
    if column.bounds is not None:
        plain["bounds"] = [_bound_to_plain(b, column) for b in column.bounds]
    if column.levels:
        plain["levels"] = list(column.levels)
    if column.missing:
        plain["missing"] = True
    if column.predictors is not None:
        plain["predictors"] = list(column.predictors)
    if column.inferred:
        plain["inferred"] = [fact for fact in FACTS if fact in column.inferred]
    return plain


def _bound_to_plain(bound: float, column: Column) -> float | int | str:
    if column.kind == "date":
        return (EPOCH + timedelta(microseconds=bound)).replace(tzinfo=None).isoformat()
    return int(bound) if float(bound).is_integer() and abs(bound) < LARGEST_WHOLE else bound


def loads(text: str, *, name: str = "schema") -> Schema:
    """Read a schema from TOML; whatever is unknown or impossible is an error that says where."""
    try:
        data = loads_toml(text)
    except ValueError as error:
        raise SchemaError(
            f"{name}: {error}", hint="check the quotes, brackets and numbers there"
        ) from error
    unknown = set(data) - set(TOP)
    if unknown:
        raise SchemaError(f"{name}: unknown key '{min(unknown)}'", hint=near(min(unknown), TOP))
    if data.get("version", VERSION) != VERSION:
        raise SchemaError(
            f"{name}: version {data['version']} is not known here",
            hint=f"this program reads version {VERSION}",
        )
    columns = data.get("column")
    if not isinstance(columns, list) or not columns:
        raise SchemaError(f"{name}: there are no columns", hint="add [[column]] tables")
    made = tuple(_from_plain(entry, name) for entry in columns)
    known = [column.name for column in made]
    visit = data.get("visit", [])
    if visit != "learnt":
        visit = _texts(visit, "visit", 'visit = ["a", "b"], or "learnt"', name)
        _refuse_unknown(visit, known, f"{name}: visit")
        if len(set(visit)) < len(visit):
            twice = next(column for column in visit if visit.count(column) > 1)
            raise SchemaError(f"{name}: visit names '{twice}' twice", hint="name it once")
    for column in made:
        _refuse_unknown(
            column.predictors or (), known, f"{name}: the predictors of column '{column.name}'"
        )
    rules = _texts(data.get("rules", []), "rules", "rules = [\"a is 0 where b == 'x'\"]", name)
    constraints = _texts(
        data.get("constraints", []), "constraints", 'constraints = ["start <= end"]', name
    )
    relations = _relations(data.get("relation", []), known, name)
    return Schema(made, visit, rules, constraints, relations)


def _relations(entries: Any, known: list[str], file: str) -> tuple[Relation, ...]:
    """Read the relations between columns; one that is wrong is an error that says where."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SchemaError(
            f"{file}: relation = {entries!r}"[:200], hint='write [[relation]] and holds = "a <= b"'
        )
    made: dict[str, Relation] = {}
    for entry in entries:
        unknown = set(entry) - set(RELATION)
        if unknown:
            raise SchemaError(
                f"{file}: a relation has the unknown key '{min(unknown)}'",
                hint=near(min(unknown), RELATION),
            )
        for key, value in entry.items():
            if type(value) is not RELATION[key]:
                raise SchemaError(
                    f"{file}: a relation has {key} = {value!r}",
                    hint='such as holds = "a <= b", rows = 90, broken = 0, inferred = true',
                )
        if "holds" not in entry:
            raise SchemaError(
                f"{file}: a relation says nothing", hint='add such as holds = "a <= b"'
            )
        facts = {key: value for key, value in entry.items() if key != "holds"}
        try:
            one = Relation.parse(entry["holds"], known, **facts)
        except OptionError as error:
            raise SchemaError(f"{file}: {error.message}", hint=error.hint) from error
        if one.text in made:
            raise SchemaError(
                f"{file}: the relation '{one.text}' stands twice", hint="write it once"
            )
        made[one.text] = one
    return tuple(made.values())


def _texts(value: Any, key: str, hint: str, file: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise SchemaError(f"{file}: {key} = {value!r} is no list of texts", hint=f"write {hint}")
    return tuple(value)


def _refuse_unknown(names: Iterable[str], known: list[str], place: str) -> None:
    for name in names:
        if name not in known:
            raise SchemaError(f"{place} names the unknown column '{name}'", hint=near(name, known))


def _from_plain(entry: Any, file: str) -> Column:
    if not isinstance(entry, dict):
        raise SchemaError(
            f"{file}: there are no columns, but {entry!r}", hint="add [[column]] tables"
        )
    if not isinstance(entry.get("name"), str) or not isinstance(entry.get("kind"), str):
        raise SchemaError(
            f"{file}: a column without a name or a kind: {entry}", hint="give it both, as text"
        )
    name = entry["name"]
    unknown = set(entry) - set(TYPES)
    if unknown:
        raise SchemaError(
            f"{file}: column '{name}' has the unknown key '{min(unknown)}'",
            hint=near(min(unknown), TYPES),
        )
    facts = dict(entry)
    try:
        for key, value in facts.items():
            if type(value) is not TYPES[key]:
                raise TypeError(f"{key} = {value!r}")
        if "bounds" in facts:
            low, high = facts["bounds"]
            facts["bounds"] = (_bound_from_plain(low), _bound_from_plain(high))
        if "levels" in facts:
            facts["levels"] = tuple(_text(level) for level in facts["levels"])
        if "predictors" in facts:
            if not all(isinstance(other, str) for other in facts["predictors"]):
                raise TypeError(f"predictors = {facts['predictors']!r}")
            facts["predictors"] = tuple(facts["predictors"])
        facts["inferred"] = frozenset(facts.get("inferred", ()))
        _check_moments(facts)
        return Column(**facts)
    except SchemaError as error:
        message = error.message.removeprefix("schema: ")
        raise SchemaError(f"{file}: {message}", hint=error.hint) from error
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"{file}: column '{name}' has a value of the wrong form ({error})",
            hint='bounds = [low, high], levels = ["a", "b"], decimals = 2',
        ) from error


def _check_moments(facts: Mapping[str, Any]) -> None:
    """Refuse a format or zone that no moment can be written in."""
    if not (facts.get("format") or facts.get("time_zone")):
        return
    sample = pl.Series([datetime(2000, 1, 31, 13, 30)])
    form = "%Y" if facts.get("kind") == "number" else facts.get("format") or "%Y"
    try:
        for one in form.split(EITHER):
            sample.dt.to_string(one)
        sample.dt.replace_time_zone(facts.get("time_zone") or "UTC")
    except pl.exceptions.PolarsError as error:
        raise ValueError(str(error).splitlines()[0]) from error


def _bound_from_plain(bound: Any) -> float:
    if isinstance(bound, str):
        moment = datetime.fromisoformat(bound)
        since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
        return float(since // timedelta(microseconds=1))
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise TypeError(f"a bound of {bound!r}")
    return float(bound)


def _text(level: Any) -> str:
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, list | dict):
        raise TypeError(f"a level of {level!r}")
    return str(level)


def as_schema(given: Any) -> Schema | None:
    """Take a schema as it is, or read it from its file; none is none."""
    if isinstance(given, str | Path):
        return read(Path(given))
    if given is None or isinstance(given, Schema):
        return given
    raise SchemaError(
        f"schema: an object of type {type(given).__name__} is no schema",
        hint="give a Schema (understudy.schema) or the path of a schema file",
    )


def read(path: Path) -> Schema:
    """Read a schema file."""
    try:
        text = read_text(path, "schema", "give a TOML file")
    except DataError as error:
        raise SchemaError(error.message, hint=error.hint) from error
    return loads(text, name=str(path))
