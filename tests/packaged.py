"""Tables that come with a library that the tests need anyway, or with a published figure."""

import importlib.util
from functools import cache
from pathlib import Path

import polars as pl

from understudy.studies.published import expected


def inside(library: str, path: str) -> Path:
    """Find a file inside an installed library."""
    found = importlib.util.find_spec(library)
    assert found is not None, f"{library} is not installed"
    return Path(str(found.origin)).parent / path


@cache
def randhie() -> pl.DataFrame:
    """20,190 records of the RAND health insurance experiment: few values, many equal rows."""
    path = inside("statsmodels", "datasets/randhie/randhie.csv")
    return pl.read_csv(path, infer_schema_length=None)


@cache
def voters() -> pl.DataFrame:
    """944 voters of 1996, asked for their views: ten columns, hardly two rows alike."""
    path = inside("statsmodels", "datasets/anes96/anes96.csv")
    return pl.read_csv(path, separator="\t", quote_char="'")


@cache
def patients() -> pl.DataFrame:
    """442 diabetes patients: age, sex, bmi, blood pressure and six measurements of the blood."""
    path = inside("sklearn", "datasets/data/diabetes_data_raw.csv.gz")
    names = ["age", "sex", "bmi", "pressure", *(f"s{i}" for i in range(1, 7))]
    return pl.read_csv(path, separator=" ", has_header=False, new_columns=names)


@cache
def simulated() -> pl.DataFrame:
    """The simulated data of Latner et al., written out from Table A.1: one record 1111 of 1,000."""
    counts = expected("latner2025")["tables"]["Table A.1"]
    rows = [list(map(int, row)) for row in sorted(counts) for _ in range(int(counts[row]["0"]))]
    return pl.DataFrame(rows, schema=[f"var{i}" for i in range(1, 5)], orient="row")
