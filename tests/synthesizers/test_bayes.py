"""Bayes without epsilon: structure, tables, chances, kept columns, and tables of every shape."""

import dataclasses
import itertools
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.data.codec import Codec
from understudy.data.memory import MemorySource
from understudy.data.schema import infer, read_values
from understudy.data.schema.inference import infer_column
from understudy.data.shown import shown_codec
from understudy.data.tables import Table
from understudy.kernels import networks
from understudy.kernels.marginals import Layout, count_tables, table_distances
from understudy.synthesizers.bayes.conditionals import Conditional, conditional, merge_codes
from understudy.synthesizers.bayes.plain import read_shown, shown_once
from understudy.synthesizers.bayes.structure import learn_structure
from understudy.synthesizers.generators import NamedGenerator
from understudy.synthesizers.model_file import Damaged, State


@pytest.fixture(scope="module")
def workers():
    with ThreadPoolExecutor(2) as pool:
        yield pool


def some_codes(rows: int, sizes: list[int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asfortranarray(np.column_stack([rng.integers(0, s, rows) for s in sizes]), np.uint8)


def counted(codes: np.ndarray, sizes: list[int]) -> np.ndarray:
    made = np.zeros(sizes)
    np.add.at(made, tuple(codes.T), 1)
    return made


@pytest.mark.parametrize("rows", [1, 7, 500])
def test_joint_entropies_against_counts(rows, workers):
    sizes = [2, 3, 5, 4]
    codes = some_codes(rows, sizes, rows)
    for ways in (1, 2, 3, 4):
        subsets = np.array(list(itertools.combinations(range(4), ways)))
        found, filled = networks.joint_entropies(codes, np.array(sizes), subsets, workers)
        for subset, entropy, cells in zip(subsets, found, filled, strict=True):
            share = counted(codes[:, subset], [sizes[j] for j in subset]).ravel() / rows
            share = share[share > 0]
            assert entropy == pytest.approx(-(share * np.log(share)).sum(), abs=1e-12)
            assert cells == len(share)


@given(st.integers(0, 10**6))
def test_the_best_order_is_no_worse_than_greedy_and_is_scored_as_it_says(seed):
    rng = np.random.default_rng(seed)
    single, double = rng.random((5, 5)), rng.random((5, 5, 5))
    double = (double + double.transpose(0, 2, 1)) / 2
    order, told = networks.greedy_order(single, double, int(rng.integers(5)), np.empty(0, np.int64))
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4]

    def oracle(order):
        total = 0.0
        for i, child in enumerate(order):
            sets = [single[child, a] for a in order[:i]]
            sets += [double[child, a, b] for a, b in itertools.combinations(order[:i], 2)]
            total += max([0.0, *sets])
        return total

    assert told == pytest.approx(oracle(order))
    better, more = networks.improve_order(single, double, order.copy(), 0, 5)
    assert more == pytest.approx(oracle(better))
    assert more >= told - 1e-12
    assert more <= max(map(oracle, itertools.permutations(range(5)))) + 1e-12


def test_parents_of_an_exclusive_or_are_found_as_a_pair_only(workers):
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    noise = rng.integers(0, 3, 2000)
    codes = np.asfortranarray(np.column_stack([noise, a, b, a ^ b]), np.uint8)
    sizes = np.array([3, 2, 2, 2])
    found = learn_structure(codes, sizes, (), 2, workers)
    last = next(p for p in found.parents if p)
    assert sum(map(len, found.parents)) == 2
    assert set(last) < {1, 2, 3}
    assert learn_structure(codes, sizes, (), 1, workers).parents == ((),) * 4


def test_a_chain_is_found_and_kept_columns_come_first(workers):
    rng = np.random.default_rng(2)
    columns = [rng.integers(0, 4, 3000)]
    for _ in range(4):
        flip = rng.random(3000) < 0.2
        columns.append(np.where(flip, rng.integers(0, 4, 3000), columns[-1]))
    codes = np.asfortranarray(np.column_stack(columns), np.uint8)
    sizes = np.full(5, 4)
    found = learn_structure(codes, sizes, (), 1, workers)
    linked = {frozenset((c, *p)) for c, p in zip(found.order, found.parents, strict=True) if p}
    assert linked == {frozenset((i, i + 1)) for i in range(4)}
    held = learn_structure(codes, sizes, (3, 1), 2, workers)
    assert held.order[:2] == (3, 1)
    assert held.parents[:2] == ((), ())
    parents = dict(zip(held.order, held.parents, strict=True))
    assert set(parents[2]) == {3, 1}


def test_three_parents_are_found_one_at_a_time(workers, monkeypatch):
    rng = np.random.default_rng(3)
    parents = rng.integers(0, 2, (4000, 3))
    child = (parents.sum(axis=1) >= 2) ^ (rng.random(4000) < 0.05)
    codes = np.asfortranarray(np.column_stack([parents, child]), np.uint8)
    found = learn_structure(codes, np.full(4, 2), (0, 1, 2), 3, workers)
    assert set(found.parents[-1]) == {0, 1, 2}
    for most, many in ((15, 2), (16, 3)):  # a table of so many cells is counted, no larger one
        monkeypatch.setattr("understudy.synthesizers.bayes.structure.MOST_CELLS", most)
        held = learn_structure(codes, np.full(4, 2), (0, 1, 2), 3, workers)
        assert len(held.parents[-1]) == many


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=40),
    st.integers(0, 40),
    st.lists(st.integers(1, 30), min_size=1, max_size=3),
)
def test_groups_are_nested_whole_and_as_few_as_asked(counts, ordered, most):
    most = sorted(most, reverse=True)
    ordered = min(ordered, len(counts))
    made = merge_codes(np.array(counts, float), ordered, most)
    finer = np.arange(len(counts))
    for groups, wanted in zip(made, most, strict=True):
        used = np.unique(groups)
        assert used.tolist() == list(range(len(used)))
        assert len(used) <= max(wanted, 2 if 0 < ordered < len(counts) else 1)
        for group in np.unique(finer):
            assert len(set(groups[finer == group])) == 1
        line = groups[:ordered]
        assert (np.diff(line) >= 0).all()
        assert (np.diff(line) <= 1).all()
        finer = groups


