"""How a law is told to be broken: an AssertionError that names it and says what was found."""

import math
from collections.abc import Callable, Iterable
from typing import Any


def expect(holds: bool, found: str) -> None:
    """Say what was found where it is not as it should be; unlike ``assert``, in any mode."""
    if not holds:
        raise AssertionError(found)


def close(a: float | None, b: float | None, apart: float = 1e-6, least: float = 1e-12) -> bool:
    """Whether two numbers are the same but for the order of summing up."""
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=apart, abs_tol=least)


def check_laws(what: str, laws: Iterable[Callable[..., None]], *given: Any) -> None:
    """Run laws one after the other; the first that is broken is named by its docstring."""
    for law in laws:
        told = (law.__doc__ or law.__name__).strip().splitlines()[0]
        try:
            law(*given)
        except AssertionError as error:
            raise AssertionError(f"{what} breaks a law: {told} Found: {error}") from error
        except Exception as error:
            error.add_note(f"{what} was checked for a law: {told}")
            raise
