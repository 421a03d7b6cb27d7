"""The tests as somebody runs them who has none of the published data sets."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDS_DATA = "tests/measures/test_distances.py::test_entropies_of_the_thesis_table_4_1_6"


def run_there(home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    given = {k: v for k, v in os.environ.items() if not k.startswith(("UNDERSTUDY_", "PYTEST_"))}
    folders = {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", NEEDS_DATA],
        cwd=ROOT,
        env={**given, **folders, **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_last_line_counts_what_was_skipped_and_says_how_to_get_it(tmp_path):
    done = run_there(tmp_path)
    assert done.returncode == 0, done.stdout
    last = "1 test was skipped for want of data: docs/data.md says where it comes from"
    assert done.stdout.splitlines()[-1] == last
    assert (ROOT / "docs" / "data.md").is_file()


def test_where_data_is_required_its_absence_is_a_failure(tmp_path):
    done = run_there(tmp_path, UNDERSTUDY_REQUIRE_DATA="1")
    assert done.returncode == 1
    assert "real data is required, but the data set 'pima_indians_diabetes' is not here" in (
        done.stdout
    )
