import copy
import itertools
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest

from understudy.report import html, pictures

HOSTILE = "<script>alert(1)</script>"

VOID = {"meta", "link", "br", "img", "input", "line", "rect", "circle", "path", "use"}
GRAPHICS = ("synthetic", "holdout", "fourth", "fifth", "shade", "less", "more", "frame")
TEXT_COLOURS = ("ink", "muted", "accent", "bad", "good")


class Page(HTMLParser):
    """Checks that tags are balanced, and collects what the tests ask about."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], []
        self.tags, self.attributes, self.ids = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        assert tag in VOID

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page(data, cards, title="A title", **more):
    return Page(html.render(data, cards, title=title, **more))


def between(text, start, end):
    return re.findall(f"{start}(.*?){end}", text, re.DOTALL)


def held(text):
    """What the page carries along for its script."""
    (found,) = between(text, '<script type="application/json" id="data">', "</script>")
    return json.loads(found)


@pytest.fixture(params=["data", "hostile", "nothing"])
def any_data(request):
    return request.getfixturevalue(request.param)


def test_page_is_balanced_accessible_and_self_contained(any_data, cards):
    text = html.render(any_data, cards, title="A title")
    seen = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert '<html lang="en">' in text
    assert seen.tags.count("script") == 2
    assert not {"img", "iframe", "object", "embed"} & set(seen.tags)
    for _, name, value in seen.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "action", "style")
        if name == "href":
            assert value == "data:," or value[1:] in seen.ids
            assert value == "data:," or value.startswith("#")
        if name == "aria-labelledby":
            assert value in seen.ids
    assert len(seen.ids) == len(set(seen.ids))
    assert "url(" not in text
    assert "@import" not in text
    pictures_drawn = [a for a in seen.attributes if a[0] == "svg" and a[1] == "role"]
    assert len(pictures_drawn) == seen.tags.count("svg")
    levels = [int(tag[1]) for tag in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_hostile_text_is_printed_and_not_obeyed(hostile):
    text = html.render(hostile, {}, title="<script>alert(1)</script>")
    seen = Page(text)
    assert text.count("<script>") == 1
    assert text.count("<script") == text.count("</script") == 2
    assert HOSTILE in json.dumps(held(text))
    assert "<script>alert(1)</script>" in seen.words
    assert "\"double\" & 'single'" in seen.words
    assert "[red]x[/red]" in seen.words
    assert "café 🎭 :smile:" in seen.words
    assert "מין الدخل" in seen.words
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_cards_are_escaped(data, cards):
    for card in cards.values():
        card.update(title="<b>t</b>", meaning='"><img src=x>', threat="<i>")
    seen = page(data, cards)
    assert "img" not in seen.tags
    assert '"><img src=x>' in seen.words


def test_top_says_what_was_compared_and_the_verdicts(data, cards):
    seen = page(data, cards).words
    assert "train 24,421 rows · 15 columns synthetic" in seen
    assert "FAIL 1 of 3 rules failed, 1 is inconclusive, 1 passed." in seen
    assert "PASS privacy.closest_record: at most 0.52 the interval is" in seen
    assert "INCONCLUSIVE attack.worlds is required it is failed" in seen
    assert "What to do next Use a larger minimum leaf." in seen
    assert "9 measures were asked for, 7 have a result and 2 of these are flagged." in seen


def test_all_statuses_are_words(data, cards):
    seen = page(data, cards).words
    assert "Not applicable: needs keys." in seen
    assert "Failed: ValueError: the generator returned no rows." in seen
    assert "flagged" in seen


def test_cards_fold_out_and_unknown_measures_show_what_there_is(data, cards):
    del cards["privacy.membership"]
    seen = page(data, cards)
    asked = "What does this mean, and what does it not show?"
    assert seen.words.count(asked) == len(data["findings"])
    assert "Whether the columns hang together." in seen.words
    assert "Who attacks, knowing and seeing what A stranger" in seen.words
    assert "There is no description of this measure; lower is better." in seen.words
    assert "privacy.membership" in seen.words


def test_empty(cards):
    seen = page({"findings": [], "verdicts": [], "provenance": {}}, cards)
    assert "There are no findings." in seen.words
    assert "Nothing is recorded." in seen.words


def test_missing_keys_of_the_contract_do_not_matter():
    seen = page({"findings": [{"measure": "fidelity.x", "value": 0.5}]}, {})
    assert "fidelity.x" in seen.words


def test_many_parts_are_behind_a_fold_out(data, cards):
    many = [{"name": f"column-{i}.", "value": i / 1000, "reference": None} for i in range(500)]
    data["findings"][0]["parts"] = many
    seen = page(data, cards).words
    assert "All 500 parts" in seen
    assert seen.count("column-11.") == 1
    assert "column-12." not in seen
    kept = held(html.render(data, cards, title="t"))["assessment"]["findings"][0]["parts"]
    assert kept == many


def test_parts_show_their_further_numbers(data, cards):
    part = {"name": "age", "value": 0.5, "reference": 0.25, "p_value": 1e-9, "low": 0.125, "n": 7}
    data["findings"] = [{**data["findings"][0], "parts": [part]}]
    seen = page(data, cards).words
    assert "part value reference p value low n age 50.00 % 25.00 % < 0.001 12.50 % 7" in seen


def test_long_tables_show_their_first_rows_and_carry_the_rest(data, cards):
    seen = page(data, cards).words
    assert "group 11" in seen
    assert "group 12" not in seen
    assert "All 250 rows, and download" in seen
    tables = held(html.render(data, cards, title="t"))["tables"]
    assert any(f"group {i}" in t["values"][0] for t in tables for i in [249])


def test_histograms_and_boxes_are_drawn_beside_their_tables(data, cards):
    text = html.render(data, cards, title="t")
    assert text.count('<svg class="bars"') == 8
    assert text.count('<svg class="boxes"') == 1
    assert text.count('<svg class="strip"') == 7
    seen = Page(text).words
    assert seen.count("The numbers, and download") == 9
    assert "15 to 20" in seen


def test_the_first_dozen_pictures_are_shown_and_the_rest_folded(data, cards):
    first = data["findings"][0]
    first["tables"] = {
        f"histogram:{c}": {"columns": ["bin", "train"], "rows": [["a", i / 40]]}
        for i, c in enumerate(f"c{i}." for i in range(30))
    }
    first["parts"] = [{"name": "c29.", "value": 1.0, "reference": None}]
    seen = page(data, cards).words
    assert "18 more: distributions" in seen
    assert seen.index("c29.") < seen.index("c0.") < seen.index("18 more") < seen.index("c12.")


def test_equal_tables_of_several_findings_are_kept_and_drawn_once(data, cards):
    data["findings"][1]["tables"] = dict(data["findings"][0]["tables"])
    text = html.render(data, cards, title="t")
    assert text.count('<svg class="bars"') == 8
    linked = "8 pictures are the same as and drawn under Univariate distributions ."
    assert linked in Page(text).words
    first, second = (f["tables"] for f in held(text)["assessment"]["findings"][:2])
    assert first == second


def test_what_the_page_carries_is_the_whole_assessment(any_data, cards):
    carried = held(html.render(any_data, cards, title="t"))

    def unpacked(table):
        columns = [
            v if isinstance(v, list) else [v["of"][i] for i in v["at"]] for v in table["values"]
        ]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return {"columns": table["columns"], "rows": rows}

    for finding in carried["assessment"]["findings"]:
        finding["tables"] = {
            n: unpacked(carried["tables"][i]) for n, i in finding["tables"].items()
        }
    assert carried["assessment"] == any_data


def test_only_our_own_script_and_style_may_run(hostile):
    text = html.render(hostile, {}, title="t")
    (policy,) = between(text, 'Content-Security-Policy" content="', '"')
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))
    (style,), (script,) = (
        between(text, "<style>", "</style>"),
        between(text, "<script>", "</script>"),
    )
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{html.fingerprint(script)}'"
    assert rules["style-src"] == f"'{html.fingerprint(style)}'"
    assert html.fingerprint("") == "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="


def test_stewards_edition_lists_single_records_and_says_so(data, cards):
    register = [
        {"measure": "privacy.x", "synthetic_row": i, "agree": f"a{i}. <b>"} for i in range(600)
    ]
    seen = page(data, cards, register=register).words
    assert "Steward's edition: holds single records, do not share." in seen
    assert "measure synthetic row agree privacy.x 0 a0. <b>" in seen
    assert "a499." in seen
    assert "a500." not in seen
    assert "The first 500 of 600 lines are here" in seen
    shared = html.render(data, cards, title="t")
    assert "Steward" not in shared
    assert "Register" not in shared
    assert "No single record is listed." in page(data, cards, register=[]).words


def test_provenance_is_last_and_complete(data, cards):
    seen = page(data, cards).words
    last = seen[seen.index("How this was made") :]
    for text in (
        "understudy 0.1.0",
        "seed 0",
        "bins 20",
        "python : 3.11.7",
        "all together : 3.373",
    ):
        assert text in last


def test_the_dict_is_not_changed_and_the_page_is_the_same_each_time(data, cards):
    before = copy.deepcopy(data)
    pages = {html.render(data, cards, title="t") for _ in range(3)}
    assert len(pages) == 1
    assert data == before


@pytest.mark.parametrize("value", [0.0, 1.0, -3.0, 1e-12, 1e12])
@pytest.mark.parametrize("reference", [None, 0.0, 0.5])
@pytest.mark.parametrize("unit", ["fraction", "bits", ""])
def test_strip_stays_within_the_picture(value, reference, unit):
    finding = {"value": value, "interval": [value, value], "reference": reference, "unit": unit}
    svg = str(pictures.strip(finding, "x"))
    places = [float(x) for x in re.findall(r'(?:x|x1|x2|cx)="([-\d.]+)%"', svg)]
    assert all(0 <= x <= 100 for x in places)


def luminance(colour):
    colour = colour if len(colour) == 6 else "".join(c * 2 for c in colour)
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_has_contrast_in_light_dark_and_print(data, cards):
    style = html.render(data, cards, title="t")
    palettes = [
        dict(re.findall(r"--(\w+): #([0-9a-f]+);", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]
    assert len(palettes) == 3
    for palette in palettes:
        for ground, name in itertools.product(("paper", "panel"), TEXT_COLOURS):
            assert contrast(palette[ground], palette[name]) >= 4.5, (ground, name)
        for name in GRAPHICS:
            assert contrast(palette["paper"], palette[name]) >= 3, name
