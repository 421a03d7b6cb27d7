"""Receipts: what was assessed can be repeated, and whatever differs is named."""

import dataclasses
import json
import math
import stat

import polars as pl
import pytest

from people import people
from understudy.errors import DataError, OptionError
from understudy.workflows import policy
from understudy.workflows import verify as receipt
from understudy.workflows.assess import assess
from understudy.workflows.verify import differences

MEASURES = ["fidelity.hellinger", "privacy.identical_matches"]
COLUMNS = ("sex", "age", "income", "town")
RULES = '[[rule]]\nmeasure = "fidelity.hellinger"\nupper = 1.0\n'


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with three tables and the receipt of their assessment."""
    folder = tmp_path_factory.mktemp("receipt")
    for name, seed in (("train", 1), ("synthetic", 2), ("holdout", 3)):
        people(120, seed).select(COLUMNS).write_csv(folder / f"{name}.csv")
    files = [folder / f"{name}.csv" for name in ("train", "synthetic", "holdout")]
    result = assess(*files[:2], holdout=files[2], measures=MEASURES, seed=5)
    judged = policy.loads(RULES).judge(f.to_dict() for f in result)
    result = dataclasses.replace(result, verdicts=tuple(v.to_dict() for v in judged))
    receipt.of(result, *files, policy=RULES).write(folder / "run.json")
    return folder, result


@pytest.fixture
def folder(made, tmp_path):
    """A copy of it that may be spoilt."""
    for file in made[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    spoil(tmp_path, lambda data: move(data, tmp_path))
    return tmp_path


def move(data, folder):
    for entries in data["files"].values():
        for entry in entries:
            entry["path"] = entry["absolute"].rpartition("/")[2]
            entry["absolute"] = str(folder / entry["path"])


def spoil(folder, change):
    data = json.loads((folder / "run.json").read_text())
    change(data)
    (folder / "run.json").write_text(json.dumps(data))


def finding(data, measure="fidelity.hellinger"):
    return next(f for f in data["assessment"]["findings"] if f["measure"] == measure)


def test_what_was_assessed_comes_out_again(folder):
    check = receipt.verify(folder / "run.json")
    assert check.equal, check.to_dict()
    assert (check.tolerance, check.largest, check.versions) == (0.0, 0.0, ())
    assert [f.measure for f in check.result] == MEASURES


def test_it_is_for_its_owner_and_says_so(folder, made):
    data = json.loads((folder / "run.json").read_text())
    assert "Do not share" in data["keep"]
    assert stat.S_IMODE((made[0] / "run.json").stat().st_mode) == 0o600
    assert bytes.fromhex(data["key"]) == made[1].key


def test_the_key_is_in_nothing_that_is_shared(made):
    key = made[1].key.hex()
    assert len(key) == 64
    assert key not in made[1].to_json()
    assert key not in made[1].to_html()
    assert key not in repr(made[1])


def test_a_changed_byte_in_training_is_named_with_what_follows(folder):
    train = people(120, 1).select(COLUMNS)
    train[0, "age"] = 89 if train[0, "age"] != 89 else 88
    train.write_csv(folder / "train.csv")
    check = receipt.verify(folder / "run.json")
    assert not check.equal
    assert [text.split(":")[0] for text in check.files] == ["train"]
    assert "other values" in check.files[0]
    assert {d.where for d in check.findings} >= {"fidelity.hellinger"}


def test_other_bytes_with_the_same_values_are_only_noted(folder):
    text = (folder / "train.csv").read_text()
    (folder / "train.csv").write_text(text.replace("\n", "\r\n"))
    check = receipt.verify(folder / "run.json")
    assert check.equal
    assert "other bytes, but the same values in the columns assessed" in check.notes[0]


def test_a_changed_column_that_was_left_out_is_not_called_the_same(tmp_path):
    for name, seed in (("train", 1), ("synthetic", 2)):
        people(120, seed).select("person_id", *COLUMNS).write_csv(tmp_path / f"{name}.csv")
    files = [tmp_path / f"{name}.csv" for name in ("train", "synthetic")]
    receipt.of(assess(*files, measures=MEASURES[:1]), *files).write(tmp_path / "run.json")
    frame = pl.read_csv(files[0]).with_columns(person_id=pl.col("person_id") + 7)
    frame.write_csv(files[0])
    check = receipt.verify(tmp_path / "run.json")
    assert check.equal
    assert check.notes[0].endswith("has other bytes, but the same values in the columns assessed")


def test_files_beside_the_receipt_are_read_before_those_at_the_old_place(folder, tmp_path_factory):
    for inside in (".", "tables"):
        copy = tmp_path_factory.mktemp("copy")
        (copy / inside).mkdir(exist_ok=True)
        for file in folder.iterdir():
            (copy / inside / file.name).write_bytes(file.read_bytes())
        (copy / inside / "run.json").rename(copy / "run.json")
        spoil(copy, lambda data, inside=inside: [
            entry.update(path=f"{inside}/{entry['path']}", absolute=str(folder / entry["path"]))
            for entries in data["files"].values() for entry in entries
        ])  # fmt: skip
        assert receipt.verify(copy / "run.json").equal
        people(120, 9).select(COLUMNS).write_csv(copy / inside / "train.csv")
        check = receipt.verify(copy / "run.json")
        assert not check.equal
        assert check.read[0] == f"train: {copy / inside / 'train.csv'}".replace("/./", "/")
        assert check.to_dict()["read"] == list(check.read)
        (copy / inside / "train.csv").unlink()
        check = receipt.verify(copy / "run.json")
        assert check.equal
        assert check.read[0] == f"train: {folder / 'train.csv'}"


def test_places_are_kept_as_seen_from_the_receipt(tmp_path, monkeypatch):
    tree = tmp_path / "tree"
    for part, seed in (("one", 1), ("two", 2)):
        (tree / part).mkdir(parents=True)
        people(120, seed).select(COLUMNS).write_csv(tree / part / "data.csv")
    files = [tree / part / "data.csv" for part in ("one", "two")]
    made = receipt.of(assess(*files, measures=MEASURES[:1]), *files)
    monkeypatch.chdir(tree)
    made.write("one/run.json")
    tree.rename(tmp_path / "moved")
    check = receipt.verify(tmp_path / "moved" / "one" / "run.json")
    assert check.equal, "files of one name in two folders are told apart"
    assert [text.partition("moved/")[2] for text in check.read] == ["one/data.csv", "two/data.csv"]


def test_no_findings_are_nothing_to_verify(folder):
    spoil(folder, lambda data: data["assessment"].update(findings=[], verdicts=[]))
    spoil(folder, lambda data: data.update(policy=None))
    with pytest.raises(DataError, match="it holds no findings"):
        receipt.verify(folder / "run.json")


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("exchangeability_p_value", 0.123),
        ("warnings", ["holdout: is not fresh."]),
        ("notes", ["synthetic: 3 values of 'age' outside the range of training."]),
    ],
)
def test_the_check_of_the_holdout_the_warnings_and_the_notes_are_compared(folder, name, changed):
    spoil(folder, lambda data: data["assessment"]["provenance"].update({name: changed}))
    check = receipt.verify(folder / "run.json")
    assert not check.equal
    assert [d.what.split()[0] for d in check.checks] == [name]
    assert not check.findings
    assert check.to_dict()["checks"][0]["where"] == "checks"


def test_notes_of_a_finding_are_compared(folder):
    spoil(folder, lambda data: finding(data).update(note="All is well."))
    assert [d.what for d in receipt.verify(folder / "run.json").findings] == ["note"]


def test_what_was_proposed_need_not_be_proposed_again(tmp_path):
    files = [tmp_path / "train.csv", tmp_path / "synthetic.csv"]
    for seed, file in enumerate(files):
        people(120, seed).select(COLUMNS).write_csv(file)
    result = assess(*files, keys="auto", sensitive="all", measures=MEASURES[:1])
    assert [note.split(":")[0] for note in result.provenance["notes"][:2]] == [
        "keys = auto",
        "sensitive = all",
    ]
    receipt.of(result, *files).write(tmp_path / "run.json")
    check = receipt.verify(tmp_path / "run.json")
    assert check.equal, check.to_dict()


def test_rules_with_the_same_words_are_told_apart():
    passed, failed = ({"rule": "m: at most 0.123457", "outcome": o} for o in ("PASS", "FAIL"))
    found = differences.of_verdicts([passed, failed], [failed, failed])
    assert [(d.what, d.before, d.now) for d in found] == [
        ("rule 1, m: at most 0.123457", "PASS", "FAIL")
    ]
    found = differences.of_verdicts([passed, failed], [failed])
    assert [(d.before, d.now) for d in found] == [("PASS", "FAIL"), ("FAIL", None)]
    other = {**passed, "rule": "n: at most 1"}
    (found,) = differences.of_verdicts([passed], [other])
    assert (found.before, found.now) == ("PASS (m: at most 0.123457)", "PASS (n: at most 1)")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda f: f.update(value=f["value"] * 1.5), "value"),
        (lambda f: f["interval"].__setitem__(0, 0.001), "interval 1"),
        (lambda f: f.update(reference=0.001), "reference"),
        (lambda f: f.update(p_value=0.123), "p_value"),
        (lambda f: f.update(flagged=not f["flagged"]), "flagged"),
        (lambda f: f["parts"][0].update(value=7.0), "parts {} value"),
        (lambda f: f["tables"].update(more={"columns": ["a"], "rows": [[1]]}), "tables more"),
    ],
)
def test_a_changed_number_in_the_receipt_is_shown_with_both(folder, change, what):
    spoil(folder, lambda data: change(finding(data)))
    data = json.loads((folder / "run.json").read_text())
    check = receipt.verify(folder / "run.json")
    assert [d.where for d in check.findings] == ["fidelity.hellinger"]
    expected = what.format(finding(data)["parts"][0]["name"])
    assert check.findings[0].what.startswith(expected)
    assert check.findings[0].before != check.findings[0].now
    assert str(check.findings[0].now) in str(check.findings[0])
    assert not check.files


def test_a_changed_seed_differs_and_a_changed_verdict_too(folder):
    spoil(folder, lambda data: data["assessment"]["provenance"].update(seed=6))
    assert receipt.verify(folder / "run.json").findings
    spoil(folder, lambda data: data["assessment"]["provenance"].update(seed=5))
    spoil(folder, lambda data: data["assessment"]["verdicts"][0].update(outcome="FAIL"))
    check = receipt.verify(folder / "run.json")
    assert [(d.before, d.now) for d in check.verdicts] == [("FAIL", "PASS")]
    assert not check.findings


def test_other_versions_are_named_and_allow_for_a_last_digit(folder):
    def other(data):
        data["assessment"]["provenance"]["libraries"]["numpy"] = "1.0"
        finding(data)["value"] *= 1 + 1e-9

    spoil(folder, other)
    check = receipt.verify(folder / "run.json")
    assert check.equal
    assert [(d.what, d.before) for d in check.versions] == [("numpy", "1.0")]
    assert 1e-10 < check.largest < check.tolerance == 1e-6
    assert not receipt.verify(folder / "run.json", tolerance=0).equal
    with pytest.raises(OptionError, match="tolerance"):
        receipt.verify(folder / "run.json", tolerance=-1)


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda text: text[: len(text) // 2], "not a whole receipt"),
        (lambda text: "{}", "another kind"),
        (lambda text: "[1]", "another kind"),
        (lambda text: "a,b\n1,2", "not a whole receipt"),
        (lambda text: text.replace('"understudy_receipt": 1', '"understudy_receipt": 9'), "sion 9"),
        (lambda text: text.replace('"seed"', '"sad"'), "seed is missing"),
        (lambda text: text.replace('"aligned": false', '"aligned": 3'), "aligned has the wrong"),
        (lambda text: text.replace('"key": "', '"key": "x'), "not a whole receipt"),
    ],
)
def test_what_is_no_receipt_is_refused(folder, spoilt, message):
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(spoilt(text))
    with pytest.raises(DataError, match=message) as caught:
        receipt.verify(folder / "run.json")
    assert caught.value.hint


def test_tables_are_found_beside_the_receipt_or_must_be_named(folder):
    (folder / "away").mkdir()
    (folder / "train.csv").rename(folder / "away" / "train.csv")
    with pytest.raises(DataError, match=r"there is no file .*train\.csv any more") as caught:
        receipt.verify(folder / "run.json")
    assert "--train" in caught.value.hint
    assert receipt.verify(folder / "run.json", train=folder / "away" / "train.csv").equal
    spoil(folder, lambda data: data["files"]["holdout"][0].update(absolute="gone/holdout.csv"))
    assert receipt.verify(folder / "run.json", train=folder / "away" / "train.csv").equal
    with pytest.raises(OptionError, match="synthetic: the receipt is of 1, 2 given"):
        receipt.verify(folder / "run.json", train="a.csv", synthetic=["b.csv", "c.csv"])
    with pytest.raises(DataError, match="no such receipt"):
        receipt.verify(folder / "other.json")


def test_frames_have_no_place_and_are_given_again(tmp_path):
    train, synthetic = people(100, 1), [people(100, 2), people(100, 3)]
    result = assess(train, synthetic, measures=["fidelity.hellinger"])
    receipt.of(result, train, synthetic).write(tmp_path / "run.json")
    with pytest.raises(DataError, match="was no file"):
        receipt.verify(tmp_path / "run.json")
    assert receipt.verify(tmp_path / "run.json", train=train, synthetic=synthetic).equal
    turned = receipt.verify(tmp_path / "run.json", train=train, synthetic=synthetic[::-1])
    assert len(turned.files) == 2


def test_leaves_of_nested_values_are_compared_by_name():
    before = [{"measure": "m", "parts": [{"name": "a", "value": 1.0}, {"name": "b", "value": 2.0}]}]
    now = [{"measure": "m", "parts": [{"name": "b", "value": 2.0}, {"name": "a", "value": 1.5}]}]
    found, largest = differences.of_findings(before, now, 0.0)
    assert [(d.what, d.before, d.now) for d in found] == [("parts a value", 1.0, 1.5)]
    assert largest == pytest.approx(1 / 3)
    assert differences.of_findings(before, now, 0.5) == ([], largest)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf"), 10**40])
def test_a_number_that_is_none_is_equal_to_nothing(folder, odd):
    if isinstance(odd, float):
        assert differences.relative(odd, 0.5) == differences.relative(0.5, odd) == math.inf
    before, now = ([{"measure": "m", "value": value}] for value in (odd, 0.5))
    assert differences.of_findings(before, now, 0.9)[0]
    assert differences.of_findings(now, before, 0.9)[0]
    spoil(folder, lambda data: finding(data).update(value=odd))
    with pytest.raises(DataError, match="not a whole receipt") as caught:
        receipt.verify(folder / "run.json")
    assert caught.value.hint


def test_a_declared_schema_is_part_of_it(made, tmp_path):
    frame = pl.DataFrame({"code": [1, 2, 3, 4] * 30, "x": [0.5 * i for i in range(120)]})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "s.toml").write_text(
        'version = 1\n[[column]]\nname = "code"\nkind = "category"\nlevels = ["1", "2", "3", "4"]\n'
        '[[column]]\nname = "x"\nkind = "number"\ndecimals = 1\nbounds = [0, 100]\n'
    )
    file, schema = tmp_path / "a.parquet", tmp_path / "s.toml"
    result = assess(file, file, schema=schema, measures=["fidelity.hellinger"])
    receipt.of(result, file, file, schema=schema).write(tmp_path / "run.json")
    assert "bounds = [0, 100]" in receipt.read(tmp_path / "run.json").schema
    assert receipt.verify(tmp_path / "run.json").equal
