"""Fits under epsilon from text files: each line is read alone, and none is refused."""

import pytest
from click.testing import CliRunner

import understudy as us
from claimant import DECLARED, PEOPLE, Noisy
from understudy.cli import cli
from understudy.data.schema import dumps
from understudy.errors import DataError
from understudy.synthesizers import SYNTHESIZERS
from understudy.synthesizers.claims import can_claim

METHODS = ["noisy", *(name for name, known in SYNTHESIZERS.items() if can_claim(known))]
LINES = {  # and whether it is an error without epsilon
    '"p9,f,Wien': True,
    "p9,f": True,
    "p9,f,Wien,Linz": True,
    'p9,f" ,Graz': True,
    "p9,f,Wi\ren": False,
    "p9,f,Wi\0en": False,
    ",,": False,
}
POLICY = 'version = 1\n\n[[rule]]\nmeasure = "fidelity.univariate"\nupper = 1\n'


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setitem(SYNTHESIZERS, "noisy", Noisy)


@pytest.fixture
def seen(monkeypatch):
    """Every table that a method is fitted to."""
    tables = []
    for method in METHODS:
        known = SYNTHESIZERS[method].fit

        def fit(self, table, *more, known=known):
            tables.append(table.frame)
            return known(self, table, *more)

        monkeypatch.setattr(SYNTHESIZERS[method], "fit", fit)
    return tables


def write(path, line):
    """Write people with a blank line after each, and one line more."""
    body = PEOPLE.write_csv().replace("\n", "\n\n")
    path.write_text(f"{body}{line}\n" if line else body, newline="")
    return path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("line", LINES)
def test_one_line_more_changes_no_other_row_and_is_not_refused(line, method, seen, tmp_path):
    for name, more in (("without.csv", ""), ("with.csv", line)):
        path = write(tmp_path / name, more)
        us.synthesizer(method, epsilon=1.0).fit(path, schema=DECLARED)
    assert [table.height for table in seen] == [200, 201]
    assert seen[1][:200].equals(seen[0])
    if LINES[line]:
        with pytest.raises(DataError, match="line 403 has"):
            us.synthesizer(method).fit(path, schema=DECLARED)
    else:
        us.synthesizer(method).fit(path, schema=DECLARED)


def test_the_command_line_reads_each_line_alone(seen, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "real.csv", '"p9,f,Wien')
    (tmp_path / "s.toml").write_text(dumps(DECLARED))
    words = ["synthesize", "real.csv", "--schema", "s.toml", "--method", "noisy", "--out", "o.csv"]
    done = CliRunner().invoke(cli, [*words, "--epsilon", "1"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert seen[0].height == 201
    assert "line 403" in str(CliRunner().invoke(cli, words).exception)


def test_a_release_reads_each_line_alone(seen, tmp_path):
    write(tmp_path / "real.csv", '"p9,f,Wien')
    (tmp_path / "policy.toml").write_text(POLICY)

    def release(**options):
        return us.release(
            tmp_path / "real.csv",
            policy=tmp_path / "policy.toml",
            out=tmp_path / "out",
            method="noisy",
            schema=DECLARED,
            options={"noisy": options},
            measures=["fidelity.univariate"],
        )

    with pytest.raises(DataError, match="line 403"):
        release()
    release(epsilon=1.0)
    assert seen[0].height in (100, 101)
