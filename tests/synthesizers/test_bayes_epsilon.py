"""Bayes under epsilon: declared domains, what is bought, and neighbouring tables."""

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
from understudy.comparison import silent
from understudy.kernels import networks
from understudy.schema import Column, Schema, infer
from understudy.synthesizers.bayes import Bayes, declared_domain, noisy
from understudy.synthesizers.bayes import method as method_module
from understudy.synthesizers.bayes.choice import Choice
from understudy.synthesizers.bayes.domain import Cells, buy_bounds, read_alone
from understudy.synthesizers.bayes.smoothing import rake, share_out, shrink_lines
from understudy.synthesizers.budget import Budget
from understudy.tables import Table

DECLARED = Schema(
    (
        Column("key", "identifier", "integer"),
        Column("sex", "category", levels=("f", "m", "x")),
        Column("age", "number", "integer", decimals=0, bounds=(0.0, 120.0)),
        Column("wage", "number", "float", decimals=2, bounds=(0.0, 9000.0), levels=("N",)),
        Column("born", "date", "date", bounds=(0.0, 1e15), unit="day"),
        Column("city", "category", levels=("Graz", "Linz", "Wien", "Wels")),
    )
)


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    age = rng.integers(18, 90, rows)
    wage = [f"{w:.2f}" for w in rng.gamma(3, 500, rows) * (1 + (sex == "m"))]
    wage = ["N" if rng.random() < 0.1 else None if rng.random() < 0.1 else w for w in wage]
    born = pl.Series((2025 - age) * 365 - 1970 * 365).cast(pl.Int32).cast(pl.Date)
    city = np.where(sex == "m", "Wien", rng.choice(["Graz", "Linz", "Wien"], rows))
    return pl.DataFrame(
        {"key": np.arange(rows), "sex": sex, "age": age, "wage": wage, "born": born, "city": city}
    )


def table(rows: int = 400, seed: int = 1) -> Table:
    return Table.of(people(rows, seed), DECLARED)


def fit(data: Table, seed: int = 0, **options) -> Bayes:
    method = Bayes(**{"epsilon": 1.0, **options})
    return method.fit(data, np.random.default_rng(seed), silent)


def seeded(*args, **options):
    """Fit through the front door; that a seed is given is warned about."""
    with pytest.warns(UserWarning, match="seed"):
        return us.synthesizer("bayes", seed=1, **options).fit(*args)


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
    cells = Cells.of(column, most)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, cells.size, 300).astype(np.uint16)
    shown = cells.decode(codes, rng)
    assert (shown.is_null().to_numpy() == (codes == cells.size - 1)).all()
    drawn = shown.drop_nulls()
    assert ((drawn >= low) & (drawn <= low + span)).all()
    if decimals is not None:
        assert drawn.equals(drawn.round(decimals))
        again = cells.encode(us.schema.read_values(shown, column))
        assert (again == codes).all()
    assert cells.bins <= most + 3


def test_cells_of_their_own_for_bounds_and_zero():
    column = Column("a", "number", "integer", decimals=0, bounds=(-1000.0, 9999.0))
    cells = Cells.of(column, 20)
    values = pl.Series([-1000, -999, -1, 0, 1, 9998, 9999, 10**6, -(10**6), None])
    codes = cells.encode(us.schema.read_values(values, column)).tolist()
    low, above, before, zero, after, below, high, far, under, gone = codes
    assert low != above
    assert zero not in (before, after)
    assert below != high
    assert (far, under, gone) == (high, low, cells.size - 1)


def test_what_is_outside_the_domain_is_clipped_or_missing():
    sex = Cells.of(DECLARED["sex"], 8)
    values = us.schema.read_values(pl.Series(["f", "other", None, "x"]), DECLARED["sex"])
    assert sex.encode(values).tolist() == [0, 3, 3, 2]
    wage = Cells.of(DECLARED["wage"], 8)
    values = us.schema.read_values(pl.Series(["N", "refused", None]), DECLARED["wage"])
    assert wage.encode(values).tolist() == [wage.bins, wage.size - 1, wage.size - 1]


# neighbouring tables


class Replay(Budget):
    """A budget that hands out what another one did, and checks how far one row reaches."""

    def follow(self, tape):
        self.tape, self.reach = iter(tape), []
        return self

    def counts(self, what, counts, *, epsilon, sensitivity=1):
        name, exact, made = next(self.tape)
        assert (name, exact.shape) == (what, np.shape(counts))
        self.reach.append(np.abs(exact - counts).sum())
        assert self.reach[-1] <= sensitivity
        super().counts(what, counts, epsilon=epsilon, sensitivity=sensitivity)
        return made

    def choose(self, what, scores, *, epsilon, sensitivity):
        name, exact, made = next(self.tape)
        assert (name, exact.shape) == (what, np.shape(scores))
        self.reach.append(np.abs(exact - scores).max())
        assert self.reach[-1] <= sensitivity + 1e-6
        super().choose(what, scores, epsilon=epsilon, sensitivity=sensitivity)
        return made


