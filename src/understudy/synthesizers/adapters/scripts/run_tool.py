"""Runs a tool on a job that understudy describes; stands alone, with the tool and pandas."""

import glob
import json
import os
import random
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
    tasks: Any = {
        "sdv": (fit_sdv, sample_sdv),
        "datasynthesizer": (fit_datasynthesizer, sample_datasynthesizer),
        "mostlyai": (fit_mostlyai, sample_mostlyai),
    }
    tasks[job["tool"]][job["task"] == "sample"](job)


def place(job: Any, name: str) -> str:
    """Give the path of a file of the job."""
    return os.path.join(job["folder"], name)


def read(job: Any) -> Any:
    """Read the training table with its dates."""
    import pandas as pd

    types = {c["name"]: "str" for c in job["columns"] if c["kind"] == "category"}
    data = pd.read_csv(place(job, "train.csv"), dtype=types)
    for column in job["columns"]:
        if column["kind"] == "date":
            steps = data[column["name"]].astype("Float64") * column["microseconds"]
            data[column["name"]] = pd.to_datetime(steps.round().astype("Int64"), unit="us")
    return data


def write(job: Any, made: Any) -> None:
    """Write the table that was made, dates as steps since 1970."""
    made = made[[c["name"] for c in job["columns"]]].copy()
    for column in job["columns"]:
        if column["kind"] == "date":
            instants = made[column["name"]].astype("datetime64[us]")
            steps = instants.astype("int64") / column["microseconds"]
            made[column["name"]] = steps.where(instants.notna())
    made.to_csv(place(job, "out.csv"), index=False)


def fit_sdv(job: Any) -> None:
    """Learn, and keep the model."""
    from sdv import single_table
    from sdv.metadata import Metadata

    seed_all(job["seed"])
    kinds = {"number": "numerical", "category": "categorical", "date": "datetime"}
    data = read(job)
    for column in job["columns"]:
        if column["kind"] == "date":  # SDV misreads other units
            data[column["name"]] = data[column["name"]].astype("datetime64[ns]")
        elif column["kind"] == "category":
            data[column["name"]] = data[column["name"]].astype(object)
    sdtypes = {c["name"]: {"sdtype": kinds[c["kind"]]} for c in job["columns"]}
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": sdtypes}}})
    options = job["options"]
    epochs = {} if options["model"] == "GaussianCopula" else {"epochs": options["epochs"]}
    kind = getattr(single_table, options["model"] + "Synthesizer")
    model = kind(metadata, **{**epochs, **(options["arguments"] or {})})
    model.fit({"table": data} if takes_dicts() else data)
    model.save(place(job, "model.pkl"))


def sample_sdv(job: Any) -> None:
    """Make rows of the model that was kept."""
    import cloudpickle

    seed_all(job["seed"])
    with open(place(job, "model.pkl"), "rb") as file:
        model = cloudpickle.load(file)
    model._set_random_state(job["seed"])  # else every fresh process gives the same rows
    made = model.sample(num_rows=job["rows"])
    write(job, made["table"] if isinstance(made, dict) else made)


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


def fit_datasynthesizer(job: Any) -> None:
    """Describe the table, and keep the description.

    Dates go as whole numbers: the tool's own dates lose their histogram.
    """
    from DataSynthesizer.DataDescriber import DataDescriber

    options, columns = job["options"], job["columns"]
    describer = DataDescriber(histogram_bins=options["bins"], category_threshold=0)
    types = {
        c["name"]: "String" if c["kind"] == "category" else "Integer" if c["whole"] else "Float"
        for c in columns
    }
    told = {
        "dataset_file": place(job, "train.csv"),
        "attribute_to_datatype": types,
        "attribute_to_is_categorical": {c["name"]: c["kind"] == "category" for c in columns},
        "attribute_to_is_candidate_key": {c["name"]: False for c in columns},
        "seed": job["seed"],
    }
    if options["mode"] != "random":
        told["epsilon"] = options["tool_epsilon"]
    if options["mode"] == "random":
        describer.describe_dataset_in_random_mode(**told)
    elif options["mode"] == "independent":
        describer.describe_dataset_in_independent_attribute_mode(**told)
    else:
        describer.describe_dataset_in_correlated_attribute_mode(k=options["k"], **told)
    describer.save_dataset_description_to_file(place(job, "model.json"))


def sample_datasynthesizer(job: Any) -> None:
    """Make rows of the description that was kept."""
    from DataSynthesizer.DataGenerator import DataGenerator

    generator = DataGenerator()
    generate = {
        "random": generator.generate_dataset_in_random_mode,
        "independent": generator.generate_dataset_in_independent_mode,
        "correlated": generator.generate_dataset_in_correlated_attribute_mode,
    }[job["options"]["mode"]]
    generate(job["rows"], place(job, "model.json"), seed=job["seed"])
    made = generator.synthetic_dataset[[c["name"] for c in job["columns"]]]
    made.to_csv(place(job, "out.csv"), index=False)


def fit_mostlyai(job: Any) -> None:
    """Learn, and keep the workspace without the rows."""
    from mostlyai import engine

    engine.set_random_state(job["seed"])
    workspace = place(job, "workspace")
    engine.split(
        tgt_data=read(job),
        workspace_dir=workspace,
        model_type="TABULAR",
        tgt_encoding_types={c["name"]: TYPES[c["kind"]] for c in job["columns"]},
    )
    engine.analyze(workspace_dir=workspace)
    engine.encode(workspace_dir=workspace)
    engine.train(
        workspace_dir=workspace,
        model="MOSTLY_AI/" + job["options"]["size"],
        max_training_time=job["options"]["minutes"],
        max_epochs=job["options"]["epochs"],
    )
    for rows in ("tgt-data", "encoded-data"):
        shutil.rmtree(os.path.join(workspace, "OriginalData", rows), ignore_errors=True)


def sample_mostlyai(job: Any) -> None:
    """Make rows of the model that was kept."""
    import pandas as pd
    from mostlyai import engine

    engine.set_random_state(job["seed"])
    workspace = place(job, "workspace")
    shutil.rmtree(os.path.join(workspace, "SyntheticData"), ignore_errors=True)
    engine.generate(
        workspace_dir=workspace,
        sample_size=job["rows"],
        rare_category_replacement_method="SAMPLE",
    )
    parts = sorted(glob.glob(os.path.join(workspace, "SyntheticData", "*.parquet")))
    made = pd.concat([pd.read_parquet(part) for part in parts], ignore_index=True)
    for column in job["columns"]:
        if column["kind"] == "category":
            made[column["name"]] = made[column["name"]].where(made[column["name"]] != RARE)
    write(job, made)


if __name__ == "__main__":
    main(sys.argv[1])
