"""The tables of the paper that its files allow, by the measures of ``understudy assess``."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import polars as pl

from understudy.jobs.progress import Progress, silent
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.studies import published as shared
from understudy.studies.latner2025.worlds import (
    MEASURED,
    QUICK_RELEASES,
    RELEASES,
    ROLES,
    SETTINGS,
    FreshReleases,
    attack_published,
    warning,
)
from understudy.studies.published import DIFFERS, figure_table, print_all, read_dataset

Figure = dict[str, Any]

SD2011 = {"keys": ("sex", "age", "region", "placesize"), "sensitive": ("depress",)}
UNIQUE = "1111"
QUICK = f"quick: {QUICK_RELEASES} fresh releases for each setting of the attack, not {RELEASES}"


def run(
    data: Path | None = None,
    datasets: tuple[str, ...] = (),
    quick: bool = False,
    progress: Progress = silent,
    journal: Path | None = None,
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
    journal : Path, optional
        A file to go on from when the attack was stopped.
    """
    chosen = shared.chosen(datasets, PARTS)
    figures: list[Figure] = []
    for number, name in enumerate(chosen):
        progress(name, number, len(chosen))
        figures += PARTS[name](data)
    result: dict[str, Any] = {"figures": figures}
    if "simulated" in chosen:
        original = read_dataset("latner_simulated", data)
        released = read_dataset("latner_synthpop_cart_seed1237", data)
        ten = read_dataset("latner_cart_10_frequencies", data)
        copies = [_rows(ten, number) for number in range(1, 11)]
        job = FreshReleases(original, QUICK_RELEASES if quick else RELEASES)
        found = attack_published(original, released, copies)
        with shared.kept_in(journal, job) as kept:
            for number, name in enumerate(SETTINGS):
                progress(f"worlds: {name}", number, len(SETTINGS))
                for _, rows in shared.computed_parts(job, [(name,)], kept):
                    found += rows
        result |= {"worlds": found, "warning": warning(found)}
    progress("done", len(chosen), len(chosen))
    return {**result, **({"note": QUICK} if quick else {})}


def simulated(data: Path | None) -> Iterator[Figure]:
    """Give Tables 1, A.1, A.2, figure 2 and footnote 4: four binary columns, one unique record."""
    original = read_dataset("latner_simulated", data)
    released = read_dataset("latner_synthpop_cart_seed1237", data)
    ten, hundred = (read_dataset(f"latner_cart_{n}_frequencies", data) for n in (10, 100))
    copies = {number: _rows(ten, number) for number in range(1, 11)}
    for row, table in {"Original": None, "Synthetic": released}.items():
        yield from _risks("Table 1", row, original, table, ROLES)
    for number, table in {0: original, **copies}.items():
        joined = table.select(pl.concat_str(pl.all())).to_series()
        for combination in sorted(f"{n:04b}" for n in range(16)):
            times = int((joined == combination).sum())
            yield _figure("Table A.1", combination, str(number), times)
    rows = []
    yield from _risks("Table A.2", "Original", original, None, ROLES)
    for number, table in copies.items():
        found = list(_risks("Table A.2", f"Synthetic {number}", original, table, ROLES))
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
    original = read_dataset("sd2011", data)
    yield from _risks("Table A.4", "Original data", original, None, SD2011)
    constant = original.with_columns(depress=pl.lit("0"))
    found = MEASURES["privacy.attribute_disclosure"](compare_tables(original, constant, **SD2011))
    told = {row[1]: row[3] for row in found.tables["disclosure"].rows}
    for name in ("DiS", "DiSCO"):
        yield _figure("constant target", "Original data, depress = 0", name, told[name])
    fires = "one-way check" in found.tables
    yield _figure("constant target", "Original data, depress = 0", "one-way check", int(fires))


PARTS: dict[str, Callable[[Path | None], Iterator[Figure]]] = {
    "simulated": simulated,
    "sd2011": sd2011,
}


def _risks(
    where: str, row: str, original: pl.DataFrame, table: pl.DataFrame | None, roles: Any
) -> Iterator[Figure]:
    """Give identity and attribute risk; the original's own where no table is given."""
    comparison = compare_tables(original, original if table is None else table, **roles)
    for name, measure in zip(("identity", "attribute"), MEASURED.values(), strict=True):
        found = MEASURES[measure](comparison)
        value = found.value if table is not None else found.baselines["original"]
        yield _figure(where, row, name, value)


def _figure(table: str, row: str, name: str, value: float | None) -> Figure:
    return {"table": table, "row": row, "figure": name, "value": value}


def published(figure: Figure) -> str | None:
    """Give a figure as it is printed, if it is."""
    rows = shared.expected("latner2025")["tables"].get(figure["table"], {})
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
    from rich.text import Text

    figures, parts = result["figures"], []
    for title in dict.fromkeys(figure["table"] for figure in figures):
        own = [figure for figure in figures if figure["table"] == title]
        columns = list(dict.fromkeys(figure["figure"] for figure in own))
        parts.append(figure_table(title, [""], columns))
        for row in dict.fromkeys(figure["row"] for figure in own):
            cells = {f["figure"]: _cell(f) for f in own if f["row"] == row}
            parts[-1].add_row(Text(row), *(cells.get(column, "") for column in columns))
    wrong = differing(result)
    agreed = len(figures) - len(wrong)
    parts.append(f"{agreed} of {len(figures)} figures agree with the expected ones.")
    parts += [f"differs: {f['table']}, {f['row']}, {f['figure']}: {published(f)}" for f in wrong]
    if "worlds" in result:
        title = "The worlds attack: posterior of 1111 (prior 6.25), and the measures"
        table = figure_table(title, [""], ["tables", "posterior", *MEASURED])
        for row in result["worlds"]:
            ranges = [_range(row, name) for name in ("", *(f"{name} " for name in MEASURED))]
            table.add_row(Text(row["release"]), str(row["releases"]), *ranges)
        parts += ["", table, result["warning"]]
    print_all(file, [*parts, *([result["note"]] if "note" in result else [])])


def _range(row: Figure, name: str) -> str:
    if f"{name}lowest" not in row:
        return "–"
    ends = [printed(float(row[f"{name}{end}"])) for end in ("lowest", "highest")]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


def _cell(figure: Figure) -> str:
    same = published(figure) == printed(figure["value"])
    return printed(figure["value"]) + ("" if same else DIFFERS)
