"""The noise of each step against exact chances, and a budget that cannot be overspent."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import OptionError
from understudy.judging.rates import clopper_pearson
from understudy.synthesizers.budget import Budget, Step, spent_in

DRAWS = 40_000
# each test looks at few dozen numbers; the chance that one strays so far is below 1e-6
SURE = 1e-9


def budget(epsilon=1.0, seed=0):
    return Budget(epsilon, np.random.default_rng(seed))


def chances(scale, far):
    """Exact chances of discrete Laplace noise between -far and far."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-far, far + 1))


@settings(max_examples=15, deadline=None, derandomize=True)
@given(
    epsilon=st.floats(0.05, 8), sensitivity=st.sampled_from([1, 2, 7]), seed=st.integers(0, 2**32)
)
def test_noise_has_the_scale_that_its_step_says(epsilon, sensitivity, seed):
    bought = budget(epsilon, seed)
    noise = bought.counts("x", np.zeros(DRAWS, int), epsilon=epsilon, sensitivity=sensitivity)
    (step,) = bought.steps
    assert step == Step("x", "laplace", epsilon, sensitivity, sensitivity / epsilon)
    q = math.exp(-1 / step.scale)
    variance = 2 * q / (1 - q) ** 2
    # the kurtosis of this noise is 3 + 3 + 1 / variance at most, so the variance of squares is
    spread = math.sqrt(variance * (1 + 5 * variance) / DRAWS)
    assert abs(noise.var() - variance) < 6 * spread
    assert abs(noise.mean()) < 6 * math.sqrt(variance / DRAWS)
    far = int(4 * step.scale) + 1
    for value, chance in zip(range(-far, far + 1), chances(step.scale, far), strict=True):
        low, high = clopper_pearson(np.count_nonzero(noise == value), DRAWS, SURE)
        assert low <= chance <= high, (value, chance)


def test_noise_is_whole_and_keeps_the_shape():
    exact = np.arange(6, dtype=np.uint16).reshape(2, 3)
    noisy = budget().counts("x", exact, epsilon=1)
    assert noisy.shape == (2, 3)
    assert noisy.dtype == np.int64
    assert budget(1e6).counts("x", exact, epsilon=1e6).tolist() == exact.tolist()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5])
def test_neighbouring_counts_differ_as_the_mechanism_promises(epsilon):
    """Every tail is at most exp(epsilon) as likely, and the worst one nearly that: no less noise.

    With noise half as wide the ratio would be exp(2 * epsilon), with noise twice as wide
    exp(epsilon / 2): either fails.
    """
    cells = np.repeat([0, 1], 10 * DRAWS)
    without, with_one = np.split(
        budget(epsilon, seed=5).counts("x", cells, epsilon=epsilon), [10 * DRAWS]
    )
    worst = 0.0
    for cut in range(-5, 8):
        for one, other in [
            (with_one >= cut, without >= cut),
            (without <= cut, with_one <= cut),
        ]:
            least, _ = clopper_pearson(one.sum(), len(one), SURE)
            _, most = clopper_pearson(other.sum(), len(other), SURE)
            assert least <= most * math.exp(epsilon)
            if other.sum() > 5_000:
                worst = max(worst, math.log(one.sum() / other.sum()))
    assert worst == pytest.approx(epsilon, abs=0.05)


def test_the_exponential_mechanism_chooses_with_its_chances():
    scores, epsilon, sensitivity = np.array([3.0, 0.0, 2.5, -40.0]), 0.8, 0.5
    bought = budget(1e9, seed=2)
    chosen = np.array(
        [
            bought.choose("x", scores, epsilon=epsilon, sensitivity=sensitivity)
            for _ in range(20_000)
        ]
    )
    assert bought.steps[0] == Step("x", "exponential", epsilon, sensitivity, 1.25)
    exact = np.exp(epsilon * scores / (2 * sensitivity))
    for choice, chance in enumerate(exact / exact.sum()):
        low, high = clopper_pearson(np.count_nonzero(chosen == choice), len(chosen), SURE)
        assert low <= chance <= high


def test_huge_scores_do_not_overflow():
    assert budget().choose("x", [1e308, 0.0, -1e308 / 2], epsilon=1, sensitivity=1) == 0


def test_what_is_spent_adds_up():
    bought = budget(1.0)
    for number in range(10):
        bought.counts(f"cell {number}", [4], epsilon=0.1)
    assert bought.spent == pytest.approx(1.0)
    assert bought.left == pytest.approx(0.0, abs=1e-12)
    assert [s.what for s in bought.steps][:2] == ["cell 0", "cell 1"]
    assert spent_in(Step.from_dict(s.to_dict()) for s in bought.steps) == bought.spent


@pytest.mark.parametrize("look", ["counts", "choose"])
def test_overspending_is_refused_before_any_noise_is_drawn(look):
    bought = budget(1.0, seed=3)
    bought.counts("first", [1], epsilon=0.7)
    before = bought.rng.bit_generator.state
    with pytest.raises(OptionError, match=r"second asks for epsilon 0.4; 0.3 of 1 is left"):
        getattr(bought, look)("second", [1], epsilon=0.4, sensitivity=1)
    assert bought.rng.bit_generator.state == before
    assert bought.spent == 0.7


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", True, None])
def test_an_epsilon_is_a_finite_number_above_zero(epsilon):
    with pytest.raises(OptionError, match="epsilon = "):
        budget(epsilon)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.counts("x", [1], epsilon=0), "epsilon = 0"),
        (lambda b: b.counts("x", [1.5], epsilon=1), "float64 is no type of counts"),
        (lambda b: b.counts("x", [True], epsilon=1), "bool is no type of counts"),
        (lambda b: b.counts("x", [1], epsilon=1e-17), "x: sensitivity 1 at epsilon 1e-17"),
        (lambda b: b.counts("x", [1], epsilon=1, sensitivity=0), "x: sensitivity 0"),
        (lambda b: b.counts("x", [1], epsilon=1, sensitivity=math.nan), "x: sensitivity nan"),
        (lambda b: b.choose("x", [], epsilon=1, sensitivity=1), "x: there is nothing to choose"),
        (lambda b: b.choose("x", [1, math.nan], epsilon=1, sensitivity=1), "nothing to choose"),
    ],
)
def test_impossible_steps_spend_nothing(call, message):
    bought = budget()
    with pytest.raises(OptionError, match=message):
        call(bought)
    assert not bought.steps
