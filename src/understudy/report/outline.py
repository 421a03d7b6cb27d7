"""What stands where, the same for the console and the page."""

from collections.abc import Iterable, Mapping
from typing import Any

from understudy.report import words

FAMILIES = {
    "fidelity": "Fidelity: does the synthetic table look like the real one?",
    "utility": "Utility: do analyses of it give the same answers?",
    "privacy": "Privacy: what does it disclose about the people in the real table?",
    "attack": "Attack: what could be learnt from the generator?",
}
_OUTCOME = ("verdict", "outcome", "result", "decision", "status")


def by_family(findings: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group findings by family: the known ones first, in the order of the design."""
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in FAMILIES}
    for finding in findings:
        groups.setdefault(words.family(finding["measure"]), []).append(finding)
    return {name: group for name, group in groups.items() if group}


def verdict(item: Any) -> tuple[str, str]:
    """Give a verdict's outcome in capitals, and the rest of it as one line.

    Examples
    --------
    >>> verdict({"verdict": "pass", "measure": "privacy.too_close", "reason": "bound 0.1"})
    ('PASS', 'measure: privacy.too_close; reason: bound 0.1')
    """
    if not isinstance(item, Mapping):
        return "", words.visible(item)
    key = next((name for name in _OUTCOME if isinstance(item.get(name), str)), None)
    rest = "; ".join(
        f"{words.visible(name).replace('_', ' ')}: {words.scalar(value)}"
        for name, value in item.items()
        if name != key and value not in (None, "")
    )
    return ("" if key is None else words.visible(item[key]).upper()), rest


def compared(provenance: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """List the tables compared as (name, rows, columns), as far as the provenance knows them.

    Examples
    --------
    >>> compared({"train": {"rows": 24421, "columns": 15}, "holdout": None})
    [('train', '24,421', '15')]
    """
    found = []
    for name in ("train", "synthetic", "holdout"):
        entry = provenance.get(name)
        several = entry if isinstance(entry, list | tuple) else [entry]
        for i, table in enumerate(several, start=1):
            if isinstance(table, Mapping):
                label = name if len(several) == 1 else f"{name}, replicate {i}"
                found.append((label, _count(table.get("rows")), _count(table.get("columns"))))
    return found


def has_holdout(provenance: Mapping[str, Any]) -> bool | None:
    """Tell whether there was a holdout; None if the provenance does not speak of tables."""
    return bool(provenance.get("holdout")) if provenance.get("train") else None


def _count(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = len(value)
    return f"{value:,}" if words.is_number(value) else words.NONE
