"""The report in a real browser: the system's Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.report import html

HOSTILE = ("<script>alert(1)</script>", "\"double\" & 'single'", "=cmd()", "🎭 café", "מין الدخل")
SERIES = ["train", "synthetic", "holdout"]


def _absent(what: str) -> None:
    """Skip for want of a browser; where everything is required, as in CI, fail."""
    if os.environ.get("CI") or os.environ.get("UNDERSTUDY_REQUIRE_DATA"):
        pytest.fail(f"the browser tests are required here, but {what}")
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _absent("playwright is not installed (make test-extras)")
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if found is None:
        _absent("there is no Chromium (make chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield started
        started.close()


def finding(measure: str, **more: Any) -> dict[str, Any]:
    return {
        "measure": measure,
        "status": "ok",
        "unit": "fraction",
        "value": 0.0123456789012345,
        "interval": [0.01, 0.02],
        "level": 0.95,
        "reference": 0.011,
        "baselines": {"naive": 0.2},
        "better": "lower",
        "p_value": 0.2,
        "flagged": False,
        "parts": [],
        "tables": {},
        "note": "",
        **more,
    }


def histogram(name: str, third: float = 1 / 3) -> dict[str, Any]:
    rows = [[f"{name} {i}", third / (i + 1), 0.1 * i, None if i == 2 else 0.05] for i in range(8)]
    return {"columns": ["bin", *SERIES], "rows": rows}


def heat(*columns: str) -> dict[str, Any]:
    down = [f"10000{i} – 20000{i}" for i in range(6)]
    third = ["1", "2"] if columns[2:] else [()]
    cells = [(a, b, *c) for a in down for b in "vwxyz" for c in third]
    rows = [[*c, i / 999, (len(cells) - i) / 999, 0.01] for i, c in enumerate(cells)]
    return {"columns": [*columns, *SERIES], "rows": rows}


def assessment() -> dict[str, Any]:
    columns = ["age", "sex", "income", *HOSTILE, "x" * 300, *(f"question {i}" for i in range(24))]
    pairs = [(a, b) for a in columns[:8] for b in columns[:8] if a < b]
    associations = [
        [a, b, 0.9 if i % 5 else 0.1, 0.1 if i % 3 else 0.9] for i, (a, b) in enumerate(pairs)
    ]
    formulas = [
        "=cmd()",
        "+1+1",
        "-2",
        "@SUM(A1)",
        "\tx",
        "plain",
        'quo"te',
        "a,b",
        "line\nend",
        "<b>",
    ]
    distances = {
        "columns": ["distance", "training", "holdout"],
        "rows": [["0", 0.3, 0.1], ["1", 0.7, 0.9]],
    }
    curve = [[i / 10, (i / 10) ** 0.5, i / 10, 1.0] for i in range(11)]
    box = {"columns": list("abcdef"), "rows": [["real", 0, 1, 2, 3, 4], ["made", 0, 1, 2, 3, 5]]}
    odd = [0, 1, 0.5, -0.25, 1e-6, -1e-6, 0.99999, 12.5, 1.23456, 24421.4, 2.5e12, 999.96]
    numbers = [
        {
            "name": f"number {i}",
            "value": value,
            "reference": value / 3,
            "p_value": min(abs(value) / 25, 1),
            "count": i,
            "unit": ["fraction", "bits", "correlation"][i % 3],
            **{f"a_further_number_{j}": value / 7 for j in range(9)},
        }
        for i, value in enumerate(odd)
    ]
    findings = [
        finding(
            "fidelity.single",
            parts=[
                {"name": c, "value": 1 / (3 + i), "reference": 0.01} for i, c in enumerate(columns)
            ],
            tables={f"histogram:{c}": histogram(c, 1 / (3 + i)) for i, c in enumerate(columns)},
        ),
        finding(
            "fidelity.pairs",
            parts=[
                {"name": f"pair {i}", "value": i / 2000, "reference": None} for i in range(1200)
            ],
            tables={f"heat:{a} × {b}": heat(a, b) for a, b in pairs},
        ),
        finding(
            "fidelity.triples",
            tables={
                "heat:age × sex × income": heat("age", "sex", "income"),
                "matrix:association": {
                    "columns": ["column", "other", *SERIES[:2]],
                    "rows": associations,
                },
            },
        ),
        finding(
            "utility.curves",
            unit="AUC",
            tables={
                "line:curve": {"columns": ["x", "y", "y low", "y high"], "rows": curve},
                "box": box,
                "formulas": {"columns": ["=name", "value"], "rows": [[f, 1 / 3] for f in formulas]},
            },
        ),
        finding("privacy.distances", flagged=True, tables={"histogram:distance": distances}),
        finding("attack.numbers", parts=numbers),
        finding("attack.worlds", status="failed", value=None, interval=None, note="It broke."),
    ]
    steps = ["Give more holdout rows.", "Use a larger minimum leaf."]
    failed = {"rule": "privacy.distances: at most 0.01", "measure": "privacy.distances"}
    verdicts = [{**failed, "outcome": "FAIL", "why": "the interval is [0.01, 0.02]", "next": steps}]
    sizes = {"rows": 1000, "columns": len(columns)}
    provenance = {"seed": 0, "train": sizes, "synthetic": [sizes], "holdout": sizes}
    return {"version": 1, "findings": findings, "verdicts": verdicts, "provenance": provenance}


@pytest.fixture(scope="session")
def data() -> dict[str, Any]:
    """An assessment with every kind of picture and hostile names."""
    return assessment()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Any]) -> Path:
    """The steward's edition of the report, on disk."""
    folder = tmp_path_factory.mktemp("report")
    card = {"title": "Single columns", "meaning": "What it says.", "not_shown": "The rest."}
    register = [{"training_row": i, "distance": i / 7, "agree": HOSTILE[i % 5]} for i in range(30)]
    page = html.render(data, {"fidelity.single": card}, title="Browser", register=register)
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder / "report.html"


@pytest.fixture
def visit(browser: Any, written: Path) -> Iterator[Callable[..., Any]]:
    """Open the report; whatever the page complains of or asks for fails the test."""
    contexts, troubles = [], []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("request", lambda request: troubles.append(f"request: {request.url}"))
        page.goto(written.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    allowed = {f"request: {written.as_uri()}", "request: data:,"}
    left = [t for t in troubles if t not in allowed and not t.startswith("request: blob:")]
    assert not left
