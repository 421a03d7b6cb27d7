"""Fingerprints: the same thing has the same one in any process, and no other thing has it."""

import datetime as dt
import decimal
import enum
import functools
import importlib
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from understudy.errors import OptionError
from understudy.jobs.fingerprint import fingerprint

RATE = 0.5
SHARES = np.array([0.1, 0.9])


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclass
class Model:
    weights: np.ndarray

    @functools.cached_property
    def total(self):
        return self.weights.sum()

    def fit(self, table, seed):
        return self.weights


def factory(share, *, many=1):
    def fit(table, seed, extra=many):
        return [share * row for row in table]

    return fit


def helper(n):
    return n * RATE


def uses_a_helper(table, seed):
    return helper(len(table))


def uses_an_array(table, seed):
    return SHARES


def calls_itself(n):
    return n and calls_itself(n - 1)


def keywords(table, *, seed=1):
    return seed


def array(last=0.0, size=5000):
    made = np.zeros(size)
    made[size // 2] = last  # in the middle, which no repr shows
    return made


def holding(value):
    return lambda table, seed: value


two, three = [lambda table, power=n: table**power for n in (2, 3)]

DIFFERENT = {
    "numbers": (1, 1.0, True, "1", b"1", None, 1j, np.int64(1), np.float32(1)),
    "sequences": ([1, 2], (1, 2), [2, 1], [[1], 2], [1, [2]], {1, 2}, frozenset({1, 2})),
    "nested texts": (["ab", "c"], ["a", "bc"], ["abc"]),
    "dicts": ({"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 1}, [("a", 1)]),
    "arrays": (array(), array(1.0), array(size=5001), array().astype(np.float32),
               array().reshape(50, 100), array().tolist(), array().astype(object)),
    "frames": (
        pl.DataFrame({"a": array()}), pl.DataFrame({"a": array(1.0)}),
        pl.DataFrame({"b": array()}), pl.DataFrame({"a": array()[:-1]}),
        pl.DataFrame({"a": array().astype(np.float32)}), pl.Series("a", array()).to_list(),
    ),
    "categories": (
        pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])), pl.Series(["a", "b"]),
        pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"])), pl.Series(["b", "a"]),
    ),
    "values": (
        dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), decimal.Decimal("1.0"),
        decimal.Decimal("1.00"), Path("a"), Path("b"), re.compile("a"), re.compile("a", re.I),
        Colour.RED, Colour.BLUE, range(3), range(4),
        ..., np.random.default_rng(1), np.random.default_rng(2), random.Random(1),
    ),
    "closures": tuple(map(factory, (1, 2, "1", array(), array(1.0), {"a": 1}, {"a": 2}))),
    "defaults": (factory(1), factory(1, many=2), two, three),
    "partials": (
        functools.partial(factory(1), seed=1), functools.partial(factory(1), seed=2),
        functools.partial(factory(2), seed=1), functools.partial(factory(1), array()),
        functools.partial(factory(1), array(1.0)),
    ),
    "methods": (Model(array()).fit, Model(array(1.0)).fit, Model.fit, Model(array())),
    "lambdas of one line": ((lambda t: t + 1), (lambda t: t + 2), (lambda t: t - 1)),
    "names": ((lambda t: t.head), (lambda t: t.tail), (lambda t: t.tail()), (lambda u: u.tail)),
    "holders": (holding(factory(1)), holding(factory(2)), holding([factory(1)])),
    "classes": (Model, Colour, int, str),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_things_differ(name):
    made = [fingerprint(value) for value in DIFFERENT[name]]
    assert len(set(made)) == len(made)
    assert [fingerprint(value) for value in DIFFERENT[name]] == made


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (factory(1.5, many=2), factory(1.5, many=2)),
        (Model(array(2.0)), Model(array(2.0))),
        ({"b", "a", "c", "d"}, {"d", "c", "b", "a"}),
        (array()[::2], array(size=2500)),
        (np.asfortranarray(np.eye(3)), np.eye(3)),
        (["ab" * 2, "abab"], ["abab", "abab"]),
        (pl.concat([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [2]})], rechunk=False),
         pl.DataFrame({"a": [1, 2]})),
    ],
)  # fmt: skip
def test_equal_things_do_not(one, other):
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32])
def test_the_sign_of_a_zero_in_a_frame_counts(kind):
    def made(zero):
        return pl.DataFrame({"a": pl.Series([zero, 1.0, None, zero], dtype=kind), "b": range(4)})

    assert fingerprint(made(0.0)) != fingerprint(made(-0.0))
    assert fingerprint(made(-0.0)) == fingerprint(made(-0.0))


def test_what_was_computed_from_the_rest_is_no_difference():
    used, fresh = Model(array()), Model(array())
    assert used.total == 0
    assert fingerprint(used) == fingerprint(fresh)


