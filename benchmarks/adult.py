"""The adult data of Platzer and Reutterer, coded."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.data.codec import Codec, Coded
from understudy.data.datasets import dataset
from understudy.data.memory import MemorySource
from understudy.data.tables import Table


@cache
def tables() -> tuple[Table, Table]:
    """Give training and a release of 50,000 rows."""
    train = Table.of(dataset("adult_trn").path())
    return train, Table.of(dataset("adult_mostly").path(), train.schema)


def coded(bins: int, levels: int | None = None, *, scaled: bool = False) -> tuple[Coded, Coded]:
    """Code both by training."""
    train, synthetic = tables()
    codec = Codec.fit(MemorySource(train), bins=bins, levels=levels)
    return codec.encode(train, scaled=scaled), codec.encode(synthetic, scaled=scaled)


def one_hot(codes: NDArray[np.unsignedinteger], sizes: tuple[int, ...]) -> NDArray[np.uint8]:
    """Give a column of zeros and ones for each code."""
    parts = [codes[:, [j]] == np.arange(size) for j, size in enumerate(sizes)]
    return np.concatenate(parts, axis=1).astype(np.uint8)
