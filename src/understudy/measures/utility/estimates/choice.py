"""Which combining rule fits, from how the release was made, and where rules are known to fail."""

from dataclasses import dataclass

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, Made
from understudy.measures.utility.estimates.design import Impossible
from understudy.measures.utility.estimates.rules import FORMULAS, RULES, SEVERAL

AUTO = "auto"
HOLD = {"linear", "pmm", "bootstrap"}


@dataclass(frozen=True)
class Choice:
    """The name of a rule, why it was chosen, and what is known to go wrong."""

    rule: str
    why: str
    warning: str

    def words(self) -> list[str]:
        """Say it for a finding's note."""
        said = f"Rule {self.rule}: {FORMULAS[self.rule]}; {self.why}."
        return [said, f"Warning: {self.warning}"] if self.warning else [said]


def choose(comparison: Comparison, wanted: str) -> Choice:
    """Choose the rule, unless one is asked for."""
    m, made = len(comparison.synthetic), comparison.made
    if wanted != AUTO:
        if wanted not in RULES:
            raise OptionError(f"rule = {wanted!r}", hint=near(wanted, [AUTO, *RULES]))
        if m == 1 and wanted in SEVERAL:
            raise Impossible(
                f"The rule {wanted} needs two synthetic tables or more: there is one. Make "
                "replicates (understudy synthesize --replicates), or leave the rule to auto."
            )
        return Choice(wanted, "as asked for", _warning(made, asked=True))
    partial = comparison.aligned if made is None else made.partial
    if partial and m > 1:
        return Choice("partially", "the rows are partially synthetic", _warning(made))
    if partial and made is not None and made.proper:
        why = "one partially synthetic table, whose models were drawn"
        return Choice("proper", why, _warning(made))
    if partial:
        why = "one partially synthetic table, for which it is an upper bound"
        return Choice("simple", why, _warning(made))
    if made is None:
        return Choice("simple", "assumed, for the files do not say how they were made", UNKNOWN)
    if made.proper:
        return Choice("proper", f"the method {made.method} drew its models", _warning(made))
    return Choice("simple", f"the method is {made.method}", _warning(made))


def _warning(made: Made | None, *, asked: bool = False) -> str:
    if made is None:
        return "" if asked else UNKNOWN
    doubtful = sorted(set(made.models or [made.method]) - HOLD)
    measured = [f"{name} {COVERED[name]}" for name in doubtful if name in COVERED]
    said = [MEASURED.format(" and ".join(measured))] if measured else []
    untried = [name for name in doubtful if name not in COVERED]
    return " ".join(said + ([UNTRIED.format(" and ".join(untried))] if untried else []))


UNKNOWN = (
    "the rule holds for a generator whose model is right and fitted to as many rows as training "
    "has; nothing is known of this one, so its intervals may be too narrow."
)
UNTRIED = (
    "the rule holds where the generator's model is right; how often intervals from {} cover the "
    "truth has not been measured."
)
MEASURED = (
    "the rule holds where the generator's model is right. In a simulation with 400 rows, 95 % "
    "intervals covered a coefficient, by coefficient, from {}: see docs/utility.md."
)
# benchmarks/intervals.py: lowest and highest of six coefficients, one table and five
COVERED = {
    "cart": "in 90 to 98 % of the samples",
    "forest": "in 0 to 98 % (51 to 58 % on average: slopes are drawn towards zero)",
    "random_forest": "in 88 to 94 %",
    "boost": "in 57 to 87 %",
    "independent": "in 0 to 37 % (no relation is kept)",
}
