"""The width of a 95 % interval, against the exact law of the noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.signal import fftconvolve

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.ladder import ladder
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Unit
from penstock.releases.error_bars import Noises, bar, charged, rate, single


def within(deviation: float, number: int, half: float) -> float:
    """The exact probability that a sum of so many noises stays within -half ... half, by convolution.

    Up to the rounding of a Fourier transform, a few units in the fifteenth digit.
    """
    a = rate(deviation)
    reach = max(40, int(14 * deviation * number**0.5) + 20)
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
    total = np.ones(1)
    for _ in range(number):
        total = fftconvolve(total, one)
        middle = len(total) // 2
        total = total[max(0, middle - reach) : middle + reach + 1]
    places = np.arange(len(total)) - len(total) // 2
    return float(total[np.abs(places) <= half].sum())


@pytest.mark.parametrize("epsilon", ["4", "2", "1", "1/2", "1/10", "1/50"])
@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_a_sum_of_noise_stays_within_its_bar(epsilon: str, number: int) -> None:
    """At least 95 %, and hardly more where the noise is smooth; draws leave a quarter of a percent open."""
    deviation = noise.standard_deviation(1, epsilon)
    half = bar([Noises(1.0, deviation, number)]).half
    covered = within(deviation, number, half)
    assert covered >= 0.9475
    assert bar([Noises(1.0, deviation, number)]).covers == pytest.approx(covered, abs=0.0075)
    if deviation > 3:
        assert covered <= 0.957
    else:  # one step less would not do: the noise has few values
        assert within(deviation, number, half - 1) < 0.9525


def test_noise_of_few_steps_covers_more_and_the_smallest_bar_is_taken() -> None:
    """With epsilon 4 a count is right with probability 0.964: the smallest interval is no interval at all."""
    deviation = noise.standard_deviation(1, 4)
    assert bar([Noises(1.0, deviation, 1)]) == pytest.approx((0.0, 0.964), abs=0.001)
    assert within(deviation, 1, 0.0) == pytest.approx(0.964, abs=0.001)


def test_weights_scale_a_bar_and_nothing_makes_none() -> None:
    one = bar([Noises(1.0, 10.0, 4)]).half
    assert bar([Noises(0.5, 10.0, 4)]).half == pytest.approx(one / 2)
    assert bar([Noises(0.5, 10.0, 4), Noises(0.0, 99.0, 1), Noises(1.0, 0.0, 7)]).half == pytest.approx(
        one / 2
    )
    assert bar([]) == (0.0, 1.0)


@pytest.mark.parametrize("epsilon", ["8", "4", "1", "1/3", "1/50", "1/100000"])
def test_the_bar_of_one_noise_is_exact_and_as_small_as_can_be(epsilon: str) -> None:
    found = single(float(Fraction(epsilon)))
    assert found.half == noise.margin(1, epsilon)
    deviation = noise.standard_deviation(1, epsilon)
    if deviation < 1e3:
        assert found.covers == pytest.approx(within(deviation, 1, found.half), abs=1e-6)
    assert found.covers is not None
    assert found.covers >= 0.95
    assert bar([Noises(0.5, deviation, 1)]) == pytest.approx((found.half / 2, found.covers))


def test_equal_sums_of_weighted_noise_count_as_equal() -> None:
    """Thirds of whole numbers differ in their last digits by the order in which they are added up."""
    apart = bar([Noises(1 / 3, 0.6, 1), Noises(1 / 3, 0.6, 2)])
    assert apart.half * 3 == pytest.approx(round(apart.half * 3), abs=1e-8)
    assert apart.covers == pytest.approx(within(0.6, 3, apart.half * 3 + 1e-6), abs=0.004)


def test_a_charge_says_what_its_bar_covers() -> None:
    budget = Budget(3, randomness=Randomness.seeded(0))
    seven = Sealed(7, Sensitivity.of(2), "add-remove", because="the test says so")
    noise.counts(seven, pay=budget.part("plain", "1/3"))
    ladder(
        Sealed(Rungs(0, np.array([1]), 3), Sensitivity.of(1), "add-remove", because="so"), budget.rest("up")
    )
    receipt = budget.receipt(Unit(), "add-remove")
    assert charged(receipt, "plain", single(0.5).half) == single(0.5)
    assert charged(receipt, "plain", 99.0) == (99.0, None)
    assert charged(receipt, "up", 5.0) == (5.0, None)
    assert charged(receipt, "up", None) is None


@pytest.mark.parametrize("epsilon", ["4", "1", "1/100"])
def test_the_rate_of_the_noise_follows_from_its_deviation(epsilon: str) -> None:
    assert rate(noise.standard_deviation(1, epsilon)) == pytest.approx(np.exp(-float(Fraction(epsilon))))
