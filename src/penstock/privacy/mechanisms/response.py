"""Randomised response: every person's own answer is noisy.

Guarantee: local epsilon. Whatever a person's true answer among k, every report has the same probability up to
a factor exp(epsilon), so nobody, not even who collects the reports, learns much about one person.
Why: the truth is reported with probability exp(epsilon)/(exp(epsilon) + k - 1) and each other answer with
probability 1/(exp(epsilon) + k - 1); the ratio of the two is exp(epsilon). Both are drawn exactly.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.coins import Told
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation


def randomise(answers: Sealed[NDArray[Any]], size: int, pay: Budget) -> NDArray[np.int64]:
    """A noisy report for each sealed answer (codes 0 ... size - 1); pays all that is left of `pay`.

    The reports keep the answers' order and number, so the number must be public: relation `replace`. A
    changed code moves by at least 1, so one unit changes at most l1 answers, and each gets epsilon/l1. State
    the sensitivity as the number of answers that one unit gives.
    """
    _check_size(size)
    if answers.relation is not Relation.REPLACE:
        raise UsageError(
            "Randomised response shows how many people answered; use relation 'replace', under which that "
            "number is public. Nothing was spent."
        )
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for randomised response.")
    each = epsilon / max(Fraction(1), answers.sensitivity.l1)
    detail = f"{size} answers, epsilon {plain(each)} each"
    source = pay.spend("randomised response", answers, amount=epsilon, detail=detail)
    return report(open_seal(answers), size, each, source)


def report(answers: ArrayLike, size: int, epsilon: Amount, source: Randomness) -> NDArray[np.int64]:
    """What people who answer 0 ... size - 1 report; run on each person's own side in the local model."""
    _check_size(size)
    strength = _check_epsilon(epsilon)
    truth = np.asarray(answers)
    if truth.dtype.kind not in "iu" or (truth.size and (truth.min() < 0 or truth.max() >= size)):
        raise UsageError(f"Answers must be whole numbers from 0 to {size - 1}.")
    return source.draw(Told(truth, size, strength))


def truth_probability(size: int, epsilon: Amount) -> float:
    """How often the truth is reported.

    >>> round(truth_probability(2, 1), 4)
    0.7311
    """
    _check_size(size)
    return float(1 / (1 + (size - 1) * np.exp(-float(_check_epsilon(epsilon)))))


def estimate(reports: ArrayLike, size: int, epsilon: Amount) -> NDArray[np.float64]:
    """Unbiased estimates of how many people hold each answer; free, since it looks at reports only.

    With p the probability of the truth and q that of each other answer, a count c of n reports has the mean
    t p + (n - t) q where t people hold the answer; solve for t.
    """
    told = np.bincount(np.asarray(reports).ravel(), minlength=size).astype(np.float64)
    p = truth_probability(size, epsilon)
    q = (1 - p) / (size - 1)
    counts: NDArray[np.float64] = (told - told.sum() * q) / (p - q)
    return counts


def _check_size(size: int) -> None:
    if size < 2:
        raise UsageError(f"Randomised response needs at least two possible answers, not {size}.")


def _check_epsilon(epsilon: Amount) -> Fraction:
    strength = exact(epsilon, derived=True)
    if strength <= 0:
        raise BudgetError(f"epsilon must be greater than 0, not {epsilon}.")
    return strength
