"""The study of Hittmeir et al.: tables II to V, row Real, and VII to X, row Original."""

import io
import itertools
import json

import numpy as np
import polars as pl
import pytest

import process
from packaged import patients
from understudy.errors import DataError, OptionError
from understudy.studies.hittmeir2019 import run, show
from understudy.studies.hittmeir2019.study import (
    FIGURES,
    by_seed,
    computed,
    differing,
    expected,
    misprinted,
    published,
)

DATASETS = ("boston_housing", "bike_sharing_day", "social_network_ads", "insurance")


@pytest.fixture(scope="module")
def result(real_data):
    for name in DATASETS:
        real_data(name)
    return run(quick=True)


@pytest.fixture(scope="module")
def rows(result):
    return {row["table"]: row for row in result["rows"] if row["row"] == "Original"}


@pytest.fixture(scope="module")
def predicted(result):
    return {(row["table"], row["row"]): row for row in result["rows"] if row["row"] != "Original"}


def test_linear_and_support_vector_regression_give_all_printed_numbers(predicted):
    for table, model in itertools.product(("II", "III", "V"), ("LR", "SVR")):
        row = predicted[table, f"Real, {model}"]
        printed = [float(x) for figure in FIGURES for x in published(row, figure)]
        found = [float(x) for figure in FIGURES for x in computed(row, figure)]
        assert found == printed, (table, model)
        assert len(printed) == 6
        assert differing(row) == []


def test_what_is_legible_of_table_four_agrees(predicted):
    row = predicted["IV", "Real, LR"]
    assert computed(row, "MAE") == ["25481", "1852"] == published(row, "MAE")
    assert published(row, "R2") == published(predicted["IV", "Real, SVR"], "MAE") == []


def test_the_printed_numbers_of_prediction_are_these():
    tables = expected()["tables"]
    assert [tables["V"][f"Real, {model}"]["MAE"] for model in ("LR", "SVR", "MLP")] == [
        ["4135", "189"],
        ["5280", "239"],
        ["3191", "394"],
    ]
    assert tables["III"]["Real, LR"] == {
        "MAE": ["196", "134"],
        "MAPE": ["6", "4"],
        "R2": [".98", ".02"],
    }


def test_the_scaler_of_training_gives_other_figures(predicted):
    """The target of table III is a sum of two columns: with one scale there is no error."""

    def correct(table, model):
        return predicted[table, f"Real, {model}"]["correct"]["MAE"]["mean"]

    assert correct("III", "LR") == pytest.approx(0, abs=1e-9)
    assert predicted["III", "Real, LR"]["MAE"]["mean"] == pytest.approx(195.67, abs=0.005)
    assert correct("III", "SVR") == pytest.approx(405.2, abs=0.05)
    assert [correct("II", model) for model in ("LR", "SVR")] == pytest.approx(
        [3.463, 2.133], abs=5e-4
    )
    assert correct("IV", "LR") == pytest.approx(25453, abs=0.5)
    assert [correct("V", model) for model in ("LR", "SVR")] == pytest.approx([4112, 5236], abs=0.5)


@pytest.mark.slow
def test_the_perceptron_is_within_its_seeds(real_data):
    found = {row["table"]: row for row in run()["rows"] if row["row"] == "Real, MLP"}
    assert list(found) == ["II", "III", "IV", "V"]
    for table in ("II", "III", "V"):
        assert len(found[table]["seeds"]["MAE"]) == 5
        assert [by_seed(found[table], figure) for figure in FIGURES] == [True] * 3
    assert not any(by_seed(found["IV"], figure) for figure in FIGURES)
    assert found["V"]["MAE"]["mean"] == pytest.approx(3231, rel=0.02)
    shown = io.StringIO()
    show({"rows": list(found.values())}, shown)
    assert "within what other seeds give" in shown.getvalue()


