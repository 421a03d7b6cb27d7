"""Planted leaks are what they say; a calibration gives what each measure would notice."""

import json

import numpy as np
import polars as pl
import pytest

import understudy as us
from people import people
from understudy.data.schema import Column, Schema
from understudy.data.tables import Table
from understudy.errors import DataError, OptionError
from understudy.jobs.workers import TimeLimits
from understudy.report import words
from understudy.report.words import smallest_leak
from understudy.workflows import calibrate as home
from understudy.workflows.calibrate import calibrate
from understudy.workflows.calibrate.calibration import read_calibration
from understudy.workflows.calibrate.planting import CalibrationJob, Cell, RealRows, noisy, plant
from understudy.workflows.calibrate.schedule import NULL, Schedule, grid, hopeless, summary

FAST = ("privacy.identical_matches", "privacy.closest_record")


@pytest.fixture(scope="module")
def ground() -> RealRows:
    table = Table.of(people(900, 1))
    return RealRows(table.modelled, table.schema)


def equal(first: pl.DataFrame, second: pl.DataFrame) -> int:
    """Count the rows of the first table that stand in the second."""
    return first.join(second, on=first.columns, how="semi", nulls_equal=True).height


def test_a_null_is_three_parts_of_real_rows(ground):
    made = plant(ground, "copies", 0, seed=3)
    parts = [made.train, made.control, made.release]
    assert [part.height for part in parts] == [300, 300, 300]
    assert equal(made.release, made.train) == 0  # all people are distinct
    together = pl.concat(parts)
    assert together.unique().height == 900
    again = plant(ground, "copies", 0, seed=4)
    assert equal(again.train, made.train) < 200


def test_copies_are_distinct_training_rows(ground):
    made = plant(ground, "copies", 30, seed=3)
    assert made.release.height == 300
    assert equal(made.release, made.train) == 30
    assert equal(made.release, made.control) == 0
    assert made.release.unique().height == 300


def test_noisy_copies_have_numbers_moved_by_one_percent(ground):
    made = plant(ground, "noisy", 30, seed=3)
    kept = ["sex", "age", "town", "day", "children", "smoker"]
    few = made.release.filter(pl.col("income").is_not_null())
    both = few.join(made.train, on=kept, suffix="_was")
    ratio = both["income"] / both["income_was"]
    assert 20 <= both.height <= 30  # those with an income
    assert ratio.is_between(0.9899, 1.0101).all()
    assert (ratio != 1).mean() > 0.9
    assert equal(made.release, made.train) < 10


def test_noise_by_hand():
    schema = Schema(
        (
            Column("n", "number", stored="integer", decimals=0),
            Column("x", "number", stored="float"),
            Column("code", "category", stored="integer", levels=("1000",)),
        )
    )
    frame = pl.DataFrame({"n": [1000] * 200 + [7], "x": [12.5] * 201, "code": [1000] * 201})
    made = noisy(frame, schema, np.random.default_rng(0))
    apart = (made["n"] - frame["n"]).abs()
    assert 9 <= apart.max() <= 10
    assert made["n"].dtype == frame["n"].dtype
    assert made["n"][-1] == 7  # 1 % of 7 is less than half a step
    assert 0.009 < (made["x"] / 12.5 - 1).abs().max() <= 0.01
    assert made["code"].equals(frame["code"])


def test_outliers_are_the_rows_that_stand_most_apart():
    rows = pl.DataFrame({"x": [*range(1000, 1297), 1, 2, 3], "y": ["a"] * 297 + ["b", "c", "d"]})
    ground = RealRows(rows, Table.of(rows.with_columns(y=pl.col("y"))).schema)
    assert set(ground.apart[:3]) == {297, 298, 299}
    for seed in range(5):
        made = plant(ground, "outliers", 2, seed=seed)
        odd = made.train.filter(pl.col("y") != "a").height
        leaked = made.release.join(made.train, on=["x", "y"], how="semi")
        assert leaked.height == 2
        assert leaked.filter(pl.col("y") != "a").height == min(odd, 2)


