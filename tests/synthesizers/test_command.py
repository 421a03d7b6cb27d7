"""Any program as a method: what it writes is checked, and its failures are told by its name."""

import datetime as dt
import os
import re
import shlex
import sys
import textwrap
import time

import polars as pl
import pytest

import process
import understudy as us
from process import SHUFFLER
from understudy.data.schema import infer
from understudy.errors import DataError, OptionError

PYTHON = shlex.quote(sys.executable)  # its path may have a space


@pytest.fixture
def train() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + i * i % 29 for i in range(40)],
            "wage": [None if i % 7 == 0 else i * 1.5 for i in range(40)],
            "sex": ["f", "m"] * 20,
            "day": [dt.date(2024, 1, 1 + i % 28) for i in range(40)],
            "smokes": [i % 3 == 0 for i in range(40)],
        }
    )


@pytest.fixture
def program(tmp_path):
    def write(text: str, places: str = "{train} {out} {rows} {seed}") -> str:
        path = tmp_path / "maker.py"
        path.write_text(textwrap.dedent(text))
        return f"{shlex.join([sys.executable, str(path)])} {places}"

    return write


def made(train, command, rows=30, seed=1, **options):
    return us.synthesizer("command", command=command, seed=seed, **options).fit(train).sample(rows)


def test_a_program_is_a_method(train, program):
    sample = made(train, program(SHUFFLER))
    assert sample.schema == train.schema
    assert sample.height == 30
    assert set(sample["age"]) <= set(train["age"])
    assert sample["wage"].null_count() > 0
    assert sample.equals(made(train, program(SHUFFLER)), null_equal=True)
    assert not sample.equals(made(train, program(SHUFFLER), seed=2), null_equal=True)
    assert made(train, program(SHUFFLER), rows=0).height == 0


def test_parquet_and_an_environment_of_its_own(train, program):
    text = """
        import os, sys
        assert sorted(set(os.environ) - {"LC_CTYPE"}) == ["PATH", "WORD"], sorted(os.environ)
        import polars as pl
        pl.read_parquet(sys.argv[1]).head(int(sys.argv[3])).write_parquet(sys.argv[2])
    """
    sample = made(train, program(text), format="parquet", environment={"WORD": "x"})
    assert sample.equals(train.head(30), null_equal=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ValueError('I do not like it')", "exit status 1; it said:\n(.|\n)*I do not like"),
        ("pass", "ended and wrote no table"),
        ("import os, signal; os.kill(os.getpid(), 9)", "exit status 137"),
        (
            SHUFFLER.replace("head, *random", "head[:-1] + ['no'], *random"),
            "'smokes' is missing",
        ),
        (
            SHUFFLER.replace("[head, *random", "[head + ['no']] + [b + ['1'] for b in random"),
            "'no' of its table is not in training",
        ),
        (
            SHUFFLER.replace("int(rows)", "int(rows) - 1"),
            "gave 29 rows, and 30 were asked for",
        ),
        (
            SHUFFLER.replace("int(rows)", "int(rows) + 1"),
            "gave 31 rows, and 30 were asked for",
        ),
        (
            SHUFFLER.replace("*random", "*[['old', *b[1:]] for b in random").replace(
                "int(rows))])", "int(rows))]])"
            ),
            r"'age' of its table holds 30 values that are no number \('old'\)",
        ),
        ("import sys; open(sys.argv[2], 'wb').write(b'\\x00\\xff,\\n')", "maker|python"),
    ],
)
def test_what_a_program_does_wrong_is_told_by_its_name(train, program, text, said):
    with pytest.raises(DataError, match=said) as caught:
        made(train, program(text))
    assert "python" in str(caught.value)
    assert caught.value.hint


def test_a_program_that_hangs_is_stopped_with_all_it_started(train, program, tmp_path):
    text = """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        open({!r}, "w").write(str(child.pid))
        print("I am thinking", flush=True)
        time.sleep(60)
    """
    note = tmp_path / "child"
    with pytest.raises(DataError, match="within 2 seconds and was stopped; it said:\n  I am think"):
        made(train, program(text.format(str(note))), seconds=2)
    process.wait_until_gone(int(note.read_text()))


