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
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Whole
from penstock.kinds.points.data import COARSE, Counts, Points
from penstock.learn.clusters.packing import uniform_starts
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.unit_box import Reals, UnitBox
from penstock.learn.search.breeding import (
    LEAST_ROUNDS,
    MOST_ROUNDS,
    PARENTS,
    POPULATION,
    RECORDS_PER_CHOICE,
    bred,
    offspring,
)
from penstock.learn.search.rounds import about_how_many, rounds_of
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Schema


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
        rng = np.random.default_rng(0)
        best = bred(
            uniform_starts(self.k, box.dimensions, POPULATION, 0),
            lambda sets: points.distances(_coarse(box, sets)),
            lambda parents: self._children(parents, rng),
            rest.evenly([f"round {number + 1}" for number in range(rounds)]),
        )
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
        n, rest = about_how_many(points.schema.size, points.size, budget)
        each = RECORDS_PER_CHOICE * PARENTS
        records = points.schema.unit.records
        return rounds_of(n, rest, records, each=each, least=LEAST_ROUNDS, most=MOST_ROUNDS), rest

    def _children(self, parents: Reals, rng: np.random.Generator) -> Reals:
        """As many sets as before: tails of two parents exchanged, and one coordinate of each child moved."""
        children = offspring(parents.reshape(len(parents), -1), POPULATION, self.sigma, rng)
        inside: Reals = np.clip(children, -1.0, 1.0)
        return inside.reshape(len(children), *parents.shape[1:])


def _coarse(box: UnitBox, sets: Reals) -> Counts:
    """Sets of centres on the lattice on which distances are summed."""
    found: Counts = np.clip(np.rint((sets - box.offset) * COARSE), -COARSE, COARSE).astype(np.int64)
    return found
