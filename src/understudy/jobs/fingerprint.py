"""Fingerprints: whether two things are the same by what they hold, in any process, on any day.

Results that are kept are taken again only where everything that decides them has the fingerprint
that it had. Values, arrays, frames and models count by their content; a function by its code, its
defaults, what it encloses and the functions and values of its module that it uses; what belongs to
an installed library by its name and the library's version.
"""

import ast
import copyreg
import dis
import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from understudy._version import __version__
from understudy.errors import OptionError

PLAIN = (type(None), bool, int, float, complex, str, bytes)
COMPILED = (
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
CODE = (
    "co_code", "co_exceptiontable", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
    "co_flags", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_consts",
)  # fmt: skip
# what a class has beside what its author wrote
BESIDE = {
    "__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__firstlineno__",
    "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__dataclass_fields__",
    "__dataclass_params__",
}  # fmt: skip
INSTALLED = {"site-packages", "dist-packages"}


def fingerprint(*parts: Any) -> str:
    """Give a hash of all parts, by what they hold, and of the version of this program.

    What cannot be told from others by its content (an open file, a lock, a running iterator) is
    refused.

    Examples
    --------
    >>> fingerprint([1, "a"]) == fingerprint([1, "a"]), fingerprint(1) == fingerprint("1")
    (True, False)
    """
    try:
        return _Reading().of((__version__, *parts)).hex()
    except RecursionError:
        raise _unknown("what is nested so deeply") from None


def file_digest(path: Path) -> str:
    """Give a hash of the content of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unknown(what: str) -> OptionError:
    return OptionError(
        f"{what} cannot be told from another by its content",
        hint="say which version it is (version=…), and change that whenever it changes",
    )


def _hashed(kind: str, *parts: bytes) -> bytes:
    made = hashlib.sha256(kind.encode())
    for part in parts:
        made.update(len(part).to_bytes(8, "little"))
        made.update(part)
    return made.digest()


class _Reading:
    """One reading of things that may hold each other, and themselves."""

    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, bytes]] = {}
        self.open: dict[int, int] = {}

    def of(self, value: Any) -> bytes:
        """Give the hash of a value."""
        if type(value) in PLAIN:
            # of a whole number Python writes at most some thousand digits, unless in hexadecimal
            text = hex(value) if type(value) is int else repr(value)
            content = value if isinstance(value, bytes) else text.encode()
            return _hashed(type(value).__name__, content)
        place = id(value)
        if place in self.done:
            return self.done[place][1]
        if place in self.open:  # it holds itself
            return _hashed("above", str(len(self.open) - self.open[place]).encode())
        self.open[place] = len(self.open)
        made = self._inner(value)
        del self.open[place]
        self.done[place] = value, made  # kept alive, so that its place is not taken by another
        return made

    def _all(self, kind: str, *parts: Any) -> bytes:
        return _hashed(kind, *(self.of(part) for part in parts))

    def _inner(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (list, tuple):
            return self._all(kind.__name__, *value)
        if kind is dict:
            return self._all("dict", *(part for item in value.items() for part in item))
        if kind in (set, frozenset):
            return _hashed(kind.__name__, *sorted(self.of(part) for part in value))
        if kind is np.ndarray:
            return self._array(value)
        if kind in (pl.DataFrame, pl.Series):
            return self._frame(value.to_frame() if kind is pl.Series else value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CodeType):
            return self._all("code", *(getattr(value, name) for name in CODE))
        if isinstance(value, types.MethodType):
            return self._all("method", value.__func__, value.__self__)
        if isinstance(value, COMPILED):
            return self._compiled(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if kind in (staticmethod, classmethod):
            return self._all(kind.__name__, value.__func__)
        if kind is property:
            return self._all("property", value.fget, value.fset, value.fdel)
        if kind is functools.cached_property:
            return self._all("cached", value.func)
        if hasattr(value, "__wrapped__") and library(_home(kind)) is not None:
            return self._all("wrapped", kind, value.__wrapped__)  # by a cache, a compiler
        return self._reduced(value)

    def _array(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.dtype.hasobject:
            return self._all("objects", array.dtype.str, array.shape, array.tolist())
        if array.dtype.names:  # between fields there may be bytes that mean nothing
            fields = [array[name] for name in array.dtype.names]
            return self._all("fields", array.dtype.names, *fields)
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        head = self.of((array.dtype.str, array.shape))
        return _hashed("array", head, hashlib.sha256(content.data).digest())

    def _frame(self, frame: pl.DataFrame) -> bytes:
        coded = [name for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)]
        plain = frame.with_columns(pl.col(coded).cast(pl.String))
        head = [(name, str(plain.schema[name]), name in coded) for name in plain.columns]
        objects = [name for name, kind in plain.schema.items() if kind == pl.Object]
        rest = plain.drop(objects)
        rows = rest.hash_rows(seed=0).to_numpy() if rest.width else np.empty(0)
        # rows with 0.0 and -0.0 are equal, and so are their hashes
        zeros = (pl.selectors.float() == 0) & (1 / pl.selectors.float() < 0)
        negative = [column.arg_true().to_numpy() for column in rest.select(zeros)]
        others = [plain[n].to_list() for n in objects]
        return self._all("frame", frame.height, head, rows, negative, others)

    def _function(self, function: types.FunctionType) -> bytes:
        home = str(function.__globals__.get("__name__"))
        name = (function.__module__, function.__qualname__)
        version = library(home)
        if version is not None and _looked_up(*name) is function:
            return self._all("of a library", *name, version)
        cells = [_content(cell) for cell in function.__closure__ or ()]
        held = (function.__defaults__, function.__kwdefaults__, cells, vars(function))
        if version is not None:
            return self._all("made by a library", *name, version, *held)
        used = [
            (name, function.__globals__[name])
            for name in sorted(set(_names(function.__code__, ("LOAD_GLOBAL", "LOAD_NAME"))))
            if name in function.__globals__
        ]
        files = _files_of(_names(function.__code__, ("IMPORT_NAME",)))
        return self._all("function", *name, function.__code__, *held, used, files)

    def _compiled(self, value: Any) -> bytes:
        home = getattr(value, "__module__", None) or getattr(value, "__objclass__", None)
        own = getattr(value, "__self__", None)
        own = own.__name__ if isinstance(own, types.ModuleType) else own
        return self._all("compiled", home, value.__qualname__, own)

    def _class(self, kind: type) -> bytes:
        name = (_home(kind), kind.__qualname__)
        version = library(name[0])
        if version is not None:
            return self._all("class of a library", *name, version)
        written = {n: vars(kind)[n] for n in sorted(vars(kind)) if n not in BESIDE}
        return self._all("class", *name, type(kind), kind.__bases__, written)

    def _module(self, module: types.ModuleType) -> bytes:
        """Give the hash of a library's version, or of the files of one's own modules and values."""
        version = library(module.__name__)
        if version is not None:
            return self._all("library", module.__name__, version)
        file = getattr(module, "__file__", None)
        if file is None or not Path(file).is_file():
            raise _unknown(f"the module '{module.__name__}', which has no file,")
        near = {getattr(value, "__module__", None) for value in vars(module).values()}
        near |= {v.__name__ for v in vars(module).values() if isinstance(v, types.ModuleType)}
        others = sorted(n for n in near if isinstance(n, str) and library(n) is None)
        known = [sys.modules[n] for n in others if n in sys.modules and n != "__main__"]
        files = _files_of([module.__name__])
        content = (file_digest(Path(file)), files, _now(module))
        return self._all("module", module.__name__, content, known)

    def _reduced(self, value: Any) -> bytes:
        """Give the hash of what a value would be made of again, as pickle does."""
        kind = type(value)
        try:
            own = copyreg.dispatch_table.get(kind)
            found = own(value) if own else value.__reduce_ex__(4)
        except Exception as error:  # whatever a class of somebody else raises
            raise _unknown(f"what holds a '{kind.__qualname__}'") from error
        if isinstance(found, str):
            home = _home(value)
            return self._all("name", kind, home, library(home), found)
        make, given, state, items, pairs = (*found, None, None, None)[:5]
        if type(state) is dict:  # what was computed from the rest, and kept
            state = {
                name: inner
                for name, inner in state.items()
                if not isinstance(getattr(kind, str(name), None), functools.cached_property)
            }
        return self._all("object", make, given, state, list(items or ()), list(pairs or ()))


def _now(holder: Any) -> list[tuple[str, Any]]:
    """Give the plain values that a module and its classes hold now, whatever their files say."""
    held: list[tuple[str, Any]] = []
    for name, value in sorted(vars(holder).items()):
        if not name.startswith("__") and _is_plain(value):
            held.append((name, value))
        elif isinstance(value, type) and value.__module__ == getattr(holder, "__name__", None):
            held.append((name, _now(value)))
    return held


def _home(value: Any) -> str:
    """Name the module that something belongs to; compiled code may have none."""
    home = getattr(value, "__module__", None)
    return home if isinstance(home, str) else "builtins"


def _content(cell: Any) -> Any:
    try:
        return [cell.cell_contents]
    except ValueError:  # not filled yet
        return None


def _names(code: types.CodeType, kinds: tuple[str, ...]) -> Iterator[str]:
    """Name what a code uses, that of its inner functions too."""
    for step in dis.get_instructions(code):
        if step.opname in kinds:
            yield str(step.argval)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const, kinds)


def _looked_up(module: str, name: str) -> Any:
    """Look up a name of a module."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _files_of(names: Iterable[str]) -> list[tuple[str, str]]:
    """Give the hashes of the files of one's own modules that code imports, and of what they do."""
    waiting, made = [*names], {}
    while waiting:
        top = waiting.pop().partition(".")[0]
        if top in made or not top or library(top) is not None:
            continue
        files = _sources(top)
        made[top] = [file_digest(file) for file in files]
        for file in files:
            waiting += _imports(file)
    return [(top, digest) for top in sorted(made) for digest in made[top]]


def _sources(top: str) -> list[Path]:
    """List the files of a module, or of a package; none of an installed one, or one not found."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    folders = [Path(place) for place in spec.submodule_search_locations or ()]
    file = Path(spec.origin or "")
    if any(INSTALLED & set(place.parts) for place in (file, *folders)):
        return []
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return files or ([file] if file.is_file() else [])


def _imports(file: Path) -> Iterator[str]:
    """Name the modules that a file imports, wherever it does."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def _is_plain(value: Any, depth: int = 3) -> bool:
    """Whether something is a value that code may go by, and no tool of it."""
    if type(value) in PLAIN or type(value) is np.ndarray:
        return True
    if not depth or type(value) not in (list, tuple, set, frozenset, dict):
        return False
    inner = [*value, *value.values()] if type(value) is dict else value
    return all(_is_plain(one, depth - 1) for one in inner)


@functools.cache
def library(module: str) -> str | None:
    """Give the version of the library that a module belongs to; none if it is one's own."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == "builtins":
        return platform.python_version()
    if top == "understudy":
        return __version__
    found = sys.modules.get(top)
    places = [getattr(found, "__file__", None), *(getattr(found, "__path__", None) or ())]
    if not any(INSTALLED & set(Path(place).parts) for place in places if place):
        return None
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(found, "__version__", ""))
