"""What a benchmark found: its cells, and their mean and spread by method."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from understudy.data.schema import few
from understudy.documents import check_form

VERSION = 1
PHASES = ("fit", "sample")
COSTS = ("cpu_seconds", "wall_seconds", "peak_mib")
Cell = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Benchmark:
    """Cells (one method on one split each) and where they come from."""

    cells: tuple[Cell, ...]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        failed = sum(cell["status"] != "ok" for cell in self.cells)
        return f"Benchmark({len(self.cells)} cells, {failed} failed; methods: {few(self.methods)})"

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods tried."""
        return tuple(dict.fromkeys(cell["method"] for cell in self.cells))

    @property
    def all_failed(self) -> bool:
        """Whether no cell worked."""
        return all(cell["status"] != "ok" for cell in self.cells)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the summary by method, the references, all cells."""
        return {
            "version": VERSION,
            "methods": [self._summary(method) for method in self.methods],
            "references": _by_measure(self._one_a_split(), "reference"),
            "cells": [{k: v for k, v in cell.items() if k != "key"} for cell in self.cells],
            "provenance": dict(self.provenance),
        }

    def frame(self) -> pl.DataFrame:
        """Give one row for each method, split and measure."""
        rows = []
        for cell in self.cells:
            head = {"method": cell["method"], "split": cell["split"]}
            if cell["status"] != "ok":
                rows.append({**head, "status": cell["status"], "note": cell["reason"]})
            for name, found in cell.get("findings", {}).items():
                low, high = found["interval"] or (None, None)
                row = {k: found[k] for k in ("status", "value", "reference", "flagged", "note")}
                rows.append({**head, "measure": name, **row, "low": low, "high": high})
            for phase in PHASES:
                for cost, number in cell.get(phase, {}).items():
                    name = f"{phase}.{cost}"
                    rows.append({**head, "measure": name, "status": "ok", "value": number})
        return pl.DataFrame(rows, schema=COLUMNS)

    def _one_a_split(self) -> list[Cell]:
        """Give one finished cell of each split: the reference is the same for all its methods."""
        return list({c["split"]: c for c in reversed(self.cells) if c["status"] == "ok"}.values())

    def _summary(self, method: str) -> dict[str, Any]:
        own = [cell for cell in self.cells if cell["method"] == method]
        good = [cell for cell in own if cell["status"] == "ok"]
        return {
            "method": method,
            "options": dict(own[0]["options"]),
            "splits": len(good),
            "failed": len(own) - len(good),
            "reasons": list(dict.fromkeys(c["reason"] for c in own if c["status"] != "ok")),
            "measures": _by_measure(good, "value"),
            "notes": _troubles(good),
            **{
                phase: {cost: mean_and_sd(c[phase][cost] for c in good) for cost in COSTS}
                for phase in PHASES
            },
        }


COLUMNS = {
    "method": pl.String,
    "split": pl.Int64,
    "measure": pl.String,
    "status": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "reference": pl.Float64,
    "flagged": pl.Boolean,
    "note": pl.String,
}


NUMBER = (float, None)
FINISHED = {
    "findings": {
        str: {
            **dict.fromkeys(("status", "better", "unit", "note"), str),
            **dict.fromkeys(("value", "reference"), NUMBER),
            "interval": ([NUMBER], None),
            "flagged": (bool, None),
        }
    },
    "warnings": [str],
    "sizes": dict.fromkeys(("train", "synthetic", "control"), int),
    **dict.fromkeys(PHASES, dict.fromkeys(COSTS, NUMBER)),
}


def is_whole(cell: Cell) -> bool:
    """Whether a document is a finished cell, with all that is made of it."""
    try:
        check_form(cell, FINISHED)
    except ValueError:
        return False
    ends = [finding["interval"] for finding in cell["findings"].values()]
    return cell.get("status") == "ok" and all(pair is None or len(pair) == 2 for pair in ends)


def mean_and_sd(values: Iterable[float | None]) -> dict[str, Any]:
    """Give mean, standard deviation over splits, and how many there were.

    Examples
    --------
    >>> mean_and_sd([1.0, 3.0, None])
    {'mean': 2.0, 'sd': 1.414..., 'splits': 2}
    """
    known = [value for value in values if value is not None]
    return {
        "mean": statistics.fmean(known) if known else None,
        "sd": statistics.stdev(known) if len(known) > 1 else None,
        "splits": len(known),
    }


def _by_measure(cells: Sequence[Cell], field: str) -> dict[str, dict[str, Any]]:
    """Sum up one field of each measure; what was not measured is not part of it."""
    found = [(name, f) for cell in cells for name, f in cell.get("findings", {}).items()]
    made = {}
    for name in dict.fromkeys(name for name, _ in found):
        own = [f for measure, f in found if measure == name]
        made[name] = {
            **mean_and_sd(f[field] for f in own if f["status"] == "ok"),
            "unit": own[0]["unit"],
            "better": own[0]["better"],
        }
        if field == "value":
            made[name]["flagged"] = sum(bool(f["flagged"]) for f in own)
    return made


def _troubles(cells: Sequence[Cell]) -> list[str]:
    """Say which measures did not work on some split, and why."""
    reasons = {
        f"{name}: {f['note']}": None
        for cell in cells
        for name, f in cell["findings"].items()
        if f["status"] != "ok"
    }
    warnings = {warning: None for cell in cells for warning in cell.get("warnings", [])}
    return [*reasons, *warnings]
