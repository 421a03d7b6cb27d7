"""Assessments as plain dicts, in the shape of version 1 of the JSON contract."""

from typing import Any

import pytest

HOSTILE = (
    "<script>alert(1)</script>",
    "\"double\" & 'single'",
    "[red]x[/red]",
    "café 🎭 :smile:",
    "מין الدخل",
    "\x1b[31mred\x07",
    "turn\u202eround",
)


def make_finding(measure: str, **more: Any) -> dict[str, Any]:
    return {
        "measure": measure,
        "status": "ok",
        "unit": "fraction",
        "value": 0.0058,
        "interval": [0.0055, 0.0061],
        "level": 0.95,
        "reference": 0.0099,
        "baselines": {},
        "better": "lower",
        "p_value": None,
        "flagged": False,
        "parts": [],
        "tables": {},
        "note": "",
        **more,
    }


def make_card(name: str, title: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "meaning": f"The mean over columns of what {title.lower()} says.",
        "formula": "½ Σ |p − q|",
        "unit": "fraction",
        "better": "lower",
        "headline": "the mean over columns",
        "source": "Nobody (2021), equation 2",
        "not_shown": "Whether the columns hang together.",
        "threat": "",
        "needs": [],
        **more,
    }


def _histogram(bins: list[str]) -> dict[str, Any]:
    n = len(bins)
    rows = [[b, (i + 1) / n**2, (n - i) / n**2, 0.8 * (i + 1) / n**2] for i, b in enumerate(bins)]
    return {"columns": ["bin", "train", "synthetic", "holdout"], "rows": rows}


@pytest.fixture
def cards() -> dict[str, dict[str, Any]]:
    named = {
        "fidelity.univariate": "Univariate distributions",
        "fidelity.correlation": "Correlations",
        "utility.classification": "Prediction of the target",
        "privacy.closest_record": "Share closer to training",
        "privacy.mean_minimal_distance": "Mean minimal distance",
        "privacy.attribute_disclosure": "Disclosure of sensitive columns",
        "privacy.membership": "Membership inference",
    }
    threat = "A stranger who has the release and one person's record; counted against a holdout."
    return {
        name: make_card(name, title, threat=threat if name.startswith("privacy") else "")
        for name, title in named.items()
    }


