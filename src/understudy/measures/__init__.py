"""A measure is a function from a Comparison to a Finding. ``MEASURES`` names them all."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, cast

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison
from understudy.judging.findings import Card, Finding
from understudy.measures.fidelity import (
    columns,
    correlation,
    detection,
    interval_overlap,
    marginals,
    missingness,
    moments,
    propensity,
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


class Measure(Protocol):
    """A function with a card; its keyword-only parameters are its options."""

    card: Card

    def __call__(self, comparison: Comparison, **options: Any) -> Finding:
        """Look at the comparison and say what was found."""


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

MEASURES: dict[str, Measure] = {m.card.name: m for m in cast("tuple[Measure, ...]", _ALL)}


def choose(wanted: Iterable[str] | str | None = None, *, given: Iterable[str] = ()) -> list[str]:
    """Turn names, prefixes and ``all`` into names of measures, in the order of ``MEASURES``.

    Without a wish: all that need no role of columns (keys, sensitive, target), no formula but
    those given, and no generator.

    Examples
    --------
    >>> choose(["fidelity.moments", "privacy.too_close"])
    ['fidelity.moments', 'privacy.too_close']
    """
    if wanted is None:
        absent = {"keys", "sensitive", "target", "formula", "fit"} - set(given)
        return [name for name, m in MEASURES.items() if not absent & set(m.card.needs)]
    chosen: set[str] = set()
    for wish in [wanted] if isinstance(wanted, str) else wanted:
        found = [n for n in MEASURES if wish in ("all", n) or n.startswith(f"{wish}.")]
        if not found:
            families = sorted({name.split(".")[0] for name in MEASURES})
            raise OptionError(
                f"there is no measure '{wish}'", hint=near(wish, ["all", *families, *MEASURES])
            )
        chosen.update(found)
    return [name for name in MEASURES if name in chosen]
