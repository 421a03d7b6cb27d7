"""Threads of the libraries below us."""

from contextlib import AbstractContextManager
from typing import Any


def one_thread() -> AbstractContextManager[Any]:
    """Keep matrix products to one thread: small ones are faster, and sums do not depend on it."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped,unused-ignore]

    return threadpool_limits(1, "blas")  # type: ignore[no-any-return,unused-ignore]
