"""Numbers, sentences and their order, the same for the console, the page and the notebook.

The speech is careful: a finding reports the risk under one attack, the reading of a copying
detector or the disclosure measured, and nothing is concluded beyond that.
"""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from understudy.options import is_finite

Cards = Mapping[str, Mapping[str, Any]]  # Card.to_dict() by the name of the measure
is_number = is_finite
NONE = "–"
BARE = ("", "correlation", "ratio")
OPENINGS = {
    "privacy": "The disclosure measured is",
    "attack": "The risk under this attack is",
}
DIRECTIONS = {
    "lower": "lower is better",
    "higher": "higher is better",
    "reference": "nearer the reference is better",
}
FAMILIES = {
    "fidelity": "Fidelity: does the synthetic table look like the real one?",
    "utility": "Utility: do analyses of it give the same answers?",
    "privacy": "Privacy: what does it disclose about the people in the real table?",
    "attack": "Attack: what could be learnt from the generator?",
}
_OUTCOME = ("verdict", "outcome", "result", "decision", "status")
LEAKS = {
    "copies": "exact copies",
    "noisy": "copies with numbers ± 1 %",
    "outliers": "copies of outliers",
    "unique": "one unique row",
}
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def visible(text: object) -> str:
    r"""Give text on one line in which nothing steers the terminal or turns the writing round.

    Examples
    --------
    >>> visible("a\nb\x1b[31m")
    'a b\\x1b[31m'
    """
    return "".join(
        " "
        if c in "\n\r\t"
        else c.encode("unicode_escape").decode()
        if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs")
        else c
        for c in str(text)
    )


def percent(value: float) -> str:
    """Print a fraction as per cent, never rounding to 0 or to all what is not.

    Examples
    --------
    >>> percent(0.0058), percent(0.4838), percent(0), percent(1e-6), percent(0.99999)
    ('0.58 %', '48.38 %', '0 %', '< 0.01 %', '> 99.99 %')
    """
    share = 100 * value
    if value in (0, 1):
        return f"{share:.0f} %"
    if abs(share) < 0.01:
        return "< 0.01 %" if share > 0 else "> -0.01 %"
    if 99.99 < share < 100:
        return "> 99.99 %"
    return f"{share:,.0f} %" if abs(share) >= 1000 else f"{share:.2f} %"


def significant(value: float) -> str:
    """Print a number with up to four digits that matter.

    Examples
    --------
    >>> significant(1.23456), significant(24421.3), significant(12), significant(3e-7)
    ('1.235', '24,421', '12', '3e-07')
    """
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1e9 or size < 1e-4:
        return f"{value:.3g}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def number(value: Any, unit: str = "") -> str:
    """Print a value with its unit; shares as per cent, what is missing as a dash.

    Examples
    --------
    >>> number(0.4838, "fraction"), number(1.5, "bits"), number(0.98, "correlation"), number(None)
    ('48.38 %', '1.5 bits', '0.98', '–')
    """
    if not is_number(value):
        return NONE
    if unit == "fraction":
        return percent(value)
    return significant(value) if unit in BARE else f"{significant(value)} {visible(unit)}"


def interval(ends: Any, unit: str = "") -> str:
    """Print the two ends of an interval; the unit is said beside the value.

    Examples
    --------
    >>> interval([0.0055, 0.0061], "fraction"), interval([1, 2.5], "bits"), interval(None)
    ('[0.55 %, 0.61 %]', '[1, 2.5]', '–')
    """
    if not ends:
        return NONE
    shown = unit if unit == "fraction" else ""
    return f"[{number(ends[0], shown)}, {number(ends[1], shown)}]"


def cells(finding: Mapping[str, Any]) -> tuple[str, str, str]:
    """Print value, interval and reference of a finding; the unit is said beside the value.

    Examples
    --------
    >>> cells({"value": 0.2, "unit": "bits", "reference": 0.1})
    ('0.2 bits', '–', '0.1')
    """
    unit = str(finding.get("unit") or "")
    return (
        number(finding.get("value"), unit),
        interval(finding.get("interval"), unit),
        number(finding.get("reference"), unit if unit == "fraction" else ""),
    )


def p_value(value: Any) -> str:
    """Print a p-value.

    Examples
    --------
    >>> p_value(0.0312), p_value(1e-9), p_value(None)
    ('0.0312', '< 0.001', '–')
    """
    if not is_number(value):
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3g}"


def level(value: Any) -> str:
    """Print the level of an interval.

    Examples
    --------
    >>> level(0.95), level(0.999), level(None)
    ('95 %', '99.9 %', '–')
    """
    return f"{100 * value:.4g} %" if is_number(value) else NONE


def direction(better: Any) -> str:
    """Say in which direction a number is good.

    Examples
    --------
    >>> direction("reference")
    'nearer the reference is better'
    """
    return DIRECTIONS.get(str(better), "no direction is better")


