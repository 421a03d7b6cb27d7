"""Audits: bounds by hand, claims that hold, claims that do not."""

import math

import numpy as np
import pytest

import mechanisms
import naughty
import understudy as us
from understudy.attacks.audit import Counts, audit_runs, choose
from understudy.errors import OptionError


def here(fit):
    """Make a function that cannot be sent to a process: it is played in this one."""
    return lambda table, seed: fit(table, seed)


def audited(generator, train=None, **options):
    names = ("seed", "budget", "refits", "journal", "version")
    more = {name: options.pop(name) for name in names if name in options}
    train = mechanisms.paint(100, 1) if train is None else train
    return us.attack("audit", train, generator, options=options, **more)["attack.audit"]


def test_a_perfect_attack_with_a_hundred_trials_shows_three_point_three():
    low = 0.025 ** (1 / 100)
    assert Counts(100, 100, 0, 100).epsilon() == pytest.approx(math.log(low / (1 - low)))
    assert round(Counts(100, 100, 0, 100).epsilon(), 1) == 3.3


def test_the_mirror_counts_as_much():
    one, mirror = Counts(50, 100, 1, 100), Counts(99, 100, 50, 100)
    assert one.epsilon() == pytest.approx(mirror.epsilon())
    assert one.epsilon() > 1.5


def test_delta_is_taken_off():
    tests = Counts(50, 100, 0, 100)
    low, high = 0.3983, 0.0362  # Clopper–Pearson, 50 of 100 and 0 of 100
    assert tests.epsilon() == pytest.approx(math.log(low / high), abs=1e-3)
    assert tests.epsilon(delta=0.1) == pytest.approx(math.log((low - 0.1) / high), abs=1e-3)
    assert Counts(0, 100, 0, 100).epsilon() == 0
    assert Counts(5, 100, 50, 100).epsilon(delta=1.0) == 0


def test_the_gaussian_curve():
    """μ = 1 has δ(ε = 1) = Φ(-1/2) - e Φ(-3/2) = 0.127 (Dong, Roth and Su 2022, corollary 1)."""
    from scipy.special import ndtri

    from understudy.attacks.audit import _gaussian
    from understudy.judging.rates import clopper_pearson

    delta = 0.3085375 - math.e * 0.0668072
    assert _gaussian(0.5, 0.1586553, delta) == pytest.approx(1.0, abs=1e-4)
    assert _gaussian(0.5, 0.5, 0.01) == 0
    tests = Counts(90, 100, 20, 100)
    plain, sharper = (tests.epsilon(delta=1e-5, gaussian=g) for g in (False, True))
    assert sharper > plain + 1
    low, high = clopper_pearson(90, 100)[0], clopper_pearson(20, 100)[1]
    assert ndtri(low) - ndtri(high) == pytest.approx(1.48, abs=0.02)


def test_the_rule_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(1)
    inside = np.arange(200) % 2 == 0
    statistics = np.column_stack([rng.normal(size=200), rng.normal(size=200) - inside])
    rule = choose(statistics, inside, delta=0.0, alpha=0.05)
    assert (rule.statistic, rule.sign) == (1, -1.0)
    slow = max(
        Counts(
            int((sign * own[inside] > sign * limit).sum()),
            100,
            int((sign * own[~inside] > sign * limit).sum()),
            100,
        ).epsilon()
        for own in statistics.T
        for sign in (1, -1)
        for limit in own
    )
    assert rule.bound == pytest.approx(slow)


def laplace_runs(seed: int, scale: float, runs: int = 400, learn: int = 2):
    """Noisy counts of four cells; the first holds one record more in half of the runs."""
    rng = np.random.default_rng(seed)
    inside = np.arange(runs) % 2 == 0
    features = rng.laplace(0, scale, (runs, 4))
    features[:, 0] += inside
    return features, inside, np.arange(runs) // 2 % learn == 0


@pytest.mark.slow
def test_a_right_mechanism_is_hardly_ever_contradicted():
    bounds = [audit_runs(*laplace_runs(seed, 1.0)).epsilon() for seed in range(200)]
    assert sum(bound > 1.0 for bound in bounds) <= 21
    assert np.median(bounds) > 0.2  # and the audit is not blind


