"""How much error to expect, and what follows from it: rounds, grids, and the parts of a budget.

Everything here is arithmetic with public or paid-for numbers: n points, k centres, d dimensions of a cube
from -1 to 1, and epsilon. Numbers of equations are those of D. Su's thesis, chapter 4.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor, log, sqrt
from typing import Literal

RHO = 0.225
"""How far a coordinate of a centre typically lies from the middle, as a share of the range: estimated by the
author on 81 made-up sets."""
VARIANCE_WEIGHT, ROUND_WEIGHT = 0.14, 0.42
"""What an error of the synopsis and one of the round count for in the error of both: the author's fit."""
POINTS_PER_CELL = 10
TOLERATED = 0.004
"""The squared error that one round may have, all centres together."""
MOST_ROUNDS = 7
FINEST = 1000
"""Shares of a budget are whole thousandths of it."""

Sizing = Literal["eug", "ug", "mkm"]


def count_weight(d: int) -> float:
    """What a count gets of the budget of a round where the sum of one coordinate gets 1 (4.7).

    >>> round(count_weight(2), 4), round(count_weight(6), 4)
    (0.7399, 1.0671)
    """
    return float((4 * d * RHO**2) ** (1 / 3))


def round_error(n: float, k: int, d: int, epsilon: float, rounds: int = 1) -> float:
    """The squared error of a centre after DPLloyd with so many rounds (4.5).

    >>> f"{round_error(100_000, 5, 2, 1.0, 5):.4e}"
    '2.7056e-06'
    """
    return float(2 * d * (1 + (2 * RHO) ** 2) * (k * rounds * (d + 1) / (n * epsilon)) ** 2)


def synopsis_variance(n: float, k: int, d: int, epsilon: float) -> float:
    """The variance of a centre that was found on an EUG grid (4.18).

    >>> f"{synopsis_variance(107_091, 5, 2, 1.0):.4e}"
    '1.2450e-06'
    """
    cells = POINTS_PER_CELL ** (2 * d / (2 + d))
    return float(2 * d * k ** ((d - 2) / d) / (3 * cells * (n * epsilon) ** (4 / (2 + d))))


def synopsis_bias(n: float, d: int, epsilon: float) -> float:
    """A bound on the squared bias of such a centre, because its cells are taken for their middles (4.19)."""
    return float(d / (n * epsilon / POINTS_PER_CELL) ** (4 / (2 + d)))


def least_for_a_round(n: float, k: int, d: int) -> float:
    """The epsilon with which one round has just the tolerated error (4.9).

    >>> round(least_for_a_round(107_091, 5, 2), 5)
    0.01059
    """
    return sqrt(2 * k**3 * (d + count_weight(d)) ** 3 / TOLERATED) / n


def affordable_rounds(n: float, k: int, d: int, epsilon: float) -> int:
    """How many rounds DPLloyd-Impr makes: as many as have the tolerated error each, from 2 to 7.

    >>> affordable_rounds(107_091, 5, 2, 0.05), affordable_rounds(5_000, 15, 2, 0.5)
    (4, 2)
    """
    return min(MOST_ROUNDS, max(2, floor(epsilon / least_for_a_round(n, k, d))))


def cells_wanted(sizing: Sizing, n: float, d: int, epsilon: float) -> float:
    """How many cells a grid should have (4.13 for EUG).

    >>> [round(cells_wanted(name, 48_841, 6, 0.1)) for name in ("eug", "ug", "mkm")]
    [10794, 488, 1812257]
    """
    if sizing == "ug":
        return n * epsilon / POINTS_PER_CELL
    if sizing == "mkm":
        return float((n / sqrt(log(max(n, 2.0)))) ** (2 * d / (2 + d)))
    return float((n * epsilon / POINTS_PER_CELL) ** (2 * d / (2 + d)))


def side(wanted: float, d: int, most: int) -> int:
    """Cells along each of d dimensions: the nearest whole number, and `most` cells in all at most.

    >>> side(10_794, 6, 5_000_000), side(1e9, 3, 1_000_000)
    (5, 100)
    """
    found = max(1, round(min(max(wanted, 1.0), float(most)) ** (1 / d)))
    while found > 1 and found**d > most:
        found -= 1
    return int(found)


