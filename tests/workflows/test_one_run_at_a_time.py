"""Work that is kept on disk: one run at a time has it, and says who does."""

import functools
import os
from pathlib import Path

import polars as pl
import pytest

import naughty
import understudy as us
from people import people
from understudy.errors import DataError

RULE = '[[rule]]\nmeasure = "fidelity.univariate"\nratio_to_reference = 99.0\n'
SMALL = people(330, 1).select("sex", "smoker", "children")


def attack(place, progress):
    us.attack(
        "worlds", SMALL, naughty.shuffled, release=SMALL, refits=8, workers=1,
        options={"rounds": 2, "columns": ["smoker"]}, journal=place / "journal", progress=progress,
    )  # fmt: skip


def calibrate(place, progress):
    us.calibrate(
        SMALL, measures=["privacy.identical_matches"], keys=["sex"], sensitive=["smoker"],
        budget=0.1, workers=1, journal=place / "journal", progress=progress,
    )  # fmt: skip


def benchmark(place, progress):
    us.benchmark(SMALL, methods=["bootstrap"], splits=1, out=place, progress=progress)


def release(place, progress):
    (place / "policy.toml").write_text(RULE)
    us.release(
        SMALL, place / "policy.toml", place / "out", method="independent",
        measures=["fidelity.univariate"], progress=progress,
    )  # fmt: skip


@pytest.mark.parametrize("work", [attack, calibrate, benchmark, release])
def test_another_run_is_told_who_has_it(work, tmp_path):
    def interrupt(label, done, total):
        if label != "choosing the record":
            work(tmp_path, lambda *step: None)

    with pytest.raises(DataError, match="another run is at work on it") as caught:
        work(tmp_path, interrupt)
    told = str(caught.value)
    assert "wait until it has ended, or name another f" in told
    if Path("/proc/locks").is_file():
        assert f"at work on it (process {os.getpid()})" in told


def test_a_data_value_does_not_keep_an_attack_in_this_process(tmp_path):
    rows = pl.DataFrame({"__main__": ["__main__", "x"] * 20, "y": [*["n"] * 39, "__main__"]})
    fit = functools.partial(naughty.signed, folder=str(tmp_path))
    us.attack(
        "worlds", rows, fit, release=rows, refits=8, workers=1,
        options={"rounds": 2, "columns": ["y"]},
    )  # fmt: skip
    processes = {path.name for path in tmp_path.iterdir()}
    assert processes
    assert str(os.getpid()) not in processes
