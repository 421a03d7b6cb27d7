"""The study of Hittmeir et al.: tables VII to X, row Original, to the printed digit."""

import io
import json

import numpy as np
import polars as pl
import pytest

import process
from understudy.errors import DataError
from understudy.studies.hittmeir2019 import run, show
from understudy.studies.hittmeir2019.expected import (
    FIGURES,
    computed,
    differing,
    expected,
    misprinted,
    published,
)


@pytest.fixture(scope="module")
def rows(real_data):
    for name in ("insurance", "social_network_ads"):
        real_data(name)
    return {row["table"]: row for row in run()["rows"]}


@pytest.mark.parametrize("table", ["VII", "IX"])
def test_radius_neighbours_give_all_printed_numbers(rows, table):
    row = rows[table]
    printed = [float(x) for figure in FIGURES for x in published(row, figure)]
    found = [float(x) for figure in FIGURES for x in computed(row, figure)]
    assert found == printed
    assert len(printed) == 6


def test_the_twelve_printed_numbers_are_these():
    tables = expected().tables
    printed = [tables[table]["Original"] for table in ("VII", "IX")]
    assert printed == [
        {"MAE": ["4.23", "0.5"], "MAPE": ["14.59", "1.73"], "R2": [".21", ".14"]},
        {"MAE": ["7.08", "0.9"], "MAPE": ["21.56", "2.69"], "R2": [".27", ".17"]},
    ]


def test_the_dummy_of_scenario_two_gives_all_printed_numbers(rows):
    assert differing(rows["X"]) == []
    assert computed(rows["X"], "R2") == ["-0.0011"]


def test_the_dummy_of_scenario_one_agrees_but_for_a_misprint(rows):
    row = rows["VIII"]
    assert differing(row) == ["MAPE"]
    assert misprinted(row, "MAPE")
    assert not misprinted(row, "MAE")
    assert computed(row, "MAPE") == ["16.96"]
    tables = expected().tables["VIII"]
    assert tables["Original"] == tables["DS 0"]


def test_no_constant_near_the_mean_gives_the_misprint(real_data):
    """A MAPE that prints as 16.99 needs a guess that is no mean of all rows or of a split."""
    from sklearn.model_selection import train_test_split

    bmi = pl.read_csv(real_data("insurance"))["bmi"].to_numpy()

    def mape(guess):
        return 100 * float((np.abs(bmi - guess) / bmi).mean())

    assert round(mape(bmi.mean()), 2) == 16.96
    fitting = [guess for guess in np.arange(30.0, 31.5, 0.0005) if round(mape(guess), 2) == 16.99]
    assert 30.70 < min(fitting) < max(fitting) < 30.72
    for seed in range(10):
        seen, _ = train_test_split(bmi, test_size=0.2, random_state=seed)
        assert round(mape(seen.mean()), 2) != 16.99


def test_unrounded_means_stand_beside(rows):
    assert rows["VII"]["MAE"]["unrounded"] == pytest.approx(4.2310, abs=5e-5)
    assert rows["VII"]["MAPE"]["spread"] == pytest.approx(1.7346, abs=5e-5)
    assert rows["IX"]["R2"]["spread"] == pytest.approx(0.1744, abs=5e-5)
    assert (rows["VII"]["keys"], rows["IX"]["keys"]) == (10, 3)


def test_scikit_learn_gives_the_same_guesses(real_data):
    """One key of scenario 1, by the library that the authors used."""
    from sklearn.neighbors import RadiusNeighborsRegressor
    from sklearn.preprocessing import LabelEncoder, StandardScaler

    from understudy.measures.privacy.attackers import radius_guess
    from understudy.measures.privacy.guesses import Known, Secret

    frame = pl.read_csv(real_data("insurance"))
    columns = [frame["age"], LabelEncoder().fit_transform(frame["sex"]), frame["children"]]
    points = StandardScaler().fit_transform(np.column_stack(columns).astype(float))
    bmi = frame["bmi"].to_numpy()
    model = RadiusNeighborsRegressor(radius=1e9, weights="distance").fit(points, bmi)
    known = Known(points, points, np.zeros(3, bool), ("age", "sex", "children"))
    ours = radius_guess(known, [Secret("bmi", True, bmi, bmi, 0)])[0].guess
    np.testing.assert_allclose(ours, model.predict(points), rtol=1e-9)


def test_the_table_marks_what_differs(rows):
    shown = io.StringIO()
    show({"rows": list(rows.values())}, shown)
    text = shown.getvalue()
    assert text.count("≠") == 1
    assert "17 of 18 printed figures agree" in text
    assert "VIII" in text
    assert "cannot be right" in text


def test_datasets_can_be_chosen_and_files_given(tmp_path, real_data):
    only = run(datasets=("social_network_ads",))["rows"]
    assert [row["table"] for row in only] == ["IX", "X"]
    with pytest.raises(DataError, match="'insurence'") as caught:
        run(datasets=("insurence",))
    assert "insurance" in caught.value.hint
    with pytest.raises(DataError, match="there is no file"):
        run(data=tmp_path)
    (tmp_path / "insurance.csv").symlink_to(real_data("insurance"))
    assert [row["table"] for row in run(data=tmp_path, datasets=("insurance",))["rows"]] == [
        "VII",
        "VIII",
    ]


def test_the_command_line(data_folder):
    done = process.understudy("study", "hittmeir2019", "--json", "-", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["table"] for row in json.loads(done.stdout)["rows"]] == ["VII", "VIII", "IX", "X"]