def test_many_levels_are_grouped_at_once():
    groups = merge_codes(np.arange(60_000.0)[::-1], 0, (24, 8))
    assert [g.max() + 1 for g in groups] == [24, 8]
    assert groups[0][:23].tolist() == list(range(23))


def test_lines_lean_on_what_they_refine():
    prior = np.array([[0.5, 0.3, 0.2]])
    each = np.arange(3)
    alike = np.array([[50.0, 30, 20], [500, 300, 200], [0, 0, 0]])
    made = networks.lean(alike, np.zeros(3, np.int64), prior, each, fine=64)
    np.testing.assert_allclose(made, np.repeat(prior, 3, axis=0), atol=1e-4)
    apart = np.array([[900.0, 50, 50], [50, 50, 900]])
    made = networks.lean(apart, np.zeros(2, np.int64), prior, each, fine=64)
    np.testing.assert_allclose(made, apart / 1000, atol=5e-3)
    np.testing.assert_allclose(made.sum(axis=1), 1)
    few = networks.lean(np.array([[1.0, 0, 0]]), np.zeros(1, np.int64), prior, each, fine=64)
    np.testing.assert_allclose(few, prior, atol=1e-4)


def test_shares_are_drawn_as_they_are_and_nothing_else():
    shares = np.array([[0.2, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]])
    model = conditional((0,), (np.array([0, 1]),), shares)
    codes = np.zeros((40_000, 1), np.uint16)
    codes[20_000:] = 1
    drawn = model.draw(codes, np.random.default_rng(1))
    assert (drawn[20_000:] == 1).all()
    assert set(drawn[:20_000]) == {0, 2}
    assert (drawn[:20_000] == 2).mean() == pytest.approx(0.8, abs=0.015)
    chances = model.chances(codes[:5], np.array([0, 1, 2, 3, 4], np.uint16))
    np.testing.assert_allclose(chances, [0.2, 0, 0.8, 0, 0], atol=1e-7)
    again = Conditional.of(State(arrays=model.arrays()), [2], 4)
    assert again.cumulative is model.cumulative
    broken = State(arrays={**model.arrays(), "groups": np.array([0, 2])})
    with pytest.raises(Damaged, match="do not fit"):
        Conditional.of(broken, [2], 4)


