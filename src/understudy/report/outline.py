"""What stands where, the same for the console and the page."""

from collections.abc import Iterable, Mapping, Sequence
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


def verdict(item: Any) -> dict[str, Any]:
    """Give a verdict's outcome in capitals, its rule, why, and what to do next.

    Examples
    --------
    >>> made = verdict({"outcome": "pass", "rule": "share: at most 0.5", "measure": "privacy.x"})
    >>> made["outcome"], made["rule"], made["measure"], made["next"]
    ('PASS', 'share: at most 0.5', 'privacy.x', [])
    >>> verdict({"result": "FAIL", "bound": 0.25})["rule"]
    'bound: 0.25'
    """
    if not isinstance(item, Mapping):
        return {"outcome": "", "rule": words.visible(item), "measure": "", "why": "", "next": []}
    key = next((name for name in _OUTCOME if isinstance(item.get(name), str)), None)
    steps = item.get("next") or []
    said = ("rule", "why", "next", *(["measure"] if item.get("rule") else []), key)
    rest = "; ".join(
        f"{words.visible(name).replace('_', ' ')}: {words.scalar(value)}"
        for name, value in item.items()
        if name not in said and value not in (None, "")
    )
    rule = words.visible(item.get("rule") or "")
    return {
        "outcome": "" if key is None else words.visible(item[key]).upper(),
        "rule": "; ".join(filter(None, [rule, rest])),
        "measure": words.visible(item.get("measure") or ""),
        "why": words.visible(item.get("why") or ""),
        "next": [words.visible(s) for s in ([steps] if isinstance(steps, str) else steps)],
    }


def overall(verdicts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Give the outcome of all rules together, and how many are of which kind.

    A failure is worse than not knowing, and what is not a pass is no pass.

    Examples
    --------
    >>> overall([{"outcome": "PASS"}, {"outcome": "FAIL"}])
    {'outcome': 'FAIL', 'sentence': '1 of 2 rules failed, 0 are inconclusive, 1 passed.'}
    """
    outcomes = [v["outcome"] for v in verdicts]
    failed, passed = outcomes.count("FAIL"), outcomes.count("PASS")
    unknown = len(outcomes) - failed - passed
    sentence = (
        f"{failed} of {len(outcomes)} {'rule' if len(outcomes) == 1 else 'rules'} failed, "
        f"{unknown} {'is' if unknown == 1 else 'are'} inconclusive, {passed} passed."
    )
    outcome = "FAIL" if failed else "INCONCLUSIVE" if unknown else "PASS"
    return {"outcome": outcome, "sentence": sentence}


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
