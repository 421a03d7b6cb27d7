import io

import pytest
from rich.cells import cell_len

from understudy.report import console, words
from understudy.report.benchmark import show_beside

WIDTHS = [40, 60, 80, 120]


def shown(data, cards, width):
    file = io.StringIO()
    console.show(data, cards, file=file, width=width)
    return file.getvalue()


def together(text):
    return " ".join(text.split())


@pytest.mark.parametrize("width", [*WIDTHS, 30, 200])
def test_every_name_and_number_is_there_at_every_width(data, cards, width):
    text = shown(data, cards, width)
    for finding in data["findings"]:
        assert finding["measure"] in text
        if finding["status"] != "ok":
            continue
        unit = finding["unit"]
        assert words.number(finding["value"], unit) in together(text)
        assert words.interval(finding["interval"], unit) in text
        assert words.number(finding["reference"], unit if unit == "fraction" else "") in text
        assert words.direction(finding["better"]).split()[0] in text
    assert "…" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_notes_reasons_verdicts_and_flags_are_words(data, cards, width):
    text = together(shown(data, cards, width))
    assert text.lower().count("flagged") == 3
    assert "Trained on synthetic rows, tested on the holdout." in text
    assert "Failed attack.worlds ValueError: the generator returned no rows." in text
    assert "Not applicable privacy.linkability needs keys" in text
    assert "FAIL 1 of 3 rules failed, 1 is inconclusive, 1 passed." in text
    for verdict in data["verdicts"]:
        assert f"{verdict['outcome']} {verdict['rule']} {verdict['why']}" in text
    assert "Next: Use a larger minimum leaf. Next: See which columns drive it." in text


def test_wide_is_a_table_and_narrow_is_stacked(data, cards):
    wide, narrow = shown(data, cards, 120), shown(data, cards, 40)
    assert "direction" in wide
    assert "direction" not in narrow
    row = next(line for line in wide.splitlines() if line.startswith("utility.classification"))
    assert "85.12 %" in row
    assert "[84.50 %, 85.70 %]" in row
    assert "flagged" in row


def test_families_are_in_order(data, cards):
    data["findings"].reverse()
    text = shown(data, cards, 120)
    places = [text.index(f"{name}:") for name in ("Fidelity", "Utility", "Privacy")]
    assert places == sorted(places)


@pytest.mark.parametrize("width", WIDTHS)
def test_markup_and_control_characters_are_printed_literally(hostile, width):
    text = shown(hostile, {}, width)
    assert "[red]x[/red]" in text
    assert ":smile:" in text
    assert "🎭" in text
    assert "מין" in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_and_none(nothing, width):
    assert shown({"findings": [], "verdicts": [], "provenance": {}}, {}, width) == "No findings.\n"
    text = shown(nothing, {}, width)
    assert "privacy.unheard_of" in text
    assert "0.58 %" in text
    assert "fidelity.gone" in text


def test_a_long_name_is_folded_not_cut(data):
    data["findings"][0]["measure"] = "fidelity." + "x" * 100
    text = shown(data, {}, 40)
    assert text.replace("\n", "").count("x" * 100) == 1


def test_only_the_worst_parts_of_flagged_findings_are_named(data, cards):
    many = [{"name": f"column {i}", "value": i / 1000, "reference": None} for i in range(500)]
    data["findings"][0].update(parts=many, flagged=True)
    text = shown(data, cards, 80)
    assert "column 0 0 %; column 1 0.10 %; column 2 0.20 %" in text
    assert "column 3 " not in text


def test_the_width_of_the_terminal_is_used_and_the_sheet_is_deterministic(data, cards, monkeypatch):
    for width in (60, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        assert shown(data, cards, None) == shown(data, cards, width)
    assert shown(data, cards, 60) != shown(data, cards, 120)
    assert shown(data, cards, 80) == shown(data, cards, 80)


def test_colour_is_never_the_only_sign(data, cards, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = shown(data, cards, 80)
    assert "\x1b[" in text
    assert "FLAGGED" in text


@pytest.mark.parametrize("width", [30, 80])
def test_findings_of_several_methods_beside_each_other(data, width):
    ok = [f for f in data["findings"] if f["status"] == "ok"]
    flagged, failed = {**ok[0], "flagged": True}, {**ok[1], "status": "failed"}
    names = [ok[0]["measure"], ok[1]["measure"]]
    file = io.StringIO()
    show_beside(
        {"forest": {"findings": ok}, "cart": {"findings": [flagged, failed]}},
        names,
        file=file,
        width=width,
    )
    text = file.getvalue()
    assert all(name in text for name in ("forest", "cart", "reference", *names))
    value = words.number(ok[0]["value"], ok[0]["unit"])
    assert f"{value} *" in text
    assert "failed" in text
    assert max(cell_len(line) for line in text.splitlines()) <= width
