"""What two columns have together, counted without what each of them has alone.

Guarantee: what is spent here is what the tables are paid: rho of zero-concentrated differential privacy.
Why: every code of a column has a vector of whole numbers (`corners`), and a record adds the products of the
vectors of its two codes to a matrix. That is a linear map of the table of counts, and how far a record moves
it, in Euclidean length, is computed from the vectors by whole numbers. Discrete Gaussian noise of variance
s / (2 rho) for the square s of that length makes it public.

The matrix of a pair has (r - 1) (s - 1) numbers: all that its table tells when both columns are known. A
table of counts tells what single columns have, and how many records there are, once more with every pair;
where columns are counted first, nobody needs that. Of the square of the length of a record in a table only
(1 - 1 / r) (1 - 1 / s) is left here, a quarter of it for two yes/no columns, and under rho that is what noise
is paid by: added up over all cells, that of a pair with r and s codes is as that of a table with (r - 1)
(s - 1) cells (`packing`). Under epsilon noise is paid by the sum of absolute values, of which a vector of
several numbers has more: beyond a yes/no column with one of up to four codes tables of counts are better, and
where many columns have few codes one matrix of all is better than either (`products`).

What follows is post-processing: a pair is put together from its matrix, and its columns as they are known. A
table made here tells only what its columns have `together` (`network.conditionals.Measured`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import hypot, prod, sqrt
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.corners import Corners
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import ROUNDED, Measured, measure
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.privacy.budgets.accounting import sigma_squared
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]


class Columns(Protocol):
    """What is known of single columns."""

    def expected(self, one: Parent, two: Parent) -> Reals:
        """The counts of a pair if it were independent."""


LENGTH = 256.0
"""Of the vectors. In whole numbers those of 10 codes are off by a two-hundredth, of 128 by a fiftieth."""

_ROOM: Final = 1 << 62  # for a sum over all records


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The matrix of one pair at these numbers of groups."""

    first: Corners
    second: Corners

    @classmethod
    def of(cls, one: int, two: int) -> Contrasts:
        return cls(Corners.of(one, LENGTH), Corners.of(two, LENGTH))

    @property
    def numbers(self) -> int:
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        return self.first.vectors.shape[1], self.second.vectors.shape[1]

    def sensitivity(self, table: Table) -> Sensitivity:
        """Of all numbers: a record that comes adds one product, one that is replaced also takes one away."""
        records, sides = table.schema.unit.records, (self.first, self.second)
        square = prod(each.longest for each in sides)
        sums, largest = prod(each.sum for each in sides), prod(each.largest for each in sides)
        if table.relation is Relation.REPLACE:
            # of a difference: both squares, less twice what they have in common, which may be below zero
            ends = [(int(each.products.min()), int(each.products.max())) for each in sides]
            square = 2 * square - 2 * min(one * two for one, two in product(*ends))
            sums, largest = 2 * sums, 2 * largest
        return Sensitivity.of(sums * records, linf=largest * records, l2_squared=square * records**2)

    def sealed(self, counts: Sealed[Counts], table: Table) -> Sealed[Counts]:
        """The matrix of these counts, flat."""
        return counts.claim(
            self._matrix,
            self.sensitivity(table),
            shape=(self.numbers,),
            because="a record adds the products of the vectors that its two codes choose among public ones, "
            "whose length is at most that of the longest; replaced by another it takes such products away "
            "and adds others, whose difference is no longer than two of the longest that point apart as far "
            "as any can; a unit of m records adds up to m times as much",
        )

    def _matrix(self, flat: Counts) -> Counts:
        """Of so many records that it has no room for them it is refused, since it would wrap."""
        if sum(flat.tolist()) * self.first.largest * self.second.largest >= _ROOM:  # Python's integers
            raise OverflowError("so many products cannot be added up in 64 bits")
        one, two = self.first.vectors, self.second.vectors
        table = flat.reshape(len(one), len(two)).astype(np.int64)
        return np.asarray((one.T @ table @ two).ravel(), dtype=np.int64)

    @cached_property
    def deviation(self) -> float:
        """Of the table, in each direction that it tells, for noise of 1 on every number."""
        return self.first.deviation * self.second.deviation

    def back(self, numbers: Reals) -> Reals:
        """What the two columns have together, in every cell."""
        return np.asarray(self.first.back @ numbers.reshape(self.shape) @ self.second.back.T)


def counted(
    table: Table,
    variables: Sequence[Variable],
    marginals: Sequence[ParentSet],
    budgets: Sequence[Budget | Rho],
    apart: Sequence[bool],
    columns: Columns | None,
) -> list[Measured]:
    """The counts of each marginal; of those that are `apart` only what their two columns have together."""
    tables = [place for place, own in enumerate(apart) if not own]
    found = dict(
        zip(
            tables,
            measure(table, variables, [marginals[at] for at in tables], [budgets[at] for at in tables]),
            strict=True,
        )
    )
    pairs = [place for place, own in enumerate(apart) if own]
    sealed = table.counts(
        [tuple(variables[number].column(level) for number, level in marginals[at]) for at in pairs]
    )
    for at, counts in zip(pairs, sealed, strict=True):
        pay = budgets[at]
        assert isinstance(pay, Rho)
        assert columns is not None
        found[at] = _together(table, variables, marginals[at], counts, pay, columns)
    return [found[place] for place in range(len(marginals))]


def _together(
    table: Table,
    variables: Sequence[Variable],
    parts: ParentSet,
    counts: Sealed[Counts],
    pay: Rho,
    columns: Columns,
) -> Measured:
    one, two = parts
    look = Contrasts.of(*(variables[part.variable].sizes[part.level] for part in parts))
    matrix = look.sealed(counts, table)
    deviation = sqrt(sigma_squared(pay.left, matrix.sensitivity.l2_squared)) * look.deviation
    own = look.back(noise.gaussian(matrix, pay=pay).astype(np.float64))
    alone = columns.expected(one, two)
    both = alone.sum(axis=1, keepdims=True) / alone.shape[1] + alone.sum(axis=0) / alone.shape[0]
    whole = np.asarray(np.rint(own + both - alone.mean()), dtype=np.int64)
    return Measured(parts, whole, hypot(deviation, ROUNDED), gaussian=True, together=True)
