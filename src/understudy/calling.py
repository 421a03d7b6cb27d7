"""Modules that can be called."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def callable_as(function: Callable[..., Any], module: str) -> None:
    """Let a module of the same name as its function be called as that function.

    Importing ``understudy.release`` puts the module in the place of the function ``us.release``:
    the import system does so whatever the package says, so calling either must do the same.
    """

    class Called(ModuleType):
        __call__ = staticmethod(function)

    sys.modules[module].__class__ = Called
