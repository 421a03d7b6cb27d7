"""Documents from outside with one thing wrong are taken, or refused with a hint; nothing else."""

import dataclasses
import io
import json
import tomllib
import warnings
from pathlib import Path

import polars as pl
import pytest

from claimant import PEOPLE
from mutations import as_json, as_toml, mutated, taken
from understudy.cli.policy import START
from understudy.data.schema import dumps, infer
from understudy.data.schema import read as read_schema
from understudy.data.tables import Marker, Table, read_marker, sidecar
from understudy.measures import MEASURES
from understudy.report import console
from understudy.synthesizers import ledger as ledgers
from understudy.synthesizers import synthesizer
from understudy.synthesizers.budget import Step
from understudy.workflows import policy
from understudy.workflows import verify as receipt
from understudy.workflows.assess import assess, markers_of
from understudy.workflows.assessment import cards

ROWS = 40
MEASURE = "fidelity.hellinger"
FRAME = pl.DataFrame(
    {
        "sex": ["f", "m"] * (ROWS // 2),
        "age": [20 + i % 30 for i in range(ROWS)],
        "pay": [100.5 + i for i in range(ROWS)],
        "born": [f"19{i % 90 + 10}-05-01" for i in range(ROWS)],
        "town": ["a", "b", "c", None] * (ROWS // 4),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    for name in ("train", "synthetic"):
        FRAME.write_csv(made / f"{name}.csv")
    return made


@pytest.fixture(params=[40, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
def most(request):
    return request.param


def counted(document, most, use):
    """Try a document as it is, which is taken, and mutations, of which some are not."""
    assert taken("as it is", use, document)
    outcomes = [taken(what, use, changed) for what, changed in mutated(document, most)]
    assert not all(outcomes)


def test_receipts(folder, most):
    files = [folder / "train.csv", folder / "synthetic.csv"]
    rules = f'[[rule]]\nmeasure = "{MEASURE}"\nupper = 1\n'
    result = assess(*files, measures=[MEASURE], seed=1)
    judged = policy.loads(rules).judge(f.to_dict() for f in result)
    result = dataclasses.replace(result, verdicts=tuple(v.to_dict() for v in judged))
    path = folder / "run.json"
    receipt.of(result, *files, policy=rules).write(path)
    document = json.loads(path.read_text())
    found = document["assessment"]["findings"][0]
    found["parts"] = found["parts"][:1]
    found["tables"] = {}

    def use(changed):
        path.write_text(as_json(changed))
        receipt.verify(path)

    counted(document, most or 3000, use)


def test_policies(most):
    rules = tomllib.loads(START)
    rules |= {"maximum_epsilon": 1.5}
    rules["rule"][0] |= {"part": "age"}
    rules["rule"][1] |= {"by": "sex", "lower": 0.5}
    finding = {"measure": "privacy.closest_record", "status": "ok", "interval": [0.4, 0.5]}

    def use(changed):
        judged = policy.loads(as_toml(changed), measures=MEASURES).judge([finding])
        policy.to_junit([verdict.to_dict() for verdict in judged])

    counted(rules, most and 10 * most, use)


def test_schemas(folder, most):
    path = folder / "schema.toml"
    schema = infer(FRAME)
    document = tomllib.loads(dumps(schema))
    document |= {"visit": ["sex", "age"], "rules": ["pay is missing where age > 90"]}
    document["constraints"] = ["age <= 60"]
    document["column"][1] |= {"method": "cart", "predictors": ["sex"]}
    document["column"][3] |= {"time_zone": "Europe/Vienna", "unit": "day"}

    def use(changed):
        path.write_text(as_toml(changed))
        known = read_schema(path)
        dumps(known)
        assess(folder / "train.csv", folder / "synthetic.csv", schema=known, measures=[MEASURE])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            synthesizer("sequential", seed=1).fit(Table.of(folder / "train.csv", known)).sample(5)

    counted(document, most, use)


def test_ledgers(folder, most):
    path, table = folder / "ledger.json", Table.of(PEOPLE)
    entry = ledgers.begin(path, table, "bayes", 0.5)
    ledgers.end(path, entry, [Step("counts", "laplace", 0.5, 1.0, 2.0)])
    ledgers.set_limit(path, 1e6)
    document = json.loads(path.read_text())

    def use(changed):
        path.write_text(as_json(changed))
        ledger = ledgers.read(path)
        json.dumps(ledger.to_dict(), allow_nan=False)
        ledger.said_of(ledgers.begin(path, table, "bayes", 0.25))

    counted(document, most and 2 * most, use)


LEAK = {
    "value": 0.01, "interval": [0.005, None], "censored": None, "bound": 0.1,
    "planted": [0.003, 0.1], "missed": False,
}  # fmt: skip


def test_calibrations(folder, most):
    path = folder / "calibration.json"
    document = {
        "understudy_calibration": 1,
        "measures": {
            "privacy.identical_matches": {
                "status": "ok", "note": "", "blind": False, "why": "",
                "false_alarms": {"alarms": 1, "runs": 20, "interval": [0.0, 0.2]},
                "kinds": {
                    "copies": {"points": [[0.1, 4, 4]], "probit": None, "smallest": LEAK},
                    "noisy": {"smallest": {**LEAK, "value": None, "censored": "above"}},
                },
            },
            "privacy.too_close": {"status": "failed", "note": "no memory"},
        },
        "provenance": {
            "understudy": "0", "method": None, "rows": {"each": 40}, "keys": ["sex"],
            "sensitive": [], "options": {"privacy.identical_matches": {}},
            "columns": {column.name: column.kind for column in infer(FRAME)},
        },
    }  # fmt: skip
    wanted = {"measures": list(document["measures"]), "holdout": folder / "train.csv"}

    def use(changed):
        path.write_text(as_json(changed))
        files = (folder / "train.csv", folder / "synthetic.csv")
        result = assess(*files, **wanted, calibration=path)
        result.to_json()
        console.show(result.to_dict(), cards(), file=io.StringIO())
        if most is None:
            result.to_html()

    counted(document, most // 4 if most else 300, use)


def test_markers(folder, most):
    file = folder / "marked.csv"
    FRAME.write_csv(file)
    marker = Marker("cart", ROWS, files=("marked.csv",), digests=("rows-1:0",), epsilon=1.0)
    document = json.loads(marker.to_json())
    for what, changed in mutated(document, most):
        text = as_json(changed)
        sidecar(file).write_text(f"<!-- understudy: {text} -->\n", encoding="utf-8")

        def use():
            (found,), doubts = markers_of(file)
            assert found is None
            assert len(doubts) == (read_marker(file) is not None)

        assert taken(what, use), "a marker is believed or not, and never an error"
