"""The tests as somebody runs them who has none of the published data sets."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = 'def test_a(real_data):\n    real_data("insurance")\n\n\ndef test_b():\n    pass\n'


def run_there(folder: Path, *marks: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run two tests, one of which needs data, under the configuration of this repository."""
    (folder / "test_two.py").write_text(TESTS)
    given = {k: v for k, v in os.environ.items() if not k.startswith(("UNDERSTUDY_", "PYTEST_"))}
    path = os.pathsep.join([str(ROOT / "tests"), *filter(None, [given.get("PYTHONPATH")])])
    own = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": path}
    usual = ["-q", "-p", "conftest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *usual, *marks, "test_two.py"],
        cwd=folder,
        env={**given, **own, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_last_line_counts_what_was_skipped_and_says_how_to_get_it(tmp_path):
    done = run_there(tmp_path)
    assert done.returncode == 0, done.stdout
    *_, counts, last = done.stdout.splitlines()
    assert counts.startswith("1 passed, 1 skipped")
    assert last == "1 test was skipped for want of data: docs/data.md says where it comes from"
    assert (ROOT / "docs" / "data.md").is_file()


def test_where_data_is_required_its_absence_is_a_failure(tmp_path):
    done = run_there(tmp_path, "-m", "data and not slow", UNDERSTUDY_REQUIRE_DATA="1")
    assert done.returncode == 1
    assert "real data is required, but the data set 'insurance' is not here" in done.stdout
    assert "1 failed, 1 deselected" in done.stdout