@pytest.fixture
def data() -> dict[str, Any]:
    ages = [f"{a} to {a + 5}" for a in range(15, 90, 5)]
    columns = [
        "age", "sex", "education", "hours per week", "marital status", "occupation",
        "relationship", "workclass", "native country", "capital gain", "capital loss", "race",
        "income", "education years",
    ]  # fmt: skip
    return {
        "version": 1,
        "findings": [
            make_finding(
                "fidelity.univariate",
                baselines={"naive": 0.21},
                parts=[
                    {"name": c, "value": 0.02 / (i + 1), "reference": 0.005, "bins": 20}
                    for i, c in enumerate(columns)
                ],
                tables={
                    "histogram:age": _histogram(ages),
                    "histogram:sex": _histogram(["female", "male"]),
                    **{f"histogram:{c}": _histogram(["low", "high", "–"]) for c in columns[2:8]},
                },
            ),
            make_finding(
                "fidelity.correlation",
                unit="correlation",
                value=0.98123,
                interval=None,
                reference=0.99,
                better="higher",
            ),
            make_finding(
                "utility.classification",
                value=0.8512,
                interval=[0.845, 0.857],
                reference=0.8701,
                better="higher",
                flagged=True,
                parts=[{"name": "accuracy", "value": 0.8512, "reference": 0.8701}],
                note="Trained on synthetic rows, tested on the holdout.",
            ),
            make_finding(
                "privacy.closest_record",
                value=0.503,
                interval=[0.498, 0.508],
                reference=0.5,
                better="reference",
                p_value=0.24,
            ),
            make_finding(
                "privacy.mean_minimal_distance",
                unit="standard deviations",
                value=1.23456,
                interval=[1.2, 1.27],
                reference=1.19,
                better="higher",
                tables={
                    "box": {
                        "columns": [
                            "of",
                            "smallest",
                            "lower quartile",
                            "median",
                            "upper quartile",
                            "largest",
                        ],
                        "rows": [
                            ["synthetic to train", 0.0, 0.7, 1.1, 1.6, 4.2],
                            ["holdout to train", 0.0, 0.6, 1.0, 1.5, 4.4],
                        ],
                    }
                },
            ),
            make_finding(
                "privacy.attribute_disclosure",
                value=0.0731,
                interval=[0.06, 0.09],
                reference=0.031,
                flagged=True,
                p_value=0.00002,
                baselines={"naive": 0.02, "original": 0.4},
                tables={
                    "by_key": {
                        "columns": ["keys", "value", "rows"],
                        "rows": [[f"group {i}", i / 1000, i] for i in range(250)],
                    }
                },
            ),
            make_finding("privacy.membership", value=0.51, interval=[0.5, 0.52], reference=None),
            make_finding(
                "privacy.linkability",
                status="not_applicable",
                value=None,
                interval=None,
                reference=None,
                flagged=None,
                note="needs keys",
            ),
            make_finding(
                "attack.worlds",
                status="failed",
                value=None,
                interval=None,
                reference=None,
                flagged=None,
                note="ValueError: the generator returned no rows.",
            ),
        ],
        "verdicts": [
            {
                "rule": "privacy.closest_record: at most 0.52",
                "outcome": "PASS",
                "measure": "privacy.closest_record",
                "why": "the interval is [0.498, 0.508]",
            },
            {
                "rule": "privacy.attribute_disclosure: at most 0.05",
                "outcome": "FAIL",
                "measure": "privacy.attribute_disclosure",
                "why": "the interval is [0.06, 0.09]",
                "next": ["Use a larger minimum leaf.", "See which columns drive it."],
            },
            {
                "rule": "attack.worlds is required",
                "outcome": "INCONCLUSIVE",
                "measure": "attack.worlds",
                "why": "it is failed",
                "next": [],
            },
        ],
        "provenance": {
            "understudy": "0.1.0",
            "seed": 0,
            "options": {"fidelity.univariate": {"bins": 20}},
            "versions": {"python": "3.11.7", "numpy": "2.1.0"},
            "train": {"rows": 24421, "columns": 15},
            "synthetic": {"rows": 24421, "columns": 15},
            "holdout": {"rows": 24421, "columns": 15},
            "seconds": {"fidelity.univariate": 0.1234, "privacy.closest_record": 3.25},
        },
    }


@pytest.fixture
def hostile() -> dict[str, Any]:
    """An assessment whose every free text tries to break out."""
    table = {"columns": list(HOSTILE), "rows": [list(HOSTILE)]}
    shares = {"columns": ["bin", *HOSTILE[:3]], "rows": [[h, 0.5, None, 0.1] for h in HOSTILE]}
    box = {"columns": list("abcdef"), "rows": [[h, 0, 1, 2, 3, 4] for h in HOSTILE]}
    findings = [
        make_finding(
            f"privacy.{h}",
            unit=h,
            flagged=True,
            parts=[{"name": h, "value": 0.5, "reference": None, h: 1}],
            baselines={h: 0.3},
            tables={h: table, f"histogram:{h}": shares, "box": box},
            note=h,
        )
        for h in HOSTILE
    ]
    blank = {"value": None, "interval": None, "reference": None}
    findings += [make_finding(h, status="failed", note=h, **blank) for h in HOSTILE]
    return {
        "version": 1,
        "findings": findings,
        "verdicts": [{"outcome": h, "rule": h, "why": h, "next": [h]} for h in HOSTILE],
        "provenance": {"understudy": HOSTILE[0], "options": {h: h for h in HOSTILE}},
    }


@pytest.fixture
def nothing() -> dict[str, Any]:
    """An assessment with None wherever the contract allows it."""
    none = make_finding(
        "privacy.unheard_of",
        interval=None,
        reference=None,
        flagged=None,
        baselines={"naive": None},
        parts=[{"name": "age", "value": None, "reference": None, "share": None}],
        tables={
            "histogram:age": {"columns": ["bin", "train"], "rows": [[None, None]]},
            "histogram:none": {"columns": ["bin", "train"], "rows": []},
            "box": {"columns": list("abcdef"), "rows": [["x", None, None, None, None, None]]},
            "empty": {"columns": ["a"], "rows": []},
        },
    )
    gone = make_finding(
        "fidelity.gone", status="failed", value=None, interval=None, reference=None, note="gone"
    )
    provenance = {"understudy": None, "seed": None, "options": {}, "train": None, "holdout": None}
    return {"version": 1, "findings": [none, gone], "verdicts": [], "provenance": provenance}
