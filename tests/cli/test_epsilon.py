"""understudy synthesize --epsilon and --ledger, understudy ledger."""

import json
import zipfile

import polars as pl
import pytest
from click.testing import CliRunner

from claimant import DECLARED, PEOPLE, Noisy
from process import alone, understudy
from understudy.cli import cli
from understudy.data.schema import dumps
from understudy.data.tables import read_marker
from understudy.errors import OptionError, UnderstudyError
from understudy.synthesizers import SYNTHESIZERS
from understudy.synthesizers import ledger as ledgers


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(SYNTHESIZERS, "noisy", Noisy)
    monkeypatch.chdir(tmp_path)
    PEOPLE.write_csv("real.csv")
    (tmp_path / "s.toml").write_text(dumps(DECLARED))
    return tmp_path


def run(*arguments):
    done = CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def refused(*arguments):
    with pytest.raises(UnderstudyError) as error:
        CliRunner().invoke(
            cli, [str(a) for a in arguments], catch_exceptions=False, standalone_mode=False
        )
    return str(error.value)


NOISY = ("synthesize", "real.csv", "--schema", "s.toml", "--method", "noisy")


def test_epsilon_is_said_marked_and_listed(folder):
    said = run(*NOISY, "--epsilon", 0.5, "--out", "out.csv", "--save", "m.model", "--rows", 77)
    assert "epsilon 0.5 was spent in 2 steps (neighbours: one row added or removed)" in said
    assert "made anew: person" in said
    assert "200" not in said  # neither the number of rows nor why a column is left out
    assert "warning" not in said
    assert read_marker("out.csv").epsilon == 0.5
    text = (folder / "out.csv.README.md").read_text()
    assert "| counts of town | laplace | 0.25 | 1 | 4 |" in text
    with zipfile.ZipFile("m.model") as archive:
        head = json.loads(archive.read("model.json"))
    assert sum(step["epsilon"] for step in head["spending"]) == 0.5
    assert head["options"]["epsilon"] == 0.5


def test_a_saved_model_spends_nothing_more(folder):
    run(*NOISY, "--epsilon", 0.5, "--out", "out.csv", "--save", "m.model")
    said = run(
        "synthesize", "--from", "m.model", "--out", "more.parquet", "--seed", 3,
        "--given", "sex=f", "--replicates", 2, "--rows", 20,
    )  # fmt: skip
    assert "epsilon 0.5 was spent" in said
    assert "warning" not in said
    for number in (1, 2):
        marker = read_marker(f"more_{number}.parquet")
        assert (marker.epsilon, marker.rows) == (0.5, 20)
        assert set(pl.read_parquet(f"more_{number}.parquet")["sex"]) == {"f"}
    done = CliRunner().invoke(
        cli, ["synthesize", "--from", "m.model", "--out", "x.csv", "--ledger", "l.json"]
    )
    assert done.exit_code == 2
    assert "--from spends nothing" in done.output


def test_the_ledger_adds_up(folder):
    first = run(*NOISY, "--epsilon", 1, "--out", "a.csv", "--ledger", "l.json")
    assert "l.json: this fit spends 1; this table has now spent 1 in all" in first
    second = run(*NOISY, "-o", "noisy.epsilon=1.5", "--out", "b.csv", "--ledger", "l.json")
    assert "l.json: this fit spends 1.5; this table has now spent 2.5 in all" in second
    listed = run("ledger", "l.json", "--limit", 3)
    assert listed.count("noisy  epsilon") == 2
    assert "all together: 2.5; the limit is 3" in listed
    wrong = refused(*NOISY, "--epsilon", 1, "--out", "c.csv", "--ledger", "l.json")
    assert "the limit is 3" in wrong
    assert not (folder / "c.csv").exists()
    told = json.loads(run("ledger", "l.json", "--json", "-"))
    assert told["spent"] == 2.5
    assert "key" not in told


def test_a_release_that_cannot_be_written_has_spent_nevertheless(folder):
    """Rows with a value that the method never makes: found out after the fit."""
    wrong = refused(
        *NOISY, "--epsilon", 1, "--out", "a.csv", "--ledger", "l.json",
        "--given", "sex=x,town=Linz", "--rows", 100, "--seed", 1,
    )  # fmt: skip
    assert "rows drawn match" in wrong
    assert not (folder / "a.csv").exists()
    assert ledgers.read(folder / "l.json").spent == 1


def test_a_seed_is_warned_of_loudly_and_repeats(folder):
    for name in ("a.csv", "b.csv"):
        said = run(*NOISY, "--epsilon", 1, "--seed", 4, "--out", name)
        assert "warning: A seed is given: whoever knows it can draw the noise again" in said
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_a_high_epsilon_is_warned_of():
    assert "warning: Epsilon 20 is above 10" in run(*NOISY, "--epsilon", 20, "--out", "a.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", 0), "epsilon = 0"),
        (("--epsilon", -1), "epsilon = -1"),
        (("--epsilon", "nan"), "epsilon = nan"),
        (("--epsilon", "inf"), "epsilon = inf"),
        (("--epsilon", 1, "-o", "noisy.epsilon=1"), "both given"),
        (("--epsilon", 1, "--replace", "sex"), "columns that are kept are real values"),
        (("--epsilon", 1, "--keep", "sex"), "columns that are kept are real values"),
        (("-o", "noisy.epsilon=1", "--keep", "sex"), "columns that are kept are real values"),
        (("--ledger", "l.json"), "a ledger, but noisy spends no epsilon"),
        (("--keep", "sex", "--ledger", "l.json"), "--ledger does not go with --replace"),
        (("--epsilon", 1, "--ledger", "real.csv"), "real.csv is an input"),
    ],
)
def test_bad_input_writes_nothing(folder, arguments, message):
    before = {path.name for path in folder.iterdir()}
    assert message in refused(*NOISY, "--out", "out.csv", *arguments)
    assert {path.name for path in folder.iterdir()} == before


