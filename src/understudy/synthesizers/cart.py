"""Columns drawn one after the other from classification and regression trees, as synthpop does.

The sequential frame with trees that stop and are pruned as rpart's. A category is drawn from the
shares of a leaf, a number from the values of the training rows in a leaf. Whether a number is
missing or a word is drawn first, then its value.
"""

from dataclasses import dataclass
from typing import ClassVar

from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.columns.frame import Frame
from understudy.synthesizers.columns.plan import Wishes


@dataclass(kw_only=True)
class Cart(Frame):
    """Trees with synthpop's settings: at least ``minbucket`` rows a leaf, complexity ``cp``."""

    card: ClassVar[MethodCard] = MethodCard(
        name="cart",
        title="Trees, column by column",
        keeps="the distribution of each column and most relations, in the order of the columns",
        loses="relations that need many columns at once; rare combinations are thinned out",
        claim="None: numbers are real values of training rows, and small leaves reproduce rare "
        "records. The synthetic records are measurably closer to training than to fresh rows.",
        file="the trees, and the training values of each column by leaf",
        holds="real values",
        source="Nowok, Raab and Dibben 2016 (synthpop); Latner et al.; Breiman et al. 1984",
        coarser="larger leaves or less complex trees, such as -o cart.minbucket=75 or "
        "-o cart.cp=0.05",
        finer="smaller leaves, such as -o cart.minbucket=5",
        abilities=("complete", "proper", "likelihood"),
    )

    def wishes(self) -> Wishes:
        """Trees for every column; order, predictors and rules as the schema says."""
        return Wishes(method="cart", keep=self.keep)