class Tape(Budget):
    """A budget that keeps what was asked and given."""

    def counts(self, what, counts, *, epsilon, sensitivity=1):
        made = super().counts(what, counts, epsilon=epsilon, sensitivity=sensitivity)
        self.__dict__.setdefault("tape", []).append((what, np.array(counts), made))
        return made

    def choose(self, what, scores, *, epsilon, sensitivity):
        made = super().choose(what, scores, epsilon=epsilon, sensitivity=sensitivity)
        self.__dict__.setdefault("tape", []).append((what, np.array(scores), made))
        return made


def taped(data: Table, monkeypatch, seed: int = 0, **options):
    budgets = []
    monkeypatch.setattr(
        method_module, "Budget", lambda e, rng: budgets.append(Tape(e, rng)) or budgets[0]
    )
    return fit(data, seed, **options), budgets[0].tape


ODD = {
    "an outlier": {"age": 10**6, "wage": "1e12", "born": None},
    "a new level": {"sex": "other", "city": "Salzburg"},
    "a new word": {"wage": "refused"},
    "more decimals": {"wage": "10.123456"},
    "the first missing value": {"sex": None, "age": None, "city": None},
    "an infinity": {"wage": "inf"},
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 5.0},
        {"epsilon": 0.05},
        {"epsilon": 5.0, "mode": "independent"},
        {"epsilon": 5.0, "mode": "random"},
        {"epsilon": 5.0, "k": 3, "buy": ["age", "wage"]},
    ],
    ids=str,
)
def test_given_what_was_bought_one_odd_row_changes_nothing(odd, options, monkeypatch):
    frame = people(300, 1)
    row = frame[:1].with_columns(
        pl.lit(value, dtype=frame.schema[name]).alias(name) for name, value in ODD[odd].items()
    )
    without = Table.of(frame, DECLARED)
    with_it = Table.of(pl.concat([frame, row]), DECLARED)
    first, tape = taped(without, monkeypatch, **options)
    replays = []
    monkeypatch.setattr(
        method_module,
        "Budget",
        lambda e, rng: replays.append(Replay(e, rng).follow(tape)) or replays[0],
    )
    again = fit(with_it, **options)
    assert max(replays[0].reach) > 0.5  # the row was looked at
    assert first.state().values == again.state().values
    for name, array in first.state().arrays.items():
        assert np.array_equal(array, again.state().arrays[name]), name
    assert first.emitted(DECLARED) == again.emitted(DECLARED)
    assert first.rows_ == again.rows_
    rng = np.random.default_rng
    assert first.sample(50, rng(3)).equals(again.sample(50, rng(3)), null_equal=True)


def test_one_odd_row_of_a_text_file_changes_no_other_row(tmp_path):
    """What a reader makes of a whole column depends on all its rows; codes must not."""
    schema = Schema(
        (
            Column("grade", "category", "integer", levels=("01", "02", "1", "2")),
            Column("wage", "number", "float", decimals=1, bounds=(0.0, 9.0), levels=("N", "NAN")),
            Column("sum", "number", "float", decimals=1, bounds=(0.0, 9.0), levels=("x",)),
            Column("large", "category", "integer", levels=("9007199254740993", "3")),
        )
    )
    lines = ["grade;wage;sum;large", *["01;1,5;NAN; 9007199254740993", "2;N;2.5;3"] * 5]
    odd = "b;N;y;b"

    def codes(name: str, rows: list[str]) -> list[list[int]]:
        (tmp_path / name).write_text("\n".join([*rows, "2;2,5;1;3", ""]))
        data = Table.of(str(tmp_path / name), schema)
        made = [Cells.of(c, 8, 128).encode(read_alone(data, c.name)) for c in schema]
        return [one[:10].tolist() for one in made]

    before = codes("without.csv", lines)
    assert codes("with.csv", [*lines, odd]) == before
    assert [len(set(one)) for one in before] == [2, 2, 2, 2]
    # the readers that epsilon does not rely on do differ
    tables = [Table.of(str(tmp_path / f"{name}.csv"), schema) for name in ("without", "with")]
    for name in ("grade", "wage"):
        one, other = (Cells.of(schema[name], 8, 128).encode(t.values(name))[:10] for t in tables)
        assert one.tolist() != other.tolist()


