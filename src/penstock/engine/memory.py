"""The memory engine: coded columns as NumPy arrays. The reference for all others.

Results are raw and unprotected: only `penstock.privacy` may call this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.coordinates import Coordinate, in_grid, per_field
from penstock.engine.directions import Directions
from penstock.engine.marginal import Columns, Marginal
from penstock.engine.protocol import Within
from penstock.engine.tally import Rows
from penstock.errors import DataError

_SAMPLE = 4096  # rows looked at before all rows are searched for duplicates
_AT_ONCE = 1 << 15  # records whose distances to all centres are held together
_MANY = 64  # marginals from which on duplicates are worth searching for


class MemoryEngine:
    """Counts over columns of codes held in memory.

    >>> engine = MemoryEngine({"a": np.array([0, 1, 1]), "b": np.array([2, 0, 2])}, {"a": 2, "b": 3})
    >>> [table.tolist() for table in engine.counts([("a", "b"), ("b",)])]
    [[0, 0, 1, 1, 0, 1], [1, 0, 2]]

    `coordinates` hold the values (NaN: none) and the public bounds of the fields that `lattice`
    may be asked for.
    """

    def __init__(
        self,
        codes: Mapping[str, NDArray[Any]],
        sizes: Mapping[str, int],
        coordinates: Mapping[str, tuple[NDArray[np.float64], Coordinate]] | None = None,
    ) -> None:
        if set(codes) != set(sizes):
            raise ValueError("every column has codes and a size")
        lengths = {len(column) for column in codes.values()}
        lengths |= {len(values) for values, _ in (coordinates or {}).values()}
        if len(lengths) > 1:
            raise ValueError(f"columns differ in length: {sorted(lengths)}")
        self.sizes: Mapping[str, int] = MappingProxyType(dict(sizes))
        self._columns = Columns(self.sizes)
        self._length = lengths.pop() if lengths else 0
        self._codes = {name: _checked(name, codes[name], size) for name, size in sizes.items()}
        self._coordinates = dict(coordinates or {})
        by_number = {number: self._codes[name] for number, name in enumerate(self.sizes)}
        self._all = Rows(self._columns, by_number, self._length, None)
        self._short: Rows | None = None

    def rows(self) -> int:
        """Raw: the number of records."""
        return self._length

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest."""
        numbers = self._columns.varying(marginals)
        rows = self._all if len(numbers) < _MANY else self._shortened()
        return rows.tally(numbers)

    def codes(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Raw: the codes of some columns, one per record."""
        return {name: self._codes[name] for name in names}

    def weighted(self, names: Sequence[str]) -> tuple[list[NDArray[Any]], NDArray[np.int64] | None]:
        """Raw: columns of codes, and how many records each row stands for; None where it is one.

        The rows are distinct where that makes them a good deal fewer, and all records where it does not.
        """
        rows, place = self._shortened(), {name: number for number, name in enumerate(self.sizes)}
        return [rows.codes[place[name]] for name in names], rows.weights

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Raw: the distinct rows over `names`, in ascending order, and how many records each has."""
        numbers = self._columns.numbers([(name,) for name in names])
        return _distinct(
            [self._codes[name] for name in names], [self._columns.size[n] for (n,) in numbers], self._length
        )

    def lattice(
        self, names: Sequence[str], bits: int | Sequence[int | None], within: Within | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: occupied lattice positions and their numbers of records; see `Engine.lattice`."""
        asked = per_field(names, bits)
        positions = self.places(names, asked)
        sizes = [
            self.sizes[name] if wanted is None else 1 << wanted
            for name, wanted in zip(names, asked, strict=True)
        ]
        if within is not None:
            there = self.places([*names, *within.names], [*asked, *within.bits])
            coarse = np.column_stack(there[len(names) :]).astype(np.int64)
            kept = _among(coarse, within.positions, [1 << wanted for wanted in within.bits])
            positions = [column[kept] for column in there[: len(names)]]
        length = len(positions[0]) if positions else self._length
        cells, weights = _distinct(positions, sizes, length)
        return cells.astype(np.int64), weights

    def places(self, names: Sequence[str], bits: Sequence[int | None]) -> list[NDArray[np.int64]]:
        """Raw: the lattice positions (or codes, where bits are None) of all records that have them."""
        coordinates = {}
        for name, wanted in zip(names, bits, strict=True):
            if wanted is not None:
                if name not in self._coordinates:
                    raise ValueError(f"no coordinate {name!r}; there are {', '.join(self._coordinates)}")
                coordinates[name] = self._coordinates[name]
            elif name not in self._codes:
                raise ValueError(f"no column {name!r}; there are {', '.join(self._codes)}")
        lacking = [np.isnan(values) for values, _ in coordinates.values()]
        some = [each for each in lacking if each.any()]
        present = ~np.logical_or.reduce(some) if some else slice(None)
        return [
            self._codes[name][present].astype(np.int64)
            if wanted is None
            else coordinates[name][1].positions(coordinates[name][0][present], wanted)
            for name, wanted in zip(names, bits, strict=True)
        ]

    def grid(self, names: Sequence[str], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
        """Raw: the records in every cell of a regular grid; see `Engine.grid`."""
        cells = in_grid(self.places(names, [bits] * len(names)), bits, sides)
        return np.bincount(cells, minlength=prod(sides)).astype(np.int64)

    def nearest(
        self, names: Sequence[str], bits: int, centres: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records and sums of positions for every centre; see `Engine.nearest`.

        Doubles hold all of these whole numbers exactly, and are multiplied fastest: a product of positions
        stays below 2**53 for the lattices and the numbers of fields that there are.
        """
        columns = self.places(names, [bits] * len(names))
        many, to = len(centres), centres.astype(np.float64)
        _refuse_inexact(bits, len(names), len(columns[0]))
        # of the squared distance |2p + 1 - c|^2, what differs from centre to centre: |c|^2 - 2 (2p + 1) c
        constant, across = ((to - 2) * to).sum(axis=1)[:, None], -4 * to
        counts, sums = np.zeros(many), np.zeros((many, len(names)))
        held = np.empty((len(names), _AT_ONCE))
        for begin in range(0, len(columns[0]), _AT_ONCE):
            part = held[:, : min(_AT_ONCE, len(columns[0]) - begin)]
            for axis, column in enumerate(columns):
                part[axis] = column[begin : begin + _AT_ONCE]
            apart = across @ part
            apart += constant
            found = np.argmin(apart, axis=0)
            counts += np.bincount(found, minlength=many)
            for axis in range(len(names)):
                sums[:, axis] += np.bincount(found, weights=part[axis], minlength=many)
        return counts.astype(np.int64), sums.astype(np.int64)

    def moments(self, names: Sequence[str], bits: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records, sums and sums of products of positions; see `Engine.moments`."""
        columns = self.places(names, [bits] * len(names))
        _refuse_inexact(2 * bits, 1, len(columns[0]))
        sums, products = np.zeros(len(names)), np.zeros((len(names), len(names)))
        for begin in range(0, len(columns[0]), _AT_ONCE):
            part = np.column_stack([column[begin : begin + _AT_ONCE] for column in columns]).astype(float)
            sums += part.sum(axis=0)
            products += part.T @ part
        return len(columns[0]), sums.astype(np.int64), products.astype(np.int64)

    def projected(self, names: Sequence[str], directions: Directions) -> MemoryEngine:
        """The same records along public directions; see `Engine.projected`."""
        columns = directions.along(self.places(names, [directions.bits] * len(names)))
        named = zip(directions.names, columns, strict=True)
        return MemoryEngine(
            {}, {}, {name: (column.astype(np.float64), directions.coordinate) for name, column in named}
        )

    def _shortened(self) -> Rows:
        """All records as distinct rows with weights, where that is a good deal shorter."""
        if self._short is None:
            self._short = self._all
            columns, sizes = list(self._codes.values()), list(self.sizes.values())
            sample = [column[:_SAMPLE] for column in columns]
            length = min(self._length, _SAMPLE)
            if columns and len(_distinct(sample, sizes, length)[1]) <= length * 3 / 4:
                rows, weights = _distinct(columns, sizes, self._length)
                if len(weights) <= self._length * 3 / 4:
                    codes = {i: np.ascontiguousarray(rows[:, i]) for i in range(len(columns))}
                    self._short = Rows(self._columns, codes, len(weights), weights)
        return self._short


def _checked(name: str, codes: NDArray[Any], size: int) -> NDArray[Any]:
    if not np.issubdtype(codes.dtype, np.integer):
        raise TypeError(f"{name}: codes are integers, not {codes.dtype}")
    outside = (codes < 0) | (codes >= size)
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"{name}: row {row + 1} holds code {int(codes[row])}, the domain has the codes 0 to {size - 1}. "
            "Encode the column with the schema that declares its domain."
        )
    return codes.astype(np.min_scalar_type(max(size - 1, 0)), copy=False)


def _refuse_inexact(bits: int, axes: int, records: int) -> None:
    """Doubles hold whole numbers up to 2**53 only. The number of records is not told."""
    if axes << (2 * bits + 4) >= 1 << 53 or max(1, records) << bits >= 1 << 53:
        raise ValueError(f"a lattice of {bits} bits is too fine for {axes} coordinates of so many records")


def _among(rows: NDArray[np.int64], chosen: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.bool_]:
    """Which rows are among the chosen ones; each column has values below its size."""
    both = np.concatenate([chosen, rows])
    key, radix = np.zeros(len(both), dtype=np.int64), 1
    for column, size in zip(both.T, sizes, strict=True):
        if radix * size >= 1 << 62:
            found, key = np.unique(key, return_inverse=True)
            radix = max(len(found), 1)
        key = key * size + column
        radix *= size
    return np.isin(key[len(chosen) :], key[: len(chosen)])


def _distinct(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], length: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Distinct rows in ascending order with their multiplicities."""
    key = np.zeros(length, dtype=np.int64)
    radix = 1
    for column, size in zip(columns, sizes, strict=True):
        if radix * size >= 1 << 62:
            # The ranks of the keys so far keep their order and fit in fewer digits.
            found, key = np.unique(key, return_inverse=True)
            radix = max(len(found), 1)
        key = key * size + column.astype(np.int64)
        radix *= size
    _, first, weights = np.unique(key, return_index=True, return_counts=True)
    rows = np.empty((len(first), len(columns)), dtype=np.uint32)
    for i, column in enumerate(columns):
        rows[:, i] = column[first]
    return rows, weights.astype(np.int64)
