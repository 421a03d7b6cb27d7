"""Copula: a joint normal law behind all columns, whatever their kinds."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.schema import Schema, near
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import one_thread
from understudy.judging.comparison import Progress
from understudy.options import MOST, check_number
from understudy.synthesizers.base import MethodCard
from understudy.synthesizers.columns.frame import names_in
from understudy.synthesizers.copula.determined import Determined, find_determined, find_fixed
from understudy.synthesizers.copula.latent import Latent, fit_latent
from understudy.synthesizers.copula.lines import Codes, Lines, plan_lines
from understudy.synthesizers.copula.margins import fit_margin
from understudy.synthesizers.model_file import State, texts
from understudy.synthesizers.support import Support, refuse_few, refuse_rules, shown_schema

MARGINS = ("empirical", "fitted")
MOST_DRAWS = 2_000_000
FEWEST_ROWS = 2_000
BLOCK = 20_000
GIVEN_SWEEPS = 30
SPIKE = 0.05


@dataclass(kw_only=True)
class Copula:
    """A Gaussian copula over columns of all kinds; shows no value that few rows hold.

    Parameters
    ----------
    k : int
        A value is shown if at least this many training rows hold it, or none does.
    margins : {"empirical", "fitted"}
        Whether numbers of many different values are shown as training has them, or as a curve of
        two or three parameters does: normal, Student, uniform, lognormal, gamma or beta.
    levels : int
        A number with at most this many values is drawn level by level, as a category is.
    pieces : int
        The parts that other numbers are cut into. With 1 relations rise or fall throughout, as
        a Gaussian copula has it; with 3 they may bend.
    shrink : float
        How far correlations are pulled to 0, from 0 to 1, beyond what their own noise asks for.
    keep : list of names
        Columns that are kept as they are, in partial synthesis.
    """

    k: int = 5
    margins: str = "empirical"
    levels: int = 20
    pieces: int = 1
    shrink: float = 0.0
    keep: Sequence[str] = ()
    supports_: list[Support] = field(init=False, repr=False, default_factory=list)
    latent_: Latent = field(init=False, repr=False)
    notes_: list[str] = field(init=False, repr=False, default_factory=list)

    card: ClassVar[MethodCard] = MethodCard(
        name="copula",
        title="Gaussian copula",
        keeps="the distribution of each column, and relations of two columns that rise or fall; "
        "between categories, relations of single levels; columns that follow from another, and "
        "questions that are skipped",
        loses="relations that bend, those of three columns that pairs do not imply, and values "
        "that fewer than k training rows hold, extremes among them",
        claim="No value is shown that fewer than k training rows hold (k is 5 if not set). That "
        "bounds no attack on records or attributes: measure what the table discloses.",
        file="correlations of latent normals, shares of codes and the values that may be shown; "
        "no value that fewer than k training rows hold",
        holds="model",
        source="The Gaussian copula of the Synthetic Data Vault (Patki, Wedge and Veeramachaneni "
        "2016), for mixed columns by Hoff 2007, by stochastic EM (Delyon, Lavielle and Moulines "
        "1999)",
        coarser="weaker relations, such as -o copula.shrink=0.3, or margins of few parameters, "
        "-o copula.margins=fitted",
        finer="relations that bend, such as -o copula.pieces=3",
    )

    def __post_init__(self) -> None:
        for name, least in (("k", 1), ("levels", 0), ("pieces", 1)):
            check_number(f"copula: {name}", getattr(self, name), least, MOST)
        if self.margins not in MARGINS:
            raise OptionError(
                f"copula: margins = {self.margins!r}", hint=f"use one of {', '.join(MARGINS)}"
            )
        if not 0 <= self.shrink <= 1:
            raise OptionError(f"copula: shrink = {self.shrink}", hint="use a share between 0 and 1")
        self.keep = names_in(self.keep, "copula: keep")

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Code the columns, then learn the correlation of the normals behind them."""
        refuse_few(table, "copula", k=self.k)
        refuse_rules(table.schema, "copula")
        for name in self.keep:
            if name not in table.schema.modelled:
                raise OptionError(
                    f"copula: keep names '{name}', which is not modelled",
                    hint=near(name, table.schema.modelled),
                )
        with one_thread():
            return self._fit(table, rng, progress)

    def _fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        self.supports_, self.notes_ = [], []
        codes = np.empty((table.height, len(table.schema.modelled)), np.uint16, order="F")
        for place, name in enumerate(table.schema.modelled):
            codes[:, place] = self._support(table, name, rng)
        sizes = [s.size for s in self.supports_]
        determined = find_determined(codes, sizes, self._kept)
        places = [j for j in range(len(sizes)) if j not in {d.column for d in determined}]
        empty = [self._empty(place, codes[:, place]) for place in range(len(sizes))]
        telling = [
            own | (s.bins <= self.levels) for own, s in zip(empty, self.supports_, strict=True)
        ]
        fixed, codes = find_fixed(codes, telling, empty, places, self._kept, self.k)
        lines = plan_lines(codes, self.supports_, places, levels=self.levels, pieces=self.pieces)
        lines = dataclasses.replace(lines, determined=(*determined, *fixed))
        most = max(MOST_DRAWS // max(len(lines), 1), FEWEST_ROWS)
        if len(codes) > most:
            self.notes_.append(f"correlations were learnt from {most:,} of {len(codes):,} rows")
            codes = codes[np.sort(rng.choice(len(codes), most, replace=False))]
        self.latent_ = fit_latent(lines, lines.parts(codes), self.shrink, rng, progress)
        return self

    def _empty(self, place: int, codes: Codes) -> NDArray[np.bool_]:
        """Say which codes mean that nothing was answered: missing, words and spikes of numbers."""
        support = self.supports_[place]
        if not support.column.is_numeric:
            return np.array([label is None for label in support.labels])
        made = np.bincount(codes, minlength=support.size + 1)[: support.size] >= SPIKE * len(codes)
        made[: support.bins] &= support.bins > self.levels
        made[support.bins :] = True
        return made

    @property
    def _kept(self) -> list[int]:
        """The places of the columns that are kept."""
        return [j for j, s in enumerate(self.supports_) if s.column.name in self.keep]

    def _support(self, table: Table, name: str, rng: np.random.Generator) -> Codes:
        """Choose what a column may show, and code it."""
        single, values = table.frame[name].dtype == pl.Float32, table.values(name)
        support, codes = Support.fit(values, table.schema[name], self.k, single=single)
        if support.shows_nothing and (codes == support.size).any():
            self.notes_.append(f"{name} is all missing: no value of it is held by {self.k} rows")
        if self.margins == "fitted" and values.numbers is not None and name not in self.keep:
            support, curve = fit_margin(support, codes, values.numbers, self.k, rng, single=single)
            if curve is not None:
                self.notes_.append(f"{name} is drawn from a {curve} curve")
        self.supports_.append(support)
        return codes

    def sample(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw latent normals and cut them."""
        if self.keep:
            raise OptionError(
                f"copula: the columns that are kept ({', '.join(self.keep)}) need rows",
                hint="complete the rows of a table, or keep no column",
            )
        codes = np.zeros((rows, len(self.supports_)), np.uint16, order="F")
        with one_thread():
            for start in range(0, rows, BLOCK):
                here = slice(start, min(start + BLOCK, rows))
                latent = self.latent_.draw(here.stop - start, rng)
                codes[here] = self.latent_.lines.walk(latent, self.latent_.cuts)
        return self._decode(codes, rng)

    def complete(self, kept: Table, rng: np.random.Generator) -> pl.DataFrame:
        """Draw all other columns for the rows of a table whose kept columns stay untouched."""
        for name in self.keep:
            if name not in kept.frame.columns:
                raise DataError(
                    f"{kept.name}: the column '{name}' that is kept is missing",
                    hint=near(name, kept.frame.columns),
                )
        sizes = [s.size for s in self.supports_]
        own = np.tile(np.array(sizes, np.uint16), (kept.height, 1))
        for place in self._kept:
            support = self.supports_[place]
            own[:, place] = support.encode(kept.values(support.column.name))
        lines = self.latent_.lines
        known = [i for place in self._kept for i in lines.of(place)]
        codes = np.zeros_like(own)
        with one_thread():
            for start in range(0, kept.height, BLOCK):
                here = slice(start, start + BLOCK)
                parts = lines.parts(own[here])[known]
                latent = self.latent_.given(known, parts, rng, sweeps=GIVEN_SWEEPS)
                codes[here] = lines.walk(latent, self.latent_.cuts)
        return self._decode(codes, rng, kept.frame)

    def _decode(
        self, codes: Codes, rng: np.random.Generator, kept: pl.DataFrame | None = None
    ) -> pl.DataFrame:
        """Turn codes into values; columns that are kept stay as they are."""
        return pl.DataFrame(
            {
                s.column.name: kept[s.column.name]
                if kept is not None and s.column.name in self.keep
                else s.decode(codes[:, place], rng)
                for place, s in enumerate(self.supports_)
            }
        )

    def emitted(self, schema: Schema) -> Schema:
        """Give the schema of what is shown: no level and no bound but those of the support."""
        return shown_schema(schema, [support.column_shown() for support in self.supports_])

    def state(self) -> State:
        """Give supports, lines, cuts and correlation."""
        lines, cuts = self.latent_.lines, self.latent_.cuts
        arrays: dict[str, NDArray[Any]] = {f"lines_{k}": v for k, v in lines.arrays().items()}
        arrays["cuts"] = np.concatenate([np.empty(0), *cuts])
        arrays["correlation"] = self.latent_.correlation
        for number, support in enumerate(self.supports_):
            arrays |= {f"{number}_support_{k}": v for k, v in support.arrays().items()}
        for number, one in enumerate(lines.determined):
            arrays[f"lookup_{number}"] = one.lookup
        columns = [{"name": s.column.name, "labels": list(s.labels)} for s in self.supports_]
        determined = [[one.column, one.by] for one in lines.determined]
        return State({"columns": columns, "determined": determined, "notes": self.notes_}, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take supports, lines, cuts and correlation."""
        self.supports_ = [
            Support.of(schema[entry["name"]], entry["labels"], state.part(f"{number}_support_"))
            for number, entry in enumerate(state.values["columns"])
        ]
        sizes = [s.size for s in self.supports_]
        determined = [
            Determined.restore(plain, state, f"lookup_{number}", sizes)
            for number, plain in enumerate(state.values["determined"])
        ]
        lines = Lines.restore(state.part("lines_"), sizes, determined)
        lengths = [len(line.targets) - 1 for line in lines.lines]
        cuts = state.array("cuts", float, (sum(lengths),), -np.inf, np.inf)
        correlation = state.array("correlation", float, (len(lines), len(lines)), -2, 2)
        np.linalg.cholesky(correlation)
        parts = np.split(cuts, np.cumsum(lengths)[:-1]) if len(lines) else ()
        self.latent_ = Latent(lines, correlation, tuple(parts))
        self.notes_ = list(texts(state.values["notes"]))
        return self
