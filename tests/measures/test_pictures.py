"""Tables for pictures: what is cut where, what is printed, and what real counts become."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from people import people
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import TableOfNumbers
from understudy.measures import pictures
from understudy.measures.fidelity.columns import hellinger, total_variation
from understudy.measures.fidelity.correlation import correlation
from understudy.measures.fidelity.marginals import bivariate, trivariate, univariate
from understudy.measures.pictures.cuts import Cut, counts, joined, labels, round_cuts
from understudy.measures.pictures.rule import K, Rare

NOTHING = Rare(frozenset(), frozenset())
QUICK = {"resamples": 2, "permutations": 2}


def compared(train: pl.DataFrame, synthetic=None, holdout=None, **more) -> Comparison:
    return compare_tables(train, train if synthetic is None else synthetic, holdout, **more)


def picture(column, synthetic=None, holdout=None, **more) -> TableOfNumbers:
    frames = [None if c is None else pl.DataFrame({"x": c}) for c in (column, synthetic, holdout)]
    return pictures.histograms(compared(*frames, **more))["histogram:x"]


def shown(table: TableOfNumbers) -> list[str]:
    return [row[0] for row in table.rows]


def test_whole_numbers_have_a_bar_each():
    table = picture([v for v in range(10, 31) for _ in range(20)])
    assert shown(table) == ["≤ 10", *map(str, range(11, 30)), "> 29"]
    assert all(row[1] == round(20 / 420, 6) for row in table.rows)


def test_bars_are_of_one_width_with_round_ends():
    table = picture(np.random.default_rng(1).normal(500, 100, 5000))
    assert len(table.rows) == pytest.approx(20, abs=8)
    assert {"400 – 420", "420 – 440", "440 – 460"} <= set(shown(table))
    assert shown(table)[0].startswith("≤ ")
    assert shown(table)[-1].startswith("> ")


def test_a_mass_at_zero_has_its_own_bar():
    rng = np.random.default_rng(2)
    table = picture(np.where(rng.random(2000) < 0.6, 0, rng.lognormal(5, 1, 2000)))
    assert table.rows[0][0] == "0"
    assert table.rows[0][1] == pytest.approx(0.6, abs=0.05)
    assert table.rows[1][0].startswith("0 – ")


def test_hardly_anything_but_zeros():
    table = picture([0] * 3985 + list(range(5000, 5015)))
    assert shown(table) == ["0", "> 0"]


def test_outstanding_whole_numbers_have_their_own_bars():
    rng = np.random.default_rng(3)
    hours = np.where(rng.random(4000) < 0.5, 40, rng.integers(1, 99, 4000))
    names = shown(picture(hours))
    assert names[names.index("40") - 1] == "36 – 39"
    assert names[names.index("40") + 1] == "41 – 45"


def test_the_extremes_are_gathered_and_never_printed():
    column = [*np.random.default_rng(4).integers(20, 76, 2000).tolist(), -77_123, 88_456_001]
    table = picture(column)
    assert "77123" not in str(table.rows).replace(",", "")
    assert "88456001" not in str(table.rows)
    assert sum(row[1] for row in table.rows) == pytest.approx(1, abs=0.03)


def test_a_bin_does_not_end_at_a_rare_value():
    """30 and 31 are held by two records each: no label says so."""
    values = [v for v in range(10, 51) for _ in range(30) if v not in (30, 31)] + [30, 30, 31, 31]
    table = picture(values)
    assert {"30", "31"}.isdisjoint(" ".join(shown(table)).split())
    assert "above 29 – below 32" not in shown(table)  # four records: joined with a neighbour
    assert all(row[1] * len(values) > 4 for row in table.rows)


@pytest.mark.parametrize("values", [range(20, 90), range(20_000, 90_000, 1000)])
def test_a_small_table_whose_values_are_all_rare_still_has_bins(values):
    table = picture([v for v in values for _ in range(2)])
    assert len(table.rows) >= 8
    printed = {float(word) for name in shown(table) for word in name.split() if word[0].isdigit()}
    assert printed
    assert printed.isdisjoint(values)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (30_000, "1975 – 1979"),
        (2_000, "1971-Q1"),
        (600, "1970-08"),
        (120, "1970-W10"),
        (20, "1970-01-07"),
    ],
)
def test_dates_are_cut_by_the_calendar(days, expected):
    rng = np.random.default_rng(5)
    column = [
        dt.date(1969, 12, 29) + dt.timedelta(days=int(d)) for d in rng.integers(0, days, 3000)
    ]
    assert expected in shown(picture(column))


def test_years_that_are_dates_are_named_unless_they_are_rare():
    """1985 stands for 1985-01-01 here, which two records hold, as they do 1986 and 1988."""
    years = [y for y in range(1980, 1995) for _ in range(2 if y in (1985, 1986, 1988) else 20)]
    names = shown(picture([dt.date(year, 1, 1) for year in years]))
    assert names[3:6] == ["1983", "1984 – below 1987", "1987 – below 1989"]
    assert {"1985", "1986", "1988"}.isdisjoint(" ".join(names).split())


def test_a_year_with_many_days_is_named_though_its_first_day_is_rare():
    days = [dt.date(1960 + i // 30, 1 + i % 10, 1 + i % 28) for i in range(900)]
    assert "1962 – 1963" in shown(picture(days))


def test_years_that_are_all_rare_end_with_their_last_month():
    years = [y for y in range(1950, 2000) for _ in range(3)]
    names = shown(picture([dt.date(year, 1, 1) for year in years]))
    assert len(names) > 10
    assert names[1:3] == ["above 1951-12 – 1953-12", "above 1953-12 – 1955-12"]


def heat_labels(column, bins: int = 10) -> list[str]:
    table = pl.DataFrame({"day": column, "sex": ["f", "m"] * (len(column) // 2)})
    rows = bivariate(compared(table), c=bins, **QUICK).tables["heat:day × sex"].rows
    return list(dict.fromkeys(row[0] for row in rows))


def test_periods_on_an_axis_hold_enough_records():
    days = [dt.date(1960, 1, 1) + dt.timedelta(days=20 * i) for i in range(400)]
    assert heat_labels(days)[:3] == ["≤ 1962", "1962 – 1964", "1964 – 1966"]
    often, seldom = ([dt.date(1950 + i // n, 1, 1) for i in range(120)] for n in (6, 3))
    assert heat_labels(often)[:3] == ["≤ 1951", "1951 – 1953", "1953 – 1955"]
    assert heat_labels(seldom)[:2] == ["≤ 1950s", "1950s – 1960s"]


@pytest.mark.parametrize("bins", [2, 5])
def test_the_axis_of_six_records_is_not_cut(bins):
    days = [dt.date(1950 + 7 * i, 1, 1) for i in range(6)]
    assert heat_labels(days, bins) == ["all values"]
    assert heat_labels([11.5, 12.5, 13.5, 15.0, 17.25, 19.0], bins) == ["all values"]


def test_few_dates_are_not_cut_by_the_day():
    days = np.random.default_rng(6).integers(0, 20, 60)
    column = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in days]
    assert not any(len(word) == 10 for name in shown(picture(column)) for word in name.split())


def test_durations_are_written_in_their_unit():
    rng = np.random.default_rng(7)
    column = [dt.timedelta(minutes=int(m)) for m in rng.integers(0, 30, 2000)]
    assert "5 minutes" in shown(picture(column))


def test_levels_by_frequency_and_the_rest_without_a_name():
    train = ["a"] * 40 + ["b"] * 50 + ["rare one"] * 3 + ["rare two"] * 4 + [None] * 3
    synthetic = ["a"] * 96 + ["rare one", "elsewhere", "elsewhere", None]
    table = picture(train, synthetic)
    assert table.rows == (
        ("b", 0.5, 0.0),
        ("a", 0.4, 0.96),
        ("rare levels", 0.05, 0.01),
        ("unseen in training", 0.0, 0.02),
        ("missing", 0.05, 0.01),
    )


def test_many_levels_are_lumped():
    levels = [f"level {i}" for i in range(60) for _ in range(10 + i)]
    table = picture(levels)
    assert len(table.rows) == 41
    assert shown(table)[0] == "level 59"
    assert shown(table)[-1] == "other levels"


def test_words_among_numbers_and_numbers_out_of_range():
    train = [str(v) for v in range(100, 140) for _ in range(10)] + ["N"] * 20 + ["seldom"] * 2
    synthetic = ["100"] * 97 + ["90", "N", "never"]
    table = picture(train, synthetic)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["N"] == (round(20 / 422, 6), 0.01)
    assert "rare levels" not in rows  # two records, rounded to none
    assert rows["unseen in training"] == (0.0, 0.01)
    assert table.rows[0][2] == 0.98  # what lies below is in the first bin
    assert "seldom" not in str(table.rows)


def test_a_real_table_of_four_rows_shows_nothing():
    rows = picture(["a", "b", "a", "b"], ["a"] * 10).rows
    assert all(row[1] is None for row in rows)
    assert "a" not in [row[0] for row in rows]


def test_no_numbers_in_training():
    schema = compared(pl.DataFrame({"x": np.arange(40) / 8})).schema
    table = picture(pl.Series([None] * 20, dtype=pl.Float64), [1.5] * 20, schema=schema)
    assert table.rows == (("all values", 0.0, 1.0), ("missing", 1.0, 0.0))


@given(
    st.lists(st.integers(0, 60), max_size=80),
    st.lists(st.integers(0, 60), max_size=80),
    st.sets(st.integers(0, 60), max_size=30),
)
def test_joined_bins_hold_none_or_enough(train, holdout, places):
    cuts = [Cut.after(p, str(p), str(p + 1)) for p in sorted(places)]
    real = [np.array(train, float), np.array(holdout, float)]
    kept = joined(cuts, real)
    assert set(kept) <= set(cuts)
    assert len(labels(kept)) == len(kept) + 1
    for numbers in real:
        held = counts(kept, numbers)
        assert held.sum() == len(numbers)
        assert not kept or ((held == 0) | (held >= K)).all()


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60))
def test_cuts_are_in_order_and_few(values):
    cuts = round_cuts(np.array(values), None, NOTHING)
    places = [cut.at for cut in cuts]
    assert places == sorted(set(places))
    assert len(cuts) <= 60


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    train, synthetic, holdout = (people(400, seed) for seed in (1, 2, 3))
    return compare_tables(train, synthetic, holdout)


def test_every_column_has_its_histogram_the_same_in_all_measures(comparison):
    found, other = univariate(comparison, **QUICK), hellinger(comparison, resamples=2)
    names = [f"histogram:{name}" for name in comparison.names]
    assert list(found.tables) == names
    assert all(other.tables[name] == found.tables[name] for name in names)
    for table in found.tables.values():
        assert table.columns == ("bin", "train", "synthetic", "holdout")
        assert sum(row[2] for row in table.rows) == pytest.approx(1, abs=1e-4)
        assert all(round(row[1] * 400, 1) % 5 == 0 for row in table.rows)


def test_heat_maps_show_the_cells_that_are_counted(comparison):
    found = bivariate(comparison, **QUICK)
    assert len(found.tables) == len(comparison.names) * (len(comparison.names) - 1) // 2
    table = found.tables["heat:sex × smoker"]
    assert table.columns == ("sex", "smoker", "train", "synthetic", "holdout")
    synthetic = people(400, 2)
    share = ((synthetic["sex"] == "f") & ~synthetic["smoker"]).mean()
    row = next(row for row in table.rows if row[:2] == ("f", "false"))
    assert row[3] == pytest.approx(share, abs=1e-6)
    train = people(400, 1)
    exact = ((train["sex"] == "f") & ~train["smoker"]).sum()
    assert row[2] * 400 == pytest.approx(exact, abs=2.5)
    assert row[2] * 400 % 5 == pytest.approx(0, abs=1e-6)
    for name, drawn in found.tables.items():
        assert name == f"heat:{' × '.join(drawn.columns[:2])}"
        assert sum(row[3] for row in drawn.rows) == pytest.approx(1, abs=1e-3)


def test_ages_on_an_axis_are_cut_at_the_deciles(comparison):
    table = bivariate(comparison, **QUICK).tables["heat:age × sex"]
    ages = list(dict.fromkeys(row[0] for row in table.rows))
    assert ages[0].startswith("≤ ")
    assert 6 <= len(ages) <= 11


def test_the_worst_triples_are_shown(comparison):
    found = trivariate(comparison, pictures=3, **QUICK)
    worst = [f"heat:{part.name}" for part in found.parts[:3]]
    assert list(found.tables) == worst
    assert all(len(table.columns) == 6 for table in found.tables.values())
    assert "3 worst of" in found.note


def test_half_as_many_pairs_where_there_are_more(comparison):
    found = bivariate(comparison, pictures=10, **QUICK)
    assert list(found.tables) == [f"heat:{part.name}" for part in found.parts[:5]]


def test_rare_levels_on_an_axis_have_no_name():
    train = pl.DataFrame({"a": ["x"] * 50 + ["y"] * 46 + ["hidden"] * 4, "b": ["u", "v"] * 50})
    table = bivariate(compared(train), **QUICK).tables["heat:a × b"]
    assert {row[0] for row in table.rows} == {"x", "y", "rare levels"}


def test_whole_distances_begin_with_an_open_bin():
    rng = np.random.default_rng(8)
    near = {"training": np.r_[0, 0, 1, rng.integers(3, 9, 400)], "holdout": rng.integers(4, 9, 403)}
    table = pictures.distances({name: d.astype(float) for name, d in near.items()})
    assert table.columns == ("distance", "training", "holdout")
    assert table.rows[0][0] == "≤ 3"
    assert all(round(share * 403, 1) % 5 == 0 for row in table.rows for share in row[1:])


def test_nothing_is_drawn_where_nothing_is_asked_for(comparison):
    for measure in (bivariate, trivariate):
        drawn, found = measure(comparison, **QUICK), measure(comparison, pictures=0, **QUICK)
        assert found.tables == {}
        assert (found.value, found.parts) == (drawn.value, drawn.parts)
        assert "None of" in found.note
    found = correlation(comparison, pictures=0, resamples=2)
    assert found.tables == {}
    assert "No matrix is shown" in found.note
    assert found.value == correlation(comparison, resamples=2).value


def test_no_box_of_pairs_where_none_is_asked_for(comparison):
    found = total_variation(comparison, pairs=0, resamples=2)
    assert [row[0] for row in found.tables["box"].rows] == ["columns"]
    assert "No pairs are counted" in found.note


def test_one_picture_is_one(comparison):
    assert len(bivariate(comparison, pictures=1, **QUICK).tables) == 1