def test_the_same_runs_for_choice_and_count_would_be_wrong():
    """Why they are apart: the best of many statistics looks good on the runs it was chosen on."""
    hoped = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        features, inside = rng.normal(size=(100, 40)), np.arange(100) % 2 == 0
        hoped.append(choose(features, inside, delta=0.0, alpha=0.05).bound)
    assert np.mean(np.array(hoped) > 0) > 0.2


def test_half_the_noise_is_caught():
    bounds = [audit_runs(*laplace_runs(seed, 0.5, 1000, 3)).epsilon() for seed in range(20)]
    assert np.mean(np.array(bounds) > 1.0) >= 0.9
    assert sum(bound > 2.0 for bound in bounds) <= 4


@pytest.mark.slow
def test_bounds_learnt_from_the_data_are_caught():
    found = audited(mechanisms.learnt_bounds, neighbours="worst", trials=45, rows=200)
    assert found.status == "ok", found.note
    assert found.flagged
    assert found.value > 1.5
    assert found.baselines["claimed"] == found.reference == 1.0
    assert [p.name for p in found.parts] == ["2 equal rows", "100 equal rows"]
    assert found.value <= found.baselines["perfect"] + 1e-9
    assert "a perfect attack would show" in found.note


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["half_the_noise", "learnt_bounds"])
def test_violations_are_caught_by_refitting(mechanism):
    found = audited(getattr(mechanisms, mechanism), trials=500)
    assert found.flagged
    assert found.value > 1.0


@pytest.mark.slow
def test_a_right_mechanism_is_hardly_ever_contradicted_by_refitting():
    """At a level of 5 %, 6 or more of 40 have a chance of 1.4 %."""
    right = here(mechanisms.right)
    found = [audited(right, seed=s, neighbours="worst", trials=60, epsilon=1.0) for s in range(40)]
    assert sum(f.flagged for f in found) <= 5
    assert max(f.value for f in found) > 0.1


@pytest.mark.slow
def test_a_stopped_audit_goes_on_from_its_journals(tmp_path):
    """Each pair of tables has a journal of its own; what stands there is not played again."""
    played = []

    def fit(table, seed):
        played.append(table.height)
        return mechanisms.right(table, seed)

    wanted = {"trials": 30, "rows": 50, "epsilon": 1.0}
    whole = audited(fit, **wanted)
    refits = len(played)
    assert refits == 2 * 3 * 30
    kept = {"journal": tmp_path / "audit.journal", "version": "1"}  # what it has played is no part
    stopped = audited(fit, **wanted, refits=100, **kept)
    assert stopped.status == "ok"
    done = len(played) - refits
    assert 0 < done < refits
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"audit.journal.{n}" for n in (1, 2, 3)]
    again = audited(fit, **wanted, **kept)
    assert len(played) == 2 * refits
    assert again.to_dict() == whole.to_dict()


def test_a_generator_without_a_claim_is_not_flagged():
    found = audited(here(naughty.shuffled), neighbours="record", trials=30)
    assert found.reference is None
    assert not found.flagged
    assert "No epsilon is claimed" in found.note
    assert found.register["training_row"].null_count() == 0
    claimed = audited(here(naughty.shuffled), neighbours="record", trials=30, epsilon=10.0)
    assert "more than these runs could contradict" in claimed.note


def test_a_generator_that_fails_on_strange_tables_is_audited_on_the_others():
    found = audited(here(mechanisms.picky), trials=30, rows=100)
    assert found.status == "ok"
    assert [p.name for p in found.parts if p.value is None] == ["2 equal rows"]
    assert "2 equal rows: 0 refits." in found.note
    assert "equal rows: ValueError" in found.note
    assert "I need" not in found.note  # a message may quote a person's values


@pytest.mark.parametrize(
    "bad",
    [
        {"trials": 4},
        {"rows": 0},
        {"neighbours": "twins"},
        {"record": 101},
        {"record": 1, "neighbours": "worst"},
        {"epsilon": -1},
        {"epsilon": "much"},
        {"gaussian": True},
    ],
)
def test_bad_options(bad):
    with pytest.raises(OptionError):
        audited(mechanisms.right, **bad)
