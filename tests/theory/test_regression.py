"""What a draw of coefficients costs: calibrations against exact divergences in one dimension."""

from __future__ import annotations

from itertools import combinations_with_replacement, product
from math import exp

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from penstock.errors import UsageError
from penstock.theory.beliefs import believed, guessed, sampled
from penstock.theory.regression import (
    Bounds,
    bounded_beta,
    bounded_epsilon,
    drawing_risk,
    effective_dimension,
    excess_risk_bound,
    hockey_stick,
    mean_bound,
    published_epsilon,
    unbounded_beta,
    unbounded_epsilon,
)

CORNERS = [(x, y) for x in (-1.0, 0.0, 0.5, 1.0) for y in (-1.0, 1.0)]


def posterior(records: tuple[tuple[float, float], ...], beta: float, tau: float) -> tuple[float, float]:
    """Mean and variance of the draw for records of one feature."""
    precision = beta * sum(x * x for x, _ in records) + tau**-2
    return beta * sum(x * y for x, y in records) / precision, 1.0 / precision


def worst(records: int, beta: float, tau: float, epsilon: float, *, replaced: bool = True) -> float:
    """The largest true delta over neighbours whose records lie at the corners of the domain."""
    found = 0.0
    for rest in combinations_with_replacement(CORNERS, records - 1):
        each = [posterior((*rest, last), beta, tau) for last in CORNERS]
        pairs = product(each, each) if replaced else product(each, [posterior(rest, beta, tau)])
        for one, two in pairs:
            found = max(found, hockey_stick(one, two, epsilon), hockey_stick(two, one, epsilon))
    return found


@pytest.mark.parametrize(
    ("records", "tau", "claimed", "delta", "corrected"),
    [(1, 10.0, 0.327, 0.107, 16.4), (5, 3.0, 0.066, 0.010, 1.70)],
)
def test_the_published_calibration_is_refuted_and_the_corrected_one_holds(
    records: int, tau: float, claimed: float, delta: float, corrected: float
) -> None:
    bounds = Bounds(records)
    published = published_epsilon(0.01, tau, 0.001, bounds)
    assert published == pytest.approx(claimed, abs=5e-4)
    true = (
        worst(min(records, 3), 0.01, tau, published)
        if records < 5
        else max(
            hockey_stick(
                posterior(((0.0, 1.0),) * 4 + (one,), 0.01, tau),
                posterior(((0.0, 1.0),) * 4 + (two,), 0.01, tau),
                published,
            )
            for one, two in product(CORNERS, CORNERS)
        )
    )
    assert true == pytest.approx(delta, abs=1e-3)
    assert true > 10 * 0.001, "the claim of a delta of 0.001 is wrong by more than ten times"
    ours = unbounded_epsilon(0.01, tau, 0.001, bounds)
    assert ours == pytest.approx(corrected, abs=0.05)
    assert worst(min(records, 2), 0.01, tau, ours) < 1e-8


@pytest.mark.parametrize("replaced", [True, False])
@pytest.mark.parametrize(("epsilon", "delta", "tau"), [(0.5, 1e-3, 1.0), (2.0, 1e-2, 0.3), (8.0, 0.05, 3.0)])
def test_the_true_delta_of_every_pair_on_a_grid_is_at_most_the_stated_one(
    epsilon: float, delta: float, tau: float, replaced: bool
) -> None:
    for records in (1, 2, 3):
        bounds = Bounds(records, replaced=replaced)
        beta = unbounded_beta(epsilon, tau, delta, bounds)
        assert unbounded_epsilon(beta, tau, delta, bounds) == pytest.approx(epsilon)
        assert worst(records, beta, tau, epsilon, replaced=replaced) <= delta


def test_the_hockey_stick_is_the_integral_of_the_excess() -> None:
    for one, two, epsilon in [
        ((0.0, 1.0), (0.7, 2.0), 0.3),
        ((0.0, 2.0), (0.7, 1.0), 0.3),
        ((0.0, 1.0), (0.7, 1.0), 0.3),
        ((3.0, 0.2), (-3.0, 0.2), 1.0),
        ((0.0, 1.0), (0.0, 1.5), 2.0),
        ((0.0, 1.0), (0.0, 1.0), 0.0),
    ]:

        def excess(
            w: float, one: tuple[float, float] = one, two: tuple[float, float] = two, e: float = epsilon
        ) -> float:
            first, second = (float(norm.pdf(w, mean, variance**0.5)) for mean, variance in (one, two))
            return max(0.0, first - exp(e) * second)

        area = quad(excess, -15, 15, points=[one[0], two[0]] if one[0] != two[0] else None, limit=400)[0]
        assert hockey_stick(one, two, epsilon) == pytest.approx(area, abs=1e-6)


