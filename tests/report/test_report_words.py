import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.report import words

FORBIDDEN = re.compile(r"private|anonym|\bsafe", re.IGNORECASE)
NUMBERS = st.none() | st.floats(-2, 2, allow_nan=False)
MEASURES = ("fidelity.x", "utility.x", "privacy.x", "attack.x", "odd")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0058, "0.58 %"),
        (0.4838, "48.38 %"),
        (0, "0 %"),
        (0.0, "0 %"),
        (1, "100 %"),
        (0.00001, "< 0.01 %"),
        (-0.00001, "> -0.01 %"),
        (0.0001, "0.01 %"),
        (0.999999, "> 99.99 %"),
        (-0.25, "-25.00 %"),
        (12.5, "1,250 %"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_fractions_are_printed_as_per_cent(value, text):
    assert words.number(value, "fraction") == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.23456, "bits", "1.235 bits"),
        (0.98123, "correlation", "0.9812"),
        (24421.4, "rows", "24,421 rows"),
        (0.00001234, "", "1.23e-05"),
        (-3, "", "-3"),
        (0, "bits", "0 bits"),
        (2.5e12, "", "2.5e+12"),
    ],
)
def test_other_units_have_few_digits_and_say_the_unit(value, unit, text):
    assert words.number(value, unit) == text


@given(st.floats(0, 1))
def test_only_nothing_is_0_and_only_all_is_100(value):
    assert (words.percent(value) == "0 %") == (value == 0)
    assert (words.percent(value) == "100 %") == (value == 1)


@given(st.text())
def test_visible_text_has_no_control_characters(text):
    seen = words.visible(text)
    assert "\x1b" not in seen
    assert "\n" not in seen
    seen.encode()


def finding(**more):
    return {
        "measure": "fidelity.x",
        "status": "ok",
        "unit": "fraction",
        "value": 0.2,
        "interval": [0.18, 0.22],
        "level": 0.95,
        "reference": 0.1,
        "better": "lower",
        "flagged": True,
        "p_value": None,
        "note": "",
        **more,
    }


def test_sentence_says_on_which_side_of_the_reference_the_interval_lies():
    assert words.sentence(finding()) == (
        "The measure reads 20.00 %, where fresh real rows get 10.00 %; its 95 % interval "
        "[18.00 %, 22.00 %] lies above that reference, on the worse side, so it is flagged."
    )
    better = words.sentence(finding(better="higher", flagged=False))
    assert better.endswith("lies above that reference, on the better side.")
    away = words.sentence(finding(better="reference"))
    assert "on the worse side, so it is flagged" in away
    around = words.sentence(finding(reference=0.2, flagged=False))
    assert around.endswith("[18.00 %, 22.00 %] includes that reference.")


def test_sentence_explains_a_flag_that_the_interval_does_not_explain():
    by_p = words.sentence(finding(reference=0.2, p_value=0.0004))
    assert by_p.endswith("includes that reference, and it is flagged (p-value < 0.001).")
    corrected = words.sentence(finding(flagged=False, p_value=0.3))
    assert corrected.endswith("on the worse side, yet it is not flagged (p-value 0.3).")


def test_sentence_without_reference_says_what_is_missing():
    alone = finding(reference=None, flagged=False)
    assert words.sentence(alone, holdout=False).endswith("there is no holdout to compare with.")
    assert words.sentence(alone, holdout=True).endswith("there is no reference to compare with.")
    bare = finding(reference=None, flagged=False, interval=None)
    assert words.sentence(bare) == (
        "The measure reads 20.00 %; there is no reference to compare with."
    )


@pytest.mark.parametrize("holdout", [True, False, None])
def test_sentence_of_what_has_no_result_gives_status_and_reason(holdout):
    failed = finding(status="failed", value=None, note="the fit broke")
    assert words.sentence(failed, holdout=holdout) == "Failed: the fit broke."
    missing = finding(status="not_applicable", value=None, note="Needs keys.")
    assert words.sentence(missing, holdout=holdout) == "Not applicable: Needs keys."


