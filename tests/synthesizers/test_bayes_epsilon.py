"""Bayes under epsilon: declared domains, what is bought, and what it costs."""

import dataclasses
import itertools
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import understudy as us
from townspeople import DECLARED, fit, people, seeded, table, taped
from understudy.data.codec import ColumnCodec
from understudy.data.schema import Column, Schema, dumps, infer, read_values
from understudy.data.tables import Table
from understudy.judging.comparison import silent
from understudy.synthesizers.bayes import declared_domain, noisy
from understudy.synthesizers.bayes import method as method_module
from understudy.synthesizers.bayes.domain import buy_bounds
from understudy.synthesizers.bayes.noisy import rake, share_out, shrink_lines
from understudy.synthesizers.bayes.structure import ParentChoice
from understudy.synthesizers.budget import Budget

# what must be declared


def test_all_that_is_not_declared_is_said_at_once_with_the_lines_to_write():
    frame = people(300, 1)
    with pytest.raises(us.UnderstudyError) as caught:
        fit(Table.of(frame))
    text = str(caught.value)
    assert "6 columns lack it" in text
    for line in (
        'column "key": kind = "identifier"',
        'column "sex": kind = "category", levels = ["A", "B"]',
        'column "age": kind = "number", bounds = [SMALLEST, LARGEST], decimals = 0',
        'column "born": kind = "date", bounds = ["1900-01-01", "2100-01-01"]',
    ):
        assert line in text
    assert "levels cannot be bought" in text
    assert "-o bayes.buy=bounds" in text
    for number in ("18", "89", "Wien"):  # nothing that the data hold
        assert number not in text


def test_undeclared_is_refused_through_the_front_door():
    with pytest.raises(us.UnderstudyError, match="declared"):
        us.synthesizer("bayes", epsilon=1.0).fit(people(300, 1))


@pytest.mark.parametrize(
    ("column", "line"),
    [
        (Column("a", "number", decimals=0), "bounds = [SMALLEST, LARGEST]"),
        (
            Column("a", "number", decimals=0, bounds=(0, 1), inferred=frozenset({"decimals"})),
            "decimals = 0",
        ),
        (
            Column("a", "number", bounds=(0, 1), inferred=frozenset({"levels"})),
            "levels = [] (or the words",
        ),
        (Column("a", "category"), 'levels = ["A", "B"]'),
        (Column("a", "category", levels=("x",), inferred=frozenset({"levels"})), "levels = ["),
        (Column("a", "date"), 'bounds = ["1900-01-01", "2100-01-01"]'),
        (Column("a", "text", inferred=frozenset({"kind"})), 'kind = "text"'),
    ],
)
def test_each_fact_that_is_missing(column, line):
    with pytest.raises(us.UnderstudyError) as caught:
        declared_domain(Schema((column,)))
    assert f'column "a": {line}' in str(caught.value)


def test_what_is_declared_passes_and_missing_levels_of_a_constant_do():
    declared_domain(DECLARED)
    declared_domain(Schema((Column("a", "constant"), Column("b", "number", bounds=(0, 1)))))


def test_levels_cannot_be_bought_and_only_columns_can():
    with pytest.raises(us.UnderstudyError, match="levels of 'sex' cannot be bought"):
        fit(table(), buy=["sex"])
    with pytest.raises(us.UnderstudyError, match="buy names 'agee'"):
        fit(table(), buy=["agee"])


# cells of a declared domain


@given(
    st.integers(-50, 50),
    st.integers(0, 400),
    st.sampled_from([None, 0, 1, 2]),
    st.integers(8, 40),
    st.integers(0, 1000),
)
def test_cells_cover_the_bounds_and_show_nothing_beyond(low, span, decimals, most, seed):
    column = Column("a", "number", "float", decimals=decimals, bounds=(low, low + span))
    cells = ColumnCodec.declared(column, most)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells.size, 300).astype(np.uint16)
    shown = cells.decode(codes, rng)
    assert (shown.is_null().to_numpy() == (codes == cells.size - 1)).all()
    drawn = shown.drop_nulls()
    assert ((drawn >= low) & (drawn <= low + span)).all()
    if decimals is not None:
        assert drawn.equals(drawn.round(decimals))
        again = cells.encode(read_values(shown, column))
        assert (again == codes).all()
    assert cells.bins <= most + 3


