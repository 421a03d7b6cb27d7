"""The share closer to training: immune to the defects of peers, and no way to hide copies."""

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest

import understudy as us
from packaged import voters
from people import people
from understudy.errors import OptionError
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import Finding
from understudy.measures.privacy.closest_record import closest_record
from understudy.measures.privacy.distances import (
    mean_minimal_distance,
    neighbour_ratio,
    too_close,
)
from understudy.measures.privacy.identical_matches import identical_matches

RELATIVES = (
    closest_record,
    neighbour_ratio,
    mean_minimal_distance,
    too_close,
    identical_matches,
)


def numbers(rows: int, seed: int, columns: int = 5) -> pl.DataFrame:
    made = np.random.default_rng(seed).normal(size=(rows, columns))
    return pl.DataFrame(made, schema=[f"x{i}" for i in range(columns)])


def categories(rows: int, seed: int, columns: int, levels: int) -> pl.DataFrame:
    made = np.random.default_rng(seed).integers(0, levels, (rows, columns)).astype(str)
    return pl.DataFrame(made, schema=[f"c{i}" for i in range(columns)])


def halves(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    return shuffled[: frame.height // 2], shuffled[frame.height // 2 :]


def compared(train: pl.DataFrame, synthetic: pl.DataFrame, holdout: pl.DataFrame) -> Comparison:
    return compare_tables(train, synthetic, holdout, seed=1)


def part(finding: Finding, name: str) -> float:
    return next(p.value for p in finding.parts if p.name == name)


# One outlier row changes nothing (PEERS.md, 1).


@pytest.mark.parametrize("distance", ["hamming", "mixed"])
@pytest.mark.parametrize("where", ["train", "holdout"])
@pytest.mark.parametrize("copies", [0, 300])
def test_one_outlier_row_changes_nothing_material(distance, where, copies):
    tables = {"train": numbers(1000, 1), "holdout": numbers(1000, 2)}
    synthetic = tables["train"][:copies].vstack(numbers(1000 - copies, 3))
    before = closest_record(compared(**tables, synthetic=synthetic), distance=distance)
    outlier = pl.DataFrame({name: [1e9] for name in synthetic.columns})
    tables[where] = tables[where][:-1].vstack(outlier)
    after = closest_record(compared(**tables, synthetic=synthetic), distance=distance)
    assert before.flagged == after.flagged == (copies > 0)
    assert after.value == pytest.approx(before.value, abs=0.02)
    if copies:
        assert after.value == pytest.approx(0.65, abs=0.03)


def test_a_range_would_have_been_fooled():
    """What the defect does, for the record: one row squeezes everybody's scale but its own."""
    train, holdout, synthetic = (numbers(400, seed) for seed in (1, 2, 3))
    stretched = train[:-1].vstack(pl.DataFrame({name: [1e9] for name in train.columns}))

    def nearest(reference: pl.DataFrame) -> np.ndarray:
        real = reference.to_numpy()
        apart = np.abs(synthetic.to_numpy()[:, None] - real[None]) / np.ptp(real, axis=0)
        return apart.sum(axis=2).min(axis=1)

    assert (nearest(stretched) < nearest(holdout)).mean() > 0.99
    assert not closest_record(compared(stretched, synthetic, holdout)).flagged


# Ties are split (2), sizes may differ (3).


@pytest.mark.parametrize(
    ("columns", "levels", "copies", "share"), [(8, 4, 600, 0.80), (10, 5, 300, 0.65)]
)
def test_ties_do_not_hide_copies_of_categories(columns, levels, copies, share):
    train, holdout, fresh = (categories(1000, seed, columns, levels) for seed in (1, 2, 3))
    synthetic = train[:copies].vstack(fresh[copies:])
    found = closest_record(compared(train, synthetic, holdout))
    assert found.flagged
    assert found.interval[0] > 0.5
    assert found.value == pytest.approx(share, abs=0.03)
    assert not closest_record(compared(train, fresh, holdout)).flagged


def test_few_categories_tie_everywhere_and_copies_cannot_be_told():
    """2 columns of 2 levels: every record is in both tables, which is no evidence at all."""
    train, holdout = (categories(300, seed, 2, 2) for seed in (1, 2))
    found = closest_record(compared(train, train, holdout))
    assert found.value == pytest.approx(0.5, abs=0.01)
    assert not found.flagged


@pytest.mark.parametrize("distance", ["hamming", "mixed", "euclidean"])
def test_unequal_sizes_are_not_flagged(distance):
    train, holdout, synthetic = numbers(2000, 1), numbers(1000, 2), numbers(1500, 3)
    found = closest_record(compared(train, synthetic, holdout), distance=distance)
    assert not found.flagged
    assert found.reference == pytest.approx(2 / 3)
    assert found.interval[0] < found.reference < found.interval[1]
    assert "differ in size" in found.note
    copied = train[:300].vstack(synthetic[300:])
    caught = closest_record(compared(train, copied, holdout), distance=distance)
    assert caught.flagged
    assert caught.value == pytest.approx(2 / 3 + 0.2 / 3, abs=0.03)


def test_unequal_sizes_and_a_full_copy():
    train, holdout = numbers(300, 1), numbers(100, 2)
    found = closest_record(compared(train, train, holdout))
    assert found.value == 1.0
    assert found.flagged
    reverse = closest_record(compared(train, holdout, holdout))
    assert reverse.value == 0.0
    assert not reverse.flagged


# A copy in the same order is a copy (6), and no other copy escapes.


KINDS = ("verbatim", "shuffled", "every tenth value changed", "most outlying tenth alone")


def copy_of(kind: str, train: pl.DataFrame, holdout: pl.DataFrame) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    if kind == "verbatim":
        return train
    if kind == "shuffled":
        return train.sample(fraction=1, shuffle=True, seed=1)
    if kind == "every tenth value changed":
        columns = []
        for series in train:
            rows = np.arange(train.height)
            changed = rng.random(train.height) < 0.1
            rows[changed] = rng.integers(0, train.height, changed.sum())
            columns.append(series.gather(rows))
        return pl.DataFrame(columns)
    comparison = compare_tables(train, train, holdout)
    codec = comparison.pooled_codec(bins=100)
    far = comparison.nearest("synthetic", "holdout", codec, cap=0).distance
    return train[np.argsort(-far, kind="stable")[: train.height // 10]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("distance", ["hamming", "mixed"])
def test_copies_of_made_up_people_are_flagged(kind, distance):
    train, holdout = people(800, 1), people(800, 2)
    synthetic = copy_of(kind, train, holdout)
    found = closest_record(compared(train, synthetic, holdout), distance=distance)
    assert found.flagged
    assert found.p_value == pytest.approx(1 / 1025)
    assert found.value > 0.8
    assert found.interval[0] > 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_voters_are_flagged(kind):
    train, holdout = halves(voters())
    found = closest_record(compared(train, copy_of(kind, train, holdout), holdout))
    assert found.flagged
    assert found.p_value == pytest.approx(1 / 1025)
    assert found.interval[0] > 0.8


@pytest.mark.parametrize("measure", RELATIVES, ids=lambda measure: measure.card.name)
def test_a_copy_in_the_same_order_is_flagged_by_every_relative(measure):
    train, holdout = people(500, 1), people(500, 2)
    assert measure(compared(train, train, holdout)).flagged


# Too close and too far do not cancel (footnote 3 of the paper).


def absurd(rows: int) -> pl.DataFrame:
    """Rows that are far from everybody, in various directions."""
    rng = np.random.default_rng(4)
    return people(rows, 9).with_columns(
        age=pl.Series(rng.choice([-999, 999], rows)),
        income=pl.Series(rng.choice([-1e12, 1e12], rows)),
        day=pl.Series(rng.choice([dt.date(1900, 1, 1), dt.date(2200, 1, 1)], rows).astype("M8[D]")),
        town=pl.lit("nowhere"),
    )


@pytest.mark.parametrize("distance", ["hamming", "mixed"])
def test_far_records_do_not_make_up_for_copies(distance):
    train, holdout = people(800, 1), people(800, 2)
    synthetic = train[:400].vstack(absurd(400))
    found = closest_record(compared(train, synthetic, holdout), distance=distance)
    assert found.flagged
    assert found.value == pytest.approx(0.75, abs=0.02 if distance == "hamming" else 0.1)
    assert found.interval[0] > 0.5


def test_far_records_do_not_make_up_for_copies_of_voters():
    train, holdout = halves(voters())
    half = train.height // 2
    far = train[half:].with_columns(pl.all() + 10**9)
    found = closest_record(compared(train, train[:half].vstack(far), holdout))
    assert found.flagged
    assert found.value == pytest.approx(0.75, abs=0.02)


# The distance is an option.


def embed(frame: pl.DataFrame) -> np.ndarray:
    return frame.select(pl.all().cast(pl.Float64)).to_numpy()


@pytest.mark.parametrize("distance", ["mixed", "euclidean", embed])
def test_other_distances(distance):
    train, holdout, fresh = (numbers(600, seed) for seed in (1, 2, 3))
    assert not closest_record(compared(train, fresh, holdout), distance=distance).flagged
    found = closest_record(
        compared(train, train[:200].vstack(fresh[200:]), holdout), distance=distance
    )
    assert found.flagged
    assert found.value == pytest.approx(0.5 + 0.5 / 3, abs=0.04)
    assert part(found, "exact copies") == pytest.approx(1 / 3)


def test_embeddings_against_scikit_learn():
    from sklearn.neighbors import NearestNeighbors

    train, holdout, synthetic = numbers(300, 1), numbers(200, 2), numbers(250, 3)
    found = closest_record(compared(train, synthetic, holdout), distance=embed)
    far = {}
    for name, real in (("training", train), ("holdout", holdout)):
        search = NearestNeighbors(n_neighbors=1).fit(embed(real))
        far[name] = search.kneighbors(embed(synthetic))[0][:, 0]
    mean = next(p for p in found.parts if p.name == "mean distance")
    assert mean.value == pytest.approx(far["training"].mean(), rel=1e-5)
    assert mean.reference == pytest.approx(far["holdout"].mean(), rel=1e-5)
    assert found.value == pytest.approx((far["training"] < far["holdout"]).mean())


def test_two_embeddings_of_one_comparison_are_not_mixed_up():
    comparison = compared(numbers(200, 1), numbers(200, 1), numbers(200, 2))
    whole = closest_record(comparison, distance=lambda frame: embed(frame))
    nothing = closest_record(comparison, distance=lambda frame: embed(frame) * 0)
    assert whole.value == 1.0
    assert nothing.value == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("distance", "message"),
    [
        ("manhattan", "distance = 'manhattan'"),
        (3, "distance = 3"),
        (lambda frame: np.zeros(frame.height), "one row each"),
        (lambda frame: np.zeros((frame.height - 1, 2)), "one row each"),
        (lambda frame: np.zeros((frame.height, 1 + frame.height % 2)), "one row each"),
        (lambda frame: np.full((frame.height, 2), np.nan), "finite numbers"),
    ],
)
def test_wrong_distances(distance, message):
    comparison = compared(numbers(40, 1), numbers(41, 2), numbers(40, 3))
    with pytest.raises(OptionError, match=message) as caught:
        closest_record(comparison, distance=distance)
    assert caught.value.hint


def test_strata_and_groups_cannot_both_be_named_or_torn_apart():
    train, holdout = people(50, 1), people(50, 2)
    comparison = compared(train, train, holdout)
    with pytest.raises(OptionError, match="both named"):
        closest_record(comparison, strata="sex", group="town")
    with pytest.raises(OptionError, match="in training and in holdout"):
        closest_record(comparison, group="town")
    assert closest_record(comparison, strata="sex").flagged
    assert closest_record(comparison, group="person_id").flagged


def test_rows_without_a_group_stand_alone():
    train, holdout = (
        people(60, seed).with_columns(
            person_id=pl.when(pl.int_range(pl.len()) < 20).then(pl.col("person_id"))
        )
        for seed in (1, 2)
    )
    assert closest_record(compared(train, train, holdout), group="person_id").flagged


# What the parts say.


def test_parts():
    train, holdout, fresh = (people(600, seed) for seed in (1, 2, 3))
    synthetic = train[:60].vstack(fresh[60:])
    comparison = compared(train, synthetic, holdout)
    found = closest_record(comparison)
    codec = comparison.pooled_codec(bins=100)
    codes = {t: comparison.codes(t, codec).astype(int) for t in ("train", "synthetic", "holdout")}
    far = {
        t: (codes["synthetic"][:, None] != codes[t][None]).sum(axis=2).min(axis=1)
        for t in ("train", "holdout")
    }
    parts = {p.name: p for p in found.parts}
    assert parts["exact copies"].value == (far["train"] == 0).mean() >= 0.1
    assert parts["exact copies"].reference == (far["holdout"] == 0).mean()
    assert parts["mean distance"].value == pytest.approx(far["train"].mean())
    assert parts["mean distance"].reference == pytest.approx(far["holdout"].mean())
    for percent in (1, 5, 50, 95):
        quantile = parts[f"distance, {percent} % quantile"]
        assert quantile.value == np.quantile(far["train"], percent / 100)
        assert quantile.reference == np.quantile(far["holdout"], percent / 100)
    ahead = np.sort(far["holdout"] - far["train"])[-6:].mean()
    assert parts["the worst 1% of records: how much closer to training"].value == ahead
    tail = parts["the most outlying tenth"]
    assert tail.reference == 0.5
    assert set(tail.more) == {"low", "high", "p_value"}
    table = found.tables["histogram:distance"]
    assert table.columns == ("distance", "training", "holdout")
    assert sum(row[1] for row in table.rows) == pytest.approx(1, abs=0.05)
    assert sum(row[2] for row in table.rows) == pytest.approx(1, abs=0.05)


def test_single_distances_are_not_told():
    """A quantile is a record's distance: rounded, and withheld where few lie below."""
    rng = np.random.default_rng(1)
    train, holdout, synthetic = (
        pl.DataFrame({f"x{i}": rng.random(n) for i in range(3)}) for n in (300, 300, 99)
    )
    found = closest_record(compared(train, synthetic, holdout), distance="mixed")
    parts = {p.name: p for p in found.parts}
    assert parts["distance, 1 % quantile"].value is None
    assert parts["distance, 5 % quantile"].reference is None
    median = parts["distance, 50 % quantile"].value
    assert median == float(f"{median:.2g}") > 0
    label, *first = found.tables["histogram:distance"].rows[0]
    assert label.startswith("≤ ")
    assert all(share * 99 >= 5 for share in first)


def test_share_against_every_pair():
    train, holdout, synthetic = (people(150, seed) for seed in (1, 2, 3))
    comparison = compared(train, synthetic, holdout)
    found = closest_record(comparison)
    codec = comparison.pooled_codec(bins=100)
    codes = {t: comparison.codes(t, codec).astype(int) for t in ("train", "synthetic", "holdout")}
    far = {
        t: (codes["synthetic"][:, None] != codes[t][None]).sum(axis=2).min(axis=1)
        for t in ("train", "holdout")
    }
    closer, equal = far["train"] < far["holdout"], far["train"] == far["holdout"]
    assert found.value == pytest.approx((closer + equal / 2).mean(), abs=1e-12)


# The register is the steward's alone.


def wide(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    numbers = {f"x{i}": rng.normal(size=rows) for i in range(8)}
    return pl.DataFrame({**numbers, "secret": [f"only here {seed} {i}" for i in range(rows)]})


@pytest.mark.parametrize("distance", ["hamming", "mixed", "euclidean"])
def test_the_register_lists_planted_copies_first(distance):
    rng = np.random.default_rng(5)
    train, holdout, fresh = (wide(600, seed).drop("secret") for seed in (1, 2, 3))
    rows, places = rng.choice(600, 9, replace=False), rng.choice(600, 9, replace=False)
    planted = train[rows].with_columns(x3=pl.when(pl.int_range(9) == 4).then(99.0).otherwise("x3"))
    frame = fresh.with_row_index().filter(~pl.col("index").is_in(places)).drop("index")
    order = np.argsort(np.concatenate([np.setdiff1d(np.arange(600), places), places]))
    synthetic = frame.vstack(planted)[order]
    found = closest_record(compared(train, synthetic, holdout), distance=distance, register=0.015)
    register = found.register
    expected = dict(zip(places.tolist(), rows.tolist(), strict=True))
    if distance != "hamming":
        del expected[int(places[4])]
    listed = dict(register.select("synthetic_row", "training_row").head(len(expected)).iter_rows())
    assert listed == expected
    for row in register.head(len(expected)).iter_rows(named=True):
        names = set(row["why"].split(", "))
        changed = row["synthetic_row"] == places[4]
        assert names == set(train.columns) - ({"x3"} if changed else set())
        assert row["distance"] < row["distance_holdout"]
        assert row["distance"] == (0 if not changed else pytest.approx(1))


def test_the_register_holds_those_ahead_alone():
    train, holdout = people(300, 1), people(300, 2)
    nobody = closest_record(compared(train, holdout, holdout), register=1.0).register
    assert nobody.height == 0
    everybody = closest_record(compared(train, train, holdout), register=1.0).register
    assert set(everybody["synthetic_row"]) == set(range(300))
    assert (everybody["distance"] == 0).all()


def test_the_register_is_never_shared():
    train, holdout = wide(300, 1), wide(300, 2)
    result = us.assess(train, train, holdout=holdout, measures=["privacy.closest_record"])
    found = result["privacy.closest_record"]
    assert found.register.height > 0
    shared = json.dumps(found.to_dict()) + result.to_json() + result.to_html()
    assert "register" not in found.to_dict()
    for word in ("synthetic_row", "training_row", "only here"):
        assert word not in shared


def test_a_copy_of_a_narrow_table_is_flagged():
    """Two columns: differing codes cannot tell records apart, ranks can."""
    rng = np.random.default_rng(5)
    tables = [
        pl.DataFrame({"sex": rng.choice(["f", "m"], 3000), "x": rng.normal(size=3000)})
        for _ in range(3)
    ]
    train, holdout, fresh = tables
    copy = closest_record(compared(train, train, holdout))
    assert copy.flagged
    assert "distance = mixed" in copy.note
    assert not closest_record(compared(train, fresh, holdout)).flagged


def test_a_function_of_two_frames_is_a_distance():
    def apart(first: pl.DataFrame, second: pl.DataFrame) -> np.ndarray:
        a, b = (f["x0"].cast(pl.Float64).to_numpy() for f in (first, second))
        return np.abs(a[:, None] - b[None])

    train, holdout, fresh = (numbers(300, seed) for seed in (1, 2, 3))
    assert closest_record(compared(train, train, holdout), distance=apart).value > 0.95
    assert not closest_record(compared(train, fresh, holdout), distance=apart).flagged
    with pytest.raises(us.UnderstudyError, match="shape"):
        closest_record(compared(train, fresh, holdout), distance=lambda a, b: np.zeros((1, 1)))


def test_every_exact_copy_is_in_the_register():
    train, holdout = people(300, 1), people(300, 2)
    found = closest_record(compared(train, train, holdout))
    assert found.register["synthetic_row"].n_unique() >= 290
    assert "The register lists" in found.note
