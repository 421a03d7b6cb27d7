"""Runs mostlyai-engine on a job that understudy describes; stands alone, with it and pandas."""

import glob
import json
import os
import shutil
import sys
from typing import Any

TYPES = {
    "number": "TABULAR_NUMERIC_AUTO",
    "category": "TABULAR_CATEGORICAL",
    "date": "TABULAR_DATETIME",
}
RARE = "_RARE_"


def main(path: str) -> None:
    """Do the job."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    {"fit": fit, "sample": sample}[job["task"]](job)


def fit(job: Any) -> None:
    """Learn, and keep the workspace without the rows."""
    import pandas as pd
    from mostlyai import engine

    engine.set_random_state(job["seed"])
    types = {c["name"]: "str" for c in job["columns"] if c["kind"] == "category"}
    data = pd.read_csv(os.path.join(job["folder"], "train.csv"), dtype=types)
    for column in job["columns"]:
        if column["kind"] == "date":
            steps = data[column["name"]].astype("Float64") * column["microseconds"]
            data[column["name"]] = pd.to_datetime(steps.round().astype("Int64"), unit="us")
    place = workspace(job)
    engine.split(
        tgt_data=data,
        workspace_dir=place,
        model_type="TABULAR",
        tgt_encoding_types={c["name"]: TYPES[c["kind"]] for c in job["columns"]},
    )
    engine.analyze(workspace_dir=place)
    engine.encode(workspace_dir=place)
    engine.train(
        workspace_dir=place,
        model="MOSTLY_AI/" + job["options"]["size"],
        max_training_time=job["options"]["minutes"],
        max_epochs=job["options"]["epochs"],
    )
    for rows in ("tgt-data", "encoded-data"):
        shutil.rmtree(os.path.join(place, "OriginalData", rows), ignore_errors=True)


def sample(job: Any) -> None:
    """Make rows of the model that was kept."""
    import pandas as pd
    from mostlyai import engine

    engine.set_random_state(job["seed"])
    place = workspace(job)
    shutil.rmtree(os.path.join(place, "SyntheticData"), ignore_errors=True)
    engine.generate(
        workspace_dir=place,
        sample_size=job["rows"],
        rare_category_replacement_method="SAMPLE",
    )
    parts = sorted(glob.glob(os.path.join(place, "SyntheticData", "*.parquet")))
    made = pd.concat([pd.read_parquet(part) for part in parts], ignore_index=True)
    made = made[[c["name"] for c in job["columns"]]]
    for column in job["columns"]:
        name = column["name"]
        if column["kind"] == "date":
            instants = made[name].astype("datetime64[us]")
            steps = instants.astype("int64") / column["microseconds"]
            made[name] = steps.where(instants.notna())
        elif column["kind"] == "category":
            made[name] = made[name].where(made[name] != RARE)
    made.to_csv(os.path.join(job["folder"], "out.csv"), index=False)


def workspace(job: Any) -> str:
    """Name the folder in which the engine keeps what it learns."""
    return os.path.join(job["folder"], "workspace")


if __name__ == "__main__":
    main(sys.argv[1])