def test_bayes_as_a_process(folder):
    bayes = ("synthesize", "real.csv", "--method", "bayes", "--epsilon", 1, "--ledger", "l.json")
    done = alone(*bayes, "--schema", "s.toml", "--out", "out.parquet", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "l.json: this fit spends 1; this table has now spent 1 in all" in done.stderr
    assert read_marker("out.parquet").epsilon == 1
    wrong = understudy(*bayes, "--out", "none.parquet", cwd=folder)
    assert wrong.returncode == 2
    assert 'column "town"' in wrong.stderr
    assert not (folder / "none.parquet").exists()
    assert ledgers.read(folder / "l.json").spent == 1


def test_methods_that_can_claim_an_epsilon_are_named():
    wrong = refused("synthesize", "real.csv", "--out", "out.csv", "--epsilon", 1)
    assert "the method 'forest' can claim none" in wrong
    assert "noisy" in wrong.split("hint: ")[1]


def test_undeclared_columns_are_refused_and_what_was_drawn_before_is_spent(folder):
    text = dumps(DECLARED).replace(
        'kind = "identifier"', 'kind = "identifier"\ninferred = ["kind"]'
    )
    (folder / "half.toml").write_text(text)
    wrong = refused(
        "synthesize", "real.csv", "--out", "o.csv", "--method", "noisy", "--epsilon", 1,
        "--schema", "half.toml", "--ledger", "l.json",
    )  # fmt: skip
    assert "kind of the column 'person' must be declared" in wrong
    assert not (folder / "o.csv").exists()
    assert ledgers.read(folder / "l.json").spent == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--constraint", "sex == x and town == Linz"), "0 of 101,000 rows drawn meet"),
        (("--margin", "sex=x:0.5"), "sex == 'x' is in none of"),
    ],
)
def test_what_fails_after_the_fit_says_what_is_spent(folder, monkeypatch, arguments, told):
    monkeypatch.setattr(Noisy, "sample", lambda self, rows, rng: _women(self, rows))
    wrong = refused(
        *NOISY, "--epsilon", 0.5, "--out", "o.csv", "--rows", 5, "--ledger", "l.json", *arguments
    )
    assert told in wrong
    assert "; the fit has spent epsilon 0.5 all the same\nhint: " in wrong
    assert not (folder / "o.csv").exists()
    assert ledgers.read(folder / "l.json").spent == 0.5


def _women(method, rows):
    shown = {"sex": "f", "town": "Wien"}
    return pl.DataFrame({name: [shown[name]] * rows for name in method.counts_})


def test_values_of_a_column_that_is_made_anew_cannot_be_given(folder):
    unique = ("--constraint", "unique sex", "--ledger", "l.json", "--out", "o.csv")
    for asked in (("--given", "sex=f"), ("--margin", "sex=f:0.5")):
        wrong = refused(*NOISY, "--epsilon", 0.5, *unique, *asked)
        assert "'sex' is left out of synthesis" in wrong
        assert not (folder / "l.json").exists()


def test_an_excel_file_is_refused_before_anything_is_spent(folder):
    pytest.importorskip("fastexcel")
    PEOPLE.write_excel("real.xlsx")
    asked = ("synthesize", "real.xlsx", *NOISY[2:], "--epsilon", 1, "--ledger", "l.json")
    wrong = refused(*asked, "--out", "o.csv")
    assert "an Excel file has its type by the values of all rows" in wrong
    assert not (folder / "l.json").exists()


def test_an_unknown_method_is_named_as_ever():
    with pytest.raises(OptionError, match="there is no method 'nosy'"):
        CliRunner().invoke(
            cli,
            ["synthesize", "real.csv", "--out", "o.csv", "--method", "nosy", "--epsilon", "1"],
            catch_exceptions=False,
            standalone_mode=False,
        )


def release(real, tmp_path):
    (tmp_path / "p.toml").write_text('[[rule]]\nmeasure = "fidelity.hellinger"\nupper = 1.0\n')
    return (
        "release", real, "--schema", "s.toml", "--policy", "p.toml", "--out", "out",
        "--method", "noisy", "-o", "noisy.epsilon=1", "--measures", "fidelity.hellinger",
    )  # fmt: skip


def test_a_release_says_what_epsilon_does_not_cover(folder):
    run(*release("real.csv", folder))
    rows = pl.read_parquet("out-steward/train.parquet").height
    for name in ("README.md", "synthetic.csv.README.md"):
        told = (folder / "out" / name).read_text()
        assert "without noise, and tell how many there are" in told
        assert f"n = {rows}" not in told
        assert "not that of the whole real table." in told


def test_an_excel_file_is_not_released_under_epsilon(folder):
    PEOPLE.write_excel("real.xlsx")
    assert "under epsilon: an Excel file has its type" in refused(*release("real.xlsx", folder))
    assert not (folder / "out-steward").exists()
