"""Documents with one thing wrong: every value in turn replaced or dropped."""

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from understudy.errors import UnderstudyError

DIGITS = "@digits@"  # stands for a number of 5,000 digits, which Python itself cannot write
DEEP: Any = 0
for _ in range(150):
    DEEP = [DEEP]

WRONG = (
    None, True, False, 0, -1, 7, 1.5, -1e308, 1e308, 10**29, 10**40, DIGITS, float("nan"),
    float("inf"), "", "x", "\ud800", "\0", "%", "é" * 300, "2024-13-01", "../../..", [], [1], ["x"],
    [[]], [None, {}], {}, {"x": 1}, {"name": ["x"]}, DEEP,
)  # fmt: skip
Place = tuple[Any, ...]


def places(document: Any, here: Place = ()) -> Iterator[Place]:
    """List where the values of a document are, its own place first."""
    yield here
    if isinstance(document, dict | list):
        inner = document.items() if isinstance(document, dict) else enumerate(document)
        for name, value in inner:
            yield from places(value, (*here, name))


def mutated(document: Any, most: int | None = None, seed: int = 0) -> Iterator[tuple[str, Any]]:
    """Give copies of a document with one value wrong, and what is wrong; some, or all."""
    every = [(place, number) for place in places(document) for number in range(-1, len(WRONG))]
    if most is not None and most < len(every):
        every = random.Random(seed).sample(every, most)
    for place, number in every:
        if not place:
            if number >= 0:
                yield f"all: {WRONG[number]!r:.30}", WRONG[number]
            continue
        made = copy.deepcopy(document)
        holder = made
        for step in place[:-1]:
            holder = holder[step]
        if number < 0:
            del holder[place[-1]]
        else:
            holder[place[-1]] = WRONG[number]
        yield f"{place}: {'dropped' if number < 0 else repr(WRONG[number])[:30]}", made


def as_json(document: Any) -> str:
    """Write JSON, with whatever it may hold."""
    return json.dumps(document).replace(f'"{DIGITS}"', "1" * 5000)


def as_toml(document: Any) -> str:
    """Write TOML, one line for each key; what TOML cannot say is left out."""
    if not isinstance(document, dict):
        return _inline(document)
    lines = (f"{json.dumps(k)} = {_inline(v)}" for k, v in document.items() if v is not None)
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        inner = (f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items() if v is not None)
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(inside) for inside in value if inside is not None) + "]"
    if isinstance(value, float) and value not in (1.5, 0.5):
        return repr(value).replace("e+", "e")
    return as_json(value)


def taken(what: str, use: Callable[..., Any], *given: Any) -> bool:
    """Whether a document was taken; refused, it is by an error of ours, with a hint."""
    try:
        use(*given)
    except UnderstudyError as error:
        if not (error.message and error.hint):
            raise AssertionError(f"{what}: no message or no hint: {error}") from error
        return False
    except BaseException as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    return True
