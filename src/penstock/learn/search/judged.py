"""How good weights are for the records, sealed: what a search compares its candidates by.

A record is a vector that consists of one row of a public table for each column. So whatever the records are,
the largest amount by which one of them can tell two candidates apart is public, and exact: column by column
the row that tells them apart most (`Encoding.furthest`). That is the second of the two sensitivities of the
enhanced exponential mechanism (Zhang and others 2013), over the domain of records; as printed it is taken
over the records that there are, which would give them away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Problem
from penstock.learn.search.losses import Loss
from penstock.learn.search.vectors import Vectors, coarser
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Encoding:
    """Public tables of whole numbers, one for each column: the part of the vector of a record with each code.

    >>> Encoding((np.array([[1, 0], [0, 1]]), np.array([[-3], [3]]))).furthest(np.array([[5, 0, 1]]))
    array([8])
    """

    tables: tuple[Whole, ...]

    @classmethod
    def of(cls, problem: Problem) -> Encoding:
        """The features of a problem, the intercept first."""
        features = problem.features
        return cls((np.array([[features.constant]]), *features.lookups))

    @property
    def width(self) -> int:
        return sum(table.shape[1] for table in self.tables)

    @property
    def largest(self) -> int:
        """The largest number in any of the tables, whatever its sign."""
        return max(int(np.abs(table).max(initial=0)) for table in self.tables)

    def furthest(self, weights: Whole) -> Whole:
        """For each row of weights, the largest product that a record can have with it, whatever its sign."""
        products = self._products(weights)
        found: Whole = np.maximum(self._most(products), self._most(-products))
        return found

    def diameter(self, candidates: Whole) -> int:
        """The most by which the products of one record with two of the candidates differ."""
        products = self._products(candidates)
        return max(int(self._most(products - one).max()) for one in products)

    def _products(self, weights: Whole) -> Whole:
        """What each code of each column adds to the product, a row for each row of weights."""
        parts = np.split(weights, np.cumsum([table.shape[1] for table in self.tables])[:-1], axis=1)
        return np.hstack([part @ table.T for part, table in zip(parts, self.tables, strict=True)])

    def _most(self, products: Whole) -> Whole:
        """The largest sum of one number for each column, row by row."""
        found: Whole = np.maximum.reduceat(products, self._begins, axis=1).sum(axis=1)
        return found

    @cached_property
    def _begins(self) -> Whole:
        """The place of the first code of each column among the codes of all."""
        return np.cumsum([0, *(len(table) for table in self.tables)])[:-1]


@dataclass(frozen=True, eq=False)
class Judged:
    """Records that a loss is asked of: for whole sets of candidates, or for steps from one place.

    `answer` is the label that is told from all others; a number is the only answer of its problem.
    """

    rows: Sealed[CodedRows]
    problem: Problem
    answer: int
    loss: Loss

    def scores(self, candidates: Whole) -> Sealed[Whole]:
        """Minus the sum of the losses of all records, for each candidate."""
        encoding = Encoding.of(self.problem)
        reach = int(encoding.furthest(candidates).max()) + Vectors.furthest(self.problem)
        apart = coarser(self.loss.steepest * encoding.diameter(candidates))
        return self.rows.claim(
            self._raw(lambda vectors: -vectors.sums(candidates, self.loss)),
            Sensitivity.scores(
                self.rows.sensitivity.linf * coarser(self.loss.most(reach)),
                len(candidates),
                monotone=self.rows.relation is Relation.ADD_REMOVE,
                spread=self.rows.sensitivity.l1 * apart,
            ),
            shape=(len(candidates),),
            dtype=np.int64,
            because="a record's loss is no less than 0 and no more than at the furthest product that the "
            "public tables allow, and the losses of one record for two candidates differ by no more than the "
            "steepest slope times the most by which its products with them can differ, in coarser units and "
            "rounded up, since each loss is cut off by itself. Records coming or going move all scores in "
            "one direction; a record in another's place does what both would do",
        )

    def falls(self, here: Whole, step: int) -> Sealed[Whole]:
        """By how much the losses fall with a step along each coordinate, back along each, and staying."""
        encoding = Encoding.of(self.problem)
        moved: Fraction = self.rows.sensitivity.l1 * coarser(self.loss.steepest * step * encoding.largest)
        return self.rows.claim(
            self._raw(lambda vectors: vectors.falls(here, step, self.loss)),
            Sensitivity.scores(moved, 2 * encoding.width + 1),
            shape=(2 * encoding.width + 1,),
            dtype=np.int64,
            because="a step along a coordinate moves the product of a record by the step times a number of "
            "the public tables, and its loss by no more than the steepest slope times that, up or down, in "
            "coarser units and rounded up, since each loss is cut off by itself; a "
            "record in another's place does what both would do",
        )

    def _raw(self, of: Callable[[Vectors], Whole]) -> Callable[[CodedRows], Whole]:
        """What is computed below the seal; the vectors of the records are made once for each answer."""
        key = self.problem.target, self.answer

        def found(rows: CodedRows) -> Whole:
            kept = rows.kept.get("search")
            if kept is None or kept[0] != key:
                kept = rows.kept["search"] = key, Vectors.of(rows, self.problem, self.answer)
            return of(kept[1])

        return found
