"""Columns drawn one after the other: by trees (``cart``), or each by a method of its own.

``cart`` draws as synthpop does, by trees that stop and are pruned as rpart's: a category from the
shares of a leaf, a number from the values of the training rows in a leaf. Whether a number is
missing or a word is drawn first, then its value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from understudy.errors import OptionError
from understudy.options import MOST_TREES, AtLeast, Between, check_number
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.columns.frame import Frame, listed
from understudy.synthesizers.columns.plan import PlanRequest, check_method

MOST_UNITS = 10_000


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

    def wishes(self) -> PlanRequest:
        """Trees for every column; order, predictors and rules as the schema says."""
        return PlanRequest(method="cart", keep=self.keep)


@dataclass(kw_only=True)
class Sequential(Frame):
    """Columns in a visit order, each by its own column method.

    Parameters
    ----------
    visit : list of str, "table" or "learnt"
        The order of drawing; columns not named follow in the order of the table. Learnt: see
        ``columns.plan``.
    method : str
        The column method of all columns, ``cart`` if neither this nor the schema says otherwise:
        ``sample``, ``cart``, ``linear``, ``tree``, ``random_forest``, ``neural``, ``boost``,
        ``pmm``, ``keep``.
    methods, predictors : dict
        Column methods, and lists of predictors, by column.
    rules : list of str
        ``COLUMN is missing where CONDITION``, ``COLUMN is VALUE where CONDITION``: rows that meet
        the condition are left out of the column's model and always get the value.
    keep : list of str
        Columns that are not drawn but come with the rows; see ``complete``.
    classes : bool
        Draw numbers by ``linear``, ``tree``, ``random_forest`` and ``neural`` as classes too, one
        for each distinct value (Dandekar et al. 2019).
    spike : float
        A number that more than this share of the rows hold, and three times as many as its
        neighbours, is drawn as a category first.
    smooth : bool
        Add noise to training values that fewer than ``minbucket`` rows hold.
    proper : bool
        Draw the model before drawing from it: the rows with replacement; for numbers by
        ``linear`` and ``pmm`` the coefficients from their posterior instead.
    minbucket, cp, trees, donors, hidden, rounds
        Rows in a leaf, complexity of ``cart``, trees of ``random_forest``, donors of ``pmm``, units
        of the two layers of ``neural``, trees of ``boost``.
    """

    visit: Sequence[str] | str | None = None
    method: str | None = None
    methods: dict[str, str] | None = None
    predictors: dict[str, list[str]] | None = None
    rules: Sequence[str] | str | None = None
    classes: bool = False
    spike: Annotated[float, AtLeast(0)] = 0.05
    trees: Annotated[int, Between(1, MOST_TREES)] = 30
    donors: Annotated[int, AtLeast(1)] = 5
    hidden: tuple[int, int] = (64, 64)
    rounds: Annotated[int, Between(1, MOST_TREES)] = 60

    card: ClassVar[MethodCard] = MethodCard(
        name="sequential",
        title="Columns one after the other",
        keeps="the distribution of each column and the relations that its column method finds",
        loses="relations that the column methods cannot express, or that need columns drawn later",
        claim="None: cart, tree, random_forest, pmm and sample emit real values of training rows, "
        "and small leaves reproduce rare records.",
        file="levels, words and spikes of each column and its model. By cart, tree, random_forest, "
        "pmm and sample: the training values of the column. By linear: coefficients; by neural and "
        "boost: weights or trees, and residuals; of numbers by these three the smallest and the "
        "largest value, with classes every distinct value",
        holds="real values",
        source="Nowok, Raab and Dibben 2016 (synthpop); Dandekar, Zen and Bressan 2019; "
        "Drechsler and Reiter 2011",
        abilities=("complete", "proper", "likelihood"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.visit is None or isinstance(self.visit, str)):
            self.visit = tuple(self.visit)
        if self.rules is not None:
            self.rules = listed(self.rules)
        if self.method is not None:
            check_method(self.method)
        for name, method in (self.methods or {}).items():
            check_method(method, name)
        if [type(units) for units in self.hidden] != [int, int]:
            raise OptionError(
                f"sequential: hidden = {self.hidden!r}", hint="give the units of two layers"
            )
        self.hidden = (self.hidden[0], self.hidden[1])
        for units in self.hidden:
            check_number("sequential: units of hidden", units, 1, MOST_UNITS)

    def wishes(self) -> PlanRequest:
        """What the options ask for."""
        return PlanRequest(
            self.visit, self.method, self.methods, self.predictors, self.rules, self.keep
        )
