"""Other people's tools as methods: what travels, what comes back, and what can go wrong.

CI has none of the tools: stand-ins with SDV's way of being called run in their place. With
``UNDERSTUDY_SDV_PYTHON`` (``_DATASYNTHESIZER_``, ``_MOSTLYAI_``) naming the Python of an
environment that has the tool, the slow tests run the tool itself.
"""

import datetime as dt
import os
import shlex
import sys
import textwrap

import numpy as np
import polars as pl
import pytest

import process
import understudy as us
from understudy.data.tables import Table
from understudy.errors import DataError, MissingExtraError, OptionError
from understudy.synthesizers.adapters.base import hand_over, take_back
from understudy.synthesizers.generators import NamedGenerator
from understudy.workflows.release import check_method

ADAPTERS = ("sdv", "datasynthesizer", "mostlyai")
LICENCES = {"sdv": "Business Source", "datasynthesizer": "MIT", "mostlyai": "Apache"}
N = 120
SDV = """
    import os, pickle, sys, time
    class Base:
        def __init__(self, metadata, **arguments):
            self.types = metadata
            self.arguments = arguments
        def fit(self, data):
            print("words of the tool")
            self.data = data["table"]
            kinds = {name: value["sdtype"] for name, value in self.types.items()}
            assert list(kinds) == list(self.data.columns), (kinds, self.data.columns)
            for name, kind in kinds.items():
                dtype = str(self.data[name].dtype)
                assert {"numerical": "int64 float64", "categorical": "object",
                        "datetime": "datetime64[ns]"}[kind].count(dtype), (name, kind, dtype)
        def save(self, path):
            pickle.dump(self, open(path, "wb"))
        def _set_random_state(self, seed):
            self.seed = seed
        def sample(self, num_rows):
            exec(os.environ.get("FAKE_FAULT", ""))
            return {"table": self.data.sample(num_rows, replace=True, random_state=self.seed)}
    class GaussianCopulaSynthesizer(Base): pass
    class TVAESynthesizer(Base):
        def __init__(self, metadata, epochs):
            assert epochs == 7
            super().__init__(metadata)
"""


@pytest.fixture(scope="module")
def train() -> pl.DataFrame:
    days = [dt.date(2024, 1, 1) + dt.timedelta(i * i % 400) for i in range(N)]
    hours = [dt.datetime(2024, 3, 1, i % 24, i % 60) for i in range(N)]
    return pl.DataFrame(
        {
            "whole number": [20 + i * i % 29 for i in range(N)],
            "wage, with gaps": [None if i % 7 == 0 else round(i * 1.37, 2) for i in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "day": days,
            "day as text": [day.strftime("%d.%m.%Y") for day in days],
            "when": [None if i % 11 == 0 else hour for i, hour in enumerate(hours)],
            "zone": pl.Series(hours).dt.replace_time_zone("Europe/Vienna"),
            "hour": [dt.time(i % 24, i % 60) for i in range(N)],
            "smokes": [None if i % 13 == 0 else i % 3 == 0 for i in range(N)],
            "odd": [["", 'NA, "x"', "v0", "none", "NA\n"][i % 5] for i in range(N)],
            "code": [i % 3 + 1 for i in range(N)],
            "words": ["N" if i % 4 == 0 else None if i % 9 == 0 else str(i % 50) for i in range(N)],
            "infinite": [np.inf if i % 6 == 0 else i / 4 for i in range(N)],
            "far": [2**55 * (i % 40) for i in range(N)],
            "nothing": [None] * N,
            "always": ["x"] * N,
            "or missing": ["x" if i % 2 else None for i in range(N)],
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def fake_sdv(tmp_path_factory) -> str:
    """Give a Python that has a stand-in for SDV."""
    folder = tmp_path_factory.mktemp("fake")
    tool = folder / "site" / "sdv"
    tool.mkdir(parents=True)
    (tool / "__init__.py").write_text("__version__ = '2.7'")
    (tool / "single_table.py").write_text(textwrap.dedent(SDV))
    (tool / "metadata.py").write_text(
        "class Metadata:\n"
        "    @classmethod\n"
        "    def load_from_dict(cls, told):\n"
        "        return told['tables']['table']['columns']\n"
    )
    (folder / "site" / "cloudpickle.py").write_text("from pickle import load\n")
    info = folder / "site" / "sdv-2.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sdv\nVersion: 2.7\n")
    python = folder / "python"
    python.write_text(
        '#!/bin/sh\n[ -z "$PYTHONPATH" ] || exit 9\n'
        f'PYTHONPATH={shlex.quote(str(folder / "site"))} exec {shlex.quote(sys.executable)} "$@"\n'
    )
    python.chmod(0o755)
    return str(python)


@pytest.fixture(scope="module")
def fitted(train, fake_sdv):
    return us.synthesizer("sdv", python=fake_sdv, seed=3).fit(train)


def test_what_travels_comes_back_as_it_was(train):
    table = Table.of(train)
    sent, handed = hand_over(table, np.random.default_rng(1))
    assert sent.columns[:3] == ["c0", "c1", "c2"]
    assert not {"nothing", "always"} & set(sent.columns)
    assert set(sent["c2"]) == {"v0", "v1"}
    kinds = {told["name"]: told["kind"] for one in handed for told in one.sent}
    assert list(kinds) == sent.columns
    back = take_back(sent.cast(pl.String), handed, N, "a tool")
    for name in train.columns:
        assert back[name].equals(train[name], null_equal=True), name
    shuffled = sent.with_columns(pl.all().reverse()).cast(pl.String)
    assert take_back(shuffled, handed, N, "a tool").equals(train.reverse(), null_equal=True)


def test_numbers_beside_words_have_no_gaps_and_no_new_values(train):
    sent, _ = hand_over(Table.of(train.select("words")), np.random.default_rng(1))
    assert sent["c0"].null_count() == 0
    seen = {float(word) for word in train["words"].drop_nulls() if word != "N"}
    assert set(sent["c0"]) <= seen
    assert sent["c0w"].null_count() == train["words"].null_count()


def test_identifiers_and_free_text_do_not_travel(train):
    with_key = train.with_columns(key=pl.Series([f"person {i:04d}" for i in range(N)]))
    sent, handed = hand_over(Table.of(with_key), np.random.default_rng(1))
    assert "key" not in {one.column.name for one in handed}
    assert not any("person" in str(value) for series in sent for value in series)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("c2", "v7", "'sex' came back with a level that was never given"),
        ("c0", "old", "'whole number' came back with 'old', no number"),
        ("c0", "inf", "'whole number' came back with 'inf', no number"),
    ],
)
def test_what_was_never_given_is_refused(train, column, value, said):
    sent, handed = hand_over(Table.of(train), np.random.default_rng(1))
    bad = sent.cast(pl.String).with_columns(pl.lit(value).alias(column))
    with pytest.raises(DataError, match=said):
        take_back(bad, handed, N, "a tool")


