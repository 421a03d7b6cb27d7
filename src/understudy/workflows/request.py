"""Request: what is asked of an assessment, checked once before any work is done.

``assess``, ``compare``, ``release`` and ``verify`` all make one. The tables are given beside it:
one request goes to every candidate of a comparison, and again to the tables of a receipt.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.judging.findings import Card
from understudy.measures import MEASURES, Measure, Wanted, check_some, choose
from understudy.measures.utility.estimates import as_formulas, check_formulas
from understudy.options import OptionsByName, Seed, Texts, check_arguments, check_each
from understudy.synthesizers import Synthesizer, synthesizer
from understudy.workflows import policy as policies
from understudy.workflows.advise import ALL, AUTO, as_names, resolve
from understudy.workflows.calibrate.calibration import CalibrationOrPath, read_calibration

Fit = Annotated[
    str | Synthesizer | Callable[..., Any] | None,
    "give the name of a method, a Synthesizer, or a function fit(table) -> sample(n)",
]
PolicyOrPath = Annotated[policies.Policy | str | Path | None, "give a path or an understudy.Policy"]


@dataclass(frozen=True)
class Request:
    """Roles of columns, measures with their options, a seed, and the rules to judge by.

    ``Request.of`` takes what a user gives, checks it and chooses the measures: see ``assess``.
    """

    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    formula: tuple[str, ...] = ()
    aligned: bool = False
    fit: Any = None
    by: tuple[str, ...] = ()
    measures: Mapping[str, Measure] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    policy: policies.Policy | None = None
    calibration: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        *,
        keys: Texts = (),
        sensitive: Texts = (),
        target: str | None = None,
        formula: Texts = (),
        aligned: bool = False,
        fit: Fit = None,
        by: Texts | None = None,
        measures: Wanted | None = None,
        functions: bool = False,
        always: Iterable[str] = (),
        options: OptionsByName = None,
        seed: Seed = 0,
        policy: PolicyOrPath = None,
        calibration: CalibrationOrPath = None,
    ) -> "Request":
        """Check what is asked for, and choose the measures.

        Measured is what is wanted, or what needs no more than is given; and, whatever is wanted,
        ``always`` and what the policy names, in the levels that it names. Measures may be
        ``functions`` where nothing is written down to be done again.
        """
        check_arguments(cls.of, locals())
        formulas = as_formulas(formula)
        given = {"keys": keys, "sensitive": sensitive, "target": target, "formula": formulas}
        roles = [role for role, names in given.items() if names]
        chosen = choose(measures, given=roles, functions=functions)
        check_each(options or {}, {**MEASURES, **chosen}, "measure")
        if isinstance(policy, str | Path):
            policy = policies.read(Path(policy), MEASURES)
        named, levels = ((), ()) if policy is None else (policy.measures, policy.levels)
        chosen |= {name: MEASURES[name] for name in (*always, *named)}
        if policy is None:
            check_some(chosen)
        return cls(
            as_names(keys),
            as_names(sensitive),
            target,
            formulas,
            aligned,
            fit,
            by=tuple(dict.fromkeys([*as_names(by or ()), *levels])),
            measures={n: chosen[n] for n in dict.fromkeys([*MEASURES, *chosen]) if n in chosen},
            options=options or {},
            seed=seed,
            policy=policy,
            calibration=None if calibration is None else read_calibration(calibration),
        )

    def to_dict(self) -> dict[str, Any]:
        """Give what was asked for as plain values, the policy and the calibration left out.

        What is seldom asked for is left out where it was not, as in plans of earlier versions.
        """
        asked = {n: getattr(self, n) for n in ASKED if n not in SELDOM or getattr(self, n)}
        asked["measures"] = tuple(self.measures)
        return {n: list(value) if isinstance(value, tuple) else value for n, value in asked.items()}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> "Request":
        """Read it back: from ``to_dict``, or from the provenance of an assessment."""
        return cls.of(**{name: told[name] for name in ASKED if name in told})

    def check_columns(self, schema: Schema) -> None:
        """Refuse roles of columns that are not there, or that training does not model."""
        check_formulas(self.formula, schema.modelled)
        words = {"keys": (AUTO,), "sensitive": (ALL,)}
        roles = {"target": as_names(self.target or ()), "by": self.by}
        for role, names in {**roles, "keys": self.keys, "sensitive": self.sensitive}.items():
            schema.check_modelled(role, () if names == words.get(role) else names)

    def settled(self, train: Table) -> tuple["Request", list[str]]:
        """Find by the training table what ``auto`` and ``all`` mean, and say so."""
        check_formulas(self.formula, train.schema.modelled)
        keys, sensitive, said = resolve(train, self.keys, self.sensitive)
        return dataclasses.replace(self, keys=keys, sensitive=sensitive), said

    @property
    def own_cards(self) -> tuple[Card, ...]:
        """The cards of measures that were given as functions."""
        return tuple(m.card for name, m in self.measures.items() if name not in MEASURES)

    @property
    def of_comparison(self) -> dict[str, Any]:
        """The arguments of a comparison that it determines."""
        fit = synthesizer(self.fit, seed=self.seed) if isinstance(self.fit, str) else self.fit
        names = ("keys", "sensitive", "target", "formula", "aligned", "options", "seed")
        return {"fit": fit, **{name: getattr(self, name) for name in names}}


SELDOM = ("formula", "aligned", "fit")
ASKED = (
    "keys", "sensitive", "target", "formula", "aligned", "fit", "by", "measures", "options", "seed",
)  # fmt: skip
