"""Calibrations: the table for the terminal, and the page of power curves."""

import math
from collections.abc import Iterator, Mapping
from typing import IO, Any

from rich.console import RenderableType
from rich.text import Text

from understudy.judging.findings import wilson
from understudy.report import html, words
from understudy.report.console import indented, plain_table, print_pieces
from understudy.report.words import LEAKS, smallest_leak

BLIND = "blind here"
READING = (
    "The smallest share of leaked rows that raises an alarm in 80 % of the runs, with its 95 % "
    "interval (probit curve, profile likelihood), by kind of leak. One unique row: the share is of "
    "its copies. False alarms: runs without a leak that raised an alarm; 5 % are allowed."
)


def show(data: Mapping[str, Any], *, file: IO[str], width: int | None = None) -> None:
    """Print a calibration's dict to a file or a terminal."""
    print_pieces(lambda most: _pieces(data, most), file, width)


def _pieces(data: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    good = {n: f for n, f in data["measures"].items() if f["status"] == "ok"}
    rows = [_row(name, found) for name, found in good.items()]
    heads = ["measure", "false alarms", *LEAKS.values(), ""]
    used = sum(max(map(len, cells)) + 2 for cells in zip(heads, *rows, strict=True)) if rows else 0
    if rows and used <= width:
        table = plain_table()
        for head in heads:
            table.add_column(Text(head, style="dim"), no_wrap=True)
        for row in rows:
            table.add_row(*(Text(cell, style="bold red" if cell == BLIND else "") for cell in row))
        yield table
    else:
        for row in rows:
            yield Text(f"{row[0]}  {row[-1]}".rstrip(), style="bold")
            for head, cell in zip(heads[1:-1], row[1:-1], strict=True):
                yield indented(f"{head}: {cell}")
    yield Text("")
    yield Text(READING, style="dim")
    for name, found in data["measures"].items():
        said = found.get("why") or found.get("note")
        if said:
            status = "" if found["status"] == "ok" else found["status"].replace("_", " ") + ": "
            yield Text(words.visible(name), style="bold")
            yield indented(words.visible(f"{status}{said}"))
    yield from (Text(words.visible(line)) for line in _about(data["provenance"]))


def _row(name: str, found: Mapping[str, Any]) -> list[str]:
    seen = found["false_alarms"]
    alarms = f"{seen['alarms']} of {seen['runs']}"
    if seen["interval"]:
        low, high = (f"{100 * end:.0f}" for end in seen["interval"])
        alarms += f" ({low}–{high} %)"
    kinds = [smallest_leak(found["kinds"].get(kind, {}).get("smallest")) for kind in LEAKS]
    return [words.visible(name), alarms, *kinds, BLIND if found.get("blind") else ""]


def _about(told: Mapping[str, Any]) -> list[str]:
    rows = told["rows"]
    released = "a third that knows nothing of the others was released"
    if told.get("method"):
        released = f"the release was made by {told['method']}, training and control drawn anew"
    return [
        f"{rows['each']:,} rows a table; {released}. {told['seconds']:.0f} seconds on "
        f"{told['workers']} process{'' if told['workers'] == 1 else 'es'}.",
        *told.get("notes", []),
    ]


def page(data: Mapping[str, Any], *, title: str) -> str:
    """Give a calibration's dict as one HTML page: a picture of the power for each kind of leak.

    The page is that of an assessment whose findings are the smallest leaks of exact copies.
    """
    told = data["provenance"]
    facts = {k: v for k, v in told.items() if k not in ("columns", "notes")}
    made = {
        "findings": [_finding(name, found) for name, found in data["measures"].items()],
        "verdicts": [],
        "provenance": {**facts, "notes": [*_about(told), READING]},
    }
    card = {
        "opening": "The smallest leak of exact copies that it notices in 80 % of the runs is",
        "meaning": READING,
        "formula": "P(alarm | size) = c + (1 − c) Φ(a + b log10 size), fitted by maximum "
        "likelihood together with the alarms c of leak-free runs",
        "headline": "share of rows that are exact copies, at 80 % power",
        "not_shown": "What holds for these rows, this split and these kinds of leak. A leak of "
        "another kind may go unnoticed at any size.",
    }
    cards = {name: {"title": name, **card} for name in data["measures"]}
    return html.render(made, cards, title=title, about=html.CALIBRATION)


def _finding(name: str, found: Mapping[str, Any]) -> dict[str, Any]:
    base = {"measure": name, "unit": "fraction", "better": "lower", "level": 0.95}
    if found["status"] != "ok":
        return {**base, "status": found["status"], "note": found["note"]}
    leak = found["kinds"]["copies"]["smallest"] or {}
    status, note = "ok", found["note"]
    if found.get("blind"):
        status, note = BLIND, found["why"]
    elif leak.get("value") is None:
        status = smallest_leak(leak) if leak else "not known"
        note = found["why"] or "the power is above 80 % at the smallest size planted already"
    ends, seen = leak.get("interval"), found["false_alarms"]
    alarms = seen["alarms"] / max(seen["runs"], 1)
    tried = {kind: told for kind, told in found["kinds"].items() if told["points"]}
    return {
        **base,
        "status": status,
        "note": note,
        "value": leak.get("value"),
        "baselines": {"alarms without a leak": alarms} if seen["runs"] else {},
        "interval": ends if ends and None not in ends else None,
        "parts": [
            {"name": LEAKS[kind], "value": (told["smallest"] or {}).get("value"), "reference": None}
            for kind, told in found["kinds"].items()
        ],
        "tables": {
            **{f"line:{LEAKS[kind]}": _curve(told) for kind, told in tried.items()},
            "runs": {
                "columns": ["leak", "share of rows", "runs", "alarms"],
                "rows": [
                    [LEAKS[k], *point] for k, told in tried.items() for point in told["points"]
                ],
            },
        },
    }


def _curve(told: Mapping[str, Any]) -> dict[str, Any]:
    """Give the power fitted, and that seen with its interval, over the log of the leak's size."""
    from scipy.special import ndtr

    curve = told["probit"]
    seen = {round(math.log10(share), 4): (runs, alarms) for share, runs, alarms in told["points"]}
    places = sorted({*seen, *(round(-3 + i / 20, 4) for i in range(41))})
    rows: list[list[float | None]] = []
    for at in places:
        fitted = curve["c"] + (1 - curve["c"]) * float(ndtr(curve["a"] + curve["b"] * at))
        runs, alarms = seen.get(at, (0, 0))
        share = [alarms / runs, *wilson(alarms, runs)] if runs else [None, None, None]
        rows.append([at, fitted, *share])
    columns = ["log10 of the share leaked", "fitted", "seen", "seen low", "seen high"]
    return {"columns": columns, "rows": rows}
