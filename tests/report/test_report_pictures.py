import itertools
import re
from xml.etree import ElementTree

import pytest

from understudy.report import figures, heat, html, pictures, svg

SERIES = ["train", "synthetic", "holdout"]


def shares(*columns, levels=10):
    labels = [[f"{c} {i}" for i in range(levels)] for c in columns]
    cells = list(itertools.product(*labels))
    rows = [
        [*cell, i / len(cells) ** 2, (len(cells) - i) / len(cells) ** 2, 1 / len(cells)]
        for i, cell in enumerate(cells)
    ]
    return {"columns": [*columns, *SERIES], "rows": rows}


def drawn(markup):
    """The elements of a picture, which must be well-formed."""
    return list(ElementTree.fromstring(f"<div>{markup}</div>").iter())


def cells_of(markup):
    """How many cells each look covers, by panel."""
    panels = []
    for group in (e for e in drawn(markup) if e.get("class") == "cells"):
        counted = {}
        for path in group:
            runs = re.findall(r"M\d+ \d+h(\d+)v1h-\d+z", path.get("d"))
            if path.get("class") != "frame":
                look = path.get("class"), path.get("fill-opacity", "1")
                counted[look] = counted.get(look, 0) + sum(map(int, runs))
        panels.append(counted)
    return panels


@pytest.mark.parametrize(
    ("name", "table", "kind"),
    [
        ("histogram:a", {"columns": ["bin", "train"], "rows": []}, "bars"),
        ("heat:a × b", shares("a", "b"), "heat"),
        ("heat:a × b × c", shares("a", "b", "c", levels=2), "facets"),
        ("heat:train × b", shares("train", "b"), "heat"),
        ("heat:a", {"columns": ["a", "train"], "rows": []}, "table"),
        ("matrix:association", shares("column", "other"), "matrix"),
        ("line:roc", {"columns": ["x", "y"], "rows": []}, "lines"),
        ("box", {"columns": list("abcdef"), "rows": [["x", 1, 2, 3, 4, 5]]}, "boxes"),
        ("box:of", {"columns": list("abcdef"), "rows": [["x", 1, 2, 3, 4, 5]]}, "boxes"),
        ("box", {"columns": ["a"], "rows": []}, "table"),
        ("by_key", {"columns": ["a"], "rows": []}, "table"),
    ],
)
def test_the_word_before_the_colon_says_how_a_table_is_drawn(name, table, kind):
    assert figures.kind_of(name, table) == kind
    (group,) = figures.groups([(name, table, 0, "p0")], [])
    assert group["kind"] == kind
    drawn(group["first"][0]["svg"])


def test_heat_map_of_ten_by_ten_is_small_and_covers_every_cell():
    picture = heat.heat(shares("age", "job"), "p1")
    assert len(picture) < 7000
    real, synthetic, difference = cells_of(picture)
    assert sum(real.values()) == 99  # the first has no share, the last is drawn
    assert sum(synthetic.values()) == 100
    assert {kind for kind, _ in difference} == {"less", "more"}


def test_heat_map_tells_more_from_less_and_withheld_from_nothing():
    rows = [["a", "x", 0.1, 0.3], ["a", "y", 0.4, 0.2], ["b", "x", None, 0.1], ["b", "y", 0.2, 0.2]]
    table = {"columns": ["one", "two", "train", "synthetic"], "rows": rows}
    real, synthetic, difference = cells_of(heat.heat(table, "p1"))
    assert real[heat.WITHHELD, "1"] == 1
    assert synthetic == {("shade", ".9"): 1, ("shade", ".8"): 2, ("shade", ".5"): 1}
    assert difference == {("more", "1"): 1, ("less", "1"): 1, (heat.WITHHELD, "1"): 1}
    said = [re.sub("</?bdi>", "", line) for line in heat.extremes(table)]
    assert said == [
        "Most overstated: one a, two x (30.00 % where 10.00 % is real); "
        "most understated: one a, two y (20.00 % where 40.00 % is real). "
        "The strongest colour is a difference of 20.00 %."
    ]


def test_differences_no_larger_than_those_of_fresh_real_rows_are_pale():
    def strongest(fresh):
        rows = [["x", "y", 0.50, 0.60, 0.50 + fresh]]
        (look,) = cells_of(heat.heat({"columns": ["a", "b", *SERIES], "rows": rows}, "p1"))[2]
        return look

    assert strongest(0.01) == ("more", "1")
    assert strongest(0.10) == ("more", ".4")


