"""Rules, and what becomes of them: PASS, FAIL or INCONCLUSIVE."""

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from understudy.data.schema import few
from understudy.options import is_finite
from understudy.workflows.assessment import Assessment
from understudy.workflows.policy.next_steps import RuleNumbers, next_steps

Outcome = Literal["PASS", "FAIL", "INCONCLUSIVE"]

EXIT: dict[Outcome, int] = {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3}
EPSILON = "epsilon"
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in XML 1.0
NO_EPSILON = (
    "Make the table by a method with differential privacy, with a smaller epsilon: its marker "
    "says what was spent."
)


@dataclass(frozen=True)
class Verdict:
    """What became of a rule, and why.

    ``missed`` are the numbers that did not keep to a bound; they tell what to do next.
    """

    rule: str
    outcome: Outcome
    measure: str
    why: str
    reason: str = ""
    missed: RuleNumbers | None = None
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
            finding, provenance, measure=self.measure, outcome=self.outcome, missed=self.missed
        )
        return dataclasses.replace(self, next=steps)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; reason and next steps stand there where there are some."""
        return {
            "rule": self.rule,
            "outcome": self.outcome,
            "measure": self.measure,
            "why": self.why,
            **({"reason": self.reason} if self.reason else {}),
            **({"next": list(self.next)} if self.next else {}),
        }


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
    ratio_to_reference, difference_to_reference : float, optional
        The interval must be no worse than this many times the reference, than the reference and
        this much: at or below it where lower is better, at or above it where higher is better.
    if_applicable : bool
        Whether the rule is kept where the measure does not apply to the tables, such as relations
        between columns where training has none; otherwise that is undecided.
    reason : str
        Why the institution asks for it.
    """

    measure: str
    part: str | None = None
    by: str | None = None
    upper: float | None = None
    lower: float | None = None
    ratio_to_reference: float | None = None
    difference_to_reference: float | None = None
    if_applicable: bool = False
    reason: str = ""

    @property
    def words(self) -> str:
        """Say what is asked for."""
        what = self.measure + (f" of {self.part}" if self.part else "")
        what += f" for each {self.by}" if self.by else ""
        asked = [
            text.format(bound)
            for text, bound in (
                ("at most {:.12g}", self.upper),
                ("at least {:.12g}", self.lower),
                ("no worse than {:.12g} times the reference", self.ratio_to_reference),
                ("no worse than the reference by {:.12g}", self.difference_to_reference),
            )
            if bound is not None
        ]
        told = f"{what}: {' and '.join(asked)}"
        return f"{told}, if it applies" if self.if_applicable else told

    def judge(self, finding: Mapping[str, Any] | None) -> Verdict:
        """Decide by the interval of a finding; of several levels, by the worst."""
        if finding is not None and finding["status"] == "not_applicable" and self.if_applicable:
            return Verdict(self.words, "PASS", self.measure, _lacking(finding), self.reason)
        if finding is None or finding["status"] != "ok":
            return self._undecided(_lacking(finding))
        if self.by is not None:
            return self._judge_levels(finding, f"{self.by} = ")
        if self.part is None:
            return self._decide(finding, finding)
        for part in finding.get("parts", ()):
            if part["name"] == self.part:
                return self._decide(part, finding)
        return self._undecided(f"it has no part '{self.part}'")

    def _undecided(self, why: str) -> Verdict:
        return Verdict(self.words, "INCONCLUSIVE", self.measure, why, self.reason)

    def _judge_levels(self, finding: Mapping[str, Any], prefix: str) -> Verdict:
        """Decide every level of a column and give the worst verdict."""
        parts = [p for p in finding.get("parts", ()) if p["name"].startswith(prefix)]
        if not parts:
            return self._undecided(f"it was not measured by {self.by} (assess --by {self.by})")
        verdicts = [(part["name"], self._decide(part, finding)) for part in parts]
        outcome = worst(verdict.outcome for _, verdict in verdicts)
        decisive = [(name, v) for name, v in verdicts if v.outcome == outcome]
        why = "; ".join(f"{name}: {verdict.why}" for name, verdict in decisive)
        return dataclasses.replace(decisive[0][1], why=why)

    def _decide(self, found: Mapping[str, Any], finding: Mapping[str, Any]) -> Verdict:
        """Decide on the numbers of a finding or of a part of it."""
        interval, reference = found.get("interval"), found.get("reference")
        if interval is None or not all(map(is_finite, interval)):
            return self._undecided("it has no interval")
        relative = (self.ratio_to_reference, self.difference_to_reference)
        if relative != (None, None) and not is_finite(reference):
            return self._undecided("it has no reference to be compared with")
        bounds = self._bounds(reference, finding.get("better"))
        outcomes = [_side(interval, bound, sign) for bound, sign in bounds]
        outcome = worst(outcomes)
        why = f"the interval is [{interval[0]:.6g}, {interval[1]:.6g}]"
        bound, sign = bounds[outcomes.index(outcome)]
        missed = RuleNumbers(found.get("value"), interval, bound, sign)
        return Verdict(self.words, outcome, self.measure, why, self.reason, missed)

    def _bounds(self, reference: Any, better: Any) -> list[tuple[float, int]]:
        """List the bounds as (number, side): 1 where the interval must lie at or below it."""
        side = -1 if better == "higher" else 1
        listed: list[tuple[float | None, int]] = [(self.upper, 1), (self.lower, -1)]
        if self.ratio_to_reference is not None:
            listed.append((self.ratio_to_reference * reference, side))
        if self.difference_to_reference is not None:
            listed.append((reference + side * self.difference_to_reference, side))
        return [(bound, sign) for bound, sign in listed if bound is not None]


