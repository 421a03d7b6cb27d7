"""Policy: rules over findings, decided on the interval and never on the point value.

A policy is a TOML file of tables, not of expressions::

    required = ["privacy.identical_matches"]

    [[rule]]
    measure = "privacy.closest_record"
    upper = 0.52
"""

from understudy.workflows.policy.junit import to_junit
from understudy.workflows.policy.measured import chosen_measures, level_columns
from understudy.workflows.policy.reading import loads, read, text_of
from understudy.workflows.policy.rules import EXIT, Outcome, Policy, Rule, Verdict, worst

__all__ = [
    "EXIT",
    "Outcome",
    "Policy",
    "Rule",
    "Verdict",
    "chosen_measures",
    "level_columns",
    "loads",
    "read",
    "text_of",
    "to_junit",
    "worst",
]