def test_a_table_that_never_varies_needs_no_tool(fake_sdv):
    real = pl.DataFrame({"a": ["x"] * 5, "b": [None] * 5, "c": [7] * 5})
    made = us.synthesizer("sdv", python=fake_sdv).fit(real).sample(9)
    assert made.rows() == [("x", None, 7)] * 9


@pytest.mark.slow
def test_the_tool_learns_once_and_is_asked_often(fitted, train, capfd):
    first = fitted.sample(50)
    assert first.schema == train.schema
    assert first.equals(fitted.sample(50, replicate=0), null_equal=True)
    assert not first.equals(fitted.sample(50, replicate=1), null_equal=True)
    assert fitted.sample(0).schema == train.schema
    assert set(first.rows()) <= set(train.rows())
    assert capfd.readouterr() == ("", "")


def test_what_the_tool_leaves_goes_with_the_method(train, fake_sdv, tmp_path):
    made = us.synthesizer("sdv", python=fake_sdv, model="TVAE", epochs=7).fit(train)
    folder = made.method.folder_.path
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "model.pkl").exists()
    assert not (folder / "train.csv").exists()
    assert "SDV 2.7 TVAE; its licence: Business Source" in made.method.notes_[0]
    with pytest.raises(OptionError, match="cannot be saved"):
        made.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    del made
    assert not folder.exists()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise ValueError('no luck')", "ended with exit status 1; it said:\n(.|\n)*no luck"),
        ("sys.exit(0)", "ended and wrote no table"),
        ("time.sleep(60)", "did not finish within 1 seconds? and was stopped"),
    ],
)
def test_a_tool_that_fails_is_told_by_its_name(fitted, fault, said, monkeypatch):
    monkeypatch.setenv("FAKE_FAULT", fault)
    monkeypatch.setattr(fitted.method, "seconds", 1.0 if "sleep" in fault else 60.0)
    with pytest.raises(DataError, match=f"SDV 2.7 GaussianCopula {said}") as caught:
        fitted.sample(5)
    assert caught.value.hint


