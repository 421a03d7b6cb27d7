"""Copula: a joint normal law behind all columns, whatever their kinds."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.data.bins import Grid, Points
from understudy.data.codec import ColumnCodec
from understudy.data.schema import Schema
from understudy.data.tables import Table
from understudy.jobs.progress import Progress
from understudy.jobs.workers import one_thread
from understudy.options import SHARE, AtLeast, OneOf
from understudy.synthesizers.base import MethodCard, check_options
from understudy.synthesizers.coded import CodedMethod
from understudy.synthesizers.columns.frame import listed
from understudy.synthesizers.copula.determined import Determined, find_determined, find_fixed
from understudy.synthesizers.copula.latent import Latent, fit_latent
from understudy.synthesizers.copula.lines import Codes, Floats, Lines, plan_lines
from understudy.synthesizers.model_file import State, texts

MOST_DRAWS = 2_000_000
FEWEST_ROWS = 2_000
BLOCK = 20_000
GIVEN_SWEEPS = 30
SPIKE = 0.05
CURVE_CODES, CURVE_LARGEST, CURVE_ROWS, CURVE_POINTS = 20, 0.05, 5_000, 100


@dataclass(kw_only=True)
class Copula(CodedMethod):
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

    k: Annotated[int, AtLeast(1)] = 5
    margins: Annotated[str, OneOf("empirical", "fitted")] = "empirical"
    levels: Annotated[int, AtLeast(0)] = 20
    pieces: Annotated[int, AtLeast(1)] = 1
    shrink: Annotated[float, SHARE] = 0.0
    keep: Sequence[str] | str = ()
    codecs_: list[ColumnCodec] = field(init=False, repr=False, default_factory=list)
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
        claim="No value is shown that fewer than k training rows hold (k is 5 if not set); a "
        "number that a relation computes from values that are shown may be one. That bounds no "
        "attack on records or attributes: measure what the table discloses.",
        file="correlations of latent normals, shares of codes and the values that may be shown; "
        "no value that fewer than k training rows hold",
        holds="model",
        source="The Gaussian copula of the Synthetic Data Vault (Patki, Wedge and Veeramachaneni "
        "2016), for mixed columns by Hoff 2007, by stochastic EM (Delyon, Lavielle and Moulines "
        "1999)",
        coarser="weaker relations, such as -o copula.shrink=0.3, or margins of few parameters, "
        "-o copula.margins=fitted",
        finer="relations that bend, such as -o copula.pieces=3",
        abilities=("complete", "emitted"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        self.keep = listed(self.keep)

    def fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        """Code the columns, then learn the correlation of the normals behind them."""
        self._check_table(table, k=self.k)
        with one_thread():
            return self._fit(table, rng, progress)

    def _fit(self, table: Table, rng: np.random.Generator, progress: Progress) -> Self:
        self.codecs_, self.notes_ = [], []
        codes = np.empty((table.height, len(table.schema.modelled)), np.uint16, order="F")
        for place, name in enumerate(table.schema.modelled):
            codes[:, place] = self._margin(table, name, rng)
        determined = find_determined(codes, self._sizes, self._kept_places)
        places = [j for j in range(codes.shape[1]) if j not in {d.column for d in determined}]
        empty = [self._empty(place, codes[:, place]) for place in range(codes.shape[1])]
        telling = [
            own | (c.bins <= self.levels) for own, c in zip(empty, self.codecs_, strict=True)
        ]
        fixed, codes = find_fixed(codes, telling, empty, places, self._kept_places, self.k)
        lines = plan_lines(codes, self.codecs_, places, levels=self.levels, pieces=self.pieces)
        lines = dataclasses.replace(lines, determined=(*determined, *fixed))
        most = max(MOST_DRAWS // max(len(lines), 1), FEWEST_ROWS)
        if len(codes) > most:
            self.notes_.append(f"correlations were learnt from {most:,} of {len(codes):,} rows")
            codes = codes[np.sort(rng.choice(len(codes), most, replace=False))]
        self.latent_ = fit_latent(lines, lines.parts(codes), self.shrink, rng, progress)
        return self

    def _empty(self, place: int, codes: Codes) -> NDArray[np.bool_]:
        """Say which codes mean that nothing was answered: missing, words and spikes of numbers."""
        codec = self.codecs_[place]
        if not codec.column.is_numeric:
            return np.array([label is None for label in codec.labels])
        made = np.bincount(codes, minlength=codec.size + 1)[: codec.size] >= SPIKE * len(codes)
        made[: codec.bins] &= codec.bins > self.levels
        made[codec.bins :] = True
        return made

    def _margin(self, table: Table, name: str, rng: np.random.Generator) -> Codes:
        """Choose what a column may show, and code it."""
        codec, codes = self._coded(table, name, self.k)
        numbers = table.values(name).numbers if self.margins == "fitted" else None
        if numbers is not None and name not in self.keep:
            grid = Grid.of(codec.column, single=table.frame[name].dtype == pl.Float32)
            codec, curve = fit_margin(codec, codes, numbers, self.k, grid, rng)
            if curve is not None:
                self.notes_.append(f"{name} is drawn from a {curve} curve")
        self.codecs_.append(codec)
        return codes

    def _sampled(self, rows: int, rng: np.random.Generator) -> Codes:
        """Draw latent normals and cut them."""
        return self._walked(rows, lambda here: self.latent_.draw(here.stop - here.start, rng))

    def _completed(self, codes: Codes, rng: np.random.Generator) -> Codes:
        """Draw latent normals given the parts of the lines that kept columns lie in."""
        lines = self.latent_.lines
        known = [i for place in self._kept_places for i in lines.of(place)]

        def latent(here: slice) -> Floats:
            parts = lines.parts(codes[here])[known]
            return self.latent_.given(known, parts, rng, sweeps=GIVEN_SWEEPS)

        return self._walked(len(codes), latent)

    def _walked(self, rows: int, latent: Callable[[slice], Floats]) -> Codes:
        made = np.zeros((rows, len(self.codecs_)), np.uint16, order="F")
        with one_thread():
            for start in range(0, rows, BLOCK):
                here = slice(start, min(start + BLOCK, rows))
                made[here] = self.latent_.lines.walk(latent(here), self.latent_.cuts)
        return made

    def state(self) -> State:
        """Give codecs, lines, cuts and correlation."""
        lines, cuts = self.latent_.lines, self.latent_.cuts
        arrays: dict[str, NDArray[Any]] = {f"lines_{k}": v for k, v in lines.arrays().items()}
        arrays["cuts"] = np.concatenate([np.empty(0), *cuts])
        arrays["correlation"] = self.latent_.correlation
        for number in range(len(self.codecs_)):
            arrays |= self._saved_codec(number)
        for number, one in enumerate(lines.determined):
            arrays[f"lookup_{number}"] = one.lookup
        values = {
            "columns": self._saved_columns(),
            "determined": [[one.column, one.by] for one in lines.determined],
            "notes": self.notes_,
        }
        return State(values, arrays)

    def restore(self, state: State, schema: Schema) -> Self:
        """Take codecs, lines, cuts and correlation."""
        self._restore_codecs(state, schema)
        sizes = self._sizes
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


def fit_margin(
    codec: ColumnCodec,
    codes: NDArray[np.uint16],
    numbers: Floats,
    k: int,
    grid: Grid,
    rng: np.random.Generator,
) -> tuple[ColumnCodec, str | None]:
    """Let a column of many different numbers show points of a curve; gives its name too.

    The curve is the one of least AIC. It is cut off where the points that may be shown end, and no
    point is a number that 1 to k - 1 rows hold.
    """
    counts = np.bincount(codes, minlength=codec.size + 1)[: codec.bins]
    old = codec.numbers
    if (
        not isinstance(old, Points)
        or codec.column.kind != "number"
        or len(old) <= CURVE_CODES
        or counts.max() > CURVE_LARGEST * counts.sum()
    ):
        return codec, None
    present = numbers[~np.isnan(numbers)]
    some = present if len(present) <= CURVE_ROWS else rng.choice(present, CURVE_ROWS, replace=False)
    name, curve = best_curve(some)
    low, high = old.values.min(), old.values.max()
    ends = curve.cdf(np.array([low, high]))
    until = np.concatenate([[0.0], np.cumsum(counts) / counts.sum()])
    at = until[:-1, None] + np.diff(until)[:, None] * (
        (np.arange(CURVE_POINTS) + 0.5) / CURVE_POINTS
    )
    points = np.clip(curve.ppf(ends[0] + at * (ends[1] - ends[0])), low, high)
    values, held = np.unique(present, return_counts=True)
    written = grid.write(points)
    rare = grid.with_written(values[(held < k) | (grid.blurs(values) & (k > 1))])
    good = ~np.isin(written, rare) & np.isfinite(written) & (written >= low) & (written <= high)
    parts = []
    for code, (own, kept) in enumerate(zip(written, good, strict=True)):
        here = slice(old.begin[code], old.begin[code + 1])
        shown = np.unique(own[kept], return_counts=True)
        parts.append(shown if kept.any() else (old.values[here], old.weights[here]))
    return dataclasses.replace(codec, numbers=Points.of(parts)), name


def best_curve(numbers: Floats) -> tuple[str, Any]:
    """Fit curves by likelihood and choose by AIC (Akaike 1974); gives name and distribution.

    Examples
    --------
    >>> best_curve(np.random.default_rng(0).gamma(2.0, 10.0, 2000))[0]
    'gamma'
    """
    from scipy import stats

    low, high = numbers.min(), numbers.max()
    middle, width = float(np.median(numbers)), float(np.subtract(*np.quantile(numbers, [0.9, 0.1])))
    width = width or float(high - low) or 1.0
    with np.errstate(all="ignore"):
        freedom, center, scale = stats.t.fit((numbers - middle) / width)
        curves = {
            "normal": (2, stats.norm(numbers.mean(), numbers.std())),
            "uniform": (2, stats.uniform(low, high - low)),
            "student": (3, stats.t(freedom, middle + width * center, width * scale)),
        }
        if low > 0:
            logs = np.log(numbers)
            shape, _, size = stats.gamma.fit(numbers / width, floc=0)
            curves["lognormal"] = (2, stats.lognorm(logs.std(), scale=np.exp(logs.mean())))
            curves["gamma"] = (2, stats.gamma(shape, scale=size * width))
        if low > 0 and high < 1:
            a, b, *_ = stats.beta.fit(numbers, floc=0, fscale=1)
            curves["beta"] = (2, stats.beta(a, b))
        aic = {
            name: 2 * many - 2 * curve.logpdf(numbers).sum()
            for name, (many, curve) in curves.items()
        }
    best = min((n for n in aic if np.isfinite(aic[n])), key=lambda n: aic[n])
    return best, curves[best][1]
