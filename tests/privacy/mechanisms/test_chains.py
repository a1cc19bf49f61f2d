"""Chains: nothing is spent that is not left, and parts that share no record each have all of it."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pytest

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.passing import SparseCounts
from penstock.privacy.mechanisms.chains import Chain
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

WHY = "a made-up record lies in one part"


def chain(epsilon: str = "1") -> Chain:
    return Chain.paid(Budget(epsilon, randomness=Randomness.seeded(1)), "parts", detail="for a test")


def counts(*values: int, moves: int = 1, relation: Relation = Relation.ADD_REMOVE) -> Sealed[np.ndarray]:
    return Sealed(np.array(values), Sensitivity.of(moves, monotone=True), relation, because=WHY)


def cells(*values: int) -> Sealed[SparseCounts]:
    table = SparseCounts(np.arange(len(values)), np.array(values, dtype=np.int64), 100)
    return Sealed(table, Sensitivity.of(1), Relation.ADD_REMOVE, because=WHY)


def test_what_is_spent_is_no_longer_left() -> None:
    top = chain()
    top.noisy(counts(5), Fraction(1, 4))
    top.chosen(counts(1, 2), Fraction(1, 4))
    assert top.left == Fraction(1, 2)
    top.several(counts(1, 2, 3), 2, Fraction(1, 8))
    top.passing(cells(9), 3, Fraction(1, 8))
    assert top.left == Fraction(1, 4)
    top.counted(cells(9), 3)
    assert top.left == 0
    with pytest.raises(UsageError, match="something to spend"):
        top.counted(cells(9), 3)


def test_more_than_is_left_is_refused() -> None:
    top = chain()
    with pytest.raises(BudgetError, match="than is left"):
        top.noisy(counts(5), Fraction(11, 10))
    assert top.left == 1


def test_parts_that_share_no_record_each_have_all_that_is_left() -> None:
    top = chain()
    top.noisy(counts(5), Fraction(1, 4))
    one, two = top.apart(2, because=WHY)
    assert (one.left, two.left, top.left) == (Fraction(3, 4), Fraction(3, 4), 0)
    with pytest.raises(UsageError, match="the reason why"):
        one.apart(2, because=" ")


def test_the_whole_is_one_charge_and_a_chain_has_no_copy() -> None:
    budget = Budget(2, randomness=Randomness.seeded(1))
    top = Chain.paid(budget, "parts", detail="for a test")
    top.noisy(counts(5))
    assert len(list(budget.receipt().charges())) == 1
    assert budget.receipt().epsilon == 2
    with pytest.raises(UsageError, match="cannot be copied"):
        copy.copy(top)


def test_values_under_replace_are_refused() -> None:
    with pytest.raises(UsageError, match="add-remove"):
        chain().noisy(counts(5, relation=Relation.REPLACE))


def test_noise_follows_the_sensitivity() -> None:
    """3,000 draws each, of noise whose mean size is 2a/(1 - a^2), a = exp(-1/moves); five deviations wide."""
    many = [np.abs(chain().noisy(counts(*[0] * 3000, moves=moves))).mean() for moves in (1, 50)]
    assert many[0] == pytest.approx(0.851, abs=0.1)
    assert many[1] == pytest.approx(50.0, abs=4.6)
