"""compare(): several releases side by side, and no more said than the intervals support."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.codec import Codec
from understudy.errors import UnderstudyError
from understudy.judging.comparison import compare_tables
from understudy.judging.findings import Finding
from understudy.measures import MEASURES, choose
from understudy.options import declared
from understudy.synthesizers.handover import Release, note_for
from understudy.workflows.assess import assess
from understudy.workflows.assessment import Assessment
from understudy.workflows.compare.differences import (
    DECIDING,
    FIDELITY,
    SHARE,
    Difference,
    difference,
    in_step,
    spaced,
)
from understudy.workflows.compare.judgement import judge

CHEAP: dict[str, dict[str, Any]] = {
    FIDELITY: {"resamples": 30, "permutations": 1},
    SHARE: {"permutations": 64},
}


LEAST = (("resamples", 2), ("permutations", 9), ("iterations", 2), ("attacks", 20), ("pairs", 0))


def real(rows: int, seed: int) -> pl.DataFrame:
    """Draw people whose columns hang together."""
    club = pl.format("{} {}", "sex", pl.col("age") // 24).alias("club")
    plan = pl.format("{} {}", "smoker", pl.col("age") // 36).alias("plan")
    return people(rows, seed).select("sex", "age", "town", "smoker", club, plan)


def flipped(train: pl.DataFrame, p: float, seed: int) -> pl.DataFrame:
    frame: pl.DataFrame = us.synthesizer("flip", p=p, seed=seed).fit(train).sample(train.height)
    return frame


def found(measure: str, value: float, spread: float = 0.01, **more: Any) -> Finding:
    reference = {FIDELITY: 0.1, SHARE: 0.5}.get(measure)
    interval = (value - 1.96 * spread, value + 1.96 * spread)
    whole = {"unit": "fraction", "better": "lower", "reference": reference, **more}
    return Finding(measure, value=value, interval=interval, **whole)


def contestants(**places: tuple[float, float]) -> dict[str, Assessment]:
    return {
        name: Assessment((found(FIDELITY, x), found(SHARE, y)), {})
        for name, (x, y) in places.items()
    }


def judged(**places: tuple[float, float]) -> Any:
    made = contestants(**places)
    names = list(made)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    looks = 2 * len(pairs)
    return judge(
        made,
        [difference(a, made[a][m], b, made[b][m], looks=looks) for m in DECIDING for a, b in pairs],
    )


@pytest.fixture(scope="module")
def contest() -> us.Contest:
    train, holdout = real(400, 1), real(400, 2)
    made = us.synthesizer("independent", seed=1).fit(train).sample(400)
    tables = {"copy": flipped(train, 0.0, 1), "fresh": real(400, 3), "alone": made}
    chosen = ["fidelity.hellinger", "privacy.identical_matches"]
    return us.compare(train, tables, holdout=holdout, measures=chosen, options=CHEAP, seed=4)


def test_fresh_rows_dominate_copies_and_broken_relations(contest: us.Contest) -> None:
    assert contest.pareto == ("fresh",)
    by = contest.judgement.dominated_by
    assert "fresh" in by["copy"]
    assert "fresh" in by["alone"]
    nearer = [
        d for d in contest.differences if d.measure == FIDELITY and {d.a, d.b} == {"copy", "fresh"}
    ]
    assert nearer[0].value < 0, "the copy is nearer to training"
    assert nearer[0].better is None, "and that is no merit"
    assert any("prefer 'fresh'" in sentence for sentence in contest.recommendation)


def test_findings_are_those_of_assess(contest: us.Contest) -> None:
    train, holdout = real(400, 1), real(400, 2)
    alone = assess(
        train,
        real(400, 3),
        holdout=holdout,
        measures=[f.measure for f in contest["fresh"]],
        options=CHEAP,
        seed=4,
    )
    assert [f.to_dict() for f in contest["fresh"]] == [f.to_dict() for f in alone]
    assert contest["fresh"].notes == alone.notes
    assert "privacy measures were tested" in " ".join(alone.notes)
    assert set(contest["fresh"].provenance) == set(alone.provenance)


@pytest.mark.slow
def test_a_candidate_may_be_several_replicates() -> None:
    train, release = real(120, 1), [real(120, 3), real(100, 4)]
    asked: dict[str, Any] = {"measures": ["fidelity"], "options": CHEAP, "seed": 2}
    found = us.compare(train, {"one": release[0], "two": release}, curve=False, **asked)
    alone = assess(train, release, **asked)
    assert [f.to_dict() for f in alone] == [found["two"][f.measure].to_dict() for f in alone]
    one, two = found.to_dict()["candidates"]
    assert "replicates" not in one
    assert (two["replicates"], two["rows"]) == (2, 120)
    with pytest.raises(UnderstudyError, match="candidate 'two'"):
        us.compare(train, {"two": [train, train.drop("age")]})


def test_what_files_say_of_themselves_is_told_of_each_candidate(tmp_path: Path) -> None:
    train, files = real(200, 1), [tmp_path / name for name in ("a.csv", "b.csv")]
    for file, method in zip(files, ("cart", "bootstrap"), strict=True):
        Release.of_rows(us.synthesizer(method, seed=1).fit(train), 100).write(
            [file], note=note_for(file)
        )
    given = dict(zip("ab", files, strict=True))
    found = us.compare(train, given, measures=[], options=CHEAP, curve=False)
    assert [found[name].provenance["method"] for name in found] == ["cart", "bootstrap"]
    assert "method" not in found.provenance


def test_a_function_is_told_as_an_extension(contest: us.Contest) -> None:
    card = dataclasses.replace(MEASURES["fidelity.hellinger"].card, name="acme.nothing")

    @us.described(card)
    def nothing(comparison: Any) -> Finding:
        return card.finding(value=0.0)

    found = us.compare(real(60, 1), {"a": real(60, 2)}, measures=[nothing], options=CHEAP)
    assert "nothing" in found.provenance["extensions"]["acme.nothing"]


def test_notes_and_the_name_of_one(contest: us.Contest) -> None:
    left_out = {"column": "id", "kind": "identifier", "why": "all values differ"}
    more = dataclasses.replace(contest, provenance={"left_out": [left_out], "notes": ["a note"]})
    assert more.notes == ("left out: 'id' (identifier: all values differ)", "a note")
    assert repr(contest).startswith("Candidates(3 candidates: copy")
    one = dataclasses.replace(contest, assessments={"copy": contest["copy"]})
    assert repr(one).startswith("Candidates(1 candidate: copy")


def test_plain_dict(contest: us.Contest) -> None:
    data = json.loads(contest.to_json())
    assert data == contest.to_dict()
    assert data["version"] == 1
    assert [c["name"] for c in data["candidates"]] == ["copy", "fresh", "alone"]
    assert data["pareto"] == ["fresh"]
    assert "privacy.identical_matches" in data["candidates"][0]["flagged"]
    measured = {m["measure"]: m for m in data["measures"]}
    assert measured[SHARE]["reference"] == 0.5
    assert [f["candidate"] for f in measured[SHARE]["findings"]] == ["copy", "fresh", "alone"]
    assert len(data["differences"]) == 3 * len(data["measures"])
    assert {d["looks"] for d in data["differences"] if d["measure"] in DECIDING} == {6}
    assert {d["looks"] for d in data["differences"] if d["measure"] not in DECIDING} == {3}


def test_plane(contest: us.Contest) -> None:
    assert contest.plane is not None
    assert contest.plane["star"] == {"x": 1.0, "y": 0.5}
    name, x, low, high, y, *_ = contest.plane["points"]["rows"][0]
    copy = contest["copy"][FIDELITY]
    assert copy.value is not None
    assert copy.reference is not None
    assert (name, x, y) == ("copy", copy.value / copy.reference, contest["copy"][SHARE].value)
    assert low < x < high
    p, across, up = (
        np.array(column) for column in zip(*contest.plane["curve"]["rows"], strict=True)
    )
    assert np.allclose(p, np.arange(1, 10) / 10)
    assert across[-1] > across[0] > x, "the more is flipped, the further from training"
    assert up[0] > 0.7 > up[-1], "and the fewer are copies"


def test_real_tables_are_coded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    train, holdout = real(100, 1), real(100, 2)
    tables = {"one": real(100, 3), "two": real(100, 4), "three": real(100, 5)}
    fits = []
    fit = Codec.fit.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(
        Codec, "fit", classmethod(lambda cls, *a, **k: fits.append(k) or fit(cls, *a, **k))
    )
    for number in (1, 3):
        fits.clear()
        some = dict(list(tables.items())[:number])
        us.compare(train, some, holdout=holdout, measures=[], options=CHEAP, curve=number > 1)
        assert len(fits) == len({str(k) for k in fits}) + 1, "bins=5, levels=5 by pool and training"


def test_roles_choose_measures_as_in_assess() -> None:
    roles = {"keys": ["sex", "age"], "sensitive": ["smoker"], "target": "plan"}
    cheap = {name: {o: n for o, n in LEAST if o in declared(m)} for name, m in MEASURES.items()}
    contest = us.compare(real(120, 1), {"a": real(120, 2)}, options=cheap, **roles)
    assert [f.measure for f in contest["a"]] == list(choose(given=roles))
    for role in roles:
        needing = [name for name, m in MEASURES.items() if m.card.needs == (role,)]
        assert all(contest["a"][name].status == "ok" for name in needing)
    without = us.compare(real(60, 1), {"a": real(60, 2)}, options=cheap, measures=["privacy"])
    assert without["a"]["privacy.correct_attribution"].status == "not_applicable"


def test_without_a_holdout() -> None:
    train = real(150, 1)
    contest = us.compare(train, {"a": real(150, 2), "b": real(150, 3)}, measures=[], options=CHEAP)
    assert contest.plane is None
    assert contest.pareto == ()
    assert "by fidelity alone a copy of training would win" in contest.recommendation[0]
    assert "F3" in contest.recommendation[1]
    assert "needs a holdout" in contest.to_dict()["provenance"]["notes"][0]
    assert {d.measure for d in contest.differences} == {FIDELITY}


def test_a_holdout_that_stands_in_training_is_no_control() -> None:
    train = people(150, 1).select("age", "income", "town", "day")
    contest = us.compare(train, {"a": train}, holdout=train, measures=[], options=CHEAP)
    assert contest.plane is None
    assert "not fresh" in " ".join(contest.provenance["warnings"])
    assert contest["a"][SHARE].status == "not_applicable"


def test_a_single_candidate_is_placed_beside_the_holdout() -> None:
    contest = us.compare(
        real(150, 1),
        {"a": real(150, 3)},
        holdout=real(150, 2),
        options=CHEAP,
        measures=[],
        curve=False,
    )
    assert contest.differences == ()
    assert contest.pareto == ("a",)
    assert contest.plane is not None
    assert contest.plane["curve"]["rows"] == []
    assert "stands alone" in contest.recommendation[0]


def test_what_cannot_be_compared_is_said() -> None:
    train = real(60, 1)
    with pytest.raises(UnderstudyError, match="there is no candidate"):
        us.compare(train, {})
    with pytest.raises(UnderstudyError, match=r"candidate 'b'.*'age' is missing"):
        us.compare(train, {"a": train, "b": train.drop("age")})
    with pytest.raises(UnderstudyError, match="there is no candidate 'c'"):
        us.compare(train, {"a": train}, measures=[], options=CHEAP)["c"]


def test_paired_draws_give_the_spread_of_the_difference() -> None:
    rng = np.random.default_rng(1)
    common, own = rng.normal(size=200), 0.1 * rng.normal(size=200)
    one = dataclasses.replace(found("m", 0.5, 1.0), draws=common)
    two = dataclasses.replace(found("m", 0.2, 1.0), draws=common + own)
    paired = difference("a", one, "b", two)
    assert paired.paired
    assert paired.interval is not None
    half = (paired.interval[1] - paired.interval[0]) / 2
    assert half == pytest.approx(1.972 * own.std(ddof=1), rel=1e-3), "Student's, 199 degrees"
    assert paired.better == "b"
    unpaired = difference("a", one, "b", two, pair=False)
    assert not unpaired.paired
    assert unpaired.interval is not None
    assert unpaired.interval[1] - 0.3 == pytest.approx(1.96 * math.sqrt(2), rel=1e-3)
    assert unpaired.better is None
    assert not difference("a", found("m", 0.5), "b", two).paired, "one alone cannot be paired"


def test_more_looks_widen_the_interval() -> None:
    one, two = found("m", 0.5), found("m", 0.47)
    widths = [difference("a", one, "b", two, looks=looks) for looks in (1, 10)]
    assert [d.apart for d in widths] == [True, False]
    assert widths[1].interval is not None
    assert widths[1].interval[1] - 0.03 == pytest.approx(2.807 * math.hypot(0.01, 0.01), rel=1e-3)


def test_each_counts_from_its_own_reference() -> None:
    small = found(FIDELITY, 0.20, reference=0.15)
    large = found(FIDELITY, 0.15, reference=0.10)
    assert difference("small", small, "large", large).value == pytest.approx(0)


@pytest.mark.parametrize("kind", ["no interval", "no spread"])
def test_nothing_is_told_without_a_spread(kind: str) -> None:
    one, two = found("m", 0.3), found("m", 0.2)
    if kind == "no interval":
        one = dataclasses.replace(one, interval=None)
    else:
        one, two = (dataclasses.replace(f, draws=np.zeros(9)) for f in (one, two))
    told = difference("a", one, "b", two)
    assert told.interval is None
    assert not told.apart
    assert told.better is None


def test_tables_in_a_common_order_are_not_paired() -> None:
    tables = [real(300, seed) for seed in (1, 2)]
    codec = compare_tables(tables[0], tables[1]).codec(bins=5, levels=5)

    def order(frame: pl.DataFrame) -> Any:
        source = compare_tables(tables[0], frame).source("synthetic")
        return spaced(source.coded(codec).codes)

    assert not in_step(order(tables[0]), order(tables[1]))
    by_age = [order(table.sort("age")) for table in tables]
    assert in_step(*by_age)
    assert in_step(by_age[0], order(tables[1].sort("age").head(250)))
    assert not in_step(by_age[0], order(tables[1]))
    train, holdout = real(150, 3), real(150, 4)
    ordered = {"a": tables[0].sort("age"), "b": tables[1].sort("age")}
    contest = us.compare(train, ordered, holdout=holdout, measures=[], options=CHEAP, curve=False)
    assert not any(d.paired for d in contest.differences)
    assert contest.recommendation[-1].endswith("the intervals of 'a' and 'b'.")


@pytest.mark.parametrize(
    ("places", "pareto", "said"),
    [
        ({"a": (0.1, 0.5), "b": (0.3, 0.5)}, ("a",), "prefer 'a'"),
        ({"a": (0.2, 0.5), "b": (0.1, 0.7)}, ("a", "b"), "yours to weigh"),
        ({"a": (0.2, 0.6), "b": (0.21, 0.61)}, ("a", "b"), "Nothing here separates 'a' from 'b'"),
        ({"copy": (0.02, 0.9), "fresh": (0.1, 0.5)}, ("fresh",), "prefer 'fresh'"),
        ({"a": (0.1, 0.5), "b": (0.1, 0.4)}, ("a", "b"), "though no closer than fresh real rows"),
        ({"a": (0.1, 0.5), "b": (0.3, 0.5), "c": (0.1, 0.8)}, ("a",), "prefer 'a'"),
    ],
)
def test_dominance(
    places: dict[str, tuple[float, float]], pareto: tuple[str, ...], said: str
) -> None:
    verdict = judged(**places)
    assert verdict.pareto == pareto
    assert any(said in sentence for sentence in verdict.sentences)


def test_words_give_the_interval() -> None:
    told = " ".join(judged(a=(0.1, 0.5), b=(0.11, 0.6)).sentences)
    assert "the rows of 'b' are closer to training by 10.00 points [6.83, 13.17]" in told
    assert "cannot be told apart on triples of columns (F3) (−1.00 points [−4.17, 2.17]" in told
    assert "all 2 differences looked at together" in told


def test_flagged_candidates_of_the_set_are_said() -> None:
    told = judged(a=(0.3, 0.5), b=(0.1, 0.7)).sentences
    assert f"'a' is flagged on {FIDELITY}: there it does worse than fresh real rows." in told
    assert "No candidate of the set does as well as fresh real rows on both." in told


def test_a_candidate_whose_measure_failed_is_not_judged() -> None:
    made = contestants(a=(0.1, 0.5), b=(0.3, 0.5))
    made["c"] = Assessment((MEASURES[FIDELITY].card.failed("no memory"), found(SHARE, 0.5)), {})
    verdict = judge(made, [difference("a", made["a"][m], "b", made["b"][m]) for m in DECIDING])
    assert verdict.judged == ("a", "b")
    assert verdict.sentences[0] == f"'c' is not judged ({FIDELITY}: failed)."


def test_candidates_that_beat_each_other_in_turn_leave_nothing_to_prefer() -> None:
    made = contestants(a=(0.3, 0.7), b=(0.3, 0.7), c=(0.3, 0.7))
    turns = [
        Difference(m, a, b, "fraction", 0.1, (0.05, 0.15), 1, True, better)
        for m in DECIDING
        for a, b, better in (("a", "b", "a"), ("b", "c", "b"), ("a", "c", "c"))
    ]
    verdict = judge(made, turns)
    assert verdict.pareto == ()
    assert "nothing can be preferred" in verdict.sentences[0]


def pair_of(
    tables: tuple[pl.DataFrame, pl.DataFrame], train: pl.DataFrame, holdout: pl.DataFrame, seed: int
) -> dict[str, tuple[Finding, Finding]]:
    options = {
        FIDELITY: {"resamples": 40, "permutations": 1},
        SHARE: {"permutations": 200, "register": 0.0},
    }
    both = [compare_tables(train, table, holdout, seed=seed) for table in tables]
    made = {}
    for measure in DECIDING:
        one, two = (MEASURES[measure](c, **options[measure]) for c in both)
        made[measure] = one, two
    return made


def width(told: Difference) -> float:
    assert told.interval is not None
    return told.interval[1] - told.interval[0]


def test_pairing_narrows_the_interval() -> None:
    train, holdout = real(300, 1), real(300, 2)
    found_by = pair_of((flipped(train, 0.5, 1), flipped(train, 0.5, 2)), train, holdout, 1)
    for measure, most in ((FIDELITY, 0.85), (SHARE, 1.0)):
        one, two = found_by[measure]
        paired, unpaired = (difference("a", one, "b", two, pair=p) for p in (True, False))
        assert paired.paired
        assert width(paired) < most * width(unpaired)


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.4, 1.0])
def test_two_releases_of_one_generator_seldom_differ(p: float) -> None:
    runs, alarms, seen = 120, {FIDELITY: 0, SHARE: 0, "either": 0}, 0
    for run in range(runs):
        train, holdout = real(200, 10 * run + 1), real(200, 10 * run + 2)
        tables = flipped(train, p, 10 * run + 3), flipped(train, p, 10 * run + 4)
        made = pair_of(tables, train, holdout, run)
        for measure in DECIDING:
            one, two = made[measure]
            alarms[measure] += difference("a", one, "b", two).apart
        both = [difference("a", *made[m][:1], "b", made[m][1], looks=2).apart for m in DECIDING]
        alarms["either"] += any(both)
        if run < 10:
            other = pair_of((tables[0], flipped(train, p / 4, run)), train, holdout, run)
            seen += difference("a", other[SHARE][0], "b", other[SHARE][1]).apart
    assert max(alarms.values()) <= 13, (
        f"5 % of {runs} is 6, and 13 is its 99.5 % quantile: {alarms}"
    )
    assert seen == 10, "another generator is told apart"


def test_levels_and_the_word_all_mean_what_they_mean_in_assess() -> None:
    tables, fast = (people(300, 1), people(300, 3)), {"fidelity.univariate": {"resamples": 9}}
    asked: dict[str, Any] = {"keys": "sex", "sensitive": "all", "by": "sex", "options": fast}
    asked |= {"measures": "fidelity.univariate"}
    found = us.compare(tables[0], {"fresh": tables[1]}, **asked)
    alone = us.assess(*tables, **asked)
    assert found["fresh"]["fidelity.univariate"].parts == alone["fidelity.univariate"].parts
    assert found["fresh"].provenance["by"] == ["sex"]
    assert any(note.startswith("sensitive = all") for note in found.provenance["notes"])


def test_a_measure_is_named_by_a_plain_text() -> None:
    real = people(100, 1)
    found = us.compare(real, {"copy": real}, measures="fidelity.hellinger")
    assert "fidelity.hellinger" in {finding.measure for finding in found["copy"]}
    (alone,) = us.assess(real, real, measures="fidelity.hellinger")
    assert alone.measure == "fidelity.hellinger"


def test_the_name_of_version_one_is_still_there() -> None:
    assert us.Contest is us.Candidates
