"""How many rounds a search makes: fixed before the first, from a public number of records or a paid one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed

SIZE_SHARE = Fraction(1, 100)


def about_how_many(
    public: int | None, size: Callable[[], Sealed[NDArray[np.int64]]], budget: Budget
) -> tuple[float, Budget]:
    """About how many records there are, one at least, and what is left of the budget.

    A public number is free; otherwise a hundredth of the budget buys a noisy one.
    """
    if public is not None:
        return float(public), budget
    for_number, rest = budget.split(number_of_records=SIZE_SHARE, everything_else=1 - SIZE_SHARE)
    return max(1.0, float(noise.counts(size(), pay=for_number)[0])), rest


def rounds_of(n: float, pay: Budget, records: int, *, each: float, least: int, most: int) -> int:
    """So many that n records at epsilon have `each` of n epsilon for a round, within public limits.

    Epsilon is what is left of `pay`, for one of the `records` of a unit.

    >>> rounds_of(32_000, Budget("1/2"), 1, each=800, least=1, most=100)
    20
    """
    return min(most, max(least, int(n * float(pay.left[0]) / records / each)))
