"""Comparison: what is compared, and the work that measures share."""

import dataclasses
import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.cache import Cache
from understudy.data.codec import UNSEEN, Codec, Codes, ColumnCodec
from understudy.data.matrix import Matrix
from understudy.data.schema import Schema, Values, few
from understudy.data.source import Source, source_of
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.progress import Progress, silent

if TYPE_CHECKING:
    from understudy.kernels.neighbors import HammingNeighbors

Which = Literal["train", "synthetic", "holdout"]
T = TypeVar("T")


def stream(seed: int, *names: str) -> np.random.Generator:
    """Give the random stream of this name: the same whatever else ran before.

    Examples
    --------
    >>> stream(1, "a").random() == stream(1, "a").random() != stream(1, "b").random()
    True
    """
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    words = np.frombuffer(digest, np.uint32).tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


@dataclass(frozen=True)
class Synthesis:
    """How a release was made, as far as its files say so.

    ``partial``: some values were replaced, the others are real. ``proper``: every replicate has a
    model of its own draw. ``models``: the column methods of a sequential method.
    """

    method: str
    partial: bool = False
    proper: bool = False
    models: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Comparison:
    """A training table, one release in one or more replicates, and fresh real rows if any.

    Measures ask it for counts, nearest records and rows by the name of the table; they never
    see how the tables are kept. Work that several measures share is done once: ``once`` keeps what
    depends on the release, ``once_for_real`` what depends on the real tables alone. ``together``
    names the column whose groups of rows the split kept on one side, if there is one.
    """

    train: Source
    synthetic: tuple[Source, ...]
    holdout: Source | None = None
    keys: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    target: str | None = None
    formula: tuple[str, ...] = ()
    synthesis: Synthesis | None = None
    aligned: bool = False
    fit: Any = None
    together: str | None = None
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    progress: Progress = silent
    once: Cache = field(default_factory=Cache, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.synthetic:
            raise OptionError("there is no synthetic table", hint="give at least one")
        for role, names in (("keys", self.keys), ("sensitive", self.sensitive)):
            self.schema.check_modelled(role, names)
            for place, name in enumerate(names):
                if name in names[:place]:
                    raise OptionError(f"{role}: '{name}' is named twice", hint="name it once")
        both = [name for name in self.sensitive if name in self.keys]
        if both:
            raise OptionError(
                f"'{both[0]}' is among the keys and among the sensitive columns",
                hint="what an attacker knows already cannot be learnt: name it in one place",
            )
        if self.target is not None:
            self.schema.check_modelled("target", [self.target])

    def __repr__(self) -> str:
        releases = ", ".join(f"{source.height:,}" for source in self.synthetic[:6])
        fresh = "no holdout" if self.holdout is None else f"{self.holdout.height:,} holdout"
        rows = f"{self.train.height:,} training, {releases} synthetic, {fresh} rows"
        return f"Comparison({rows}; {few(self.names)})"

    @property
    def schema(self) -> Schema:
        """The schema of the training table, which holds for all."""
        return self.train.schema

    @property
    def names(self) -> tuple[str, ...]:
        """The columns compared."""
        return self.schema.modelled

    @property
    def has_holdout(self) -> bool:
        """Whether there are fresh real rows."""
        return self.holdout is not None

    @property
    def tables(self) -> tuple[Which, ...]:
        """The tables that there are."""
        return ("train", "synthetic", "holdout") if self.has_holdout else ("train", "synthetic")

    def replicate(self, number: int) -> "Comparison":
        """Compare with one replicate only; what is kept with the real tables stays shared."""
        return self.once(
            ("replicate", number),
            lambda: dataclasses.replace(self, synthetic=(self.synthetic[number],)),
        )

    def within(self, name: str, level: str) -> "Comparison":
        """Compare the rows that have this level of a column, in all tables.

        A generator fitted to such rows would be another one, so there is none.
        """
        return dataclasses.replace(
            self,
            fit=None,
            train=self.train.where(name, level),
            synthetic=tuple(source.where(name, level) for source in self.synthetic),
            holdout=self.holdout and self.holdout.where(name, level),
        )

    def source(self, which: Which) -> Source:
        """Give one of the tables; for several replicates, the first."""
        if which == "train":
            return self.train
        if which == "synthetic":
            return self.synthetic[0]
        if self.holdout is None:
            raise DataError("there is no holdout", hint="give fresh real rows (--holdout)")
        return self.holdout

    def height(self, which: Which) -> int:
        """Count the rows of a table."""
        return self.source(which).height

    def once_for_real(self, key: Hashable, work: Callable[[], T]) -> T:
        """Do work on training and holdout once, for all replicates and candidates."""
        return self.train.once((key, self.holdout), work)

    def codec(self, *, bins: int, levels: int | None) -> Codec:
        """Code numbers and levels by what the training table has."""
        return self.train.once(
            ("codec", bins, levels), lambda: Codec.fit(self.train, bins=bins, levels=levels)
        )

    def codes(self, which: Which, codec: Codec) -> Codes:
        """Give the rows of a table as codes."""
        return self.source(which).coded(codec).codes

    def counts(self, which: Which, names: Sequence[str], codec: Codec) -> NDArray[np.float64]:
        """Count the combinations of these columns' codes in a table."""
        return self.source(which).counts(names, codec)

    def pooled_codec(self, *, bins: int, levels: int | None = None) -> Codec:
        """Code by what training and holdout have together."""

        def fit() -> Codec:
            return Codec.fit(self.train.pooled(self.source("holdout")), bins=bins, levels=levels)

        return self.once_for_real(("pooled codec", bins, levels), fit)

    def points(self, which: Which, codec: Codec) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Give rows as points for the mixed distance, and which columns are categories."""
        return self.source(which).coded(codec, scaled=True).points()

    def labels(self, which: Which, name: str) -> pl.Series:
        """Give a column as text."""
        return self.source(which).labels(name)

    def nearest(
        self, queries: Which, reference: Which, codec: Codec, *, cap: int = 20
    ) -> "HammingNeighbors":
        """Find the nearest rows of one table to each row of another."""
        return self.source(reference).nearest(self.source(queries).coded(codec), cap=cap)

    def matrix(self, tables: Sequence[Which], target: str | None = None) -> Matrix[Which]:
        """Turn tables into features for a model, by what they have together; rows by value."""
        sources = {which: self.source(which) for which in tables}
        return Matrix.of(sources, target=target).in_order()

    def rows(self, which: Which, limit: int | None = None, name: str = "rows") -> pl.DataFrame:
        """Give rows as plain values, drawn from the named stream where a limit is given."""
        return self.source(which).rows(limit, self.stream(name, which))

    def copies(self, which: Which, rows: pl.DataFrame) -> NDArray[np.int64]:
        """Count the rows of a table that equal each of those given."""
        return self.source(which).copies(rows)

    def resamples(self, times: int) -> Iterator["Comparison"]:
        """Draw the rows of all tables with replacement, again and again."""
        for time in range(times):
            yield dataclasses.replace(
                self,
                train=self.train.resample(self.stream("resample", "train", str(time))),
                synthetic=(
                    self.synthetic[0].resample(self.stream("resample", "synthetic", str(time))),
                ),
                holdout=self.holdout
                and self.holdout.resample(self.stream("resample", "holdout", str(time))),
            )

    def stream(self, *names: str) -> np.random.Generator:
        """Give the random stream of this name."""
        return stream(self.seed, *names)

    def size_ratio(self) -> float:
        """Give the ratio of sampling noise that the numbers of synthetic and holdout rows imply.

        A distance between two samples of sizes n and m has a noise of the order of
        1/n + 1/m; the holdout's own distance is rescaled by it to the size of the synthetic table.
        """
        train, synthetic = self.height("train"), self.height("synthetic")
        return (1 / train + 1 / synthetic) / (1 / train + 1 / self.height("holdout"))

    def notes(self) -> list[str]:
        """Say what in the tables could not be read as its kind, or was never seen in training."""
        tables: list[tuple[str, Source]] = [("synthetic", s) for s in self.synthetic]
        if self.holdout is not None:
            tables.append(("holdout", self.holdout))
        codec = self.codec(bins=1, levels=None)
        return [
            note
            for label, source in tables
            for coder in codec.columns
            for note in (
                _strange_values(label, source, coder),
                _far_numbers(label, source, codec, coder),
            )
            if note
        ]


def _far_numbers(label: str, source: Source, codec: Codec, coder: ColumnCodec) -> str:
    """Count the numbers that lie outside the range of training."""
    name = coder.column.name
    if not coder.bins:
        return ""
    unseen = int(source.counts([name], codec)[UNSEEN])
    count = unseen - sum(n for level, n in source.levels(name).items() if level not in coder.levels)
    some = "1 value" if count == 1 else f"{count:,} values"
    return f"{label}: {some} of '{name}' outside the range of training." if count else ""


def _strange_values(label: str, source: Source, coder: ColumnCodec) -> str:
    """Count the values that have no code, and name some if they are not real persons'."""
    levels = source.levels(coder.column.name)
    codes = coder.encode(Values(None, pl.Series(list(levels), dtype=pl.String)))
    strange = {v: n for (v, n), c in zip(levels.items(), codes, strict=True) if c == UNSEEN}
    if not strange:
        return ""
    count, kind = sum(strange.values()), coder.column.kind
    what = f"not a {kind}" if coder.column.is_numeric else "never seen in training"
    named = ""
    if label == "synthetic":
        shown = sorted(strange, key=lambda value: (-strange[value], value))[:3]
        named = f" ({', '.join(repr(value[:40]) for value in shown)})"
    some = "1 value" if count == 1 else f"{count:,} values"
    return f"{label}: {some} of '{coder.column.name}' {what}{named}, coded as unseen."


def compare_tables(
    train: Any,
    synthetic: Any,
    holdout: Any = None,
    *,
    schema: Any = None,
    **rest: Any,
) -> Comparison:
    """Make a comparison of paths or frames; the kinds of all come from the training table."""
    real = Table.of(train, schema, name="training table").with_rows()
    several = isinstance(synthetic, list | tuple)
    releases = list(synthetic) if several else [synthetic]
    made = [
        Table.of(release, real.schema, name="synthetic table").with_rows() for release in releases
    ]
    fresh = None
    if holdout is not None:
        fresh = Table.of(holdout, real.schema, name="holdout").with_rows()
    return Comparison(
        source_of(real),
        tuple(source_of(table) for table in made),
        None if fresh is None else source_of(fresh),
        **rest,
    )