@dataclass(frozen=True, repr=False)
class Policy:
    r"""Rules, measures that must have been taken, and what epsilon may have been spent.

    ``text`` is that of the file that it was read from.

    Examples
    --------
    >>> policy = Policy((Rule("privacy.closest_record", upper=0.52),))
    >>> found = {"measure": "privacy.closest_record", "status": "ok", "interval": [0.49, 0.51]}
    >>> [verdict.outcome for verdict in policy.judge([found])]
    ['PASS']
    """

    rules: tuple[Rule, ...]
    required: tuple[str, ...] = ()
    maximum_epsilon: float | None = None
    text: str | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        said = [f"rules on {few([rule.measure for rule in self.rules]) or 'nothing'}"]
        said += [f"required: {few(self.required)}"] if self.required else []
        if self.maximum_epsilon is not None:
            said.append(f"epsilon at most {self.maximum_epsilon:g}")
        return f"Policy({'; '.join(said)})"

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures that it names."""
        return tuple(dict.fromkeys([*self.required, *(rule.measure for rule in self.rules)]))

    @property
    def levels(self) -> tuple[str, ...]:
        """The columns whose levels it names."""
        return tuple(rule.by for rule in self.rules if rule.by)

    @classmethod
    def read(cls, path: str | Path) -> "Policy":
        """Read a policy file (TOML); ``understudy policy init`` writes one to start from."""
        from understudy.measures import MEASURES
        from understudy.workflows.policy.reading import read

        return read(Path(path), MEASURES)

    @classmethod
    def loads(cls, text: str, *, name: str = "policy") -> "Policy":
        """Read a policy from its text; the measures that it names must exist."""
        from understudy.measures import MEASURES
        from understudy.workflows.policy.reading import loads

        return loads(text, name=name, measures=MEASURES)

    def apply(self, result: Assessment) -> Assessment:
        """Give the assessment with a verdict for every rule."""
        verdicts = self.judge((f.to_dict() for f in result), result.provenance)
        return dataclasses.replace(result, verdicts=tuple(v.to_dict() for v in verdicts))

    def judge(
        self, findings: Iterable[Mapping[str, Any]], provenance: Mapping[str, Any] | None = None
    ) -> list[Verdict]:
        """Decide every rule; a required measure without a result is undecided, and so no pass."""
        by_name = {finding["measure"]: finding for finding in findings}
        made = []
        for name in self.required:
            lacking = _lacking(by_name.get(name))
            outcome: Outcome = "INCONCLUSIVE" if lacking else "PASS"
            made.append(Verdict(f"{name} is required", outcome, name, lacking or "it was measured"))
        if self.maximum_epsilon is not None:
            made.append(_judge_epsilon(self.maximum_epsilon, provenance or {}))
        made += [rule.judge(by_name.get(rule.measure)) for rule in self.rules]
        return [v.advised(by_name.get(v.measure), provenance or {}) for v in made]


def _lacking(finding: Mapping[str, Any] | None) -> str:
    """Say why a measure has no result; nothing, if it has one."""
    if finding is None:
        return "it was not measured"
    if finding["status"] == "ok":
        return ""
    return f"it is {finding['status'].replace('_', ' ')}: {finding.get('note', '')}".strip()


def _judge_epsilon(maximum: float, provenance: Mapping[str, Any]) -> Verdict:
    """Decide what the release says it spent; no word about it is not a pass."""
    rule, spent = f"epsilon: at most {maximum:g}", provenance.get("epsilon_spent")
    if not is_finite(spent) or spent < 0:
        doubts = [doubt.removeprefix("synthetic: ") for doubt in provenance.get("doubts", ())]
        why = "nothing says that the table was made with differential privacy"
        return Verdict(rule, "INCONCLUSIVE", EPSILON, " ".join(doubts) or why)
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


def _side(interval: tuple[float, float], bound: float, sign: int) -> Outcome:
    """Decide one bound; an interval that ends on it keeps to it."""
    low, high = interval if sign > 0 else (-interval[1], -interval[0])
    bound *= sign
    return "PASS" if high <= bound else "FAIL" if low > bound else "INCONCLUSIVE"


def to_junit(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Write verdicts as JUnit XML: what fails is a failure, what is undecided an error."""
    suite = ElementTree.Element("testsuite", name="understudy policy", tests=str(len(verdicts)))
    kinds = {"FAIL": "failure", "INCONCLUSIVE": "error"}
    for outcome, kind in kinds.items():
        suite.set(f"{kind}s", str(sum(verdict["outcome"] == outcome for verdict in verdicts)))
    for verdict in verdicts:
        names = {"classname": _clean(verdict["measure"]), "name": _clean(verdict["rule"])}
        case = ElementTree.SubElement(suite, "testcase", names)
        if verdict["outcome"] in kinds:
            kind, why = kinds[verdict["outcome"]], _clean(verdict["why"])
            steps = filter(None, (verdict.get("reason"), *verdict.get("next", ())))
            ElementTree.SubElement(case, kind, message=why).text = _clean("\n".join(steps))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
