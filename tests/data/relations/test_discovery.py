"""Relations discovered: each kind in a made table, exact and near, and nothing in random ones."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.data.relations.discovery import discover
from understudy.data.tables import Table

ROWS = 400


def rng(seed=0):
    return np.random.default_rng(seed)


def found(columns):
    return discover(Table.of(pl.DataFrame(columns)))


def texts(columns):
    return [str(relation) for relation in found(columns)]


def wages(seed=0, rows=ROWS):
    return np.round(np.exp(rng(seed).normal(2.5, 0.6, rows)), 2)


TRANSFORMS = {
    "y = 1.8 * x + 32": lambda x: np.round(1.8 * x + 32, 3),
    "y = log(x)": np.log,
    "y = log1p(x)": np.log1p,
    "y = x ** 2": np.square,
    "y = sqrt(x)": np.sqrt,
    "y = 1 / x": lambda x: 1 / x,
    "y = 100 * x": lambda x: np.round(100 * x),
    "y = x / 12": lambda x: x / 12,
    "y = 7 * x / 12": lambda x: 7 * x / 12,
    "y = log(x) / log(10)": np.log10,
    "y = 24 - x": lambda x: np.round(24 - x, 2),
    "y = 1000 / x": lambda x: np.round(1000 / x, 4),
}


@pytest.mark.parametrize("text", TRANSFORMS)
def test_a_column_transformed(text):
    x = wages()
    noise = np.round(rng(9).normal(size=ROWS), 2)
    made = texts({"x": x, "noise": noise, "y": TRANSFORMS[text](x)})
    other = {"y = 100 * x": "x = y / 100"}.get(text, text)  # whole numbers are the source
    assert made == [other]


def test_floats_of_32_bits_written_as_doubles():
    x = wages().astype(np.float32)
    columns = {"x": x.astype(float), "y": np.log(x).astype(np.float32).astype(float)}
    assert texts(columns) == ["y = log(x)"]


def test_of_columns_that_are_one_another_one_is_the_source():
    x = rng().integers(1000, 99_999, ROWS)
    relations = found({"cents": x, "money": x / 100, "log": np.log(x), "copy": x})
    assert {r.target for r in relations} == {"money", "log", "copy"}
    assert {r.sources for r in relations} == {("cents",)}


PRODUCTS = {
    "y = x * z": lambda x, z: x * z,
    "y = x / z": lambda x, z: x / z,
    "y = x / (z / 100) ** 2": lambda x, z: x / (z / 100) ** 2,
    "y = 100 * x / z": lambda x, z: np.round(100 * x / z, 1),
    "y = x / z - 1": lambda x, z: x / z - 1,
    "y = x * sqrt(z)": lambda x, z: x * np.sqrt(z),
}


@pytest.mark.parametrize("text", PRODUCTS)
def test_products_of_two_columns(text):
    x = np.round(rng(1).normal(75, 15, ROWS), 1)
    z = np.round(rng(2).normal(150, 12, ROWS))
    assert texts({"x": x, "z": z, "y": PRODUCTS[text](x, z)}) == [text]


def test_the_body_mass_index():
    height = np.round(rng(1).normal(172, 9, ROWS))
    weight = np.round(rng(2).normal(0, 9, ROWS) + height - 100)
    bmi = np.round(weight / (height / 100) ** 2, 1)
    made = texts({"height": height, "weight": weight, "bmi": bmi})
    assert made == ["bmi = weight / (height / 100) ** 2"]


def test_an_interaction_with_a_column_of_0_and_1():
    x, k = rng(1).integers(5, 20, ROWS), rng(2).integers(0, 2, ROWS)
    assert texts({"educ": x, "black": k, "both": x * k}) == ["both = educ * black"]


def test_sums_have_a_total_and_shares_do_not():
    a, b, c = (rng(i).poisson(9 * i + 5, ROWS) for i in range(3))
    assert texts({"a": a, "t": a + b + c, "b": b, "c": c}) == ["t = a + b + c"]
    whole = np.stack([a, b, c]) / (a + b + c)
    shares = dict(zip("abc", np.round(whole, 15), strict=True))
    (only,) = found(shares)
    spread = {name: np.std(share) for name, share in shares.items()}
    assert only.target == max(spread, key=spread.get)
    assert len(only.sources) == 2


def test_a_difference_and_an_average():
    age, school = rng(1).integers(20, 60, ROWS), rng(2).integers(8, 18, ROWS)
    columns = {"age": age, "school": school, "work": age - school - 6}
    (only,) = found(columns)
    assert set(only.names) == set(columns)
    m, v = np.round(rng(3).normal(500, 60, ROWS)), np.round(rng(4).normal(500, 60, ROWS))
    assert texts({"m": m, "v": v, "mean": (m + v) / 2}) == ["mean = m / 2 + v / 2"]


def test_two_sums_of_a_wide_table():
    columns = {f"x{i}": np.round(rng(i).normal(50, 9, ROWS), 1) for i in range(20)}
    columns["s"] = np.round(columns["x3"] + columns["x4"] + columns["x11"], 1)
    columns["t"] = np.round(columns["s"] + columns["x5"] - columns["x7"], 1)
    relations = found(columns)
    assert {r.kind for r in relations} == {"formula"}
    assert len(relations) == 2
    assert all(r.broken == 0 and r.rows == ROWS for r in relations)


def test_lookups_go_step_by_step():
    city = rng().integers(0, 24, 1000)
    columns = {
        "city": [f"c{i}" for i in city],
        "code": city + 100,
        "land": [f"l{i}" for i in city // 4],
        "world": [f"w{i}" for i in city // 12],
    }
    assert texts(columns) == [
        "land determines world", "city determines land", "city determines code",
    ]  # fmt: skip


def test_a_lookup_speaks_of_levels_that_k_rows_hold():
    level = np.concatenate([np.repeat(np.arange(20), 40), np.arange(100, 120)])
    columns = {"city": [f"c{i}" for i in level], "land": [f"l{i % 3}" for i in level]}
    (only,) = found(columns)
    assert (only.text, only.rows, only.broken) == ("city determines land", 800, 0)
    few = np.concatenate([np.repeat(np.arange(20), 40), np.arange(100, 300)])
    assert not found({"city": [f"c{i}" for i in few], "land": [f"l{i % 3}" for i in few]})


def test_classes_and_thresholds():
    age = rng().integers(15, 95, 1000)
    names = np.array(["young", "middle", "old"])[np.digitize(age, [30, 65])]
    assert texts({"age": age, "group": names}) == ["group = classes of age"]
    hours = np.where(rng(1).random(600) < 0.4, 0, rng(2).integers(1, 4000, 600))
    assert texts({"hours": hours, "works": (hours > 0).astype(int)}) == ["works = classes of hours"]


def test_a_class_whose_cuts_nobody_can_know_is_not_said():
    x = np.round(rng().normal(size=60), 6)
    assert not found({"x": x, "y": np.digitize(x, np.linspace(-1.5, 1.5, 9))})


def test_orders_that_reach_their_bound():
    start = np.round(rng(1).normal(50, 20, ROWS), 1)
    end = np.round(start + rng(2).exponential(10, ROWS), 1)
    assert texts({"start": start, "end": end}) == ["start <= end"]
    far = np.round(start + rng(3).normal(100, 10, ROWS), 1)  # above, but not by a rule
    assert not found({"start": start, "far": far})


def test_of_three_ordered_columns_two_orders_are_said():
    a = rng(1).poisson(50, 1000)
    b = a + rng(2).poisson(8, 1000) * rng(3).integers(0, 2, 1000)
    c = b + rng(4).poisson(9, 1000) * rng(5).integers(0, 2, 1000)
    assert texts({"a": a, "b": b, "c": c}) == ["a <= b", "b <= c"]


def test_a_one_hot_group():
    which = rng().integers(0, 4, ROWS)
    columns = {f"r{i}": (which == i).astype(int) for i in range(4)}
    columns["sex"] = rng(1).integers(0, 2, ROWS)
    assert texts(columns) == ["one of r0, r1, r2, r3"]
    columns["region"] = [f"region {i}" for i in which]
    assert {r.kind for r in found(columns)} == {"lookup"}  # which say the same, and more


def test_equal_by_switch():
    mode = rng(1).choice(["car", "bus", "boat"], ROWS)
    prices = {f"p{m}": np.round(rng(i).uniform(5, 99, ROWS), 2) for i, m in enumerate("abc")}
    paid = np.select([mode == "car", mode == "bus"], [prices["pa"], prices["pb"]], prices["pc"])
    made = texts({**prices, "mode": mode, "paid": paid})
    assert sorted(made) == [
        "paid = pa where mode == 'car'",
        "paid = pb where mode == 'bus'",
        "paid = pc where mode == 'boat'",
    ]


def test_a_switch_that_a_few_rows_break():
    on = rng(1).integers(0, 2, 2000)
    x, z = np.round(rng(2).uniform(5, 99, 2000), 2), np.round(rng(3).uniform(5, 99, 2000), 2)
    y = np.where(on == 1, x, z)
    y[np.flatnonzero(on)[:3]] += 1
    (only,) = found({"x": x, "on": on, "y": np.round(y, 2)})
    assert (only.text, only.broken) == ("y = x where on == 1", 3)


def test_missing_exactly_where():
    state = rng(1).choice(["single", "married", "widowed"], ROWS)
    frame = pl.DataFrame(
        {"state": state, "age": rng(2).integers(20, 80, ROWS), "income": rng(3).normal(9, 2, ROWS)}
    )
    known = pl.when(pl.col("state") != "single")
    frame = frame.with_columns(known.then(pl.col(name)).alias(name) for name in ("age", "income"))
    assert texts(frame) == [
        "age is missing exactly where state == 'single'",
        "income is missing exactly where age is missing",
    ]


def test_missing_that_a_formula_implies_is_not_said():
    x = [None if r < 0.3 else v for r, v in zip(rng(1).random(ROWS), wages().tolist(), strict=True)]
    y = [None if v is None else v**2 for v in x]
    assert texts({"x": x, "y": y}) == ["y = x ** 2"]


@pytest.mark.parametrize("codes", [(-8,), (-9, -8), (99,), (998, 999), (-1,)])
def test_codes(codes):
    values = rng(1).poisson(8, ROWS)
    values[rng(2).random(ROWS) < 0.3] = codes[0]
    values[rng(3).random(ROWS) < 0.2] = codes[-1]
    said = "is a code" if len(codes) == 1 else "are codes"
    (only,) = found({"x": values, "z": rng(4).normal(size=ROWS)})
    assert only.text == f"{', '.join(map(str, codes))} {said} of x"
    assert only.rows == int(np.isin(values, codes).sum())


@pytest.mark.parametrize("low", [-9, -30, 80, 0])
def test_quantities_are_no_codes(low):
    assert not found({"x": low + rng(1).poisson(12, ROWS), "z": rng(4).normal(size=ROWS)})


def test_a_weight_is_known_by_its_name_and_its_mean():
    w = rng(1).gamma(9, 1 / 9, ROWS)
    z = rng(2).normal(size=ROWS)
    assert texts({"weight": np.round(w / w.mean(), 4), "z": z}) == ["weight is a weight"]
    assert texts({"fnlwgt": np.round(w * 1e5), "z": z}) == ["fnlwgt is a weight"]
    assert not found({"weight": np.round(70 * w, 1), "z": z})  # of a body


def test_a_subject_and_the_order_of_its_rows():
    who, year = np.divmod(np.arange(480), 8)
    columns = {"firm": [f"f{i:03}" for i in who], "year": 1990 + year}
    columns["sales"] = np.round(rng().normal(size=480), 2)
    assert texts(columns) == ["firm is a subject ordered by year"]


NEAR = {
    "y = log(x)": lambda x, z: np.round(np.log(x), 4),
    "y = x + z": lambda x, z: x + z,
    "y = x / z": lambda x, z: np.round(x / z, 5),
    "y = x - z": lambda x, z: x - z,
}


@pytest.mark.parametrize("text", NEAR)
def test_near_relations_are_reported_with_the_rows_that_break_them(text):
    x, z = np.round(rng(1).uniform(1, 99, 2000), 2), rng(2).integers(1, 60, 2000)
    y = NEAR[text](x, z)
    y[::400] += 3
    (only,) = found({"x": x, "z": z, "y": np.round(y, 6)})
    assert set(only.names) == ({"x", "y"} if "z" not in text else {"x", "y", "z"})
    assert (only.rows, only.broken) == (1995, 5)
    assert only.is_near


def test_near_lookups_and_orders():
    city = rng().integers(0, 12, 2000)
    land = city // 3
    land[:4] = (land[:4] + 1) % 4
    (only,) = found({"city": [f"c{i}" for i in city], "land": [f"l{i}" for i in land]})
    assert (only.text, only.broken) == ("city determines land", 4)


def test_each_column_is_computed_once_and_never_in_a_circle():
    a, b = rng(1).integers(1, 900, ROWS), rng(2).integers(1, 900, ROWS)
    columns = {
        "a": a, "b": b, "s": a + b, "d": a - b, "p": a * b, "r": a / b, "ls": np.log(a + b),
        "c": (a > 450).astype(int),
    }  # fmt: skip
    relations = found(columns)
    derived = ("formula", "lookup", "classes")
    computed = {r.target: r.sources for r in relations if r.kind in derived}
    assert len(computed) == len(relations)
    assert len(computed) == 6
    left = dict(computed)
    while left:  # take away what is computed from columns that are known
        ready = [name for name, sources in left.items() if not set(sources) & set(left)]
        assert ready
        for name in ready:
            del left[name]


def test_small_tables_and_tables_of_one_column():
    assert found({"x": [*range(30)] * 1, "y": [*range(0, 60, 2)]}) == ()
    assert found({"x": wages()}) == ()


def random_table(kind, rows, columns, draw):
    """Give a table in which no column follows from others."""
    latent = draw.normal(size=(rows, 2))
    made = {}
    for j in range(columns):
        noise = draw.normal(size=rows)
        made[f"v{j}"] = {
            "normal": lambda n=noise: np.round(n, int(draw.integers(0, 5))),
            "counts": lambda n=noise: draw.poisson(draw.integers(1, 40), rows),
            "codes": lambda n=noise: draw.integers(0, draw.integers(3, 12), rows),
            "binary": lambda n=noise: (draw.random(rows) < draw.uniform(0.02, 0.98)).astype(int),
            "skewed": lambda n=noise: np.round(np.exp(n) * 10.0 ** draw.integers(0, 5), 1),
            "words": lambda n=noise: [f"w{i}" for i in np.minimum(draw.geometric(0.1, rows), 39)],
            "walk": lambda n=noise: np.round(np.cumsum(n), int(draw.integers(0, 4))),
            "factor": lambda n=noise: np.round(latent @ draw.normal(size=2) + 0.2 * n, 1),
            "zeros": lambda n=noise: np.where(draw.random(rows) < 0.4, 0, np.round(np.exp(n), 2)),
        }[kind if kind != "mixed" else draw.choice(KINDS)]()
    return pl.DataFrame(made)


KINDS = ["normal", "counts", "codes", "binary", "skewed", "words", "walk", "factor", "zeros"]


@pytest.mark.parametrize("kind", [*KINDS, "mixed"])
def test_random_tables_have_no_relations(kind):
    draw = rng(KINDS.index(kind) if kind in KINDS else 99)
    for rows in (40, 80, 200, 600):
        for columns in (3, 8, 15):
            table = Table.of(random_table(kind, rows, columns, draw))
            assert discover(table) == (), (rows, columns)


@settings(max_examples=30, deadline=None)
@given(
    factor=st.integers(1, 999).map(lambda i: i / 100),
    start=st.integers(-500, 500).map(lambda i: i / 10),
    seed=st.integers(0, 99),
)
def test_any_affine_relation_is_found_with_its_own_coefficients(factor, start, seed):
    x = rng(seed).integers(100, 9999, 200)
    y = np.round(factor * x + start, 3)
    made = found({"x": x, "y": y})
    assert len(made) == 1
    assert (made[0].kind, made[0].broken) == ("formula", 0)


@settings(max_examples=30, deadline=None)
@given(
    signs=st.lists(st.sampled_from([-1, 1, 2, 0.5]), min_size=2, max_size=6),
    seed=st.integers(0, 99),
)
def test_any_combination_is_found(signs, seed):
    parts = {f"x{i}": np.round(rng(seed + 7 * i).normal(30, 9, 250), 1) for i in range(len(signs))}
    total = sum(sign * part for sign, part in zip(signs, parts.values(), strict=True))
    (only,) = found({**parts, "y": np.round(total, 2), "noise": rng(seed + 999).normal(size=250)})
    assert set(only.names) == {*parts, "y"}
    assert (only.rows, only.broken) == (250, 0)


def test_a_half_says_what_the_other_half_holds():
    height = np.round(rng(1).normal(172, 9, 1000))
    weight = np.round(rng(2).normal(0, 9, 1000) + height - 100)
    frame = pl.DataFrame({"h": height, "w": weight, "bmi": weight / (height / 100) ** 2})
    half = Table.of(frame.head(500))
    (only,) = discover(half)
    judged = only.learn(half).judge(Table.of(frame.tail(500), half.schema))
    assert (judged.holds, judged.broken) == (500, 0)
