"""PrivGene: weights of a linear predictor that breed, of which the fitter ones are chosen privately.

Guarantee: pure epsilon for one record added or removed, or replaced (or one user with as many records as the
schema allows).
Why: the records decide in the choices alone. Every round has an equal part of the budget, and chooses ten
vectors of weights with a tenth of it each; the last one chooses the answer. The scores are minus sums of
losses, and one record moves two of them against each other by no more than the steepest slope of the loss
times the most by which a record that the schema allows can tell the two vectors apart; by twice that when it
is replaced. Crossing and mutating public vectors needs no record, and is drawn from public chance.

Reference: J. Zhang, X. Xiao, Y. Yang, Z. Zhang and M. Winslett, "PrivGene: differentially private model
fitting using genetic algorithms" (SIGMOD 2013).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from penstock.contracts.parameters import Number, Whole
from penstock.learn.search.breeding import (
    LEAST_ROUNDS,
    PARENTS,
    POPULATION,
    RECORDS_PER_CHOICE,
    bred,
    offspring,
)
from penstock.learn.search.judged import Judged
from penstock.learn.search.method import LinearSearch, Weights, weight_of_one
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.public import AnyBelow

SEEDS = 1 << 62


@dataclass(frozen=True)
class PrivGene(LinearSearch):
    """A linear predictor of labels or numbers, bred from random weights.

    The first weights lie between -1 and 1, for features between -1 and 1. `population` is how many there are
    in a generation, and `sigma` how far one weight of a child is moved at random in the first round; in the
    last it would be nothing.

    >>> import polars as pl
    >>> from penstock.kinds.table.data import Table
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True, False] * 400, "coughs": [True, False] * 400})
    >>> table = Table.open(frame, schema)
    >>> release = PrivGene(target="coughs").fit(table, Budget(20, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "privgene"

    population: Annotated[int, Whole(2 * PARENTS, 10_000)] = POPULATION
    sigma: Annotated[float, Number(least=0.0, most=10.0)] = 0.5

    def _searched(self, judged: Judged, pay: Sequence[Budget]) -> Weights:
        seed = pay[0].randomness.spawn("population").draw(AnyBelow(SEEDS))
        rng, one = np.random.default_rng(seed), weight_of_one(judged.problem)
        width, generations = judged.problem.features.number, iter(range(1, len(pay)))

        def children(parents: Weights) -> Weights:
            left = 1 - next(generations) / len(pay)
            found = offspring(parents.astype(np.float64), self.population, self.sigma * left * one, rng)
            return np.rint(found).astype(np.int64)

        first = np.rint(rng.uniform(-one, one, (self.population, width))).astype(np.int64)
        return bred(first, judged.scores, children, pay)

    def _settings(self) -> Mapping[str, Any]:
        return {"population": self.population, "sigma": self.sigma}

    @property
    def _each(self) -> tuple[float, int]:
        return RECORDS_PER_CHOICE * PARENTS, LEAST_ROUNDS