def test_the_unique_row_is_unique_and_comes_again_and_again(ground):
    made = plant(ground, "unique", 12, seed=3)
    leaked = made.release.join(made.train, on=made.release.columns, how="semi", nulls_equal=True)
    assert leaked.height == 12
    assert leaked.unique().height == 1
    assert equal(ground.real, leaked) == 1


def test_with_a_release_only_the_labels_are_drawn_anew():
    table = Table.of(people(600, 1))
    release = Table.of(people(300, 2), table.schema).modelled
    ground = RealRows(table.modelled, table.schema, release)
    assert ground.rows == 300
    made = plant(ground, "copies", 10, seed=1)
    assert made.train.height == made.control.height == 300
    assert equal(made.release, release) == 290
    assert equal(made.release, made.train) == 10


def test_too_few_rows():
    table = Table.of(people(200, 1))
    with pytest.raises(DataError, match="too few to calibrate on\nhint: 300 are needed"):
        RealRows(table.modelled, table.schema)
    with pytest.raises(DataError, match="hint: 200 are needed: they are cut in 2 parts"):
        RealRows(table.modelled.head(190), table.schema, table.modelled)


def test_the_sizes():
    assert grid(16_280) == [16, 29, 51, 92, 163, 290, 515, 915, 1628]
    assert grid(100) == [1, 2, 3, 6, 10]


def test_a_cell_gives_alarms_and_reasons(ground):
    bench = CalibrationJob(ground)
    names = (*FAST, "privacy.replicated_uniques")
    seen = bench.do(Cell("copies", 30, 1, names))
    numbers = seen.numbers
    assert numbers[:2, 0].tolist() == [1.0, 1.0]
    assert np.isnan(numbers[2, 0])
    assert (numbers[:, 1] >= 0).all()
    assert seen.notes["privacy.replicated_uniques"][0] == "not_applicable"
    numbers = bench.do(Cell("copies", 0, 1, ("privacy.identical_matches",))).numbers
    assert numbers[0, 0] == 0.0


def played(powers, costs, rounds: int, seed: int = 0) -> Schedule:
    """Fill a schedule with measures whose power and cost are known."""
    rng = np.random.default_rng(seed)
    schedule = Schedule(list(powers), 5000, seed)
    spent = 0.0
    while spent < rounds and (cell := schedule.next()) is not None:
        numbers = np.array(
            [
                [rng.random() < powers[name](cell.kind, cell.count / 5000), costs[name]]
                for name in cell.measures
            ],
            float,
        )
        spent += numbers[:, 1].sum()
        schedule.add(cell, numbers)
    return schedule


def test_cheap_measures_get_more_runs_and_blind_ones_few():
    def sharp(kind, size):
        return 0.05 if not size or kind == "unique" else float(size > 0.009)

    def blind(kind, size):
        return 0.05

    def alarmist(kind, size):
        return 0.4

    schedule = played(
        {"sharp": sharp, "slow": sharp, "blind": blind, "alarmist": alarmist},
        {"sharp": 0.1, "slow": 1.0, "blind": 0.1, "alarmist": 0.1},
        200,
    )
    total = {
        (m, k): schedule.lanes[m, k].total for m in ("sharp", "slow", "blind") for k in
        (NULL, "copies", "unique")
    }  # fmt: skip
    assert total["sharp", NULL] > 2 * total["slow", NULL] > 0
    assert total["slow", "copies"] >= 8
    assert total["blind", "copies"] == 8
    assert total["sharp", "unique"] == 8
    found = summary(schedule)
    assert found["sharp"]["blind"] is False
    assert found["sharp"]["kinds"]["copies"]["smallest"]["value"] == pytest.approx(0.0075, rel=0.35)
    assert found["sharp"]["kinds"]["unique"]["smallest"]["censored"] == "above"
    assert found["blind"]["blind"] is True
    assert "missed its positive control" in found["blind"]["why"]
    assert found["alarmist"]["blind"] is True
    seen = found["sharp"]["false_alarms"]
    assert seen["interval"][0] < seen["alarms"] / seen["runs"] < seen["interval"][1]


