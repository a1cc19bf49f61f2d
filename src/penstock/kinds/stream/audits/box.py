"""The box of Algorithm 7 as it is printed: noise that a neighbour's move takes over the edge.

Totals of the noise are whole numbers from -2 Z to 2 Z. Every vector that they give has a probability above 0,
and none beyond. A neighbour's move shifts these vectors, some of them to where no totals in the box lead:
seen there, they tell the neighbours apart for sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from math import exp

from penstock.audit.pan_privacy import Machine
from penstock.kinds.stream.audits.machines import Update

MATRIX = ((1, 0), (0, 1), (1, 2), (2, -1))
LARGEST = 1
EPSILON = 1.0


@cache
def noise() -> dict[tuple[int, ...], float]:
    """The printed law: proportional to exp(-(epsilon / 4) d), d the fewest ids that give a vector."""
    fewest: dict[tuple[int, ...], int] = {}
    for totals in product(range(-2 * LARGEST, 2 * LARGEST + 1), repeat=len(MATRIX)):
        vector = sketch(totals)
        weight = sum(each != 0 for each in totals)
        fewest[vector] = min(weight, fewest.get(vector, weight))
    weights = {vector: exp(-EPSILON / 4 * found) for vector, found in fewest.items()}
    whole = sum(weights.values())
    return {vector: weight / whole for vector, weight in weights.items()}


def sketch(totals: Sequence[int]) -> tuple[int, ...]:
    """The sums of all totals with the factors of the matrix."""
    return tuple(
        sum(total * row[at] for total, row in zip(totals, MATRIX, strict=True))
        for at in range(len(MATRIX[0]))
    )


def machine() -> Machine:
    """The published algorithm; its answer is the sketch with fresh noise, before it is decoded."""

    def step(state: tuple[int, ...], update: Update) -> dict[tuple[int, ...], float]:
        if update is None:
            return {state: 1.0}
        row = MATRIX[update[0]]
        return {tuple(each + update[1] * factor for each, factor in zip(state, row, strict=True)): 1.0}

    def answer(state: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        return {
            tuple(each + more for each, more in zip(state, drawn, strict=True)): share
            for drawn, share in noise().items()
        }

    return Machine(noise(), step, answer)


def lost_mass(first: Sequence[Update], second: Sequence[Update]) -> tuple[float, float]:
    """How much of the first's probability stands where the second has none, and the largest other
    log-ratio."""
    from math import log

    printed = machine()
    one, other = (printed.after(printed.initial, stream) for stream in (first, second))
    lost = sum(share for vector, share in one.items() if vector not in other)
    ratio = max(abs(log(share / other[vector])) for vector, share in one.items() if vector in other)
    return lost, ratio
