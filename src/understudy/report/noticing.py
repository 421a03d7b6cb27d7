"""What a measure would notice, in words: the same for the console, the page and the notebook."""

from collections.abc import Mapping
from typing import Any

from understudy.report import words

KINDS = {
    "copies": "exact copies",
    "noisy": "copies, numbers ± 1 %",
    "outliers": "copies of outliers",
    "unique": "one unique row",
}


def size(value: float | None) -> str:
    """Print the size of a leak with two digits.

    Examples
    --------
    >>> size(0.00812), size(0.0561), size(0.1), size(0.00100)
    ('0.81 %', '5.6 %', '10 %', '0.10 %')
    """
    if value is None:
        return words.NONE
    share = 100 * value
    return f"{share:.2f} %" if share < 0.995 else f"{share:.1f} %" if share < 9.95 else "10 %"


def smallest(found: Mapping[str, Any] | None) -> str:
    """Print a smallest leak and its interval; what lies beyond the sizes planted is said so.

    Examples
    --------
    >>> smallest({"value": 0.008, "interval": [0.006, 0.011], "censored": None})
    '0.80 % (0.60–1.1 %)'
    >>> smallest({"value": None, "interval": [0.04, None], "censored": "above",
    ...           "bound": 0.1})
    'not within 10 %'
    """
    if not found:
        return words.NONE
    if found.get("censored"):
        within = "not within" if found["censored"] == "above" else "at most"
        return f"{within} {size(found['bound'])}"
    low, high = found["interval"]
    left = "< 0.1" if low is None else size(low).removesuffix(" %")
    right = "> 10 %" if high is None else size(high)
    return f"{size(found['value'])} ({left}–{right})"


def beside(finding: Mapping[str, Any]) -> str:
    """Say what the measure of a finding would notice on data like this; "" if that is not known.

    Examples
    --------
    >>> leak = {"value": 0.008, "interval": [0.006, 0.011], "censored": None}
    >>> beside({"calibration": {"blind": False, "smallest": leak}})
    'On data like this it notices leaks from 0.80 % of rows on (0.60–1.1 %).'
    """
    told = finding.get("calibration")
    if not told or finding.get("status", "ok") != "ok":
        return ""
    why = words.visible(told.get("why") or "")
    if told.get("blind"):
        return f"Blind here: {why}."
    found = told.get("smallest")
    if not found:
        return f"What it would notice is not known: {why.rstrip('.')}." if why else ""
    if found.get("censored") == "below":
        said = f"On data like this it notices leaks of {size(found['bound'])} of rows and less."
    else:
        value, _, ends = smallest(found).partition(" (")
        said = f"On data like this it notices leaks from {value} of rows on ({ends}."
    missed = [
        KINDS.get(kind, kind)
        for kind, other in (told.get("kinds") or {}).items()
        if other and other.get("censored") == "above"
    ]
    return f"{said} It does not notice within 10 %: {', '.join(missed)}." if missed else said
