"""An engine whose columns are seen more coarsely: codes merged by public lookups, counted as before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from penstock.engine.directions import Directions
from penstock.engine.marginal import Column, Marginal
from penstock.engine.protocol import Engine, Within


class MergedEngine:
    """Counts over an engine, with some columns seen through a lookup from its codes to fewer ones.

    >>> from penstock.engine import MemoryEngine
    >>> engine = MemoryEngine({"a": np.array([0, 1, 2, 2])}, {"a": 3})
    >>> MergedEngine(engine, {"a": np.array([0, 0, 1])}).counts([("a",)])[0].tolist()
    [2, 2]
    """

    def __init__(self, engine: Engine, lookups: Mapping[str, NDArray[np.integer]]) -> None:
        self._engine = engine
        self._merged = {name: Column.of(name, codes) for name, codes in lookups.items()}
        sizes = {name: int(codes.max()) + 1 for name, codes in lookups.items()}
        self.sizes: Mapping[str, int] = MappingProxyType({**engine.sizes, **sizes})

    def rows(self) -> int:
        """Raw: the number of records."""
        return self._engine.rows()

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest."""
        return self._engine.counts([[self._through(column) for column in marginal] for marginal in marginals])

    def _through(self, column: Column | str) -> Column | str:
        name = column if isinstance(column, str) else column.name
        merged = self._merged.get(name)
        if merged is None or merged.codes is None:
            return column
        if isinstance(column, str) or column.codes is None:
            return merged
        return Column(name, tuple(column.codes[code] for code in merged.codes), column.size)

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Raw: the distinct rows over `names`, in ascending order, and how many records each has."""
        rows, weights = self._engine.distinct(names)
        for number, name in enumerate(names):
            merged = self._merged.get(name)
            if merged is not None and merged.codes is not None:
                rows[:, number] = np.array(merged.codes, dtype=np.uint32)[rows[:, number]]
        if not len(rows):
            return rows, weights
        found, place = np.unique(rows, axis=0, return_inverse=True)
        totals = np.zeros(len(found), dtype=np.int64)
        np.add.at(totals, place.ravel(), weights)
        return found, totals

    def lattice(
        self, names: Sequence[str], bits: int | Sequence[int | None], within: Within | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: occupied lattice positions, which do not depend on bins; see `Engine.lattice`."""
        return self._engine.lattice(names, bits, within)

    def grid(self, names: Sequence[str], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
        """Raw: the records in every cell of a grid, which do not depend on bins; see `Engine.grid`."""
        return self._engine.grid(names, bits, sides)

    def nearest(
        self, names: Sequence[str], bits: int, centres: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records and sums for every centre, which do not depend on bins; see `Engine.nearest`."""
        return self._engine.nearest(names, bits, centres)

    def moments(self, names: Sequence[str], bits: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Raw: records, sums and products, which do not depend on bins; see `Engine.moments`."""
        return self._engine.moments(names, bits)

    def projected(self, names: Sequence[str], directions: Directions) -> Engine:
        """The same records along public directions, which do not depend on bins; see `Engine.projected`."""
        return self._engine.projected(names, directions)
