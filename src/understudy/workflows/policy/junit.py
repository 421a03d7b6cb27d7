"""Verdicts for a pipeline."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from understudy.workflows.policy.rules import Verdict

# what XML 1.0 cannot hold
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(verdicts: Sequence[Verdict]) -> str:
    """Write verdicts as JUnit XML: what fails is a failure, what is undecided an error."""
    suite = ElementTree.Element("testsuite", name="understudy policy", tests=str(len(verdicts)))
    kinds = {"FAIL": "failure", "INCONCLUSIVE": "error"}
    for outcome, kind in kinds.items():
        suite.set(f"{kind}s", str(sum(v.outcome == outcome for v in verdicts)))
    for verdict in verdicts:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_clean(verdict.measure), name=_clean(verdict.rule)
        )
        if verdict.outcome in kinds:
            made = ElementTree.SubElement(case, kinds[verdict.outcome], message=_clean(verdict.why))
            made.text = _clean("\n".join(filter(None, (verdict.reason, *verdict.next))))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
