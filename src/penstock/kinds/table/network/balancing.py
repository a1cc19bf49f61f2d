"""Synthetic rows whose cross tables are nearer to the model than those of independent draws.

Rows that are drawn column by column repeat each conditional table closely (`drawing`), but not the tables of
columns that depend on each other only through others, or not at all: these differ from the model as those of
a random sample do, and for a table of n rows that is as much as n records differ from where they come from.
Nobody gains from that. So once a column is drawn, some rows draw again, from the same distribution given
their parents, and keep the new code where that brings the counts of the column crossed with one or two of the
columns before it nearer to what is expected of these rows. What a model rules out stays ruled out, since both
codes of a row come from its own distribution.

Everything here is post-processing: it knows a model and rows that were drawn from it, and no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.encoding import Codes

Reals = NDArray[np.float64]

SWEEPS = 2
"""So often every row draws again."""

BLOCKS = 1.5
"""Of a sweep, times the square root of the rows: rows of one block are looked at together, and may overshoot
together; by how much cross tables are off grows with that root."""

FILLED = 4
"""Cross tables with more cells than this for each row are not looked at: nearly all of them are empty."""

MOST_WORK = 20_000_000
"""Rows times columns times cross tables of each column, at most."""

MOST_CHANCES = 1 << 26
"""Rows times codes of a column, at most."""


def looks(columns: int, rows: int) -> int:
    """How many cross tables of each column are looked at.

    >>> looks(15, 10_000), looks(500, 50_000)
    (133, 0)
    """
    return MOST_WORK // max(1, rows * columns)


def balanced(
    codes: Codes,
    groups: Codes,
    tables: Reals,
    before: Mapping[int, tuple[Codes, int]],
    most: int,
    rng: np.random.Generator,
) -> Codes:
    """Codes drawn from `tables[groups]`, some of them drawn again for the sake of cross tables.

    `before` are the columns that are drawn already, with their sizes; of their cross tables with this one at
    most `most` are looked at, those with a single column first.
    """
    rows, size = len(codes), tables.shape[1]
    if size < 2 or rows * size > MOST_CHANCES:
        return codes
    places, starts = _cross_tables(before, size, rows, most, rng)
    if not len(starts):
        return codes
    chances = tables[groups]
    heights = np.cumsum(chances, axis=1)
    sums = heights[:, -1:].copy()
    sums[sums <= 0] = 1.0
    heights /= sums
    excess = _excess(codes, chances / sums, places, int(starts[-1]))
    codes, wide = codes.copy(), places.shape[1]
    blocks = min(rows, ceil(BLOCKS * sqrt(rows)))
    for _ in range(SWEEPS):
        for block in np.array_split(rng.permutation(rows), blocks):
            drawn = np.minimum((heights[block] <= rng.random(len(block))[:, None]).sum(axis=1), size - 1)
            other = (drawn != codes[block]) & (chances[block, drawn] > 0)
            block, new = block[other], drawn[other]
            old, cells = codes[block], places[block]
            # half of what the sum of the squares of all excesses would change by
            gain = excess[cells, new[:, None]].sum(axis=1) - excess[cells, old[:, None]].sum(axis=1) + wide
            better = gain < 0
            block, new, old, cells = block[better], new[better], old[better], cells[better]
            np.add.at(excess, (cells, new[:, None]), 1.0)
            np.add.at(excess, (cells, old[:, None]), -1.0)
            codes[block] = new
    return codes


def _cross_tables(
    before: Mapping[int, tuple[Codes, int]], size: int, rows: int, most: int, rng: np.random.Generator
) -> tuple[Codes, Codes]:
    """For each row its place in each cross table, numbered through, and where these tables end."""
    small = [number for number, (_, width) in before.items() if width * size <= FILLED * rows]
    couples = [
        (one, two)
        for one, two in combinations(small, 2)
        if before[one][1] * before[two][1] * size <= FILLED * rows
    ]
    chosen: list[tuple[int, ...]] = [(number,) for number in small]
    chosen += [couples[place] for place in rng.permutation(len(couples))]
    chosen = chosen[:most]
    ends = np.cumsum([np.prod([before[number][1] for number in each]) for each in chosen]).astype(np.int64)
    places = np.empty((rows, len(chosen)), dtype=np.int64)
    for column, each in enumerate(chosen):
        key = np.zeros(rows, dtype=np.int64)
        for number in each:
            seen, width = before[number]
            key = key * width + seen
        places[:, column] = key + (ends[column - 1] if column else 0)
    return places, ends


def _excess(codes: Codes, chances: Reals, places: Codes, cells: int) -> Reals:
    """For every cell of the cross tables and every code: the rows there, less those expected."""
    from scipy.sparse import csr_matrix

    rows, wide = places.shape
    inside = csr_matrix(
        (np.ones(places.size), places.ravel(), np.arange(0, places.size + 1, wide)), shape=(rows, cells)
    )
    away = -chances
    away[np.arange(rows), codes] += 1.0
    return np.ascontiguousarray(inside.T @ away)