def test_functions_and_values_of_the_module_that_are_used_count(monkeypatch):
    before = fingerprint(uses_a_helper), fingerprint(uses_an_array)
    monkeypatch.setattr(sys.modules[__name__], "RATE", 0.25)
    monkeypatch.setattr(sys.modules[__name__], "SHARES", np.array([0.2, 0.8]))
    after = fingerprint(uses_a_helper), fingerprint(uses_an_array)
    assert before[0] != after[0]
    assert before[1] != after[1]
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda n: n)
    assert fingerprint(uses_a_helper) not in (before[0], after[0])


def test_keyword_defaults_attributes_and_code_within_code_count(monkeypatch):
    before = fingerprint(keywords)
    monkeypatch.setattr(keywords, "__kwdefaults__", {"seed": 2})
    assert fingerprint(keywords) != before
    monkeypatch.undo()
    monkeypatch.setattr(keywords, "model", array(), raising=False)
    assert fingerprint(keywords) != before
    monkeypatch.undo()
    assert fingerprint(keywords) == before
    inner = [
        fingerprint(lambda t: lambda: t + 1),
        fingerprint(lambda t: lambda: t + 2),
    ]
    assert inner[0] != inner[1]


def test_what_holds_itself_is_read_once():
    loop = [1]
    loop.append(loop)
    other = [2]
    other.append(other)
    assert fingerprint(loop) != fingerprint(other)
    assert fingerprint(calls_itself) == fingerprint(calls_itself)
    wide = []
    for _ in range(60):  # each holds the one before twice: 2^60 ways lead to the first
        wide = [wide, wide]
    assert fingerprint(wide) == fingerprint(wide)


def test_models_of_other_libraries_count_by_what_they_learnt():
    linear = pytest.importorskip("sklearn.linear_model")
    forests = pytest.importorskip("sklearn.ensemble")
    rows = np.random.default_rng(1).normal(size=(60, 2))
    for make in (linear.LinearRegression, lambda: forests.RandomForestRegressor(3, random_state=1)):
        one, same, other = (
            make().fit(rows, target) for target in (rows[:, 0], rows[:, 0], rows[:, 1])
        )
        assert fingerprint(one) == fingerprint(same) != fingerprint(other)
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"a": [1, n], "b": ["x", "y"]}) for n in (2, 2, 3)]
    assert fingerprint(frames[0]) == fingerprint(frames[1]) != fingerprint(frames[2])


def deep():
    made = []
    for _ in range(100_000):
        made = [made]
    return made


@pytest.mark.parametrize(
    "value",
    [threading.Lock(), (n for n in "ab"), memoryview(b"a"), deep()],
    ids=["lock", "iterator", "memory", "depth"],
)
def test_what_has_no_content_to_tell_it_by_is_refused(value):
    with pytest.raises(OptionError, match="cannot be told from another by its content") as caught:
        fingerprint(holding(value))
    assert "version" in caught.value.hint


SCRIPT = """
    import functools, sys
    import numpy as np
    import helpers
    from helpers import draw
    from understudy.jobs.fingerprint import fingerprint

    WORDS = {"a", "b", "c", "d"}

    class Generator:
        def __init__(self, share):
            self.share, self.names = share, set("abcdef")

        def __call__(self, table, seed):
            return helpers.draw(table, self.share), draw, WORDS

    def fit(table, seed, words=frozenset("abc")):
        import later
        from package.sub import far
        return later, far, [row in WORDS for row in table if row in {"x", "y", "z"}]

    print(fingerprint(Generator(0.5), fit, functools.partial(fit, seed=np.arange(3))))
"""


@pytest.mark.slow
def test_it_is_the_same_in_every_process_until_a_file_is_edited(tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "inner.py").write_text("def each(row, share):\n    return row\n")
    (tmp_path / "later.py").write_text("import latest\nRATE = 1\n")
    (tmp_path / "latest.py").write_text("SHARE = 1\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "sub.py").write_text("far = 1\n")
    (tmp_path / "helpers.py").write_text(
        "from inner import each\n"
        "def draw(table, share):\n    return [each(row, share) for row in table]\n"
    )

    def told(seed="0"):
        done = subprocess.run(
            [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True,
            check=True, env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        return done.stdout

    first = told()
    assert told("1") == first
    seen = {first}
    for name, old, new in (
        ("inner.py", "return row", "return share"),
        ("later.py", "RATE = 1", "RATE = 2"),
        ("latest.py", "SHARE = 1", "SHARE = 2"),
        ("package/sub.py", "far = 1", "far = 2"),
        ("helpers.py", "in table]", "in table[1:]]"),
        ("script.py", '"z"}', '"w"}'),
        ("script.py", "Generator(0.5)", "Generator(0.6)"),
    ):
        path = tmp_path / name
        path.write_text(path.read_text().replace(old, new))
        seen.add(told())
    assert len(seen) == 8


def test_what_a_module_of_ones_own_holds_now_counts(tmp_path, monkeypatch):
    (tmp_path / "own_settings.py").write_text("k = 1\nclass Deep:\n    k = [1]\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings = importlib.import_module("own_settings")

    def fit(table, seed):
        return settings.k

    seen = {fingerprint(fit)}
    settings.k = 2
    seen.add(fingerprint(fit))
    settings.Deep.k[0] = 2
    seen.add(fingerprint(fit))
    assert len(seen) == 3
