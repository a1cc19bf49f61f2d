"""MWEM: a distribution over the whole domain, corrected where it is most wrong.

After Hardt, Ligett and McSherry (2012). Each round chooses a cell of a marginal whose count the current
distribution gets most wrong, measures that count, and moves the distribution towards all measurements made
so far by multiplicative weights.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: the budget is divided evenly over the rounds, half of each for the choice and half for the count. The
count of one cell moves by at most 1 for each record of a unit, and so does its distance from a public
number, which is the score of the choice. The distribution is a function of what was paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import exp, prod
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Whole
from penstock.kinds.table.baselines.full_table import FullTableRelease, all_sums
from penstock.kinds.table.baselines.workload import domain_shape, workload
from penstock.kinds.table.data import Table
from penstock.kinds.table.support import Support
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.seals.sealed import Sealed, join
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.progress import progress
from penstock.schema import Schema

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

STEPS = 256
"""Scores are kept in whole 256ths of a record, so that the choice is exact."""

_HELD = float(1 << 61)

USUAL_WAY = 3
MOST_ROUNDS = 1000
"""Every round goes through all measurements before it, so that their number decides about the time."""

SIZE_SHARE = Fraction(1, 20)
"""Of the budget, for the number of records where the schema does not declare it."""


@dataclass(frozen=True)
class MWEM(Method[Table]):
    """Multiplicative weights over the cells of all marginals of `way` attributes: of three, or of all where
    there are fewer.

    The number of rounds is the budget divided by `per_round`, 1,000 at most, or `rounds` where that is given.
    The release is the mean of the distributions after each round, or the last one.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> budget = Budget(1, randomness=Randomness.seeded(1))
    >>> release = MWEM(way=2, rounds=4, output="last").fit(Table.open(rows, schema), budget)
    >>> release.query("smoker = true and coughs = false").value < 200
    True
    """

    name: ClassVar[str] = "mwem"

    way: Annotated[int | None, Whole(least=1)] = None
    per_round: Annotated[Amount, Exact(above=0)] = Fraction(1, 20)
    rounds: Annotated[int | None, Whole(1, MOST_ROUNDS)] = None
    output: Literal["average", "last"] = "average"

    def fit(self, table: Table, budget: Budget) -> FullTableRelease:
        """Correct the uniform distribution, round after round; spends the whole budget."""
        self.ready(table, budget)
        names = table.schema.names
        way = self._way(table.schema)
        shape = tuple(attribute.size for attribute in table.attributes)
        rounds = self._rounds(budget)
        n = self._size(table, budget)
        sets = list(combinations(range(len(shape)), way))
        counts = join(table.counts([tuple(names[axis] for axis in axes) for axes in sets]))
        support = Support.of(table.schema)
        weights = Weights(shape, n, support.allowed(names) if support.impossible else None)
        mean = np.zeros(shape)
        found: list[tuple[Query, float]] = []
        with progress("correcting the distribution", total=rounds) as step:
            for number, pay in enumerate(
                budget.rest("rounds").evenly([f"round {r + 1}" for r in range(rounds)])
            ):
                choose, measure = pay.split(choice="1/2", count="1/2")
                place = choice.best(self._errors(counts, weights, way), choose, method="exponential")
                noisy = noise.counts(self._one(counts, place), pay=measure)[0]
                found.append((Query.at(place, sets, shape), float(noisy)))
                for query, count in reversed(found):
                    weights.towards(query, count)
                mean += (weights.shares() - mean) / (number + 1)
                step(1)
        return FullTableRelease(
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters=self._said(way, rounds),
            total=n,
            values=mean if self.output == "average" else weights.shares(),
            order="clamp-first",
        )

    def check(self, schema: Schema) -> None:
        """Refuse a domain or marginals that do not fit into memory, and parameters that mean nothing."""
        domain_shape(schema)
        workload(schema, self._way(schema))

    def _way(self, schema: Schema) -> int:
        return min(USUAL_WAY, len(schema.names)) if self.way is None else self.way

    def _rounds(self, budget: Budget) -> int:
        if self.rounds is not None:
            return self.rounds
        return min(MOST_ROUNDS, max(1, int(budget.left[0] // exact(self.per_round))))

    def _said(self, way: int, rounds: int) -> dict[str, object]:
        """For the release: what was set, and how many rounds came of it."""
        said: dict[str, object] = {"way": way, "rounds": rounds, "output": self.output}
        return said if self.rounds is not None else {**said, "per_round": str(exact(self.per_round))}

    def _size(self, table: Table, budget: Budget) -> float:
        if table.public_size is not None:
            return float(table.public_size)
        pay = budget.part("number of records", SIZE_SHARE)
        return float(max(1, noise.counts(table.size(), pay=pay)[0]))

    def _errors(self, counts: Sealed[Counts], weights: Weights, way: int) -> Sealed[Counts]:
        """How far each cell's count is from what the distribution says, sealed."""
        shares = np.concatenate([part.ravel() for _, part in all_sums(weights.shares(), way)])
        # held where no difference can wrap around: noise can make the number of records enormous
        believed = np.minimum(np.rint(STEPS * weights.n * shares), _HELD).astype(np.int64)
        return counts.claim(
            lambda truth: np.abs(believed - STEPS * truth),
            Sensitivity.scores(STEPS * counts.sensitivity.linf, believed.size),
            because="the distance of a count from a public number moves by no more than the count",
        )

    def _one(self, counts: Sealed[Counts], place: int) -> Sealed[Counts]:
        """The count of one cell, sealed."""
        return counts.claim(
            lambda truth: truth[place : place + 1],
            Sensitivity.of(counts.sensitivity.linf),
            shape=(1,),
            because="one of the counts moves by no more than the bound for each of them",
        )


