"""Model files back into synthesizers; nothing that a file says is run, opened or imported.

A file names its method. The method decides, before any option of the file is looked at, whether
it can come from a file at all: one that runs another program never does.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from understudy._version import __version__
from understudy.data.schema import loads
from understudy.errors import OptionError, UnderstudyError
from understudy.synthesizers.base import Method, Synthesizer
from understudy.synthesizers.budget import Step
from understudy.synthesizers.holding import Held
from understudy.synthesizers.model_file import Origin, State, read_model, whole
from understudy.synthesizers.options import with_options
from understudy.synthesizers.registry import restorable

MOST_ROWS = 1 << 32  # of a training table


def load_model(path: Path, methods: Mapping[str, type[Method]]) -> Synthesizer:
    """Read a model file; its samples are polars frames."""
    document, state = read_model(path)
    name = document["method"]
    writer = f"it was written by understudy {document['understudy'][:40]}, this is {__version__}"
    if name not in methods:
        raise OptionError(f"{path}: the method {name[:60]!r} is not known here", hint=writer)
    try:
        method = restorable(methods[name])
    except OptionError as error:
        raise OptionError(f"{path}: {error.message}", hint=error.hint) from error
    origin = Origin(path, name, writer)
    with origin.guarded(UnderstudyError):
        return _restored(document, state, method, origin)


def _restored(
    document: Mapping[str, Any], state: State, kind: type[Method], origin: Origin
) -> Synthesizer:
    options = {k: tuple(v) if isinstance(v, list) else v for k, v in document["options"].items()}
    method = with_options(kind, options)
    schema = loads(document["schema"], name=str(origin.path))
    inner = loads(document["inner"], name=str(origin.path)) if "inner" in document else schema
    held = Held.restore(document.get("held", {}), state, schema, inner)
    spending = document.get("spending")
    made = Synthesizer(method.restore(held.without(state), inner), seed=document["seed"])
    made.schema_, made.rows_ = schema, whole(document["rows"], 0, MOST_ROWS)
    made.spending_ = None if spending is None else tuple(map(Step.from_dict, spending))
    made.held_, made.inner_, made.origin_ = held, inner, origin
    made.seeded_ = document.get("seeded") is True
    made.give_back_ = lambda out: out
    _ = made.epsilon_spent  # what was spent is added up: it may be no number, or too much
    return made