def test_cells_of_their_own_for_bounds_and_zero():
    column = Column("a", "number", "integer", decimals=0, bounds=(-1000.0, 9999.0))
    cells = ColumnCodec.declared(column, 20)
    values = pl.Series([-1000, -999, -1, 0, 1, 9998, 9999, 10**6, -(10**6), None])
    codes = cells.encode(read_values(values, column)).tolist()
    low, above, before, zero, after, below, high, far, under, gone = codes
    assert low != above
    assert zero not in (before, after)
    assert below != high
    assert (far, under, gone) == (high, low, cells.size - 1)


def test_what_is_outside_the_domain_is_clipped_or_missing():
    sex = ColumnCodec.declared(DECLARED["sex"], 8)
    values = read_values(pl.Series(["f", "other", None, "x"]), DECLARED["sex"])
    assert sex.encode(values).tolist() == [0, 3, 3, 2]
    wage = ColumnCodec.declared(DECLARED["wage"], 8)
    values = read_values(pl.Series(["N", "refused", None]), DECLARED["wage"])
    assert wage.encode(values).tolist() == [wage.bins, wage.size - 1, wage.size - 1]


# what is spent, and on what


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("options", [{}, {"buy": ["bounds"]}, {"mode": "independent"}], ids=str)
def test_the_steps_add_up_to_epsilon(epsilon, options):
    schema = DECLARED
    if "buy" in options:
        schema = infer(people(50, 1)).replace("key", kind="identifier")
        schema = Schema(
            tuple(
                dataclasses.replace(
                    c, inferred=c.inferred & {"bounds"}, levels=DECLARED[c.name].levels
                )
                for c in schema
            )
        )
    made = fit(Table.of(people(2000, 1), schema), epsilon=epsilon, **options)
    assert sum(step.epsilon for step in made.spending_) == pytest.approx(epsilon)
    for step in made.spending_:
        twice = 2 if step.mechanism == "exponential" else 1
        assert step.scale == pytest.approx(twice * step.sensitivity / step.epsilon)
    said = [step.what for step in made.spending_]
    assert len(set(said)) == len(said)
    assert said[0] == "number of rows"
    assert ("bounds of age" in said) == ("buy" in options)


def test_random_rows_pay_for_their_number_only():
    made = fit(table(), mode="random")
    assert [step.what for step in made.spending_] == ["number of rows"]
    drawn = made.sample(5000, np.random.default_rng(1))
    assert drawn["age"].mean() == pytest.approx(60, abs=2)
    assert set(drawn["sex"]) == {"f", "m", "x"}


@settings(max_examples=10)
@given(st.floats(0.2, 20.0), st.integers(0, 10**6))
def test_the_noise_of_each_step_has_the_scale_that_it_says(epsilon, seed):
    with pytest.MonkeyPatch.context() as patch:
        made, tape = taped(table(300), patch, seed=seed, epsilon=epsilon, mode="independent")
        many, spent = [], {step.what: step for step in made.spending_}
        for what, exact, noisy_counts in tape:
            step = spent[what]
            assert step.mechanism == "laplace"
            # spread whole numbers over their steps, so that the noise is continuous
            smooth = (noisy_counts - exact).ravel()
            many.append((smooth, step.scale))
    chances = []
    rng = np.random.default_rng(seed)
    for noise, scale in many:
        ratio = np.exp(-1 / scale)
        below = np.where(
            noise >= 0, 1 - ratio ** (noise + 1.0) / (1 + ratio), ratio**-noise / (1 + ratio)
        )
        here = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
        chances.append(below - here * rng.random(len(noise)))
    assert stats.kstest(np.concatenate(chances), "uniform").pvalue > 1e-6


def test_half_the_noise_would_be_seen(monkeypatch):
    """The check above can fail: noise of half the scale is told apart."""
    noise = []
    for seed in range(20):
        made, tape = taped(table(300), monkeypatch, seed=seed, epsilon=0.3, mode="independent")
        scale = {step.what: step.scale for step in made.spending_}
        noise += [((n - e) / scale[w]).ravel() for w, e, n in tape]
    whole = np.concatenate(noise)
    assert stats.kstest(whole, stats.laplace.cdf).pvalue > 1e-3
    assert stats.kstest(whole / 2, stats.laplace.cdf).pvalue < 1e-6


