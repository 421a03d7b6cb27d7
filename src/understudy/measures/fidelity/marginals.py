"""The holdout-based fidelity of Platzer and Reutterer: all one-, two- and three-way tables.

The columns are coded from training: at most c quantile bins for a number, the c most frequent
levels of a category; what is lumped and what was never seen share a cell, as published.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import UNSEEN, Codec
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import Card, Finding, Part, Shown, around, described
from understudy.measures.fidelity.columns import NO_HOLDOUT
from understudy.measures.fidelity.distances import DISTANCES
from understudy.measures.pictures import heat, histograms
from understudy.options import AtLeast, OneOf

if TYPE_CHECKING:
    from understudy.kernels.marginals import Layout

Codes = NDArray[np.unsignedinteger]
MOST_PARTS = 1000
FIRST_PIECES, SHORT = 3, 0.002  # seconds
METRICS = ("total_variation", "hellinger", "jensen_shannon", "largest_difference", "euclidean")


def _card(name: str, way: str, cells: str) -> Card:
    return Card(
        name=f"fidelity.{name}",
        title=f"Fidelity of {cells}",
        meaning=f"How far {cells} of the synthetic table are from those of training: the share of "
        "records that would have to move to another cell, mean over all of them.",
        formula=f"F = mean over all {way}-way tables of ½ Σ |p − q|; reference: F of the holdout, "
        "rescaled to the number of synthetic rows; interval: ± 1.96 standard deviations of the "
        "difference when the rows of all tables are drawn again; p: synthetic and holdout rows "
        "permuted at equal numbers; copy check: F(holdout, synthetic) / F(holdout, training)",
        unit="fraction",
        better="lower",
        headline=f"mean over all {way}-way tables",
        source="Platzer and Reutterer 2021, section 3.1 and figure 7",
        not_shown="A copy of training scores best of all: read the copy check and the privacy "
        "measures beside it. Relations between more columns than are counted here do not show.",
    )


UNIVARIATE = _card("univariate", "one", "single columns")
BIVARIATE = _card("bivariate", "two", "pairs of columns")
TRIVARIATE = _card("trivariate", "three", "triples of columns")


@described(UNIVARIATE)
def univariate(
    comparison: Comparison,
    *,
    c: int = 100,
    distance: Annotated[str, OneOf(*METRICS)] = "total_variation",
    resamples: Annotated[int, AtLeast(2)] = 200,
    permutations: int = 200,
    subsets: int = 20_000,
) -> Finding:
    """Mean distance of all single columns."""
    found, _ = _fidelity(comparison, UNIVARIATE, 1, c, distance, resamples, permutations, subsets)
    return dataclasses.replace(found, tables=histograms(comparison))


@described(BIVARIATE)
def bivariate(
    comparison: Comparison,
    *,
    c: int = 10,
    distance: Annotated[str, OneOf(*METRICS)] = "total_variation",
    resamples: Annotated[int, AtLeast(2)] = 200,
    permutations: int = 200,
    subsets: int = 20_000,
    pictures: Shown = 120,
) -> Finding:
    """Mean distance of all pairs of columns.

    All pairs are shown if there are at most ``pictures``, else half as many, the worst ones.
    """
    found, counted = _fidelity(
        comparison, BIVARIATE, 2, c, distance, resamples, permutations, subsets
    )
    return _with_heat(comparison, found, counted, pictures, min(pictures, max(1, pictures // 2)))


@described(TRIVARIATE)
def trivariate(
    comparison: Comparison,
    *,
    c: int = 5,
    distance: Annotated[str, OneOf(*METRICS)] = "total_variation",
    resamples: Annotated[int, AtLeast(2)] = 200,
    permutations: int = 200,
    subsets: int = 20_000,
    pictures: Shown = 12,
) -> Finding:
    """Mean distance of all triples of columns; the worst ``pictures`` are shown."""
    found, counted = _fidelity(
        comparison, TRIVARIATE, 3, c, distance, resamples, permutations, subsets
    )
    return _with_heat(comparison, found, counted, pictures, pictures)


@dataclass(frozen=True)
class Tables:
    """Coded tables, the subsets of columns to be counted, and the distance between two counts.

    Codes are numbered anew, by their place among those in use, which ``used`` keeps.
    """

    codes: dict[Which, Codes]
    layout: "Layout"
    distance: str
    codec: Codec
    used: list[NDArray[np.int64]]

    def count(self, codes: Codes, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Count all tables over these rows."""
        from understudy.kernels.marginals import count_tables

        return count_tables(codes, self.layout, rows)

    def distances(self, a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the distance of each table."""
        from understudy.kernels.marginals import table_distances

        if self.distance == "total_variation":
            return table_distances(a, b, self.layout)
        measure = DISTANCES[self.distance]
        cuts = self.layout.starts[1:-1]
        pairs = zip(np.split(a.astype(float), cuts), np.split(b.astype(float), cuts), strict=True)
        return np.array([measure(p, q) for p, q in pairs])


@dataclass(frozen=True)
class MarginalCounts:
    """All tables counted, and how far training and synthetic are apart in each."""

    tables: Tables
    counts: dict[Which, NDArray[np.int64]]
    by_table: NDArray[np.float64]


def _with_heat(
    comparison: Comparison,
    found: Finding,
    counted: MarginalCounts | None,
    all_up_to: int,
    else_worst: int,
) -> Finding:
    """Add the pictures of all tables, or of the worst if there are many."""
    if counted is None:
        return found
    tables, layout = counted.tables, counted.tables.layout
    many = len(layout.subsets)
    worst = np.argsort(-counted.by_table, kind="stable")
    worst = worst[: many if many <= all_up_to else else_worst]
    made, names = {}, tables.codec.names
    for number in worst.tolist():
        columns = layout.subsets[number].tolist()
        cells = slice(layout.starts[number], layout.starts[number + 1])
        shape = layout.sizes[columns]
        counts = {t: flat[cells].reshape(shape) for t, flat in counted.counts.items()}
        own = [names[column] for column in columns]
        used = [tables.used[column] for column in columns]
        made[f"heat:{' × '.join(sorted(own))}"] = heat(comparison, tables.codec, own, counts, used)
    shown = f"The {len(worst)} worst of {many:,} are shown as maps."
    if not len(worst):
        shown = f"None of {many:,} is shown as a map (option pictures)."
    shown = "" if len(worst) == many else shown
    return dataclasses.replace(found, tables=made, note=_join(found.note, shown))


def _fidelity(
    comparison: Comparison,
    card: Card,
    ways: int,
    c: int,
    distance: str,
    resamples: int,
    permutations: int,
    subsets: int,
) -> tuple[Finding, MarginalCounts | None]:
    if len(comparison.names) < ways:
        note = f"This needs at least {ways} columns; there are {len(comparison.names)}."
        return card.not_applicable(note), None
    tables, names, capped = _tables(comparison, ways, c, distance, subsets)
    counts = {table: tables.count(codes) for table, codes in tables.codes.items()}
    by_table = tables.distances(counts["train"], counts["synthetic"])
    value = float(by_table.mean())
    draws = _redraw(comparison, tables, resamples, f"{card.name}: interval")
    spread = float(draws.std(ddof=1))
    found = card.finding(
        value=value,
        interval=around(value, spread, 0.0, math.inf if distance == "euclidean" else 1.0),
        parts=_parts(names, by_table, None),
        note=_join(NO_HOLDOUT, capped, _shortened(names)),
        draws=draws,
    )
    counted = MarginalCounts(tables, counts, by_table)
    if not comparison.has_holdout:
        return found, counted
    fresh = tables.distances(counts["train"], counts["holdout"])
    scale = math.sqrt(comparison.size_ratio())
    unscaled = float(fresh.mean())
    apart = float(tables.distances(counts["holdout"], counts["synthetic"]).mean())
    copy_check = apart / unscaled if unscaled else None
    reference = scale * unscaled
    found = dataclasses.replace(
        found,
        reference=reference,
        baselines={"holdout_unscaled": unscaled},
        p_value=_permute(comparison, tables, counts["train"], permutations, f"{card.name}: p"),
        flagged=None,
        parts=(
            *_parts(names, by_table, scale * fresh),
            Part("the holdout's own, not rescaled", unscaled),
            Part("copy check", copy_check, unit="ratio"),
        ),
        note=_join(_copied(value, reference, spread), capped, _shortened(names)),
    )
    return found, counted


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _copied(value: float, reference: float, spread: float) -> str:
    if value >= reference - 1.645 * spread:
        return ""
    return (
        "Closer to training than fresh real rows are, as copies are too: no merit by itself; "
        "see the privacy measures."
    )


def _shortened(names: list[str]) -> str:
    if len(names) <= MOST_PARTS:
        return ""
    return f"The {MOST_PARTS:,} worst of {len(names):,} parts are listed."


def _tables(
    comparison: Comparison, ways: int, c: int, distance: str, most: int
) -> tuple[Tables, list[str], str]:
    """Code the tables as published and choose the subsets of columns."""
    from understudy.kernels.marginals import Layout

    codec = comparison.codec(bins=c, levels=c)
    codes = {t: fold_unseen(comparison.codes(t, codec), codec) for t in comparison.tables}
    codes, used = _compact(codes)
    sizes = np.array([len(codes_used) for codes_used in used], np.int64)
    layout = Layout.all_ways(sizes, ways) if _many(codec, ways) <= most else None
    note = ""
    if layout is None:
        rng = comparison.stream("subsets", str(ways))
        drawn = {tuple(sorted(rng.choice(len(sizes), ways, replace=False))) for _ in range(most)}
        layout = Layout(sizes, np.array(sorted(drawn), np.int64))
        note = (
            f"{len(drawn):,} of {_many(codec, ways):,} subsets of columns, drawn at random, were "
            "counted (option subsets)."
        )
    names = [" × ".join(sorted(codec.names[i] for i in subset)) for subset in layout.subsets]
    return Tables(codes, layout, distance, codec, used), names, note


def _many(codec: Codec, ways: int) -> int:
    return math.comb(len(codec.names), ways)


def fold_unseen(codes: Codes, codec: Codec) -> Codes:
    """Put levels never seen in training into the cell of the lumped ones, as published."""
    folded = np.array(codes, order="F")
    for position, coder in enumerate(codec.columns):
        if coder.rest:
            column = folded[:, position]
            column[column == UNSEEN] = coder.size - 1
    return folded


def _compact(codes: dict[Which, Codes]) -> tuple[dict[Which, Codes], list[NDArray[np.int64]]]:
    """Number only the codes that occur, so that the tables have no idle cells."""
    width = next(iter(codes.values())).shape[1]
    made = {table: np.empty_like(array, order="F") for table, array in codes.items()}
    every = []
    for j in range(width):
        used = np.unique(np.concatenate([np.unique(array[:, j]) for array in codes.values()]))
        place = np.zeros(int(used[-1]) + 1, made["train"].dtype)
        place[used] = np.arange(len(used))
        every.append(used.astype(np.int64))
        for table, array in codes.items():
            made[table][:, j] = place[array[:, j]]
    return made, every


def _parts(
    names: list[str], values: NDArray[np.float64], references: NDArray[np.float64] | None
) -> tuple[Part, ...]:
    worst = np.argsort(-values, kind="stable")[:MOST_PARTS]
    return tuple(
        Part(names[i], float(values[i]), None if references is None else float(references[i]))
        for i in worst
    )


def _redraw(comparison: Comparison, tables: Tables, times: int, label: str) -> NDArray[np.float64]:
    """Give the difference to the reference when all rows are drawn again, time after time."""
    scale = math.sqrt(comparison.size_ratio()) if comparison.has_holdout else 0.0

    def redraw(time: int) -> float:
        drawn = {}
        for table, codes in tables.codes.items():
            rng = comparison.stream("redraw", table, str(time))
            drawn[table] = tables.count(codes, rng.integers(0, len(codes), len(codes)))
        value = tables.distances(drawn["train"], drawn["synthetic"]).mean()
        if "holdout" in drawn:
            value -= scale * tables.distances(drawn["train"], drawn["holdout"]).mean()
        return float(value)

    return np.array(list(on_all_cores(redraw, times, comparison, label)))


def _permute(
    comparison: Comparison, tables: Tables, train: NDArray[np.int64], times: int, label: str
) -> float:
    """Test whether synthetic rows are as near to training as holdout rows, at equal numbers.

    Not the labels training and holdout are swapped here (``judging.swaps``) but the rows of the
    synthetic table and of the holdout: training stays what both are compared with.
    """
    pool, rows = [], min(len(tables.codes["synthetic"]), len(tables.codes["holdout"]))
    sides: tuple[Which, Which] = ("synthetic", "holdout")
    for table in sides:
        codes = tables.codes[table]
        chosen = comparison.stream("permute", table).permutation(len(codes))[:rows]
        pool.append(codes[np.sort(chosen)])
    pooled = np.asfortranarray(np.concatenate(pool))

    def value(chosen: NDArray[np.int64]) -> float:
        return float(tables.distances(train, tables.count(pooled, chosen)).mean())

    observed = value(np.arange(rows))

    def shuffled(time: int) -> float:
        order = comparison.stream("permute", str(time)).permutation(2 * rows)
        return value(order[:rows])

    at_least = sum(v >= observed for v in on_all_cores(shuffled, times, comparison, label))
    return (1 + at_least) / (1 + times)


def on_all_cores(
    work: Callable[[int], float], times: int, comparison: Comparison, label: str
) -> Iterator[float]:
    """Do a piece of work many times on all cores; each time draws from its own stream.

    Where the first pieces are short, the others are done in this thread too: handing them over
    would take longer.
    """
    start, done = perf_counter(), 0
    while done < times and (done < FIRST_PIECES or perf_counter() - start < done * SHORT):
        yield work(done)
        done += 1
        comparison.progress(label, done, times)
    with ThreadPoolExecutor() as pool:
        for value in pool.map(work, range(done, times)):
            done += 1
            comparison.progress(label, done, times)
            yield value
