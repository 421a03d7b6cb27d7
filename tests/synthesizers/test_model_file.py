"""Model files that are not what they should be: one clear error, never a traceback."""

import json
import re
import zipfile
from pathlib import Path

import pytest

import understudy as us
from people import people
from understudy.errors import UnderstudyError
from understudy.synthesizers import SYNTHESIZERS, Synthesizer, native

REAL = people(120, 1)


@pytest.fixture(scope="module", params=native())
def model(request, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("models") / f"{request.param}.model"
    us.synthesizer(request.param).fit(REAL).save(path)
    return path


def refused(path: Path) -> str:
    with pytest.raises(UnderstudyError) as caught:
        us.load(path).sample(5)
    assert str(path) in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return str(caught.value)


def changed(model: Path, path: Path, *, drop: str = "", **head) -> Path:
    """Write the model again without some members, with another head."""
    with zipfile.ZipFile(model) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json" and head:
                document = {**json.loads(content), **head}
                document = {k: v for k, v in document.items() if v is not None}
                content = json.dumps(document).encode()
            if not (drop and re.search(drop, name)):
                new.writestr(name, content)
    return path


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated(model, share, tmp_path):
    whole = model.read_bytes()
    (tmp_path / "m").write_bytes(whole[: int(len(whole) * share)])
    assert "not a whole model file" in refused(tmp_path / "m")


def test_flipped_bytes(model, tmp_path):
    whole = bytearray(model.read_bytes())
    for place in range(200, len(whole) - 200, max(1, len(whole) // 7)):
        broken = bytearray(whole)
        broken[place : place + 20] = bytes(20 * [0x5A])
        (tmp_path / "m").write_bytes(bytes(broken))
        refused(tmp_path / "m")


def test_another_version(model, tmp_path):
    message = refused(changed(model, tmp_path / "m", understudy_model=99))
    assert "a model file of version 99" in message
    assert "reads version 1" in message


@pytest.mark.parametrize("key", ["method", "options", "seed", "rows", "schema", "values"])
def test_a_head_without_its_parts(model, key, tmp_path):
    assert f"model.json.{key} " in refused(changed(model, tmp_path / "m", **{key: None}))
    wrong = refused(changed(model, tmp_path / "m", **{key: [1.5]}))
    assert f"model.json.{key} has the wrong form" in wrong


def test_members_that_are_gone(model, tmp_path):
    assert "not a whole model" in refused(changed(model, tmp_path / "m", drop="model.json"))
    with zipfile.ZipFile(model) as archive:
        others = [n for n in archive.namelist() if n != "model.json"]
    for name in others[:3]:
        message = refused(changed(model, tmp_path / "m", drop=f"^{re.escape(name)}$"))
        assert "is damaged or of another version" in message
        assert f"written by understudy {us.__version__}" in message


def test_a_method_or_an_option_of_another_version(model, tmp_path):
    assert "'magic' is not known here" in refused(changed(model, tmp_path / "m", method="magic"))
    refused(changed(model, tmp_path / "m", options={"nonsense": 1}))
    refused(changed(model, tmp_path / "m", schema="version = 1"))


def test_other_files(tmp_path):
    path = tmp_path / "m"
    for content in (b"", b"a,b\n1,2\n", b"PK\x03\x04"):
        path.write_bytes(content)
        assert "not a whole model file" in refused(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "hello")
    assert "not a whole model file" in refused(path)
    for content in ("{}", "[]", "no json", '{"understudy": 1}'):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model.json", content)
        assert "not a whole model file" in refused(path)
    assert "no such model file" in refused(tmp_path / "none")
    assert "no such model file" in refused(tmp_path)


def test_a_method_may_keep_rare_levels_and_extremes_out_of_its_file(tmp_path):
    class Careful(SYNTHESIZERS["independent"]):
        def emitted(self, schema):
            return schema.replace("town", levels=("town 29",)).replace("age", bounds=(20.0, 80.0))

    made = Synthesizer(Careful()).fit(REAL)
    made.save(tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m") as archive:
        text = json.loads(archive.read("model.json"))["schema"]
    assert "town 29" in text
    assert "town 28" not in text
    with pytest.raises(UnderstudyError, match="'town' is never 'town 28'"):
        made.sample(1, given={"town": "town 28"})
    with pytest.raises(UnderstudyError, match="that far out"):
        us.load(tmp_path / "m").sample(1, given={"age": 81})
