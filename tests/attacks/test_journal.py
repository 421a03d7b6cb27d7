"""A journal is of one generator on one table, and what does not fit it is named by its line."""

import contextlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import naughty
import process
import understudy as us
from understudy.attacks.refits import Refit, RefitJob, World, refit
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.journal import Journal, entry_numbers
from understudy.jobs.runner import portable
from understudy.synthesizers.generators import FunctionGenerator, NamedGenerator

TABLE = pl.DataFrame({"x": ["a", "b"] * 20, "y": [*["n"] * 39, "y"]})
HEAD = {"understudy": "journal", "of": "attack", "game": "own"}


def copier(share):
    """Make generators of one code that differ in what they hold: so many rows are copies."""

    def fit(table, seed):
        rng = np.random.default_rng(seed)

        def sample(n):
            copied = table[rng.integers(0, table.height, n)]
            drawn = {c: table[c][rng.integers(0, table.height, n)] for c in table.columns}
            mixed = pl.concat([copied[: int(share * n)], pl.DataFrame(drawn)])
            return mixed[:n]

        return sample

    return fit


def attacked(generator, journal, **more):
    given = {"release": TABLE, "refits": 8, "options": {"rounds": 2, "columns": ["y"]}, **more}
    return us.attack("worlds", TABLE, generator, journal=journal, **given)


def test_closures_of_one_factory_do_not_answer_for_each_other(tmp_path):
    attacked(copier(0.0), tmp_path / "journal")
    with pytest.raises(OptionError, match="journal of another attack"):
        attacked(copier(1.0), tmp_path / "journal")
    before = (tmp_path / "journal").read_text()
    attacked(copier(0.0), tmp_path / "journal")  # the same again goes on
    assert (tmp_path / "journal").read_text() == before


def test_a_generator_that_changes_as_it_is_used_is_one_within_an_attack(tmp_path):
    class Counting:
        def __init__(self):
            self.fits = 0

        def __call__(self, table, seed):
            self.fits += 1
            return naughty.shuffled(table, seed)

    counting = Counting()
    attacked(counting, tmp_path / "journal", refits=64, options={"rounds": 8, "columns": ["y"]})
    assert counting.fits > 8  # in more than one round


def test_what_cannot_be_told_apart_needs_a_version(tmp_path):
    lines = (number for number in range(3))

    def fit(table, seed):
        next(lines, None)
        return naughty.shuffled(table, seed)

    with pytest.raises(OptionError, match="'generator' cannot be told from another") as caught:
        attacked(fit, tmp_path / "journal")
    assert "version" in caught.value.hint
    assert not (tmp_path / "journal").exists()
    attacked(fit, None)  # without a journal nothing has to be told apart
    attacked(fit, tmp_path / "journal", version="1")
    attacked(fit, tmp_path / "journal", version="1")
    with pytest.raises(OptionError, match="journal of another attack"):
        attacked(fit, tmp_path / "journal", version="2")