def test_three_columns_are_drawn_for_each_value_of_the_third():
    table = shares("a", "b", "c", levels=3)
    picture = heat.heat(table, "p1")
    assert len(cells_of(picture)) == 9
    labels = [e.get("aria-label") for e in drawn(picture) if e.tag == "svg"]
    assert [label.partition(" where ")[2] for label in labels] == [f"c is c {i}" for i in range(3)]
    many = shares("a", "b", "c", levels=14)
    (group,) = figures.groups([("heat:a × b × c", many, 0, "p0")], [])
    assert (
        "for each value of <bdi>c</bdi>, of which 2 are not drawn." in group["first"][0]["said"][1]
    )


def associated(*pairs):
    rows = [[a, b, real, made] for a, b, real, made in pairs]
    return {"columns": ["column", "other", "train", "synthetic"], "rows": rows}


def test_lost_and_invented_associations_are_told_apart():
    table = associated(
        ("a", "b", 0.8, 0.1),  # lost
        ("a", "c", 0.1, 0.7),  # invented
        ("b", "c", 0.6, 0.3),  # exactly half is left: kept
        ("a", "d", 0.3, 0.1),  # strong enough to be lost
        ("b", "d", 0.29, 0.0),  # too weak to be lost
        ("c", "d", -0.5, 0.5),  # turned round: lost and invented
        ("d", "e", None, 0.9),
    )
    assert heat.changed(table) == {
        "lost": [("c", "d"), ("a", "b"), ("a", "d")],
        "invented": [("c", "d"), ("a", "c")],
    }
    said = heat.changed_words(table)
    assert said[0][0] == "Associations lost: 3"
    assert said[0][1][1] == "<bdi>a</bdi> × <bdi>b</bdi>: 0.8 real, 0.1 synthetic"
    marks = [e.get("d") for e in drawn(heat.matrix(table, "p1")) if e.get("class") == "mark"]
    lost, invented = marks
    assert lost.count("M") == 6
    assert "v" not in lost
    assert invented.count("M") == invented.count("v") == 4


def test_small_differences_of_associations_are_seen_but_pale():
    table = {"columns": ["column", "other", *SERIES], "rows": [["a", "b", 0.22, 0.17, 0.23]]}
    assert heat.span(table, heat.FAINTEST) == heat.FAINTEST
    assert cells_of(heat.matrix(table, "p1"))[2] == {("less", ".4"): 2}
    (said,) = heat.largest(table)
    assert re.sub("</?bdi>", "", said) == (
        "Largest difference: a × b (0.22 real, 0.17 synthetic). "
        "Fresh real rows differ by up to 0.01. The strongest colour is 0.1."
    )
    strong = {"columns": table["columns"], "rows": [["a", "b", 0.9, 0.1, 0.9]]}
    assert heat.span(strong, heat.FAINTEST) == pytest.approx(0.8)


def test_matrix_reads_the_upper_triangle_or_both():
    upper = associated(("a", "b", 0.8, 0.1), ("a", "c", 0.2, 0.2), ("b", "c", 0.5, 0.6))
    both = associated(
        *((r[:4]) for r in upper["rows"]), *((r[1], r[0], *r[2:]) for r in upper["rows"])
    )
    assert heat.matrix(upper, "p1") == heat.matrix(both, "p1")
    assert sum(cells_of(heat.matrix(upper, "p1"))[0].values()) == 6


def test_matrix_of_200_columns_is_drawn():
    names = [f"column {i}" for i in range(200)]
    pairs = [
        (a, b, (i % 10) / 10, (i % 7) / 7)
        for i, (a, b) in enumerate(itertools.combinations(names, 2))
    ]
    picture = heat.matrix(associated(*pairs), "p1")
    assert len(picture) < 2_000_000
    assert len(heat.changed_words(associated(*pairs))[0][1]) == heat.LISTED + 1


