"""The study of Latner, Neunhoeffer & Drechsler: every figure that the authors' files allow."""

import io
import json

import polars as pl
import pytest

import process
from packaged import simulated
from understudy.errors import DataError, OptionError
from understudy.measures import MEASURES
from understudy.studies import study
from understudy.studies.latner2025 import run, show
from understudy.studies.latner2025.study import differing, printed, published
from understudy.studies.latner2025.worlds import measured, warning
from understudy.studies.published import expected

FILES = (
    "latner_simulated",
    "latner_synthpop_cart_seed1237",
    "latner_cart_10_frequencies",
    "latner_cart_100_frequencies",
    "sd2011",
)


@pytest.fixture(scope="module")
def result(real_data):
    for name in FILES:
        real_data(name)
    return run(quick=True)


def value(result, table, row, figure):
    (found,) = (
        f["value"]
        for f in result["figures"]
        if (f["table"], f["row"], f["figure"]) == (table, row, figure)
    )
    return found


def test_every_figure_is_the_published_one(result):
    assert differing(result) == []
    tables = expected("latner2025")["tables"]
    assert len(result["figures"]) == sum(len(row) for t in tables.values() for row in t.values())
    assert len(result["figures"]) == 217


def test_figures_named_in_the_brief(result):
    attribute = [value(result, "Table A.2", f"Synthetic {n}", "attribute") for n in range(1, 11)]
    assert attribute == pytest.approx([0, 0.066, 0, 0, 0, 0, 0, 0.066, 0, 0])
    assert value(result, "Table A.2", "Average", "attribute") == pytest.approx(0.0132)
    assert value(result, "Table A.4", "Original data", "identity") == pytest.approx(0.4838)
    assert value(result, "Table A.4", "Original data", "attribute") == pytest.approx(0.5330)
    constant = "Original data, depress = 0"
    assert value(result, "constant target", constant, "DiS") == 1
    assert value(result, "constant target", constant, "DiSCO") == pytest.approx(0.2186)
    assert value(result, "constant target", constant, "one-way check") == 1
    copies = [value(result, "footnote 4", f"{n} copies of 1111", "data sets") for n in range(4)]
    assert copies == [41, 38, 14, 7]


def as_printed():
    """Every figure with the value that the paper prints: counts whole, shares in per cent."""
    return [
        {"table": table, "row": row, "figure": figure, "value": value}
        for table, rows in expected("latner2025")["tables"].items()
        for row, figures in rows.items()
        for figure, text in figures.items()
        for value in [float(text) / 100 if "." in text else int(text)]
    ]


def test_a_wrong_figure_is_seen():
    figures = as_printed()
    assert differing({"figures": figures}) == []
    wrong = {**figures[0], "value": 0.5}
    changed = {"figures": [wrong, *figures[1:]]}
    assert differing(changed) == [wrong]
    text = io.StringIO()
    show(changed, text)
    assert "216 of 217" in text.getvalue()
    assert "differs: Table 1, Original, identity: 0.00" in text.getvalue()
    assert "50.00 ≠" in text.getvalue()
    assert published({"table": "no such", "row": "", "figure": ""}) is None
    assert printed(0.01316) == "1.32"


def test_parts_and_folders(tmp_path, real_data):
    path = real_data("sd2011")
    (tmp_path / path.name).symlink_to(path)
    seen = []
    found = run(tmp_path, ("sd2011",), quick=True, progress=lambda *step: seen.append(step))
    assert {f["table"] for f in found["figures"]} == {"Table A.4", "constant target"}
    assert "20 fresh releases" in found["note"]
    assert "worlds" not in found
    assert seen[-1] == ("done", 1, 1)


