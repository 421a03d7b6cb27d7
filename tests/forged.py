"""Model files that somebody has changed: real ones, forged so that the archive itself is whole."""

import io
import json
import signal
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from people import people
from understudy.data.schema import dumps, infer, loads

SECONDS = 20  # for one file, after which it hangs
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "independent": ("independent", {}),
    "bootstrap": ("bootstrap", {}),
    "flip": ("flip", {}),
    "corrupt": ("corrupt", {"base": "forest", "share": 0.5}),
    "cart": ("cart", {}),
    "sample": ("sequential", {"method": "sample"}),
    "linear": ("sequential", {"method": "linear"}),
    "tree": ("sequential", {"method": "tree", "classes": True}),
    "random_forest": ("sequential", {"method": "random_forest", "trees": 2}),
    "neural": ("sequential", {"method": "neural", "hidden": (4, 4)}),
    "boost": ("sequential", {"method": "boost", "rounds": 2}),
    "pmm": ("sequential", {"method": "pmm"}),
    "forest": ("forest", {"trees": 3, "smooth": 0}),
    "smooth": ("forest", {}),
    "copula": ("copula", {}),
    "bayes": ("bayes", {}),
    "epsilon": ("bayes", {"epsilon": 50.0}),
    "held": ("bootstrap", {}),
    "rules": (
        "sequential",
        {"rules": ("children is 0 where smoker == 'true'",), "visit": ("smoker",)},
    ),
}
CONSTRAINTS = ("together sex, children", "unique person_id", "age <= 200")
CHILD = """
    import json, signal, sys, warnings
    import understudy as us
    from understudy.errors import DataError, OptionError
    warnings.simplefilter("ignore")
    for path in json.load(sys.stdin)["paths"]:
        signal.alarm(int(sys.argv[1]))
        try:
            made = us.load(path).sample(5)
            outcome = "rows" if made.height == 5 else f"{made.height} rows"
        except (DataError, OptionError) as error:
            whole = error.hint and "\\n" not in error.message
            outcome = "refused" if whole else f"a message without a hint: {error}"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        print(json.dumps([path, outcome]), flush=True)
"""


def table(rows: int) -> pl.DataFrame:
    """Give people with a second number that follows the first, and children as rules have it."""
    made, rng = people(rows, 1), np.random.default_rng(2)
    later = pl.col("income").fill_null(9_000) + pl.Series(rng.normal(0, 500, rows)).round(2)
    none = pl.when("smoker").then(0).otherwise("children").alias("children")
    return made.with_columns(later.alias("later"), none)


def declared(frame: pl.DataFrame) -> us.Schema:
    """Give a schema all of which a person declares, as epsilon needs it."""
    text = dumps(infer(frame))
    lines = [line for line in text.splitlines() if not line.startswith("inferred")]
    return loads("\n".join(lines))


def save(name: str, folder: Path, rows: int) -> Path:
    """Fit one of the models, and save it."""
    method, options = MODELS[name]
    frame, more = table(rows), {}
    if name == "epsilon":
        frame = frame.drop("person_id", "nothing")
        more = {"schema": declared(frame)}
    made = us.synthesizer(
        method, seed=1 if name != "epsilon" else None,
        constraints=CONSTRAINTS if name == "held" else (), **options,
    )  # fmt: skip
    made.tell = lambda text: None
    path = folder / f"{name}.model"
    made.fit(frame, **more).save(path)
    return path


