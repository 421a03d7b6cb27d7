"""Memory: fitting and coding need a small multiple of the table itself.

The requirement is about 10 million rows of 20 columns; here it is scaled down to 2 million, as
all that grows with the rows grows in proportion. Peak memory is that of a process of its own.
"""

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, resource
import numpy as np, polars as pl
from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.tables import Table

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def draw(rows):
    rng = np.random.default_rng(0)
    words = pl.Series([f"level {i}" for i in range(50)])
    frame = pl.DataFrame({f"n{i}": rng.normal(size=rows) for i in range(8)})
    for i in range(6):
        frame = frame.with_columns(pl.Series(f"i{i}", rng.integers(0, 1000, rows)))
    for i in range(6):
        frame = frame.with_columns(words.gather(rng.integers(0, 50, rows)).alias(f"w{i}"))
    return frame

def work(frame):
    table = Table.of(frame)
    codec = Codec.fit(MemorySource(table), bins=100, levels=100)
    return codec.encode(table, scaled=True)

work(draw(1000))
before = peak()
frame = draw(2_000_000)
built = peak() - before
coded = work(frame)
print(json.dumps({"own": frame.estimated_size(), "built": built, "peak": peak() - before,
                  "codes": coded.codes.nbytes, "numbers": coded.numbers.nbytes}))
"""


@pytest.mark.slow
def test_fitting_and_coding_need_three_times_the_table() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300
    )
    found = json.loads(done.stdout)
    assert found["built"] < 2 * found["own"], "the measurement itself takes too much"
    assert found["peak"] <= 3 * found["own"], found