def test_a_program_does_not_outlive_who_asked_for_it(train, program, tmp_path, monkeypatch):
    note, temporary = tmp_path / "pid", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    text = f"""
        import os, time
        open({str(note)!r}, "w").write(str(os.getpid()))
        time.sleep(60)
    """
    path = tmp_path / "train.csv"
    train.write_csv(path)
    running = process.start(
        "synthesize", str(path), "--out", str(tmp_path / "out.csv"), "--method", "command",
        "-o", f"command.command={program(text)}",
    )  # fmt: skip
    end = time.monotonic() + 30
    while not (note.exists() and note.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    assert len(list(temporary.glob("understudy-*/train.csv"))) == 1
    running.kill()
    running.wait()
    process.wait_until_gone(int(note.read_text()))
    assert not (tmp_path / "out.csv").exists()
    assert not list(temporary.glob("understudy-*"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "no program is named"),
        ({"command": "  "}, "no program is named"),
        ({"command": "make {train}"}, r"\{out\} does not occur"),
        ({"command": "make {train} {out} {sed}"}, r"\{sed\} stands for nothing"),
        ({"command": "make '{train} {out}"}, "cannot be split into words"),
        ({"command": "make {train} {out}", "format": "xml"}, "format = 'xml'"),
        ({"command": "make {train} {out}", "seconds": 0}, "seconds = 0"),
        ({"command": "make {train} {out}", "environment": "A"}, "environment = 'A'"),
    ],
)
def test_commands_that_cannot_be_run_are_refused_at_once(options, said):
    with pytest.raises(OptionError, match=said):
        us.synthesizer("command", **options)


def test_other_braces_are_the_programs_own(train, program):
    command = program(SHUFFLER) + " '{x: 1}' '{}'"
    assert made(train, command).height == 30


def test_a_program_that_does_not_exist(train):
    with pytest.raises(OptionError, match="there is no program 'no-such-thing'"):
        made(train, "no-such-thing {train} {out}")


