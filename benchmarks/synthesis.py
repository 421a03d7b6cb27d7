"""Synthesizers on adult: processor seconds to fit and to draw, beside cart's in the same run."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from adult import tables

import understudy as us
from understudy.data.tables import Table

ROWS = 50_000
CODE = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "understudy", *sys.argv[1:]], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def run() -> Iterator[tuple[str, str, str]]:
    train, _ = tables()
    cart = _times("cart", train)
    yield "`cart`, adult: fit, 50,000 rows", f"{cart[0]:.1f} s, {cart[1]:.2f} s", "< 10 s together"
    forest = _times("forest", train)
    yield (
        "`forest`, adult: fit, 50,000 rows",
        f"{forest[0]:.1f} s, {forest[1]:.2f} s; {sum(forest) / sum(cart):.1f} × cart",
        "< 10 s, < 20 s (goal 5 s)",
    )
    yield (
        "1 million rows of adult by `forest` from a saved model, streamed to CSV",
        _million(train),
        "< 60 s",
    )


def _times(method: str, train: Table) -> tuple[float, float]:
    """Give the seconds of a fit and of a draw; what is compiled, is compiled before."""
    us.synthesizer(method).fit(Table(train.frame.head(500), train.schema)).sample(10)
    start = time.process_time()
    model = us.synthesizer(method, seed=1).fit(train)
    fitted = time.process_time()
    model.sample(ROWS)
    return fitted - start, time.process_time() - fitted


def _million(train: Table) -> str:
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder) / "model", Path(folder) / "rows.csv"
        us.synthesizer("forest", seed=1).fit(train).save(model)
        given = ["synthesize", "--from", model, "--rows", "1000000", "--out", out, "--quiet"]
        done = subprocess.run(
            [sys.executable, "-c", CODE, *map(str, given)],
            capture_output=True,
            text=True,
            check=True,
        )
        seconds, peak = map(float, done.stdout.split())
        return f"{seconds:.0f} s, {peak:.0f} MB, model file {model.stat().st_size / 1e6:.1f} MB"
