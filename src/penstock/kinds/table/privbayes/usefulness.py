"""How large a marginal may be: theta-usefulness, from public numbers only.

A noisy marginal is theta-useful when its average cell holds at least theta times the average size of
the noise in a cell. A marginal with m cells and m' releases in all has n/m records in an average cell
and noise of scale l1 m'/epsilon2, where l1 is 1 under add-remove and 2 under replace (for a unit of
one record). Everything here is exact rational arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

MOST_CANDIDATES = 400_000
"""Candidates that a network is chosen from when nobody says how large its degree may be."""

MOST_POSSIBLE = 2_000_000
"""Candidates that fit into memory with their scores."""


def usefulness(n: int, epsilon2: Fraction, attributes: int, k: int, l1: Fraction | int = 2) -> Fraction:
    """Of the (k+1)-way marginals of a binary network of degree k, of which there are d - k.

    >>> round(float(usefulness(21574, Fraction(7, 100), 16, 1)), 3)
    12.585
    """
    return n * epsilon2 / (Fraction(l1) * (attributes - k) * (2 << k))


def degree(
    n: int,
    epsilon2: Fraction,
    attributes: int,
    theta: Fraction,
    l1: Fraction | int = 2,
    largest: int | None = None,
) -> int:
    """The largest degree whose marginals are theta-useful; 0 when not even pairs are.

    >>> degree(21574, Fraction(7, 10) * Fraction(1, 10), 16, Fraction(4))
    2
    """
    top = attributes - 1 if largest is None else min(attributes - 1, largest)
    useful = [k for k in range(1, top + 1) if usefulness(n, epsilon2, attributes, k, l1) >= theta]
    return max(useful, default=0)


def candidates(attributes: int, k: int) -> int:
    """How many candidates are scored in all rounds of a binary network of degree k.

    >>> candidates(16, 6), candidates(23, 4)
    (24375, 134659)
    """
    return comb(attributes + 1, k + 2) + sum(attributes - i for i in range(1, k))


def affordable(attributes: int, most: int = MOST_CANDIDATES) -> int:
    """The largest degree whose candidates are no more than `most`; for computing time, never for privacy.

    Degrees are taken in turn: the number of candidates falls again for very large ones.
    """
    k = 0
    while k < attributes - 1 and candidates(attributes, k + 1) <= most:
        k += 1
    return k


def cell_limit(n: int, epsilon2: Fraction, attributes: int, theta: Fraction, l1: Fraction | int = 2) -> int:
    """The largest number of cells T that a theta-useful marginal has when all d are materialised.

    Domain sizes are whole numbers, so the floor of T loses nothing.

    >>> cell_limit(45222, Fraction(7, 10) * Fraction(8, 10), 15, Fraction(4))
    211
    """
    limit = n * epsilon2 / (Fraction(l1) * attributes * theta)
    return max(0, limit.numerator // limit.denominator)
