"""A measure is a function from a Comparison to a Finding. ``MEASURES`` names them all.

A package declares a measure in its ``pyproject.toml``, under the entry point group
``understudy.measures``: ``"family.name" = "module:function"``. It is loaded when it is used.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol, cast

from understudy.errors import OptionError, near
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding, described
from understudy.measures.fidelity import (
    columns,
    correlation,
    detection,
    interval_overlap,
    marginals,
    missingness,
    moments,
    propensity,
    relations,
)
from understudy.measures.privacy import (
    adversary,
    attribute_disclosure,
    attribution,
    closest_record,
    distances,
    identical_matches,
    inference,
    linkability,
    matching,
    membership,
    radius,
    singling_out,
    uniques,
)
from understudy.measures.utility import classification, estimates, regression
from understudy.optional import Registry


class Measure(Protocol):
    """A function with a card; its keyword-only parameters are its options."""

    card: Card

    def __call__(self, comparison: Comparison, **options: Any) -> Finding:
        """Look at the comparison and say what was found."""


FAMILY_HINT = "put one before a dot, such as fidelity.coverage"
_ALL: tuple[Callable[..., Finding], ...] = (
    marginals.univariate,
    marginals.bivariate,
    marginals.trivariate,
    columns.total_variation,
    columns.hellinger,
    columns.relative_entropy,
    moments.moments,
    correlation.correlation,
    missingness.missingness,
    relations.relations,
    columns.normalized_kl,
    interval_overlap.interval_overlap,
    propensity.propensity,
    detection.detection,
    regression.regression,
    classification.classification,
    estimates.estimates,
    identical_matches.identical_matches,
    closest_record.closest_record,
    distances.neighbour_ratio,
    distances.mean_minimal_distance,
    distances.too_close,
    uniques.replicated_uniques,
    attribute_disclosure.attribute_disclosure,
    attribution.correct_attribution,
    radius.radius_attribution,
    adversary.adversary_error,
    matching.match_rate,
    singling_out.singling_out,
    linkability.linkability,
    inference.attribute_inference,
    membership.membership,
)


class Measures(Registry[Measure]):
    """Measures by name: our own, and those that other packages declare."""

    group = "understudy.measures"
    noun = "measure"

    def fault(self, name: str, part: Any) -> str:
        """Say what is missing in a measure; nothing if all is there."""
        if not callable(part):
            return f"{part!r} is no function"
        card = getattr(part, "card", None)
        if not isinstance(card, Card):
            return "it has no card (understudy.described)"
        if card.name != name:
            return f"its card calls it '{card.name}'"
        return "" if _has_family(name) else f"its name has no family: {FAMILY_HINT}"

    def stand_in(self, name: str, fault: str, why: str, hint: str, source: str) -> Measure:
        """Give a measure whose finding says that it could not be loaded."""
        card = Card(
            name=name,
            title=f"cannot be loaded: {fault}",
            meaning="Nothing: it cannot be loaded.",
            formula="",
            unit="",
            better="reference",
            headline="",
            source=source,
            not_shown="Everything.",
            threat="None: it cannot be loaded.",
        )

        @described(card)
        def broken(comparison: Comparison) -> Finding:
            return card.failed(f"{why}; hint: {hint}")

        return cast("Measure", broken)


MEASURES = Measures({m.card.name: m for m in cast("tuple[Measure, ...]", _ALL)})
Wanted = str | Callable[..., Finding] | Iterable[str | Callable[..., Finding]]


def choose(
    wanted: Wanted | None = None, *, given: Iterable[str] = (), functions: bool = False
) -> dict[str, Measure]:
    """Turn names, prefixes and ``all`` into measures by name, in the order of ``MEASURES``.

    Without a wish: all that need no role of columns (keys, sensitive, target), no formula but
    those given, and no generator. Functions with a card are taken where ``functions`` are allowed,
    after the others: not where work is written down or handed to other processes.

    Examples
    --------
    >>> list(choose(["fidelity.moments", "privacy.too_close"]))
    ['fidelity.moments', 'privacy.too_close']
    """
    if wanted is None:
        absent = {"keys", "sensitive", "target", "formula", "fit"} - set(given)
        return {name: m for name, m in MEASURES.items() if not absent & set(m.card.needs)}
    chosen: set[str] = set()
    own: dict[str, Measure] = {}
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
    for wish in cast("Iterable[Any]", wanted) if several else [wanted]:
        if not isinstance(wish, str):
            measure = _checked(wish, functions)
            if own.setdefault(measure.card.name, measure) is not measure:
                raise OptionError(
                    f"measures: two functions have a card with the name '{measure.card.name}'",
                    hint="give each a name of its own",
                )
            continue
        found = [n for n in MEASURES if wish in ("all", n) or n.startswith(f"{wish}.")]
        if not found:
            families = sorted({name.split(".")[0] for name in MEASURES})
            raise OptionError(
                f"there is no measure '{wish}'", hint=near(wish, ["all", *families, *MEASURES])
            )
        chosen.update(found)
    return {**{name: MEASURES[name] for name in MEASURES if name in chosen}, **own}


def _has_family(name: str) -> bool:
    return all(name.partition("."))


def check_some(chosen: Collection[str]) -> None:
    """Refuse to measure nothing at all."""
    if not chosen:
        raise OptionError(
            "measures: an empty list, so there is nothing to measure",
            hint='name one (understudy measures lists them), or "all"; None is what applies',
        )


def _checked(function: Any, allowed: bool) -> Measure:
    """Refuse what is no measure, or has the name of another."""
    called = getattr(function, "__qualname__", repr(function))
    card = getattr(function, "card", None)
    if not callable(function) or not isinstance(card, Card):
        raise OptionError(
            f"measures: {called} has no card",
            hint="put one above the function: @understudy.described(understudy.Card(...))",
        )
    if not allowed:
        raise OptionError(
            f"measures: the function {called} has no name that another process would know",
            hint="declare it in a package, under the entry point group understudy.measures",
        )
    if not _has_family(card.name):
        raise OptionError(
            f"measures: the card of {called} has the name '{card.name}', which has no family",
            hint=FAMILY_HINT,
        )
    if card.name in MEASURES and MEASURES[card.name] is not function:
        raise OptionError(
            f"measures: the card of {called} has the name '{card.name}', which is another's",
            hint="give it a name of its own",
        )
    return cast("Measure", function)
