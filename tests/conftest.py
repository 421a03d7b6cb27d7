"""Fixtures that all tests share: real data sets, which live outside the repository."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from understudy.datasets import dataset
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


def _absent(what: str) -> None:
    """Skip for want of data; where data is required, as in CI, fail."""
    if os.environ.get("UNDERSTUDY_REQUIRE_DATA") == "1":
        pytest.fail(f"real data is required, but {what}")
    pytest.skip(what)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets."""
    named = os.environ.get("UNDERSTUDY_DATA", "")
    if not (named and Path(named).is_dir()):
        _absent(f"there is no folder UNDERSTUDY_DATA = '{named}'")
    return Path(named)


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Find a real data set by its name in the registry."""

    def find(name: str) -> Path:
        entry = dataset(name)
        try:
            return entry.path()
        except UnderstudyError as error:
            if "not here" not in error.message and "not installed" not in error.message:
                raise
            _absent(error.message)
            raise

    return find
