"""DataSynthesizer as a method."""

from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.options import check_number
from understudy.synthesizers.adapters.base import NO_FILE, Adapter, Tool
from understudy.synthesizers.base import MethodCard

MODES = ("correlated", "independent", "random")


@dataclass(kw_only=True)
class DataSynthesizer(Adapter):
    """DataSynthesizer's Bayesian network, and its simpler modes.

    Parameters
    ----------
    mode : {"correlated", "independent", "random"}
    k : int
        How many columns each column may depend on, in correlated mode.
    tool_epsilon : float
        The epsilon that the tool is told; 0: no noise. The claim stays the tool's, see its card.
    bins : int
        Of the histogram of each number.
    """

    mode: str = "correlated"
    k: int = 2
    tool_epsilon: float = 0.0
    bins: int = 20

    tool: ClassVar[Tool] = Tool(
        name="DataSynthesizer",
        package="DataSynthesizer",
        licence="MIT License",
        script="run_datasynthesizer.py",
    )
    card: ClassVar[MethodCard] = MethodCard(
        name="datasynthesizer",
        title="DataSynthesizer's Bayesian network",
        keeps="the histogram of each number and date and the counts of levels; in correlated mode "
        "relations along the network",
        loses="what is finer than a bin, relations off the network, in independent and random mode "
        "all relations and missing values",
        claim="None that is vouched for here. The tool claims differential privacy for "
        "tool_epsilon > 0, but reads ranges, levels and the number of rows off the data, outside "
        "its budget; audits have found violations. The bayes method keeps its budget.",
        file=NO_FILE,
        source="Ping, Stoyanovich and Howe 2017; Zhang et al. 2017 (PrivBayes)",
    )

    def check(self) -> None:
        """Refuse options that the tool cannot take."""
        if self.mode not in MODES:
            raise OptionError(
                f"datasynthesizer: mode = {self.mode!r}", hint=near(str(self.mode), MODES)
            )
        if self.k < 1:
            raise OptionError(f"datasynthesizer: k = {self.k}", hint="use at least 1")
        if self.bins < 2:
            raise OptionError(f"datasynthesizer: bins = {self.bins}", hint="use at least 2")
        check_number("datasynthesizer: tool_epsilon", self.tool_epsilon, 0)

    def settings(self) -> dict[str, Any]:
        """Give the arguments of the tool."""
        return {"mode": self.mode, "k": self.k, "epsilon": self.tool_epsilon, "bins": self.bins}

    @property
    def notes_(self) -> tuple[str, ...]:
        """Say who made the rows, and whose claim the epsilon is."""
        if not self.tool_epsilon:
            return super().notes_
        return (
            *super().notes_,
            f"DataSynthesizer claims epsilon = {self.tool_epsilon:g}; ranges, levels and the "
            "number of rows were read off the data outside it: understudy does not vouch for it",
        )
