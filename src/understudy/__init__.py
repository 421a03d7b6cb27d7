"""Synthetic tables that stand in for real ones, and the evidence for it."""

import importlib
from typing import Any

from understudy._version import __version__

_HOMES = {
    "ATTACKS": "understudy.attacks",
    "Assessment": "understudy.assessment",
    "Benchmark": "understudy.benchmark",
    "Calibration": "understudy.calibration",
    "Codec": "understudy.coding",
    "Column": "understudy.schema",
    "Comparison": "understudy.comparison",
    "Contest": "understudy.contest",
    "Finding": "understudy.findings",
    "MEASURES": "understudy.measures",
    "SYNTHESIZERS": "understudy.synthesizers",
    "Schema": "understudy.schema",
    "Table": "understudy.tables",
    "UnderstudyError": "understudy.errors",
    "assess": "understudy.assessment",
    "attack": "understudy.attacking",
    "benchmark": "understudy.benchmark",
    "calibrate": "understudy.calibration",
    "compare": "understudy.contest",
    "load": "understudy.synthesizers",
    "release": "understudy.release",
    "replace": "understudy.synthesizers.partial",
    "split": "understudy.tables",
    "synthesizer": "understudy.synthesizers",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'understudy' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
