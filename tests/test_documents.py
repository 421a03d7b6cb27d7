"""Documents from outside: bounded, finite, and never waited for."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.documents import loads_json, loads_toml, read_json, read_text
from understudy.errors import DataError

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=3), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_what_json_can_say_comes_back(value: object) -> None:
    assert loads_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested"),
        ("[" * 150 + "]" * 150, "nested"),
        ("1" * 5000, "digits"),
        ("1" * 40, "digits"),
        ('{"a": NaN}', "not finite"),
        ("[-Infinity]", "not finite"),
        ("1e999", "not finite"),
        ('"\\ud800"', "surrogates"),
        ('{"\\ud800": 1}', "surrogates"),
        ("{", "line 1"),
        ("", "line 1"),
        (b'"\xff"', "decode"),
    ],
)
def test_what_json_must_not_say_is_a_value_error(text: str | bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loads_json(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 100_000 + "]" * 100_000, "nested"),
        ("a = " + "1" * 5000, "digits"),
        ("a = " + "1" * 40, "digits"),
        ("a = nan", "not finite"),
        ("a = -inf", "not finite"),
        (".".join("a" * 150) + " = 1", "nested"),
        ("a = ", "end of document"),
    ],
)
def test_what_toml_must_not_say_is_a_value_error(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        loads_toml(text)


def test_files_that_are_none_are_told_apart(tmp_path: Path) -> None:
    pipe, loop, far, words = (tmp_path / name for name in ("pipe", "loop", "far", "words"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    words.write_bytes(b"\xff\xfe\xfa")
    large = tmp_path / "large"
    large.write_text("[1, 2]")
    for path, said in (
        (pipe, "no ordinary file"),
        (loop, "cannot be read"),
        (far, "no such ledger"),
        (tmp_path, "cannot be read|no ordinary file"),
        (words, "not UTF-8"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            read_json(path, "ledger", "give a ledger")
        assert caught.value.hint
    with pytest.raises(DataError, match="6 bytes are too many for a ledger"):
        read_text(large, "ledger", "give a ledger", largest=5)
    large.write_text("[1, ")
    with pytest.raises(DataError, match="not a whole ledger"):
        read_json(large, "ledger", "give a ledger")