def test_files_that_are_absent_and_parts_that_do_not_exist(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        run(tmp_path, ("simulated",))
    with pytest.raises(OptionError, match="no data set 'sd2010'"):
        run(tmp_path, ("sd2010",))


def test_what_the_paper_shows_of_the_simulated_data():
    """A copy of the unique record hides it from DiSCO; its absence makes a risk of nobody."""
    original = simulated()
    unique = pl.all_horizontal(pl.all() == 1)
    assert original.filter(unique).height == 1
    from understudy.judging.comparison import compare_tables

    roles = {"keys": ("var1", "var2", "var3"), "sensitive": ("var4",)}
    measure = MEASURES["privacy.attribute_disclosure"]
    copied = measure(compare_tables(original, original, **roles))
    absent = measure(compare_tables(original, original.filter(~unique), **roles))
    assert copied.value == 0
    assert absent.value == pytest.approx(0.066)
    assert "zero when a unique record is copied" in measure.card.not_shown


def worlds(result):
    return {row["release"]: row for row in result["worlds"]}


def check_worlds(rows, fresh):
    """Check the bands of the attack, and that the measures point the other way."""
    own = rows["the authors' release (seed 1237)"]
    assert own["lowest"] > 0.99
    leaks = [rows["synthpop's defaults, fresh, with 1111"], own]
    leaks += [rows[f"figure 2: {n} copies of 1111"] for n in (1, 2, 3)]
    for row in leaks:
        assert row["lowest"] > 0.9
        assert (row["DiSCO lowest"], row["DiSCO highest"]) == (0, 0)
    absent = [rows["synthpop's defaults, fresh, without 1111"], rows["figure 2: 0 copies of 1111"]]
    for row in absent:
        assert 0.02 < row["lowest"] <= row["highest"] < 0.03
        assert (row["DiSCO lowest"], row["DiSCO highest"]) == pytest.approx((0.066, 0.066))
    assert sum(rows[r["release"]]["releases"] for r in (leaks[0], absent[0])) == fresh
    for setting in ("minbucket 75", "cp 0.05"):
        some = [row for name, row in rows.items() if name.startswith(setting)]
        assert sum(row["releases"] for row in some) == fresh
        assert all(0.03 < row["lowest"] <= row["highest"] < 0.13 for row in some)
    assert all(row.get("repU highest", 0) == 0 for row in rows.values())
    for many in (5, 10):
        assert rows[f"figure 2: the first {many} together"]["lowest"] > 0.99


def test_the_attack_names_the_record_where_the_measures_see_nothing(result):
    check_worlds(worlds(result), fresh=20)
    assert "point the wrong way" in result["warning"]
    text = io.StringIO()
    show(result, text)
    assert "point the wrong way" in text.getvalue().replace("\n", " ")
    assert "2.38–2.40" in text.getvalue()
    assert "DiSCO is at least 6.60 %" in result["warning"]
    assert "repU and DiSCO are at most 0.00 %" in result["warning"]


def test_the_warning_is_what_the_rows_say():
    def row(name, copies, posterior, measure):
        ends = {f"{m} {end}": measure for m in ("repU", "DiSCO") for end in ("lowest", "highest")}
        return {"release": name, "copies": copies, "lowest": posterior, "highest": posterior} | ends

    other = row("cp 0.05, fresh", 0, 0.99, 0.0)
    right = warning([row("a", 1, 0.9, 0.5), row("b", 0, 0.1, 0.2), other])
    assert "point the way of the attack" in right
    assert "at most 50.00 %" in right
    wrong = warning([row("a", 1, 0.9, 0.1), row("b", 0, 0.1, 0.2), other])
    assert "point the wrong way" in wrong
    assert "are needed" in warning([row("a", 1, 0.9, 0.1)])


def test_a_measure_that_fails_is_not_a_measure_of_nothing(monkeypatch):
    def failed(comparison):
        return MEASURES["privacy.attribute_disclosure"].card.failed("no memory")

    monkeypatch.setattr(
        "understudy.studies.latner2025.worlds.MEASURES", {"privacy.attribute_disclosure": failed}
    )
    table = pl.DataFrame({f"var{i}": [0, 1] for i in range(1, 5)})
    with pytest.raises(DataError, match="gave no value: no memory"):
        measured("privacy.attribute_disclosure", table, table)


@pytest.mark.slow
def test_the_attack_on_two_hundred_fresh_releases(real_data):
    for name in FILES:
        real_data(name)
    rows = worlds(run(datasets=("simulated",)))
    check_worlds(rows, fresh=200)
    held = rows["synthpop's defaults, fresh, with 1111"]["releases"]
    assert abs(held / 200 - 0.632) < 0.12  # a record of 1,000 is drawn at least once


@pytest.mark.slow
def test_the_attack_of_the_command_line_agrees(real_data):
    """The attack that anybody can run names 1111 on the authors' release."""
    from understudy.workflows.attack import attack

    found = attack(
        "worlds",
        real_data("latner_simulated"),
        "cart",
        release=real_data("latner_synthpop_cart_seed1237"),
    )
    finding = found["attack.worlds"]
    assert finding.value > 0.99
    assert finding.flagged
    first = found.register().row(0, named=True)
    assert first["candidate"] == "var1 = 1, var2 = 1, var3 = 1, var4 = 1"
    assert first["is_real"]


def test_the_command(real_data):
    real_data("sd2011")
    done = process.understudy("study", "latner2025", "--datasets", "sd2011", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["figures"]) == 5
    assert study("latner2025").show is show
