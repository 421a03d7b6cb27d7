"""What must be measured for a policy, whatever else is asked for."""

from collections.abc import Iterable, Sequence
from typing import Any

from understudy.measures import MEASURES, choose
from understudy.workflows.advisor import as_names
from understudy.workflows.policy.rules import Policy


def chosen_measures(wanted: Iterable[str] | None, rules: Policy, **given: Any) -> list[str]:
    """Choose what the policy names and what is wanted, or whatever needs no more than is given.

    Parameters
    ----------
    wanted : names, prefixes or "all", optional
    rules : Policy
    given : what there is of keys, sensitive, target, formula and fit

    Examples
    --------
    >>> chosen_measures(["fidelity.moments"], Policy((), required=("fidelity.hellinger",)))
    ['fidelity.hellinger', 'fidelity.moments']
    """
    chosen = {
        *rules.measures,
        *choose(wanted, given=[role for role, names in given.items() if names]),
    }
    return [name for name in MEASURES if name in chosen]


def level_columns(by: str | Sequence[str] | None, rules: Policy) -> list[str]:
    """Name the columns whose levels are measured: those asked for, and those of the rules."""
    return list(dict.fromkeys([*as_names(by or ()), *(rule.by for rule in rules.rules if rule.by)]))
