"""Synthetic tables that stand in for real ones, and the evidence for it."""

import importlib
from typing import Any

from understudy._version import __version__

_HOMES = {
    "ATTACKS": "understudy.attacks",
    "Assessment": "understudy.workflows.assessment",
    "Benchmark": "understudy.workflows.benchmark",
    "Calibration": "understudy.workflows.calibrate",
    "Card": "understudy.judging.findings",
    "Codec": "understudy.data.codec",
    "Candidates": "understudy.workflows.compare",
    "Column": "understudy.data.schema",
    "Comparison": "understudy.judging.comparison",
    "Contest": "understudy.workflows.compare",
    "Finding": "understudy.judging.findings",
    "LeftOutWarning": "understudy.errors",
    "MEASURES": "understudy.measures",
    "Part": "understudy.judging.findings",
    "Policy": "understudy.workflows.policy",
    "SYNTHESIZERS": "understudy.synthesizers",
    "Schema": "understudy.data.schema",
    "Table": "understudy.data.tables",
    "UnderstudyError": "understudy.errors",
    "assess": "understudy.workflows.assess",
    "attack": "understudy.workflows.attack",
    "benchmark": "understudy.workflows.benchmark",
    "calibrate": "understudy.workflows.calibrate",
    "compare": "understudy.workflows.compare",
    "described": "understudy.judging.findings",
    "keys": "understudy.workflows.advise",
    "load": "understudy.synthesizers",
    "release": "understudy.workflows.release",
    "replace": "understudy.synthesizers.partial",
    "schema": "understudy.data.relations.schemas",
    "split": "understudy.data.tables",
    "synthesizer": "understudy.synthesizers",
    "verify": "understudy.workflows.verify",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'understudy' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
