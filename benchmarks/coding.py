"""Memory of fitting a codec and coding a large table, against the table's own size."""

from collections.abc import Iterator

from measuring import alone

CODE = """
import resource, time
import numpy as np, polars as pl
from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.schema import Column, Schema
from understudy.data.tables import Table

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
before = peak()
rows = {rows}
frame = pl.DataFrame(
    {{f"n{{i}}": rng.normal(size=rows) for i in range(10)}}
    | {{f"c{{i}}": pl.Series(rng.integers(0, 50, rows)).cast(pl.String) for i in range(10)}}
)
size = frame.estimated_size()
kinds = {{"n": ("number", "float"), "c": ("category", "text")}}
table = Table(frame, Schema(tuple(Column(n, *kinds[n[0]]) for n in frame.columns)))
made = peak()
start = time.perf_counter()
codec = Codec.fit(MemorySource(table), bins=100)
fitted, fit_seconds = peak(), time.perf_counter() - start
start = time.perf_counter()
coded = codec.encode(table)
print(size, fitted, peak(), made, fit_seconds, time.perf_counter() - start)
"""


def run() -> Iterator[tuple[str, str, str]]:
    numbers = [float(text) for text in alone(CODE.format(rows=10_000_000)).split()]
    size, fitted, coded, made, fit, encode = numbers
    yield (
        "codec, 10 million × 20 (1/2 numbers, 1/2 text)",
        f"peak {fitted / size:.2f} × the table to fit ({fit:.0f} s), "
        f"{coded / size:.2f} × to code it ({encode:.0f} s); making the table {made / size:.2f} ×",
        "≤ 3 ×",
    )
