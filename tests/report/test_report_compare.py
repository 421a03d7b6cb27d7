"""Candidates side by side on the terminal and on the page."""

import base64
import io
import json
import re
from html.parser import HTMLParser

import pytest
from rich.cells import cell_len

from understudy.report import compare

HOSTILE = (
    "<script>alert(1)</script>",
    "\"double\" & 'single'",
    "[red]x[/red] 🎭",
    "מין الدخل",
    "turn\u202eround\x1b[31m",
    "reference",
)
FIDELITY, SHARE = "fidelity.trivariate", "privacy.closest_record"
VOID = {"meta", "link", "br"}


def finding(name, value, **more):
    return {
        "candidate": name,
        "status": "ok",
        "value": value,
        "interval": [value - 0.01, value + 0.01],
        "reference": 0.5,
        "p_value": None,
        "flagged": False,
        "note": "",
        **more,
    }


def measure(name, findings, unit="fraction", reference=0.5):
    return {
        "measure": name,
        "unit": unit,
        "better": "lower",
        "level": 0.95,
        "decides": name in (FIDELITY, SHARE),
        "reference": reference,
        "findings": findings,
    }


def contest(names, plane=True):
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    return {
        "version": 1,
        "candidates": [
            {
                "name": name,
                "rows": 1000,
                "pareto": i == 0,
                "dominated_by": list(names[:1]) if i else [],
                "flagged": [],
                "failed": [],
                "notes": [f"{name}: a note"],
                "seconds": 1.0,
            }
            for i, name in enumerate(names)
        ],
        "measures": [
            measure(FIDELITY, [finding(n, 0.1 * i, flagged=i > 0) for i, n in enumerate(names)]),
            measure(SHARE, [finding(n, 0.5 + 0.05 * i) for i, n in enumerate(names)]),
            measure(
                "fidelity.detection",
                [finding(n, 0.6, reference=0.4 + 0.1 * i) for i, n in enumerate(names)],
                unit="AUC",
                reference=None,
            ),
            measure(
                "privacy.too_close",
                [_failed(n) if i == 0 else finding(n, 0.2) for i, n in enumerate(names)],
            ),
        ],
        "differences": [
            {
                "measure": FIDELITY,
                "a": a,
                "b": b,
                "unit": "fraction",
                "value": -0.1,
                "interval": [-0.12, -0.08],
                "level": 0.95,
                "looks": 2 * len(pairs),
                "paired": True,
                "apart": True,
                "better": a,
            }
            for a, b in pairs
        ],
        "plane": {
            "x": FIDELITY,
            "y": SHARE,
            "star": {"x": 1.0, "y": 0.5},
            "points": {
                "columns": ["candidate", "x", "x low", "x high", "y", "y low", "y high"],
                "rows": [
                    [n, i * 2.0, i * 1.8, i * 2.2, 0.5, 0.49, 0.51] for i, n in enumerate(names)
                ],
            },
            "curve": {"columns": ["flip", "x", "y"], "rows": [[0.1, 1.5, 0.9], [0.9, 6.0, 0.5]]},
        }
        if plane
        else None,
        "pareto": list(names[:1]),
        "recommendation": [f"The Pareto set is '{names[0]}'."],
        "provenance": {
            "train": {"rows": 1000, "columns": 5},
            "holdout": {"rows": 1000, "columns": 5},
            "warnings": ["the holdout is odd"],
            "notes": [] if plane else ["There is no plane."],
            "seed": 0,
        },
    }


def _failed(name):
    return {
        **finding(name, 0.0),
        "status": "failed",
        "value": None,
        "interval": None,
        "note": "no memory",
    }


class Page(HTMLParser):
    """Checks that tags are balanced, and collects the text and the addresses."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags, self.links = [], [], set(), []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [v for n, v in attrs if n in ("href", "src", "action")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page(names=("a", "b", "c"), **more):
    return compare.render(contest(list(names), **more), {}, title="c")


def printed(data, width):
    file = io.StringIO()
    compare.show(data, file=file, width=width)
    return file.getvalue()


def test_page_is_closed_and_has_no_script():
    text = page(HOSTILE)
    found = Page(text)
    assert "script" not in found.tags
    assert "default-src 'none'" in text
    assert all(link.startswith(("#", "data:")) for link in found.links)
    assert not re.search(r"url\(|@import|\son\w+=", text)


def test_hostile_names_are_text():
    words = Page(page(HOSTILE)).words
    for name in HOSTILE[:4]:
        assert name in words
    assert "\u202e" not in words
    assert "\x1b" not in words
    assert "turn\\u202eround" in words


def test_page_says_what_was_found():
    words = Page(page()).words
    for text in (
        "The Pareto set is 'a'.",
        "the holdout is odd",
        "dominated by a",
        "10.00 %",
        "[9.00 %, 11.00 %]",
        "−10.00 points",
        "[−12.00, −8.00]",
        "privacy.too_close ( a ): no memory",
        "intervals hold for all 6 differences",
        "reference 0.4",
    ):
        assert text in words, text
    assert page().count("<details open>") == 1, "the measures that decide, where there are pairs"


def test_plane_shows_and_hands_over_its_numbers():
    text = page()
    links = [link for link in Page(text).links if link.startswith("data:application/json")]
    handed = [json.loads(base64.b64decode(link.partition(",")[2])) for link in links]
    assert handed == [contest(["a", "b", "c"])["plane"], contest(["a", "b", "c"])]
    svg = text[text.index('<svg class="plane"') : text.rindex("</figure>")]
    assert svg.count('class="hollow"') == 2, "all but the Pareto set"
    assert svg.count('circle class="value"') == 1
    assert svg.count('class="dot"') == 2
    assert 'class="star"' in svg
    assert not re.search(r"nan|inf", svg)


def test_page_without_a_plane():
    text = page(plane=False)
    assert "There is no plane." in Page(text).words
    assert '<svg class="plane"' not in text


def test_page_with_one_candidate():
    words = Page(page(["a"])).words
    assert "Differences between candidates" not in words


def test_notebook_gets_a_fragment_without_style():
    text = compare.fragment(contest(list(HOSTILE)))
    found = Page(text)
    assert not {"script", "style", "html", "head"} & found.tags
    for word in (*HOSTILE[:4], "the holdout is odd", "The Pareto set is", "10.00 %"):
        assert word in found.words


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_console_keeps_to_the_width(width):
    lines = printed(contest(list(HOSTILE)), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert not any("\x1b" in line or "\u202e" in line for line in lines)


def test_console_is_a_table_where_it_fits():
    wide, narrow = (printed(contest(["a", "b"]), width).splitlines() for width in (100, 40))
    assert wide[1].split() == ["a", "b", "reference"]
    assert wide[2].split()[:6] == ["fidelity.trivariate", "0", "%", "10.00", "%", "*"]
    assert "fidelity.trivariate" in narrow
    assert any("b          10.00 % [9.00 %, 11.00 %] *" in line for line in narrow)


def test_a_candidate_called_reference_keeps_its_numbers():
    text = printed(contest(["reference", "b"]), 100)
    assert "reference (candidate)" in text
    assert "no memory" in text
