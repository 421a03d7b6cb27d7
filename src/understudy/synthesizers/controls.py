"""Controls: methods whose faults are known, against which everything else is judged."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Column, Schema
from understudy.data.source import source_of
from understudy.data.tables import Table
from understudy.errors import OptionError
from understudy.jobs.progress import Progress
from understudy.options import SHARE, AtLeast
from understudy.synthesizers.base import Method, MethodCard, abilities_of, check_options
from understudy.synthesizers.model_file import State
from understudy.synthesizers.registry import restorable

HOLDS_ROWS = "every training row, as it is"


@dataclass
class _TrainingRows:
    """Keeps the training rows.

    Parameters
    ----------
    keep : list of names
        Columns that are kept as they are, in partial synthesis.
    """

    keep: Sequence[str] = field(default=(), kw_only=True, repr=False)
    rows_: pl.DataFrame = field(init=False, repr=False)

    card: ClassVar[MethodCard]

    def __post_init__(self) -> None:
        check_options(self)

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Keep the rows."""
        self.rows_ = table.modelled
        return self

    def state(self) -> State:
        """Give the rows."""
        return State(frames={"rows": self.rows_})

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the rows."""
        self.rows_ = state.frame("rows", schema.modelled)
        return self

    def knows_chances(self, schema: Schema) -> bool:
        """Whether rows have a known chance."""
        return "likelihood" in abilities_of(self)

    def _log_shares(self, rows: Table, wanted: pl.DataFrame) -> NDArray[np.float64]:
        """Give the log of the share of training rows that equal each of those wanted."""
        own = source_of(Table(self.rows_, rows.schema))
        with np.errstate(divide="ignore"):
            made: NDArray[np.float64] = np.log(own.copies(wanted) / self.rows_.height)
        return made

    def _draw(self, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        if self.keep:
            raise OptionError(
                f"{self.card.name}: the columns that are kept ({', '.join(self.keep)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        return rng.integers(0, self.rows_.height, rows)

    def _alike(self, kept: Table, rng: np.random.Generator) -> NDArray[np.int64]:
        """Find for each row a training row with the same kept values; any, where there is none."""
        whole = Table(self.rows_.select(self.keep), kept.schema)
        both = pl.concat([whole.plain, kept.plain])
        group = both.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(int)
        own, asked = group[: whole.height], group[whole.height :]
        order = rng.permutation(whole.height)
        order = order[np.argsort(own[order], kind="stable")]
        begin, end = (np.searchsorted(own[order], asked, side) for side in ("left", "right"))
        pick = begin + (rng.random(len(asked)) * (end - begin)).astype(np.int64)
        anyone = rng.integers(0, whole.height, len(asked))
        found = order[np.minimum(pick, whole.height - 1)]
        return np.where(end > begin, found, anyone)

    def _completed(self, kept: Table, drawn: dict[str, pl.Series]) -> pl.DataFrame:
        """Put kept columns and drawn ones together."""
        made = {**drawn, **{name: kept.frame[name] for name in self.keep}}
        return pl.DataFrame(made).select(self.rows_.columns)


@dataclass
class Bootstrap(_TrainingRows):
    """Rows drawn with replacement: the ceiling of fidelity and the worst case of disclosure."""

    card: ClassVar[MethodCard] = MethodCard(
        name="bootstrap",
        title="Rows copied",
        keeps="everything, up to sampling noise",
        loses="nothing",
        claim="None: every row it makes is a training row. A positive control, never a release.",
        file=HOLDS_ROWS,
        holds="real rows",
        source="control",
        abilities=("complete", "likelihood"),
    )

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Copy rows."""
        return self.rows_[self._draw(rows, rng)]

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Copy the other columns of a training row with the same kept values."""
        return self._completed(kept, self.rows_[self._alike(kept, rng)].to_dict())

    def log_likelihood(self, rows: Table) -> NDArray[np.float64]:
        """Give the log of each row's chance."""
        return self._log_shares(rows, rows.plain)


@dataclass
class Independent(_TrainingRows):
    """Columns drawn alone: the floor of fidelity."""

    card: ClassVar[MethodCard] = MethodCard(
        name="independent",
        title="Columns drawn alone",
        keeps="each column's own distribution, missing values included",
        loses="every relation between columns",
        claim="None: it emits real values, rare ones too, though never a real combination but by "
        "chance.",
        file="every training value of each column, the columns shuffled apart",
        holds="real values",
        source="control",
        abilities=("complete", "likelihood"),
    )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Keep each column, shuffled on its own."""
        self.rows_ = pl.DataFrame({s.name: s[rng.permutation(len(s))] for s in table.modelled})
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw each column by itself."""
        return pl.DataFrame({s.name: s[self._draw(rows, rng)] for s in self.rows_})

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw each other column by itself, whatever is kept."""
        height = self.rows_.height
        others = {s.name: s[rng.integers(0, height, kept.height)] for s in self.rows_}
        return self._completed(kept, others)

    def log_likelihood(self, rows: Table) -> NDArray[np.float64]:
        """Give the log of each row's chance."""
        plain = rows.plain
        own = [self._log_shares(rows, plain.select(name)) for name in plain.columns]
        made: NDArray[np.float64] = np.sum(own, axis=0)
        return made


