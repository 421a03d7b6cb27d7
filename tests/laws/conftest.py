"""The laws over all measures: what they compute is shared by the tests of this folder."""

import pytest

from understudy.testing import MeasureLaws


@pytest.fixture(scope="session")
def laws() -> MeasureLaws:
    return MeasureLaws(["all"])
