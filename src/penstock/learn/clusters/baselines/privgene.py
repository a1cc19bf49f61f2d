"""PGkM: sets of centres that breed, of which the fitter ones are chosen privately.

Guarantee: pure epsilon for one point added or removed (or one user with as many points as the schema allows).
Why: the records decide in the choices alone. Each is made by the exponential mechanism, whose scores, minus
sums of squared distances, all move in one direction and none by more than the squared diagonal of the box.
Every round has an equal part of the budget, and chooses ten sets with a tenth of it each. Crossing and
mutating public sets needs no record.

Reference: J. Zhang, X. Xiao, Y. Yang, Z. Zhang and M. Winslett, "PrivGene: differentially private model
fitting using genetic algorithms" (SIGMOD 2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Whole
from penstock.kinds.points.data import COARSE, Counts, Points
from penstock.learn.clusters.packing import uniform_starts
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.unit_box import Reals, UnitBox
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.schema import Schema

SIZE_SHARE = Fraction(1, 100)
POPULATION = 200
CHOSEN = 10
LEAST_ROUNDS, MOST_ROUNDS = 8, 200
POINTS_PER_ROUND = 800


@dataclass(frozen=True)
class PrivGeneKMeans(Method[Points]):
    """Centres of k clusters by a genetic algorithm.

    `rounds` is the number of choices (None: n epsilon / 8000, eight at least), `sigma` how far a coordinate
    of a child is moved at random, where the box is a cube from -1 to 1.

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
    >>> release = PrivGeneKMeans(k=2).fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(frame).columns
    ['cluster']
    """

    name: ClassVar[str] = "privgene-kmeans"

    k: Annotated[int, Whole(1, 50)] = 5
    rounds: Annotated[int | None, Whole(1, MOST_ROUNDS)] = None
    sigma: Annotated[float, Number(least=0.0, most=2.0)] = 0.2

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds."""
        UnitBox.of(schema)

    def fit(self, points: Points, budget: Budget) -> ClustersRelease:
        """Breed sets of centres, and choose one at the end; spends the whole budget."""
        self.ready(points, budget)
        box = UnitBox.of(points.schema)
        rounds, rest = self._rounds(points, budget)
        *choices, last = rest.evenly([f"round {number + 1}" for number in range(rounds)])
        rng = np.random.default_rng(0)
        sets = uniform_starts(self.k, box.dimensions, POPULATION, 0)
        for pay in choices:
            scores = points.distances(_coarse(box, sets))
            parents = sets[choice.best_several(scores, CHOSEN, pay=pay, method="exponential")]
            sets = self._children(parents, rng)
        best = sets[choice.best(points.distances(_coarse(box, sets)), pay=last, method="exponential")]
        return ClustersRelease(
            method=self.name,
            schema=points.schema,
            parameters={"k": self.k, "rounds": rounds, "sigma": self.sigma},
            receipt=budget.receipt(points.schema.unit, points.relation),
            centres=box.values(best),
        )

    def _rounds(self, points: Points, budget: Budget) -> tuple[int, Budget]:
        """How many choices are made, and what is left of the budget for them."""
        if self.rounds is not None:
            return self.rounds, budget
        n, rest = float(points.schema.size or 0), budget
        if points.schema.size is None:
            for_number, rest = budget.split(number_of_points=SIZE_SHARE, choices=1 - SIZE_SHARE)
            n = max(1.0, float(noise.counts(points.size(), pay=for_number)[0]))
        epsilon = float(rest.left[0]) / points.schema.unit.records
        wanted = int(n * epsilon / (POINTS_PER_ROUND * CHOSEN))
        return min(MOST_ROUNDS, max(LEAST_ROUNDS, wanted)), rest

    def _children(self, parents: Reals, rng: np.random.Generator) -> Reals:
        """As many sets as before: tails of two parents exchanged, and one coordinate of each child moved."""
        flat = parents.reshape(len(parents), -1)
        length, pairs = flat.shape[1], POPULATION // 2
        one, two = (flat[rng.integers(len(flat), size=pairs)] for _ in range(2))
        tail = np.arange(length) >= rng.integers(1, max(2, length), size=pairs)[:, None]
        children = np.concatenate([np.where(tail, two, one), np.where(tail, one, two)])
        moved = rng.integers(length, size=len(children))
        children[np.arange(len(children)), moved] += rng.normal(0.0, self.sigma, len(children))
        inside: Reals = np.clip(children, -1.0, 1.0)
        return inside.reshape(len(children), *parents.shape[1:])


def _coarse(box: UnitBox, sets: Reals) -> Counts:
    """Sets of centres on the lattice on which distances are summed."""
    found: Counts = np.clip(np.rint((sets - box.offset) * COARSE), -COARSE, COARSE).astype(np.int64)
    return found
