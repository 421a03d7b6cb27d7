"""Fixtures that all tests share: real data sets, which live outside the repository."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from understudy.data.datasets import dataset
from understudy.errors import UnderstudyError

# In CI the examples are always the same; at a desk each run tries new ones.
settings.register_profile(
    "understudy",
    max_examples=50,
    deadline=None,
    print_blob=True,
    derandomize=os.environ.get("CI") == "true",
)
settings.load_profile("understudy")

collect_ignore_glob = ["**/conftest.py", "conftest.py"]  # no doctests there, and all have one name


WANTED = "for want of data"

# A shell lets what it starts in the background ignore Ctrl-C, and every process that a test starts
# would inherit it: tests of interrupts would wait in vain.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs data sets that are not part of the repository."""
    for item in items:
        if "real_data" in getattr(item, "fixturenames", ()):
            item.add_marker("data")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line of all what was not looked at, and how to get it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    many = sum(WANTED in str(report.longrepr) for report in skipped)
    if many:
        tests = "test was" if many == 1 else "tests were"
        reporter.write_line(
            f"{many} {tests} skipped {WANTED}: docs/data.md says where it comes from"
        )


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Find a real data set by its name in the registry; where data is required, as in CI, fail."""

    def find(name: str) -> Path:
        entry = dataset(name)
        try:
            return entry.path()
        except UnderstudyError as error:
            if "not here" not in error.message and "not installed" not in error.message:
                raise
            if os.environ.get("UNDERSTUDY_REQUIRE_DATA") == "1":
                pytest.fail(f"real data is required, but {error.message}")
            pytest.skip(f"{WANTED}: {error.message}")

    return find