@dataclass
class Flip(_TrainingRows):
    """Rows drawn with replacement, each value replaced with probability p by another record's.

    The perturbation of Platzer and Reutterer (2021), section 4: it keeps the distribution of
    every column and wears off relations and copies alike as p grows.
    """

    p: Annotated[float, SHARE] = 0.5

    card: ClassVar[MethodCard] = MethodCard(
        name="flip",
        title="Rows perturbed",
        keeps="each column's distribution, and relations in part",
        loses="relations, the more the larger p",
        claim="None: at small p most values of a training row survive. The reference curve "
        "between copying and noise.",
        file=HOLDS_ROWS,
        holds="real rows",
        source="Platzer and Reutterer 2021, section 4",
        abilities=("complete",),
    )

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Copy rows, then replace values by those of other records."""
        return pl.DataFrame(self._flipped(self._draw(rows, rng), rng))

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Copy a training row with the same kept values, then replace its other values."""
        return self._completed(kept, self._flipped(self._alike(kept, rng), rng))

    def _flipped(self, drawn: NDArray[np.int64], rng: np.random.Generator) -> dict[str, pl.Series]:
        rows, height, columns = len(drawn), self.rows_.height, {}
        for series in self.rows_:
            other = (drawn + rng.integers(1, max(height, 2), rows)) % height
            columns[series.name] = series[np.where(rng.random(rows) < self.p, other, drawn)]
        return columns


@dataclass
class Corrupt:
    """Another method's output with slightly changed training rows planted into it.

    The control data set of Sosnovchyk (2021), section 3.3.4: a share of the rows is replaced by
    training rows whose numbers are changed by up to ± noise.
    """

    share: Annotated[float, SHARE] = 0.01
    noise: Annotated[float, AtLeast(0)] = 0.01
    base: str = "independent"
    base_: Method = field(init=False, repr=False)
    rows_: pl.DataFrame = field(init=False, repr=False)
    schema_: Schema = field(init=False, repr=False)

    card: ClassVar[MethodCard] = MethodCard(
        name="corrupt",
        title="A known leak planted",
        keeps="what the method that it corrupts keeps",
        loses="what that method loses",
        claim="None: a known share of its rows are training rows with slightly changed numbers. "
        "A positive control, never a release.",
        file=HOLDS_ROWS + ", and the model of the method that it corrupts",
        holds="real rows",
        source="Sosnovchyk 2021, section 3.3.4",
        abilities=(),
    )

    def __post_init__(self) -> None:
        from understudy.synthesizers import SYNTHESIZERS

        check_options(self)
        if self.base not in SYNTHESIZERS or self.base == "corrupt":
            others = [name for name in SYNTHESIZERS if name != "corrupt"]
            raise OptionError(
                f"corrupt: base = '{self.base}' is no method",
                hint=f"use one of {', '.join(others)}",
            )

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Fit the other method and keep the rows."""
        from understudy.synthesizers import SYNTHESIZERS

        self.base_ = SYNTHESIZERS[self.base]().fit(table, rng, progress)
        self.rows_, self.schema_ = table.modelled, table.schema
        return self

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Sample the other method, then plant."""
        made = self.base_.sample(rows, rng)
        count = round(self.share * rows)
        if not count:
            return made
        victims = rng.choice(self.rows_.height, count, replace=count > self.rows_.height)
        planted = self.rows_[victims].with_columns(
            self._change(series, self.schema_[series.name], rng) for series in self.rows_[victims]
        )
        return pl.concat([made[count:], planted])[rng.permutation(rows)]

    def _change(self, series: pl.Series, column: Column, rng: np.random.Generator) -> pl.Series:
        if column.kind != "number" or not series.dtype.is_numeric():
            return series
        factor = 1 + self.noise * rng.uniform(-1, 1, len(series))
        changed = series.cast(pl.Float64) * factor
        if column.decimals is not None:
            changed = changed.round(column.decimals)
        return (
            changed.cast(series.dtype)
            if series.dtype.is_float()
            else changed.round().cast(series.dtype)
        )

    def state(self) -> State:
        """Give the rows and the other method's state."""
        inner = self.base_.state()
        return State(
            inner.values,
            inner.arrays,
            {**{f"base_{name}": frame for name, frame in inner.frames.items()}, "rows": self.rows_},
        )

    def restore(self, state: State, schema: Schema) -> Self:
        """Take the rows and the other method's state."""
        from understudy.synthesizers import SYNTHESIZERS

        inner: dict[str, Any] = {
            name.removeprefix("base_"): frame
            for name, frame in state.frames.items()
            if name.startswith("base_")
        }
        base = restorable(SYNTHESIZERS[self.base])()
        self.base_ = base.restore(dataclasses.replace(state, frames=inner), schema)
        self.rows_, self.schema_ = state.frame("rows", schema.modelled), schema
        return self
