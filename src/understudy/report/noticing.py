"""What a measure would notice, in words: the same for the console, the page and the notebook."""

from collections.abc import Mapping
from typing import Any

from understudy.report import words

KINDS = {
    "copies": "exact copies",
    "noisy": "copies with numbers ± 1 %",
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
    >>> smallest({"value": 0.02, "interval": [None, None], "censored": None,
    ...           "planted": [0.0033, 0.1]})
    '2.0 % (< 0.33–> 10 %)'
    >>> few = {"value": None, "interval": [0.04, None], "censored": "above", "bound": 0.1,
    ...        "planted": [0.0033, 0.1], "missed": False}
    >>> smallest(few), smallest({**few, "missed": True})
    ('not known (4.0–> 10 %)', 'not within 10 %')
    """
    if not found:
        return words.NONE
    if found.get("censored") == "below":
        return f"at most {size(found['bound'])}"
    if found.get("censored") and found.get("missed"):
        return f"not within {size(found['bound'])}"
    low, high = found["interval"]
    least, most = found.get("planted") or (None, None)
    left = f"< {size(least)}" if low is None else size(low)
    right = f"> {size(most)}" if high is None else size(high)
    value = "not known" if found.get("censored") else size(found["value"])
    return f"{value} ({left.removesuffix(' %')}–{right})"


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
    if not found or found.get("censored") == "above":
        return f"What it would notice is not known: {why.rstrip('.')}." if why else ""
    if found.get("censored") == "below":
        few = "" if found["interval"][1] is not None else ", as far as few runs can tell"
        said = (
            f"On data like this it notices leaks of {size(found['bound'])} of rows{few}; "
            "smaller ones were not tried."
        )
    else:
        value, _, ends = smallest(found).partition(" (")
        said = f"On data like this it notices leaks from {value} of rows on ({ends}."
    missed = [
        KINDS.get(kind, kind)
        for kind, other in (told.get("kinds") or {}).items()
        if other and other.get("censored") == "above" and other.get("missed")
    ]
    return f"{said} It does not notice within 10 %: {', '.join(missed)}." if missed else said