def test_a_bounded_draw_costs_what_it_says_and_not_less() -> None:
    """On a fine grid of |w| <= 1 the exact loss of the worst pair comes near epsilon, and never above it."""
    for replaced in (True, False):
        beta = bounded_beta(1.0, 1.0, Bounds(1, replaced=replaced))
        assert bounded_epsilon(beta, 1.0, Bounds(1, replaced=replaced)) == pytest.approx(1.0)
        grid = np.linspace(-1, 1, 401)
        laws = []
        for records in [*[(corner,) for corner in CORNERS], *([] if replaced else [()])]:
            logs = -beta / 2 * sum((np.square(x * grid - y) for x, y in records), np.zeros_like(grid))
            laws.append(logs - np.log(np.exp(logs).sum()))
        losses = [np.abs(one - two).max() for one in laws for two in laws[-1 if not replaced else 0 :]]
        assert 0.4 < max(losses) <= 1.0


def test_the_mean_of_the_posterior_stays_below_its_bound() -> None:
    for records, beta, tau in product((1, 3), (0.01, 1.0, 100.0), (0.1, 3.0)):
        bound = mean_bound(beta, tau, Bounds(records))
        for chosen in combinations_with_replacement(CORNERS, records):
            assert abs(posterior(chosen, beta, tau)[0]) <= bound + 1e-12


def test_effective_dimensions_go_from_all_to_none() -> None:
    values = np.linalg.eigvalsh(np.cov(np.random.default_rng(0).normal(size=(5, 40))))
    assert effective_dimension(values, 0.0) == pytest.approx(5)
    assert effective_dimension(values, 1e12) == pytest.approx(0, abs=1e-9)
    steps = [effective_dimension(values, lam) for lam in (0.0, 0.1, 1.0, 10.0)]
    assert steps == sorted(steps, reverse=True)
    assert effective_dimension([0.0, 0.0], 0.0) == 0.0


def test_drawing_adds_no_more_than_its_bound_to_the_risk() -> None:
    """E (x.w - y)^2 over draws is (x.mean - y)^2 plus x' P^-1 x, exactly."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, size=(30, 4)) / 2
    beta, tau = 0.7, 0.4
    covariance = np.linalg.inv(beta * x.T @ x + np.eye(4) / tau**2)
    added = np.einsum("ij,jk,ik->i", x, covariance, x)
    assert added.max() <= drawing_risk(tau, 1.0)
    assert drawing_risk(tau, 1.0) <= excess_risk_bound(
        1.0, beta=beta, tau=tau, dimension=2.0, residual=1.0, distance=0.5, bounds=Bounds(30)
    )


def test_beliefs_follow_bayes() -> None:
    assert believed(0.5, 1.0) == pytest.approx((1 / (1 + exp(1)), 1 / (1 + exp(-1))))
    assert believed(0.01, 0.0) == pytest.approx((0.01, 0.01))
    assert believed(0.0, 5.0) == (0.0, 0.0)
    assert believed(0.5, 1e6) == pytest.approx((0.0, 1.0))
    assert guessed(1.0) == pytest.approx(exp(1) / (1 + exp(1)))
    assert guessed(1.0, 0.1) == pytest.approx((exp(1) + 0.1) / (exp(1) + 1))
    assert sampled(2.0, 0.01) == pytest.approx(0.0619, abs=5e-5)
    assert sampled(3.0, 0.1) == pytest.approx(1.068, abs=5e-4)
    assert sampled(2.0, 0.01) > 2 * 0.01 * 2.0, "the simpler formula promises too much"
    assert sampled(1000.0, 0.5) == pytest.approx(1000.0 + np.log(0.5))
    assert sampled(1000.0, 0.0) == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Bounds(0),
        lambda: Bounds(1, x=-1.0),
        lambda: bounded_epsilon(0.0, 1.0, Bounds(1)),
        lambda: unbounded_beta(1.0, 1.0, 0.0, Bounds(1)),
        lambda: hockey_stick((0.0, 0.0), (0.0, 1.0), 1.0),
        lambda: effective_dimension([-1.0], 1.0),
        lambda: believed(1.5, 1.0),
        lambda: guessed(-1.0),
        lambda: sampled(1.0, 2.0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError):
        wrong()  # type: ignore[operator]
