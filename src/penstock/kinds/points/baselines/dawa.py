"""DAWA: a grid in Hilbert order, its even stretches merged before they are counted.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: the partition into stretches is private by the theorem below and paid for by a part of the budget.
The counts of the stretches then get a hierarchy of noisy sums (`greedy`), paid for by the rest.

Theorem (stage 1). Let cost(B) = dev(B) + Z(B) for all candidate stretches B, single cells included, with
dev(B) the sum of |x - mean| over B and Z(B) discrete Laplace noise in steps of 1/|B| of scale D(B)/epsilon,
D(B) = 2 (1 - 1/|B|) + 2. Publishing the partition with the least sum of costs is epsilon-DP.

Proof. One point more in a cell changes dev(B) by at most 2 (1 - 1/|B|) if B covers the cell, and no other.
Exactly one stretch of any partition covers it. Fix all noise but that of B*, the stretch of the published
partition that does. Under the neighbour, its sum of costs has grown by at most 2 (1 - 1/|B*|), and that of
any other partition has fallen by less than 2. So with Z(B*) lower by D(B*), a whole number of steps, the
same partition is the least, ties included. The probability of Z(B*) falls by at most exp(epsilon) for it.
A user with m points: point by point, with noise m times as large.

Software in circulation adds no noise to single cells and too little to the others, which is not private:
see the test of this module for an example.

Reference: C. Li, M. Hay and G. Miklau, "A data- and workload-aware algorithm for range queries under
differential privacy" (VLDB 2014), corrected as above.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import FromPython, Share, Whole
from penstock.errors import SchemaError, UsageError
from penstock.kinds.points.baselines.greedy import greedy_hierarchy
from penstock.kinds.points.baselines.hilbert import hilbert
from penstock.kinds.points.baselines.windows import Windows
from penstock.kinds.points.box import Box, Boxes, Grid, Reals, random_boxes
from penstock.kinds.points.data import Counts, Points
from penstock.kinds.points.grid import GridRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Log
from penstock.privacy.randomness.samplers import discrete_laplace
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.schema import Schema

MOST_BITS = 16
QUESTIONS = 60
MOST_SHARES = 1 << 24
"""Boxes times stretches: of a workload that is longer, evenly spaced boxes are used."""
SIZES = ((0.0001, 0.001), (0.001, 0.01), (0.01, 0.1))


@dataclass(frozen=True)
class Dawa(Method[Points]):
    """A grid of 2**`bits` cells, evenly divided among the axes, merged into even stretches.

    `stretches` is the share of the budget that finds them. `workload` are public boxes that the counts
    should be good for, as rows of lower and of upper corners; without it, boxes of all sizes.

    >>> from penstock.demo import rides, rides_schema
    >>> from penstock.kinds.points.box import Box
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> points = Points.open(rides(500), Schema.from_yaml(rides_schema()))
    >>> release = Dawa(bits=8).fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 20 < release.count(Box((0, 0), (10, 7))).value < 120
    True
    """

    name: ClassVar[str] = "dawa"

    bits: Annotated[int, Whole(1, MOST_BITS)] = MOST_BITS
    stretches: Annotated[Amount, Share()] = "1/4"
    workload: Annotated[Boxes | None, FromPython("rows of lower and of upper corners of boxes")] = None

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds, fewer bits than fields, and a workload that is not made of boxes."""
        domain = Box.of(schema)
        if self.bits < domain.dimensions:
            raise SchemaError("DAWA needs at least one bit for every field. Nothing was spent.")
        self._questions(domain)

    def fit(self, points: Points, budget: Budget) -> GridRelease:
        """Choose the stretches, then count them; spends the whole budget."""
        self.ready(points, budget)
        domain = Box.of(points.schema)
        levels = self.bits // domain.dimensions
        grid = Grid.regular(domain, 1 << levels)
        cells = np.stack(np.unravel_index(np.arange(grid.cells), grid.sides), axis=-1)
        order = np.argsort(hilbert(cells, levels))
        workload = self._questions(domain)
        share = exact(self.stretches, "stretches")
        for_stretches, for_counts = budget.split(stretches=share, counts=1 - share)
        histogram = points.histogram(grid.sides)
        curve = histogram.claim(
            lambda counts: counts[order],
            histogram.sensitivity,
            because="the same cells in another order, that of a public curve",
        )
        starts = least_uneven(curve, for_stretches, length=grid.cells, price=1 / for_counts.epsilon)
        lengths = np.diff(np.append(starts, grid.cells))
        buckets = curve.claim(
            lambda counts: np.add.reduceat(counts, starts),
            curve.sensitivity,
            shape=(len(starts),),
            because="the stretches share no cell: their sums move by no more in all than the cells do",
        )
        questions = _in_buckets(grid, _fewer(workload, MOST_SHARES // len(starts)), order, starts)
        estimates = greedy_hierarchy(buckets, questions, for_counts, len(starts))
        counts = np.empty(grid.cells)
        counts[order] = np.repeat(estimates / lengths, lengths)
        return GridRelease(
            method=self.name,
            schema=points.schema,
            parameters={"bits": self.bits, "stretches": str(share)},
            receipt=budget.receipt(points.schema.unit, points.relation),
            grid=grid,
            counts=counts,
            deviation=None,
        )

    def _questions(self, domain: Box) -> Boxes:
        low, high = np.array(domain.low), np.array(domain.high)
        if self.workload is not None:
            try:
                below, above = (np.atleast_2d(np.asarray(side, dtype=np.float64)) for side in self.workload)
            except (TypeError, ValueError):
                raise UsageError(
                    "workload must be two lists of numbers, the lower and the upper corners of boxes. "
                    "Nothing was spent."
                ) from None
            if below.ndim != 2 or below.shape != above.shape or below.shape[1] != domain.dimensions:
                raise UsageError(
                    "The boxes of the workload must have as many dimensions as the points. Nothing was spent."
                )
            if not len(below) or not np.isfinite([below, above]).all():
                raise UsageError("The workload needs at least one box, and finite bounds. Nothing was spent.")
            return below, above
        rng = np.random.default_rng(0)  # a public choice: any boxes would do
        each = [random_boxes(low, high, volumes, QUESTIONS // len(SIZES), rng) for volumes in SIZES]
        return np.concatenate([a for a, _ in each]), np.concatenate([b for _, b in each])


def least_uneven(sealed: Sealed[Counts], pay: Budget, *, length: int, price: Fraction) -> Counts:
    """Where the stretches of the least noisy cost begin; private by the theorem above, which it pays for.

    Candidates are all stretches whose length is a power of two. Every stretch also costs `price`, what
    the noise of one more count would. Costs are whole multiples of 1 / length and added up exactly.
    """
    epsilon, moves = pay.left[0], sealed.sensitivity.l1
    source = pay.spend("DAWA partition", sealed, detail=f"{length} cells, price {float(price):.6g}")
    return source.draw(Stretches(Windows(open_seal(sealed)), length, price, moves / epsilon))


@dataclass(frozen=True, eq=False)
class Stretches(Law[Counts]):
    """The partition of least noisy cost: noise of D(B) times `scale` on every candidate stretch B."""

    windows: Windows
    length: int
    price: Fraction
    scale: Fraction

    @property
    def public(self) -> Hashable:
        return "stretches", self.length, self.price, self.scale

    @property
    def sizes(self) -> list[int]:
        return [1 << level for level in range(self.length.bit_length())]

    def draw(self, source: Randomness) -> Counts:
        costs: list[list[int]] = []
        each = int(self.price * self.length)
        for size in self.sizes:
            starts = self.length - size + 1
            noise_of_each = discrete_laplace(self._in_steps(size), starts, source)
            # Python's integers: a cost that wrapped around, or was held at an end, would break the theorem.
            costs.append(
                [
                    (steps + more) * (self.length // size) + each
                    for steps, more in zip(self.uneven(size), noise_of_each.tolist(), strict=True)
                ]
            )
        return _cheapest(costs, self.sizes, self.length)

    def log_probability(self, output: Counts) -> Log:
        """An integral over the noise of every stretch, which nobody computes; `loss` has a bound instead."""
        raise NotImplementedError("The chance of a partition has no closed form; compare two of them.")

    def loss(self, output: Counts, other: Law[Counts]) -> Log:
        """An upper bound: the theorem's shift of the noise, with the costs as they are on both sides.

        Let the published partition cost g more on the other records, and every other partition at most f
        less. Whatever noise made it the cheapest here, it is the cheapest there too once the noise of one of
        its stretches is lower by g + f, which makes that noise less likely by exp((g + f) / its scale) at
        most. Any stretch will do, so the one with the largest noise bounds the ratio.
        """
        assert isinstance(other, Stretches)
        grown = [
            [
                (there - here) * (self.length // size)
                for here, there in zip(self.uneven(size), other.uneven(size), strict=True)
            ]
            for size in self.sizes
        ]
        ends = [*output.tolist()[1:], self.length]
        stretches = [(start, end - start) for start, end in zip(output.tolist(), ends, strict=True)]
        own = sum(grown[size.bit_length() - 1][start] for start, size in stretches)
        least = _least_cost(grown, self.sizes, self.length)
        shift = Fraction(own - min(least, own))
        bounds = []
        for _, size in stretches:
            steps = -(-shift // (self.length // size))  # whole steps of this stretch's own lattice
            bounds.append(Fraction(steps) / self._in_steps(size))
        return Log(min(bounds))

    def uneven(self, size: int) -> list[int]:
        """The deviations of all windows of a size, in steps of 1 / size."""
        found: list[int] = self.windows.deviations(size).tolist()
        return found

    def _in_steps(self, size: int) -> Fraction:
        """The noise's scale on stretches of a size, in steps of 1 / size."""
        return (4 * size - 2) * self.scale


def _least_cost(costs: Sequence[Sequence[int]], sizes: list[int], length: int) -> int:
    """The least sum of costs over all partitions."""
    best = [0] * (length + 1)
    for end in range(1, length + 1):
        best[end] = min(
            best[end - size] + cost[end - size]
            for size, cost in zip(sizes, costs, strict=True)
            if size <= end
        )
    return best[length]


def _cheapest(costs: Sequence[Sequence[int]], sizes: list[int], length: int) -> Counts:
    """The first cells of the stretches of least total cost; among equals the last stretch is the shortest."""
    best, last = [0] * (length + 1), [0] * (length + 1)
    for end in range(1, length + 1):
        least = None
        for size, cost in zip(sizes, costs, strict=True):
            if size > end:
                break
            total = best[end - size] + cost[end - size]
            if least is None or total < least:
                least, last[end] = total, size
        assert least is not None
        best[end] = least
    starts, end = [], length
    while end > 0:
        end -= last[end]
        starts.append(end)
    return np.array(starts[::-1], dtype=np.int64)


def _fewer(boxes: Boxes, most: int) -> Boxes:
    """The boxes, or evenly spaced ones of them where there are more than `most`."""
    low, high = boxes
    if len(low) <= most:
        return boxes
    chosen = np.linspace(0, len(low) - 1, most).round().astype(np.int64)
    return low[chosen], high[chosen]


def _in_buckets(grid: Grid, boxes: Boxes, order: Counts, starts: Counts) -> Reals:
    """The share of each stretch that lies in each box."""
    lengths = np.diff(np.append(starts, len(order)))
    rows = []
    for low, high in zip(*boxes, strict=True):
        inside = np.ones(())
        for axis in range(len(grid.sides)):
            edges = grid.edges(axis)
            shared = np.minimum(edges[1:], high[axis]) - np.maximum(edges[:-1], low[axis])
            inside = np.multiply.outer(inside, np.clip(shared / np.diff(edges), 0.0, 1.0))
        rows.append(np.add.reduceat(inside.ravel()[order], starts) / lengths)
    return np.array(rows)
