"""What several tests of methods need."""

import pytest


@pytest.fixture
def few_sweeps(monkeypatch):
    """Learn copulas in few sweeps, where it does not matter how well."""
    monkeypatch.setattr("understudy.synthesizers.copula.latent.SETTLING", (4, 4, 1))
    monkeypatch.setattr("understudy.synthesizers.copula.latent.AVERAGED", (3, 3, 1))
    monkeypatch.setattr("understudy.synthesizers.copula.latent.TRIED_LAST", 20_000)
