"""The analyst's own model, given as a formula, on real and on synthetic rows."""

from understudy.measures.utility.estimates.formula import Formula, as_formulas, check_formulas
from understudy.measures.utility.estimates.measure import estimates

__all__ = ["Formula", "as_formulas", "check_formulas", "estimates"]
