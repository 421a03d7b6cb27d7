"""What a calibration found: of each measure its false alarms, its power, its smallest leak."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.data.schema import few
from understudy.data.tables import write_text
from understudy.judging.findings import LEVEL, plain
from understudy.workflows.calibrate.planting import KINDS
from understudy.workflows.calibrate.probit import POWER, Power, fit_power
from understudy.workflows.calibrate.schedule import CONTROLS, LARGEST, NULL, Schedule, hopeless
from understudy.workflows.calibrated import VERSION

TOO_MANY = 0.01  # how often a good measure of any may be called unreliable


@dataclass(frozen=True, repr=False)
class Calibration:
    """Measures by name, and where the figures come from; everything shown is from ``to_dict()``."""

    measures: Mapping[str, Mapping[str, Any]]
    provenance: Mapping[str, Any]

    def __repr__(self) -> str:
        blind = [name for name, found in self.measures.items() if found.get("blind")]
        return f"Calibration({len(self.measures)} measures; blind here: {few(blind) or 'none'})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without rows and without paths."""
        return {
            "understudy_calibration": VERSION,
            "measures": {name: dict(found) for name, found in self.measures.items()},
            "provenance": dict(self.provenance),
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """Give the calibration as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(text + "\n", Path(path))
        return text

    def to_html(self, path: str | Path | None = None, *, title: str = "Calibration") -> str:
        """Give the power curves as one HTML page, and write it to a file if a path is given."""
        from understudy.report import calibration

        text = calibration.page(self.to_dict(), title=title)
        if path is not None:
            write_text(text, Path(path))
        return text


def summary(schedule: Schedule) -> dict[str, dict[str, Any]]:
    """Give the figures of every measure that looked at anything, and why others did not."""
    names = list(dict.fromkeys(name for name, _ in schedule.lanes))
    looked = [name for name in names if name not in schedule.retired]
    made = {}
    for name in names:
        if name in schedule.retired:
            status, note = schedule.retired[name]
            made[name] = {"status": status, "note": note}
        else:
            made[name] = _figures(schedule, name, TOO_MANY / len(looked))
    return made


def _figures(schedule: Schedule, name: str, alpha: float) -> dict[str, Any]:
    from understudy.judging.rates import clopper_pearson

    lanes = {kind: schedule.lanes[name, kind] for kind in (NULL, *KINDS)}
    runs, alarms = lanes[NULL].runs.get(0, (0, 0))
    kinds: dict[str, Any] = {}
    top = schedule.counts[-1]
    power: dict[str, Power | None] = {}
    for kind in KINDS:
        points = lanes[kind].points(schedule.rows)
        power[kind] = found = fit_power(points, alarms, runs)
        told: dict[str, Any] = {"probit": None, "smallest": None}
        if found is not None:
            told = found.to_dict()
            told["smallest"]["missed"] = _missed(found, lanes[kind].runs.get(top, (0, 0)))
        kinds[kind] = {"points": [list(point) for point in points], **told}
    tried, noticed = lanes["copies"].runs.get(top, (0, 0))
    seconds = sum(lane.seconds for lane in lanes.values())
    finished = sum(lane.finished for lane in lanes.values())
    failures = schedule.failures.get(name, [])
    note = f"{len(failures)} runs gave no finding: {failures[0]}" if failures else ""
    return {
        "status": "ok",
        "note": note,
        "false_alarms": {
            "alarms": alarms,
            "runs": runs,
            "interval": [float(end) for end in clopper_pearson(alarms, runs)] if runs else None,
        },
        "kinds": kinds,
        **_blindness(power["copies"], (tried, noticed), alarms, runs, alpha),
        "seconds_per_run": plain(round(seconds / finished, 4)) if finished else None,
    }


def _missed(power: Power, controls: Sequence[int]) -> bool:
    """Tell whether enough runs show that even the largest leak is noticed in fewer than 80 %."""
    tried, noticed = controls
    shown = power.beyond or hopeless(tried, noticed)
    return power.censored == "above" and tried >= CONTROLS and shown


def _blindness(
    copies: Power | None, controls: Sequence[int], alarms: int, runs: int, alpha: float
) -> dict[str, Any]:
    """Say whether the measure misses its positive control, or alarms without a leak."""
    from understudy.judging.rates import clopper_pearson

    if copies is None:
        return {"blind": None, "why": "there was no time for its positive control"}
    if copies.censored == "above" and not _missed(copies, controls):
        said = f"it noticed its positive control in {controls[1]} of {controls[0]} runs, too few"
        return {"blind": None, "why": f"{said} to tell whether it would in {100 * POWER:.0f} %"}
    if copies.censored == "above":
        return {
            "blind": True,
            "why": f"it missed its positive control: where {100 * LARGEST:.0f} % of released rows "
            f"are exact copies of training rows, it notices fewer than {100 * POWER:.0f} %",
        }
    if runs and float(clopper_pearson(alarms, runs, 2 * alpha)[0]) > 1 - LEVEL:
        return {
            "blind": True,
            "why": f"it raised an alarm without a leak in {alarms} of {runs} runs, where "
            f"{100 * (1 - LEVEL):.0f} % are allowed",
        }
    return {"blind": False, "why": ""}
