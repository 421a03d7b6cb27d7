"""The authors' procedure in plain pandas: slow, and independent of the package."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

WAYS = {1: 100, 2: 10, 3: 5}


def read(
    folder: Path, name: str, generator: str
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Training, holdout, queries; columns that are categories in training stay text."""
    training = pd.read_csv(folder / f"{name}_trn.csv")
    texts = {c: str for c in training if not pd.api.types.is_numeric_dtype(training[c])}
    files = ("trn", "val", generator)
    frames = [pd.read_csv(folder / f"{name}_{file}.csv", dtype=texts) for file in files]
    return frames[0], frames[1][list(training)], frames[2][list(training)]


def numeric(frame: pd.DataFrame) -> list[str]:
    return [c for c in frame if pd.api.types.is_numeric_dtype(frame[c])]


def numbers(series: pd.Series) -> pd.Series:
    return pd.to_numeric(series, errors="coerce").astype(float)


def binned(training: pd.DataFrame, other: pd.DataFrame, most: int) -> list[pd.DataFrame]:
    made = [pd.DataFrame(index=frame.index) for frame in (training, other)]
    for column in training:
        if column in numeric(training):
            values = numbers(training[column])
            breaks = values.quantile(np.linspace(0, 1, most + 1)).dropna().unique()
            for frame, out in zip((training, other), made, strict=True):
                x = numbers(frame[column])
                label = pd.Series(["nan"] * len(x), index=x.index, dtype=object)
                if len(breaks) > 1:
                    codes = pd.cut(x, bins=breaks, include_lowest=True).cat.codes
                    label = codes.map(lambda code: "nan" if code < 0 else str(code)).astype(object)
                if len(breaks):
                    label[(x < breaks.min()) | (x > breaks.max())] = "_other_"
                out[column] = label
        else:
            for frame, out in zip((training, other), made, strict=True):
                out[column] = frame[column].astype(object).where(frame[column].notna(), "nan")
        top = made[0][column].value_counts().head(most).index
        for out in made:
            out[column] = out[column].where(out[column].isin(top), "_other_")
    return made


def fidelity(training: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    found = {}
    for ways, most in WAYS.items():
        a, b = binned(training, other, most)
        distances = []
        for columns in combinations(training.columns, ways):
            p, q = (frame[list(columns)].value_counts(normalize=True) for frame in (a, b))
            distances.append(p.sub(q, fill_value=0).abs().sum() / 2)
        found[f"f{ways}"] = float(np.mean(distances))
    return found


def closest(
    training: pd.DataFrame, holdout: pd.DataFrame, queries: pd.DataFrame, itself: bool
) -> dict[str, float]:
    frames = [training, holdout, queries]
    together = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    codes = np.empty(together.shape, int)
    for position, column in enumerate(together):
        values = together[column]
        if column in numeric(training):
            values = pd.concat([numbers(frame[column]) for frame in frames], ignore_index=True)
            if values.notna().any():
                values = pd.qcut(values, q=100, duplicates="drop").cat.codes
        codes[:, position] = pd.factorize(values, use_na_sentinel=True)[0]
    ends = np.cumsum([len(frame) for frame in frames])
    real, held, asked = np.split(codes, ends[:-1])
    to_real = np.sort((asked[:, None] != real[None]).sum(axis=2), axis=1)[:, 0]
    to_held = np.sort((asked[:, None] != held[None]).sum(axis=2), axis=1)[:, int(itself)]
    share = len(training) / (len(training) + len(holdout))
    return {
        "share": np.mean(to_real < to_held) + share * np.mean(to_real == to_held),
        "n_closer": int(np.sum(to_real < to_held)),
        "n_further": int(np.sum(to_real > to_held)),
        "n_equal": int(np.sum(to_real == to_held)),
        "distance_training": to_real.mean(),
        "distance_holdout": to_held.mean(),
    }
