"""Disclosure on adult and Insurance; linking and singling out against anonymeter.

``UNDERSTUDY_ANONYMETER`` names the Python of an environment in which anonymeter is installed
(``python -m venv DIR`` and ``DIR/bin/pip install anonymeter``, outside this repository). Without
it our own times are given and the comparison is left out.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
from measuring import cpu

from understudy.data.datasets import dataset
from understudy.judging.comparison import Comparison, compare_tables
from understudy.judging.findings import Finding
from understudy.measures import MEASURES
from understudy.workflows.measuring import run_measure as measured

ATTACKS = 2000
SOME = 60  # anonymeter takes minutes for more of them
TABLES = ("adult_trn", "adult_mostly", "adult_val")
KEYS = ("age", "sex", "race", "marital-status", "native-country")
PEER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from anonymeter.evaluators import LinkabilityEvaluator, SinglingOutEvaluator

train, synthetic, holdout = (pd.read_csv(path) for path in sys.argv[1:4])
attacks, some = int(sys.argv[4]), int(sys.argv[5])
names = list(train.columns)
tables = {"ori": train, "syn": synthetic, "control": holdout}

def link(many):
    aux = (names[:7], names[7:])
    LinkabilityEvaluator(n_attacks=many, aux_cols=aux, **tables).evaluate(n_jobs=1)

def single(many, mode):
    SinglingOutEvaluator(n_attacks=many, n_cols=3, seed=1, **tables).evaluate(mode=mode)

def cpu(work, *arguments):
    start = time.process_time()
    work(*arguments)
    return time.process_time() - start

link(5)
print(json.dumps({
    "link": cpu(link, attacks),
    "univariate": cpu(single, attacks, "univariate"),
    "multivariate": cpu(single, some, "multivariate"),
}))
"""


def run() -> Iterator[tuple[str, str, str]]:
    peer = anonymeter()
    names = compared().names
    link = timed("privacy.linkability", keys=names[:7], attacks=ATTACKS)
    yield (
        f"linkability, adult 24,421 + 24,421 persons × 50,000, {ATTACKS:,} attacks a side",
        f"{link:.2f} CPU s; " + against(peer, lambda p: p["link"], link),
        "≥ 50 ×",
    )
    everybody = timed("privacy.linkability", keys=names[:7])
    yield "… every person attacked", f"{everybody:.2f} CPU s", ""
    single = timed("privacy.singling_out", attacks=ATTACKS)
    yield (
        f"singling out, adult, {ATTACKS:,} univariate and {ATTACKS:,} multivariate predicates",
        f"{single:.2f} CPU s; {against(peer, both, single)} (its multivariate predicates timed on "
        f"{SOME} and scaled up), {against(peer, lambda p: p['univariate'], single)} at its "
        "univariate ones alone",
        "≥ 10 ×",
    )
    for name in ("replicated_uniques", "attribute_disclosure", "correct_attribution"):
        roles = {"keys": KEYS, "sensitive": ("occupation",)}
        yield f"privacy.{name}, adult", f"{timed(f'privacy.{name}', **roles):.2f} CPU s", "< 1 s"
    radius = timed(
        "privacy.radius_attribution",
        keys=("age", "sex", "children", "smoker", "region"),
        sensitive=("bmi",),
        tables=insurance(),
        length=3,
    )
    yield "radius attribution, Insurance, ten sets of keys", f"{radius:.2f} CPU s", "< 2 s"
    yield "match rate, adult, 5 aligned replicates, every person a target", matching(), "< 1 s"


def both(peer: dict[str, float]) -> float:
    return peer["univariate"] + peer["multivariate"] * ATTACKS / SOME


def against(
    peer: dict[str, float] | None, of: Callable[[dict[str, float]], float], ours: float
) -> str:
    return "no anonymeter here" if peer is None else f"{of(peer) / ours:.0f} × anonymeter"


def anonymeter() -> dict[str, float] | None:
    """Run anonymeter in its own environment; none where there is no such environment."""
    python = os.environ.get("UNDERSTUDY_ANONYMETER")
    if not python:
        return None
    paths = [str(dataset(name).path()) for name in TABLES]
    given = [python, "-c", PEER, *paths, str(ATTACKS), str(SOME)]
    # one thread: idle ones would count as processor time
    alone = {**os.environ, "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(given, capture_output=True, text=True, check=True, env=alone)
    made: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return made


def compared(tables: tuple[Any, ...] = (), **more: object) -> Comparison:
    return compare_tables(*(tables or (dataset(name).path() for name in TABLES)), **more)


def insurance() -> tuple[Any, Any, Any]:
    """Give three thirds of Insurance: training, release, holdout."""
    rows = pl.read_csv(dataset("insurance").path()).sample(fraction=1, shuffle=True, seed=1)
    third = rows.height // 3
    return rows[:third], rows[third : 2 * third], rows[2 * third : 3 * third]


def timed(
    name: str,
    keys: tuple[str, ...] = (),
    sensitive: tuple[str, ...] = (),
    tables: tuple[Any, ...] = (),
    **options: int,
) -> float:
    """Give the processor time of a measure, with nothing kept from before."""

    def once() -> float:
        comparison = compared(tables, keys=keys, sensitive=sensitive, options={name: options})
        found: list[Finding] = []
        taken = cpu(lambda: found.append(measured(MEASURES[name], comparison)), 1)
        if found[0].status != "ok":
            raise RuntimeError(found[0].note)
        return taken

    once()
    return min(once() for _ in range(3))


def matching() -> str:
    train = pl.read_csv(dataset("adult_trn").path())
    keys = ("age", "sex", "race", "education")
    made = [train.with_columns(pl.col("age", "education").shuffle(seed)) for seed in range(5)]
    options = {"privacy.match_rate": {"tolerance": "age=2"}}

    def once() -> float:
        comparison = compare_tables(train, made, keys=keys, aligned=True, options=options)
        return cpu(lambda: measured(MEASURES["privacy.match_rate"], comparison), 1)

    once()
    return f"{min(once() for _ in range(3)):.2f} CPU s"