def test_a_program_is_told_from_others_by_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("maker", "maker.py", "settings.toml"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    for words, edited in (
        ("./maker {train} {out}", "maker"),
        ("python maker.py {train} {out}", "maker.py"),
        (f"{PYTHON} maker.py {{train}} {{out}}", "maker.py"),
        ("./maker --settings=settings.toml {train} {out}", "settings.toml"),
        ("python -u maker.py {train} {out}", "maker.py"),
    ):
        method = us.synthesizer("command", command=words).method
        before = method.identity()
        assert method.identity() == before
        with (tmp_path / edited).open("a") as file:
            file.write("# edited\n")
        assert method.identity() != before


@pytest.mark.parametrize(
    "words",
    ["maker {train} {out}", "python -m maker {train} {out}", "sh -c 'maker {train} {out}'",
     "docker run makers {train} {out}", f"{PYTHON} -m maker maker.py {{train}} {{out}}",
     "no-such-thing {train} {out}", "maker settings.toml {train} {out}",
     "docker run makers:latest --settings settings.toml {train} {out}",
     "uv run maker settings.toml {train} {out}", "env X=1 ./maker {train} {out}",
     "python -mmaker settings.toml {train} {out}", "python -c 0 settings.toml {train} {out}",
     "bash -lc ./maker settings.toml {train} {out}"],
)  # fmt: skip
def test_a_program_whose_files_are_not_named_needs_a_version(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("maker", "maker.py", "settings.toml"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(OptionError, match=r"whether '.*' is still the program that it was"):
        us.synthesizer("command", command=words).method.identity()
    one, other = (us.synthesizer("command", command=words, version=v).method for v in ("1", 2))
    assert one.identity() != other.identity()


def test_no_model_file_is_written(train, program, tmp_path):
    fitted = us.synthesizer("command", command=program(SHUFFLER)).fit(train)
    with pytest.raises(OptionError, match="cannot be saved"):
        fitted.save(tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == ["maker.py"]


def test_the_command_line(train, program, tmp_path):
    train.write_csv(tmp_path / "train.csv")
    done = process.understudy(
        "synthesize", str(tmp_path / "train.csv"), "--out", str(tmp_path / "out.csv"),
        "--method", "command", "--rows", "50", "-o", f"command.command={program(SHUFFLER)}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert pl.read_csv(tmp_path / "out.csv").height == 50


def test_the_card_is_complete():
    card = us.SYNTHESIZERS["command"].card
    optional = ("coarser", "finer", "holds", "abilities")
    assert all(text for name, text in card.to_dict().items() if name not in optional)


CHANGED = """
    import csv, sys
    with open(sys.argv[1], newline="") as file:
        head, *body = csv.reader(file)
    body = body[:int(sys.argv[3])]
    for row in body[:{many}]:
        row[head.index({column!r})] = {value!r}
    with open(sys.argv[2], "w", newline="") as file:
        csv.writer(file).writerows([head, *body])
"""


def changed(program, column, value, many=3):
    return program(CHANGED.format(column=column, value=value, many=many))


def test_truth_may_be_written_as_other_programs_do(train, program):
    text = CHANGED.format(column="smokes", value="TRUE", many=30)
    assert made(train, program(text))["smokes"].all()
    assert made(train, program(text.replace("TRUE", "FALSE")))["smokes"].any() is False


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("sex", "x", "'sex' of its table holds 3 values outside training's levels ('x')"),
        ("age", "200", "'age' of its table holds 3 values outside training's bounds (200)"),
        ("day", "2030-01-01", "'day' of its table holds 3 values outside training's bounds (2030-"),
        ("sex", "", "'sex' of its table holds 3 values missing (in training none is)"),
        ("wage", "", ""),
        ("age", "30.5", "'age' of its table holds 3 values that are not whole; rounded (30.5)"),
    ],
)
def test_values_that_training_does_not_have_are_taken_and_noted(
    train, program, column, value, told
):
    fitted = us.synthesizer("command", command=changed(program, column, value)).fit(train)
    assert fitted.sample(30).schema == train.schema
    assert any(told in note for note in fitted.method.notes_) == bool(told)
    fitted.sample(30)
    assert not told or told.replace(" 3 ", " 6 ") in fitted.method.notes_[0]


@pytest.mark.parametrize(
    ("column", "value", "declared", "told"),
    [
        ("sex", "x", {"levels": ("f", "m")}, "outside the declared levels ('x')"),
        ("age", "200", {"bounds": (0.0, 120.0)}, "outside the declared bounds (200)"),
    ],
)
def test_what_a_person_declared_is_kept_to(train, program, column, value, declared, told):
    schema = infer(train).replace(column, **declared)
    fitted = us.synthesizer("command", command=changed(program, column, value))
    with pytest.raises(DataError, match=r"3 values " + re.escape(told)):
        fitted.fit(train, schema=schema).sample(30)


@pytest.mark.parametrize(("column", "value"), [("smokes", "maybe"), ("code", "many")])
def test_what_cannot_be_stored_is_refused(train, program, column, value):
    coded = train.with_columns(code=pl.int_range(pl.len()) % 3)
    schema = infer(coded).replace("code", kind="category")
    fitted = us.synthesizer("command", command=changed(program, column, value))
    with pytest.raises(DataError, match=f"'{column}' .* cannot be stored as .* \\('{value}'\\)"):
        fitted.fit(coded, schema=schema).sample(30)


@pytest.mark.parametrize("text", ["print('loud'); raise ValueError('crash')", "print('loud')"])
def test_the_command_line_leaves_nothing_behind_when_a_program_fails(
    train, program, text, tmp_path
):
    train.write_csv(tmp_path / "train.csv")
    command = program(text)
    before = sorted(os.listdir(tmp_path))
    done = process.understudy(
        "synthesize", tmp_path / "train.csv", "--out", tmp_path / "out.csv",
        "--method", "command", "-o", f"command.command={command}",
    )  # fmt: skip
    assert done.returncode == 2
    assert "Traceback (most" not in done.stderr.split("it said:")[0]
    assert done.stdout == ""
    assert sorted(os.listdir(tmp_path)) == before


def test_what_a_program_prints_is_not_ours(train, program, capfd):
    loud = SHUFFLER + "    print('loud'); sys.stderr.write('x' * 100000)\n"
    assert made(train, program(loud)).height == 30
    assert capfd.readouterr() == ("", "")
