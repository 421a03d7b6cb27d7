"""Runs SDV on a job that understudy describes; stands alone, with SDV and pandas."""

import json
import os
import random
import sys
from typing import Any


def main(path: str) -> None:
    """Do the job."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    {"fit": fit, "sample": sample}[job["task"]](job)


def fit(job: Any) -> None:
    """Learn, and keep the model."""
    import pandas as pd
    from sdv import single_table
    from sdv.metadata import Metadata

    seed_all(job["seed"])
    kinds = {"number": "numerical", "category": "categorical", "date": "datetime"}
    types = {c["name"]: "str" for c in job["columns"] if c["kind"] == "category"}
    data = pd.read_csv(os.path.join(job["folder"], "train.csv"), dtype=types)
    for column in job["columns"]:
        if column["kind"] == "date":
            steps = data[column["name"]].astype("Float64") * column["microseconds"]
            dates = pd.to_datetime(steps.round().astype("Int64"), unit="us")
            data[column["name"]] = dates.astype("datetime64[ns]")  # SDV misreads other units
        elif column["kind"] == "category":
            data[column["name"]] = data[column["name"]].astype(object)
    sdtypes = {c["name"]: {"sdtype": kinds[c["kind"]]} for c in job["columns"]}
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": sdtypes}}})
    kind = getattr(single_table, job["options"]["model"] + "Synthesizer")
    model = kind(metadata, **job["options"]["arguments"])
    model.fit({"table": data} if takes_dicts() else data)
    model.save(os.path.join(job["folder"], "model.pkl"))


def sample(job: Any) -> None:
    """Make rows of the model that was kept."""
    import cloudpickle

    seed_all(job["seed"])
    with open(os.path.join(job["folder"], "model.pkl"), "rb") as file:
        model = cloudpickle.load(file)
    model._set_random_state(job["seed"])  # else every fresh process gives the same rows
    made = model.sample(num_rows=job["rows"])
    made = made["table"] if isinstance(made, dict) else made
    for column in job["columns"]:
        if column["kind"] == "date":
            instants = made[column["name"]].astype("datetime64[us]")
            steps = instants.astype("int64") / column["microseconds"]
            made[column["name"]] = steps.where(instants.notna())
    made = made[[c["name"] for c in job["columns"]]]
    made.to_csv(os.path.join(job["folder"], "out.csv"), index=False)


def takes_dicts() -> bool:
    """Tell whether this SDV takes a dict of tables (2.0 and later) or one table."""
    import sdv

    return int(sdv.__version__.split(".")[0]) >= 2


def seed_all(seed: int) -> None:
    """Seed whatever draws."""
    import numpy as np

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the tool draws from it
    try:
        import torch
    except ImportError:
        return
    torch.manual_seed(seed)


if __name__ == "__main__":
    main(sys.argv[1])
