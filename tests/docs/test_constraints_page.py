"""The examples of the page on constraints run as they are written."""

import dataclasses
import shlex
from pathlib import Path

import polars as pl
import pytest
from test_docs import blocks, commands

import understudy as us
from process import understudy
from stays import stays
from understudy.data.schema import dumps, infer, loads

PAGE = "docs/constraints.md"
REAL = stays(300, 2)


def schema_of_the_page() -> str:
    """Complete the example by the columns that it leaves out."""
    head = blocks(PAGE, "toml")[0]
    rest = dumps(infer(REAL)).split("version = 1", 1)[1]
    return head + rest


def test_the_schema_is_read_and_holds() -> None:
    schema = loads(schema_of_the_page())
    assert len(schema.constraints) == 5
    made = us.synthesizer("cart", seed=1).fit(REAL, schema=schema).sample(100)
    assert made["age"].is_between(18, 99).all()
    assert made["key"][0] == "AT-00001"
    assert (made["pay"] > 0).all()
    assert dataclasses.replace(schema, constraints=()) == infer(REAL)


def test_the_python_example_runs() -> None:
    names = {"us": us, "stays": REAL}
    exec(blocks(PAGE, "python")[0], names)
    made = names["synthetic"]
    assert isinstance(made, pl.DataFrame)
    assert made["country"].value_counts().sort("country")["count"].to_list() == [500, 500]


@pytest.mark.parametrize("line", commands(PAGE))
def test_commands_run(line: str, tmp_path: Path) -> None:
    REAL.write_csv(tmp_path / "stays.csv")
    (tmp_path / "stays.toml").write_text(schema_of_the_page(), encoding="utf-8")
    done = understudy(*shlex.split(line)[1:], "--method", "bootstrap", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "synthetic.csv").is_file()
