"""Model files that somebody has changed: rows, or one message with a hint; no crash, no hang."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import forged
import understudy as us
from understudy.errors import DataError
from understudy.synthesizers.model_file import Damaged, State

QUICK = ("bootstrap", "random_forest", "boost", "forest", "smooth", "bayes", "held")


@pytest.fixture(scope="module")
def forest(tmp_path_factory) -> Path:
    return forged.save("forest", tmp_path_factory.mktemp("forest"), 60)


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        us.load(path).sample(5)
    assert caught.value.hint
    return caught.value.message


@pytest.mark.slow
def test_forged_files_give_rows_or_a_message(tmp_path):
    paths = []
    for seed, name in enumerate(QUICK):
        (tmp_path / name).mkdir()
        model = forged.save(name, tmp_path, 60)
        paths += [model, *forged.forgeries(model, tmp_path / name, 8, seed)]
    assert forged.faults(paths) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", forged.MODELS)
def test_many_forged_files_give_rows_or_a_message(name, tmp_path):
    model = forged.save(name, tmp_path, 1_500)
    (tmp_path / "forged").mkdir()
    paths = list(forged.forgeries(model, tmp_path / "forged", 40, sum(name.encode())))
    assert forged.outcomes([model]) == {str(model): "rows"}
    assert forged.faults(paths) == []


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.array([1, 2, 9]), "has values out of range"),
        (np.array([1, -1, 2]), "has values out of range"),
        (np.array([1, 2]), "has the shape (2,)"),
        (np.array([[1, 2, 3]]), "has the shape (1, 3)"),
        (np.array([1, 2, 3], np.int32), "is of the type int32"),
        (np.array([1, 2, 3], ">i8"), "is of the type >i8"),
        (np.array([1.0, 2, 3]), "is of the type float64"),
        (np.array([2, 1, 3]), "does not rise"),
    ],
)
def test_an_array_is_what_it_must_be(array, said):
    with pytest.raises(Damaged) as caught:
        State(arrays={"x": array}).array("x", np.int64, (3,), 0, 8, step=0)
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_are_finite_unless_it_is_said(value):
    state = State(arrays={"x": np.array([0.0, value])})
    with pytest.raises(Damaged, match="out of range"):
        state.array("x", float, (None,))
    taken = {"nan": True} if np.isnan(value) else {"low": -np.inf, "high": np.inf}
    assert len(state.array("x", float, (2,), **taken)) == 2
    with pytest.raises(Damaged, match="the array y is missing"):
        state.array("y", float, (2,))


def test_a_changed_array_is_named(forest, tmp_path):
    content = forged.members(forest)
    name = next(name for name in content if name.endswith("_left.npy"))
    array = np.load(io.BytesIO(content[name]))
    content[name] = forged.array_bytes(np.full_like(array, 10**6))
    short = name.removeprefix("arrays/").removesuffix(".npy")
    message = refused(forged.write(tmp_path / "m", content))
    assert (
        f"is damaged or of another version (the array {short} has values out of range)" in message
    )


def test_what_unpacks_to_too_much_is_not_unpacked(forest, tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.data.tables.files.LARGE", 10**6)
    content = forged.members(forest)
    path = forged.write(tmp_path / "m", {**content, "arrays/more.npy": bytes(50 * 10**6)})
    assert path.stat().st_size < 10**6
    assert "over 200 times as many" in refused(path)
    us.load(forest).save(tmp_path / "again")
    assert us.load(tmp_path / "again").sample(3).height == 3


def test_a_member_that_is_larger_than_it_says_is_not_unpacked(forest, tmp_path):
    content = forged.members(forest)
    path = forged.write(tmp_path / "m", {**content, "arrays/more.npy": bytes(10**6)})
    raw = path.read_bytes()
    told = (10**6).to_bytes(4, "little")
    assert raw.count(told) == 2  # before the member, and in the list at the end
    path.write_bytes(raw.replace(told, (10**3).to_bytes(4, "little")))
    assert "not a whole model file" in refused(path)


def test_arrays_and_frames_that_tell_of_more_than_there_is(forest, tmp_path):
    content = forged.members(forest)
    name = next(name for name in content if name.endswith("_left.npy"))
    for shape in (b"(99999999999,), }", b"(9999999999, 9), }"):
        head, rest = content[name].split(b"(", 1)
        told = head + shape + b" " * (rest.index(b"\n") - len(shape) + 1)
        changed = told + rest[rest.index(b"\n") :]
        path = forged.write(tmp_path / "m", {**content, name: changed})
        assert "an array has another size than it tells" in refused(path)
    for frame, compression in (
        (pl.DataFrame({"x": np.zeros(10**6)}), "zstd"),
        (pl.DataFrame({"x": [None] * 10**7}), "uncompressed"),
    ):
        packed = io.BytesIO()
        frame.write_ipc(packed, compression=compression)
        path = forged.write(tmp_path / "m", {**content, "frames/rows.arrow": packed.getvalue()})
        assert "a frame is packed, or tells of more rows" in refused(path)


def test_two_members_of_one_name_and_other_ways_of_packing(forest, tmp_path):
    content = forged.members(forest)
    name = next(name for name in content if name != "model.json")
    path = forged.write(tmp_path / "m", content)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr(name, content[name])
    assert "two members of one name" in refused(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_BZIP2) as archive:
        for member, data in content.items():
            archive.writestr(member, data)
    assert "packed in an unknown way" in refused(tmp_path / "m")


@pytest.mark.parametrize(
    "head",
    [
        {"rows": 10**21},
        {"rows": -1},
        {"rows": 1 << 33},
        {"rows": True},
        {"options": {"trees": 10**6}},
        {"options": {"trees": "x"}},
        {"options": {"penalty": float("nan")}},
        {"seed": 10**50},
        {"spending": [{"what": "x"}]},
        {"held": {"together": [{"names": ["age"], "merged": None}]}},
        {"held": {"unique": [{"name": "age", "stored": "text", "form": ["", "x"]}]}},
        {"schema": "[[column]]\nname = 'age'\nkind = 'number'"},
    ],
)
def test_heads_that_cannot_be(forest, head, tmp_path):
    refused(forged.with_head(forest, tmp_path / "m", **head))


def test_a_seed_of_128_bits_comes_back(tmp_path):
    made = us.synthesizer("bootstrap", seed=2**128 - 1).fit(forged.table(30))
    made.save(tmp_path / "m")
    assert us.load(tmp_path / "m").sample(5).equals(made.sample(5))


def test_a_head_that_is_too_deep(forest, tmp_path):
    content = forged.members(forest)
    document = json.loads(content["model.json"])
    deep = json.dumps({**document, "values": "HERE"}).replace('"HERE"', "[" * 5000 + "]" * 5000)
    path = forged.write(tmp_path / "m", {**content, "model.json": deep.encode()})
    assert "nested more than" in refused(path)