def mark(finding: Mapping[str, Any]) -> str:
    """Give the word beside a finding: flagged, failed, not applicable, or nothing.

    A measure that missed its positive control in a calibration is blind here.

    Examples
    --------
    >>> mark({"status": "ok", "flagged": True}), mark({"status": "not_applicable"})
    ('flagged', 'not applicable')
    >>> mark({"status": "ok", "calibration": {"blind": True}})
    'blind here'
    """
    if finding.get("status", "ok") != "ok":
        return visible(finding["status"]).replace("_", " ")
    words = ["flagged"] if finding.get("flagged") else []
    if (finding.get("calibration") or {}).get("blind"):
        words.append("blind here")
    return ", ".join(words)


def starred(finding: Mapping[str, Any], value: str) -> str:
    """Give the printed value, with an asterisk if it is flagged, or why there is none."""
    return mark(finding) if finding["status"] != "ok" else value + " *" * bool(finding["flagged"])


def side(finding: Mapping[str, Any]) -> str:
    """Say where the interval lies: above, below or around the reference; "" if either is missing.

    Examples
    --------
    >>> side({"interval": [0.1, 0.2], "reference": 0.05})
    'above'
    """
    ends, reference = finding.get("interval"), finding.get("reference")
    if not ends or not all(map(is_number, (*ends, reference))):
        return ""
    if ends[0] > reference:
        return "above"
    return "below" if ends[1] < reference else "around"


def sentence(
    finding: Mapping[str, Any],
    *,
    card: Mapping[str, Any] | None = None,
    holdout: bool | None = None,
) -> str:
    """Say a finding in one plain sentence, which the card's ``opening`` begins if it has one.

    ``holdout`` is whether the comparison had one, for a finding that has no reference.

    Examples
    --------
    >>> sentence({"measure": "fidelity.hellinger", "status": "ok", "unit": "fraction",
    ...           "value": 0.2, "interval": [0.18, 0.22], "level": 0.95, "reference": 0.1,
    ...           "better": "lower", "flagged": True})
    'The measure reads 20.00 %, where fresh real rows get 10.00 %; its 95 % interval
     [18.00 %, 22.00 %] lies above that reference, on the worse side, so it is flagged.'
    """
    if finding.get("status", "ok") != "ok":
        reason = visible(finding.get("note") or "no reason was given").strip()
        return _stop(f"{mark(finding).capitalize()}: {reason}")
    unit = str(finding.get("unit") or "")
    start = f"{opening(finding, card)} {number(finding.get('value'), unit)}"
    if not is_number(finding.get("reference")):
        missing = "no holdout" if holdout is False else "no reference"
        end = f"there is {missing} to compare with"
        if finding.get("interval"):
            end = f"its {_interval(finding, unit)} stands alone, for {end}"
        return _stop(f"{start}; {end}{_flag(finding, explained=False)}")
    against = visible((card or {}).get("against") or "fresh real rows get")
    start += f", where {against} {number(finding['reference'], unit)}"
    where = side(finding)
    if not where:
        return _stop(f"{start}; it has no interval{_flag(finding, explained=False)}")
    end, explained = "includes that reference", False
    if where != "around":
        bad = {"lower": "above", "higher": "below"}.get(str(finding.get("better")), where)
        explained = where == bad
        end = f"lies {where} that reference, on the {'worse' if explained else 'better'} side"
    return _stop(f"{start}; its {_interval(finding, unit)} {end}{_flag(finding, explained)}")


def opening(finding: Mapping[str, Any], card: Mapping[str, Any] | None = None) -> str:
    """Give the words before the value: the card's own, or what fits the family.

    Examples
    --------
    >>> opening({"measure": "privacy.x"}, {"opening": "This copying detector reads"})
    'This copying detector reads'
    >>> opening({"measure": "attack.x", "better": "lower"})
    'The risk under this attack is'
    """
    own = (card or {}).get("opening")
    if own:
        return visible(own)
    risky = finding.get("better") == "lower"
    return OPENINGS.get(_family(finding) if risky else "", "The measure reads")


def _interval(finding: Mapping[str, Any], unit: str) -> str:
    return f"{level(finding.get('level', 0.95))} interval {interval(finding['interval'], unit)}"


def _flag(finding: Mapping[str, Any], explained: bool) -> str:
    """Say why it is flagged, or why not although the interval is on the worse side."""
    p = finding.get("p_value")
    because = f" (p-value {p_value(p)})" if is_number(p) else ""
    if finding.get("flagged"):
        return f", {'so' if explained else 'and'} it is flagged{because}"
    return f", yet it is not flagged{because}" if explained else ""


