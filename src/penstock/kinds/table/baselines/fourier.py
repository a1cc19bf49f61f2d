"""Fourier: the coefficients that all marginals of so many attributes share, each measured once.

Attributes are written in bits of their natural code. For a set S of bits the coefficient is
c_S = sum over records of (-1)^(number of bits in S that are 1), and the count of a bit pattern u on the
bits B is 2^-|B| times the sum over S within B of (-1)^|u and S| c_S. Marginals of `way` attributes need
the sets S that touch at most `way` attributes.

Guarantee: pure epsilon for one unit added or removed, or one record replaced where the schema says so.
Why: a record adds +1 or -1 to each of the M coefficients, so together they have L1 sensitivity M, and at
most 2 M under replace (as published; pairs of records that differ in few bits move fewer of them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod, sqrt
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.kinds.table.baselines.marginals import MarginalsRelease
from penstock.kinds.table.baselines.workload import Subset, workload
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class FourierMarginals(Method[Table]):
    """All marginals of `way` attributes from noisy Fourier coefficients.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> rows = pl.DataFrame({"smoker": [True, False] * 500, "coughs": [True, False] * 500})
    >>> release = FourierMarginals().fit(Table.open(rows, schema), Budget(1, randomness=Randomness.seeded(1)))
    >>> release.query("smoker = true and coughs = false").value < 50
    True
    """

    name: ClassVar[str] = "fourier-marginals"

    way: Annotated[int, Whole(least=1)] = 2

    def fit(self, table: Table, budget: Budget) -> MarginalsRelease:
        """Measure every coefficient once; spends the whole budget."""
        self.ready(table, budget)
        sizes = {attribute.name: attribute.size for attribute in table.attributes}
        sets = workload(table.schema, self.way)
        supports = supports_of(table.schema.names, self.way)
        blocks = [block_shape(support, sizes) for support in supports]
        sealed = coefficients(table, supports)
        pay = budget.rest(f"{sum(prod(shape) for shape in blocks)} coefficients")
        deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
        noisy = noise.counts(sealed, pay=pay).astype(np.float64)
        parts = np.split(noisy, np.cumsum([prod(shape) for shape in blocks])[:-1])
        known = {
            support: part.reshape(shape) for support, part, shape in zip(supports, parts, blocks, strict=True)
        }
        total = float(noisy[0]) if table.public_size is None else float(table.public_size)
        return MarginalsRelease(
            method=self.name,
            schema=table.schema,
            receipt=budget.receipt(table.schema.unit, table.relation),
            parameters={"way": self.way, "coefficients": int(noisy.size)},
            total=max(0.0, total),
            way=self.way,
            estimates=[marginal_from(names, known, sizes) for names in sets],
            deviations=[deviation / sqrt(prod(1 << bits(sizes[name]) for name in names)) for names in sets],
        )

    def check(self, schema: Schema) -> None:
        """Refuse more attributes than there are, and marginals that do not fit into memory."""
        workload(schema, self.way)


def supports_of(names: Sequence[str], way: int) -> list[Subset]:
    """The sets of attributes that a coefficient can touch: at most `way`, the empty set first."""
    return [support for count in range(way + 1) for support in combinations(names, count)]


def block_shape(support: Subset, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The coefficients that touch exactly these attributes: a non-empty set of bits of each.

    >>> block_shape(("age", "sex"), {"age": 5, "sex": 2})
    (7, 1)
    """
    return tuple((1 << bits(sizes[name])) - 1 for name in support)


def bits(size: int) -> int:
    """The number of bits that codes below `size` are written in."""
    return (size - 1).bit_length()


def coefficients(table: Table, supports: Sequence[Subset]) -> Sealed[Counts]:
    """All coefficients of these supports, end to end, sealed."""
    sizes = table.schema.sizes
    counted = [support for support in supports if support]
    first = (table.schema.names[0],)
    count = sum(prod(block_shape(support, sizes)) for support in supports)

    def transformed(counts: list[Counts]) -> Counts:
        tables = dict(zip([first, *counted], counts, strict=True))
        tables[()] = np.array(counts[0].sum())
        return np.concatenate(
            [block(tables[support], [sizes[name] for name in support]).ravel() for support in supports]
        )

    moves = table.schema.unit.records * (1 if table.relation is Relation.ADD_REMOVE else 2)
    return table.derive(
        [first, *counted],
        transformed,
        Sensitivity.of(moves * count, linf=moves, l2_squared=moves**2 * count),
        shape=(count,),
        because="a record adds +1 or -1 to every coefficient: coming or going it moves each by 1, replaced "
        "by another record by 2 at most, and a unit of m records by m times as much",
    )


def block(counts: Counts, sizes: Sequence[int]) -> Counts:
    """The coefficients of a marginal that touch all of its attributes.

    >>> block(np.array([3, 1]), [2]).tolist()
    [2]
    """
    padded = np.zeros([1 << bits(size) for size in sizes], dtype=np.int64)
    padded[tuple(slice(size) for size in sizes)] = counts.reshape(sizes)
    return np.asarray(_signed(padded)[(slice(1, None),) * len(sizes)])


def marginal_from(names: Subset, known: Mapping[Subset, Reals], sizes: Mapping[str, int]) -> Reals:
    """The counts of a marginal from the coefficients of all subsets of its attributes."""
    widths = [1 << bits(sizes[name]) for name in names]
    every = np.zeros(widths)
    for count in range(len(names) + 1):
        for places in combinations(range(len(names)), count):
            where = tuple(slice(1, None) if axis in places else 0 for axis in range(len(names)))
            every[where] = known[tuple(names[place] for place in places)]
    counts = _signed(every) / prod(widths)
    return np.asarray(counts[tuple(slice(sizes[name]) for name in names)])


def _signed(values: NDArray[np.number]) -> NDArray[np.number]:
    """The Walsh-Hadamard transform along every axis; it is its own inverse up to the number of cells."""
    for axis, width in enumerate(values.shape):
        values = np.moveaxis(np.tensordot(_signs(width), values, axes=(1, axis)), 0, axis)
    return values


@cache
def _signs(width: int) -> Counts:
    signs = np.ones((1, 1), dtype=np.int64)
    while len(signs) < width:
        signs = np.block([[signs, signs], [signs, -signs]])
    signs.flags.writeable = False
    return signs