def test_an_edited_program_is_another_generator(tmp_path):
    TABLE.write_csv(tmp_path / "train.csv")
    (tmp_path / "maker.py").write_text(process.SHUFFLER)
    command = f"{shlex.quote(sys.executable)} maker.py {{train}} {{out}} {{rows}} {{seed}}"
    arguments = (
        "attack", "worlds", "train.csv", "--command", command, "--release", "train.csv",
        "--refits", 3, "--journal", "journal", "-o", "attack.worlds.columns=y", "--quiet",
    )  # fmt: skip
    done = process.here(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before = (tmp_path / "journal").read_text()
    (tmp_path / "maker.py").write_text(process.SHUFFLER.replace("k=int(rows)", "k=int(rows) - 1"))
    done = process.here(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "journal of another attack" in done.stderr
    assert (tmp_path / "journal").read_text() == before
    (tmp_path / "maker.py").write_text(process.SHUFFLER)
    assert process.here(*arguments, cwd=tmp_path).returncode == 0
    assert (tmp_path / "journal").read_text() == before


def test_a_data_value_does_not_switch_processes_off():
    table = Table.of(pl.DataFrame({"__main__": ["__main__", "x"] * 20}))
    base = Table(table.frame, table.schema)
    made = RefitJob(FunctionGenerator(naughty.shuffled), base, naughty.mean_of_numbers, 9)
    assert portable(made) is not None
    assert (
        portable(RefitJob(NamedGenerator("bootstrap"), base, naughty.mean_of_numbers, 9))
        is not None
    )


LINES = {
    "cut": '{"task": "a", "numb',
    "a list": "[1, 2]",
    "a number": "3",
    "binary": "\0\1\2",
    "no task": '{"numbers": [1.0], "error": ""}',
    "no error": '{"task": "a", "numbers": [1.0]}',
    "no numbers": '{"task": "a", "error": ""}',
    "numbers none": '{"task": "a", "numbers": null, "error": ""}',
    "task a number": '{"task": 1, "numbers": [1.0], "error": ""}',
    "error a list": '{"task": "a", "numbers": [1.0], "error": ["x"]}',
    "text": '{"task": "a", "numbers": "1.0", "error": ""}',
    "text within": '{"task": "a", "numbers": ["one"], "error": ""}',
    "truth within": '{"task": "a", "numbers": [true], "error": ""}',
    "an object within": '{"task": "a", "numbers": [{}], "error": ""}',
    "ragged": '{"task": "a", "numbers": [[1.0], [1.0, 2.0]], "error": ""}',
    "more": '{"task": "a", "numbers": [1.0, 2.0], "error": ""}',
    "none at all": '{"task": "a", "numbers": [], "error": ""}',
    "deeper": '{"task": "a", "numbers": [[1.0]], "error": ""}',
    "not finite": '{"task": "a", "numbers": [NaN], "error": ""}',
    "far": '{"task": "a", "numbers": [1e999], "error": ""}',
    "digits": '{"task": "a", "numbers": [' + "9" * 5000 + '], "error": ""}',
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_another_form_is_an_error_that_names_it(name, tmp_path):
    journal = tmp_path / "journal"
    good = '{"task": "%s", "numbers": [0.5], "error": ""}'
    text = "\n".join([json.dumps(HEAD), "", good % "b", LINES[name], good % "c"])
    journal.write_text(text)
    with pytest.raises(DataError, match=r"journal: line 4 "):
        Journal.open(journal, "own", read=lambda entry: entry_numbers(entry, (1,)))
    assert journal.read_text() == text


def test_a_line_that_was_cut_off_at_the_end_is_done_again(tmp_path):
    path = tmp_path / "journal"
    journal = Journal.open(path, "own")
    journal.add("a", np.array([0.1, np.nan, np.inf]))
    journal.add("b", np.array([0.2, 1.0, -np.inf]))
    journal.close()
    whole = path.read_text()
    for size in range(len(whole)):
        path.write_text(whole[:size])
        journal = Journal.open(path, "own")
        found = journal.known
        for key in sorted(set("ab") - set(found)):
            first = key == "a"
            again = [0.1, np.nan, np.inf] if first else [0.2, 1.0, -np.inf]
            journal.add(key, np.array(again))
        journal.close()
        assert path.read_text() == whole
    assert np.array_equal(found["a"], [0.1, np.nan, np.inf], equal_nan=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a letter\n", "is no journal of an attack"),
        (b"\x89PNG\r\n\xff\xfe", "the journal is not UTF-8 text"),
        (b"\0" * 4096, "is no journal of an attack"),
        (b"{}\n", "is no journal of an attack"),
        (b"[" * 100_000, "is no journal of an attack"),
        (b'{"understudy": "journal", "of": 3}\n', "is no journal of an attack"),
        (b'{"understudy": "journal", "of": "attack", "game": ["own"]}\n', "another attack"),
        (json.dumps({"understudy_ledger": 1, "entries": []}).encode(), "is no journal"),
    ],
)
def test_a_file_of_another_kind_is_no_journal(content, said, tmp_path):
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(us.UnderstudyError, match=said):
        Journal.open(tmp_path / "journal", "own")
    assert (tmp_path / "journal").read_bytes() == content


def test_a_huge_file_and_a_folder_are_no_journals(tmp_path):
    with (tmp_path / "journal").open("wb") as file:
        file.truncate(10**10)
    with pytest.raises(DataError, match="10,000,000,000 bytes are too many for a journal"):
        Journal.open(tmp_path / "journal", "own")
    with pytest.raises(us.UnderstudyError, match="journal"):
        Journal.open(tmp_path, "own")
    with pytest.raises(us.UnderstudyError, match="no ordinary file"):
        Journal.open(Path("/dev/null"), "own")


def test_one_run_at_a_time_writes_a_journal(tmp_path):
    journal = Journal.open(tmp_path / "journal", "own")
    with pytest.raises(DataError, match="another run is at work on it"):
        Journal.open(tmp_path / "journal", "own")
    (tmp_path / "link").hardlink_to(tmp_path / "journal")
    with pytest.raises(DataError, match="another run is at work on it"):
        Journal.open(tmp_path / "link", "own")
    journal.close()
    Journal.open(tmp_path / "link", "own").close()


def test_two_attacks_do_not_write_one_journal(tmp_path):
    attacked(copier(0.0), tmp_path / "journal")
    text = (tmp_path / "journal").read_text()
    own = json.loads(text.split("\n")[0])["game"]
    with (
        contextlib.closing(Journal.open(tmp_path / "journal", own)),
        pytest.raises(DataError, match="another run is at work on it"),
    ):
        attacked(copier(0.0), tmp_path / "journal")
    assert (tmp_path / "journal").read_text() == text
    attacked(copier(0.0), tmp_path / "journal")


OTHER_RUN = """
import sys
from pathlib import Path
from understudy.errors import UnderstudyError
from understudy.jobs.journal import Journal
for line in sys.stdin:
    try:
        Journal.open(Path(line.strip()), "other")
    except UnderstudyError as error:
        print(str(error).splitlines()[0], flush=True)
    else:
        print("it was free", flush=True)
"""


@pytest.fixture
def other_run():
    """Give a function that lets another process try to open a journal, and tells what it got."""
    own = subprocess.Popen(
        [sys.executable, "-c", OTHER_RUN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    def try_to_open(path):
        own.stdin.write(f"{path}\n")
        own.stdin.flush()
        return own.stdout.readline().strip()

    yield try_to_open
    own.communicate()


def test_no_other_run_gets_the_journal_between_the_rounds_of_an_attack(
    tmp_path, other_run, monkeypatch
):
    journal, told = tmp_path / "journal", []
    module = sys.modules["understudy.attacks.worlds"]
    judge = module.judge

    def between(*args):
        told.append(other_run(journal))
        return judge(*args)

    monkeypatch.setattr(module, "judge", between)
    attacked(copier(0.0), journal, refits=64, options={"rounds": 16, "columns": ["y"]})
    assert len(told) > 1, "an attack of one round"
    assert all("another run is at work on it" in answer for answer in told)
    assert "journal of another attack" in other_run(journal)  # it has ended


def test_no_other_run_gets_a_journal_of_an_audit_before_it_has_ended(tmp_path, other_run):
    told = []

    def look(label, done, total):
        if label.startswith("refits"):
            told.extend(other_run(tmp_path / f"journal.{n}") for n in (1, 2, 3))

    us.attack(
        "audit", TABLE, copier(0.5), journal=tmp_path / "journal", progress=look,
        options={"trials": 24, "rows": 20},
    )  # fmt: skip
    assert told
    assert all("another run is at work on it" in answer for answer in told)
    for number in (1, 2, 3):
        assert "journal of another attack" in other_run(tmp_path / f"journal.{number}")


def test_a_journal_with_more_numbers_than_the_game_gives_is_refused(tmp_path):
    table = Table.of(pl.DataFrame({"number": [0.5, 1.5] * 20}))
    game = RefitJob(
        FunctionGenerator(naughty.shuffled),
        Table(table.frame, table.schema),
        naughty.mean_of_numbers,
        9,
    )
    tasks = [Refit(World("all"), seed) for seed in (1, 2)]
    list(refit(game, tasks[:1], workers=1, journal=tmp_path / "journal"))
    head, *entries = (tmp_path / "journal").read_text().splitlines()
    entry = json.loads(entries[-1])
    entry["numbers"] *= 2
    (tmp_path / "journal").write_text(f"{head}\n\n{json.dumps(entry)}")
    with pytest.raises(DataError, match="line 3 "):
        list(refit(game, tasks, workers=1, journal=tmp_path / "journal"))
