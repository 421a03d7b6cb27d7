"""The plan of a release: everything that its results follow from, and whether it was begun."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from understudy.data.tables import write_text
from understudy.documents import check_form, read_json
from understudy.errors import DataError, OptionError
from understudy.jobs.temporary import HIDDEN
from understudy.workflows.provenance import versions

VERSION = 1
KEY_BYTES = 32
FILE = "plan.json"
OWN = ("understudy_release", "keep", "key", "path", "steward")
KEEP = (
    "For the steward alone: with the seed, anybody could make the release again from a guessed "
    "table, and so confirm the guess."
)


def digest(frame: pl.DataFrame, key: bytes) -> str:
    """Give a keyed hash of a whole table, left-out columns included."""
    keyed = hmac.new(key, repr(frame.schema).encode(), hashlib.sha256)
    keyed.update(frame.hash_rows().to_numpy().tobytes())
    return keyed.hexdigest()


def make(
    frame: pl.DataFrame, path: str | None, asked: Mapping[str, Any], begun: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Make the plan; the key, and a seed that nobody chose, are those of a run begun before."""
    key = bytes.fromhex(begun["key"]) if begun else secrets.token_bytes(KEY_BYTES)
    seed = asked["seed"]
    if seed is None:
        seed = begun["seed"] if begun else secrets.randbits(32)
    plan = {
        "understudy_release": VERSION,
        "keep": KEEP,
        "key": key.hex(),
        "path": path,
        "real_table": digest(frame, key),
        **asked,
        "seed": seed,
        "versions": versions(),
    }
    try:
        made: dict[str, Any] = json.loads(json.dumps(plan, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"an option is no plain value: {error}", hint="use numbers, texts and lists of them"
        ) from error
    return made


def write(plan: Mapping[str, Any], folder: Path) -> None:
    """Write the plan into its folder."""
    text = json.dumps(plan, indent=1, ensure_ascii=False) + "\n"
    write_text(text, folder / FILE, for_owner=True)


def read(folder: Path) -> dict[str, Any] | None:
    """Read the plan of a folder; none, if the folder is not there or nothing was begun in it."""
    if not os.path.lexists(folder):
        return None
    if folder.is_dir() and all(entry.name.startswith(HIDDEN) for entry in folder.iterdir()):
        return None
    try:
        plan: dict[str, Any] = read_json(folder / FILE, "plan", "")
        check_form(plan, {"understudy_release": int, "key": str, "seed": int})
        if plan["understudy_release"] != VERSION or plan["seed"] < 0:
            raise ValueError(f"version {plan['understudy_release']}, seed {plan['seed']}")
        if len(bytes.fromhex(plan["key"])) != KEY_BYTES:
            raise ValueError("its key is cut off")
    except (DataError, ValueError) as error:
        raise DataError(
            f"{folder} is there, but is no release of this version",
            hint="move it away, or name another folder (--out)",
        ) from error
    return plan


def others(plan: Mapping[str, Any], begun: Mapping[str, Any]) -> list[str]:
    """Name what a plan asks for otherwise than the one begun."""
    names: Iterable[str] = dict.fromkeys([*plan, *begun])
    return [name for name in names if name not in OWN and plan.get(name) != begun.get(name)]
