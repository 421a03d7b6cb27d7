"""Schemas that say the relations of a table: in Python, on the command line, in files."""

import dataclasses
import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import understudy as us
from understudy.cli.schema import command
from understudy.data.schema import dumps, loads


@pytest.fixture
def frame():
    draw = np.random.default_rng(0)
    height = np.round(draw.normal(172, 9, 300))
    weight = np.round(draw.normal(0, 9, 300) + height - 100)
    bmi = np.round(weight / (height / 100) ** 2, 1)
    return pl.DataFrame({"height": height, "weight": weight, "bmi": bmi})


def test_of_a_frame_a_path_and_a_table(frame, tmp_path):
    schema = us.schema(frame)
    (only,) = schema.relations
    assert only.text == "bmi = weight / (height / 100) ** 2"
    assert (only.rows, only.broken, only.inferred) == (300, 0, True)
    path = tmp_path / "people.csv"
    frame.write_csv(path)
    assert us.schema(path).relations == schema.relations
    assert us.schema(us.Table.of(frame)).relations == schema.relations


def test_a_schema_is_written_and_read_with_its_relations(frame, tmp_path):
    schema = us.schema(frame)
    assert loads(dumps(schema)) == schema
    path = tmp_path / "schema.toml"
    path.write_text(dumps(schema).replace("broken = 0", "broken = 1"))
    assert us.schema(path).relations[0].is_near


def test_relations_that_a_person_took_out_stay_out(frame):
    schema = dataclasses.replace(us.schema(frame), relations=())
    assert us.schema(us.Table.of(frame, schema)).relations == ()


def test_nothing_to_search():
    assert us.schema(pl.DataFrame({"id": [f"k{i}" for i in range(60)]})).relations == ()
    assert us.schema(pl.DataFrame({"x": [], "y": []})).relations == ()


def test_the_command_line_says_them(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.write_csv("people.csv")
    done = CliRunner().invoke(command, ["people.csv", "--out", "schema.toml"])
    assert done.exit_code == 0, done.output
    assert "bmi = weight / (height / 100) ** 2" in done.output
    assert 'holds = "bmi = weight / (height / 100) ** 2"' in (tmp_path / "schema.toml").read_text()
    done = CliRunner().invoke(command, ["people.csv", "--json", "found.json"])
    assert done.exit_code == 0, done.output
    (only,) = json.loads((tmp_path / "found.json").read_text())["relations"]
    assert (only["kind"], only["target"], only["rows"]) == ("formula", "bmi", 300)