def test_lines_have_bands_and_a_look_each():
    table = {
        "columns": ["ε", "synthetic", "synthetic low", "synthetic high", "chance"],
        "rows": [[i, i / 10, i / 10 - 0.1, i / 10 + 0.1, 0.5] for i in range(11)],
    }
    assert pictures.line_series(table) == [("synthetic", "synthetic"), ("holdout", "chance")]
    kinds = [e.get("class") for e in drawn(pictures.lines(table, "t")) if e.tag == "path"]
    assert kinds == ["axis", "synthetic around", "synthetic drawn", "holdout drawn"]


def test_bars_stay_within_the_picture_and_show_what_is_withheld():
    rows = [[f"level {i}", i / 40, None if i == 3 else 0.1, 1.0] for i in range(40)]
    picture = pictures.bars({"columns": ["bin", *SERIES], "rows": rows}, "t")
    paths = {e.get("class"): e.get("d") for e in drawn(picture) if e.tag == "path"}
    assert paths["withheld"].count("M") == 1
    assert paths["synthetic"].count("M") == 39
    heights = [float(y) for y in re.findall(r"V([\d.]+)h", paths["train"])]
    assert min(heights) >= 18
    assert max(heights) == 18 + pictures.TALL
    assert max(map(float, re.findall(r"M([\d.]+) ", paths["holdout tick"]))) < pictures.WIDTH


@pytest.mark.parametrize("rows", [[], [["a", None, None, None]], [["a", 0, 0, 0]]])
@pytest.mark.parametrize("name", ["histogram:x", "line:x", "box", "odd"])
def test_nothing_to_draw_is_no_error(name, rows):
    table = {"columns": ["bin", *SERIES], "rows": rows}
    for group in figures.groups([(name, table, 0, "p0")], []):
        drawn(group["first"][0]["svg"])


@pytest.mark.parametrize("rows", [[], [["a", "b", None, None]], [["a", "b", 0, 0]]])
@pytest.mark.parametrize("name", ["heat:x × y", "matrix:x"])
def test_nothing_in_the_cells_is_no_error(name, rows):
    table = {"columns": ["one", "other", "train", "synthetic"], "rows": rows}
    (group,) = figures.groups([(name, table, 0, "p0")], [])
    drawn(group["first"][0]["svg"])


def test_names_in_sentences_are_escaped_and_keep_their_direction():
    table = shares("<b>", '"&', "ج", levels=2)
    (text,) = heat.extremes(table)
    assert text.startswith("Most overstated: <bdi>&lt;b&gt;</bdi> <bdi>&lt;b&gt; 0</bdi>, ")
    lost = heat.changed_words(associated(("<i>", "ج", 0.9, 0.1)))[0][1]
    assert lost == ["<bdi>&lt;i&gt;</bdi> × <bdi>ج</bdi>: 0.9 real, 0.1 synthetic"]


def test_labels_are_escaped():
    table = shares("<b>", '"&')
    for markup in (
        heat.heat(table, "p1"),
        heat.matrix(shares("<a>", "&b"), "p2"),
        pictures.bars({"columns": ["bin", "<s>"], "rows": [["<i>", 1]]}, "<t>"),
        svg.turned([(1.0, "<x>")], 3),
    ):
        drawn(markup)


@pytest.mark.slow
def test_a_wide_assessment_stays_small(cards):
    columns = [f"variable {i}" for i in range(200)]
    bars = {
        f"histogram:{c}": {
            "columns": ["bin", *SERIES],
            "rows": [[f"{b} – {b + 1}", b / 190 + i / 1e6, b / 190, b / 190] for b in range(20)],
        }
        for i, c in enumerate(columns)
    }
    pairs = {f"heat:{a} × {b}": shares(a, b) for a, b in itertools.pairwise(columns)}
    finding = {"measure": "fidelity.x", "value": 0.1, "tables": {**bars, **pairs}}
    page = html.render({"findings": [finding]}, cards, title="t")
    assert len(page.encode()) < 6_000_000


def test_notebook_is_a_small_fragment(data, hostile, cards):
    text = html.fragment(data, cards)
    assert len(text) < 10_000
    assert text.count("<tr>") == 1 + len(data["findings"])
    assert "Policy: FAIL." in text
    for made in (text, html.fragment(hostile, {})):
        assert not re.search(r"<(script|style|html|img|iframe)", made)
        assert not re.search(r"\son\w+=|\sstyle=", re.sub(r"<bdi>.*?</bdi>", "", made))
    assert html.fragment({}, {}).startswith("<div>")
