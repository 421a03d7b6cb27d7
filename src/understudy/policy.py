"""Policy: rules over findings, decided on the interval and never on the point value.

A policy is a TOML file of tables, not of expressions::

    required = ["privacy.identical_matches"]

    [[rule]]
    measure = "privacy.closest_record"
    upper = 0.52
"""

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from understudy.advice import next_steps
from understudy.errors import OptionError
from understudy.schema import near

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]

EXIT: dict[Outcome, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
BOUNDS = ("upper", "lower", "ratio_to_reference")
KEYS = ("measure", "part", "by", *BOUNDS, "reason")
TOP = ("version", "required", "maximum_epsilon", "rule")
VERSION = 1
EPSILON = "epsilon"
NO_EPSILON = (
    "Make the table by a method with differential privacy, with a smaller epsilon: its marker "
    "says what was spent."
)


@dataclass(frozen=True)
class Rule:
    """What a measure, or one part of it, must keep to.

    Parameters
    ----------
    measure : str
    part : str, optional
        A part of the finding, such as a column.
    by : str, optional
        A column: the rule holds for each of its levels (``assess --by``).
    upper, lower : float, optional
        The interval must lie at or below, at or above.
    ratio_to_reference : float, optional
        The interval must lie at or below this many times the reference.
    reason : str
        Why the institution asks for it.
    """

    measure: str
    part: str | None = None
    by: str | None = None
    upper: float | None = None
    lower: float | None = None
    ratio_to_reference: float | None = None
    reason: str = ""

    @property
    def words(self) -> str:
        """Say what is asked for."""
        what = self.measure + (f" of {self.part}" if self.part else "")
        what += f" for each {self.by}" if self.by else ""
        asked = [
            text.format(bound)
            for text, bound in (
                ("at most {:g}", self.upper),
                ("at least {:g}", self.lower),
                ("at most {:g} times the reference", self.ratio_to_reference),
            )
            if bound is not None
        ]
        return f"{what}: {' and '.join(asked)}"

    def judge(self, finding: Mapping[str, Any] | None) -> "Verdict":
        """Decide by the interval of a finding; of several levels, by the worst."""
        if self.by is not None and finding is not None and finding["status"] == "ok":
            return self._judge_levels(finding, f"{self.by} = ")
        found = self._found(finding)
        if isinstance(found, str):
            return Verdict(self.words, "INCONCLUSIVE", self.measure, found)
        interval, reference = found.get("interval"), found.get("reference")
        if interval is None or None in interval:
            return Verdict(self.words, "INCONCLUSIVE", self.measure, "it has no interval")
        bounds: list[tuple[float, int]] = []
        for bound, sign in ((self.upper, 1), (self.lower, -1)):
            if bound is not None:
                bounds.append((bound, sign))
        if self.ratio_to_reference is not None:
            if reference is None:
                why = "it has no reference to be compared with"
                return Verdict(self.words, "INCONCLUSIVE", self.measure, why)
            bounds.append((self.ratio_to_reference * reference, 1))
        outcomes = [_side(interval, bound, sign) for bound, sign in bounds]
        outcome = worst(outcomes)
        why = f"the interval is [{interval[0]:.6g}, {interval[1]:.6g}]"
        bound = bounds[outcomes.index(outcome)][0]
        return Verdict(self.words, outcome, self.measure, why, bound)

    def _judge_levels(self, finding: Mapping[str, Any], prefix: str) -> "Verdict":
        """Decide every level of a column and give the worst verdict."""
        names = [p["name"] for p in finding.get("parts", ()) if p["name"].startswith(prefix)]
        if not names:
            why = f"it was not measured by {self.by} (assess --by {self.by})"
            return Verdict(self.words, "INCONCLUSIVE", self.measure, why)
        alone = dataclasses.replace(self, by=None)
        verdicts = {n: dataclasses.replace(alone, part=n).judge(finding) for n in names}
        outcome = worst(v.outcome for v in verdicts.values())
        told = [f"{n}: {v.why}" for n, v in verdicts.items() if v.outcome == outcome]
        return Verdict(self.words, outcome, self.measure, "; ".join(told))

    def _found(self, finding: Mapping[str, Any] | None) -> Mapping[str, Any] | str:
        """Give the numbers to decide on, or why there are none."""
        if finding is None:
            return "it was not measured"
        if finding["status"] != "ok":
            return f"it is {finding['status'].replace('_', ' ')}: {finding.get('note', '')}".strip()
        if self.part is None:
            return finding
        for part in finding.get("parts", ()):
            if part["name"] == self.part:
                return dict(part)
        return f"it has no part '{self.part}'"


@dataclass(frozen=True)
class Verdict:
    """What became of a rule, and why."""

    rule: str
    outcome: Outcome
    measure: str
    why: str
    bound: float | None = None
    next: tuple[str, ...] = ()

    def advised(
        self, finding: Mapping[str, Any] | None, provenance: Mapping[str, Any]
    ) -> "Verdict":
        """Add what to do next, where the rule did not pass."""
        if self.outcome == "PASS":
            return self
        if self.measure == EPSILON:
            return dataclasses.replace(self, next=(NO_EPSILON,))
        steps = next_steps(
            finding, provenance, measure=self.measure, outcome=self.outcome, bound=self.bound
        )
        return dataclasses.replace(self, next=steps)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what to do next stands there where something is to be done."""
        plain = {
            "rule": self.rule,
            "outcome": self.outcome,
            "measure": self.measure,
            "why": self.why,
        }
        return plain if not self.next else {**plain, "next": list(self.next)}


@dataclass(frozen=True)
class Policy:
    r"""Rules, and measures that must have been taken.

    Examples
    --------
    >>> policy = loads('[[rule]]\nmeasure = "privacy.closest_record"\nupper = 0.52')
    >>> found = {"measure": "privacy.closest_record", "status": "ok", "interval": [0.49, 0.51]}
    >>> [verdict.outcome for verdict in policy.judge([found])]
    ['PASS']
    """

    rules: tuple[Rule, ...]
    required: tuple[str, ...] = ()
    maximum_epsilon: float | None = None

    def judge(
        self, findings: Iterable[Mapping[str, Any]], provenance: Mapping[str, Any] | None = None
    ) -> list[Verdict]:
        """Decide every rule; a required measure that is not there is a failure."""
        by_name = {finding["measure"]: finding for finding in findings}
        made = []
        for name in self.required:
            status = by_name.get(name, {}).get("status", "not measured")
            outcome: Outcome = "PASS" if status == "ok" else "FAIL"
            why = "it was measured" if status == "ok" else f"it is {status.replace('_', ' ')}"
            made.append(Verdict(f"{name} is required", outcome, name, why))
        if self.maximum_epsilon is not None:
            made.append(_judge_epsilon(self.maximum_epsilon, provenance or {}))
        made += [rule.judge(by_name.get(rule.measure)) for rule in self.rules]
        return [v.advised(by_name.get(v.measure), provenance or {}) for v in made]


def _judge_epsilon(maximum: float, provenance: Mapping[str, Any]) -> Verdict:
    """Decide what the release says it spent; no word about it is not a pass."""
    rule, spent = f"epsilon: at most {maximum:g}", provenance.get("epsilon_spent")
    if spent is None:
        why = "nothing says that the table was made with differential privacy"
        return Verdict(rule, "INCONCLUSIVE", EPSILON, why)
    return Verdict(rule, "PASS" if spent <= maximum else "FAIL", EPSILON, f"{spent:g} was spent")


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Give the worst of several outcomes; a failure is worse than not knowing.

    Examples
    --------
    >>> worst(["PASS", "INCONCLUSIVE"]), worst(["FAIL", "INCONCLUSIVE"]), worst(["PASS"])
    ('INCONCLUSIVE', 'FAIL', 'PASS')
    """
    found = set(outcomes)
    return "FAIL" if "FAIL" in found else "INCONCLUSIVE" if found - {"PASS"} else "PASS"


def to_junit(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as JUnit XML: what fails is a failure, what is undecided an error."""
    suite = ElementTree.Element("testsuite", name="understudy policy", tests=str(len(verdicts)))
    kinds = {"FAIL": "failure", "INCONCLUSIVE": "error"}
    for outcome, kind in kinds.items():
        suite.set(f"{kind}s", str(sum(v.outcome == outcome for v in verdicts)))
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=verdict.measure, name=verdict.rule
        )
        if verdict.outcome in kinds:
            ElementTree.SubElement(case, kinds[verdict.outcome], message=verdict.why)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _side(interval: tuple[float, float], bound: float, sign: int) -> Outcome:
    """Decide one bound; an interval that ends on it keeps to it."""
    low, high = interval if sign > 0 else (-interval[1], -interval[0])
    bound *= sign
    return "PASS" if high <= bound else "FAIL" if low > bound else "INCONCLUSIVE"


def read(path: Path, measures: Iterable[str] = ()) -> Policy:
    """Read a policy file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(
            f"{path}: cannot be read as a policy ({error})", hint="give a TOML file"
        ) from error
    return loads(text, name=str(path), measures=measures)


def loads(text: str, *, name: str = "policy", measures: Iterable[str] = ()) -> Policy:
    """Read a policy; whatever is unknown or impossible is an error with its line."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{name}: {error}", hint="check the quotes and brackets there") from error
    lines = text.splitlines()
    _known(data, TOP, f"{name}: line {{}}", lines, 0)
    if data.get("version", VERSION) != VERSION:
        raise OptionError(
            f"{name}: version {data['version']} is not known here", hint=f"write {VERSION}"
        )
    known, required, rules = tuple(measures), data.get("required", []), data.get("rule", [])
    maximum = data.get("maximum_epsilon")
    if maximum is not None:
        place = f"{name}: line {_line(lines, 'maximum_epsilon', 0)}"
        _number(maximum, "maximum_epsilon", place)
        if maximum <= 0:
            raise OptionError(f"{place}: maximum_epsilon = {maximum}", hint="use one above 0")
    lists = isinstance(required, list) and isinstance(rules, list)
    if not lists or not (required or rules or maximum is not None):
        raise OptionError(
            f"{name}: there is no rule", hint='write [[rule]] with measure = "…" and upper = …'
        )
    for measure in required:
        _check_measure(measure, known, f"{name}: line {_line(lines, 'required', 0)}: required")
    starts = [number for number, line in enumerate(lines) if line.strip().startswith("[[rule]]")]
    starts += [0] * (len(rules) - len(starts))
    made = [
        _rule(entry, name, lines, start, known) for entry, start in zip(rules, starts, strict=False)
    ]
    return Policy(tuple(made), tuple(required), maximum)


def _rule(entry: Any, name: str, lines: list[str], start: int, measures: tuple[str, ...]) -> Rule:
    here = f"{name}: line {start + 1}"
    if not isinstance(entry, dict) or not isinstance(entry.get("measure"), str):
        raise OptionError(f"{here}: a rule without a measure", hint='write measure = "…"')
    _known(entry, KEYS, f"{name}: line {{}}", lines, start)
    _check_measure(entry["measure"], measures, here)
    for key in ("part", "by", "reason"):
        if not isinstance(entry.get(key, ""), str):
            raise OptionError(f"{here}: {key} = {entry[key]!r} is no text", hint="put quotes")
    if "part" in entry and "by" in entry:
        raise OptionError(f"{here}: part and by in one rule", hint="write two rules")
    bounds = {key: entry[key] for key in BOUNDS if key in entry}
    if not bounds:
        raise OptionError(f"{here}: a rule without a bound", hint=f"give {', '.join(BOUNDS)}")
    for key, bound in bounds.items():
        place = f"{name}: line {_line(lines, key, start)}"
        _number(bound, key, place)
        if key == "ratio_to_reference" and bound <= 0:
            raise OptionError(f"{place}: {key} = {bound}", hint="use a number above 0")
    if "upper" in bounds and "lower" in bounds and bounds["lower"] > bounds["upper"]:
        raise OptionError(
            f"{here}: lower {bounds['lower']} is above upper {bounds['upper']}: nothing can pass",
            hint="write the smaller one as lower",
        )
    return Rule(**entry)


def _number(value: Any, key: str, place: str) -> None:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    if not plain or not math.isfinite(value):
        raise OptionError(f"{place}: {key} = {value!r} is no number", hint="write a number")


def _known(
    entry: Mapping[str, Any], keys: Iterable[str], place: str, lines: list[str], start: int
) -> None:
    for key in entry:
        if key not in keys:
            line = _line(lines, key, start)
            raise OptionError(f"{place.format(line)}: unknown key '{key}'", hint=near(key, keys))


def _check_measure(measure: Any, measures: tuple[str, ...], place: str) -> None:
    if not isinstance(measure, str) or (measures and measure not in measures):
        raise OptionError(
            f"{place}: there is no measure '{measure}'", hint=near(str(measure), measures)
        )


def _line(lines: list[str], key: str, start: int) -> int:
    """Find the line on which a key is set, from a place on."""
    for number, line in enumerate(lines[start:], start=start + 1):
        if line.split("=")[0].strip().strip("\"'[]") == key:
            return number
    return start + 1
