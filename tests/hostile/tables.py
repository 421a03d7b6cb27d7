"""Bad tables: files that are none, names and cells that mean harm, options out of all bounds."""

import gzip
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from hostile.outcome import Trial
from hostile.workshop import column

HEAD = b"sex,age,income\n"
LINE = b"f,31,100.5\n"

TEXTS: dict[str, bytes] = {
    "empty.csv": b"",
    "blank.csv": b"\n\n\n",
    "header.csv": HEAD,
    "open_quote.csv": HEAD + LINE * 20 + b'f,"31,100\n' + LINE * 20,
    "quote_inside.csv": HEAD + LINE * 20 + b'f,3"1",1"00\n' + LINE * 20,
    "short_line.csv": HEAD + LINE * 20 + b"f,31\n" + LINE * 20,
    "long_line.csv": HEAD + LINE * 20 + b"f,31,1,2,3\n" + LINE * 20,
    "lone_return.csv": HEAD + LINE * 20 + b"f,3\r1,100\n\n\n" + LINE * 20 + b"\n",
    "only_returns.csv": (HEAD + LINE * 30).replace(b"\n", b"\r"),
    "mixed_ends.csv": HEAD + (LINE + LINE.replace(b"\n", b"\r\n")) * 20,
    "nul.csv": HEAD + LINE * 20 + b"f,\x00,1\n" + LINE * 20,
    "latin.csv": HEAD + LINE * 20 + b"\xe4,1,1\n",
    "utf16.csv": (HEAD + LINE * 20).decode().encode("utf-16"),
    "mark.csv": b"\xef\xbb\xbf" + HEAD + LINE * 40,
    "twice.csv": b"sex,sex,age\n" + LINE * 40,
    "unnamed.csv": b",,\n" + LINE * 40,
    "binary.csv": bytes(range(256)) * 40,
    "one_line.csv": b"x" * 2_000_000,
    "long_cell.csv": HEAD + LINE * 20 + b"f,1," + b"9" * 200_000 + b"\n\n" + LINE * 20,
    "commas.csv": b"," * 5000 + b"\n" + b"," * 5000 + b"\n",
    "semicolons.csv": b"sex;age;income\n" + b"f;31;1.234,50\n" * 40,
    "currency.csv": HEAD + b'f,31,"$1,234.00"\n' * 40,
    "years.csv": HEAD + b"f,31,0000-01-01\nm,22,99999-12-31\nf,2,-0001-05-05\n" * 15,
    "huge_numbers.csv": HEAD + b"f,31,1e400\nm,2,-1e999\nf,3,inf\nm,4,nan\n" * 10,
    "formulas.csv": HEAD + b"f,=1+1,@SUM(A1)\nm,=cmd|'/C calc'!A0,+1\n" * 20,
    "escapes.csv": HEAD + b"f,\x1b[2J\x1b]0;x\x07,<script>alert(1)</script>\nm,2,3\n" * 20,
    "not_a.parquet": b"PAR1" + b"\x00" * 100 + b"PAR1",
    "not_an.arrow": b"ARROW1\x00\x00" + b"\xff" * 100,
    "not_an.xlsx": b"PK\x03\x04" + b"\x00" * 100,
    "not_a.csv.gz": b"\x1f\x8b" + b"\x00" * 30,
    "words.exe": LINE,
    "no_extension": HEAD + LINE,
}
READERS: tuple[tuple[str, ...], ...] = (
    ("schema", "{}"),
    ("synthesize", "{}", "--out", "made.csv", "--method", "cart", "--rows", "5"),
    ("assess", "train.csv", "{}", "--measures", "fidelity.univariate"),
)
OTHERS: tuple[tuple[str, ...], ...] = (
    ("keys", "{}", "--budget", "1"),
    ("split", "{}", "--out", "halves"),
    ("assess", "{}", "synthetic.csv", "--measures", "privacy.identical_matches"),
    ("assess", "train.csv", "synthetic.csv", "--holdout", "{}", "--measures", "fidelity.moments"),
    ("compare", "train.csv", "a={}", "b=synthetic.csv", "--no-curve"),
    ("benchmark", "{}", "--methods", "independent", "--splits", "1"),
    ("attack", "worlds", "{}", "--method", "flip", "--refits", "4", "--budget", "5"),
    ("calibrate", "{}", "--out", "calibrated.json", "--budget", "2"),
    ("release", "{}", "--policy", "policy.toml", "--out", "released", "--method", "cart"),
    ("synthesize", "train.csv", "--replace", "age", "--train-on", "{}", "--out", "made.csv"),
)


