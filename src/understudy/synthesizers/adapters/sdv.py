"""SDV, the Synthetic Data Vault, as a method."""

from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.data.schema import near
from understudy.errors import OptionError
from understudy.synthesizers.adapters.base import NO_FILE, Adapter, Tool
from understudy.synthesizers.base import MethodCard

MODELS = ("GaussianCopula", "CTGAN", "CopulaGAN", "TVAE")
WITHOUT_EPOCHS = "GaussianCopula"


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

    model: str = "GaussianCopula"
    epochs: int = 300
    arguments: dict[str, Any] | None = None

    tool: ClassVar[Tool] = Tool(
        name="SDV",
        package="sdv",
        licence="Business Source License 1.1, not open source; four years after its release a "
        "version becomes MIT",
        script="run_sdv.py",
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

    def check(self) -> None:
        """Refuse options that SDV cannot take."""
        if self.model not in MODELS:
            raise OptionError(f"sdv: model = {self.model!r}", hint=near(str(self.model), MODELS))
        if self.epochs < 1:
            raise OptionError(f"sdv: epochs = {self.epochs}", hint="use at least 1")
        if not (self.arguments is None or isinstance(self.arguments, dict)):
            raise OptionError(f"sdv: arguments = {self.arguments!r}", hint="give names with values")

    def settings(self) -> dict[str, Any]:
        """Give the arguments of SDV's class."""
        epochs = {} if self.model == WITHOUT_EPOCHS else {"epochs": self.epochs}
        return {"model": self.model, "arguments": {**epochs, **(self.arguments or {})}}

    @property
    def program(self) -> str:
        """What to call the tool."""
        return f"SDV {self.version_} {self.model}"
