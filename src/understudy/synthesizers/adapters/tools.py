"""SDV, DataSynthesizer and the engine of MOSTLY AI as methods."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from understudy.options import Above, AtLeast, OneOf
from understudy.synthesizers.adapters.base import NO_FILE, Adapter, Tool
from understudy.synthesizers.base import MethodCard


@dataclass(kw_only=True)
class Sdv(Adapter):
    """SDV's single-table synthesizers, with their own defaults.

    Parameters
    ----------
    model : {"GaussianCopula", "CTGAN", "CopulaGAN", "TVAE"}
    epochs : int
        Of training; GaussianCopula has none.
    arguments : dict, optional
        Further arguments of SDV's class, such as ``{"batch_size": 1000}``.
    """

    model: Annotated[str, OneOf("GaussianCopula", "CTGAN", "CopulaGAN", "TVAE")] = "GaussianCopula"
    epochs: Annotated[int, AtLeast(1)] = 300
    arguments: dict[str, Any] | None = None

    tool: ClassVar[Tool] = Tool(
        name="SDV",
        package="sdv",
        licence="Business Source License 1.1, not open source; four years after its release a "
        "version becomes MIT",
    )
    card: ClassVar[MethodCard] = MethodCard(
        name="sdv",
        title="SDV's single-table models",
        keeps="with GaussianCopula each column's fitted distribution and the correlation of pairs; "
        "with CTGAN, CopulaGAN and TVAE what the network learns",
        loses="with GaussianCopula relations that no correlation tells, and spikes; with the "
        "others whatever the training did not reach",
        claim="None, and the tool makes none. It shows smallest and largest values and rare levels "
        "as they are. Assess it, and attack it.",
        file=NO_FILE,
        source="Patki, Wedge and Veeramachaneni 2016; Xu et al. 2019 (CTGAN, TVAE)",
    )

    @property
    def program(self) -> str:
        """What to call the tool."""
        return f"SDV {self.version_} {self.model}"


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

    mode: Annotated[str, OneOf("correlated", "independent", "random")] = "correlated"
    k: Annotated[int, AtLeast(1)] = 2
    tool_epsilon: Annotated[float, AtLeast(0)] = 0.0
    bins: Annotated[int, AtLeast(2)] = 20

    tool: ClassVar[Tool] = Tool(
        name="DataSynthesizer",
        package="DataSynthesizer",
        licence="MIT License",
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


@dataclass(kw_only=True)
class MostlyAI(Adapter):
    """TabularARGN, the autoregressive network of mostlyai-engine.

    Parameters
    ----------
    minutes : float
        Of training, at most; the tool stops earlier when it no longer improves.
    epochs : int
        At most.
    size : {"Small", "Medium", "Large"}
        Of the network.
    """

    minutes: Annotated[float, Above(0)] = 30.0
    epochs: Annotated[int, AtLeast(1)] = 100
    size: Annotated[str, OneOf("Small", "Medium", "Large")] = "Medium"

    tool: ClassVar[Tool] = Tool(
        name="mostlyai-engine",
        package="mostlyai-engine",
        licence="Apache License 2.0",
    )
    card: ClassVar[MethodCard] = MethodCard(
        name="mostlyai",
        title="MOSTLY AI's autoregressive network",
        keeps="each column's distribution and relations, as far as the network learns them",
        loses="rare levels and extremes, which the tool's value protection replaces; whatever the "
        "training did not reach",
        claim="None here: the tool's value protection hides rare levels and extremes, and its "
        "training with differential privacy is not used. Assess it, and attack it.",
        file=NO_FILE,
        source="Tiwald et al. 2025 (TabularARGN)",
    )
