"""No column is lost: names become pseudonyms, identifiers count, rare levels become other."""

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.data.schema import Column, Schema, infer
from understudy.data.tables import Table
from understudy.synthesizers.model_file import Damaged
from understudy.synthesizers.pseudonyms import Identifier, Pseudonyms, Seated

ROWS = 400
DRAW = random.Random(7)
PLAYERS = [
    f"{DRAW.choice(['Ann', 'Bo', 'Cy', 'Di'])} No{chr(97 + i % 26)}man {i}" for i in range(150)
]
TEAM_OF = {player: f"team {place % 7}" for place, player in enumerate(PLAYERS)}
CHOSEN = DRAW.choices(PLAYERS, k=ROWS)
REAL = pl.DataFrame(
    {
        "account": [f"AC-{i * 37 % 9973:05d}" for i in range(ROWS)],
        "number": [10_000 + i * 13 for i in range(ROWS)],
        "player": CHOSEN,
        "team": [TEAM_OF[player] for player in CHOSEN],
        "goals": [DRAW.randint(0, 9) for _ in range(ROWS)],
        "town": [
            DRAW.choice(["Graz", "Linz", "Wien"]) if i % 4 else f"T{i % 61}" for i in range(ROWS)
        ],
        "why": [
            " ".join(DRAW.choices(["so", "it", "goes", "on", "and"], k=9)) for _ in range(ROWS)
        ],
    }
)


def fitted(names: list[str | None], **others: list[str]) -> Pseudonyms:
    frame = pl.DataFrame({"team": names, "x": [i * 0.37 % 11 for i in range(len(names))], **others})
    schema = infer(frame).replace("team", kind="name", levels=())
    return Pseudonyms.fit(Table.of(frame, schema), "team")


def made(pseudonyms: Pseudonyms, frame: pl.DataFrame, batch: int = 10**6) -> pl.Series:
    seated, rng = Seated(), np.random.default_rng(3)
    parts = [
        pseudonyms.values(frame[i : i + batch], frame.height, rng, seated)
        for i in range(0, frame.height, batch)
    ]
    return pl.concat(parts)


@pytest.mark.parametrize("method", ["forest", "cart", "copula", "bayes", "independent"])
def test_no_column_is_lost(method: str) -> None:
    kinds = {c.name: c.kind for c in us.schema(REAL)}
    assert kinds == {
        "account": "identifier", "number": "identifier", "player": "name", "team": "category",
        "goals": "category", "town": "category", "why": "text",
    }  # fmt: skip
    with pytest.warns(us.LeftOutWarning, match="left out are 'why'"):
        fitted = us.synthesizer(method, seed=1).fit(REAL)
    out = fitted.sample()
    assert out.columns == [name for name in REAL.columns if name != "why"]
    assert not any(out[name].null_count() for name in out.columns)
    assert out["account"][0] == "AC-00001"
    assert out["number"][:2].to_list() == [10_001, 10_002]
    assert out["player"].str.contains(r"^player-\d{3}$").all()
    assert not set(out["player"]) & set(REAL["player"])
    assert [c.name for c in fitted.held_.left_out] == ["why"]


def test_pseudonyms_repeat_as_names_do_and_keep_what_they_determine() -> None:
    out = us.synthesizer("forest", seed=1).fit(REAL).sample()
    assert out.group_by("player").agg(pl.col("team").n_unique())["team"].max() == 1
    real, ours = (f["player"].value_counts()["count"] for f in (REAL, out))
    assert abs(len(ours) - len(real)) < 0.2 * len(real)
    assert abs(ours.max() - real.max()) <= 4  # type: ignore[operator]


def test_they_say_nothing_of_the_real_names() -> None:
    """Other names with the same counts give the same release."""
    other = REAL.with_columns(player="x" + pl.col("player").str.reverse())
    first, second = (us.synthesizer("forest", seed=1).fit(f).sample() for f in (REAL, other))
    assert first.equals(second)


@pytest.mark.parametrize(
    ("names", "low", "high"),
    [
        ([f"n{i % 40}" for i in range(400)], 36, 40),
        ([f"n{i % 390}" for i in range(400)], 360, 400),
        ([f"n{int(i**0.5)}" for i in range(400)], 16, 24),
        ([f"n{(i * i) % 101 % (i % 50 + 1)}" for i in range(400)], 25, 65),
    ],
)
def test_how_often_names_repeat(names: list[str | None], low: int, high: int) -> None:
    assert low <= made(fitted(names), pl.DataFrame({"x": range(400)})).n_unique() <= high


