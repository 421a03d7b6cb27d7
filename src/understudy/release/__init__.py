"""release(): split, synthesize, assess and judge; the folder to hand over, if it passes."""

import sys
from types import ModuleType
from typing import Any

from understudy.release.gate import Decision, release

__all__ = ["Decision", "release"]


class _Callable(ModuleType):
    """Importing ``understudy.release`` puts the module in the place of ``us.release``."""

    def __call__(self, *tables: Any, **options: Any) -> Decision:
        return release(*tables, **options)


sys.modules[__name__].__class__ = _Callable
