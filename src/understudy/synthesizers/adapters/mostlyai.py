"""The engine of MOSTLY AI as a method."""

from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.options import check_number
from understudy.synthesizers.adapters.base import NO_FILE, Adapter, Tool
from understudy.synthesizers.base import MethodCard

SIZES = ("Small", "Medium", "Large")


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

    minutes: float = 30.0
    epochs: int = 100
    size: str = "Medium"

    tool: ClassVar[Tool] = Tool(
        name="mostlyai-engine",
        package="mostlyai-engine",
        licence="Apache License 2.0",
        script="run_mostlyai.py",
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

    def check(self) -> None:
        """Refuse options that the tool cannot take."""
        if self.size not in SIZES:
            raise OptionError(f"mostlyai: size = {self.size!r}", hint=near(str(self.size), SIZES))
        check_number("mostlyai: minutes", self.minutes, above=0)
        if self.epochs < 1:
            raise OptionError(f"mostlyai: epochs = {self.epochs}", hint="use at least 1")

    def settings(self) -> dict[str, Any]:
        """Give the arguments of the tool."""
        return {"minutes": self.minutes, "epochs": self.epochs, "size": self.size}