def test_a_measure_that_alarms_without_a_leak_is_blind_though_it_sees_leaks():
    found = summary(played({"m": lambda kind, size: 0.3 if not size else 1.0}, {"m": 1.0}, 150))
    assert found["m"]["blind"] is True
    assert "without a leak" in found["m"]["why"]


@pytest.mark.parametrize(
    ("tried", "noticed", "blind"), [(8, 0, True), (8, 3, True), (8, 5, None), (6, 0, None)]
)
def test_blind_is_only_what_enough_runs_show(tried, noticed, blind):
    schedule = Schedule(["m"], 5000, 0)
    top = schedule.counts[-1]
    schedule.lanes["m", NULL].runs[0] = [40, 2]
    for kind in ("copies", "noisy"):
        schedule.lanes["m", kind].runs[top] = [tried, noticed]
    found = summary(schedule)["m"]
    leak = found["kinds"]["noisy"]["smallest"]
    assert found["blind"] is blind
    assert leak["censored"] == "above"
    assert leak["missed"] is bool(blind)
    assert smallest_leak(leak).startswith("not within 10 %" if blind else "not known (")
    said = words.noticed({"calibration": {**found, "smallest": leak, "kinds": {}}})
    if blind is None:
        assert said == (
            f"What it would notice is not known: it noticed its positive control in {noticed} of "
            f"{tried} runs, too few to tell whether it would in 80 %."
        )
    else:
        assert said.startswith("Blind here: it missed its positive control")


def test_what_is_said_beside_a_finding():
    leak = {"value": 0.02, "interval": [None, 0.04], "censored": None, "planted": [0.0033, 0.1]}
    above = {"value": None, "interval": [0.05, None], "censored": "above", "bound": 0.1}
    kinds = {
        "copies": leak,
        "noisy": {**above, "missed": True},
        "outliers": {**above, "missed": False, "planted": [0.0033, 0.1]},
        "unique": {**above, "missed": True},
    }
    assert words.noticed({"calibration": {"blind": False, "smallest": leak, "kinds": kinds}}) == (
        "On data like this it notices leaks from 2.0 % of rows on (< 0.33–4.0 %). It does not "
        "notice within 10 %: copies with numbers ± 1 %, one unique row."
    )
    below = {"value": None, "interval": [None, None], "censored": "below", "bound": 0.1}
    assert words.noticed({"calibration": {"blind": False, "smallest": below}}) == (
        "On data like this it notices leaks of 10 % of rows, as far as few runs can tell; smaller "
        "ones were not tried."
    )


@pytest.mark.parametrize(("began", "seconds"), [(0.0, 300.0), (400.0, 140.0), (500.0, 60.0)])
def test_how_long_a_run_may_take_is_settled_when_it_begins(began, seconds):
    """Also one that begins when the budget is spent, since nothing could be said without it."""
    limits = TimeLimits(home.LONGEST, 480.0, home.GRACE)
    end, late = limits.end("a run", began)
    assert end - began == seconds
    assert late.kind == ("too long" if seconds == home.LONGEST else "out of time")


def test_a_measure_that_never_works_is_left_out():
    schedule = Schedule(["m", "n"], 1000, 0)
    for _ in range(3):
        cell = schedule.next()
        schedule.add(cell, np.array([[np.nan, 0.1], [0, 0.1]]))
        schedule.failed("m", "failed", "it broke")
    assert schedule.retired == {"m": ("failed", "it broke")}
    assert all("m" not in schedule.next().measures for _ in range(5))
    assert summary(schedule)["m"] == {"status": "failed", "note": "it broke"}
    assert hopeless(8, 3)
    assert not hopeless(8, 4)


@pytest.fixture(scope="module")
def calibrated():
    return calibrate(
        people(900, 1),
        measures=FAST,
        keys=["age", "town"],
        sensitive=["smoker"],
        budget=3,
        workers=2,
    )


