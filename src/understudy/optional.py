"""Optional libraries, asked for by name, with a message that says how to install them."""

import importlib
from typing import Any

from understudy.errors import MissingExtraError


def need(module: str, *, extra: str) -> Any:
    """Import an optional module, or say which extra brings it.

    Examples
    --------
    >>> need("math", extra="none").sqrt(4)
    2.0
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.split(".")[0]:
            raise
        raise MissingExtraError(
            f"this needs the library '{error.name}', which is not installed",
            hint=f"pip install 'understudy[{extra}]'",
        ) from error
