"""All pairs of columns told by one noisy matrix, where that has less noise than tables of them.

Guarantee: what is spent here is what one noisy matrix is paid.
Why: every code of a column stands for a vector, and a record for the vectors of all its codes one after the
other, behind one more number that is the same for all. The matrix is the sum over records of v v' for these
v. A record that comes or goes changes it by v v', whose only eigenvalue that is not 0 is the square of the
length of v; which codes it has decides no more than which of the public vectors v is, and the longest is the
bound. One record replaced by another changes it by the difference of two such matrices, m records of a unit
by the sum of m: their absolute eigenvalues add up to no more than those of all of them. So the noise of
`privacy.mechanisms.products` makes it public.

A block of the matrix is the table of a pair between the vectors of its columns: V' T W. The vectors of a
column with r codes are the corners of a regular simplex in r - 1 dimensions, about, on a lattice of whole
numbers. They add up to nothing, so that a block tells of its pair what is left of the table when both its
columns are known, all of it, with about the same noise in every direction. The first row tells of single
columns. So does the block of a column with itself, and of the number of records.

How long the vectors of a column are divides the noise between columns: where a pair has r - 1 times s - 1
directions, and their noise is added up over its r s cells, the sum over all pairs is smallest for squares in
proportion to (r - 1) ** (2/3). The number before them has the square of the root of the number of columns, of
their mean: less would leave single columns too noisy, and more would take too much from pairs.

The noise of the entries is not independent, but has no correlation. With D rows, one of each direction, its
deviation in the table of a pair grows with the number of columns and the square root of D. That of tables one
by one grows with the square of the number of columns. Yes/no columns have a D as small as can be.

What follows is post-processing: least squares for single columns, and each pair put together from them and
from its block. All columns' noise is in every pair, so that a table made here tells only what its columns
have `together` (`network.conditionals.Measured`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, pairwise
from math import hypot, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.confluence.corners import Corners
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import ROUNDED, Measured
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.parents import Parent
from penstock.postprocessing import weighted_mean
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import products
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST_ROWS = 600
"""Of the matrix: the noise of one of that size takes some seconds."""

FINE = 11
"""Binary digits of a vector of unit length. Sums over 2**34 records have room, whatever the columns."""

_ROOM: Final = 1 << 62  # for a sum over all records

_MEAN = 0.8  # mean absolute value of a normal variable, in standard deviations


@dataclass(frozen=True, eq=False)
class Products:
    """The matrix of all columns of a table at these levels, and what it would tell."""

    table: Table
    variables: Sequence[Variable]
    levels: Sequence[int]

    @cached_property
    def parts(self) -> list[Parent]:
        return [Parent(number, level) for number, level in enumerate(self.levels)]

    @cached_property
    def sizes(self) -> list[int]:
        return [self.variables[number].sizes[level] for number, level in self.parts]

    @property
    def rows(self) -> int:
        return 1 + sum(size - 1 for size in self.sizes)

    @cached_property
    def corners(self) -> list[Corners]:
        """Of each column, one for each of its groups."""
        weights = np.array([size - 1 for size in self.sizes], dtype=np.float64) ** (2 / 3)
        lengths = np.sqrt(weights / weights.mean()) * (1 << FINE)
        return [Corners.of(size, length) for size, length in zip(self.sizes, lengths.tolist(), strict=True)]

    @property
    def vectors(self) -> list[Counts]:
        return [each.vectors for each in self.corners]

    @cached_property
    def first(self) -> int:
        """The number that every record has before its vectors."""
        return round(sqrt(sqrt(len(self.sizes))) * (1 << FINE))

    @property
    def sensitivity(self) -> Sensitivity:
        """The longest that a record can be, for each record of a unit, twice where it is replaced."""
        longest = self.first**2 + sum(each.longest for each in self.corners)
        units = self.table.schema.unit.records * (1 if self.table.relation is Relation.ADD_REMOVE else 2)
        # the absolute entries of v v' add up to no more than the square of its length, times the rows
        return Sensitivity.of(longest * units * self.rows, linf=longest * units, trace=longest * units)

    @cached_property
    def _blocks(self) -> list[slice]:
        ends = np.cumsum([1, *(size - 1 for size in self.sizes)])
        return [slice(first, last) for first, last in pairwise(ends.tolist())]

    # How noisy --------------------------------------------------------------------------------------------

    def deviation(self, epsilon: Fraction) -> float:
        """Of the noise of an entry of the matrix."""
        trace = self.sensitivity.trace
        assert trace is not None
        return products.standard_deviation(self.rows, trace, epsilon)

    def noise(self, epsilon: Fraction) -> float:
        """The absolute noise of all cells of all pairs, added up, as if every cell had one of its own."""
        each = [size * one.deviation for size, one in zip(self.sizes, self.corners, strict=True)]
        pairs = (sum(each) ** 2 - sum(one**2 for one in each)) / 2
        return _MEAN * self.deviation(epsilon) * pairs

    def noise_told(self, epsilon: Fraction) -> float:
        """The same, of pairs and columns as they are told: a column has less noise than its pairs."""
        one, two = np.triu_indices(len(self.sizes), 1)
        size = np.array(self.sizes, dtype=np.float64)
        own = np.array([each.deviation for each in self.corners])
        squared = np.array([each.longest for each in self.corners])
        # what the first row says of a column, and its block with itself
        known = squared * self.first**2 * size / (size - 1) + squared**2 / 2 * (1 - 1 / (size - 1) ** 2)
        columns = size * (size - 1) / known
        pairs = (own[one] * own[two]) ** 2 * size[one] * size[two] * (size[one] - 1) * (size[two] - 1)
        return _MEAN * self.deviation(epsilon) * float(np.sqrt(pairs + columns[one] + columns[two]).sum())

    # The look ---------------------------------------------------------------------------------------------

    def sealed(self) -> Sealed[Counts]:
        columns = [self.variables[number].column(level) for number, level in self.parts]
        couples = list(combinations(range(len(columns)), 2))
        return self.table.derive(
            [(columns[a], columns[b]) for a, b in couples],
            lambda counts: self._matrix(dict(zip(couples, counts, strict=True))),
            self.sensitivity,
            shape=(self.rows, self.rows),
            because="a record adds v v' for a vector v that its codes choose among public ones: one "
            "eigenvalue, the square of its length, which is at most that of the longest; a unit of m records "
            "adds m such matrices, one replaced by another takes one away and adds one, and absolute "
            "eigenvalues of a sum add up to no more than those of its terms",
        )

    def _matrix(self, counts: dict[tuple[int, int], Counts]) -> Counts:
        """The sum over all records; more of them than it has room for are refused, since it would wrap.

        Of every record an entry gets a product of two of its numbers, which is at most the square of the
        larger, and so does every sum on the way there.
        """
        records = max(sum(flat.tolist()) for flat in counts.values())  # Python's integers
        if records * max(self.first**2, *(each.longest for each in self.corners)) >= _ROOM:
            raise OverflowError("so many products cannot be added up in 64 bits")
        found = np.zeros((self.rows, self.rows), dtype=np.int64)
        alone: dict[int, Counts] = {}
        for (a, b), flat in counts.items():
            table = flat.astype(np.int64).reshape(self.sizes[a], self.sizes[b])
            one, two = self._blocks[a], self._blocks[b]
            found[one, two] = self.vectors[a].T @ table @ self.vectors[b]
            found[two, one] = found[one, two].T
            alone[a], alone[b] = table.sum(axis=1), table.sum(axis=0)
        for number, column in alone.items():
            mine, vectors = self._blocks[number], self.vectors[number]
            found[0, mine] = found[mine, 0] = self.first * (vectors.T @ column)
            found[mine, mine] = (vectors.T * column) @ vectors
        found[0, 0] = self.first**2 * int(alone[0].sum())
        return found

    def counted(self, pay: Budget) -> list[Measured]:
        """The number of records unless it is public, every column, and every pair."""
        epsilon = pay.left[0]
        return self._told(products.noisy(self.sealed(), pay).astype(np.float64), self.deviation(epsilon))

    def _told(self, matrix: Reals, deviation: float) -> list[Measured]:
        columns = [self._column(matrix, number, deviation) for number in range(len(self.sizes))]
        found, public = [], self.table.public_size
        total = 0.0 if public is None else float(public)
        if public is None:
            sums = [float(matrix[0, 0]) / self.first**2, *(float(counts.sum()) for counts, _ in columns)]
            variances = [2 * (deviation / self.first**2) ** 2, *(float(each.sum()) for _, each in columns)]
            total = weighted_mean(sums, variances)
            found.append(_whole((), np.array(total), sqrt(1 / sum(1 / each for each in variances))))
        shares = []
        for part, (counts, spread) in zip(self.parts, columns, strict=True):
            along = spread.sum(axis=1) / spread.sum()  # what a different total says of every group
            shares.append(counts + along * (total - counts.sum()))
            left = spread - spread.sum() * np.multiply.outer(along, along)
            found.append(_whole((part,), shares[-1], sqrt(float(np.trace(left)) / (len(counts) - 1))))
        for a, b in combinations(range(len(self.sizes)), 2):
            block = matrix[self._blocks[a], self._blocks[b]]
            table = self.corners[a].back @ block @ self.corners[b].back.T
            table += shares[a][:, None] / self.sizes[b] + shares[b] / self.sizes[a]
            table -= total / (self.sizes[a] * self.sizes[b])
            noisy = deviation * self.corners[a].deviation * self.corners[b].deviation
            found.append(_whole((self.parts[a], self.parts[b]), table, noisy))
        return found

    def _column(self, matrix: Reals, number: int, deviation: float) -> tuple[Reals, Reals]:
        """The groups of a column and the covariance of their noise, by least squares over two blocks."""
        mine, vectors = self._blocks[number], self.vectors[number].astype(np.float64)
        upper = np.triu_indices(self.sizes[number] - 1)
        # an entry on the diagonal has twice the variance of others, and there is one of each of these
        times = np.where(upper[0] == upper[1], 1.0, sqrt(2))
        own = np.einsum("ij,ik->ijk", vectors, vectors)[:, upper[0], upper[1]] * times
        with_itself = matrix[mine, mine][upper] * times
        precision = own @ own.T / 2 + vectors @ vectors.T * self.first**2
        wanted = own @ with_itself / 2 + vectors @ matrix[mine, 0] * self.first
        return np.linalg.solve(precision, wanted), np.linalg.inv(precision) * deviation**2


def _whole(parts: tuple[Parent, ...], counts: Reals, deviation: float) -> Measured:
    return Measured(
        parts,
        np.asarray(np.rint(counts), dtype=np.int64),
        hypot(deviation, ROUNDED),
        gaussian=True,
        together=bool(parts),
    )
