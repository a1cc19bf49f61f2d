"""Very many marginals of a small joint table: one transform of it, then no more sums over records.

The transform replaces, along every axis, the cells of code 0 by the sums over all codes. A marginal
over some of the columns then stands in those cells whose other codes are 0, with code 0 of its own
columns still to be found by subtraction. So the transform takes a step for each cell of the joint table
and each column, and a marginal then a few for each of its own cells, whatever the number of records.

>>> joint = np.array([[1, 2], [3, 4], [5, 6]])  # of columns 7 and 9
>>> [table.tolist() for table in marginals_of(joint, (7, 9), [(7,), (9,), (9, 7), ()])]
[[3, 7, 11], [9, 12], [1, 3, 5, 2, 4, 6], [21]]
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

_TOGETHER = 1 << 17  # cells worked on at a time, so that they stay in the processor's cache


def marginals_of(joint: Counts, columns: Sequence[int], wanted: Sequence[tuple[int, ...]]) -> list[Counts]:
    """The flat sums of a joint table of these columns (in ascending order) onto each tuple of them."""
    sums = joint.copy()
    for axis in range(joint.ndim):
        _first(sums, axis)[...] += _others(sums, axis)
    sizes, strides = np.array(joint.shape), np.array(sums.strides) // sums.itemsize
    found: dict[int, Counts] = {}
    by_length: dict[int, list[int]] = {}
    for position, marginal in enumerate(wanted):
        by_length.setdefault(len(marginal), []).append(position)
    for length, positions in by_length.items():
        named = np.array([wanted[position] for position in positions], dtype=np.intp)
        axes = np.searchsorted(columns, named.reshape(len(positions), length))
        shapes, group = np.unique(sizes[axes], axis=0, return_inverse=True)
        for number, shape in enumerate(shapes.tolist()):
            members = np.flatnonzero(group.ravel() == number)
            at_once = max(_TOGETHER // prod(shape), 1)
            for start in range(0, len(members), at_once):
                some = members[start : start + at_once]
                tables = _tables(sums.ravel(), shape, strides[axes[some]])
                found |= zip((positions[member] for member in some.tolist()), tables, strict=True)
    return [found[position] for position in range(len(wanted))]


def _tables(sums: Counts, shape: Sequence[int], strides: NDArray[np.int64]) -> Counts:
    """Marginals of one shape, given the stride of each of their columns in the transformed table."""
    places = np.zeros((len(strides), 1), dtype=np.intp)
    for column, size in enumerate(shape):
        codes = strides[:, column, None] * np.arange(size)
        places = (places[:, :, None] + codes[:, None, :]).reshape(len(strides), -1)
    tables = sums[places].reshape(-1, *shape)
    for axis in range(1, tables.ndim):
        _first(tables, axis)[...] -= _others(tables, axis)
    return tables.reshape(len(strides), -1)


def _first(table: Counts, axis: int) -> Counts:
    """The cells with code 0 along an axis, which stays."""
    return table[(slice(None),) * axis + (slice(0, 1),)]


def _others(table: Counts, axis: int) -> Counts:
    """The sums of the cells with any other code, in the shape of `_first`."""
    rest = table[(slice(None),) * axis + (slice(1, None),)]
    return np.asarray(rest if table.shape[axis] == 2 else rest.sum(axis=axis, keepdims=True))