def test_what_is_kept_of_the_counts_are_two_numbers_of_two_digits() -> None:
    kept = fitted([f"n{i % 40}" for i in range(400)])
    assert set(kept.to_dict()) == {"name", "discount", "strength", "missing", "within", "form"}
    one_row_more = fitted([*(f"n{i % 40}" for i in range(400)), "n1", "n1"])
    assert kept == one_row_more


def test_missing_names_stay_about_as_many_and_few_are_not_told() -> None:
    names = [None if i % 4 == 0 else f"n{i % 90}" for i in range(400)]
    assert fitted(names).missing == 0.25
    assert 60 < made(fitted(names), pl.DataFrame({"x": range(400)})).null_count() < 140
    assert fitted([None, *(f"n{i % 90}" for i in range(399))]).missing == 0


def test_codes_keep_their_form() -> None:
    names = fitted([f"{i % 90:05d}" for i in range(400)])
    out = made(names, pl.DataFrame({"x": range(400)}))
    assert out.str.contains(r"^0\d{4}$").all()


def test_batches_make_one_table() -> None:
    names = fitted([f"n{i % 40}" for i in range(400)])
    out = made(names, pl.DataFrame({"x": range(3_000)}), batch=100)
    assert 36 <= out.n_unique() <= 41


def test_a_model_file_keeps_them(tmp_path: Path) -> None:
    fitted = us.synthesizer("forest", seed=1).fit(REAL)
    fitted.save(tmp_path / "model")
    again = us.load(tmp_path / "model")
    assert again.sample(50, seed=4).equals(fitted.sample(50, seed=4))
    assert again.held_.pseudonyms == fitted.held_.pseudonyms
    assert b"No" + b"aman" not in (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "nobody"},
        {"within": ["nothing"]},
        {"discount": 1.0},
        {"discount": None},
        {"strength": -3.0},
        {"missing": 2.0},
        {"strength": float("nan")},
        {"form": ["a"]},
    ],
)
def test_what_makes_no_names_is_refused(change: dict[str, object]) -> None:
    schema = Schema((Column("team", "name"), Column("x", "number")))
    plain = Pseudonyms("team", 0.5, 3.0, 0.1, ("x",)).to_dict()
    assert Pseudonyms.from_dict(plain, schema).within == ("x",)
    with pytest.raises(Damaged):
        Pseudonyms.from_dict({**plain, **change}, schema)


def test_under_epsilon_names_and_identifiers_are_not_read() -> None:
    schema = Schema(
        (
            Column("id", "identifier"),
            Column("who", "name"),
            Column("sex", "category", levels=("f", "m")),
        )
    )
    releases = []
    for who in (["Ann"] * 60, [f"p{i}" for i in range(60)]):
        frame = pl.DataFrame(
            {"id": [f"{w}{i}" for i, w in enumerate(who)], "who": who, "sex": ["f", "m"] * 30}
        )
        synthesizer = us.synthesizer("bayes", epsilon=1.0, seed=1)
        with pytest.warns(UserWarning, match="seed"):
            releases.append(synthesizer.fit(frame, schema=schema).sample(5))
    assert releases[0].equals(releases[1])
    assert releases[0]["who"].to_list() == [f"who-00{i}" for i in range(1, 6)]


def test_rare_levels_become_other_and_say_so() -> None:
    column = us.schema(REAL)["town"]
    assert column.rest == "other"
    real = REAL.select("town", "goals", "team")
    out = us.synthesizer("forest", seed=1).fit(real).sample(2_000)
    assert set(out["town"]) == {"Graz", "Linz", "Wien", "other"}
    share = (out["town"] == "other").mean()
    assert 0.15 < share < 0.35  # type: ignore[operator]
    without = us.schema(real).replace("town", rest=None)
    out = us.synthesizer("forest", seed=1).fit(real, schema=without).sample(2_000)
    assert set(out["town"]) == {"Graz", "Linz", "Wien"}


def test_a_level_called_other_takes_the_rare_ones() -> None:
    towns = REAL["town"].replace("Wien", "Other")
    assert infer(pl.DataFrame({"town": towns}))["town"].rest == "Other"
    assert infer(pl.DataFrame({"town": ["a", "b", "c"] * 40}))["town"].rest is None


def test_identifiers_of_names_and_of_codes() -> None:
    names = pl.Series(
        "firm", [f"The {chr(65 + i % 26)}{'x' * (i % 9)} & Sons{'!' * i}" for i in range(40)]
    )
    assert (
        Identifier.fit(names, infer(pl.DataFrame(names))["firm"]).values(0, 1, 9)[0] == "firm-001"
    )
    codes = pl.Series("iata", [chr(65 + i % 26) + chr(65 + i // 26) + "Q" for i in range(200)])
    assert Identifier.fit(codes, infer(pl.DataFrame(codes))["iata"]).values(0, 1, 9)[0] == "ABQ"
