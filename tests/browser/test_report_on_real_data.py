"""Reports on real tables and on a wide one: they stay small, and are whole in the browser."""

import numpy as np
import polars as pl
import pytest

import understudy as us

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("reports")]  # each is written once

FIDELITY = ["fidelity.univariate", "fidelity.bivariate", "fidelity.trivariate"]
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
CUT = """[...document.querySelectorAll("svg")].filter((s) => s.getClientRects().length)
  .filter((s) => s.getBoundingClientRect().right > innerWidth + 0.5).length"""


def wide(seed, columns=200, rows=2000):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(rows, 8))
    made = {}
    for j in range(columns):
        values = shared[:, j % 8] + rng.normal(size=rows)
        kinds = (values.round(2), (values > 0).astype(str), np.floor(values).astype(int))
        made[f"column {j}"] = kinds[j % 3]
    return pl.DataFrame(made)


def sd2011(path):
    real = pl.read_csv(path, infer_schema_length=None)
    train, holdout = us.split(real, holdout=0.5, seed=1)
    synthetic = us.synthesizer("independent", seed=1).fit(train).sample(train.height)
    return train, synthetic, holdout


@pytest.fixture(scope="module", params=["adult", "SD2011", "wide"])
def report(request, tmp_path_factory):
    if request.param == "wide":
        tables, most = [wide(seed) for seed in range(3)], 6
    elif request.param == "adult":
        find = request.getfixturevalue("real_data")
        tables, most = [find(f"adult_{name}") for name in ("trn", "synthpop", "val")], 3
    else:
        tables, most = sd2011(request.getfixturevalue("real_data")("sd2011")), 3
    train, synthetic, holdout = tables
    result = us.assess(
        train, synthetic, holdout=holdout, measures=[*FIDELITY, "privacy.closest_record"]
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    result.to_html(path)
    return path, most, result


def test_report_is_small_and_whole(report, browser):
    path, most, result = report
    assert path.stat().st_size < most * 1_000_000
    for size in ({"width": 360, "height": 700}, {"width": 1280, "height": 900}):
        page = browser.new_page(viewport=size)
        troubles = []
        page.on("console", lambda message, kept=troubles: kept.append(message.text))
        page.on("pageerror", lambda error, kept=troubles: kept.append(str(error)))
        page.goto(path.as_uri())
        assert page.locator("article").count() == len(result)
        assert page.locator("figure svg").count() > 50
        page.evaluate("document.querySelectorAll('details.more').forEach(d => { d.open = true; })")
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate(CUT) == 0
        assert troubles == []
        page.close()


def test_only_the_stewards_edition_names_records(report):
    path, _, result = report
    shared, kept = path.read_text(encoding="utf-8"), result.to_html(steward=True)
    assert "training_row" not in shared
    assert ("training_row" in kept) == (result.register().height > 0)
    assert "Steward's edition: holds single records, do not share." in kept
