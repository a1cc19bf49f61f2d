"""Records as vectors on a lattice, and the sums of their losses that a search compares.

All of it is raw: only what `judged` seals leaves this room. Every sum is one of whole numbers, so that it is
the same in whatever order the records come.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Problem
from penstock.learn.search.losses import STEP_BITS, WEIGHT_BITS, Loss

Whole = NDArray[np.int64]

AT_ONCE = 1 << 18
"""So many losses are held at a time."""
LIMIT = 16 << STEP_BITS
"""Arguments of a loss are moved into this range, which brings none of them further apart."""
COARSER = 8
"""The loss of a record is cut off to units that are so many bits coarser, before losses are added up."""
MOST_RECORDS = 1 << 36
"""The sums of the losses of so many records fit into 64 bits: no slope is steeper than 2**8."""


@dataclass(frozen=True, eq=False, repr=False)
class Vectors:
    """A loss for every vector of weights: of `columns` times the weights, minus `apart`, `times` each.

    `columns` is a sparse matrix of whole numbers, a row for each distinct record. For a label the row is the
    record's features, or minus them, and nothing is taken off; for a number that is what is predicted.
    """

    columns: Any
    apart: Whole
    times: Whole

    def __post_init__(self) -> None:
        if int(self.times.sum()) > MOST_RECORDS:
            raise OverflowError("so many losses cannot be added up in 64 bits")

    @classmethod
    def of(cls, rows: CodedRows, problem: Problem, answer: int) -> Vectors:
        """The records as a problem sees them; for labels the answer is told from all others."""
        from scipy import sparse

        features, examples = problem.features, problem.examples(rows)
        blocks = [sparse.csr_array(np.full((rows.length, 1), features.constant))]
        for name, table in zip(features.names, features.lookups, strict=True):
            blocks.append(sparse.csr_array(table)[np.asarray(rows.codes[name], dtype=np.int64)])
        columns = sparse.hstack(blocks, format="csr")
        counted = np.ones(rows.length) if examples.weights is None else examples.weights
        times = counted.astype(np.int64)
        if problem.task == "numbers":
            return cls(columns, problem.values[examples.codes] << WEIGHT_BITS, times)
        columns.data *= np.repeat(examples.signs(answer).astype(np.int64), np.diff(columns.indptr))
        return cls(columns, np.zeros(rows.length, dtype=np.int64), times)

    @cached_property
    def _by_column(self) -> Any:
        return self.columns.tocsc()

    @staticmethod
    def furthest(problem: Problem) -> int:
        """The largest number that is taken off a product; public."""
        return int(np.abs(problem.values).max(initial=0)) << WEIGHT_BITS

    def sums(self, candidates: Whole, loss: Loss) -> Whole:
        """The sum of the losses of all records, for each candidate."""
        found = np.zeros(len(candidates), dtype=np.int64)
        rows = max(1, AT_ONCE // max(1, len(candidates)))
        for begin in range(0, len(self.times), rows):
            part = slice(begin, begin + rows)
            arguments = self.columns[part] @ candidates.T - self.apart[part, None]
            found += self.times[part] @ _within(loss, arguments)
        return found

    def falls(self, here: Whole, step: int, loss: Loss) -> Whole:
        """By how much the sum falls with a step forward along each coordinate, back along each, and staying.

        A step along a coordinate changes the loss of those records only that have something there.
        """
        arguments, columns = self.columns @ here - self.apart, self._by_column
        before = _within(loss, arguments)
        found = np.zeros(2 * len(here) + 1, dtype=np.int64)
        for place in range(len(here)):
            inside = slice(columns.indptr[place], columns.indptr[place + 1])
            rows, moved = columns.indices[inside], columns.data[inside] * step
            for number, way in ((place, moved), (place + len(here), -moved)):
                after = _within(loss, arguments[rows] + way)
                found[number] = self.times[rows] @ (before[rows] - after)
        return found


def coarser(amount: int) -> int:
    """The most that two losses can differ by after they were cut off, where they differed by so much before.

    >>> coarser(0), coarser(1), coarser(256), coarser(257)
    (0, 1, 1, 2)
    """
    return -(-amount >> COARSER)


def _within(loss: Loss, arguments: Whole) -> Whole:
    """The losses of arguments that were moved into the range that sums have room for, each cut off."""
    return loss.of(np.clip(arguments, -LIMIT, LIMIT)) >> COARSER
