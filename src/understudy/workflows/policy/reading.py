"""Policies as TOML; whatever is unknown or impossible is an error with its line."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.documents import loads_toml, read_text
from understudy.errors import OptionError, near
from understudy.measures import Measure
from understudy.workflows.policy.rules import Policy, Rule

BOUNDS = ("upper", "lower", "ratio_to_reference", "difference_to_reference")
KEYS = ("measure", "part", "by", *BOUNDS, "if_applicable", "reason")
TOP = ("version", "required", "maximum_epsilon", "rule")
VERSION = 1
SHARES = ("fraction", "AUC")
HINT = "give a TOML file, such as understudy policy init writes"
MOST_BYTES = 1 << 22
ODD = re.compile(r"=\s*[+-]?(?:nan|inf|\d{31,})\b")  # numbers that no rule may have


def read(path: Path, measures: Mapping[str, Measure] | None = None) -> Policy:
    """Read a policy file."""
    text = read_text(path, "policy", HINT, largest=MOST_BYTES)
    return loads(text, name=str(path), measures=measures)


def loads(
    text: str, *, name: str = "policy", measures: Mapping[str, Measure] | None = None
) -> Policy:
    r"""Read a policy.

    Parameters
    ----------
    text : str
        TOML.
    name : str
        What messages call it.
    measures : mapping, optional
        The measures that there are; without them, names and units are not checked.

    Examples
    --------
    >>> loads('[[rule]]\nmeasure = "privacy.closest_record"\nupper = 0.52').rules[0].upper
    0.52
    """
    try:
        data = loads_toml(text)
    except ValueError as error:
        odd = ODD.search(text)
        place = "" if odd is None else f"line {text[: odd.end()].count(chr(10)) + 1}: "
        raise OptionError(
            f"{name}: {place}{error}", hint="check the quotes, brackets and numbers there"
        ) from error
    return _PolicyReader(name, text.splitlines(), measures).policy(data, text)


@dataclass(frozen=True)
class _PolicyReader:
    """Checks a policy that was parsed, and knows the lines of its keys."""

    name: str
    lines: list[str]
    measures: Mapping[str, Measure] | None

    def policy(self, data: Mapping[str, Any], text: str) -> Policy:
        """Check the whole."""
        self.check_known(data, TOP)
        version = data.get("version", VERSION)
        if version != VERSION or isinstance(version, bool):
            raise OptionError(
                f"{self.at('version')}: version {version} is not known here",
                hint=f"write {VERSION}",
            )
        required, rules = data.get("required", []), data.get("rule", [])
        maximum = data.get("maximum_epsilon")
        if maximum is not None:
            place = self.at("maximum_epsilon")
            _check_number(maximum, "maximum_epsilon", place)
            if maximum <= 0:
                raise OptionError(f"{place}: maximum_epsilon = {maximum}", hint="use one above 0")
        lists = isinstance(required, list) and isinstance(rules, list)
        if not lists or not (required or rules or maximum is not None):
            raise OptionError(
                f"{self.name}: line 1: there is no rule",
                hint='write [[rule]] with measure = "…" and upper = …',
            )
        for measure in required:
            self.check_measure(measure, f"{self.at('required')}: required")
        starts = self.starts(len(rules))
        made = [self.rule(entry, start) for entry, start in zip(rules, starts, strict=True)]
        return Policy(tuple(made), tuple(required), maximum, text)

    def starts(self, rules: int) -> list[int]:
        """Find the line on which each rule begins: that of [[rule]], or of its measure."""
        headings = [i for i, line in enumerate(self.lines) if line.strip().startswith("[[rule]]")]
        if len(headings) == rules:
            return headings
        measures = [i for i, line in enumerate(self.lines) if "measure" in line]
        return (measures + [0] * rules)[:rules]

    def rule(self, entry: Any, start: int) -> Rule:
        """Check one rule."""
        here = f"{self.name}: line {start + 1}"
        if not isinstance(entry, dict) or not isinstance(entry.get("measure"), str):
            raise OptionError(f"{here}: a rule without a measure", hint='write measure = "…"')
        self.check_known(entry, KEYS, start)
        self.check_measure(entry["measure"], here)
        for key in ("part", "by", "reason"):
            if not isinstance(entry.get(key, ""), str):
                raise OptionError(f"{here}: {key} = {entry[key]!r} is no text", hint="put quotes")
        if not isinstance(entry.get("if_applicable", False), bool):
            raise OptionError(
                f"{here}: if_applicable = {entry['if_applicable']!r}", hint="write true or false"
            )
        if "part" in entry and "by" in entry:
            raise OptionError(f"{here}: part and by in one rule", hint="write two rules")
        bounds = {key: entry[key] for key in BOUNDS if key in entry}
        if not bounds:
            raise OptionError(f"{here}: a rule without a bound", hint=f"give {', '.join(BOUNDS)}")
        for key, bound in bounds.items():
            place = self.at(key, start)
            _check_number(bound, key, place)
            self.check_bound(key, bound, place, entry)
        if "upper" in bounds and "lower" in bounds and bounds["lower"] > bounds["upper"]:
            lower, upper = bounds["lower"], bounds["upper"]
            raise OptionError(
                f"{here}: lower {lower} is above upper {upper}: nothing can pass",
                hint="write the smaller one as lower",
            )
        return Rule(**entry)

    def check_bound(self, key: str, bound: float, place: str, entry: Mapping[str, Any]) -> None:
        """Refuse a bound that nothing can keep to, or that everything does."""
        if key == "ratio_to_reference" and bound <= 0:
            raise OptionError(f"{place}: {key} = {bound}", hint="use a number above 0")
        if key == "difference_to_reference" and bound < 0:
            raise OptionError(f"{place}: {key} = {bound}", hint="use 0 or more")
        if not self.measures:
            return
        card = self.measures[entry["measure"]].card
        if key.endswith("_to_reference") and card.better == "reference":
            raise OptionError(
                f"{place}: {key}, but {card.name} is best near its reference, on either side",
                hint="give upper and lower",
            )
        outside = key in ("upper", "lower") and not 0 <= bound <= 1
        if outside and card.unit in SHARES and "part" not in entry:
            raise OptionError(
                f"{place}: {key} = {bound}, but {card.name} lies between 0 and 1",
                hint="shares are fractions: 52 % is 0.52",
            )

    def check_known(self, entry: Mapping[str, Any], keys: Iterable[str], start: int = 0) -> None:
        """Refuse keys that mean nothing."""
        for key in entry:
            if key not in keys:
                raise OptionError(
                    f"{self.at(key, start)}: unknown key '{key}'", hint=near(key, keys)
                )

    def check_measure(self, measure: Any, place: str) -> None:
        """Refuse what is no measure."""
        if not isinstance(measure, str) or (self.measures and measure not in self.measures):
            hint = near(str(measure), self.measures or ())
            raise OptionError(f"{place}: there is no measure '{measure}'", hint=hint)

    def at(self, key: str, start: int = 0) -> str:
        """Name the line on which a key is set, from a place on."""
        for number, line in enumerate(self.lines[start:], start=start + 1):
            if line.split("=")[0].strip().strip("\"'[]") == key:
                return f"{self.name}: line {number}"
        return f"{self.name}: line {start + 1}"


def _check_number(value: Any, key: str, place: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionError(f"{place}: {key} = {value!r} is no number", hint="write a number")
