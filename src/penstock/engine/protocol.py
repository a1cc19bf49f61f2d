"""What every engine promises, wherever the records are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.engine.directions import Directions
from penstock.engine.marginal import Marginal


@dataclass(frozen=True, eq=False)
class Within:
    """Positions on a coarser lattice: the fields, the bits of each, and one row for each position."""

    names: Sequence[str]
    bits: Sequence[int]
    positions: NDArray[np.int64]


@runtime_checkable
class Engine(Protocol):
    """Raw counting over coded columns.

    Everything except `sizes` is computed from the records and has no protection at all: the
    results are exact. Only `penstock.privacy`, which seals them at once, may call an engine.

    The records were encoded by the schema and the bound on users was applied when the engine was
    opened; values that the schema refuses were refused then. Every engine gives the same numbers.
    """

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of codes of each column: public, from the schema."""
        ...

    def rows(self) -> int:
        """Raw: the number of records, after bounding users."""
        ...

    def counts(self, marginals: Sequence[Marginal]) -> list[NDArray[np.int64]]:
        """Raw: the contingency table of each marginal, flat, its first column slowest.

        All marginals are answered together, in as few passes over the records as pay off.
        """
        ...

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Raw: the distinct rows over `names`, in ascending order, and how many records each has."""
        ...

    def lattice(
        self, names: Sequence[str], bits: int | Sequence[int | None], within: Within | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: occupied positions on a lattice of 2**bits steps per coordinate, and their records.

        Position `q` of a value `x` in its field's bounds [lo, hi] is
        min(floor((x - lo) / (hi - lo) * 2**bits), 2**bits - 1), in double precision on every
        engine; a whole number k stands for [k, k + 1), so `hi` is then one more than the maximum.
        Positions are in ascending order. A record without a value in one of the coordinates has
        no position. `bits` may be given for each field; None asks for the field's code instead.

        `within` restricts the answer to records whose positions on a coarser lattice are listed.
        """
        ...

    def grid(self, names: Sequence[str], bits: int, sides: Sequence[int]) -> NDArray[np.int64]:
        """Raw: the records in every cell of a regular grid, flat in C order, empty cells included.

        Position `q` of 2**bits lies in cell floor(q * side / 2**bits) of its axis. A record without a value
        in one of the coordinates is in no cell.
        """
        ...

    def nearest(
        self, names: Sequence[str], bits: int, centres: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raw: for every centre the records that are nearest to it, and the sums of their positions.

        Centres are rows of half steps of a lattice of 2**bits steps, on which the middle of position `q`
        is 2q + 1. All arithmetic is of whole numbers, so that every engine finds the same centre nearest;
        of several it is the first. A record without a value in one of the coordinates has no centre.
        """
        ...

    def moments(self, names: Sequence[str], bits: int) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Raw: how many records have all of these coordinates, the sums of their positions on a lattice of
        2**bits steps, and the sums of the products of every two of them, a symmetric matrix.

        Lattices are coarse enough for all of these to be exact.
        """
        ...

    def projected(self, names: Sequence[str], directions: Directions) -> Engine:
        """The same records, seen along public directions; those without a value in a coordinate are left out.

        The new engine knows these coordinates only, as numbers within their range.
        """
        ...
