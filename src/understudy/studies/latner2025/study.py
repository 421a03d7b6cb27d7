"""The tables of the paper that its files allow, by the measures of ``understudy assess``."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from understudy.data.datasets import dataset
from understudy.data.schema import near
from understudy.data.tables import read_file
from understudy.errors import DataError, OptionError
from understudy.judging.comparison import Comparison, compare_tables
from understudy.measures import MEASURES
from understudy.studies.latner2025.worlds import (
    MEASURED,
    QUICK_RELEASES,
    RELEASES,
    attack_worlds,
    warning,
)

Progress = Callable[[str, int, int], None]
Figure = dict[str, Any]

SIMULATED = {"keys": ("var1", "var2", "var3"), "sensitive": ("var4",)}
SD2011 = {"keys": ("sex", "age", "region", "placesize"), "sensitive": ("depress",)}
UNIQUE = "1111"
QUICK = f"quick: {QUICK_RELEASES} fresh releases for each setting of the attack, not {RELEASES}"


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = lambda label, done, total: None,
) -> dict[str, Any]:
    """Compute the tables again.

    Parameters
    ----------
    data : Path, optional
        A folder with the files named in the registry of data sets; else where they lie.
    datasets : tuple of str
        ``simulated``, ``sd2011`` or both.
    quick : bool
        Attack fewer fresh releases; all else takes seconds.
    """
    for name in datasets:
        if name not in PARTS:
            raise OptionError(f"the study has no data set '{name}'", hint=near(name, PARTS))
    chosen = [name for name in PARTS if not datasets or name in datasets]
    figures: list[Figure] = []
    for number, name in enumerate(chosen):
        progress(name, number, len(chosen))
        figures += PARTS[name](data)
    result: dict[str, Any] = {"figures": figures}
    if "simulated" in chosen:
        original = _file("latner_simulated", data)
        released = _file("latner_synthpop_cart_seed1237", data)
        ten = _file("latner_cart_10_frequencies", data)
        copies = [_rows(ten, number) for number in range(1, 11)]
        found = attack_worlds(original, released, copies, quick=quick, progress=progress)
        result |= {"worlds": found, "warning": warning(found)}
    progress("done", len(chosen), len(chosen))
    return {**result, **({"note": QUICK} if quick else {})}


def _file(name: str, data: Path | None) -> pl.DataFrame:
    if data is None:
        return read_file(dataset(name).path())
    path = data / dataset(name).file
    if not path.is_file():
        raise DataError(f"there is no file '{path}'", hint="check the folder after --data")
    return read_file(path)


def simulated(data: Path | None) -> Iterator[Figure]:
    """Give Tables 1, A.1, A.2, figure 2 and footnote 4: four binary columns, one unique record."""
    original = _file("latner_simulated", data)
    released = _file("latner_synthpop_cart_seed1237", data)
    ten, hundred = (_file(f"latner_cart_{n}_frequencies", data) for n in (10, 100))
    copies = {number: _rows(ten, number) for number in range(1, 11)}
    for row, table in {"Original": None, "Synthetic": released}.items():
        yield from _risks("Table 1", row, original, table, SIMULATED)
    for number, table in {0: original, **copies}.items():
        joined = table.select(pl.concat_str(pl.all())).to_series()
        for combination in sorted(f"{n:04b}" for n in range(16)):
            times = int((joined == combination).sum())
            yield _figure("Table A.1", combination, str(number), times)
    rows = []
    yield from _risks("Table A.2", "Original", original, None, SIMULATED)
    for number, table in copies.items():
        found = list(_risks("Table A.2", f"Synthetic {number}", original, table, SIMULATED))
        rows.append(found)
        yield from found
    for place, name in enumerate(("identity", "attribute")):
        mean = sum(found[place]["value"] for found in rows) / len(rows)
        yield _figure("Table A.2", "Average", name, mean)
    for where, frequencies in (("figure 2", ten), ("footnote 4", hundred)):
        unique = frequencies.filter(pl.col("combine") == UNIQUE)
        held = Counter(unique["Freq"].cast(pl.Int64))
        held[0] = frequencies["n"].n_unique() - unique.height
        for copied in range(4):
            yield _figure(where, f"{copied} copies of {UNIQUE}", "data sets", held[copied])


def _rows(frequencies: pl.DataFrame, number: int) -> pl.DataFrame:
    """Write a table of frequencies out as rows."""
    own = frequencies.filter(pl.col("n").cast(pl.Int64) == number)
    written = own["combine"].gather(
        [i for i, times in enumerate(own["Freq"].cast(pl.Int64)) for _ in range(times)]
    )
    return pl.DataFrame({f"var{i + 1}": written.str.slice(i, 1) for i in range(4)})


def sd2011(data: Path | None) -> Iterator[Figure]:
    """Give the original row of Table A.4, and DiSCO where the target is made constant."""
    original = _file("sd2011", data)
    yield from _risks("Table A.4", "Original data", original, None, SD2011)
    constant = original.with_columns(depress=pl.lit("0"))
    found = _measure("privacy.attribute_disclosure", _compare(original, constant, SD2011))
    told = {row[1]: row[3] for row in found.tables["disclosure"].rows}
    for name in ("DiS", "DiSCO"):
        yield _figure("constant target", "Original data, depress = 0", name, told[name])
    fires = "one-way check" in found.tables
    yield _figure("constant target", "Original data, depress = 0", "one-way check", int(fires))


PARTS: dict[str, Callable[[Path | None], Iterator[Figure]]] = {
    "simulated": simulated,
    "sd2011": sd2011,
}


def _compare(original: pl.DataFrame, table: pl.DataFrame, roles: Any) -> Comparison:
    return compare_tables(original, table, **roles)


def _measure(name: str, comparison: Comparison) -> Any:
    return MEASURES[name](comparison)


def _risks(
    where: str, row: str, original: pl.DataFrame, table: pl.DataFrame | None, roles: Any
) -> Iterator[Figure]:
    """Give identity and attribute risk; the original's own where no table is given."""
    comparison = _compare(original, original if table is None else table, roles)
    for name, measure in (
        ("identity", "privacy.replicated_uniques"),
        ("attribute", "privacy.attribute_disclosure"),
    ):
        found = _measure(measure, comparison)
        value = found.value if table is not None else found.baselines["original"]
        yield _figure(where, row, name, value)