def bad_files(folder: Path) -> Iterator[Trial]:
    """Files that are no tables, read by every command that reads tables."""
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content)
    names = [*TEXTS, *_cut_files(folder), *_no_files(folder)]
    for place, name in enumerate(names):
        yield from (_on(name, words) for words in READERS)
        yield _on(name, OTHERS[place % len(OTHERS)])


def _on(name: str, words: tuple[str, ...], kind: str = "bad table files") -> Trial:
    status = (0, 1, 2, 3) if words[0] == "release" else (0, 2)
    given = tuple(word.replace("{}", name) for word in words)
    return Trial(kind, f"{words[0]} {name}", given, status)


def _cut_files(folder: Path) -> Iterator[str]:
    """Cut sound files off, and change a byte in their middle."""
    for name in ("train.parquet", "train.arrow", "train.xlsx"):
        whole = (folder / name).read_bytes()
        yield _write(folder, f"cut_{name}", whole[: len(whole) // 2])
        changed = bytearray(whole)
        changed[len(whole) // 3] ^= 0xFF
        changed[-20] ^= 0x5A
        yield _write(folder, f"changed_{name}", bytes(changed))
    packed = gzip.compress((folder / "train.csv").read_bytes())
    yield _write(folder, "cut.csv.gz", packed[: len(packed) // 2])
    with gzip.open(folder / "bomb.csv.gz", "wb") as file:
        file.write(HEAD)
        for _ in range(800):
            file.write(b"0" * (1 << 20))
    yield "bomb.csv.gz"
    with zipfile.ZipFile(folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * (300 << 20))
    yield "bomb.xlsx"


def _write(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return name


def _no_files(folder: Path) -> Iterator[str]:
    """Make what is no ordinary file."""
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "nowhere.csv").symlink_to("far/away.csv")
    (folder / "folder.csv").mkdir()
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe.parquet")
    yield from ("loop.csv", "nowhere.csv", "folder.csv", "pipe.csv", "pipe.parquet", "absent.csv")


NAMES = (
    "", " ", "\n", "a\tb", "\x1b[31m", "__main__", "count", "literal", "index", "..", "/etc/passwd",
    "a" * 5000, "<b>", "'; drop table", "{}", "%s", "\u202egnp", "é" * 300, "None", "kind",
    "\x00" * 2, "🦉", "missing", "not", "and", "times", "copies", "row", "weight", "synthetic",
)  # fmt: skip


def bad_names(folder: Path) -> Iterator[Trial]:
    """Sound columns under names that mean something to somebody."""
    for place, name in enumerate(NAMES):
        path = folder / f"name_{place}.parquet"
        rows = column([place % 3 for place in range(60)], "odd").rename({"odd": name})
        rows.write_parquet(path)
        yield _on(path.name, READERS[place % 2], "bad names")
        words = ("assess", path.name, path.name, "--measures", "fidelity,privacy.closest_record")
        yield Trial("bad names", f"assess {path.name}", words)
    for place, name in enumerate(("-dash.csv", "new\nline.csv", "ü 🦉.csv", "a" * 240 + ".csv")):
        (folder / name).write_bytes(HEAD + LINE * 40)
        yield Trial("bad names", f"file {place}", ("schema", "--", name))
        out = ("synthesize", "train.csv", "--method", "cart", "--rows", "5", "--out", f"x{name}")
        yield Trial("bad names", f"out {place}", out)


def bad_cells(folder: Path) -> Iterator[Trial]:
    """Columns whose values are at the edge of what a type holds."""
    rng = np.random.default_rng(0)
    odd: dict[str, list[object]] = {
        "unsigned": [2**64 - 1 - i for i in range(60)],
        "huge_whole": [10**15 + int(v) for v in rng.integers(0, 10**12, 60)],
        "smallest": [-(2**63), 2**63 - 1] * 30,
        "not_finite": [float("nan"), float("inf"), -float("inf"), 1.0] * 15,
        "tiny": [5e-324, 1e-310, 0.0, -0.0] * 15,
        "largest": [1.7e308, -1.7e308, 1.0] * 20,
        "words": ["__main__", "NaN", "", " ", "\x00", "<script>", "=1+1", "\x1b[2J", "🦉", "-"] * 6,
        "long": ["x" * 100_000] * 30 + ["y"] * 30,
        "nothing": [None] * 60,
        "flags": [True, None] * 30,
    }
    for name, values in odd.items():
        kinds = {"unsigned": pl.UInt64}
        rows = column(values).with_columns(pl.Series("odd", values, kinds.get(name), strict=False))
        rows.write_parquet(folder / f"cells_{name}.parquet")
    rows = column(list(range(60)))
    typed = {
        "years": pl.date(9999, 12, 31) - pl.duration(days=pl.col("odd")),
        "before": pl.date(1, 1, 1) - pl.duration(days=pl.col("odd") * 5),
        "after": pl.date(9999, 1, 1) + pl.duration(days=pl.col("odd") * 30),
        "moments": pl.from_epoch(pl.col("odd") * 10**15, time_unit="us"),
        "spans": pl.duration(days=pl.col("odd") * 10**5),
        "clock": pl.time(23, 59, pl.col("odd")),
        "lists": pl.concat_list("odd", "age"),
        "structs": pl.struct("odd", "age"),
        "binary": pl.col("sex").cast(pl.Binary),
        "decimal": pl.col("odd").cast(pl.Decimal(30, 5)),
        "group": pl.col("sex").cast(pl.Categorical),
    }
    for name, made in typed.items():
        rows.with_columns(made.alias("odd")).write_parquet(folder / f"cells_{name}.parquet")
    for name in (*odd, *typed):
        path = f"cells_{name}.parquet"
        for method in ("cart", "forest", "copula", "bayes"):
            words = ("synthesize", path, "--out", "made.parquet", "--method", method, "--rows", "5")
            yield Trial("bad cells", f"{method} {name}", words)
        words = ("assess", path, path, "--measures", "fidelity,privacy.closest_record")
        yield Trial("bad cells", f"assess {name}", (*words, "--html", "cells.html"))
        yield Trial("bad cells", f"schema {name}", ("schema", path, "--out", "cells.toml"))


OPTIONS: tuple[tuple[str, ...], ...] = (
    ("--rows", "1" + "0" * 21),
    ("--rows", "-1"),
    ("--rows", "1e3"),
    ("--replicates", "100000"),
    ("--replicates", "0"),
    ("--seed", "9" * 400),
    ("--seed", "-1"),
    ("--replace", ","),
    ("--keep", ","),
    ("--replace", "nobody"),
    ("--given", "sex"),
    ("--given", "sex=zzz"),
    ("--given", "=" * 9),
    ("--margin", "sex=f:2,m:-1"),
    ("--margin", "sex=f:nan"),
    ("--constraint", "(" * 5000),
    ("--constraint", "age < " + "9" * 5000),
    ("--replace-where", "age <", "--replace", "age"),
    ("--epsilon", "nan"),
    ("--epsilon", "-1"),
    ("--epsilon", "1e308"),
    ("-o", "forest.trees=1000000"),
    ("-o", "forest.trees=1e999"),
    ("-o", "forest.smallest=-5"),
    ("-o", "cart.cp=NaN", "--method", "cart"),
    ("-o", "cart.cp=Infinity", "--method", "cart"),
    ("-o", "cart.minbucket=1000000000000", "--method", "cart"),
    ("-o", "flip.p=2", "--method", "flip"),
    ("-o", "flip.p=NaN", "--method", "flip"),
    ("-o", "forest.trees=" + "[" * 5000),
    ("-o", "=" * 20),
    ("-o", "forest"),
    ("--method", "nobody"),
    ("--method", "os:system"),
    ("--method", "../cart"),
    ("--out", "/proc/nobody/x.csv"),
    ("--out", "far/away/x.csv"),
    ("--out", "train.csv"),
    ("--out", "x.exe"),
    ("--out", "/dev/full"),
    ("--save", "far/away/x.model"),
    ("--schema", "train.csv"),
    ("--ledger", "policy.toml"),
)
FURTHER: tuple[tuple[str, ...], ...] = (
    (),
    ("nobody",),
    ("assess",),
    ("assess", "train.csv"),
    ("assess", "train.csv", "synthetic.csv", "--keys", ","),
    ("assess", "train.csv", "synthetic.csv", "--keys", "nobody"),
    ("assess", "train.csv", "synthetic.csv", "--measures", ","),
    ("assess", "train.csv", "synthetic.csv", "--measures", "nobody"),
    ("assess", "train.csv", "synthetic.csv", "--sensitive", ","),
    ("assess", "train.csv", "synthetic.csv", "--formula", "income ~ " + "(" * 3000),
    ("assess", "train.csv", "synthetic.csv", "--formula", "income ~ __import__('os')"),
    ("assess", "train.csv", "synthetic.csv", "--by", "income"),
    ("assess", "train.csv", "synthetic.csv", "-o", "fidelity.bivariate.pictures=NaN"),
    ("assess", "train.csv", "synthetic.csv", "-o", "privacy.closest_record.permutations=1e99"),
    ("assess", "train.csv", "synthetic.csv", "--json", "far/away.json"),
    ("split", "train.csv", "--out", "halves", "--holdout", "nan"),
    ("split", "train.csv", "--out", "halves", "--holdout", "1e-9"),
    ("split", "train.csv", "--out", "halves", "--group", "nobody"),
    ("split", "train.csv", "--out", "train.csv"),
    ("keys", "train.csv", "--budget", "nan"),
    ("keys", "train.csv", "--budget", "-1"),
    ("benchmark", "train.csv", "--methods", ","),
    ("benchmark", "train.csv", "--methods", "independent", "--splits", "1" + "0" * 20),
    ("attack", "worlds", "train.csv", "--command", "nobody {train} {out}", "--budget", "5"),
    ("attack", "worlds", "train.csv", "--method", "flip", "--record", "1" + "0" * 20),
    ("attack", "worlds", "train.csv", "--method", "flip", "--budget", "nan"),
    ("attack", "worlds", "train.csv", "--method", "flip", "--workers", "100000", "--refits", "2"),
    ("attack", "membership", "train.csv", "--command", "{train}", "--budget", "5"),
    ("calibrate", "small.csv", "--out", "c.json", "--budget", "nan"),
    ("calibrate", "small.csv", "--out", "c.json", "--measures", "nobody"),
    ("release", "train.csv", "--policy", "plain.toml", "--out", "o", "--holdout-share", "1e-9"),
    ("release", "train.csv", "--policy", "plain.toml", "--out", "o", "--holdout-share", "nan"),
    ("release", "train.csv", "--policy", "train.csv", "--out", "o"),
    ("verify", "train.csv"),
    ("ledger", "policy.toml"),
    ("ledger", "ledger.json", "--limit", "nan"),
    ("study", "nobody"),
    ("study", "../platzer2021"),
    ("demo", "--data", "nobody", "--out", "demo"),
    ("policy", "init", "--out", "far/away.toml"),
    ("compare", "train.csv", "a"),
    ("compare", "train.csv", "a=synthetic.csv", "a=holdout.csv"),
)


def bad_options(folder: Path) -> Iterator[Trial]:
    """Options out of all bounds."""
    for words in OPTIONS:
        given = ("synthesize", "train.csv", "--rows", "5", "--out", "made.csv")
        yield Trial("bad options", " ".join(words)[:60], (*given, *words))
    for words in FURTHER:
        yield Trial("bad options", " ".join(words)[:60], words)


def full_disk(folder: Path) -> Iterator[Trial]:
    """Outputs for which there is no room: files may not grow beyond a few bytes."""
    reports = ("--json", "r.json", "--html", "r.html", "--receipt", "r.receipt")
    measure = ("--measures", "fidelity.univariate")
    for words in (
        ("schema", "train.csv", "--out", "s.toml"),
        ("split", "train.csv", "--out", "full_halves"),
        ("synthesize", "train.csv", "--out", "f.csv", "--method", "cart"),
        ("synthesize", "train.csv", "--out", "f.parquet", "--method", "cart"),
        ("synthesize", "train.csv", "--out", "f.arrow", "--method", "cart"),
        ("synthesize", "train.csv", "--out", "f.xlsx", "--method", "cart"),
        ("synthesize", "train.csv", "--out", "f.csv.gz", "--method", "cart", "--save", "f.model"),
        ("assess", "train.csv", "synthetic.csv", *measure, *reports),
        ("benchmark", "small.csv", "--methods", "independent", "--splits", "1", "--out", "fcells"),
        ("attack", "worlds", "small.csv", "--method", "flip", "--refits", "4", "--journal", "fj"),
        ("calibrate", "small.csv", "--out", "fc.json", "--budget", "2", "--journal", "fcj"),
        ("release", "train.csv", "--policy", "plain.toml", "--out", "fo", "--method", "cart"),
    ):
        for size in (0, 200):
            yield Trial("full disk", f"{words[0]} {size}", words, largest_file=size)
