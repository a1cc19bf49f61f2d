"""The width of a 95 % interval, against the exact law of the noise."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.privacy.mechanisms import noise
from penstock.releases.error_bars import Noises, half_width, rate


def within(deviation: float, number: int, half: float) -> float:
    """The exact probability that a sum of so many noises stays within -half ... half, by convolution."""
    a = rate(deviation)
    reach = max(40, int(14 * deviation * number**0.5) + 20)
    one = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))
    total = np.ones(1)
    for _ in range(number):
        total = np.convolve(total, one)
        middle = len(total) // 2
        total = total[max(0, middle - reach) : middle + reach + 1]
    places = np.arange(len(total)) - len(total) // 2
    return float(total[np.abs(places) <= half].sum())


@pytest.mark.parametrize("epsilon", ["4", "2", "1", "1/2", "1/10", "1/50"])
@pytest.mark.parametrize("number", [1, 2, 5, 40])
def test_a_sum_of_noise_stays_within_its_bar(epsilon: str, number: int) -> None:
    """At least 95 %, and hardly more where the noise is smooth; draws leave a quarter of a percent open."""
    deviation = noise.standard_deviation(1, epsilon)
    half = half_width([Noises(1.0, deviation, number)])
    covered = within(deviation, number, half)
    assert covered >= 0.9475
    if deviation > 3:
        assert covered <= 0.957
    else:  # one step less would not do: the noise has few values
        assert within(deviation, number, half - 1) < 0.9525


def test_noise_of_few_steps_covers_more_and_the_smallest_bar_is_taken() -> None:
    """With epsilon 4 a count is right with probability 0.964: the smallest interval is no interval at all."""
    deviation = noise.standard_deviation(1, 4)
    assert half_width([Noises(1.0, deviation, 1)]) == 0.0
    assert within(deviation, 1, 0.0) == pytest.approx(0.964, abs=0.001)


def test_weights_scale_a_bar_and_nothing_makes_none() -> None:
    one = half_width([Noises(1.0, 10.0, 4)])
    assert half_width([Noises(0.5, 10.0, 4)]) == pytest.approx(one / 2)
    assert half_width([Noises(0.5, 10.0, 4), Noises(0.0, 99.0, 1), Noises(1.0, 0.0, 7)]) == pytest.approx(
        one / 2
    )
    assert half_width([]) == 0.0


@pytest.mark.parametrize("epsilon", ["4", "1", "1/100"])
def test_the_rate_of_the_noise_follows_from_its_deviation(epsilon: str) -> None:
    from fractions import Fraction

    assert rate(noise.standard_deviation(1, epsilon)) == pytest.approx(np.exp(-float(Fraction(epsilon))))
