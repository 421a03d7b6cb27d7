"""What a Python user expects of results: names, frames, short reprs, a bar, warnings."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import process
import understudy as us
from people import people
from understudy.data.schema import dumps
from understudy.data.source import source_of
from understudy.errors import OptionError
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import TableOfNumbers

MEASURES = ["fidelity", "privacy.closest_record", "privacy.correct_attribution"]
POLICY = '[[rule]]\nmeasure = "privacy.closest_record"\nupper = 0.9'


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    return {"train": people(150, 1), "synthetic": people(150, 2), "holdout": people(150, 3)}


@pytest.fixture(scope="module")
def result(tables) -> us.Assessment:
    return us.assess(**tables, measures=MEASURES)


@pytest.fixture(scope="module")
def compared(tables):
    others = {"one": tables["synthetic"], "two": tables["holdout"]}
    return us.compare(tables["train"], others, measures=["fidelity.moments"], curve=False)


def test_names_of_measures(result):
    assert "privacy.closest_record" in result
    assert result["fidelity.moments"] in result
    assert "privacy.membership" not in result
    assert len(result) == len(list(result)) == len(result.to_frame())


def test_a_wrong_name_is_a_key_error_and_ours(result, compared):
    for found in (result, compared):
        with pytest.raises(KeyError, match=r"fidelity.momens") as caught:
            found["fidelity.momens"]
        assert isinstance(caught.value, us.UnderstudyError)
        assert caught.value.hint


def test_reprs_are_a_few_lines(result, compared, tables):
    model = us.synthesizer("independent").fit(tables["train"])
    table = us.Table.of(tables["train"])
    shown = [
        result, compared, table, table.schema, *table.schema, us.keys(tables["train"]),
        compare_tables(**tables), us.Policy.loads(POLICY), *result,
        *(table for finding in result for table in finding.tables.values()),
        us.Policy.loads(POLICY).apply(result), model.schema_,
        us.Benchmark(({"method": "cart", "status": "ok"},), {}), us.Calibration({}, {}),
    ]  # fmt: skip
    for found in shown:
        assert len(repr(found)) < 600, type(found)
        assert repr(found).startswith(type(found).__name__)
    assert "16 findings (2 not applicable); flagged: none" in repr(result)
    assert "reference" in repr(result["fidelity.moments"])
    assert "needs key columns" in repr(result["privacy.correct_attribution"])
    assert "one, two" in repr(compared)
    assert "150 rows" in repr(table)
    assert repr(us.Policy.loads(POLICY)) == "Policy(rules on privacy.closest_record)"
    assert "independent, bootstrap" in repr(us.SYNTHESIZERS)
    assert "person_id identifier" in repr(table.schema)


@pytest.mark.parametrize(
    ("give", "kind"),
    [(pl.DataFrame.to_pandas, pd.DataFrame), (pl.DataFrame.to_arrow, pa.Table), (None, None)],
)
def test_frames_are_of_the_callers_kind(tables, give, kind):
    train = tables["train"] if give is None else give(tables["train"])
    result = us.assess(train, tables["synthetic"], measures=["fidelity.univariate"])
    finding = result["fidelity.univariate"]
    frames = [result.to_frame(), finding.to_frame(), finding.to_frame("histogram:town")]
    assert all(isinstance(frame, kind or pl.DataFrame) for frame in frames)
    assert pickle.loads(pickle.dumps(result)).to_frame().shape == frames[0].shape


def test_what_is_in_the_frames(result, tmp_path):
    frame, finding = result.to_frame(), result["fidelity.univariate"]
    row = frame.row(by_predicate=pl.col("measure") == finding.measure, named=True)
    assert (row["low"], row["high"]) == finding.interval
    for name in ("value", "reference", "better", "unit", "p_value", "flagged", "status", "note"):
        assert row[name] == getattr(finding, name)
    assert frame["note"].str.contains("needs key columns").sum() == 1
    parts = finding.to_frame()
    assert parts["part"].to_list() == [part.name for part in finding.parts]
    assert parts["value"].to_list() == [part.value for part in finding.parts]
    for found in result:
        for name, table in found.tables.items():
            assert found.to_frame(name).height == len(table.rows)
    with pytest.raises(KeyError, match="has no table 'histogram:twon'") as caught:
        finding.to_frame("histogram:twon")
    assert "histogram:town" in caught.value.hint
    assert result["privacy.correct_attribution"].to_frame().height == 0


def test_a_table_whose_names_come_twice_is_a_frame():
    made = TableOfNumbers(("train", "train"), (("a", 1.0), (2, None))).to_polars()
    assert made.columns == ["train", "train_"]
    assert made["train"].to_list() == ["a", "2"]


def test_findings_as_csv(tables, tmp_path):
    paths = {name: tmp_path / f"{name}.csv" for name in ("train", "synthetic", "out")}
    for name in ("train", "synthetic"):
        tables[name].write_csv(paths[name])
    done = process.understudy(
        "assess", paths["train"], paths["synthetic"], "--measures", "fidelity.moments",
        "--csv", paths["out"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "LeftOutWarning" not in done.stderr
    made = pl.read_csv(paths["out"])
    assert made["measure"].to_list() == ["fidelity.moments"]
    assert made["value"].to_list()[0] > 0


def test_a_bar_is_shown_where_it_is_asked_for(tables, capsys):
    us.assess(tables["train"], tables["synthetic"], measures=["fidelity.moments"], progress=True)
    shown = capsys.readouterr()
    assert "done" in shown.err
    assert shown.out == ""
    us.assess(tables["train"], tables["synthetic"], measures=["fidelity.moments"], progress=False)
    assert capsys.readouterr().err == ""
    others = {"one": tables["synthetic"]}
    few = {"curve": False, "measures": ["fidelity.moments"]}
    us.compare(tables["train"], others, progress=True, **few)
    assert "done" in capsys.readouterr().err
    with pytest.raises(OptionError, match="progress = 'yes'"):
        us.assess(tables["train"], tables["synthetic"], progress="yes")


def test_the_bar_ends_with_an_error(capsys):
    with pytest.raises(us.UnderstudyError, match="no rows"):
        us.benchmark(people(50, 1).head(0), methods=["bootstrap"], progress=True)
    capsys.readouterr()


def test_schema_and_keys(tables, tmp_path):
    schema = us.schema(tables["train"])
    assert schema["person_id"].kind == "identifier"
    path = tmp_path / "people.csv"
    tables["train"].write_csv(path)
    assert us.schema(path).names == schema.names
    assert us.schema(us.Table.of(tables["train"])) == schema
    written = tmp_path / "people.toml"
    written.write_text(dumps(schema.replace("age", kind="number")))
    assert us.schema(written)["age"].source("kind") == "declared"
    found = us.keys(tables["train"])
    assert set(found.keys) < set(schema.modelled)
    assert {column.name for column in found.columns} <= set(schema.modelled)


def test_a_policy_is_read_and_applied(result, tmp_path):
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    policy = us.Policy.read(path)
    assert policy == us.Policy.loads(POLICY)
    judged = policy.apply(result)
    assert [verdict["outcome"] for verdict in judged.verdicts] == ["PASS"]
    assert result.verdicts == ()
    with pytest.raises(us.UnderstudyError, match=r"there is no measure 'privacy.x'"):
        us.Policy.loads(POLICY.replace("closest_record", "x"))


def test_columns_that_are_left_out_are_said(tables):
    given = {"measures": ["fidelity.moments"]}
    with pytest.warns(us.LeftOutWarning, match=r"'person_id' \(identifier\)") as caught:
        result = us.assess(tables["train"], tables["synthetic"], **given)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert any("'person_id' (identifier: " in note for note in result.notes)
    with pytest.warns(us.LeftOutWarning) as caught:
        us.compare(tables["train"], {"a": tables["synthetic"]}, curve=False, **given)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schema = us.schema(tables["train"])
        us.assess(tables["train"], tables["synthetic"], schema=schema, **given)
        us.assess(us.Table.of(tables["train"]), tables["synthetic"], **given)
        us.assess(tables["train"].drop("person_id"), tables["synthetic"].drop("person_id"), **given)


def test_columns_that_a_fit_leaves_out_are_said(tables):
    train = tables["train"]
    rng = np.random.default_rng(1)
    words = [" ".join(rng.choice(["so", "it", "goes"], 9)) for _ in range(train.height)]
    free = train.with_columns(said=pl.Series(words))
    with pytest.warns(us.LeftOutWarning, match=r"left out are 'said' \(text\)") as caught:
        us.synthesizer("bootstrap").fit(free)
    assert [one.filename for one in caught] == [__file__]
    with pytest.warns(us.LeftOutWarning, match=r"'person_id' \(identifier\)") as caught:
        us.replace(train, ["age"], method="bootstrap")
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        us.synthesizer("bootstrap").fit(train, schema=us.schema(train))
        us.synthesizer("bootstrap").fit(us.Table.of(train)).sample(3)


def test_columns_that_keys_and_release_leave_out_are_said(tables, tmp_path):
    train = tables["train"]
    with pytest.warns(us.LeftOutWarning, match=r"'person_id' \(identifier\)") as caught:
        us.keys(train)
    assert [one.filename for one in caught] == [__file__]
    asked = {"method": "bootstrap", "measures": ["fidelity.moments"], "seed": 1}
    with pytest.warns(us.LeftOutWarning, match=r"'person_id' \(identifier\)") as caught:
        us.release(train, us.Policy.loads(POLICY), tmp_path / "out", **asked)
    assert [one.filename for one in caught if one.category is us.LeftOutWarning] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        us.keys(train, schema=us.schema(train))
        us.keys(us.Table.of(train))


def test_a_fitted_model_is_pickled_without_its_listeners(tables):
    train, heard = tables["train"].drop("person_id"), []
    made = us.synthesizer("bootstrap", seed=1, progress=lambda *told: heard.append(told)).fit(train)
    again = pickle.loads(pickle.dumps(made))
    heard.clear()
    assert again.sample(5).equals(us.synthesizer("bootstrap", seed=1).fit(train).sample(5))
    assert not heard


@pytest.mark.parametrize("name", ["MEASURES", "SYNTHESIZERS", "schema"])
def test_a_name_that_is_not_there_is_a_key_error_with_a_hint(tables, name):
    known = us.schema(tables["train"]) if name == "schema" else getattr(us, name)
    with pytest.raises(KeyError) as caught:
        known["zz"]
    assert isinstance(caught.value, us.UnderstudyError)
    assert "there is no " in str(caught.value)
    assert "hint: there are: " in str(caught.value)


def test_public_functions_have_the_names_they_are_called_by():
    functions = {n: getattr(us, n) for n in us.__all__ if inspect.isfunction(getattr(us, n))}
    assert {"keys", "schema", "assess"} <= set(functions)
    assert {n: f.__name__ for n, f in functions.items()} == {n: n for n in functions}


def test_a_codec_is_fitted_to_a_table(tables):
    table = us.Table.of(tables["train"])
    assert us.Codec.fit(table, bins=5) == us.Codec.fit(source_of(table), bins=5)


def test_a_bar_shows_how_far_a_fit_and_a_sample_are(tables, capsys):
    train = tables["train"].drop("person_id")
    made = us.synthesizer("cart", progress=True).fit(train)
    assert "modelling columns" in capsys.readouterr().err
    assert made.sample(5).height == 5
    assert "sampling" in capsys.readouterr().err
    us.replace(train, ["age"], method="cart", progress=True)
    assert "modelling columns" in capsys.readouterr().err
    with pytest.raises(us.UnderstudyError, match="progress = 3"):
        us.synthesizer("cart", progress=3).fit(train)