def test_a_calibration_from_end_to_end(calibrated):
    data = json.loads(calibrated.to_json())
    assert data["understudy_calibration"] == 1
    assert list(data["measures"]) == list(FAST)
    assert data["provenance"]["rows"] == {"given": 900, "used": 900, "each": 300}
    assert data["provenance"]["options"]["privacy.closest_record"] == {"permutations": 199}
    for found in data["measures"].values():
        assert found["status"] == "ok"
        assert found["blind"] is False
        assert found["false_alarms"]["runs"] >= 1
        leak = found["kinds"]["copies"]["smallest"]
        # k copies give p >= 2^-k: five rows of 300 at least are needed; few runs tell an interval
        assert leak["value"] is None or leak["interval"][1] is None or leak["interval"][1] > 4 / 300
        assert all(
            0 <= alarms <= runs for kind in found["kinds"].values()
            for _, runs, alarms in kind["points"]
        )  # fmt: skip
        assert found["kinds"]["copies"]["points"][-1][1] >= 3


def test_an_assessment_shows_the_number_beside_each_privacy_finding(calibrated, tmp_path):
    data = calibrated.to_dict()
    data["measures"]["privacy.closest_record"].update(blind=True, why="it missed it")
    (tmp_path / "c.json").write_text(json.dumps(data))
    tables = people(300, 2), people(300, 3)
    wanted = [*FAST, "fidelity.univariate"]
    result = us.assess(
        *tables, holdout=people(300, 4), measures=wanted, calibration=tmp_path / "c.json"
    )
    matches = result["privacy.identical_matches"]
    assert matches.calibration["blind"] is False
    assert (
        matches.calibration["smallest"] == data["measures"][FAST[0]]["kinds"]["copies"]["smallest"]
    )
    assert result["fidelity.univariate"].calibration is None
    page = result.to_html()
    assert "On data like this it notices leaks" in page
    assert "blind here" in page
    assert "blind here" in result._repr_html_()
    again = us.Assessment.from_dict(json.loads(result.to_json()))
    assert again[FAST[0]].calibration == matches.calibration
    assert "calibration" not in result["fidelity.univariate"].to_dict()
    notes = result.provenance["calibration"]["notes"]
    assert any("other keys columns: age, town" in note for note in notes)
    assert not any("rows a table" in note for note in notes)
    plain = us.assess(*tables, holdout=people(300, 4), measures=wanted)
    assert plain["privacy.closest_record"].value == result["privacy.closest_record"].value


def test_other_rows_are_said_and_other_columns_refused(calibrated):
    result = us.assess(people(200, 2), people(200, 3), measures=FAST[:1], calibration=calibrated)
    notes = " ".join(result.provenance["calibration"]["notes"])
    assert "300 rows a table, here there are 200" in notes
    assert "here there is none" in notes
    fewer = people(200, 2).drop("town")
    with pytest.raises(OptionError, match="'town' was category there and is absent here"):
        us.assess(fewer, fewer, measures=FAST[:1], calibration=calibrated)


def test_options_that_differ_are_said(calibrated):
    tables, name = (people(300, 2), people(300, 3)), "privacy.closest_record"

    def notes(**options):
        result = us.assess(
            *tables, holdout=people(300, 4), measures=[name], calibration=calibrated,
            options={name: options},
        )  # fmt: skip
        return [n for n in result.provenance["calibration"]["notes"] if name in n]

    assert notes(permutations=19) == []
    assert notes(permutations=19, bins=100) == []  # the default
    said = f"the calibration had {name}.bins = 100, here it is 50"
    assert notes(permutations=19, bins=50) == [said]


def test_what_is_no_calibration(tmp_path):
    for text, said in (
        ("{", "not a whole calibration"),
        ("{}", "this is no calibration"),
        ('{"understudy_calibration": 2}', "version 2"),
        ('{"understudy_calibration": 1, "measures": {}}', "not a whole calibration"),
    ):
        (tmp_path / "c.json").write_text(text)
        with pytest.raises(DataError, match=said):
            read_calibration(tmp_path / "c.json")
    with pytest.raises(DataError, match="no such calibration"):
        read_calibration(tmp_path / "none.json")


