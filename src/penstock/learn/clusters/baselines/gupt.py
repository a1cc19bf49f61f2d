"""GkM: k-means on disjoint blocks of the points, and noisy means of what the blocks found.

Guarantee: pure epsilon for one point added or removed (or one user with as many points as the schema allows).
Why: one point lies in one block, so it moves one of the values that a coordinate of a centre has in all
blocks. Each of the k d coordinates has an equal part of the budget: half of it for two noisy quartiles, from
which a range follows, and half for the noisy mean of the values, moved into that range.

Reference: P. Mohan, A. Thakurta, E. Shi, D. Song and D. Culler, "GUPT: privacy preserving data analysis made
easy" (SIGMOD 2012), with the noise that its budget asks for and ranges that end with the box, as in D. Su's
thesis.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Whole
from penstock.kinds.points.data import REACH, STEPS, Blocks, Counts, Points
from penstock.learn.clusters.lloyd import lloyd
from penstock.learn.clusters.packing import packed_starts
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.synopsis import Cells
from penstock.learn.clusters.unit_box import Reals, UnitBox
from penstock.learn.search.rounds import about_how_many
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.schema import Schema

MOST_BLOCKS = 5000
ROUNDS = 30
WIDENING = 4
"""The range reaches so many interquartile ranges from its middle, times a power of the number of blocks."""


@dataclass(frozen=True)
class GuptKMeans(Method[Points]):
    """Centres of k clusters by sample and aggregate.

    There are n**`power` blocks, of which each is clustered without noise from the same public start. The
    centres of a block are sorted by their second coordinate, so that those of several blocks can be averaged.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ...   - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> frame = pl.DataFrame({"x": [0.1] * 500 + [0.9] * 500, "y": [0.2] * 500 + [0.7] * 500})
    >>> points = Points.open(frame, schema)
    >>> release = GuptKMeans(k=2).fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(frame).columns
    ['cluster']
    """

    name: ClassVar[str] = "gupt-kmeans"

    k: Annotated[int, Whole(1, 50)] = 5
    power: Annotated[float, Number(least=0.0, most=0.9)] = 0.4

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds."""
        UnitBox.of(schema)

    def fit(self, points: Points, budget: Budget) -> ClustersRelease:
        """Cluster the blocks, and average what they found; spends the whole budget."""
        self.ready(points, budget)
        box = UnitBox.of(points.schema)
        n, rest = about_how_many(points.schema.size, points.size, budget)
        many = min(MOST_BLOCKS, max(1, int(n**self.power + 1e-9)))
        start = packed_starts(self.k, box.dimensions, 1, 0)[0]
        outputs = self.k * box.dimensions
        blocks = points.blocks(many, outputs, lambda rows: _in_order(_clustered(rows, start)))
        parts = rest.evenly([f"coordinate {number + 1}" for number in range(outputs)])
        means = [_mean(blocks, many, output, part) for output, part in enumerate(parts)]
        centres = box.means(np.array(means).reshape(self.k, -1), np.ones(self.k))
        return ClustersRelease(
            method=self.name,
            schema=points.schema,
            parameters={"k": self.k, "power": self.power, "blocks": many},
            receipt=budget.receipt(points.schema.unit, points.relation),
            centres=box.values(centres),
        )


def _clustered(rows: Reals, start: Reals) -> Reals:
    """What Lloyd's algorithm finds in a block, in steps; the start itself where it has too few points."""
    if len(rows) < len(start):
        return start * STEPS
    cells = Cells.of(rows / STEPS, np.ones(len(rows)))
    return lloyd(cells, start[None], ROUNDS)[0].centres * STEPS


def _in_order(centres: Reals) -> Counts:
    """The coordinates of all centres, sorted by a public rule."""
    along = min(1, centres.shape[1] - 1)
    found: Counts = np.rint(centres[np.argsort(centres[:, along], kind="stable")]).astype(np.int64).ravel()
    return found


def _mean(blocks: Blocks, many: int, output: int, pay: Budget) -> float:
    """A noisy mean over the blocks, in steps; spends all of `pay`."""
    lower, upper, for_mean = pay.split(lower_quartile="1/4", upper_quartile="1/4", mean="1/2")
    ends = (-REACH, REACH + 1)
    quartiles = sorted(
        choice.point(blocks.ranks(output, share), *ends, pay=part)
        for share, part in ((Fraction(1, 4), lower), (Fraction(3, 4), upper))
    )
    middle = sum(quartiles) / 2
    reach = WIDENING * many ** (1 / 3 + 0.1) * (quartiles[1] - quartiles[0])
    low, high = int(max(-REACH, middle - reach)), int(min(REACH, middle + reach))
    return float(noise.counts(blocks.clipped_sum(output, low, high), pay=for_mean)[0]) / many
