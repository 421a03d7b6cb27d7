"""Heat maps: two- and three-way tables of the cells that a measure counts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import FIRST, MISSING, UNSEEN, Codec, ColumnCodec
from understudy.judging.comparison import Comparison, Which
from understudy.judging.findings import TableOfNumbers
from understudy.measures.pictures.cuts import (
    Cut,
    joined,
    labels,
    number_cut,
    unit_of,
    whole_cut,
)
from understudy.measures.pictures.dates import period_cuts
from understudy.measures.pictures.rule import K, Rare, share

SHORT = 10_000


@dataclass(frozen=True)
class Axis:
    """The cells of a column in reading order, and in which of them each code belongs."""

    labels: list[str]
    cell: NDArray[np.int64]


def heat(
    comparison: Comparison,
    codec: Codec,
    names: list[str],
    counted: dict[Which, NDArray[np.int64]],
    codes: list[NDArray[np.int64]],
) -> TableOfNumbers:
    """Give the table of some columns, one row a cell that some table uses.

    Parameters
    ----------
    names : list of str
        The columns, in the order of the axes of ``counted``.
    counted : mapping
        The counts of each table.
    codes : list of arrays
        The code of the column at each place of an axis.
    """
    order = np.argsort(names, kind="stable").tolist()
    axes = [axis_of(comparison, codec, names[i]) for i in order]
    shape = [len(axis.labels) for axis in axes]
    cells = np.meshgrid(
        *(axis.cell[codes[i]] for axis, i in zip(axes, order, strict=True)), indexing="ij"
    )
    place = np.ravel_multi_index(cells, shape).ravel()
    shares = []
    for table in counted:
        turned = counted[table].transpose(order).ravel()
        held = np.bincount(place, turned, minlength=int(np.prod(shape)))
        height, real = comparison.height(table), table != "synthetic"
        shares.append([share(count, height, real=real) for count in held])
    rows = [
        (*(axis.labels[p] for axis, p in zip(axes, places, strict=True)), *shown)
        for places, shown in zip(np.ndindex(*shape), zip(*shares, strict=True), strict=True)
        if any(shown)
    ]
    return TableOfNumbers((*(names[i] for i in order), *counted), tuple(rows))


def axis_of(comparison: Comparison, codec: Codec, name: str) -> Axis:
    """Name the cells of a column, so that no rare value is printed."""
    return comparison.once_for_real(
        ("axis", codec, name), lambda: _axis(comparison, codec, codec[name])
    )


def _axis(comparison: Comparison, codec: Codec, coder: ColumnCodec) -> Axis:
    name = coder.column.name
    train = comparison.counts("train", [name], codec)
    cuts = _cuts(comparison, coder) if coder.bins else []
    text = labels(cuts, unit_of(coder.column)[1]) if coder.bins else []
    cell = np.zeros(coder.size, np.int64)
    ends = coder.edges[1:] if len(coder.edges) > 1 else coder.edges
    cell[FIRST : FIRST + coder.bins] = np.searchsorted([c.at for c in cuts], ends, side="left")

    def put(codes: list[int], label: str) -> None:
        if codes:
            cell[codes] = len(text)
            text.append(label)

    start = FIRST + coder.bins
    hidden = []
    for code, level in enumerate(coder.levels, start=start):
        if train[code] < K:
            hidden.append(code)
        else:
            put([code], level)
    put([coder.size - 1] if coder.rest else [], "other levels")
    put(hidden, "rare levels")
    put([UNSEEN], "unseen in training")
    put([MISSING], "missing")
    return Axis(text, cell)


def _cuts(comparison: Comparison, coder: ColumnCodec) -> list[Cut]:
    """Write the ends of bins, joined until each holds no real record, or at least K."""
    name, inner = coder.column.name, coder.edges[1:-1]
    found = [comparison.source(t).numbers(name) for t in comparison.tables if t != "synthetic"]
    real = [numbers[~np.isnan(numbers)] for numbers in found]
    if coder.column.kind == "date":
        return joined(period_cuts(inner, real[0]), real)
    return joined(_number_cuts(inner, coder, Rare.of(comparison, name)), real)


def _number_cuts(edges: NDArray[np.float64], coder: ColumnCodec, rare: Rare) -> list[Cut]:
    """Write whole numbers as they are, others with about three digits."""
    unit, _ = unit_of(coder.column)
    whole = coder.column.decimals == 0 or unit > 1
    made: list[Cut] = []
    for edge in (edges / unit).tolist():
        plain = whole and edge % 1 == 0 and abs(edge) < SHORT
        cut = whole_cut(edge, rare, unit) if plain else None
        for digits in (3, 2, 4):
            text = f"{float(f'{edge:.{digits}g}'):.15g}"
            cut = cut or number_cut(edge, text, rare, unit)
        if cut and not (made and made[-1].left == cut.left):
            made.append(cut)
    return made