def test_what_was_changed_in_a_calibration_is_refused():
    leak = {"value": 0.1, "interval": [None, 0.2], "censored": None, "planted": [0.01, 0.1]}

    def told(measures=None, **provenance):
        facts = {"columns": {"a": "number"}, "rows": {"each": 9}, **provenance}
        return {"understudy_calibration": 1, "measures": measures or {}, "provenance": facts}

    def found(kinds, status="ok"):
        return told({FAST[0]: {"status": status, "kinds": kinds}})

    read_calibration(found({"copies": {"smallest": leak}, "unique": {"smallest": None}}))
    for changed in (
        told(rows={"each": "many"}), told(columns=[]), told(keys=[1]), told(options={"x": 1}),
        told({FAST[0]: "x"}), told({FAST[0]: {"status": "ok"}}), found([]), found({"copies": 1}),
        *(
            found({"copies": {"smallest": {**leak, name: value}}})
            for name, value in {
                "value": None, "interval": [1], "planted": 3, "censored": "beside", "bound": "x"
            }.items()
        ),
    ):  # fmt: skip
        with pytest.raises(DataError, match=r"not a whole calibration|is damaged"):
            read_calibration(changed)


def test_a_methods_output_under_labels_drawn_anew():
    found = calibrate(
        people(600, 1), method="independent", measures=FAST[:1], budget=1, workers=1, rows=500
    )
    told = found.provenance
    assert told["method"] == "independent"
    assert told["rows"] == {"given": 600, "used": 500, "each": 250}
    assert any("500 of 600 real rows were used" in note for note in told["notes"])
    assert found.measures[FAST[0]]["kinds"]["copies"]["points"]


def test_the_options_used_are_written_down():
    name = FAST[1]
    given = {name: {"bins": 50}, "flip": {"p": 0.5}, "privacy.linkability": {"permutations": 9}}
    found = calibrate(
        people(400, 1), method="flip", measures=[name], options=given, budget=0.1, workers=1
    )
    used = {name: {"permutations": 199, "bins": 50}, "flip": {"p": 0.5}}
    assert found.provenance["options"] == used
    with pytest.raises(OptionError, match="no plain value"):
        calibrate(people(400, 1), method="flip", options={"flip": {"p": object()}})


def test_wrong_options():
    table = people(900, 1)
    for given, said in (
        ({"budget": 0}, "budget = 0"),
        ({"method": "cartt"}, "there is no method 'cartt'"),
        ({"measures": ["fidelity"]}, "no privacy measure"),
        ({"options": {"flip": {"p": 0.1}}}, "there is no measure 'flip'"),
        ({"rows": 0}, "rows = 0"),
        ({"keys": ["agee"]}, "keys: there is no column 'agee'"),
        ({"sensitive": ["smokr"]}, "sensitive: there is no column 'smokr'"),
        ({"keys": ["age"], "sensitive": ["age"]}, "among the keys and among the sensitive"),
    ):
        with pytest.raises(OptionError, match=said):
            calibrate(table, **given)


def test_who_gets_no_answer_is_told_so_and_who_gets_few_too(calibrated):
    few = calibrate(people(330, 1), measures=[FAST[0], "privacy.match_rate"], budget=0.1, workers=1)
    assert few.provenance["notes"][-1].startswith("1 of 1 measures have fewer than 20 runs")
    assert "none stands for a person" in few.measures["privacy.match_rate"]["note"]
    with pytest.raises(DataError, match="no measure could look at this table"):
        calibrate(people(330, 1), measures=["privacy.match_rate"], budget=0.1, workers=1)
    many = calibrated.to_dict()
    runs = [found["false_alarms"]["runs"] for found in many["measures"].values()]
    told = any("fewer than 20 runs" in note for note in many["provenance"]["notes"])
    assert told == (min(runs) < 20)
