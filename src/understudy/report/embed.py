"""What the page carries along for its script: the assessment, each table once, as JSON."""

import hashlib
import json
import math
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

# what would end the element, break a line of script or turn the writing round
_UNSAID = re.compile("[<>&\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Store:
    """Tables by number; equal ones have one number.

    Examples
    --------
    >>> store = Store()
    >>> table = {"columns": ["bin", "train"], "rows": [["a", 0.5], ["b", 0.5]]}
    >>> store.add(table), store.add(dict(table)), len(store.tables)
    (0, 0, 1)
    """

    def __init__(self) -> None:
        self.tables: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def add(self, table: Mapping[str, Any]) -> int:
        """Keep a table and give its number."""
        kept = packed(table)
        content = json.dumps(kept)
        number = self._numbers.setdefault(content, len(self.tables))
        if number == len(self.tables):
            self.tables.append(kept)
        return number


def packed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Turn rows into columns; where texts come again, a list of them and their places in it.

    Examples
    --------
    >>> packed({"columns": ["a", "b"], "rows": [["x", 1], ["x", 2], ["x", 3]]})
    {'columns': ['a', 'b'], 'values': [{'of': ['x'], 'at': [0, 0, 0]}, [1, 2, 3]]}
    """
    columns = list(table["columns"])
    values = [[plain(row[i]) for row in table["rows"]] for i in range(len(columns))]
    return {"columns": columns, "values": [_short(column) for column in values]}


def _short(column: list[Any]) -> Any:
    if not all(isinstance(v, str) for v in column):
        return column
    place = {text: i for i, text in enumerate(dict.fromkeys(column))}
    if 2 * len(place) > len(column):
        return column
    return {"of": list(place), "at": [place[v] for v in column]}


def plain(value: Any) -> Any:
    """Give a value that JSON can say; a number that is none becomes nothing."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def without_tables(data: Mapping[str, Any], numbers: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """Give the assessment with the number of each table in its place."""
    findings = [
        {**finding, "tables": dict(own)}
        for finding, own in zip(data.get("findings") or [], numbers, strict=True)
    ]
    made: dict[str, Any] = plain({**data, "findings": findings})
    return made


def as_json(value: Any) -> Markup:
    r"""Give JSON that can stand inside an element of a page.

    Examples
    --------
    >>> print(as_json({"a": "</script>"}))
    {"a":"\u003c/script\u003e"}
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(_UNSAID.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def fingerprint(text: str) -> str:
    """Give what a content security policy asks of a script or a style sheet."""
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
