"""Cache: work that is done once and kept with the object it was done on."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Cache:
    """Results by key; a key names all that a result depends on beside the owner of the cache.

    Keys are compared by equality, so a codec, a name or a source may be part of one. Nothing of it
    goes into a pickle or a copy, which begin with an empty cache.

    Examples
    --------
    >>> once = Cache()
    >>> once("sum", lambda: 1 + 1), once("sum", lambda: 1 / 0)
    (2, 2)
    """

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}

    def __call__(self, key: Hashable, work: Callable[[], T]) -> T:
        """Give the result under a key, worked out if it is asked for the first time."""
        if key not in self._results:
            self._results[key] = work()
        result: T = self._results[key]
        return result

    def __reduce__(self) -> tuple[type["Cache"], tuple[()]]:
        return Cache, ()
