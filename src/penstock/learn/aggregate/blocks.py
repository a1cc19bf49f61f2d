"""Records in disjoint blocks, and what an analysis found in each of them, sealed.

Which block a record goes to is decided so that one record can change one block only. Where records come and
go, a record's own values decide, with how many of its like came before it, by a public function with a public
key: whether another record is there moves none of them. Where a record is replaced the number of records is
public, and its place among them decides, by a public order: the record in its place goes to the same block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Handle
from penstock.engine.mixing import mixed
from penstock.privacy.laws.public import AnyBelow, AnyOrder
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]
Analysis = Callable[[NDArray[np.intp]], Reals]

REACH = 1 << 20
"""What is found lies on a lattice that reaches so many steps from the middle of its range."""
KEYS = 1 << 62


@dataclass(frozen=True, eq=False, repr=False)
class Blocks(Handle):
    """Records that are analysed block by block; `values` has a row of numbers for each of them."""

    values: Reals
    relation: Relation

    def __repr__(self) -> str:
        return f"Blocks(sealed, {self.relation.value})"

    def size(self) -> Sealed[Counts]:
        """The number of records, as a vector of one."""
        moves = 1 if self.relation is Relation.ADD_REMOVE else 0
        return Sealed(
            np.array([len(self.values)], dtype=np.int64),
            Sensitivity.of(moves, monotone=True),
            self.relation,
            because="every record is counted once; under replace the number is public and stays as it is",
        )

    def sums(self, many: int, outputs: int, analysis: Analysis, chance: Randomness) -> Sealed[Counts]:
        """For each of so many outputs the sum over all blocks of what an analysis found, in steps.

        `analysis` is given which records are in a block, and finds numbers between -1 and 1. Whatever else
        it finds is moved there, and no number at all is 0: the middle of the range.
        """
        order, block = self._assigned(many, chance)
        ends = np.searchsorted(block, np.arange(many + 1))
        total = np.zeros(outputs, dtype=np.int64)
        for place in range(many):
            found = np.nan_to_num(analysis(order[ends[place] : ends[place + 1]]), nan=0.0)
            total += np.rint(self._held(found) * REACH).astype(np.int64)
        return Sealed(
            total,
            Sensitivity.of(2 * REACH * outputs, linf=2 * REACH, l2_squared=4 * REACH**2 * outputs),
            self.relation,
            because="the number of blocks is public, and a record is in one of them, which neither it nor "
            "any other record decides for the others: so the outputs of one block change, each by no more "
            "than the length of the range that it was moved into",
        )

    def _held(self, found: Reals) -> Reals:
        """Raw: what was found in a block, moved into the range."""
        return np.clip(found, -1.0, 1.0)

    def _assigned(self, many: int, chance: Randomness) -> tuple[NDArray[np.intp], Counts]:
        """Raw: all records block by block, in an order that the file does not decide, and their blocks."""
        if self.relation is Relation.REPLACE:
            order = chance.draw(AnyOrder(len(self.values))).astype(np.intp)
            block = np.arange(len(order)) * many // max(1, len(order))
            return order, block
        bits = np.ascontiguousarray(self.values).view(np.uint64)
        rows = bits.view(np.dtype((np.void, 8 * bits.shape[1]))).ravel()
        order = np.argsort(rows, kind="stable")
        first = np.append(True, rows[order][1:] != rows[order][:-1])[: len(order)]
        starts = np.flatnonzero(first)
        before = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
        key = chance.draw(AnyBelow(KEYS))
        keys = mixed((*bits[order].T, before.astype(np.uint64)), len(order), key)
        block = (keys % np.uint64(many)).astype(np.int64)
        sorted_by = np.argsort(block, kind="stable")
        return order[sorted_by], block[sorted_by]
