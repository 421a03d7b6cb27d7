"""The nouns of the source stay as few as the page on architecture says."""

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COUNTS = runpy.run_path(str(ROOT / "docs" / "counts.py"))
SOURCE = COUNTS["Source"](ROOT / "src" / "understudy")  # a module is parsed when it is asked for


def page() -> dict[str, int]:
    """Read the right column of the page's table."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| [\d,]+ \| ([\d,]+) \|$", text, re.M)
    return {label: int(value.replace(",", "")) for label, value in rows}


@pytest.mark.slow
def test_no_count_is_above_the_page_and_sizes_are_true():
    found, told = COUNTS["counts"](SOURCE), page()
    assert list(found) == list(told)
    above = {label: n for label, n in found.items() if n > told[label]}
    assert {label: n for label, n in above.items() if label not in COUNTS["SIZES"]} == {}
    sizes = {label: abs(found[label] / told[label] - 1) for label in COUNTS["SIZES"]}
    assert {label: off for label, off in sizes.items() if off > 0.05} == {}, "count again"


def test_no_class_name_is_used_for_two_things():
    assert SOURCE.names_used_twice() == []


def test_names_and_importers_are_counted(tmp_path):
    (tmp_path / "understudy").mkdir()
    made = {
        "__init__": "",
        "a": "class One:\n    def encode(self, values): ...\n\nclass Two: ...\n",
        "b": "from understudy.a import One\nfrom understudy import c\n\nclass Two:\n"
        "    def codes(self, texts): ...\n    def own_codes(self): ...\n",
        "c": "import understudy.a\n\ndef numbered(x):\n    return x.rank('dense')\n\n"
        "def told(x):\n    return x.replace_strict(A, B, return_dtype=pl.Int64)\n\n"
        "def named(x):\n    return x.replace_strict(A, B, return_dtype=pl.String)\n",
    }
    for name, text in made.items():
        (tmp_path / "understudy" / f"{name}.py").write_text(text)
    source = COUNTS["Source"](tmp_path / "understudy")
    assert source.names_used_twice() == ["Two"]
    assert source.codings() == [
        f"understudy.{name}" for name in ("a.encode", "b.codes", "c.numbered", "c.told")
    ]
    assert [module.name for module in source.with_one_importer()] == ["understudy.c"]
    assert source.at_the_root() == ["a", "b", "c"]
    with pytest.raises(FileNotFoundError):
        source.layers()
