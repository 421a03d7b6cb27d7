"""Policy: rules over findings, decided on the interval and never on the point value.

A policy is a TOML file of tables, not of expressions::

    required = ["privacy.identical_matches"]

    [[rule]]
    measure = "privacy.closest_record"
    upper = 0.52
"""

from understudy.workflows.policy.reading import loads, read
from understudy.workflows.policy.rules import EXIT, Outcome, Policy, Rule, Verdict, to_junit, worst

__all__ = ["EXIT", "Outcome", "Policy", "Rule", "Verdict", "loads", "read", "to_junit", "worst"]
