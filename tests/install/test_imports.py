"""What an import costs, and which folder may import which optional library."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import understudy

SOURCE = Path(understudy.__file__).parent
HEAVY = ("sklearn", "scipy.stats", "pandas", "numba", "torch", "pyarrow", "statsmodels")
OPTIONAL = {
    "pandas": "data",
    "pyarrow": "data",
    "fastexcel": "data",
    "xlsxwriter": "data",
    "duckdb": "engines",
    "pyspark": "engines",
    "lightgbm": "synthesizers",
    "torch": "synthesizers",
    "opacus": "synthesizers",
    "dp_accounting": "synthesizers",
    "statsmodels": "measures",
    "vl_convert": "report",
}


def loaded_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys, json; print(json.dumps(list(sys.modules)))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(out.stdout))


def test_importing_understudy_loads_nothing_heavy():
    loaded = loaded_after("import understudy")
    assert not loaded & set(HEAVY)
    assert "numpy" not in loaded


def test_using_the_public_names_loads_no_optional_library():
    code = "import understudy as us\nfor name in us.__all__: getattr(us, name)"
    assert not loaded_after(code) & set(HEAVY)


def test_all_public_names_exist_and_are_listed():
    assert set(understudy.__all__) <= set(dir(understudy))
    for name in understudy.__all__:
        assert getattr(understudy, name) is not None


def test_help_loads_nothing_that_computes():
    """How soon it answers is a benchmark; this is why it does."""
    code = """
import contextlib, io, sys
from understudy.cli import main
sys.argv[1:] = ["--help"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
"""
    loaded = loaded_after(code)
    assert "understudy.cli" in loaded
    assert not loaded & {*HEAVY, "numpy", "polars"}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need":
            found.add(node.args[0].value.split(".")[0])
    return found


def test_an_optional_library_is_imported_in_one_folder_only():
    seen = {}
    for path in SOURCE.rglob("*.py"):
        if path.parent.name == "scripts":
            continue  # run in a tool's own environment, never imported here
        for library in imported(path) & set(OPTIONAL):
            seen.setdefault(library, set()).add(path.relative_to(SOURCE).parts[0])
    assert "pandas" in seen
    for library, folders in seen.items():
        assert folders == {OPTIONAL[library]}, library


def test_nothing_prints_or_filters_warnings_at_import():
    out = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-c",
            "import understudy.cli.assess, understudy.workflows.assessment",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert out.stdout == out.stderr == ""
