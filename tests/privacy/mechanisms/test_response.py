"""Randomised response: exact probabilities, a paid mechanism, an unbiased estimate.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.privacy.goodness import fits

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws import coins
from penstock.privacy.mechanisms import response
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

MANY = 60_000


def answers(
    codes: object, moves: int = 1, relation: Relation = Relation.REPLACE
) -> Sealed[NDArray[np.int64]]:
    return Sealed(
        np.asarray(codes), Sensitivity.of(moves), relation, because="a person gives so many answers"
    )


@pytest.mark.parametrize("size", [2, 3, 10])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4"])
def test_truth_and_lies_have_the_exact_probabilities(size: int, epsilon: str) -> None:
    told = response.report(np.full(MANY, size - 1), size, epsilon, Randomness.seeded(1))
    lie = 1 / (exp(Fraction(epsilon)) + size - 1)
    law = np.full(size, lie)
    law[-1] = exp(Fraction(epsilon)) * lie
    assert fits(np.bincount(told, minlength=size), law)
    # The mutant with twice the epsilon is told apart by the same check.
    wrong = response.report(np.full(MANY, size - 1), size, 2 * Fraction(epsilon), Randomness.seeded(1))
    assert not fits(np.bincount(wrong, minlength=size), law)


def test_the_coin_is_cut_exactly_where_the_formula_says() -> None:
    """floor(2**bits p) by integers against p by 50 decimals, at 64 and at 128 bits."""
    from decimal import Context, Decimal

    digits = Context(prec=60)
    for size, epsilon in ((2, Fraction(1)), (5, Fraction(7, 3)), (1000, Fraction(1, 9))):
        power = digits.exp(digits.divide(Decimal(-epsilon.numerator), Decimal(epsilon.denominator)))
        p = digits.divide(Decimal(1), digits.add(Decimal(1), digits.multiply(Decimal(size - 1), power)))
        floor = coins.favoured(epsilon, Fraction(size - 1))._floor
        for bits in (64, 128):
            assert floor(0, bits) == int(digits.multiply(Decimal(2**bits), p))


def test_the_worked_number_of_binary_response() -> None:
    assert response.truth_probability(2, log(3)) == pytest.approx(0.75)
    assert response.truth_probability(4, 2) == pytest.approx(exp(2) / (exp(2) + 3))


def test_the_log_ratio_of_any_report_is_at_most_epsilon() -> None:
    for size, epsilon in ((2, 1.0), (7, 0.3), (3, 5.0)):
        p = response.truth_probability(size, epsilon)
        assert log(p / ((1 - p) / (size - 1))) == pytest.approx(epsilon)


def test_reports_are_paid_for_and_keep_their_order() -> None:
    whole = Budget(100)
    codes = np.arange(500) % 4
    assert np.array_equal(
        response.randomise(answers(codes), 4, whole), codes
    )  # a lie has probability 3 e**-100
    (charge,) = whole.receipt().paid.parts
    assert (charge.mechanism, charge.detail) == ("randomised response", "4 answers, epsilon 100 each")


def test_a_unit_of_several_answers_divides_its_epsilon_among_them() -> None:
    told = response.randomise(
        answers(np.zeros(MANY, dtype=np.int64), 3), 2, Budget(3, randomness=Randomness.seeded(2))
    )
    p = response.truth_probability(2, 1)
    assert fits(np.bincount(told, minlength=2), [p, 1 - p])


def test_the_estimate_is_unbiased() -> None:
    """Counts 30000, 20000, 10000: each estimate within 5.5 of its standard deviations (below 1e-6)."""
    truth = np.repeat([0, 1, 2], [30_000, 20_000, 10_000])
    told = response.report(truth, 3, 1, Randomness.seeded(3))
    p = response.truth_probability(3, 1)
    deviation = (MANY * 0.25) ** 0.5 / (p - (1 - p) / 2)
    assert np.all(np.abs(response.estimate(told, 3, 1) - [30_000, 20_000, 10_000]) < 5.5 * deviation)
    assert response.estimate(told, 3, 1).sum() == pytest.approx(MANY)


def test_what_is_refused_costs_nothing() -> None:
    whole = Budget(1)
    with pytest.raises(UsageError, match="replace"):
        response.randomise(answers([0, 1], relation=Relation.ADD_REMOVE), 2, whole)
    with pytest.raises(UsageError, match="two possible answers"):
        response.randomise(answers([0, 0]), 1, whole)
    assert whole.left[0] == 1
    for codes in ([0, 5], [-1], [0.5]):
        with pytest.raises(UsageError, match="whole numbers"):
            response.report(codes, 2, 1, Randomness.seeded(1))
    with pytest.raises(BudgetError, match="greater than 0"):
        response.report([0], 2, 0, Randomness.seeded(1))
    response.randomise(answers([0, 1]), 2, whole)
    with pytest.raises(BudgetError, match="Nothing is left"):
        response.randomise(answers([0, 1]), 2, whole)