def members(path: Path) -> dict[str, bytes]:
    """Read what an archive holds."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path: Path, content: dict[str, bytes]) -> Path:
    """Write an archive, its checksums right."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def array_bytes(array: np.ndarray) -> bytes:
    """Write an array as model files do."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def with_head(model: Path, path: Path, **head: Any) -> Path:
    """Forge the head of a model file."""
    content = members(model)
    content["model.json"] = json.dumps({**json.loads(content["model.json"]), **head}).encode()
    return write(path, content)


def forgeries(model: Path, folder: Path, many: int, seed: int) -> Iterator[Path]:
    """Forge a model file in many ways, the same ones for a seed."""
    rng, whole = np.random.default_rng(seed), members(model)
    for number in range(many):
        content = dict(whole)
        names = [name for name in content if name != "model.json"]
        what = "head" if not names or rng.random() < 0.25 else str(rng.choice(names))
        if what == "head":
            content["model.json"] = _forged_head(content["model.json"], rng)
        elif rng.random() < 0.1:
            data = content.pop(what)
            if rng.random() < 0.5:
                content[str(rng.choice(names)) if rng.random() < 0.5 else what + "x"] = data
        elif what.startswith("arrays/"):
            content[what] = _forged_array(content[what], rng)
        else:
            content[what] = _forged_frame(content[what], rng)
        yield write(folder / f"{model.stem}-{number}.model", content)


def _forged_array(data: bytes, rng: np.random.Generator) -> bytes:
    with np.errstate(all="ignore"):
        return _changed(data, np.load(io.BytesIO(data)), rng)


def _changed(data: bytes, array: np.ndarray, rng: np.random.Generator) -> bytes:
    kind = rng.integers(7)
    if kind == 0:  # bytes
        raw = bytearray(data)
        for place in rng.integers(0, len(raw), 3):
            raw[place] = rng.integers(256)
        return bytes(raw)
    if kind == 1:
        return array_bytes(array.astype(rng.choice(["i1", "i8", "f4", "f8", "u2", ">i4", "c16"])))
    if kind == 2:
        flat = array.reshape(-1)
        shapes = [flat[:0], flat[: array.size // 2], array[None], np.tile(array, 2)]
        return array_bytes(shapes[rng.integers(4)])
    if kind == 3 and array.ndim == 2:
        return array_bytes(array.T.copy() if rng.random() < 0.5 else array[:, :-1].copy())
    if kind == 4:
        return array_bytes(rng.permutation(array.reshape(-1)).reshape(array.shape))
    changed = array.copy().reshape(-1)
    if not changed.size:
        return array_bytes(np.ones(3, array.dtype))
    if array.dtype.kind == "f":
        values = [np.nan, np.inf, -1.0, 1e300, -1e9, 0.0, 7.5]
    elif array.dtype.kind == "b":
        values = [True, False]
    else:
        info = np.iinfo(array.dtype)
        values = [info.min, info.max, 0, 1, min(info.max, 300), min(info.max, 70_000)]
        values += [-1, -2] if array.dtype.kind == "i" else []
    for place in rng.integers(0, changed.size, 1 + rng.integers(3)):
        changed[place] = np.asarray(rng.choice(values)).astype(array.dtype)
    if kind == 5:
        changed[:] = changed[rng.integers(changed.size)]
    return array_bytes(changed.reshape(array.shape))


def _forged_frame(data: bytes, rng: np.random.Generator) -> bytes:
    kind = rng.integers(4)
    if kind == 0:
        raw = bytearray(data)
        for place in rng.integers(0, len(raw), 4):
            raw[place] = rng.integers(256)
        return bytes(raw)
    frame = pl.read_ipc(io.BytesIO(data))
    if kind == 1:
        frame = frame[:, : frame.width // 2] if rng.random() < 0.5 else frame[:0]
    elif kind == 2:
        frame = frame.rename({frame.columns[0]: "other"})
    else:
        name = str(rng.choice(frame.columns))
        other = [pl.lit(None), pl.lit("x"), pl.lit(1e300), pl.lit([1, 2]), pl.lit(b"x")]
        frame = frame.with_columns(other[rng.integers(5)].alias(name))
    buffer = io.BytesIO()
    frame.write_ipc(buffer)
    return buffer.getvalue()


WRONG = [None, -1, 10**9, 10**21, 2.5, "x", "", "../x", [], {}, [None], [10**9], True, [["a"]]]


def _forged_head(data: bytes, rng: np.random.Generator) -> bytes:
    """Change one value somewhere in the head."""
    document = json.loads(data)
    places = list(_places(document))
    inside, key = places[rng.integers(len(places))]
    if rng.random() < 0.15:
        del inside[key]
    else:
        inside[key] = WRONG[rng.integers(len(WRONG))]
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield value, key
        if isinstance(inner, dict | list):
            yield from _places(inner)


def outcomes(paths: list[Path]) -> dict[str, str]:
    """Load each file and sample 5 rows, in a process of its own; say what became of each."""
    found: dict[str, str] = {}
    waiting = [str(path) for path in paths]
    while waiting:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(CHILD), str(SECONDS)],
            input=json.dumps({"paths": waiting}),
            capture_output=True,
            text=True,
            check=False,
        )
        told = [json.loads(line) for line in done.stdout.splitlines()]
        found |= dict(told)
        if len(told) < len(waiting):
            died = waiting[len(told)]
            how = signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr
            found[died] = f"the process died: {how}"
        waiting = waiting[len(told) + 1 :]
    return found


def faults(paths: list[Path]) -> list[str]:
    """Give what is neither rows nor a message with a hint."""
    return [
        f"{Path(path).name}: {outcome}"
        for path, outcome in outcomes(paths).items()
        if outcome not in ("rows", "refused")
    ]
