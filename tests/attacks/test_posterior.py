"""Chances of worlds from counts of refits: against formulas, calibrated, covered, fair."""

import numpy as np
import pytest

from understudy.attacks.posterior import RefitCounts, fit_weights, judge, normalised


def simulated(rng, rounds, means, extra):
    """Draw Poisson counts: each world adds to its own candidate's."""
    worlds = len(means)
    world = np.repeat(np.arange(worlds), rounds)
    rates = np.tile(means, (len(world), 1)).astype(float)
    rates[np.arange(len(world)), world] += extra
    return RefitCounts(rng.poisson(rates)[..., None].astype(float), world)


def exact(means, extra, seen):
    logs = np.array([seen[j] * np.log((m + extra) / m) - extra for j, m in enumerate(means)])
    return normalised(logs)


def test_posteriors_of_poisson_worlds_agree_with_the_formula():
    rng = np.random.default_rng(11)
    means, extra = np.array([0.05, 40.0, 60.0, 50.0, 45.0]), 1.0
    refits = simulated(rng, 200, means, extra)
    for first in (0, 1, 2):
        seen = np.array([first, 42, 55, 57, 40], float)
        found = judge(refits, seen[:, None]).posterior
        np.testing.assert_allclose(found, exact(means, extra, seen), atol=0.06)


@pytest.mark.slow
def test_intervals_cover_the_exact_posterior():
    """Also where no refit of another world gives the rows that the release holds."""
    rng = np.random.default_rng(15)
    for means in (np.array([1e-4, *[66.0] * 15]), np.full(8, 0.5)):
        covered = 0
        for _ in range(20):
            refits = simulated(rng, 16, means, 1.0)
            seen = rng.poisson(means + np.eye(len(means))[0]).astype(float)
            drawn = judge(refits, seen[:, None], rng, 60).redrawn[:, 0]
            low, high = np.quantile(drawn, [0.025, 0.975])
            covered += low - 1e-4 <= exact(means, 1.0, seen)[0] <= high + 1e-4
        assert covered >= 17


@pytest.mark.slow
def test_posteriors_are_calibrated():
    """Of what is given a chance of p, about p is true."""
    rng = np.random.default_rng(12)
    means, extra = np.full(6, 2.0), 3.0
    refits = simulated(rng, 40, means, extra)
    fresh = simulated(rng, 400, means, extra)
    given = np.array([judge(refits, seen).posterior for seen in fresh.counts[::8]])
    true = fresh.world[::8]
    own = given[np.arange(len(true)), true]
    expected = (given**2).sum(axis=1)  # the mean of the own chance, if they are calibrated
    assert abs(own.mean() - expected.mean()) < 4 * own.std() / np.sqrt(len(own))
    assert own.mean() > 1.5 / 6


def test_where_nothing_leaks_the_mean_over_refits_is_the_prior():
    rng = np.random.default_rng(14)
    world = np.repeat(np.arange(8), 8)
    means = [
        judge(
            RefitCounts(rng.poisson(5.0, (64, 8, 5)).astype(float), world), np.full((8, 5), 5.0)
        ).mean
        for _ in range(20)
    ]
    assert np.mean(means) < 1.25 / 8


def test_weights_are_those_of_a_known_logit():
    rng = np.random.default_rng(13)
    features = rng.normal(size=(4000, 5, 2))
    chances = normalised(features @ np.array([0.7, -0.4]))
    world = np.array([rng.choice(5, p=p) for p in chances])
    np.testing.assert_allclose(fit_weights(features, world), [0.7, -0.4], atol=0.1)