@pytest.mark.parametrize(
    ("measure", "better", "start"),
    [
        ("attack.worlds", "lower", "The risk under this attack is"),
        ("attack.worlds", "higher", "The measure reads"),
        ("privacy.attribute_disclosure", "lower", "The disclosure measured is"),
        ("privacy.mean_minimal_distance", "higher", "The measure reads"),
        ("utility.regression", "lower", "The measure reads"),
    ],
)
def test_careful_speech(measure, better, start):
    assert words.sentence(finding(measure=measure, better=better)).startswith(start)


def test_the_card_opens_the_sentence():
    card = {"opening": "This copying detector reads"}
    said = words.sentence(finding(measure="privacy.x"), card=card)
    assert said.startswith("This copying detector reads 20.00 %")
    plain = words.sentence(finding(measure="privacy.x"), card={"opening": ""})
    assert plain.startswith("The disclosure measured is")


def test_the_report_knows_no_measure_by_name():
    folder = Path(words.__file__).parent
    names = re.compile(r"\b(fidelity|utility|privacy|attack)\.[a-z]")
    for file in ("html", "figures", "heat", "pictures", "svg", "words", "console"):
        code = re.sub(r'""".*?"""', "", (folder / f"{file}.py").read_text("utf-8"), flags=re.S)
        assert not names.search(code), file
    assert not names.search((folder / "templates" / "report.js").read_text("utf-8"))
    assert not names.search((folder / "templates" / "report.html.j2").read_text("utf-8"))


@given(
    measure=st.sampled_from(MEASURES),
    status=st.sampled_from(["ok", "failed", "not_applicable"]),
    unit=st.sampled_from(["fraction", "bits", "correlation", ""]),
    better=st.sampled_from(["lower", "higher", "reference"]),
    value=NUMBERS,
    ends=st.none() | st.tuples(NUMBERS, NUMBERS).map(list),
    reference=NUMBERS,
    p=NUMBERS,
    flagged=st.sampled_from([True, False, None]),
    holdout=st.sampled_from([True, False, None]),
)
def test_any_finding_gives_one_sentence_without_forbidden_words(
    measure, status, unit, better, value, ends, reference, p, flagged, holdout
):
    text = words.sentence(
        finding(
            measure=measure,
            status=status,
            unit=unit,
            better=better,
            value=value,
            interval=ends,
            reference=reference,
            p_value=p,
            flagged=flagged,
        ),
        holdout=holdout,
    )
    assert not FORBIDDEN.search(text)
    assert text.endswith(".")
    assert ("it is flagged" in text) == (status == "ok" and bool(flagged))


def test_words_of_the_outline_are_careful_too():
    assert not FORBIDDEN.search(" ".join(words.FAMILIES.values()))


def test_families_come_in_order_and_unknown_ones_last():
    names = ["attack.a", "odd.b", "privacy.c", "fidelity.d", "utility.e"]
    grouped = words.by_family([{"measure": name} for name in names])
    assert list(grouped) == ["fidelity", "utility", "privacy", "attack", "odd"]


def test_compared_knows_replicates_and_missing_tables():
    provenance = {
        "train": {"rows": 24421, "columns": 15},
        "synthetic": [{"rows": 10, "columns": None}, {"rows": 11, "columns": ["a", "b"]}],
        "holdout": None,
    }
    assert words.compared(provenance) == [
        ("train", "24,421", "15"),
        ("synthetic, replicate 1", "10", "–"),
        ("synthetic, replicate 2", "11", "2"),
    ]
    assert words.has_holdout(provenance) is False
    assert words.has_holdout({}) is None


def test_verdict_of_any_shape():
    assert words.verdict("as you like")["rule"] == "as you like"
    made = words.verdict({"result": "fail", "measure": "privacy.x", "bound": 0.25, "note": ""})
    assert (made["outcome"], made["rule"]) == ("FAIL", "measure: privacy.x; bound: 0.25")


@pytest.mark.parametrize(
    ("outcomes", "together"),
    [
        (["PASS", "PASS"], "PASS"),
        (["PASS", "INCONCLUSIVE"], "INCONCLUSIVE"),
        (["INCONCLUSIVE", "FAIL", "PASS"], "FAIL"),
        (["PASS", "MAYBE"], "INCONCLUSIVE"),
        (["PASS", ""], "INCONCLUSIVE"),
    ],
)
def test_the_worst_rule_decides_and_what_is_not_a_pass_is_none(outcomes, together):
    assert words.overall([{"outcome": o} for o in outcomes])["outcome"] == together
