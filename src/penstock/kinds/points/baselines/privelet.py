"""Privelet*: noise on the Haar coefficients of a fine grid.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: along an axis of m = 2**k cells one point changes the total and one difference on each of k levels,
each by exactly one; along several axes these numbers multiply. So all coefficients together have L1
sensitivity (1 + k) for each transformed axis, and get noise of that scale. Inverting the transform is
post-processing. The coefficients are sums and differences of counts: whole numbers.

A range along a transformed axis then needs few coefficients. Short axes are better left as they are,
which is what the star stands for: an axis stays when m <= (1 + k)**2 (2 + k) / 2.

Reference: X. Xiao, G. Wang and J. Gehrke, "Differential privacy via wavelet transforms" (ICDE 2010;
TKDE 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import SchemaError
from penstock.kinds.points.box import Box, Grid, Reals
from penstock.kinds.points.data import Counts, Points
from penstock.kinds.points.grid import MOST_CELLS, GridRelease
from penstock.kinds.points.space import MOST_FIELDS
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema


@dataclass(frozen=True)
class Privelet(Method[Points]):
    """A grid of 2**`bits` cells, evenly divided among the axes, seen through wavelets.

    `hybrid` leaves short axes untransformed, as Privelet* does; without it all axes are transformed.

    >>> from penstock.demo import rides, rides_schema
    >>> from penstock.kinds.points.box import Box
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> points = Points.open(rides(500), Schema.from_yaml(rides_schema()))
    >>> release = Privelet(bits=8).fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 50 < release.count(Box((0, 0), (10, 7))).value < 150
    True
    """

    name: ClassVar[str] = "privelet"

    bits: Annotated[int, Whole(0, MOST_CELLS.bit_length() - 1)] = 20
    hybrid: bool = True

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds, and more of them than an array has axes."""
        if Box.of(schema).dimensions > MOST_FIELDS:
            raise SchemaError(
                f"Privelet transforms points with at most {MOST_FIELDS} fields, and the schema declares "
                f"{len(schema.fields)}; remove those that nobody will ask about. Nothing was spent."
            )

    def fit(self, points: Points, budget: Budget) -> GridRelease:
        """Noisy coefficients, and the counts behind them; spends the whole budget."""
        self.ready(points, budget)
        domain = Box.of(points.schema)
        levels = self.bits // domain.dimensions
        sides = (1 << levels,) * domain.dimensions
        chosen = [axis for axis in range(len(sides)) if not self.hybrid or transformed(sides[axis])]
        pay = budget.rest("coefficients")
        histogram = points.histogram(sides)
        moves = prod(1 + levels for _ in chosen)
        coefficients = histogram.claim(
            lambda counts: haar(counts.reshape(sides), chosen),
            Sensitivity.of(histogram.sensitivity.l1 * moves, linf=histogram.sensitivity.l1),
            shape=tuple(sides),
            because="a point changes, by one each, a coefficient for every choice of one level per axis, "
            "and a unit of m points changes m times as much",
        )
        noisy = noise.counts(coefficients, pay=pay)
        plain = not chosen
        return GridRelease(
            method=self.name,
            schema=points.schema,
            parameters={"bits": self.bits, "hybrid": self.hybrid},
            receipt=budget.receipt(points.schema.unit, points.relation),
            grid=Grid(domain, sides),
            counts=noisy.ravel() if plain else inverse(noisy.astype(np.float64), chosen).ravel(),
            deviation=noise.standard_deviation(coefficients.sensitivity.l1, pay.epsilon) if plain else None,
        )


def transformed(side: int) -> bool:
    """Whether an axis of this length gains from the transform.

    >>> transformed(1024), transformed(32)
    (True, False)
    """
    levels = side.bit_length() - 1
    return side > Fraction((1 + levels) ** 2 * (2 + levels), 2)


def haar(counts: Counts, axes: Sequence[int]) -> Counts:
    """Total and differences along each of the axes, whose lengths are powers of two.

    >>> haar(np.array([1, 2, 3, 4]), [0]).tolist()
    [10, -4, -1, -1]
    """
    for axis in axes:
        current, found = np.moveaxis(counts, axis, 0), []
        while len(current) > 1:
            found.append(current[0::2] - current[1::2])
            current = current[0::2] + current[1::2]
        counts = np.moveaxis(np.concatenate([current, *reversed(found)]), 0, axis)
    return counts


def inverse(coefficients: Reals, axes: Sequence[int]) -> Reals:
    """The counts behind totals and differences.

    >>> inverse(np.array([10.0, -4.0, -1.0, -1.0]), [0]).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    for axis in axes:
        source = np.moveaxis(coefficients, axis, 0)
        current = source[:1]
        while len(current) < len(source):
            difference = source[len(current) : 2 * len(current)]
            doubled = np.empty((2 * len(current), *current.shape[1:]))
            doubled[0::2], doubled[1::2] = (current + difference) / 2, (current - difference) / 2
            current = doubled
        coefficients = np.moveaxis(current, 0, axis)
    return coefficients
