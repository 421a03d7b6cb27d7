"""Releases on their way to disk: the README says what is true of them."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.tables import Marker, Table, read_marker
from understudy.synthesizers import SYNTHESIZERS
from understudy.synthesizers.handover import Release, note_for, readme
from understudy.synthesizers.partial import Replacement

TABLE = Table.of(people(200, 1))
FULL = Marker("cart", 1234, files=("s.csv",))
PARTLY = replace(FULL, kind="partially synthetic", aligned=True, replaced=("a", "b"), where="a > 1")
CARD = SYNTHESIZERS["cart"].card


@pytest.mark.parametrize("method", list(SYNTHESIZERS))
def test_the_card_is_in_the_readme(method):
    card = SYNTHESIZERS[method].card
    text = readme(replace(FULL, method=method), card)
    for words in (card.keeps, card.loses, card.claim, f"`{method}`", "1,234 rows", us.__version__):
        assert words in text


@pytest.mark.parametrize(
    ("marker", "proper", "rule"),
    [
        (
            FULL,
            False,
            "v * (s / n + 1 / m), for s rows in a file, n rows in the real table and m = 1",
        ),
        (replace(FULL, replicates=5), False, "v * (s / n + 1 / m), for s rows"),
        (replace(FULL, replicates=5), True, "v * (s / n + (1 + s / n) / m)"),
        (replace(PARTLY, replicates=5), False, "v + b / m, for m = 5 files"),
        (replace(PARTLY, replicates=5), True, "v + b / m, for m = 5 files"),
        (PARTLY, False, "intervals\nare too narrow where they rest on replaced columns"),
    ],
)
def test_the_combining_rule_is_the_one_for_the_release(marker, proper, rule):
    text = readme(marker, CARD, proper=proper)
    assert rule in text
    rules = ("v * (s / n + 1 / m)", "v * (s / n + (1 + s / n) / m)", "v + b / m")
    assert sum(other in text for other in rules) <= 1


def test_what_is_real_is_said():
    assert "`a`, `b` of the records with a > 1" in readme(PARTLY, CARD)
    assert "The columns that were kept are real data" in readme(PARTLY, CARD)
    assert "real data" not in readme(FULL, CARD)
    assert "learnt from other records" in readme(PARTLY, CARD, learnt_elsewhere=True)
    assert "Only rows with sex == 'f'" in readme(replace(FULL, given="sex == 'f'"), CARD)


@pytest.mark.parametrize("proper", [False, True])
def test_proper_replicates_have_a_model_each(proper, tmp_path):
    outputs = [tmp_path / f"s_{i}.parquet" for i in (1, 2)]

    def fitted(replicate: int):
        made = us.synthesizer("cart", proper=proper, seed=3)
        return made.fit(TABLE, replicate=replicate)

    Release.of_rows(fitted(0), 50, train=TABLE).write(outputs, save=tmp_path / "m")
    first, second = map(pl.read_parquet, outputs)
    assert first.equals(fitted(0).sample(50))
    assert second.equals(fitted(1).sample(50, replicate=1))
    assert second.equals(fitted(0).sample(50, replicate=1)) is not proper
    assert us.load(tmp_path / "m").sample(50).equals(first)


def test_a_partial_release_is_marked(tmp_path):
    made = Release.of_replacement(Replacement.of(TABLE, ["age"], method="cart", where="sex == f"))
    out = tmp_path / "p.csv"
    made.write([out], note=note_for(out))
    marker = read_marker(out)
    assert marker is not None
    assert (marker.where, marker.replaced, marker.rows) == ("sex == 'f'", ("age",), 200)
    assert marker.files == ("p.csv",)


def test_where_a_note_is_written(tmp_path):
    assert note_for(tmp_path / "s.csv.gz") == tmp_path / "s.csv.gz.README.md"
    assert note_for(tmp_path / "s.parquet") is None
    (tmp_path / "null.csv").symlink_to("/dev/null")
    assert note_for(tmp_path / "null.csv") is None
    assert note_for(Path("s.xlsx")) == Path("s.xlsx.README.md")


def test_a_readme_of_somebody_else_is_left_alone(tmp_path):
    out, note = tmp_path / "s.csv", tmp_path / "s.csv.README.md"
    note.write_text("my own words")
    with pytest.raises(us.UnderstudyError, match="not ours and would be overwritten"):
        note_for(out)
    note.write_text(readme(FULL, CARD))
    assert note_for(out) == note


def test_one_saved_model_makes_no_proper_replicates(tmp_path):
    us.synthesizer("cart", proper=True).fit(TABLE).save(tmp_path / "model")
    release = Release.of_rows(us.load(tmp_path / "model"), 20)
    with pytest.raises(us.UnderstudyError, match="need a model each"):
        release.write([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert not list(tmp_path.glob("*.csv"))
    release.write([tmp_path / "a.csv"])


def test_the_readme_calls_no_row_nobody_s():
    assert "may still equal real ones" in readme(FULL, SYNTHESIZERS["bootstrap"].card)
