"""Additive mechanisms: calibrated as stated, paid before the seal opens, exact on integers and lattices.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.privacy.goodness import fits, window

from penstock.errors import BudgetError, DataError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.lattice import from_steps, power_of_two, public_step, to_steps
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

MANY = 60_000


def sealed(value: Any, l1: Fraction | int = 1, **more: Any) -> Sealed[Any]:
    return Sealed(
        value, Sensitivity.of(l1, **more), Relation.ADD_REMOVE, because="each test says how far it moves"
    )


def budget(epsilon: object, delta: object = 0, seed: int = 1) -> Budget:
    return Budget(epsilon, delta, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]


def laplace_law(scale: float, reach: int) -> Any:
    a = exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))


# --- counts ---


@pytest.mark.parametrize(("l1", "epsilon"), [(1, "1"), (2, "1/2"), (Fraction(3, 2), "3"), (1, "0.05")])
def test_count_noise_has_scale_l1_over_epsilon(l1: Fraction | int, epsilon: str) -> None:
    noisy = noise.counts(sealed(np.full(MANY, 7), l1), budget(epsilon))
    scale = float(Fraction(l1) / Fraction(epsilon))
    reach = int(6 * scale) + 1
    assert fits(window(noisy - 7, -reach, reach), laplace_law(scale, reach))
    # The mutant, noise of half the scale, is refused by the same check.
    assert not fits(window((noisy - 7) // 2, -reach, reach), laplace_law(scale, reach))


def test_neighbouring_counts_differ_by_epsilon_and_no_more() -> None:
    """From the exact law: P(out | 5) and P(out | 6) have a log ratio of epsilon/l1 up to sign, everywhere."""
    law = laplace_law(2.0, 40)
    ratios = np.log(law[1:] / law[:-1])
    assert np.allclose(np.abs(ratios), 0.5)


def test_counts_keep_shape_type_and_scalars() -> None:
    table = noise.counts(sealed(np.zeros((3, 4), dtype=np.uint8)), budget(1))
    assert table.shape == (3, 4)
    assert table.dtype == np.int64
    assert isinstance(noise.counts(sealed(5), budget(1)), int)
    assert noise.counts(sealed(np.zeros(0, dtype=np.int64)), budget(1)).shape == (0,)


def test_noise_is_added_to_empty_cells_too_and_may_go_below_zero() -> None:
    noisy = noise.counts(sealed(np.zeros(2000, dtype=np.int64)), budget("1/10"))
    assert (noisy < 0).sum() > 500
    assert (noisy > 0).sum() > 500


def test_the_charge_states_scale_and_sensitivity_and_uses_up_the_part() -> None:
    whole = budget("1/2")
    noise.counts(sealed(np.zeros(3, dtype=np.int64), 2), whole)
    (charge,) = whole.receipt().paid.parts
    assert (charge.mechanism, charge.sensitivity, charge.detail) == ("discrete Laplace", "2", "scale 4")
    assert charge.cost == (Fraction(1, 2), 0)
    with pytest.raises(BudgetError, match="Nothing is left"):
        noise.counts(sealed(np.zeros(3, dtype=np.int64)), whole)


def test_a_value_that_cannot_move_is_returned_as_it_is_and_still_paid_for() -> None:
    whole = budget(1)
    assert noise.counts(sealed(np.array([42]), 0), whole).tolist() == [42]
    assert whole.receipt().paid.cost == (1, 0)
    assert noise.laplace_real(sealed(2.5, 0), budget(1)) == 2.5
    assert noise.gaussian(sealed(9, 0), budget(1, "1e-6")) == 9


def test_real_numbers_are_refused_as_counts_before_anything_is_spent() -> None:
    whole = budget(1, "1e-6")
    for mechanism in (noise.counts, noise.gaussian):
        with pytest.raises(UsageError, match="Nothing was spent"):
            mechanism(sealed(np.array([0.5])), whole)
    with pytest.raises(UsageError, match="Nothing was spent"):
        noise.laplace_real(sealed(np.array([1, 2])), whole)
    assert whole.left == (1, Fraction(1, 10**6))


def test_results_beyond_64_bits_are_held_at_the_ends() -> None:
    edge = np.array([2**63 - 1] * 500)
    noisy = noise.counts(sealed(edge), budget("1/1000"))
    assert noisy.max() == 2**63 - 1
    assert noisy.min() > 2**62
    other_end = noise.counts(sealed(np.array([-(2**63)] * 500)), budget("1/1000"))
    assert other_end.min() == -(2**63)
    assert other_end.max() < -(2**62)
    far = noise.counts(sealed(np.zeros(400, dtype=np.int64), 10**25), budget(1))
    assert set(far.tolist()) == {2**63 - 1, -(2**63)}


def test_tiny_and_large_epsilon_work() -> None:
    assert noise.counts(sealed(np.arange(1000)), budget(50)).tolist() == list(range(1000))
    spread = np.median(np.abs(noise.counts(sealed(np.zeros(3001, dtype=np.int64)), budget("1e-6"))))
    assert (
        0.9 < spread / (log(2) * 1e6) < 1.1
    )  # the median of |Z| is scale * ln 2; 3001 draws: error below 1e-6


# --- real numbers on a lattice ---


def test_lattice_laplace_pays_for_one_step_per_coordinate() -> None:
    """Step 1/4, l1 1, 2 coordinates: 4 + 2 steps of sensitivity, so the noise has scale 6 steps."""
    step = Fraction(1, 4)
    source = Randomness.seeded(3)
    draws = []
    for _ in range(300):
        whole = Budget(1, randomness=source)
        draws.append(noise.laplace_real(sealed(np.array([0.1, 5.0])), whole, granularity=step))
    assert whole.receipt().paid.parts[0].detail == "scale 1.5, lattice step 0.25"
    steps = np.array(draws) / 0.25
    assert np.array_equal(steps, np.rint(steps))
    assert fits(window(steps[:, 1].astype(np.int64) - 20, -25, 25), laplace_law(6, 25))


def test_lattice_noise_of_a_long_vector_pays_for_every_coordinate() -> None:
    """Step 1, l1 n, n coordinates: sensitivity 2n steps. E|Z| = 2a/(1-a**2) within 5.5 standard errors."""
    size = 20_000
    noisy = np.abs(noise.laplace_real(sealed(np.zeros(size), size), budget(100), granularity=1))
    a = exp(-100 / (2 * size))
    assert abs(noisy.mean() - 2 * a / (1 - a**2)) < 5.5 * noisy.std() / size**0.5


def test_the_default_step_is_at_most_a_thousandth_of_the_noise() -> None:
    for l1, epsilon, size in (
        (Fraction(1), "1", 1),
        (Fraction(37, 10), "1/50", 20),
        (Fraction(1, 10**6), "30", 500),
    ):
        whole = budget(epsilon)
        noisy = noise.laplace_real(sealed(np.zeros(size), l1), whole)
        step = float(power_of_two(min(l1 / Fraction(epsilon), l1 / size) / 1024))
        assert step <= float(l1 / Fraction(epsilon)) / 1024
        assert np.array_equal(noisy / step, np.rint(noisy / step))
        # The rounding's share of the sensitivity is below a thousandth.
        assert size * step <= float(l1) / 1000


@pytest.mark.parametrize("bad", [0.3, 0.0, -1.0, float("nan"), float("inf")])
def test_a_step_that_is_no_power_of_two_is_refused(bad: float) -> None:
    whole = budget(1)
    with pytest.raises(UsageError, match="power of two"):
        noise.laplace_real(sealed(1.0), whole, granularity=bad)
    assert whole.left[0] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="clip"):
        noise.laplace_real(sealed(np.array([1.0, bad])), budget(1))


doubles = st.floats(-1e12, 1e12)


@given(doubles, st.floats(-1000, 1000), st.integers(-20, 10))
@settings(deadline=None)
def test_rounding_to_the_lattice_adds_at_most_one_step_to_a_change(
    value: float, change: float, exponent: int
) -> None:
    step = Fraction(2) ** exponent
    first, second = to_steps(np.array([value, value + change]), step)
    true = abs(Fraction(value + change) - Fraction(value)) / step
    assert abs(int(first) - int(second)) <= true + 1


@given(doubles, st.integers(-60, 10))
@settings(deadline=None)
def test_lattice_steps_are_the_nearest_whole_numbers(value: float, exponent: int) -> None:
    step = Fraction(2) ** exponent
    (steps,) = to_steps(np.array([value]), step)
    assert abs(Fraction(int(steps)) - Fraction(value) / step) <= Fraction(1, 2)


def test_values_too_large_for_64_bit_steps_are_still_exact() -> None:
    steps = to_steps(np.array([1e300, -3.0]), Fraction(1, 2**900))
    assert steps.tolist() == [int(Fraction(1e300) * 2**900), -3 * 2**900]
    assert from_steps(np.array([3, -5]), Fraction(1, 4)).tolist() == [0.75, -1.25]
    assert public_step(None, Fraction(1, 8)) == Fraction(1, 8)


# --- Gaussian ---


def exact_delta(sigma_squared: float, epsilon: float, shift: int) -> float:
    """The hockey-stick divergence of two discrete Gaussians `shift` apart, by summation."""
    reach = int(40 * sigma_squared**0.5) + 40
    z = np.arange(-reach, reach + 1.0)
    law = np.exp(-(z**2) / (2 * sigma_squared))
    law /= law.sum()
    return float(np.maximum(law[: -shift or None] - exp(epsilon) * law[shift:], 0).sum())


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(5), Fraction(20)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 100)])
def test_gaussian_variance_meets_delta_exactly_computed(epsilon: Fraction, delta: Fraction) -> None:
    for shift in (1, 3):
        variance = float(noise.gaussian_variance(Fraction(shift**2), epsilon, delta))
        assert exact_delta(variance, float(epsilon), shift) <= float(delta)
        if (
            epsilon <= 1
        ):  # where sigma is above 1, the mutant with a quarter of the variance breaks the promise
            assert exact_delta(variance / 4, float(epsilon), shift) > float(delta)


def test_gaussian_noise_has_the_stated_law() -> None:
    noisy = noise.gaussian(sealed(np.full(20_000, 3), 2, l2_squared=4), budget(1, "1e-5", seed=8))
    variance = float(noise.gaussian_variance(Fraction(4), Fraction(1), Fraction(1, 10**5)))
    z = np.arange(-40, 41.0)
    law = np.exp(-(z**2) / (2 * variance))
    total = np.exp(-(np.arange(-400, 401.0) ** 2) / (2 * variance)).sum()
    assert fits(window(noisy - 3, -40, 40), law / total)
    assert not fits(window((noisy - 3) // 2, -40, 40), law / total)


def test_gaussian_parts_share_one_concentrated_amount() -> None:
    whole = budget(1, "1e-6")
    large, small = whole.concentrated("sums").split(large="3/4", small="1/4")
    counts = sealed(np.zeros(500, dtype=np.int64), 10, linf=1, l2_squared=10)
    assert noise.gaussian(counts, large).std() < noise.gaussian(counts, small).std()
    assert whole.receipt().paid.cost == (1, Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="Nothing is left"):
        noise.gaussian(counts, small)


def test_gaussian_without_delta_is_refused_and_nothing_spent() -> None:
    whole = budget(1)
    with pytest.raises(BudgetError, match="delta"):
        noise.gaussian(sealed(np.array([1])), whole)
    assert whole.left == (1, 0)


# --- error bars ---


@pytest.mark.parametrize(("l1", "epsilon"), [(1, "1/3"), (2, "4"), (1, "1e-6"), (1, "50")])
def test_standard_deviation_and_margin_are_those_of_the_law(l1: int, epsilon: str) -> None:
    scale = float(l1 / Fraction(epsilon))
    a = exp(-1 / scale)
    one_less = -np.expm1(-1 / scale)
    assert noise.standard_deviation(l1, epsilon) == pytest.approx((2 * a) ** 0.5 / one_less, rel=1e-9)
    for confidence in (0.5, 0.9, 0.99):
        m = noise.margin(l1, epsilon, confidence)
        assert 2 * a ** (m + 1) / (1 + a) <= (1 - confidence) * (1 + 1e-9)
        assert m == 0 or 2 * a**m / (1 + a) > (1 - confidence) * (1 - 1e-9)


def test_error_bars_of_exact_values_are_zero_and_nonsense_is_refused() -> None:
    assert noise.standard_deviation(0, 1) == 0
    assert noise.margin(0, 1) == 0
    assert noise.noise_scale(sealed(1, 3), "1/2") == 6
    with pytest.raises(UsageError, match="confidence"):
        noise.margin(1, 1, confidence=1.5)


def test_whether_a_number_is_whole_does_not_depend_on_its_size() -> None:
    """NumPy takes a Python integer beyond 64 bits for an object; a refusal would tell that it is large."""
    largest = np.iinfo(np.int64).max
    assert noise.counts(sealed(2**70), budget(1)) == largest
    assert abs(noise.counts(sealed(int(largest)), budget(1)) - largest) < 100