def test_another_seed_would_not_give_just_any_figure():
    row = {"table": "V", "row": "Real, MLP"}
    near, far = ([[mean + i, 390.0 + i] for i in range(5)] for mean in (3189.0, 3400.0))
    assert by_seed(row | {"seeds": {"MAE": near}}, "MAE")
    assert not by_seed(row | {"seeds": {"MAE": far}}, "MAE")
    assert not by_seed(row | {"seeds": {"MAE": near[:1]}}, "MAE")
    assert not by_seed(row, "MAE")


def test_radius_neighbours_give_all_printed_numbers(rows):
    for table in ("VII", "IX"):
        row = rows[table]
        printed = [float(x) for figure in FIGURES for x in published(row, figure)]
        found = [float(x) for figure in FIGURES for x in computed(row, figure)]
        assert found == printed, table
        assert len(printed) == 6


def test_the_twelve_printed_numbers_are_these():
    tables = expected()["tables"]
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
    tables = expected()["tables"]["VIII"]
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


def test_scikit_learn_gives_the_same_guesses():
    """Three keys, as in scenario 1, by the library that the authors used."""
    from sklearn.neighbors import RadiusNeighborsRegressor
    from sklearn.preprocessing import StandardScaler

    from understudy.measures.privacy.coding import KeyPoints
    from understudy.measures.privacy.guesses import SensitiveColumn
    from understudy.measures.privacy.radius import radius_guess

    keys = ("age", "sex", "pressure")
    points = StandardScaler().fit_transform(patients().select(keys).to_numpy().astype(float))
    bmi = patients()["bmi"].to_numpy()
    model = RadiusNeighborsRegressor(radius=1e9, weights="distance").fit(points, bmi)
    known = KeyPoints(points, points, np.zeros(3, bool), keys)
    ours = radius_guess(known, [SensitiveColumn("bmi", True, bmi, bmi, 0)])[0].guess
    np.testing.assert_allclose(ours, model.predict(points), rtol=1e-9)


def test_the_table_marks_what_differs(rows):
    shown = io.StringIO()
    show({"rows": list(rows.values())}, shown)
    text = shown.getvalue()
    assert text.count("≠") == 1
    assert "17 of 18 printed figures agree" in text
    assert "scaled by training" not in text
    assert "VIII" in text
    assert "cannot be right" in text


def test_both_protocols_are_shown(result):
    shown = io.StringIO()
    show(result, shown)
    text = shown.getvalue()
    assert "55 of 56 printed figures agree" in text
    assert text.count("  scaled by training") == 8
    assert "utility.regression" in text


def made_up(rows):
    """Persons with the columns of the insurance data."""
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 65, rows),
            "sex": rng.choice(["female", "male"], rows),
            "bmi": rng.normal(30, 6, rows).round(2),
            "children": rng.integers(0, 4, rows),
            "smoker": rng.choice(["no", "yes"], rows),
            "region": rng.choice(["northeast", "southwest"], rows),
            "charges": rng.lognormal(9, 1, rows).round(2),
        }
    )


def test_datasets_can_be_chosen_and_files_given(tmp_path):
    with pytest.raises(OptionError, match="'insurence'") as caught:
        run(datasets=("insurence",))
    assert "insurance" in caught.value.hint
    with pytest.raises(DataError, match="there is no file"):
        run(data=tmp_path)
    made_up(200).write_csv(tmp_path / "insurance.csv")
    only = run(data=tmp_path, datasets=("insurance",), quick=True)["rows"]
    assert [row["table"] for row in only] == ["V", "V", "VII", "VIII"]


@pytest.mark.slow
def test_the_command_line(real_data):
    real_data("social_network_ads")
    chosen = ("--datasets", "social_network_ads", "--quick")
    done = process.understudy("study", "hittmeir2019", *chosen, "--json", "-", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    found = [row["table"] for row in json.loads(done.stdout)["rows"]]
    assert found == ["IV", "IV", "IX", "X"]