def _stop(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def scalar(value: Any) -> str:
    """Print any plain value: numbers with few digits, lists and mappings in one line.

    Examples
    --------
    >>> scalar(0.123456), scalar(None), scalar(["a", 2]), scalar({"bins": 20})
    ('0.1235', '–', 'a, 2', 'bins 20')
    """
    if value is None:
        return NONE
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{visible(name)} {scalar(v)}" for name, v in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(scalar, value))
    return visible(value)


def by_family(findings: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Group findings by family: the known ones first, in the order of the design."""
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in FAMILIES}
    for finding in findings:
        groups.setdefault(_family(finding), []).append(finding)
    return {name: group for name, group in groups.items() if group}


def _family(finding: Mapping[str, Any]) -> str:
    return str(finding["measure"]).split(".", 1)[0]


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
        return {"outcome": "", "rule": visible(item), "measure": "", "why": "", "next": []}
    key = next((name for name in _OUTCOME if isinstance(item.get(name), str)), None)
    steps = item.get("next") or []
    said = ("rule", "why", "next", *(["measure"] if item.get("rule") else []), key)
    rest = "; ".join(
        f"{visible(name).replace('_', ' ')}: {scalar(value)}"
        for name, value in item.items()
        if name not in said and value not in (None, "")
    )
    rule = visible(item.get("rule") or "")
    return {
        "outcome": "" if key is None else visible(item[key]).upper(),
        "rule": "; ".join(filter(None, [rule, rest])),
        "measure": visible(item.get("measure") or ""),
        "why": visible(item.get("why") or ""),
        "next": [visible(s) for s in ([steps] if isinstance(steps, str) else steps)],
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
    said = (
        f"{failed} of {len(outcomes)} {'rule' if len(outcomes) == 1 else 'rules'} failed, "
        f"{unknown} {'is' if unknown == 1 else 'are'} inconclusive, {passed} passed."
    )
    outcome = "FAIL" if failed else "INCONCLUSIVE" if unknown else "PASS"
    return {"outcome": outcome, "sentence": said}


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
    many = len(value) if isinstance(value, list | tuple) else value
    return f"{many:,}" if is_number(many) else NONE


def leak_size(value: float | None) -> str:
    """Print the size of a leak with two digits.

    Examples
    --------
    >>> leak_size(0.00812), leak_size(0.0561), leak_size(0.1), leak_size(0.00100)
    ('0.81 %', '5.6 %', '10 %', '0.10 %')
    """
    if value is None:
        return NONE
    share = 100 * value
    return f"{share:.2f} %" if share < 0.995 else f"{share:.1f} %" if share < 9.95 else "10 %"


def smallest_leak(found: Mapping[str, Any] | None) -> str:
    """Print a smallest leak and its interval; what lies beyond the sizes planted is said so.

    Examples
    --------
    >>> smallest_leak({"value": 0.008, "interval": [0.006, 0.011], "censored": None})
    '0.80 % (0.60–1.1 %)'
    >>> smallest_leak({"value": 0.02, "interval": [None, None], "censored": None,
    ...           "planted": [0.0033, 0.1]})
    '2.0 % (< 0.33–> 10 %)'
    >>> few = {"value": None, "interval": [0.04, None], "censored": "above", "bound": 0.1,
    ...        "planted": [0.0033, 0.1], "missed": False}
    >>> smallest_leak(few), smallest_leak({**few, "missed": True})
    ('not known (4.0–> 10 %)', 'not within 10 %')
    """
    if not found:
        return NONE
    if found.get("censored") == "below":
        return f"at most {leak_size(found['bound'])}"
    if found.get("censored") and found.get("missed"):
        return f"not within {leak_size(found['bound'])}"
    low, high = found["interval"]
    least, most = found.get("planted") or (None, None)
    left = f"< {leak_size(least)}" if low is None else leak_size(low)
    right = f"> {leak_size(most)}" if high is None else leak_size(high)
    value = "not known" if found.get("censored") else leak_size(found["value"])
    return f"{value} ({left.removesuffix(' %')}–{right})"


def noticed(finding: Mapping[str, Any]) -> str:
    """Say what the measure of a finding would notice on data like this; "" if that is not known.

    Examples
    --------
    >>> leak = {"value": 0.008, "interval": [0.006, 0.011], "censored": None}
    >>> noticed({"calibration": {"blind": False, "smallest": leak}})
    'On data like this it notices leaks from 0.80 % of rows on (0.60–1.1 %).'
    """
    told = finding.get("calibration")
    if not told or finding.get("status", "ok") != "ok":
        return ""
    why = visible(told.get("why") or "")
    if told.get("blind"):
        return f"Blind here: {why}."
    found = told.get("smallest")
    if not found or found.get("censored") == "above":
        return f"What it would notice is not known: {why.rstrip('.')}." if why else ""
    if found.get("censored") == "below":
        few = "" if found["interval"][1] is not None else ", as far as few runs can tell"
        said = (
            f"On data like this it notices leaks of {leak_size(found['bound'])} of rows{few}; "
            "smaller ones were not tried."
        )
    else:
        value, _, ends = smallest_leak(found).partition(" (")
        said = f"On data like this it notices leaks from {value} of rows on ({ends}."
    missed = [
        LEAKS.get(kind, kind)
        for kind, other in (told.get("kinds") or {}).items()
        if other and other.get("censored") == "above" and other.get("missed")
    ]
    return f"{said} It does not notice within 10 %: {', '.join(missed)}." if missed else said


def whole_sentence(
    finding: Mapping[str, Any], card: Mapping[str, Any], holdout: bool | None
) -> str:
    """Say a finding, and what its measure would notice."""
    return f"{sentence(finding, card=card, holdout=holdout)} {noticed(finding)}".rstrip()