def wages(rows: int = 300, seed: int = 1) -> Table:
    """Categories, a small domain of numbers, a number with missing values and a word."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    grade = np.where(sex == "f", rng.integers(1, 4, rows), rng.integers(2, 4, rows))
    wage = [f"{10 * g + 0.5 * rng.integers(0, 2)}" for g in grade]
    wage = [None if rng.random() < 0.2 else "N" if rng.random() < 0.1 else w for w in wage]
    return Table.of(pl.DataFrame({"sex": sex, "grade": grade, "wage": wage}))


def domain(table: Table) -> Table:
    levels = [table.frame[name].unique().sort().to_list() for name in table.frame.columns]
    frame = pl.DataFrame(list(itertools.product(*levels)), schema=table.frame.schema, orient="row")
    return Table.of(frame, table.schema)


@pytest.mark.parametrize(
    "options", [{}, {"k": 1}, {"mode": "independent"}, {"mode": "random"}, {"least": 30}]
)
def test_chances_are_the_frequencies_of_many_samples(options):
    table, many = wages(), 200_000
    every = domain(table)
    made = us.synthesizer("bayes", seed=1, **options).fit(table)
    chances = np.exp(made.method.log_likelihood(every))
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    drawn = Table.of(made.sample(many), table.schema).frame.group_by(pl.all()).len("n")
    joined = every.frame.join(
        drawn, on=every.frame.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    shares = joined["n"].fill_null(0).to_numpy() / many
    wide = 5 * np.sqrt(chances * (1 - chances) / many) + 1e-12
    assert (abs(shares - chances) <= wide).all()
    assert (shares[chances == 0] == 0).all()
    own = NamedGenerator("bayes", options).log_likelihood(table, every)
    np.testing.assert_allclose(np.exp(own), chances, rtol=1e-12)


def test_values_never_shown_have_no_chance_and_epsilon_gives_none():
    table = wages()
    strange = pl.DataFrame(
        {"sex": ["x", "f", "f"], "grade": [1, 9, 1], "wage": ["10.0", "10.0", "77.7"]}
    )
    rows = Table.of(strange.cast(table.frame.schema), table.schema)
    assert NamedGenerator("bayes").log_likelihood(table, rows).tolist() == [-np.inf] * 3
    assert (
        len(NamedGenerator("bayes").log_likelihood(table, Table(table.frame[:0], table.schema)))
        == 0
    )
    assert not NamedGenerator("bayes", {"epsilon": 1.0}).knows_chances(table.schema)
    assert not NamedGenerator("bayes", {"keep": ["sex"]}).knows_chances(table.schema)


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_each_number_is_shown_by_one_code(seed, least):
    rng = np.random.default_rng(seed)
    numbers = np.round(np.exp(rng.normal(size=300)) * rng.choice([1, 3, 50]))
    numbers[rng.random(300) < 0.1] = np.nan
    series = pl.Series("x", numbers, nan_to_null=True)
    column = infer_column(series)
    if not column.is_numeric:
        return
    values = read_values(series, column)
    before, coded = shown_codec(values, column, least)
    made, codes = shown_once(before, coded)
    assert len(np.unique(made.numbers.values)) == len(made.numbers.values)
    assert set(made.numbers.values) == set(before.numbers.values)
    assert made.numbers.weights.sum() == pytest.approx(before.numbers.weights.sum())
    assert (np.diff(made.numbers.begin) > 0).all()
    assert codes.max() <= made.size
    assert ((codes == made.size) == (coded == before.size)).all()
    shown = made.decode(np.arange(made.size).repeat(20).astype(np.uint16), rng)
    again, logs = read_shown(made, read_values(shown, column))
    assert again.tolist() == np.arange(made.size).repeat(20).tolist()
    assert np.isfinite(logs).all()


def test_no_value_of_few_rows_is_shown():
    rng = np.random.default_rng(1)
    train = pl.DataFrame(
        {
            "unique": 1000 + 7 * rng.permutation(400),
            "level": [f"level {v}" for v in rng.geometric(0.1, 400)],
            "float": rng.normal(size=400),
            "age": rng.integers(18, 90, 400),
        }
    )
    for mode in ("correlated", "independent", "random"):
        made = us.synthesizer("bayes", mode=mode, seed=1).fit(train, schema=_numeric(train))
        drawn = made.sample(4000)
        for name in train.columns:
            counts = dict(train[name].rename("value").value_counts().iter_rows())
            assert not any(0 < counts.get(v, 0) < 5 for v in drawn[name].unique().to_list())


def _numeric(frame: pl.DataFrame):
    return infer(frame).replace("unique", kind="number")


def test_modes_keep_what_they_say():
    rng = np.random.default_rng(1)
    x = rng.choice([0, 1], 4000, p=[0.9, 0.1])
    train = pl.DataFrame(
        {"x": x, "y": x ^ (rng.random(4000) < 0.05), "z": rng.exponential(1, 4000)}
    )
    made = {
        mode: us.synthesizer("bayes", mode=mode, seed=1).fit(train).sample(4000)
        for mode in ("correlated", "independent", "random")
    }

    def agree(frame):
        return (frame["x"] == frame["y"].cast(pl.Int64)).mean()

    assert agree(made["correlated"]) > 0.93
    assert agree(made["independent"]) == pytest.approx(0.9 * 0.86 + 0.1 * 0.14, abs=0.04)
    assert made["independent"]["x"].mean() == pytest.approx(0.1, abs=0.02)
    assert made["random"]["x"].mean() == pytest.approx(0.5, abs=0.04)
    middle = (made["random"]["z"].min() + made["random"]["z"].max()) / 2
    assert (made["random"]["z"] < middle).mean() == pytest.approx(0.5, abs=0.04)
    assert (made["correlated"]["z"] < middle).mean() > 0.9


def test_kept_columns_stay_and_others_are_drawn_given_them():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, 6000), rng.integers(0, 2, 6000)
    child = np.where(rng.random(6000) < 0.9, (a + b) % 3, rng.integers(0, 3, 6000))
    train = pl.DataFrame({"child": child, "a": a, "b": b, "other": rng.normal(size=6000)})
    made = us.replace(train, ["child"], method="bayes", seed=1)
    assert made.drop("child").equals(train.drop("child"))
    right = (made["child"].to_numpy() == (a + b) % 3).mean()
    assert right == pytest.approx(0.9 + 0.1 / 3, abs=0.02)
    assert not made["child"].equals(train["child"])


def test_what_is_kept_may_hold_values_that_are_never_shown():
    train = pl.DataFrame({"a": ["x"] * 30 + ["y"] * 30 + ["rare"], "b": ["u"] * 30 + ["v"] * 31})
    made = us.replace(train, ["b"], method="bayes", seed=1)
    assert made["a"].equals(train["a"])
    assert set(made["b"]) <= {"u", "v"}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": "sideways"}, "mode = 'sideways'"),
        ({"k": 0}, "k = 0"),
        ({"bins": 1}, "bins = 1"),
        ({"bins": 1000}, "bins = 1000"),
        ({"least": 0}, "least = 0"),
        ({"buy": ["a"]}, "no epsilon to pay with"),
        ({"epsilon": 1.0, "keep": ["a"]}, "no epsilon covers them"),
        ({"epsilon": 0.0}, "epsilon = 0"),
        ({"epsilon": -1.0}, "epsilon = -1"),
        ({"epsilon": float("nan")}, "epsilon = nan"),
        ({"epsilon": float("inf")}, "epsilon = inf"),
        ({"keep": 3}, "keep = 3"),
    ],
)
def test_impossible_options(options, match):
    with pytest.raises(us.UnderstudyError, match=match):
        us.synthesizer("bayes", **options)


def test_tables_that_are_hard_or_refused():
    fit = us.synthesizer("bayes", least=1).fit
    one = fit(pl.DataFrame({"a": ["x"], "b": [2.5]})).sample(3)
    assert one["a"].to_list() == ["x"] * 3
    every = fit(pl.DataFrame({"a": [f"v{i}" for i in range(40)] * 2, "b": [1.5, 2.5] * 40}))
    assert every.sample(500)["a"].n_unique() > 30
    many = us.synthesizer("bayes").fit(
        Table.of(pl.DataFrame({"a": [f"v{i}" for i in range(40)], "b": ["x", "y"] * 20})),
    )
    assert "all missing" in " ".join(many.method.notes_) or "a" not in many.fitted.modelled
    gone = pl.DataFrame({"a": pl.Series([None] * 30, dtype=pl.String), "b": ["x", "y", "x"] * 10})
    assert us.synthesizer("bayes").fit(gone).sample(20)["a"].null_count() == 20
    with pytest.raises(us.UnderstudyError, match="fewer than 5 rows"):
        us.synthesizer("bayes").fit(pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}))
    alone = us.synthesizer("bayes").fit(pl.DataFrame({"b": ["x", "y", "x"] * 10}))
    assert set(alone.sample(50)["b"]) == {"x", "y"}
    with pytest.raises(us.UnderstudyError, match="keep names 'c'"):
        us.synthesizer("bayes", keep=["c"]).fit(gone)
    with pytest.raises(us.UnderstudyError, match="need rows"):
        us.synthesizer("bayes", keep=["a"]).fit(gone).sample(3)
    ruled = dataclasses.replace(Table.of(gone).schema, rules=("a is missing where b == 'x'",))
    with pytest.raises(us.UnderstudyError, match="cannot hold the rules"):
        us.synthesizer("bayes").fit(gone, schema=ruled)


def test_a_model_whose_parts_do_not_fit_is_refused(tmp_path):
    path, broken = tmp_path / "model", tmp_path / "broken"
    us.synthesizer("bayes", seed=1).fit(wages()).save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json":
                document = json.loads(content)
                document["values"]["order"] = [0, 0, 1]
                content = json.dumps(document).encode()
            new.writestr(name, content)
    with pytest.raises(us.UnderstudyError, match="damaged"):
        us.load(broken)


def distances(real: Table, made: Table) -> list[float]:
    """Give F1, F2 and F3 in per cent."""
    source, found = MemorySource(real), []
    for ways, c in ((1, 100), (2, 10), (3, 5)):
        codec = Codec.fit(source, bins=c, levels=c)
        layout = Layout.all_ways(np.array(codec.sizes), ways)
        one, other = (count_tables(codec.encode(t).codes, layout) for t in (real, made))
        found.append(100 * float(table_distances(one, other, layout).mean()))
    return found


@pytest.mark.slow
def test_adult_with_two_parents_is_below_five_per_cent(real_data):
    train = Table.of(str(real_data("adult_trn")))
    made = us.synthesizer("bayes", seed=1).fit(train)
    f1, _, f3 = distances(train, Table.of(pl.concat(list(made.batches())), train.schema))
    assert f3 < 5
    assert f1 < 1
    chain = us.synthesizer("bayes", k=1, seed=1).fit(train)
    assert distances(train, Table.of(pl.concat(list(chain.batches())), train.schema))[2] > f3 + 1
