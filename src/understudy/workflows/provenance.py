"""Where results come from: versions, tables, columns, options and seed."""

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np

from understudy._version import __version__
from understudy.judging.comparison import Comparison
from understudy.measures import MEASURES, Measure

LIBRARIES = ("numpy", "scipy", "scikit-learn", "polars", "numba")


def versions() -> dict[str, Any]:
    """Name the programs that results depend on."""
    return {
        "understudy": __version__,
        "python": platform.python_version(),
        "libraries": {library: metadata.version(library) for library in LIBRARIES},
    }


def provenance(comparison: Comparison, key: bytes | None = None) -> dict[str, Any]:
    """Say what is compared and how; with a key, also keyed hashes of the tables."""

    def described(source: Any) -> dict[str, Any]:
        told = {"rows": source.height, "columns": len(comparison.schema)}
        if key is None:
            return told
        return {**told, "hash": source.once(("hash", key), lambda: source.digest(key))}

    return {
        **versions(),
        "seed": comparison.seed,
        "options": {
            name: {option: _plain(value) for option, value in given.items()}
            for name, given in comparison.options.items()
        },
        "keys": list(comparison.keys),
        "sensitive": list(comparison.sensitive),
        "target": comparison.target,
        "formula": list(comparison.formula),
        "aligned": comparison.aligned,
        "train": described(comparison.train),
        "synthetic": [described(source) for source in comparison.synthetic],
        "holdout": None if comparison.holdout is None else described(comparison.holdout),
        "left_out": [
            {"column": column.name, "kind": column.kind, "why": column.why}
            for column in comparison.schema.left_out
        ],
        "notes": comparison.notes(),
    }


def origins(measures: Mapping[str, Measure]) -> dict[str, str]:
    """Say where measures come from that are not our own: a package, or a function."""
    made = {}
    for name, measure in measures.items():
        if name not in MEASURES:
            made[name] = f"the function {_plain(measure)}"
        elif package := MEASURES.origin(name):
            made[name] = package
    return made


def _plain(option: Any) -> Any:
    if callable(option):
        return getattr(option, "__qualname__", str(option))
    return option.item() if isinstance(option, np.generic) else option