def test_bought_bounds_hold_the_data_and_no_more_than_powers_of_two():
    frame = pl.DataFrame(
        {"a": np.r_[np.linspace(-100, 1000, 2000), 1e9], "b": ["x", "y", "x"] * 667}
    )
    schema = Schema((Column("a", "number", "float"), Column("b", "category", levels=("x", "y"))))
    data = Table.of(frame, schema)
    budget = Budget(1.0, np.random.default_rng(1))
    column = buy_bounds(data, "a", budget, 0.5)
    assert column.bounds == (-128.0, 1024.0)  # one outlier does not stand out of the noise
    empty = Table.of(frame.with_columns(a=pl.lit(None, dtype=pl.Float64)), schema)
    assert np.isfinite(buy_bounds(empty, "a", budget, 0.1).bounds).all()
    made = fit(data, epsilon=50.0, buy="bounds")
    shown = made.emitted(schema)["a"]
    assert shown.bounds == (-128.0, 1024.0)
    drawn = made.sample(2000, np.random.default_rng(1))["a"]
    assert drawn.drop_nulls().is_between(-128, 1024).all()


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (Column("a", "date", "date", unit="day"), pl.Series([3] * 9).cast(pl.Int32).cast(pl.Date)),
        (Column("a", "date", "text", unit="day", format="%d.%m.%Y"), pl.Series(["01.02.2003"] * 9)),
        (Column("a", "number", "time", unit="second"), pl.Series([3] * 9).cast(pl.Time)),
    ],
    ids=["date", "text", "time"],
)
@pytest.mark.parametrize("cell", [0, 1, 60, 84, 150, -1])
def test_bounds_bought_of_noise_alone_can_still_be_written(column, values, cell):
    class Odd(Budget):
        def counts(self, what, counts, *, epsilon, sensitivity=1):
            made = super().counts(what, counts, epsilon=epsilon, sensitivity=sensitivity) * 0
            made[cell] = 10**9
            return made

    schema = Schema((column,))
    data = Table.of(pl.DataFrame({"a": values}), schema)
    bought = buy_bounds(data, "a", Odd(1.0, np.random.default_rng(1)), 0.5)
    dumps(Schema((bought,)))
    cells = ColumnCodec.declared(bought, 8, 128)
    shown = cells.decode(np.arange(cells.size).astype(np.uint16), np.random.default_rng(1))
    assert len(shown.to_list()) == cells.size


def test_many_columns_and_many_parents_are_not_all_compared():
    class Asked(ParentChoice):
        def _score(self, ways: int) -> bool:
            asked.append(ways)
            return True

    for width, degree, ways in ((60, 3, [2, 3]), (80, 3, [2])):
        asked: list[int] = []
        Asked([None] * width, [], 1000, 1.0, degree, None)
        assert asked == ways


def test_a_relation_is_bought_and_the_number_of_rows_is_noisy():
    rng = np.random.default_rng(1)
    a = rng.choice(["u", "v"], 8000)
    frame = pl.DataFrame({"a": a, "b": np.where(rng.random(8000) < 0.9, a, "u"), "c": ["w"] * 8000})
    levels = {"a": ("u", "v"), "b": ("u", "v"), "c": ("w",)}
    schema = Schema(tuple(Column(n, "category", levels=v) for n, v in levels.items()))
    made = seeded(Table.of(frame, schema), epsilon=1.0)
    assert made.epsilon_spent == 1.0
    assert made.rows_ != 8000
    assert abs(made.rows_ - 8000) < 1000
    drawn = made.sample(8000)
    assert (drawn["a"] == drawn["b"]).mean() == pytest.approx(
        (frame["a"] == frame["b"]).mean(), abs=0.05
    )
    assert {step.mechanism for step in made.spending_} == {"laplace", "exponential"}


def test_a_table_too_small_for_its_epsilon_is_drawn_column_by_column_and_says_so():
    made = fit(table(100), epsilon=0.1)
    assert made.notes_ == [method_module.ALONE]
    assert not any("parents" in step.what for step in made.spending_)
    assert fit(table(100), epsilon=100.0).notes_ == []


@pytest.mark.parametrize("mode", ["correlated", "independent", "random"])
def test_tiny_tables_and_columns_that_are_all_missing(mode):
    gone = people(40, 1).with_columns(
        age=pl.lit(None, dtype=pl.Int64), city=pl.lit(None, dtype=pl.String)
    )
    for frame in (people(1, 1), gone):
        made = fit(Table.of(frame, DECLARED), epsilon=1.0, mode=mode)
        assert made.sample(20, np.random.default_rng(1)).height == 20


