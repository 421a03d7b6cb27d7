"""What a file says about itself is believed of the rows that it was said of, and of no others."""

import json
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from claimant import DECLARED, PEOPLE, Noisy
from people import people
from understudy.data.tables import Table, read_file, read_marker, sidecar, write_file
from understudy.measures import MEASURES
from understudy.synthesizers import SYNTHESIZERS
from understudy.synthesizers.handover import Release, note_for
from understudy.synthesizers.partial import Replacement
from understudy.workflows import policy
from understudy.workflows.assess import assess

RULES = policy.loads("maximum_epsilon = 1", measures=MEASURES)
MEASURE = "fidelity.hellinger"
EXTENSIONS = ("csv", "csv.gz", "tsv", "parquet", "arrow", "xlsx")


@pytest.fixture(autouse=True)
def noisy(monkeypatch):
    monkeypatch.setitem(SYNTHESIZERS, "noisy", Noisy)


def made(folder: Path, extension: str, replicates: int = 1, name: str = "s", rows=60, **options):
    """Make files under epsilon 1/2, two of them if asked."""
    out = folder / f"{name}.{extension}"
    files = [folder / f"{name}_{n}.{extension}" for n in range(1, replicates + 1)]
    files = [out] if replicates == 1 else files
    fitted = us.synthesizer("noisy", epsilon=0.5).fit(Table.of(PEOPLE, DECLARED))
    Release.of_rows(fitted, rows).write(files, note=note_for(out))
    return files


def judged(files):
    """Assess files against the people that they were made from, and judge the epsilon."""
    told = assess(PEOPLE, files, schema=DECLARED, measures=[MEASURE]).provenance
    (verdict,) = RULES.judge([], told)
    return verdict, told


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("replicates", [1, 2])
def test_a_file_as_it_was_made_is_believed(extension, replicates, tmp_path):
    files = made(tmp_path, extension, replicates)
    verdict, told = judged(files)
    assert (verdict.outcome, told["epsilon_spent"], told["method"]) == ("PASS", 0.5, "noisy")
    assert "doubts" not in told


def overwritten(frame: pl.DataFrame) -> pl.DataFrame:
    return PEOPLE.select(frame.columns)


def one_cell(frame: pl.DataFrame) -> pl.DataFrame:
    other = pl.when(pl.col("town") == "Graz").then(pl.lit("Wien")).otherwise(pl.lit("Graz"))
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 30).then(other).otherwise("town").alias("town")
    )


CHANGES = {
    "overwritten": overwritten,
    "one row less": lambda frame: frame.head(frame.height - 1),
    "one row more": lambda frame: pl.concat([frame, frame.tail(1)]),
    "one cell": one_cell,
    "another order": lambda frame: frame.sort("sex", "town", descending=[True, False]),
}


@pytest.mark.parametrize(
    ("change", "extension", "replicates"),
    [
        *((change, "csv", 1) for change in CHANGES),
        *(("one cell", extension, 2) for extension in ("csv", "xlsx", "arrow")),
    ],
)
def test_other_rows_make_a_marker_unbelieved(change, extension, replicates, tmp_path):
    files = made(tmp_path, extension, replicates)
    assert judged(files)[0].outcome == "PASS"
    write_file(CHANGES[change](read_file(files[-1])), files[-1])
    assert read_marker(files[-1]) is not None
    verdict, told = judged(files)
    assert verdict.outcome == "INCONCLUSIVE"
    assert f"the marker of {files[-1].name} was written for other rows" in verdict.why
    assert "Give the file as it was made" in verdict.why
    assert "epsilon_spent" not in told
    assert "method" not in told
    assert told["doubts"][0] in told["notes"]
    assert str(tmp_path) not in json.dumps(told["doubts"])


def test_the_marker_inside_a_file_that_was_written_again_is_not_believed(tmp_path):
    """Whoever writes other rows with the old metadata has copied the marker, not the table."""
    (file,) = made(tmp_path, "parquet")
    metadata = pl.read_parquet_metadata(file)
    PEOPLE.select("sex", "town").write_parquet(
        file, metadata={"understudy": metadata["understudy"]}
    )
    assert read_marker(file).epsilon == 0.5
    verdict, _ = judged([file])
    assert verdict.outcome == "INCONCLUSIVE"
    assert "other rows" in verdict.why


