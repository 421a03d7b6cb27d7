"""A folder to release from, and reports that are cut short."""

import json
from pathlib import Path

import pytest

from people import people
from releases import COLUMNS, policy
from understudy.workflows.assessment import Assessment


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with a real table and policies; reports are cut short."""
    people(240, 1).select(COLUMNS).write_csv(tmp_path / "real.csv")
    for name, bound in (("pass", "upper = 1"), ("fail", "upper = 0.000001")):
        policy(tmp_path, name, bound)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def short(monkeypatch):
    """Reports without pictures, to save time."""

    def to_html(self, path, *, title, steward=False):
        Path(path).write_text(json.dumps([title, steward, self.to_dict()]))

    monkeypatch.setattr(Assessment, "to_html", to_html)