def test_no_score_moves_by_more_than_the_sensitivity_and_some_come_close():
    """All tables of up to three rows over 2 x 2 x 2 cells, each with a row more."""
    cells = np.array(list(itertools.product(range(2), repeat=3)), np.uint8)
    sizes, subsets = np.full((1, 3), 2), np.array([[0, 1, 2]])
    farthest = 0.0
    with ThreadPoolExecutor(1) as workers:

        def apart(rows, shares):
            codes = cells[list(rows)].T[None].copy()
            given = np.broadcast_to(shares, (1, 3, 2)).copy()
            return networks.distances(codes, sizes, np.zeros(1, int), subsets, given, workers)[0]

        for share in (0.0, 0.1, 0.5, 0.9):
            shares = np.array([share, 1 - share])
            for many in range(4):
                for rows in itertools.combinations_with_replacement(range(8), many):
                    before = apart(rows, shares)
                    for more in range(8):
                        moved = np.abs(apart((*rows, more), shares) - before).max()
                        farthest = max(farthest, moved)
    assert 0.95 < farthest <= 1 + 1e-12


def test_distances_against_counts():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (1, 3, 200)).astype(np.uint8)
    shares = rng.dirichlet(np.ones(3), (1, 3))
    with ThreadPoolExecutor(1) as workers:
        found = networks.distances(
            codes, np.full((1, 3), 3), np.zeros(1, int), np.array([[0, 1, 2]]), shares, workers
        )[0]
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, tuple(codes[0]), 1)
    for axis in range(3):
        expected = np.moveaxis(counts, axis, -1)
        expected = expected.sum(axis=-1, keepdims=True) * shares[0, axis]
        apart = np.abs(np.moveaxis(counts, axis, -1) - expected).sum() / 2
        assert found[axis] == pytest.approx(apart)


DRAWS = 10_000


def contradicts(epsilon: float, noise: float, counts: tuple[int, int], seed: int) -> bool:
    """Whether 10,000 draws of a count on each of two neighbours contradict an epsilon."""
    rng = np.random.default_rng(seed)
    draws = [
        Budget(noise, rng).counts("cell", np.full(DRAWS, count), epsilon=noise) for count in counts
    ]
    for edge in range(min(counts) - 3, max(counts) + 3):
        for event in (np.less_equal, np.greater, np.equal):
            found = [int(event(drawn, edge).sum()) for drawn in draws]
            for one, other in (found, found[::-1]):
                low = stats.beta.ppf(1e-5, one, DRAWS - one + 1) if one else 0.0
                high = stats.beta.ppf(1 - 1e-5, other + 1, DRAWS - other) if other < DRAWS else 1
                if low > np.exp(epsilon) * high:
                    return True
    return False


def test_each_released_count_differs_between_neighbours_as_promised(monkeypatch):
    frame = people(60, 2)
    options = {"epsilon": 20.0, "k": 1}
    without, with_it = Table.of(frame[1:], DECLARED), Table.of(frame, DECLARED)
    made, tape = taped(without, monkeypatch, **options)
    asked = []

    class Exact(Replay):
        def counts(self, what, counts, **price):
            asked.append((what, np.array(counts).ravel()))
            return super().counts(what, counts, **price)

    monkeypatch.setattr(method_module, "Budget", lambda e, rng: Exact(e, rng).follow(tape))
    fit(with_it, **options)
    exact = {what: counts.ravel() for what, counts, _ in tape}
    price = {step.what: step.epsilon for step in made.spending_}
    assert len(asked) == 11  # rows, five columns, and a table or another look for each
    for number, (what, counts) in enumerate(asked):
        (cell,) = np.flatnonzero(counts != exact[what])
        pair, epsilon = (int(exact[what][cell]), int(counts[cell])), price[what]
        assert not contradicts(epsilon, epsilon, pair, number)
        assert contradicts(epsilon, 2 * epsilon, pair, number)  # half the noise


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
    us.schema.dumps(Schema((bought,)))
    cells = Cells.of(bought, 8, 128)
    shown = cells.decode(np.arange(cells.size).astype(np.uint16), np.random.default_rng(1))
    assert len(shown.to_list()) == cells.size


def test_many_columns_and_many_parents_are_not_all_compared():
    class Asked(Choice):
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
        clear = Choice(margins, codes, 3000, 0.01, 2, workers)
        drowned = Choice(margins, codes, 3000, 5000.0, 2, workers)
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