def test_a_table_that_cannot_be_read_is_told_by_its_tool(fitted, tmp_path):
    (tmp_path / "out.csv").write_text("a,b\n1,2,3\n")
    with pytest.raises(DataError, match=r"SDV 2\.7 GaussianCopula: its table cannot be read"):
        fitted.method._read(tmp_path / "out.csv")


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_tool_that_is_not_there_is_told_with_its_licence(name, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S "$@"\n')
    python.chmod(0o755)
    made = us.synthesizer(name, python=str(python))
    with pytest.raises(MissingExtraError, match="is not installed for") as caught:
        made.ready()
    assert "pip install" in caught.value.hint
    assert LICENCES[name] in caught.value.hint
    assert f"-o {name}.python=PATH" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("sdv", {"python": "/no/such/python"}, "there is no interpreter"),
        ("sdv", {"python": "/bin/false"}, "is no Python"),
        ("sdv", {"model": "CTGAM"}, "model = 'CTGAM'"),
        ("sdv", {"epochs": 0}, "epochs = 0"),
        ("sdv", {"arguments": "x"}, "arguments = 'x'"),
        ("sdv", {"seconds": 0}, "seconds = 0"),
        ("datasynthesizer", {"mode": "x"}, "mode = 'x'"),
        ("datasynthesizer", {"k": 0}, "k = 0"),
        ("datasynthesizer", {"tool_epsilon": -1.0}, "tool_epsilon = -1"),
        ("datasynthesizer", {"bins": 1}, "bins = 1"),
        ("mostlyai", {"size": "Huge"}, "size = 'Huge'"),
        ("mostlyai", {"minutes": 0.0}, "minutes = 0"),
        ("mostlyai", {"epochs": 0}, "epochs = 0"),
    ],
)
def test_options_are_refused_before_any_work(name, options, said):
    with pytest.raises(OptionError, match=said) as caught:
        us.synthesizer(name, **options).ready()
    assert caught.value.hint


@pytest.mark.parametrize("name", ADAPTERS)
def test_nothing_is_started_before_a_fit(name, train, tmp_path):
    python, mark = tmp_path / "python", tmp_path / "was started"
    python.write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 3\n")
    python.chmod(0o755)
    made = us.synthesizer(name, python=str(python))
    assert not mark.exists()
    with pytest.raises(MissingExtraError, match="is not installed for"):
        made.fit(train)
    assert mark.exists()


def test_whoever_is_about_to_fit_says_first_that_the_tool_is_missing(tmp_path):
    options = {"python": str(tmp_path / "none")}
    with pytest.raises(OptionError, match="there is no interpreter"):
        us.benchmark(tmp_path / "no table", methods=["sdv"], options={"sdv": options})
    with pytest.raises(OptionError, match="there is no interpreter"):
        NamedGenerator("sdv", options)
    with pytest.raises(OptionError, match="there is no interpreter"):
        check_method("sdv", {"sdv": options})


def test_no_epsilon_of_a_tool_is_ours():
    fields = us.SYNTHESIZERS["datasynthesizer"].__dataclass_fields__
    assert "epsilon" not in fields
    assert "None that is vouched for" in us.SYNTHESIZERS["datasynthesizer"].card.claim


def test_the_command_line_writes_nothing_when_the_tool_fails(train, fake_sdv, tmp_path):
    environment = {**os.environ, "FAKE_FAULT": "raise ValueError(4711)"}
    train.write_parquet(tmp_path / "train.parquet")
    out = tmp_path / "out.csv"
    done = process.understudy(
        "synthesize", tmp_path / "train.parquet", "--out", out, "--method", "sdv",
        "-o", f"sdv.python={fake_sdv}", env=environment,
    )  # fmt: skip
    assert done.returncode == 2
    assert "4711" in done.stderr
    assert "words of the tool" not in done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["train.parquet"]


MODELS = ("GaussianCopula", "CTGAN", "CopulaGAN", "TVAE")
QUICK = {
    "sdv": [{"model": name, "epochs": 2} for name in MODELS],
    "datasynthesizer": [
        {"mode": "correlated", "k": 1}, {"mode": "correlated", "tool_epsilon": 1.0},
        {"mode": "independent"}, {"mode": "random"},
    ],
    "mostlyai": [{"minutes": 0.2, "epochs": 1}],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("options", range(4))
@pytest.mark.parametrize("name", ADAPTERS)
def test_the_tool_itself(name, options, train):
    python = os.environ.get(f"UNDERSTUDY_{name.upper()}_PYTHON")
    if not python or options >= len(QUICK[name]):
        pytest.skip(f"UNDERSTUDY_{name.upper()}_PYTHON names no Python that has the tool")
    if name == "mostlyai":
        train = train.drop("far")  # mostlyai-engine 2.7.3 fails on numbers that large
    few = pl.concat([train] * 3)
    made = us.synthesizer(name, python=python, seed=1, **QUICK[name][options]).fit(few)
    first = made.sample(40)
    assert first.columns == train.columns
    assert first.dtypes == train.dtypes
    assert first.height == 40
    assert first.equals(made.sample(40, replicate=0), null_equal=True)
    assert not first.equals(made.sample(40, replicate=1), null_equal=True)
    for column in ("sex", "odd", "code", "always"):
        assert set(first[column]) <= set(train[column])
    assert first["nothing"].null_count() == 40
    if QUICK[name][options].get("mode") != "random":
        assert first["day"].min() >= train["day"].min()
        assert first["day"].max() <= train["day"].max()
