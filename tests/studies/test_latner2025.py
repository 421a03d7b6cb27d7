"""The study of Latner, Neunhoeffer & Drechsler: every figure that the authors' files allow."""

import io
import json

import polars as pl
import pytest

import process
from understudy.errors import DataError, OptionError
from understudy.studies import study
from understudy.studies.latner2025 import run, show
from understudy.studies.latner2025.study import differing, expected, printed, published

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
    return run()


def value(result, table, row, figure):
    (found,) = (
        f["value"]
        for f in result["figures"]
        if (f["table"], f["row"], f["figure"]) == (table, row, figure)
    )
    return found


def test_every_figure_is_the_published_one(result):
    assert differing(result) == []
    tables = expected()["tables"]
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


def test_a_wrong_figure_is_seen(result):
    wrong = {**result["figures"][0], "value": 0.5}
    changed = {"figures": [wrong, *result["figures"][1:]]}
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
    assert "nothing to leave out" in found["note"]
    assert seen[-1] == ("done", 1, 1)
    with pytest.raises(DataError, match="there is no file"):
        run(tmp_path, ("simulated",))
    with pytest.raises(OptionError, match="no data set 'sd2010'"):
        run(tmp_path, ("sd2010",))


def test_what_the_paper_shows_of_the_simulated_data(real_data):
    """A copy of the unique record hides it from DiSCO; its absence makes a risk of nobody."""
    original = pl.read_csv(real_data("latner_simulated"))
    unique = pl.all_horizontal(pl.all() == 1)
    assert original.filter(unique).height == 1
    from understudy.comparison import compare_tables
    from understudy.measures import MEASURES

    roles = {"keys": ("var1", "var2", "var3"), "sensitive": ("var4",)}
    measure = MEASURES["privacy.attribute_disclosure"]
    copied = measure(compare_tables(original, original, **roles))
    absent = measure(compare_tables(original, original.filter(~unique), **roles))
    assert copied.value == 0
    assert absent.value == pytest.approx(0.066)
    assert "zero when a unique record is copied" in measure.card.not_shown


def test_the_command(real_data):
    real_data("sd2011")
    done = process.understudy("study", "latner2025", "--datasets", "sd2011", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["figures"]) == 5
    assert study("latner2025").show is show
