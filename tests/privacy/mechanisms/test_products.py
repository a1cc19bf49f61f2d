"""A noisy matrix of products: what it pays, what it refuses before, and how noisy it says it is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import products
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation


def sealed(matrix: np.ndarray, trace: int | None = 5) -> Sealed[np.ndarray]:
    moves = Sensitivity.of(25, trace=trace)
    return Sealed(matrix, moves, Relation.ADD_REMOVE, because="made up for a test")


def test_the_two_parts_of_the_noise_cost_epsilon_together() -> None:
    for rows, trace, epsilon in ((1, 1, "1"), (17, 2**24, "1/10"), (300, 3, "7")):
        rate, cover = products.scales(rows, Fraction(trace), Fraction(epsilon))
        assert rate * trace + Fraction(rows * (rows + 1)) / cover == Fraction(epsilon)


def test_all_of_a_budget_is_paid_and_the_receipt_says_for_what() -> None:
    budget = Budget("1/2", randomness=Randomness.seeded(0))
    found = products.noisy(sealed(np.zeros((3, 3), np.int64)), budget.rest("matrix"))
    assert found.dtype == np.int64
    assert (found == found.T).all()
    ((_, charge),) = budget.receipt().charges()
    assert (charge.epsilon, charge.sensitivity) == (Fraction(1, 2), "trace 5")
    assert charge.mechanism == "difference of Wishart matrices"


def test_the_stated_deviation_is_that_of_the_noise() -> None:
    """Of 400 draws of a matrix with 15 entries off the diagonal; beyond six deviations."""
    source, trace = Randomness.seeded(1), 1 << 24
    upper = np.triu_indices(6, 1)
    seen = [
        products.noisy(sealed(np.zeros((6, 6), np.int64), trace), Budget(1, randomness=source))[upper]
        for _ in range(400)
    ]
    stated = products.standard_deviation(6, Fraction(trace), Fraction(1))
    assert abs(np.std(seen) / stated - 1) < 0.1


@pytest.mark.parametrize(
    ("matrix", "trace"),
    [
        (np.zeros((2, 3), np.int64), 5),
        (np.zeros(4, np.int64), 5),
        (np.zeros((0, 0), np.int64), 5),
        (np.zeros((2, 2)), 5),
        (np.zeros((2, 2), np.int64), None),
    ],
)
def test_what_is_no_such_matrix_is_refused_before_anything_is_paid(
    matrix: np.ndarray, trace: int | None
) -> None:
    budget = Budget(1)
    with pytest.raises(UsageError, match="Nothing was spent"):
        products.noisy(sealed(matrix, trace), budget)
    assert budget.left[0] == 1


def test_without_a_budget_nothing_is_drawn() -> None:
    budget = Budget(1)
    products.noisy(sealed(np.zeros((2, 2), np.int64)), budget)
    with pytest.raises(BudgetError, match="Nothing"):
        products.noisy(sealed(np.zeros((2, 2), np.int64)), budget)
