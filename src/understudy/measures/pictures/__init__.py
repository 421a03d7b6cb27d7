"""Tables for pictures, fit to be shared at the source. Nobody downstream has to hide anything.

The rule, with K = 5:

- **Nothing rare is printed.** A label is never a value that 1 to 4 training records hold: such
  levels share the bar "rare levels", and a bin whose end would be such a value is joined with
  its neighbour. The smallest and the largest value are no ends: the outer bins are open.
- **Real counts are rounded** to the nearest multiple of K before they are divided by the number
  of rows, so a count of 1 to 4 cannot be told from 0 or from 7. A real table of fewer than K
  rows has no shares at all (None). The synthetic table is released anyway: its shares are exact.
- **Bins are joined** until each holds no real record, or at least K of training and of holdout.
- **A date is written as the period it lies in.** Where the cuts follow the calendar (histograms), a
  period is not named if that would name a rare date, as 1985 does where all dates are the first
  of a year. Where they follow the records (heat maps), only a period that at least K training
  records lie in is named.
- **Means and other sums over real records** are withheld where fewer than K records make half
  of them or more: ``few_dominate``.

Shares have six decimals. What is not hidden: the measures' own values are exact, and the
distance of a column with two levels says, with the synthetic table at hand, how often they occur.
"""

from understudy.measures.pictures.heat import heat
from understudy.measures.pictures.histograms import distances, histograms
from understudy.measures.pictures.rule import K, few_dominate, two_digits

__all__ = ["K", "distances", "few_dominate", "heat", "histograms", "two_digits"]
