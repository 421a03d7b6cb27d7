"""Run the benchmarks: ratios against named baselines, measured within one run.

python benchmarks/run.py            all of them
python benchmarks/run.py coding     one of them
"""

import importlib
import platform
import sys
import time
from importlib import metadata

BENCHMARKS = (
    "startup",
    "coding",
    "neighbors",
    "marginals",
    "framework",
    "synthesis",
    "disclosure",
    "limits",
)
LIBRARIES = ("numpy", "polars", "numba", "pandas", "scikit-learn")


def main(names: list[str]) -> None:
    versions = ", ".join(f"{library} {metadata.version(library)}" for library in LIBRARIES)
    print(f"# {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {versions}\n")
    print("| benchmark | measured | target |\n|---|---|---|")
    for name in names or BENCHMARKS:
        for label, measured, target in importlib.import_module(name).run():
            print(f"| {label} | {measured} | {target} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
