"""Gibbs learners and their bounds: the worked example, exact posteriors of neighbours, and the identities."""

from __future__ import annotations

from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.theory.learning import (
    catoni_bound,
    catoni_factor,
    catoni_from_energy,
    divergence,
    free_energy,
    gibbs_posterior,
    gibbs_rate,
    mcallester_bound,
)

RISKS = np.array([0.1, 0.2, 0.4])


def test_the_worked_example() -> None:
    lam = gibbs_rate(50, 1.0)
    assert lam == 25.0
    posterior = gibbs_posterior(RISKS, lam)
    assert posterior == pytest.approx([0.923670, 0.075819, 0.000511], abs=5e-7)
    risk, kl = float(posterior @ RISKS), divergence(posterior)
    assert (risk, kl) == pytest.approx((0.107735, 0.825831), abs=5e-7)
    assert catoni_bound(risk, kl, 50, lam, 0.05) == pytest.approx(0.310487, abs=5e-7)


def test_the_table_of_factors() -> None:
    assert catoni_factor(0.1) == pytest.approx(1.05083, abs=5e-6)
    assert catoni_factor(1.0) == pytest.approx(1.58198, abs=5e-6)
    for ratio in (1e-9, 0.1, 0.5, 1.0, 1.9):
        assert 1.0 <= catoni_factor(ratio) <= 1.0 / (1.0 - ratio / 2.0)
    assert catoni_factor(0.0) == 1.0
    assert catoni_factor(0.1) <= 1.05263


def test_the_linear_form_is_never_below_the_other() -> None:
    for risk, kl, lam in product((0.0, 0.1, 0.6), (0.0, 0.8, 5.0), (1.0, 25.0, 90.0)):
        tight, weak = (catoni_bound(risk, kl, 50, lam, 0.05, linear=linear) for linear in (False, True))
        assert tight <= weak + 1e-12


def test_the_free_energy_is_what_the_draw_makes_of_risk_and_divergence() -> None:
    prior, lam = np.array([0.2, 0.5, 0.3]), 12.5
    posterior = gibbs_posterior(RISKS, lam, prior)
    energy = float(posterior @ RISKS) + divergence(posterior, prior) / lam
    assert free_energy(RISKS, lam, prior) == pytest.approx(energy, abs=1e-12)
    bound = catoni_bound(float(posterior @ RISKS), divergence(posterior, prior), 50, lam, 0.05)
    assert catoni_from_energy(energy, 50, lam, 0.05) == pytest.approx(bound, abs=1e-12)


def test_no_posterior_has_a_smaller_bound_than_the_draws_own() -> None:
    rng = np.random.default_rng(2)
    energy = free_energy(RISKS, 25.0)
    for other in rng.dirichlet([1, 1, 1], size=300):
        assert energy <= float(other @ RISKS) + divergence(other) / 25.0 + 1e-12


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=2, max_size=6), st.floats(0.1, 5.0))
def test_neighbouring_samples_draw_within_epsilon(losses: list[tuple[float, ...]], epsilon: float) -> None:
    """Exact posteriors of a sample and of one in which its first record lost all or nothing."""
    one = np.array(losses)
    lam = gibbs_rate(len(one), epsilon)
    for corner in product((0.0, 1.0), repeat=3):
        two = np.concatenate([[corner], one[1:]])
        logs = np.log(gibbs_posterior(one.mean(axis=0), lam)) - np.log(gibbs_posterior(two.mean(axis=0), lam))
        assert np.abs(logs).max() <= epsilon + 1e-9
        moved = free_energy(one.mean(axis=0), lam) - free_energy(two.mean(axis=0), lam)
        assert abs(moved) <= 1.0 / len(one) + 1e-9


def test_twice_the_rate_costs_more_than_epsilon() -> None:
    """The audit target of a learner that forgets the factor 2: what it would claim is not kept."""
    one = np.concatenate([[1.0], np.zeros(999)])
    losses = [
        np.abs(np.log(gibbs_posterior(one, lam) / gibbs_posterior(1 - one, lam))).max()
        for lam in (gibbs_rate(1, 1.0), 2 * gibbs_rate(1, 1.0))
    ]
    assert losses[0] == pytest.approx(1.0, abs=2e-3)
    assert losses[0] <= 1.0
    assert losses[1] > 1.9


def test_the_bound_holds_for_fresh_records() -> None:
    """3,000 samples; it may fail for one in ten, and failing for more than .13 has a chance below 1e-6."""
    rng, truth, lam = np.random.default_rng(5), np.array([0.2, 0.3, 0.5]), gibbs_rate(40, 2.0)
    wrong = 0
    for _ in range(3000):
        risks = rng.binomial(40, truth) / 40
        posterior = gibbs_posterior(risks, lam)
        risk, kl = float(posterior @ risks), divergence(posterior)
        real = float(posterior @ truth)
        wrong += real > min(catoni_bound(risk, kl, 40, lam, 0.05), mcallester_bound(risk, kl, 40, 0.05))
    assert wrong <= 0.13 * 3000


def test_impossible_beliefs_are_infinitely_far() -> None:
    assert divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert gibbs_posterior([0.0, 0.9], 10.0, [0.0, 1.0]).tolist() == [0.0, 1.0]
    assert catoni_from_energy(-1.0, 10, 5.0, 0.5) == 0.0
    assert catoni_from_energy(9.0, 10, 5.0, 0.5) == 1.0


def test_mcallester_needs_no_rate() -> None:
    assert mcallester_bound(0.0, 0.0, 1, 0.5) == pytest.approx((log(4) / 2) ** 0.5)
    assert catoni_bound(0.0, 0.0, 1, 1.0, 1 - 1e-12) == pytest.approx(0.0, abs=1e-9)
    assert exp(-divergence([1.0, 0.0])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: gibbs_rate(0, 1.0),
        lambda: gibbs_rate(5, 0.0),
        lambda: gibbs_posterior([], 1.0),
        lambda: gibbs_posterior([0.1], -1.0),
        lambda: gibbs_posterior([0.1, 0.2], 1.0, [0.5, 0.6]),
        lambda: catoni_bound(1.1, 0.0, 5, 1.0, 0.05),
        lambda: catoni_bound(0.1, 0.0, 5, 0.0, 0.05),
        lambda: mcallester_bound(0.1, 0.0, 5, 1.0),
        lambda: free_energy([np.nan], 1.0),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: object) -> None:
    with pytest.raises(UsageError):
        wrong()  # type: ignore[operator]