def hybrid_error(n: float, k: int, d: int, epsilon: float, share: float) -> float:
    """The error of a synopsis with a share of epsilon and one round with the rest (Algorithm 16)."""
    return VARIANCE_WEIGHT * synopsis_variance(n, k, d, share * epsilon) + ROUND_WEIGHT * round_error(
        n, k, d, (1 - share) * epsilon
    )


def best_share(n: float, k: int, d: int, epsilon: float) -> float:
    """The share of the synopsis with the least error.

    The error is a f**-p + b (1-f)**-2, which is convex: its slope grows, and is zero in one place.

    >>> round(best_share(107_091, 5, 2, 1.0), 4), round(best_share(48_841, 5, 6, 0.05), 3)
    (0.5095, 0.217)
    """
    power = 4 / (2 + d)
    whole = VARIANCE_WEIGHT * synopsis_variance(n, k, d, epsilon) * power
    rest = ROUND_WEIGHT * round_error(n, k, d, epsilon) * 2
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rest * middle ** (power + 1) < whole * (1 - middle) ** 3:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def hybrid_share(rule: Literal["fitted", "half"], n: float, k: int, d: int, epsilon: float) -> Fraction:
    """The share of the synopsis in a hybrid, in thousandths; 1 where a round does not pay.

    "fitted" is Algorithm 16, "half" the rule that the text around it describes.

    >>> hybrid_share("fitted", 48_841, 5, 6, 0.05), hybrid_share("half", 48_841, 5, 6, 0.05)
    (Fraction(217, 1000), Fraction(1, 1))
    """
    alone = synopsis_variance(n, k, d, epsilon)
    if rule == "half":
        return Fraction(1, 2) if round_error(n, k, d, epsilon / 2) < alone else Fraction(1)
    best = best_share(n, k, d, epsilon)
    if hybrid_error(n, k, d, epsilon, best) >= alone:
        return Fraction(1)
    return Fraction(min(FINEST - 1, max(1, round(best * FINEST))), FINEST)


MANY_DIMENSIONS = 10
"""With fewer a tree still cuts every field; with so many, most of them never."""
CLUSTERS_PER_DIRECTION = 2
"""More clusters than so many for every direction lie behind each other along them."""
TOLERATED_SPREAD = 0.22
"""How much noise the spread of points may have along any direction, for directions to be chosen by it."""
FOR_DIRECTIONS, AFTER_DIRECTIONS = Fraction(1, 5), Fraction(2, 5)
"""What paid directions get of the budget, and what a synopsis along directions gets of what is left."""
ROUNDS_AFTER = 2
"""Centres along directions say nothing about the rest of the cube; the first round finds it out."""
RANDOM_DIRECTIONS, PAID_DIRECTIONS = 4, 3


def spread_noise(n: float, d: int, epsilon: float) -> float:
    """About how much noise the spread of points along a direction has, at most, where the moments are paid.

    They are d(d+3)/2 numbers, each with noise of that scale over n epsilon; the norm of a symmetric matrix
    of such entries is about twice the square root of d times their deviation.

    >>> round(spread_noise(50_000, 20, 0.2), 2), round(spread_noise(50_000, 8, 0.2), 2)
    (0.29, 0.04)
    """
    return float(d * (d + 3) / 2 * sqrt(2) * 2 * sqrt(d) / (n * epsilon))


def projection_pays(n: float, k: int, d: int, epsilon: float) -> bool:
    """Whether a tree should grow along directions that are paid for, with so much for everything.

    >>> projection_pays(50_000, 5, 10, 1.0), projection_pays(50_000, 5, 10, 0.1)
    (True, False)
    >>> projection_pays(50_000, 8, 10, 1.0), projection_pays(50_000, 5, 8, 1.0)
    (False, False)
    """
    if d < MANY_DIMENSIONS or k > CLUSTERS_PER_DIRECTION * PAID_DIRECTIONS:
        return False
    return spread_noise(n, d, float(FOR_DIRECTIONS) * epsilon) <= TOLERATED_SPREAD
