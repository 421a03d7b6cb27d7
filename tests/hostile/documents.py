"""Bad documents: receipts, policies, schemas, ledgers, calibrations, journals and models."""

import copy
import io
import json
import random
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hostile.outcome import Trial
from hostile.workshop import NATIVE, attack, calibrate

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 10**40, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "../../x", [],
    [[]], {}, {"a": {}}, ["x"] * 3, -(2**70), "9" * 6000, "1e999",
)  # fmt: skip
Place = tuple[Any, ...]


def bad_documents(folder: Path) -> Iterator[Trial]:
    """Every kind of document, spoilt in a place or as a whole."""
    receipt = ("verify", "{}")
    ledger = ("ledger", "{}")
    policy = ("assess", "train.csv", "synthetic.csv", "--measures", "fidelity.univariate")
    privacy = ("--measures", "privacy.identical_matches", "--holdout", "noisy.csv")
    calibrated = ("assess", "small.csv", "noisy.csv", *privacy, "--calibration", "{}")
    judged = (*policy, "--policy", "{}")
    schema = ("synthesize", "train.csv", "--out", "made.csv", "--method", "cart", "--schema", "{}")
    yield from _spoilt(folder, "receipts", "receipt.json", 45, receipt, (0, 1, 2))
    yield from _spoilt(folder, "ledgers", "ledger.json", 25, ledger, (0, 2))
    yield from _spoilt(folder, "calibrations", "calibration.json", 25, calibrated, (0, 2))
    yield from _spoilt(folder, "policies", "policy.toml", 30, judged, (0, 1, 2, 3))
    yield from _spoilt(folder, "schemas", "schema.toml", 40, schema, (0, 2))
    yield from _spoilt_journals(folder)


def _spoilt(
    folder: Path, kind: str, name: str, many: int, words: tuple[str, ...], status: tuple[int, ...]
) -> Iterator[Trial]:
    rng = random.Random(name)
    whole = (folder / name).read_text()
    is_toml = name.endswith(".toml")
    document = tomllib.loads(whole) if is_toml else json.loads(whole)
    write = _toml if is_toml else json.dumps
    texts = [write(_changed(document, rng)) for _ in range(many)]
    for place, text in enumerate([*texts, *_wholly(whole)]):
        spoilt = folder / f"{kind}_{place}{Path(name).suffix}"
        spoilt.write_bytes(text.encode("utf-8", errors="surrogatepass"))
        given = tuple(word.replace("{}", spoilt.name) for word in words)
        yield Trial(f"bad {kind}", spoilt.name, given, status)


def _wholly(whole: str) -> list[str]:
    """Spoil a whole text."""
    half = len(whole) // 2
    return ["", whole[:half], "[" * 50_000, "a = " * 1000, whole + whole, "\x00" * 50, "{}", "[]"]


def _changed(document: Any, rng: random.Random) -> Any:
    """Put something odd in a place, or take the place away."""
    made = copy.deepcopy(document)
    *way, last = rng.choice(list(_places(made)))
    holder = made
    for step in way:
        holder = holder[step]
    if rng.random() < 0.15:
        del holder[last]
    else:
        holder[last] = rng.choice(ODD)
    return made


def _places(value: Any, way: Place = ()) -> Iterator[Place]:
    pairs: Any = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield (*way, key)
        yield from _places(inner, (*way, key))


def _toml(document: dict[str, Any]) -> str:
    """Write TOML without any care: tables inline."""
    return "".join(f"{json.dumps(key)} = {_inline(value)}\n" for key, value in document.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool | int | str):
        return json.dumps(value, ensure_ascii=False)
    return "''" if value is None else str(value)


def _spoilt_journals(folder: Path) -> Iterator[Trial]:
    made: dict[str, Callable[[str], tuple[str, ...]]] = {
        "attack.journal": attack,
        "calibration.journal": lambda journal: calibrate("again.json", journal),
    }
    for name, words in made.items():
        rng = random.Random(name)
        lines = (folder / name).read_text().splitlines()
        entries = [place for place, line in enumerate(lines) if line.strip()]
        for number in range(14):
            spoilt = list(lines)
            place = rng.choice(entries)
            spoilt[place] = json.dumps(_changed(json.loads(spoilt[place]), rng))
            yield _journal(folder, f"{number}_{name}", "\n".join(spoilt), words)
        for number, text in enumerate(_wholly("\n".join(lines)), start=14):
            yield _journal(folder, f"{number}_{name}", text, words)