def _figure(table: str, row: str, name: str, value: float) -> Figure:
    return {"table": table, "row": row, "figure": name, "value": value}


@cache
def expected() -> dict[str, Any]:
    """Read the published figures, as printed."""
    text = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text)
    return made


def published(figure: Figure) -> str | None:
    """Give a figure as it is printed, if it is."""
    rows = expected()["tables"].get(figure["table"], {})
    found: str | None = rows.get(figure["row"], {}).get(figure["figure"])
    return found


def printed(value: float) -> str:
    """Write a count as it is, a share in per cent with two decimals.

    Examples
    --------
    >>> printed(69), printed(0.066)
    ('69', '6.60')
    """
    return str(value) if isinstance(value, int) else f"{100 * value:.2f}"


def differing(result: dict[str, Any]) -> list[Figure]:
    """Give the figures that differ from the published ones at the printed digits."""
    found: list[Figure] = result["figures"]
    return [figure for figure in found if published(figure) != printed(figure["value"])]


def show(result: dict[str, Any], file: TextIO) -> None:
    """Print the figures of each table; a sign marks what differs from what is printed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=file)
    figures = result["figures"]
    for title in dict.fromkeys(figure["table"] for figure in figures):
        own = [figure for figure in figures if figure["table"] == title]
        columns = list(dict.fromkeys(figure["figure"] for figure in own))
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        table.title, table.title_justify = Text(title, style="bold"), "left"
        table.add_column("")
        for column in columns:
            table.add_column(column, justify="right", no_wrap=True)
        for row in dict.fromkeys(figure["row"] for figure in own):
            cells = {f["figure"]: _cell(f) for f in own if f["row"] == row}
            table.add_row(Text(row), *(cells.get(column, "") for column in columns))
        console.print(table)
        console.print()
    wrong = differing(result)
    console.print(
        f"{len(figures) - len(wrong)} of {len(figures)} figures agree with the expected ones.",
        highlight=False,
    )
    for figure in wrong:
        console.print(
            f"differs: {figure['table']}, {figure['row']}, {figure['figure']}: {published(figure)}",
            highlight=False,
        )
    if "worlds" in result:
        _show_worlds(result, console)
    if "note" in result:
        console.print(result["note"], highlight=False)


def _show_worlds(result: dict[str, Any], console: Any) -> None:
    """Print the posterior of the unique record beside what the measures say."""
    from rich.table import Table
    from rich.text import Text

    title = "The worlds attack: posterior of 1111 (prior 6.25), and the measures"
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.title, table.title_justify = Text(title, style="bold"), "left"
    table.add_column("")
    for column in ("tables", "posterior", *MEASURED):
        table.add_column(column, justify="right")
    for row in result["worlds"]:
        cells = [_range(row, f"{name} ") for name in MEASURED]
        table.add_row(Text(row["release"]), str(row["releases"]), _range(row, ""), *cells)
    console.print()
    console.print(table)
    console.print()
    console.print(result["warning"], highlight=False)


def _range(row: Figure, name: str) -> str:
    if f"{name}lowest" not in row:
        return "–"
    ends = [printed(float(row[f"{name}{end}"])) for end in ("lowest", "highest")]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _cell(figure: Figure) -> str:
    same = published(figure) == printed(figure["value"])
    return printed(figure["value"]) + ("" if same else " ≠")
