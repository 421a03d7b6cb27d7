"""A study that was stopped goes on from its journal, and gives the same figures."""

import json

import pytest

from people import people
from understudy.errors import OptionError
from understudy.studies import published
from understudy.studies.hittmeir2019 import study as hittmeir
from understudy.studies.platzer2021 import study as platzer


class Enough(Exception):
    """The study is stopped."""


def stopping_after(label):
    """Stop as soon as progress names this."""

    def progress(said, done, total):
        if said.startswith(label):
            raise Enough

    return progress


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "files"
    made.mkdir()
    for number, name in enumerate(("trn", "val", "aaa", "bbb")):
        people(40, number).drop("nothing").write_csv(made / f"town_{name}.csv")
    return made


def entries(journal):
    return [json.loads(line)["task"] for line in journal.read_text().split("\n")[1:] if line]


def test_generators_that_were_measured_are_not_measured_again(folder, tmp_path, monkeypatch):
    journal = tmp_path / "journal"
    whole = platzer.run(folder)
    with pytest.raises(Enough):
        platzer.run(folder, journal=journal, progress=stopping_after("town bbb"))
    assert entries(journal) == ["town, aaa", "town, bbb"]
    read, measured = platzer.read_other, []
    monkeypatch.setattr(
        platzer, "read_other", lambda path, training: measured.append(path) or read(path, training)
    )
    assert platzer.run(folder, journal=journal) == whole
    assert [path.name for path in measured] == ["town_val.csv"]
    assert entries(journal) == ["town, aaa", "town, bbb", "town, val"]
    people(40, 9).drop("nothing").write_csv(folder / "town_bbb.csv")
    with pytest.raises(OptionError, match="journal of another study"):
        platzer.run(folder, journal=journal)


def test_an_error_of_a_part_is_raised_as_it_is(folder, tmp_path):
    (folder / "town_bbb.csv").write_text("other\n1\n")
    with pytest.raises(platzer.DataError) as caught:
        platzer.run(folder, journal=tmp_path / "journal")
    with pytest.raises(platzer.DataError) as again:
        platzer.run(folder)
    assert (again.value.message, again.value.hint) == (caught.value.message, caught.value.hint)
    assert caught.value.hint


def test_models_that_were_trained_are_not_trained_again(real_data, tmp_path, monkeypatch):
    real_data("boston_housing")
    journal, asked = tmp_path / "journal", {"datasets": ("boston_housing",), "quick": True}
    whole = hittmeir.run(**asked)
    with pytest.raises(Enough):
        hittmeir.run(**asked, journal=journal, progress=stopping_after("boston_housing, SVR"))
    assert entries(journal) == [
        "boston_housing, LR, 0, apart", "boston_housing, LR, 0, by training",
        "boston_housing, SVR, 0, apart",
    ]  # fmt: skip
    guess, trained = hittmeir._guess, set()
    monkeypatch.setattr(
        hittmeir, "_guess", lambda model, *rest: trained.add(model) or guess(model, *rest)
    )
    assert hittmeir.run(**asked, journal=journal) == whole
    assert trained == {"SVR"}


def test_parts_that_stand_in_the_journal_are_not_computed_again(tmp_path):
    done = []

    class Job:
        def do(self, setting):
            done.append(setting.key)
            return [{"release": setting.key}]

    journal = tmp_path / "journal"
    for names in (("a",), ("a", "b")):
        with published.kept_in(journal, "own") as kept:
            parts = [(name,) for name in names]
            found = [rows for _, rows in published.computed_parts(Job(), parts, kept)]
    assert found == [[{"release": "a"}], [{"release": "b"}]]
    assert done == ["a", "b"]
