"""A noisy matrix of products: all sums of products of two coordinates at once.

Guarantee: pure epsilon.
Why: one unit changes the matrix by a symmetric one whose absolute eigenvalues add up to at most its `trace`
sensitivity t. The difference of two Wishart matrices of rate r costs r t, by the theorem of `laws.matrices`;
what its computation is off by is hidden for a small share of epsilon. Both add up to epsilon.
"""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.matrices import MatrixAround
from penstock.privacy.mechanisms.noise import held
from penstock.privacy.seals.sealed import Sealed, form_of, open_seal

FOR_ROUNDING: Final = Fraction(1, 1000)
"""The share of epsilon that hides how far computed noise is from exact noise."""

MOST_ROWS: Final = 1 << 12
"""Of a matrix; products of its rows are added up in doubles without rounding."""


def noisy(sealed: Sealed[NDArray[Any]], pay: Budget) -> NDArray[np.int64]:
    """A symmetric matrix of whole numbers plus the difference of two Wishart matrices; pays all of `pay`.

    Its sensitivity says by how much its `trace` moves. Only the upper triangle counts: what comes out is
    symmetric, whatever is below it.
    """
    form, trace = form_of(sealed), sealed.sensitivity.trace
    if form.kind not in "iu" or len(form.shape) != 2 or form.shape[0] != form.shape[1]:
        raise UsageError("A matrix of products is square, and holds whole numbers. Nothing was spent.")
    if not 0 < form.shape[0] <= MOST_ROWS:
        raise UsageError(f"A matrix of products has 1 to {MOST_ROWS} rows. Nothing was spent.")
    if not trace:
        raise UsageError("A matrix of products says by how much its trace moves. Nothing was spent.")
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    rate, cover = scales(form.shape[0], trace, epsilon)
    source = pay.spend(
        "difference of Wishart matrices",
        sealed,
        amount=epsilon,
        sensitivity=f"trace {trace}",
        detail=f"{form.shape[0]} rows, rate {plain(rate)}, rounding hidden at scale {plain(cover)}",
    )
    return held(source.draw(MatrixAround(np.asarray(open_seal(sealed)), rate, cover)))


def scales(rows: int, trace: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """The rate of the two matrices, and the scale of the noise that hides rounding: together epsilon."""
    return (1 - FOR_ROUNDING) * epsilon / trace, Fraction(rows * (rows + 1)) / (FOR_ROUNDING * epsilon)


def standard_deviation(rows: int, trace: Fraction, epsilon: Fraction) -> float:
    """Of the noise of an entry off the diagonal; on it, it is the square root of two times as large.

    >>> round(standard_deviation(17, Fraction(20 * 2**20), Fraction(1)) / 2**20, 1)
    60.1
    """
    rate, cover = scales(rows, trace, epsilon)
    return sqrt((rows + 1) / 2 / float(rate) ** 2 + 2 * float(cover) ** 2)
