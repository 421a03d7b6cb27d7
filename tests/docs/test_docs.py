"""The documentation says what the program does, and its examples run."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from process import assert_demo
from understudy.cli import cli, common
from understudy.data.datasets import registry
from understudy.data.schema import loads
from understudy.judging.comparison import compare_tables
from understudy.measures import MEASURES
from understudy.synthesizers import DEFAULT, SYNTHESIZERS, Synthesizer, synthesizer
from understudy.workflows.measuring import run_measure as run

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
ALL_FILES = [*PAGES, ROOT / "CITATION.cff", ROOT / ".pre-commit-config.yaml"]
FORBIDDEN = re.compile(r"\b(private|anonymous|anonymi[sz]ed|safe|safely|safety)\b", re.I)
MACHINE_PATH = re.compile(r"(?<![\w.~])/(?:work|tmp|home|root|Users|usr|opt|mnt|var)/|[A-Z]:\\")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.S | re.M)


def commands(page: str) -> list[str]:
    lines = [
        line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()
    ]
    return [line for line in lines if line.startswith("understudy ")]


def shape(line: str) -> str:
    """Give a line without its numbers, which differ a little between machines."""
    return " ".join(re.sub(r"\d[\d.,]*", "0", line).split())


def ids(path: Path) -> str:
    return path.name


def test_generated_pages_are_current() -> None:
    build = runpy.run_path(str(ROOT / "docs" / "build.py"))
    assert build["main"](["--check"]) == 0, "run: make docs"


def test_every_measure_and_method_is_on_the_page() -> None:
    page = (ROOT / "docs" / "measures.md").read_text(encoding="utf-8")
    assert all(f"### {name}\n" in page for name in MEASURES)
    assert all(f"| `{name}`" in page for name in SYNTHESIZERS)


def test_every_data_set_is_on_its_page() -> None:
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for data in registry().values():
        assert f"`{data.name}`" in page if data.inside else f"`{data.file}`" in page
        assert data.sha256 in page
        assert data.licence in page


@pytest.mark.parametrize("line", commands("README.md"))
def test_commands_parse(line: str) -> None:
    _, name, *arguments = shlex.split(line, comments=True)
    command = cli.get_command(cli.make_context("understudy", [name]), name)
    assert command is not None
    command.make_context(name, arguments)


def test_help_names_the_default_method() -> None:
    assert common.DEFAULT_METHOD == DEFAULT
    context = cli.make_context("understudy", ["synthesize"])
    command = cli.get_command(context, "synthesize")
    assert command is not None
    assert f"{DEFAULT} if not given" in command.get_help(context)


@pytest.mark.parametrize("number", range(len(blocks("docs/synthesis.md", "toml"))))
def test_schema_examples_are_read(number: int) -> None:
    schema = loads(blocks("docs/synthesis.md", "toml")[number])
    rows = 60
    real = pl.DataFrame(
        {
            "sex": ["F", "M"] * (rows // 2),
            "age": [10 + i % 60 for i in range(rows)],
            "income": [None if i % 60 < 5 else 1000 + 37 * (i % 7) for i in range(rows)],
            "birth place": ["in", "out", "out"] * (rows // 3),
        }
    )
    made = synthesizer("sequential").fit(real, schema=schema).sample(rows)
    assert set(made.columns) == set(real.columns)
    assert (
        made.filter(pl.col("age") < 15)["income"].null_count()
        == made.filter(pl.col("age") < 15).height
    )


def test_every_command_is_in_the_readme() -> None:
    shown = {shlex.split(line)[1] for line in commands("README.md")}
    assert shown == set(cli.list_commands(cli.make_context("understudy", ["demo"])))


def test_public_names_in_the_readme_exist() -> None:
    import understudy as us

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(hasattr(us, name) for name in re.findall(r"\bus\.(\w+)", text))


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = page.parent / file if file else page
        assert there.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.M)
            anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}
            assert anchor in anchors, target


@pytest.mark.parametrize("page", ALL_FILES, ids=ids)
def test_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"`[\w./-]+ @ [^`]+`", "", text)  # names of others' repositories
    assert not MACHINE_PATH.search(text)
    if page.name != "how-to-talk.md":
        assert not FORBIDDEN.search(text)


def module(code: str, name: str) -> ModuleType:
    """Import a worked example as if it were a file of the package."""
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile(code, name, "exec"), made.__dict__)
    return made


def test_worked_measure_runs() -> None:
    measure = module(blocks("CONTRIBUTING.md", "python")[0], "worked_measure").missing_share
    whole = pl.DataFrame({"x": [0.5 * i for i in range(400)], "c": ["a", "b"] * 200})
    holes = whole.with_columns(c=pl.when(pl.int_range(400) % 3 > 0).then("c"))
    found = run(measure, compare_tables(whole, holes, whole))
    assert (found.status, found.flagged, found.reference) == ("ok", True, 0.0)
    assert found.value == pytest.approx(134 / 400 / 2)
    assert found.parts[0].name == "c"


def test_worked_synthesizer_runs(tmp_path: Path) -> None:
    blocks_method = module(blocks("CONTRIBUTING.md", "python")[1], "worked_method").Blocks
    real = pl.DataFrame({"x": [0.5 * i for i in range(40)], "c": ["a", "b"] * 20, "d": [1, 2] * 20})
    fitted = Synthesizer(blocks_method(width=2), seed=1).fit(real)
    for rows in (0, 1, 100):
        made = fitted.sample(rows)
        assert (made.height, made.schema) == (rows, real.schema)
    pairs = set(real.select("x", "c").iter_rows())
    assert set(fitted.sample(100).select("x", "c").iter_rows()) <= pairs
    fitted.save(tmp_path / "blocks.model")


@pytest.mark.slow
def test_readme_runs_as_written(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    start = [sys.executable, "-m", "understudy"]
    wide = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(
        [*start, "demo"], cwd=tmp_path, check=True, env=wide, capture_output=True, text=True
    )
    assert_demo(tmp_path / "understudy-demo", done.stdout, (10095, 10))
    printed = {shape(line) for line in (done.stdout + done.stderr).splitlines()}
    shown = {shape(line) for line in blocks("README.md", "text")[0].splitlines()} - {"…"}
    assert shown <= printed, "the README shows what the demo does not print"
    for line in commands("README.md"):
        arguments = shlex.split(line, comments=True)[1:]
        if arguments[0] == "study" and not os.environ.get("UNDERSTUDY_DATA"):
            continue
        if arguments[0] == "release":  # its secret seed now and then leaves a rule undecided
            arguments += ["--seed", "1"]
        subprocess.run([*start, *arguments], cwd=tmp_path, check=True, capture_output=True)
    for block in blocks("README.md", "python"):
        subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=tmp_path, check=True)