def test_replicates_are_told_apart(tmp_path):
    files = made(tmp_path, "csv", 2)
    files[1].write_bytes(files[0].read_bytes())
    assert "the marker of s_2.csv" in judged(files)[0].why
    assert judged(files[:1])[0].outcome == "PASS"


@pytest.mark.parametrize("spoilt", ["gone", "empty", "of one", "cut off"])
def test_a_marker_without_a_digest_is_not_believed(spoilt, tmp_path):
    files = made(tmp_path, "csv", 2)
    note = sidecar(tmp_path / "s.csv")
    text = note.read_text()
    marker = read_marker(files[0])
    line = marker.to_json()
    data = json.loads(line)
    if spoilt == "gone":
        data.pop("digests")
    else:
        known = data["digests"]
        short = [digest[:20] for digest in known]
        data["digests"] = {"empty": [], "of one": known[:1], "cut off": short}[spoilt]
    note.write_text(text.replace(line, json.dumps(data)))
    verdict, told = judged(files)
    assert verdict.outcome == "INCONCLUSIVE"
    expected = "written for other rows" if spoilt == "cut off" else "holds no digest of its rows"
    assert expected in verdict.why
    assert len(told["doubts"]) == 2


def test_rows_are_taken_for_persons_only_where_the_marker_is_of_these_rows(tmp_path):
    real = people(120, 1)
    out = tmp_path / "p.csv"
    release = Release.of_replacement(Replacement.of(Table.of(real), ["age"], method="cart"))
    release.write([out], note=note_for(out))
    told = assess(real, out, measures=[MEASURE]).provenance
    assert told["aligned"] is True
    frame = pl.read_csv(out, infer_schema=False)
    frame.with_columns(age=pl.col("age").reverse()).write_csv(out)
    told = assess(real, out, measures=[MEASURE]).provenance
    assert told["aligned"] is False
    assert "other rows" in told["doubts"][0]


def test_the_rule_of_combining_is_not_chosen_by_a_marker_of_other_rows(tmp_path):
    real, formula = people(200, 1), "income ~ age"
    out, name = tmp_path / "p.parquet", "utility.estimates"
    us.synthesizer("cart", proper=True, seed=1).fit(real)
    fitted = us.synthesizer("cart", proper=True, seed=1).fit(real)
    Release.of_rows(fitted, 200, train=Table.of(real)).write([out])
    asked = {"formula": formula, "measures": [name]}
    assert "Rule proper:" in assess(real, out, **asked)[name].note
    old = pl.read_parquet_metadata(out)["understudy"]
    pl.read_parquet(out).reverse().write_parquet(out, metadata={"understudy": old})
    assert "Rule proper:" not in assess(real, out, **asked)[name].note
    contest = us.compare(real, {"a": out}, measures=[name], formula=formula, curve=False)
    assert "Rule proper:" not in contest["a"][name].note
    assert any("other rows" in note for note in contest.to_dict()["provenance"]["notes"])


@pytest.mark.parametrize("extension", ["csv", "parquet"])
def test_what_was_not_made_together_is_spent_each(extension, tmp_path):
    first, second = (
        made(tmp_path, extension, name=name, rows=n) for name, n in (("a", 60), ("b", 61))
    )
    assert judged([*first, *second])[1]["epsilon_spent"] == 1.0
    third = made(tmp_path, extension, 2, name="c")
    assert judged(third)[1]["epsilon_spent"] == 0.5
    assert judged([*first, *third])[1]["epsilon_spent"] == 1.0
    same = [*made(tmp_path, extension, name="d"), *made(tmp_path, extension, name="e")]
    assert judged(same)[1]["epsilon_spent"] == 1.0


def test_a_digest_is_no_secret_and_holds_no_row(tmp_path):
    (file,) = made(tmp_path, "csv")
    (digest,) = read_marker(file).digests
    assert digest.startswith("rows-1:")
    assert len(digest) == len("rows-1:") + 64
    assert digest in sidecar(file).read_text()