def _journal(folder: Path, name: str, text: str, words: Callable[[str], tuple[str, ...]]) -> Trial:
    (folder / name).write_bytes(text.encode("utf-8", errors="surrogatepass"))
    return Trial("bad journals", name, words(name))


def bad_models(folder: Path) -> Iterator[Trial]:
    """Models of every method with changed heads, arrays, frames and archives."""
    for method in NATIVE:
        rng = random.Random(method)
        whole = (folder / f"{method}.model").read_bytes()
        entries = _entries(whole)
        spoilt = [_archive(_spoil_entry(entries, rng)) for _ in range(14)]
        spoilt += [whole[: len(whole) // 2], whole[:-30], b"PK", whole.replace(b"model", b"medal")]
        for number, content in enumerate(spoilt):
            yield _model(folder, f"{method}_{number}.model", content)
    forged = {
        "sdv": {"python": "./tool"},
        "command": {"program": "./tool {train} {out}", "command": "./tool {train} {out}"},
        "mostlyai": {"python": "./tool"},
        "datasynthesizer": {"python": "./tool"},
        "os:system": {},
        "understudy.synthesizers.adapters.tools:Sdv": {"python": "./tool"},
    }
    tool = folder / "tool"
    tool.write_text("#!/bin/sh\ntouch ran_a_program\n")
    tool.chmod(0o755)
    for number, (method, options) in enumerate(forged.items()):
        entries = _entries((folder / "forest.model").read_bytes())
        head = json.loads(entries["model.json"])
        changed = json.dumps({**head, "method": method, "options": options}).encode()
        content = _archive({**entries, "model.json": changed})
        yield _model(folder, f"forged_{number}.model", content)
    bomb = io.BytesIO()
    np.save(bomb, np.zeros(400 << 20, np.int8))
    entries = _entries((folder / "forest.model").read_bytes())
    content = _archive({**entries, "arrays/bomb.npy": bomb.getvalue()})
    yield _model(folder, "bomb.model", content)


def _model(folder: Path, name: str, content: bytes) -> Trial:
    (folder / name).write_bytes(content)
    words = ("synthesize", "--from", name, "--out", "made.csv", "--rows", "20")
    return Trial("bad models", name, words)


def _entries(whole: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _archive(entries: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return made.getvalue()


def _spoil_entry(entries: dict[str, bytes], rng: random.Random) -> dict[str, bytes]:
    made = dict(entries)
    name = rng.choice(list(entries))
    if name == "model.json" or rng.random() < 0.25:
        head = _changed(json.loads(entries["model.json"]), rng)
        made["model.json"] = json.dumps(head).encode()
    elif rng.random() < 0.15:
        made[f"{name}x"] = made.pop(name)
    elif name.endswith(".npy"):
        buffer = io.BytesIO()
        np.save(buffer, _spoil_array(np.load(io.BytesIO(entries[name])), rng))
        made[name] = buffer.getvalue()
    else:
        changed = bytearray(entries[name])
        for _ in range(3):
            changed[rng.randrange(len(changed))] ^= rng.randrange(1, 256)
        made[name] = bytes(changed)
    return made


def _spoil_array(array: np.ndarray, rng: random.Random) -> np.ndarray:
    how = rng.randrange(6)
    if how == 0:
        return array[: array.shape[0] // 2] if array.ndim else array
    if how == 1:
        return array.astype(rng.choice([np.float64, np.int8, np.complex64, np.uint64]))
    if how == 2:
        return array.reshape(-1, 1) if array.ndim else array
    made = array.copy()
    if made.size and made.dtype.kind in "iuf":
        edge = np.iinfo(made.dtype).max if made.dtype.kind in "iu" else rng.choice([np.nan, 1e308])
        made.flat[rng.randrange(made.size)] = (
            edge if how < 5 else -1 if made.dtype.kind != "u" else 9
        )
    return made
