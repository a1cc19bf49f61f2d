"""Composition rules: exact where they can be, on the safe side where a logarithm is involved."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets import accounting
from penstock.privacy.budgets.accounting import (
    converted,
    exp_down,
    exp_up,
    group,
    group_rho,
    ln_down,
    ln_up,
    parallel,
    rho_of,
    sequential,
    sigma_squared,
)
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Charge, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.budgets.tight_total import set_aside, to_event
from penstock.privacy.unit import Relation, Unit

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
ZERO = Fraction(0)

epsilons = st.fractions(Fraction(1, 1000), 10, max_denominator=1000)
deltas = st.fractions(Fraction(1, 10**12), Fraction(1, 10), max_denominator=10**12)
costs = st.lists(st.tuples(epsilons, deltas), max_size=5)


@settings(max_examples=50, deadline=None)
@given(costs)
def test_sequential_adds_and_parallel_takes_the_dearest(pairs: list[tuple[Fraction, Fraction]]) -> None:
    assert sequential(pairs) == (sum(e for e, _ in pairs), sum(d for _, d in pairs))
    assert parallel(pairs) == (max((e for e, _ in pairs), default=0), max((d for _, d in pairs), default=0))
    assert parallel(pairs, meets=len(pairs) or 1) == sequential(pairs)


@settings(max_examples=40, deadline=None)
@given(costs, st.integers(1, 3))
def test_parallel_covers_every_choice_of_parts_that_a_unit_could_lie_in(
    pairs: list[tuple[Fraction, Fraction]], meets: int
) -> None:
    whole = parallel(pairs, meets)
    for chosen in product(range(len(pairs)), repeat=meets):
        assert sum(pairs[i][0] for i in set(chosen)) <= whole[0]
        assert sum(pairs[i][1] for i in set(chosen)) <= whole[1]


def test_parallel_needs_someone_to_meet_the_parts() -> None:
    with pytest.raises(BudgetError, match="1 or more"):
        parallel([], meets=0)


@given(st.fractions(-200, 200, max_denominator=10**6))
def test_exponentials_are_bracketed(x: Fraction) -> None:
    with localcontext(prec=90) as context:
        true = context.exp(Decimal(x.numerator) / Decimal(x.denominator))
    assert exp_down(x) <= Fraction(true) <= exp_up(x)
    assert exp_up(x) - exp_down(x) <= Fraction(true) / 10**45


@given(st.fractions(Fraction(1, 10**30), 10**6))
def test_logarithms_are_bracketed(x: Fraction) -> None:
    with localcontext(prec=90) as context:
        true = context.ln(Decimal(x.numerator) / Decimal(x.denominator))
    assert ln_down(x) <= Fraction(true) <= ln_up(x)
    assert ln_up(x) - ln_down(x) <= Fraction(1, 10**44)


@given(epsilons, st.integers(1, 6))
def test_a_group_pays_for_each_of_its_units(epsilon: Fraction, k: int) -> None:
    assert group(epsilon, ZERO, k) == (k * epsilon, 0)


@given(epsilons, deltas, st.integers(1, 6))
def test_the_delta_of_a_group_is_the_geometric_sum_rounded_up(
    epsilon: Fraction, delta: Fraction, k: int
) -> None:
    total, slack = group(epsilon, delta, k)
    assert total == k * epsilon
    least = delta * sum((exp_down(i * epsilon) for i in range(k)), ZERO)
    most = delta * sum((exp_up(i * epsilon) for i in range(k)), ZERO)
    assert min(1, least) <= slack <= min(1, most * (1 + Fraction(1, 10**12)))


def test_groups_beyond_all_protection_say_so() -> None:
    assert group(Fraction(100), Fraction(1, 10**6), 10**7) == (10**9, 1)
    assert group(ZERO, Fraction(1, 10), 3) == (0, Fraction(3, 10))
    with pytest.raises(BudgetError, match="at least one unit"):
        group(Fraction(1), ZERO, 0)


def test_a_group_of_a_concentrated_amount_pays_the_square() -> None:
    assert group_rho(Fraction(1, 200), 10) == Fraction(1, 2)
    with pytest.raises(BudgetError, match="at least one unit"):
        group_rho(Fraction(1), 0)


def test_a_receipt_says_what_it_costs_several_units_together() -> None:
    """Gaussian noise for a group of k is Gaussian noise of k times the sensitivity: k^2 rho, and not the
    (epsilon, delta) of a group, which at k = 10 would protect nobody.
    """
    budget = Budget(1, "1e-6")
    rho = budget.concentrated()
    rho.spend("discrete gaussian", relation=ADD_REMOVE)
    receipt = budget.receipt()
    found = receipt.epsilon_at("1e-6", units=10)
    assert found == pytest.approx(concentrated_epsilon(100 * float(rho.rho), 1e-6), rel=0.02)
    assert group(Fraction(1), Fraction(1, 10**6), 10)[1] > Fraction(1, 1000)
    pure = paid_for(Fraction(1, 2), Fraction(1, 4))
    assert pure.epsilon_at(0, units=4) == 3
    mixed = paid_for(Fraction(1), delta="1e-9")
    assert mixed.epsilon_at("1e-6", units=3) == pytest.approx(3, abs=1e-3)
    with pytest.raises(UsageError, match="ask for a delta"):
        mixed.epsilon_at("1e-8", units=3)  # 1e-9 (1 + e + e^2) is more than that


def test_replace_costs_twice_add_remove_and_more_than_twice_its_delta() -> None:
    assert converted(Fraction(1, 3), ZERO, ADD_REMOVE, REPLACE) == (Fraction(2, 3), 0)
    epsilon, delta = converted(Fraction(1), Fraction(1, 10**6), ADD_REMOVE, REPLACE)
    assert epsilon == 2
    assert float(delta) == pytest.approx(1e-6 * (1 + math.e))
    assert delta > Fraction(2, 10**6)
    for relation in Relation:
        assert converted(Fraction(1), Fraction(1, 7), relation, relation) == (1, Fraction(1, 7))


def test_replace_says_nothing_about_add_remove() -> None:
    with pytest.raises(BudgetError, match="says nothing under 'add-remove'"):
        converted(Fraction(1), ZERO, REPLACE, ADD_REMOVE)


def concentrated_epsilon(rho: float, delta: float) -> float:
    """Where rho-zCDP is (epsilon, delta)-DP: the theorem that `rho_of` inverts, on a fine grid of orders."""
    alpha = 1 + np.exp(np.linspace(-8, 25, 20_001))
    slack = alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    each = alpha * rho + (math.log(1 / delta) + slack) / (alpha - 1)
    return max(0.0, float(each.min()))


def concentrated_delta(rho: float, epsilon: float) -> float:
    """delta(epsilon) of the Gaussian mechanism with sensitivity 1 that is rho-zCDP: a true lower bound."""
    from scipy.stats import norm

    mu = math.sqrt(2 * rho)
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@settings(deadline=None, max_examples=50)
@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), deltas)
def test_rho_buys_no_more_than_epsilon_and_delta(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_of(epsilon, delta)
    assert concentrated_delta(float(rho), float(epsilon)) <= delta
    assert concentrated_epsilon(float(rho), float(delta)) <= float(epsilon) * (1 + 1e-6)
    # and it is at least what the simpler bound of Bun and Steinke (2016) buys
    root = math.sqrt(math.log(1 / float(delta)) + float(epsilon)) - math.sqrt(math.log(1 / float(delta)))
    assert float(rho) >= root**2 * (1 - 1e-9)


@settings(deadline=None, max_examples=50)
@given(st.fractions(Fraction(1, 100), 20, max_denominator=100), deltas)
def test_rho_is_as_large_as_a_fine_search_allows(epsilon: Fraction, delta: Fraction) -> None:
    """A little more rho would cost more than epsilon."""
    rho = float(rho_of(epsilon, delta))
    assert concentrated_epsilon(rho * (1 + 1e-3), float(delta)) > float(epsilon) * (1 - 1e-9)


def test_zcdp_amounts_agree_with_the_rdp_accountant() -> None:
    rdp = pytest.importorskip("dp_accounting.rdp")
    events = pytest.importorskip("dp_accounting")
    for epsilon, delta in [(Fraction(1, 2), 1e-6), (Fraction(6), 1e-9), (Fraction(12), 1e-5)]:
        rho = rho_of(epsilon, Fraction(str(delta)))
        theirs = rdp.RdpAccountant().compose(events.ZCDpEvent(float(rho))).get_epsilon(delta)
        assert float(epsilon) <= theirs + 1e-6
        assert float(epsilon) == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("bad", [
    lambda: rho_of(ZERO, Fraction(1, 10)), lambda: rho_of(Fraction(1), ZERO), lambda: rho_of(Fraction(1), 1),
    lambda: sigma_squared(ZERO, Fraction(1)), lambda: sigma_squared(Fraction(1), Fraction(-1)),
])  # fmt: skip
def test_conversions_refuse_nonsense(bad: Callable[[], Any]) -> None:
    with pytest.raises(BudgetError):
        bad()


def test_sigma_squared_is_exact() -> None:
    assert sigma_squared(Fraction(1, 3), Fraction(2)) == 3


def test_the_discrete_gaussian_with_that_sigma_keeps_epsilon_and_delta() -> None:
    # The hockey-stick divergence between the discrete Gaussian and its shift by one, summed over the
    # integers: what a count paid with all of (epsilon, delta) would really leak.
    for epsilon, delta in [(Fraction(1), Fraction(1, 10**6)), (Fraction(1, 4), Fraction(1, 10**9))]:
        variance = float(sigma_squared(rho_of(epsilon, delta), Fraction(1)))
        x = np.arange(-2000, 2001)
        weight = np.exp(-(x**2) / (2 * variance))
        p = weight / weight.sum()
        q = np.roll(p, 1)
        assert np.maximum(p - math.exp(epsilon) * q, 0)[1:].sum() <= float(delta)


def paid_for(*amounts: Fraction, delta: str = "0") -> Receipt:
    charges = tuple(
        Charge(f"release {i}", "laplace", amount, Fraction(delta)) for i, amount in enumerate(amounts)
    )
    paid = Together("release", charges)
    return Receipt(*paid.cost, ADD_REMOVE, Unit(), paid)


def randomised_response_delta(epsilon: float, each: float, times: int) -> float:
    """The exact delta of `times` runs of randomised response (Kairouz, Oh and Viswanath)."""
    truth = math.exp(each) / (1 + math.exp(each))
    total = 0.0
    for k in range(times + 1):
        p = math.comb(times, k) * truth**k * (1 - truth) ** (times - k)
        q = math.comb(times, k) * truth ** (times - k) * (1 - truth) ** k
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


def test_many_small_charges_cost_less_than_their_sum_as_the_optimal_composition_says() -> None:
    receipt = paid_for(*[Fraction(1, 10)] * 100)
    assert receipt.epsilon == 10
    tight = receipt.epsilon_at("1e-6")
    assert randomised_response_delta(tight, 0.1, 100) <= 1e-6
    assert randomised_response_delta(tight - 0.01, 0.1, 100) > 1e-6
    assert receipt.epsilon_at(0) == 10


def test_one_charge_costs_itself() -> None:
    assert paid_for(Fraction(1)).epsilon_at(0) == 1
    assert paid_for(Fraction(1)).epsilon_at("1e-9") == pytest.approx(1, abs=1e-3)
    assert Budget(1).receipt().epsilon_at(0) == 0


def test_charges_with_a_delta_are_set_aside() -> None:
    receipt = paid_for(*[Fraction(1, 10)] * 100, delta="1e-9")
    assert set_aside(receipt.paid) == Fraction(1, 10**7)
    tight = receipt.epsilon_at("1e-6")
    assert randomised_response_delta(tight, 0.1, 100) <= 9e-7
    assert receipt.epsilon_at("1e-7") == 10
    with pytest.raises(UsageError, match="delta of at least that"):
        receipt.epsilon_at("1e-8")


def test_concentrated_payments_compose_under_zcdp() -> None:
    budget = Budget(4, "1e-5")
    rhos = [part.concentrated() for part in budget.evenly(["a", "b", "c", "d"])]
    for rho in rhos:
        rho.spend("discrete gaussian", relation=ADD_REMOVE)
    receipt = budget.receipt()
    together = concentrated_epsilon(float(4 * rhos[0].rho), 1e-5)
    assert together < 2.1 < 4
    assert receipt.epsilon_at("1e-5") == pytest.approx(together, rel=0.02)
    assert set_aside(receipt.paid) == 0
    with pytest.raises(UsageError, match="larger delta"):
        receipt.epsilon_at(0)


def test_disjoint_parts_count_once() -> None:
    budget = Budget(2, "1e-6")
    pure, rest = budget.split(pure="1/2", rest="1/2")
    for part in pure.apart(["a", "b", "c"], because="made up"):
        part.spend("discrete laplace", relation=ADD_REMOVE)
    for part in rest.apart(["d", "e"], because="made up"):
        part.concentrated().spend("discrete gaussian", relation=ADD_REMOVE)
    receipt = budget.receipt()
    event = to_event(receipt.paid)
    names = sorted(type(each).__name__ for each in event.events)
    assert names == ["RandomizedResponseDpEvent", "ZCDpEvent"]
    assert receipt.epsilon_at("1e-6") <= 2


def test_equal_charges_are_counted_not_repeated() -> None:
    event = to_event(paid_for(*[Fraction(1, 1000)] * 5000).paid)
    assert len(event.events) == 1
    assert event.events[0].count == 5000


def test_different_charges_compose_to_less_than_their_sum() -> None:
    receipt = paid_for(*[Fraction(1, 10)] * 50, *[Fraction(1, 20)] * 50, Fraction(1))
    assert 1 < receipt.epsilon_at("1e-6") < 6 < receipt.epsilon


def test_the_best_order_search_finds_the_peak() -> None:
    for peak in (-700, -3, 0, 1, 1999):
        assert accounting._best_order(lambda order, peak=peak: Fraction(-abs(order - peak))) == peak
