"""Channels of finite mechanisms: information, distortion and exact privacy loss, against closed forms."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.theory.channels import (
    RateDistortion,
    information_bound,
    mutual_information,
    privacy_loss,
    randomised_response,
    rate_distortion,
)

BITS = list(product((0, 1), repeat=3))
COUNTS = [[abs(sum(bits) - told) for told in range(4)] for bits in BITS]
ONE_BIT = [
    (one, two)
    for one, two in combinations(range(8), 2)
    if sum(a != b for a, b in zip(BITS[one], BITS[two], strict=True)) == 1
]


def three_bits(epsilon: float) -> RateDistortion:
    return rate_distortion(np.full(8, 1 / 8), COUNTS, epsilon, neighbours=ONE_BIT)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_fair_bit_is_best_told_by_randomised_response(epsilon: float) -> None:
    found = rate_distortion([0.5, 0.5], [[0, 1], [1, 0]], epsilon)
    wrong = 1 / (1 + exp(epsilon))
    assert found.channel == pytest.approx(randomised_response(2, epsilon), abs=1e-12)
    assert found.distortion == pytest.approx(wrong, abs=1e-12)
    entropy = -wrong * log(wrong) - (1 - wrong) * log(1 - wrong)
    assert found.information == pytest.approx(log(2) - entropy, abs=1e-12)
    assert found.loss == pytest.approx(epsilon, abs=1e-9), "the theorem's bound is loose by two"
    assert found.promised == 2 * epsilon
    if epsilon == 1:
        assert (found.distortion, found.information) == pytest.approx((0.268941, 0.110944), abs=5e-7)


def test_three_fair_bits_have_the_figures_of_the_book() -> None:
    low, high = three_bits(1.0), three_bits(2.0)
    assert low.outputs == pytest.approx([0, 0.5, 0.5, 0], abs=1e-9)
    assert (low.information, low.distortion) == pytest.approx((0.1109, 0.5189), abs=5e-5)
    assert np.isfinite(low.loss), "outputs that never come do not tell inputs apart"
    assert high.outputs == pytest.approx([0.0767, 0.4233, 0.4233, 0.0767], abs=5e-5)
    assert (high.information, high.distortion) == pytest.approx((0.5463, 0.2366), abs=5e-5)
    assert high.loss == pytest.approx(3.244, abs=5e-4)
    assert high.loss <= high.promised == 4.0
    assert max(low.gap, high.gap) < 1e-12


def test_the_slope_of_the_curve_is_minus_epsilon() -> None:
    below, above = three_bits(0.9999), three_bits(1.0001)
    slope = (above.information - below.information) / (above.distortion - below.distortion)
    assert slope == pytest.approx(-1.0, abs=1e-3)


def test_no_other_channel_of_the_same_distortion_tells_less() -> None:
    rng = np.random.default_rng(1)
    prior, far = rng.dirichlet(np.ones(4)), rng.random((4, 3))
    found = rate_distortion(prior, far, 3.0)
    best = found.information + 3.0 * found.distortion
    for _ in range(500):
        channel = rng.dirichlet(np.ones(3) * rng.choice([0.1, 1, 10]), size=4)
        other = mutual_information(prior, channel) + 3.0 * float(prior @ (channel * far).sum(axis=1))
        assert best <= other + found.gap + 1e-9


@given(st.integers(2, 4), st.floats(0.01, 3.0), st.integers(0, 2**31))
def test_what_an_epsilon_private_channel_tells_stays_below_the_bound(
    categories: int, epsilon: float, seed: int
) -> None:
    prior = np.random.default_rng(seed).dirichlet(np.ones(categories))
    channel = randomised_response(categories, epsilon)
    assert privacy_loss(channel) == pytest.approx(epsilon, abs=1e-9)
    bound = information_bound(epsilon, 1)
    assert mutual_information(prior, channel) <= bound + 1e-12
    assert bound <= epsilon


def test_independent_records_are_bounded_one_by_one() -> None:
    """Two people who answer for themselves tell twice what one does, and no more than the bound says."""
    one = randomised_response(2, 0.5)
    both = np.kron(one, one)
    told = mutual_information(np.full(4, 0.25), both)
    assert told == pytest.approx(2 * mutual_information([0.5, 0.5], one))
    assert told <= information_bound(0.5, 2, independent=True) <= information_bound(0.5, 2) <= 2 * 0.5


def test_an_output_that_gives_somebody_away_has_no_finite_loss() -> None:
    assert privacy_loss([[1.0, 0.0], [0.5, 0.5]]) == np.inf
    assert privacy_loss([[1.0, 0.0], [1.0, 0.0]]) == 0.0
    assert privacy_loss([[1.0, 0.0], [0.5, 0.5]], neighbours=[]) == 0.0


@pytest.mark.parametrize(
    ("prior", "far", "epsilon"),
    [
        ([0.5, 0.6], [[0, 1], [1, 0]], 1.0),
        ([0.5, 0.5], [[0, 1]], 1.0),
        ([0.5, 0.5], [[0, np.nan], [1, 0]], 1.0),
        ([0.5, 0.5], [[0, 1], [1, 0]], 0.0),
        ([], [], 1.0),
    ],
)
def test_what_is_no_channel_is_refused(prior: list[float], far: list[list[float]], epsilon: float) -> None:
    with pytest.raises(UsageError):
        rate_distortion(prior, far, epsilon)


def test_pairs_that_are_no_inputs_are_refused() -> None:
    with pytest.raises(UsageError, match="from 0 to 1"):
        privacy_loss([[1.0, 0.0], [0.5, 0.5]], neighbours=[(0, 2)])