@dataclass(frozen=True)
class Query:
    """One cell of a marginal: a code for each of some axes of the domain."""

    axes: tuple[int, ...]
    codes: tuple[int, ...]

    @classmethod
    def at(cls, place: int, sets: Sequence[tuple[int, ...]], shape: Sequence[int]) -> Query:
        """The cell at a place in the list of all cells of all sets.

        >>> Query.at(5, [(0, 1), (0, 2)], (2, 2, 3))
        Query(axes=(0, 2), codes=(0, 1))
        """
        for axes in sets:
            sizes = [shape[axis] for axis in axes]
            if place < prod(sizes):
                return cls(axes, tuple(int(code) for code in np.unravel_index(place, sizes)))
            place -= prod(sizes)
        raise IndexError(place)

    def cells(self, dimensions: int) -> tuple[int | slice, ...]:
        """An index that selects the cells of the domain in which the query holds."""
        chosen = dict(zip(self.axes, self.codes, strict=True))
        return tuple(chosen.get(axis, slice(None)) for axis in range(dimensions))


class Weights:
    """The current distribution, kept unnormalised so that an update touches the query's cells only.

    It starts even over all cells, or over those that the schema's rules leave possible.
    """

    def __init__(self, shape: tuple[int, ...], n: float, possible: NDArray[np.bool_] | None = None) -> None:
        self.values = np.full(shape, 1.0 / prod(shape)) if possible is None else possible / possible.sum()
        self.mass = 1.0
        self.n = n

    def shares(self) -> Reals:
        return self.values / self.mass

    def towards(self, query: Query, count: float) -> None:
        """One step of multiplicative weights: A(x) times exp(q(x) (count - q(A)) / 2n), normalised."""
        where = query.cells(self.values.ndim)
        before = float(self.values[where].sum())
        # A count that noise has pushed beyond the table cannot pull further than the whole table.
        gap = min(max(count, -self.n), 2 * self.n) - before * self.n / self.mass
        factor = exp(gap / (2 * self.n))
        self.values[where] *= factor
        self.mass += before * (factor - 1.0)
        if not 1e-100 < self.mass < 1e100:
            self.values /= self.mass
            self.mass = 1.0
