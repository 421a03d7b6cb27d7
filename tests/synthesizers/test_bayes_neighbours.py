"""Bayes under epsilon on neighbouring tables: one row moves nothing by more than was paid for."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from scipy import stats

from townspeople import DECLARED, Replay, fit, people, taped
from understudy.data.codec import ColumnCodec
from understudy.data.schema import Column, Schema
from understudy.data.tables import Table
from understudy.kernels import networks
from understudy.synthesizers.bayes import method as method_module
from understudy.synthesizers.bayes.domain import read_alone
from understudy.synthesizers.budget import Budget

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
        made = [ColumnCodec.declared(c, 8, 128).encode(read_alone(data, c.name)) for c in schema]
        return [one[:10].tolist() for one in made]

    before = codes("without.csv", lines)
    assert codes("with.csv", [*lines, odd]) == before
    assert [len(set(one)) for one in before] == [2, 2, 2, 2]
    # the readers that epsilon does not rely on do differ
    tables = [Table.of(str(tmp_path / f"{name}.csv"), schema) for name in ("without", "with")]
    for name in ("grade", "wage"):
        one, other = (
            ColumnCodec.declared(schema[name], 8, 128).encode(t.values(name))[:10] for t in tables
        )
        assert one.tolist() != other.tolist()


@pytest.mark.parametrize("stored", ["text", "float"])
@pytest.mark.parametrize("levels", [("1,5", "2,5", "1,50"), ("1.5", "2.5"), ("1.5", "1,5")])
def test_one_odd_row_does_not_turn_the_decimal_commas_of_levels(levels, stored, tmp_path):
    """The reader turns them where most values are such numbers, here just so."""
    column = Column("step", "category", stored, levels=levels)
    schema = Schema((column, Column("sex", "category", levels=("f", "m"))))
    lines = ["step;sex", *["1,5;f", "1,50;m", "b;m"] * 2, "2,5;f", "b;m"]
    read, made = [], []
    for name, rows in (("without.csv", lines), ("with.csv", [*lines, "b;m", "b;f"])):
        (tmp_path / name).write_text("\n".join([*rows, ""]))
        data = Table.of(str(tmp_path / name), schema)
        read.append(data.frame["step"][0])
        made.append(
            ColumnCodec.declared(column, 8, 128).encode(read_alone(data, "step"))[:8].tolist()
        )
    assert [str(value) for value in read] == ["1.5", "1,5"]
    assert made[0] == made[1]
    assert made[0][0] != made[0][2]  # a level, and a word that nobody declared


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
