"""The study of Platzer & Reutterer: exact on their files, and on any others of that form."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import process
from understudy.errors import DataError, OptionError
from understudy.studies import study
from understudy.studies.platzer2021 import run, show
from understudy.studies.platzer2021.study import (
    differing,
    expected,
    find_files,
    published_figures,
)
from understudy.studies.platzer2021.tables import (
    Columns,
    Lumped,
    cut,
    is_numeric,
    pooled_breaks,
    to_numbers,
    training_breaks,
)

COUNTS = ["n_closer", "n_further", "n_equal"]
FIGURES = ["f1", "f2", "f3", "share", *COUNTS, "distance_training", "distance_holdout"]
KEYS = ["dataset", "generator", *FIGURES]


def check(pairs):
    for pair in pairs:
        assert list(pair) == KEYS
        assert len(published_figures(pair)) == 6
        assert differing(pair) == [], (pair["dataset"], pair["generator"])


def linked(tmp_path, real_data, names):
    for name in names:
        path = real_data(name)
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.mark.parametrize(
    ("dataset", "generators"), [("adult", ("synthpop", "gretel")), ("bank-marketing", ("gretel",))]
)
def test_a_few_published_figures_and_counts(tmp_path, real_data, dataset, generators):
    files = [f"{dataset}_{role}" for role in ("trn", "val", *generators)]
    pairs = run(linked(tmp_path, real_data, files))["pairs"]
    assert [pair["generator"] for pair in pairs] == [*sorted(generators), "val"]
    check(pairs)


@pytest.mark.slow
def test_all_published_figures_and_counts(real_data):
    seen = []
    folder = real_data("adult_trn").parent
    result = run(folder, ("adult", "bank-marketing"), progress=lambda *step: seen.append(step))
    check(result["pairs"])
    assert len(result["pairs"]) == 34
    assert {tuple(p.values())[:2] for p in result["pairs"]} == {
        (d, g) for d in ("adult", "bank-marketing") for g in expected()["figures"][d]
    }
    assert seen[-1][1:] == (34, 34)


def test_counts_named_in_the_brief_are_expected():
    counts = expected()["counts"]
    assert counts["adult"]["synthpop"] == [14550, 6515, 28935]
    assert counts["adult"]["mostly"] == [9239, 8608, 32153]
    assert counts["adult"]["flip10"] == [44636, 350, 5014]
    assert counts["bank-marketing"]["synthpop"] == [16572, 7014, 26414]


# Binning against pandas.

some = st.one_of(
    st.none(),
    st.integers(-5, 5).map(float),
    st.integers(-30, 30).map(lambda n: n / 10),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    st.booleans().map(float),
)


def array(values):
    return np.array([np.nan if v is None else v for v in values], float)


def numbers(values):
    return Columns(len(values), {"x": values}, {})


@given(st.lists(some, min_size=1, max_size=130), st.lists(some, max_size=60), st.integers(1, 100))
def test_bins_from_training_are_those_of_pandas(training, others, most):
    pd = pytest.importorskip("pandas")
    training, others = array(training), array(others)
    wanted = pd.Series(training).quantile(np.linspace(0, 1, most + 1)).dropna().unique()
    breaks = training_breaks(training, most)
    assert breaks.tolist() == wanted.tolist()
    if len(breaks) > 1:
        for values in (training, others):
            codes = pd.cut(pd.Series(values), bins=wanted, include_lowest=True).cat.codes
            assert cut(values, breaks).tolist() == (codes + 1).tolist()


@given(st.lists(some, min_size=1, max_size=130), st.integers(2, 100))
def test_pooled_bins_are_those_of_pandas(values, most):
    pd = pytest.importorskip("pandas")
    values = array([*values, 0.0])
    codes = pd.qcut(pd.Series(values), q=most, duplicates="drop").cat.codes
    assert cut(values, pooled_breaks(values, most)).tolist() == (codes + 1).tolist()


@given(st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f", None]), min_size=1, max_size=40))
def test_levels_kept_are_those_of_pandas(values):
    pd = pytest.importorskip("pandas")
    texts = pl.Series(values, dtype=pl.String)
    top = pd.Series(["nan" if v is None else v for v in values]).value_counts().head(3)
    kept = Lumped.learn(Columns(len(texts), {}, {"c": texts}), 3).codec["c"]
    assert list(kept.levels) == top.index.tolist()


def test_missing_competes_with_the_bins():
    training = np.array([1.0, 2.0, 3.0, 4.0, np.nan])
    lumped = Lumped.learn(numbers(training), 4)
    assert lumped.sizes.tolist() == [5]
    assert lumped.codes(numbers(training))[:, 0].tolist() == [0, 1, 2, 3, 4]
    fewer = Lumped.learn(numbers(training), 2)
    others = numbers(np.array([1.0, 3.5, np.nan, 9.0, -1.0]))
    assert fewer.codes(others)[:, 0].tolist() == [0, 1, 2, 2, 2]


def test_a_column_without_bins():
    empty = Lumped.learn(numbers(np.full(3, np.nan)), 5)
    assert empty.codes(numbers(np.array([1.0, np.nan])))[:, 0].tolist() == [0, 0]
    constant = Lumped.learn(numbers(np.full(3, 7.0)), 5)
    assert constant.codes(numbers(np.array([7.0, 8.0, np.nan])))[:, 0].tolist() == [0, 1, 0]
    assert pooled_breaks(np.full(3, np.nan), 5).size == 0


def test_infinities_do_not_stop_the_study():
    values = np.array([1.0, 2.0, np.inf, -np.inf, np.inf])
    assert set(cut(values, pooled_breaks(values, 100))) <= set(range(101))


# Reading against pandas.

CELLS = [
    "1", "-2", "+3", "1.5", ".5", "5.", "1e5", "1E-3", "007", "13.9.58", "inf", "-INF",
    "Infinity", "True", "true", "FALSE", "x", "1_0", "0x10", "1e", ".", "-", "--", "1-2", "NA",
    "n/a", "null", "#NA", "-1.#IND", "1e400", "0.30000000000000004", "99999999999999999999",
    "", " 7", "8 ",
]  # fmt: skip


def cells(text):
    """A column as the file holds it, read by the package and by pandas."""
    pd = pytest.importorskip("pandas")
    frame = pd.read_csv(io.StringIO("id,a\n" + "".join(f"0,{cell}\n" for cell in text)))
    return frame["a"], pd


def nulls(text):
    missing = {"NA", "n/a", "null", "#NA", "-1.#IND", ""}
    return pl.Series([None if cell in missing else cell for cell in text], dtype=pl.String)


@given(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4))
def test_kinds_and_numbers_are_those_of_pandas(text):
    assume(not {"99999999999999999999", "1_0"} <= set(text))  # pandas 3: then all by Python's int
    series, pd = cells(text)
    assert is_numeric(nulls(text)) == pd.api.types.is_numeric_dtype(series)
    wanted = pd.to_numeric(series, errors="coerce").astype(float).to_numpy()
    np.testing.assert_array_equal(to_numbers(nulls(text), 2), wanted)


def test_booleans_count_only_in_blocks_without_other_words():
    pd = pytest.importorskip("pandas")
    width, rows = 1000, 1100
    column = ["True", "False"] * (rows // 2)
    column[5] = "Flase"
    text = ",".join(["a", *(f"c{i}" for i in range(1, width))]) + "\n"
    text += "".join(cell + ",0" * (width - 1) + "\n" for cell in column)
    with pytest.warns(pd.errors.DtypeWarning):
        series = pd.read_csv(io.StringIO(text))["a"]
    wanted = pd.to_numeric(series, errors="coerce").astype(float).to_numpy()
    assert np.isnan(wanted[:1024]).all()
    np.testing.assert_array_equal(to_numbers(pl.Series(column), width), wanted)


# Made-up folders against the authors' procedure in pandas.


def made_up(folder: Path, seed: int, rows: int = 60) -> None:
    """Write files with all that can go wrong in them."""
    rng = np.random.default_rng(seed)

    def column(kind, n, role):
        number = rng.normal(0, 50, n)
        if kind == "whole":
            return [f"{x:.0f}" if role != "b" else f"{x:.1f}" for x in number]
        if kind == "money":
            odd = role in "ab"
            return [
                "13.9.58" if odd and u < 0.05 else "" if u < 0.1 else f"{x:.2f}"
                for x, u in zip(number, rng.random(n), strict=True)
            ]
        if kind == "flag":
            return rng.choice(["True", "False"], n)
        if kind == "flag with gaps":
            return rng.choice(["True", "False", ""], n)
        if kind == "code":
            levels = ["1", "2", "3", "A"] if role == "trn" else ["1", "2"]
            return rng.choice(levels, n)
        if kind == "constant":
            return ["7"] * n if role != "a" else rng.choice(["7", "8", ""], n)
        if kind == "empty":
            return [""] * n
        return rng.choice([f"level {i}" for i in range(14)] + ["", "NA"], n)

    kinds = ("whole", "money", "flag", "flag with gaps", "code", "constant", "empty", "many")
    for role, n in (("trn", rows), ("val", rows - 7), ("a", rows + 20), ("b", 2)):
        columns = {kind: column(kind, n, role) for kind in kinds}
        names = list(reversed(kinds)) if role == "a" else kinds
        lines = [",".join(names), *(",".join(columns[k][i] for k in names) for i in range(n))]
        (folder / f"made_{role}.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_made_up_files_equal_the_procedure_in_pandas(tmp_path, seed):
    pytest.importorskip("pandas")
    import authors

    made_up(tmp_path, seed)
    pairs = {pair["generator"]: pair for pair in run(tmp_path)["pairs"]}
    assert list(pairs) == ["a", "b", "val"]
    for generator, pair in pairs.items():
        training, holdout, queries = authors.read(tmp_path, "made", generator)
        wanted = authors.fidelity(training, queries)
        wanted |= authors.closest(training, holdout, queries, generator == "val")
        assert {key: pair[key] for key in FIGURES} == pytest.approx(wanted, abs=1e-12), generator


def test_names_that_begin_alike(tmp_path):
    for stem in ("a_trn", "a_val", "a_b_trn", "a_b_val", "a_b_x", "a_c", "a_flip10"):
        (tmp_path / f"{stem}.csv").write_text("x\n1\n2\n")
    (tmp_path / "notes.txt").write_text("no table")
    found = {files.name: list(files.generators) for files in find_files(tmp_path)}
    assert found == {"a": ["c", "flip10"], "a_b": ["x"]}


# The command line.


def understudy(*arguments, **more):
    return process.understudy("study", *arguments, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    made_up(folder, 1)
    for label in ("c", "d"):
        (folder / f"made_{label}.csv").write_text((folder / "made_a.csv").read_text())
    return folder


def test_json_is_all_there_is(folder):
    done = understudy("platzer2021", "--data", folder, "--datasets", "made", "--json", "-")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert list(data) == ["pairs"]
    assert [list(pair) for pair in data["pairs"]] == [KEYS] * 5
    assert [pair["generator"] for pair in data["pairs"]] == ["a", "b", "c", "d", "val"]


def test_quick_says_so(folder):
    done = understudy("platzer2021", "--data", folder, "--quick")
    assert done.returncode == 0, done.stderr
    assert "quick: 3 of 4 generators" in done.stdout
    assert "no published figures" in done.stdout
    quiet = understudy("platzer2021", "--data", folder, "--quick", "--quiet", "--json", "-")
    assert quiet.stderr == ""
    assert len(json.loads(quiet.stdout)["pairs"]) == 4


def test_the_table_marks_what_differs():
    figures = expected()["figures"]["adult"]["val"]
    counts = dict(zip(COUNTS, expected()["counts"]["adult"]["val"], strict=True))
    pair = {"dataset": "adult", "generator": "val", **counts}
    pair |= {k: float(v) / (1 if k.startswith("distance") else 100) for k, v in figures.items()}
    right, wrong = io.StringIO(), io.StringIO()
    show({"pairs": [pair]}, right)
    assert "6 of 6 printed figures agree" in right.getvalue()
    assert "3 of 3 counts agree" in right.getvalue()
    assert "≠" not in right.getvalue()
    show({"pairs": [pair | {"f2": 0.0171, "n_equal": 1}]}, wrong)
    assert "1.7 ≠" in wrong.getvalue()
    assert "5 of 6 printed figures agree" in wrong.getvalue()
    assert "differs: adult, val: n_equal" in wrong.getvalue()


BAD = {
    "no folder": ({}, "there is no folder"),
    "no files": ({"other.csv": "x\n1\n"}, "no files named NAME_trn.csv"),
    "no training": ({"a_val.csv": "x\n1\n", "a_g.csv": "x\n1\n"}, "no file a_trn.csv"),
    "no holdout": ({"a_trn.csv": "x\n1\n", "a_g.csv": "x\n1\n"}, "no file a_val.csv"),
    "column missing": ({"a_trn.csv": "x,y\n1,2\n", "a_val.csv": "x\n1\n"}, "no column 'y'"),
    "column added": ({"a_trn.csv": "x\n1\n", "a_val.csv": "x,y\n1,2\n"}, "no column 'y'"),
    "no rows": ({"a_trn.csv": "x\n", "a_val.csv": "x\n1\n"}, "no rows"),
    "one row": ({"a_trn.csv": "x\n1\n", "a_val.csv": "x\n1\n"}, "only one row"),
    "twice": ({"a_trn.csv": "x\n1\n", "a_trn.csv.gz": "x\n1\n"}, "both a_trn.csv and"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folders(tmp_path, case):
    files, message = BAD[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        run(tmp_path if files else tmp_path / "nowhere")
    assert caught.value.hint


@pytest.mark.parametrize("arguments", [("--datasets", "mad"), ("--data", "nowhere")])
def test_bad_input_is_status_2_and_two_lines(folder, arguments):
    done = understudy("platzer2021", "--data", folder, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, second = done.stderr.strip().splitlines()
    assert first.startswith("understudy: ")
    assert second.startswith("hint: ")


def test_unknown_study_and_no_data(tmp_path, monkeypatch):
    with pytest.raises(OptionError, match="no study 'platzer'"):
        study("platzer")
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match="there is no folder") as caught:
        run()
    assert "--data" in caught.value.hint
