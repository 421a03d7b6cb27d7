"""Runs DataSynthesizer on a job that understudy describes; stands alone, with it and pandas."""

import json
import os
import sys
from typing import Any


def main(path: str) -> None:
    """Do the job."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    {"fit": fit, "sample": sample}[job["task"]](job)


def fit(job: Any) -> None:
    """Describe the table, and keep the description.

    Dates go as whole numbers: the tool's own dates lose their histogram.
    """
    from DataSynthesizer.DataDescriber import DataDescriber

    options = job["options"]
    describer = DataDescriber(histogram_bins=options["bins"], category_threshold=0)
    names = [c["name"] for c in job["columns"]]
    categories = {c["name"]: c["kind"] == "category" for c in job["columns"]}
    told = {
        "dataset_file": os.path.join(job["folder"], "train.csv"),
        "attribute_to_datatype": {c["name"]: datatype(c) for c in job["columns"]},
        "attribute_to_is_categorical": categories,
        "attribute_to_is_candidate_key": dict.fromkeys(names, False),
        "seed": job["seed"],
    }
    if options["mode"] == "random":
        describer.describe_dataset_in_random_mode(**told)
    elif options["mode"] == "independent":
        describer.describe_dataset_in_independent_attribute_mode(epsilon=options["epsilon"], **told)
    else:
        describer.describe_dataset_in_correlated_attribute_mode(
            k=options["k"], epsilon=options["epsilon"], **told
        )
    describer.save_dataset_description_to_file(os.path.join(job["folder"], "model.json"))


def datatype(column: Any) -> str:
    """Give the tool's word for a kind."""
    if column["kind"] == "category":
        return "String"
    return "Integer" if column["whole"] else "Float"


def sample(job: Any) -> None:
    """Make rows of the description that was kept."""
    from DataSynthesizer.DataGenerator import DataGenerator

    generator = DataGenerator()
    generate = {
        "random": generator.generate_dataset_in_random_mode,
        "independent": generator.generate_dataset_in_independent_mode,
        "correlated": generator.generate_dataset_in_correlated_attribute_mode,
    }[job["options"]["mode"]]
    generate(job["rows"], os.path.join(job["folder"], "model.json"), seed=job["seed"])
    made = generator.synthetic_dataset[[c["name"] for c in job["columns"]]]
    made.to_csv(os.path.join(job["folder"], "out.csv"), index=False)


if __name__ == "__main__":
    main(sys.argv[1])
