"""Codecs are equal, have one hash and one fingerprint, by what they hold, in any process."""

import pickle
import subprocess
import sys

import numpy as np
import polars as pl

from understudy.data.bins import Bins, Points
from understudy.data.codec import Codec, ColumnCodec
from understudy.data.memory import MemorySource
from understudy.data.schema import Column
from understudy.data.tables import Table

NUMBER = Column("x", "number", "float")


def test_codecs_are_equal_by_what_they_hold() -> None:
    def made(*more: float) -> Codec:
        numbers = [*(i / 4 for i in range(40)), *more]
        frame = pl.DataFrame({"n": numbers, "c": [*"abcd"] * 10 + ["e"] * len(more)})
        return Codec.fit(MemorySource(Table.of(frame)), bins=4, levels=2)

    one, again, other = made(), made(), made(99.5)
    assert one == again
    assert hash(one) == hash(again)
    assert one["n"] == again["n"]
    assert one != other
    assert one["n"] != other["n"]
    assert one["c"] != other["c"]
    assert one != "a codec"
    assert {one: 1, other: 2}[again] == 1


def test_coded_tables_and_codecs_of_one_column_can_be_compared() -> None:
    made, other, shorter = (
        Table.of(pl.DataFrame({"x": x})) for x in ([1.5, 2.5, 4.0], [1.5, 4.0, 2.5], [1.5, 4.0])
    )
    codec = Codec.fit(MemorySource(made))
    assert codec.encode(made) == codec.encode(made)
    assert codec.encode(made) != codec.encode(other)
    assert codec.encode(made) != codec.encode(shorter)
    assert codec.encode(made) != codec.encode(made, scaled=True)


def test_a_codec_that_comes_from_another_process_is_equal() -> None:
    """Texts have another hash in every process: it must not travel."""
    made = Codec.fit(MemorySource(Table.of(pl.DataFrame({"sex": ["f", "m"] * 9}))))
    hash(made)
    program = (
        "import pickle, sys; codec = pickle.loads(sys.stdin.buffer.read()); hash(codec);"
        "sys.stdout.buffer.write(pickle.dumps(codec))"
    )
    back = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(made), capture_output=True, check=True
    )
    again = pickle.loads(back.stdout)
    assert again == made
    assert hash(again) == hash(made)


def test_codecs_are_the_same_by_what_they_hold() -> None:
    points = Points(np.arange(3.0), np.arange(4), np.ones(3))
    made = [
        ColumnCodec(NUMBER, Points(np.arange(3.0), np.arange(4), np.ones(3)), ("N",), first=0),
        ColumnCodec(NUMBER, points, ("N",), first=0),
        ColumnCodec(NUMBER, points, ("N",), first=1),
        ColumnCodec(NUMBER, Points(np.arange(3.0), np.arange(4), 2 * np.ones(3)), ("N",), first=0),
        ColumnCodec(NUMBER, Bins(np.arange(4.0)), ("N",), first=0),
    ]
    assert made[0] == made[1]
    assert hash(made[0]) == hash(made[1])
    assert made[0].fingerprint == made[1].fingerprint
    assert len(set(made)) == 4
    assert len({coder.fingerprint for coder in made}) == 4
    assert pickle.loads(pickle.dumps(made[0])) == made[0]
