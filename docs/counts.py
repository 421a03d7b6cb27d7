"""Count the nouns of the source: how large it is, and how many ways it has to do one thing.

``python docs/counts.py [FOLDER]`` prints the table of ARCHITECTURE.md for the package in a folder
(``src/understudy``). What a row counts is said beside it, so that anyone can count again.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

CODECS = ("understudy.data.codec", "understudy.coding")  # now, and before
VALUES = {"values", "numbers", "texts", "labels", "column", "table"}  # names of arguments
ROOT = Path(__file__).parents[1]
PACKAGE = "understudy"
SIZES = (  # they grow with what the program can do; the others must not
    "source lines",
    "modules",
    "modules with exactly one importer",
    "their lines",
    "places that raise an `OptionError`",
    "attributes asked for by `getattr`",
)


@dataclass(frozen=True)
class Module:
    """A file of the source, read once."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The file as it is."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The file as Python reads it."""
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self.text.splitlines())

    @property
    def is_package(self) -> bool:
        """Whether the file is the front of a folder."""
        return self.path.name == "__init__.py"

    def classes(self) -> Iterator[ast.ClassDef]:
        """Give the classes, those inside of others too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))


class Source:
    """All modules of a package."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules = {}
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            self.modules[name] = Module(name, path)

    def importers(self) -> dict[str, set[str]]:
        """Say who imports each module."""
        found: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            for node in ast.walk(module.tree):
                for name in self._imported(node):
                    if name != module.name:
                        found[name].add(module.name)
        return found

    def _imported(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in self.modules else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)

    def names_used_twice(self) -> list[str]:
        """Name the classes that stand in more than one module."""
        homes: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            for node in module.classes():
                homes[node.name].add(module.name)
        return sorted(name for name, where in homes.items() if len(where) > 1)

    def with_one_importer(self) -> list[Module]:
        """Name the modules, fronts of folders apart, that exactly one other module imports."""
        importers = self.importers()
        return [m for n, m in self.modules.items() if len(importers[n]) == 1 and not m.is_package]

    def codings(self) -> list[str]:
        """Name the functions that ``codes_values``, but for those of the codec."""
        return [
            f"{module.name}.{node.name}"
            for module in self.modules.values()
            if module.name not in CODECS
            for node in ast.walk(module.tree)
            if isinstance(node, ast.FunctionDef) and codes_values(node)
        ]

    def places(self, pattern: str, *, outside: str = "-") -> int:
        """Count where a pattern stands in the text, but for one folder or module."""
        own = f"{PACKAGE}.{outside}"
        return sum(
            len(re.findall(pattern, module.text, re.M))
            for module in self.modules.values()
            if module.name != own and not module.name.startswith(f"{own}.")
        )

    def files(self, pattern: str, *, outside: str = "-") -> int:
        """Count the modules in whose text a pattern stands, but for one folder or module."""
        own = f"{PACKAGE}.{outside}"
        return sum(
            bool(re.search(pattern, module.text, re.M))
            for module in self.modules.values()
            if module.name != own and not module.name.startswith(f"{own}.")
        )

    def at_the_root(self) -> list[str]:
        """Name the modules beside ``__init__``."""
        return [p.stem for p in sorted(self.folder.glob("*.py")) if p.name != "__init__.py"]

    def layers(self) -> int:
        """Count the rungs that import-linter keeps."""
        settings = tomllib.loads((self.folder.parents[1] / "pyproject.toml").read_text())
        return len(settings["tool"]["importlinter"]["contracts"][0]["layers"])


def codes_values(function: ast.FunctionDef) -> bool:
    """Tell a function that turns the values of a column into codes.

    Either its name says so (``encode``, ``codes``, ``level_codes``) and it takes values, or it
    looks texts up in a list to get numbers, or numbers them by their dense rank.
    """
    taken = {argument.arg for argument in function.args.args}
    if re.fullmatch(r"_?(encode|(\w+_)?codes)", function.name) and taken & VALUES:
        return True
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call)]
    named = [(n.func.attr, ast.unparse(n)) for n in calls if isinstance(n.func, ast.Attribute)]
    return any(
        (name == "replace_strict" and re.search(r"return_dtype=pl\.U?(Int|Float)", text))
        or (name == "rank" and "'dense'" in text)
        for name, text in named
    )


def counts(source: Source) -> dict[str, int]:
    """Give what is counted, by what it says."""
    alone = source.with_one_importer()
    processes = r"\b_?lock(?:ed)?\(|ProcessPoolExecutor|multiprocessing|subprocess\.(?:run|Popen)"
    return {
        "source lines": sum(m.lines for m in source.modules.values()),
        "modules": len(source.modules),
        "modules at the root, beside `__init__`": len(source.at_the_root()),
        "layers": source.layers(),
        "class names used in more than one module": len(source.names_used_twice()),
        "modules with exactly one importer": len(alone),
        "their lines": sum(m.lines for m in alone),
        "functions that turn values into codes, outside of `data/codec.py`": len(source.codings()),
        "places that build a `MemorySource`, outside of `data`": source.places(
            r"\bMemorySource\(", outside="data"
        ),
        "modules that read a signature, outside of `options`": source.files(
            r"inspect\.signature\(", outside="options"
        ),
        "places that raise an `OptionError`": source.places(r"raise OptionError\("),
        "functions `_register`": source.places(r"^ *def _register\("),
        "sentences for the want of a holdout in privacy": source.places(r"^WITHOUT_HOLDOUT\w* = "),
        "modules that take locks or start processes, outside of `jobs`": source.files(
            processes, outside="jobs"
        ),
        "attributes asked for by `getattr`": source.places(r"\bgetattr\("),
    }


def main(arguments: list[str]) -> int:
    """Print the table: one column a folder."""
    folders = [Path(argument) for argument in arguments] or [ROOT / "src" / PACKAGE]
    found = [counts(Source(folder)) for folder in folders]
    head = "| counted |" + " |" * len(found) + "\n|---|" + "---|" * len(found)
    sys.stdout.write(f"{head}\n")
    for label in found[0]:
        sys.stdout.write(f"| {label} | {' | '.join(f'{one[label]:,}' for one in found)} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
