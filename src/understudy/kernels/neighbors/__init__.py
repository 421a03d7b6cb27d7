"""Nearest records, exact: by differing columns (hamming), by mixed or straight-line distance."""

from understudy.kernels.neighbors.hamming import (
    HammingNeighbors,
    hamming_neighbors,
)
from understudy.kernels.neighbors.mixed import mixed_neighbors

__all__ = ["HammingNeighbors", "hamming_neighbors", "mixed_neighbors"]