@pytest.mark.parametrize("mode", ["correlated", "independent"])
def test_one_column_alone_keeps_its_shares_and_spends_everything(mode):
    frame = pl.DataFrame({"city": ["Graz"] * 100 + ["Wien"] * 300})
    made = fit(Table.of(frame, Schema((DECLARED["city"],))), epsilon=20.0, mode=mode)
    drawn = made.sample(4000, np.random.default_rng(1))["city"]
    assert (drawn == "Wien").mean() == pytest.approx(0.75, abs=0.04)
    assert sum(step.epsilon for step in made.spending_) == pytest.approx(20.0)
    assert made.notes_ == []


def test_more_levels_than_rows():
    levels = tuple(f"v{i}" for i in range(500))
    schema = Schema((Column("a", "category", levels=levels), DECLARED["sex"]))
    frame = pl.DataFrame({"a": levels[:30], "sex": ["f", "m"] * 15})
    made = fit(Table.of(frame, schema), epsilon=5.0)
    assert set(made.sample(50, np.random.default_rng(1))["a"].drop_nulls()) <= set(levels)
    too_many = Schema((Column("a", "category", levels=tuple(map(str, range(2**16)))),))
    with pytest.raises(us.UnderstudyError, match="65,536 levels"):
        fit(Table.of(pl.DataFrame({"a": ["1", "2"]}), too_many))


def test_a_saved_model_holds_declared_facts_noisy_shares_and_the_spending(tmp_path):
    made = seeded(table(2000), epsilon=2.0)
    made.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert loaded.method.spending_ == made.method.spending_
    assert loaded.rows_ == made.rows_
    for column in loaded.fitted:
        declared = DECLARED[column.name]
        assert (column.kind, column.bounds, column.levels, column.decimals) == (
            declared.kind,
            declared.bounds,
            declared.levels,
            declared.decimals,
        )
        assert column.missing or not column.is_modelled


def test_smoothing_by_hand():
    flat = shrink_lines(np.array([[52.0, 48.0], [49.0, 51.0]]), np.array([0.5, 0.5]), 100.0)
    np.testing.assert_allclose(flat, 0.5)
    apart = shrink_lines(np.array([[90.0, 10.0], [10.0, 90.0]]), np.array([0.5, 0.5]), 100.0)
    # far from the margin by 40² + 40² = 3200, of which noise explains 2 * 100
    np.testing.assert_allclose(apart[0], 0.5 + np.array([0.4, -0.4]) * (1 - 200 / 3200))
    empty = shrink_lines(np.array([[-3.0, -5.0], [10.0, 90.0]]), np.array([0.3, 0.7]), 1e-9)
    np.testing.assert_allclose(empty[0], [0.3, 0.7])
    raked = rake(np.array([[0.5, 0.5], [0.4, 0.6]]), np.array([1.0, 1.0]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(raked.mean(axis=0), [0.6, 0.4], atol=1e-3)
    out = share_out(np.array([[0.6, 0.4]]), np.array([0.1, 0.3, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(out, [[0.15, 0.45, 0.2, 0.2]])


def test_scores_are_those_of_sets_that_can_be_told_from_noise():
    data = table(3000)
    purchase = noisy.Purchase(data, Budget(1e6, np.random.default_rng(0)), 24, silent)
    purchase.buy_rows()
    columns = [DECLARED[name] for name in ("sex", "city", "age")]
    margins, codes = purchase._margins(columns, 100.0)
    with ThreadPoolExecutor(1) as workers:
        clear = ParentChoice(margins, codes, 3000, 0.01, 2, workers)
        drowned = ParentChoice(margins, codes, 3000, 5000.0, 2, workers)
    best = clear.sets[int(np.argmax(clear.scores))]
    assert {best.child, *best.parents} >= {0, 1}
    assert all(not one.parents for one in drowned.sets)


# fidelity


def declared(train: Table) -> Table:
    """Declare what was inferred; a shortcut for tests only."""
    columns = tuple(dataclasses.replace(c, inferred=frozenset(), why="") for c in train.schema)
    return Table(train.frame, Schema(columns), train.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["insurance", "adult_trn"])
def test_less_epsilon_costs_fidelity(real_data, name):
    from test_bayes import distances

    train = declared(Table.of(str(real_data(name))))
    found = []
    for epsilon in (None, 10.0, 1.0, 0.1):
        repeats = 1 if epsilon is None else 3
        made = [fit(train, seed, epsilon=epsilon) for seed in range(repeats)]
        tables = [m.sample(train.height, np.random.default_rng(5)) for m in made]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(np.mean([distances(train, Table.of(t, train.schema)) for t in tables], 0))
    for first, second in itertools.pairwise(found):
        assert (first < second).all()
