"""Candidate grids: one level of every column's hierarchy each, listed without looking at a record.

A grid names the columns that are not at their root, each with its level. Grids are found level by level: all
that look at no column, at one, at two, in the order of columns and levels, each of them once. A grid with
more than `most_cells` cells is left out, and so is whatever extends it, because another column never makes
the cells fewer. At most `most_grids` are listed, so the order matters where that many are found.

Ways to make more of a list that is cut short. Where only the `finest` levels are listed, a grid stands for
all that see the same columns more coarsely: noise bounds the number of cells, and a grid is left out where
one of its columns could be seen one level finer within that bound. With `even` levels there is one grid for
every set of columns, refined column after column for as long as the bound allows. A `beam` lists grids of
every number of columns: of each number no more than half of what there is still room for, spread evenly over
all that extend what was kept of the number before. And once a grid is chosen, `around` lists those that
differ from it by little, however many columns it looks at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from math import prod
from operator import mul
from typing import Literal

import numpy as np

from penstock.engine import Marginal
from penstock.learn.classification.partition import Hierarchy, Partition

Grid = tuple[tuple[int, int], ...]
"""The number and the level of every column that a grid looks at."""
Levels = Literal["all", "finest", "even"]
Search = Literal["first", "beam"]

LOOKED_AT = 10
"""So many times `most_grids` are looked at in search of those that are listed."""

Sized = tuple[Grid, int]
"""A grid, and how many cells it has."""


def grids(
    sizes: Sequence[Sequence[int]],
    most_cells: int,
    most_grids: int,
    *,
    levels: Levels = "all",
    search: Search = "first",
) -> list[Grid]:
    """The grids over columns whose levels have these sizes (the root's, 1, first), the root grid first.

    >>> grids([(1, 2), (1, 3, 9)], most_cells=6, most_grids=10)
    [(), ((0, 1),), ((1, 1),), ((0, 1), (1, 1))]
    >>> grids([(1, 2), (1, 3, 9)], most_cells=12, most_grids=10, levels="finest")
    [(), ((0, 1),), ((1, 2),), ((0, 1), (1, 1))]
    >>> grids([(1, 2), (1, 2), (1, 2)], most_cells=8, most_grids=7, search="beam")
    [(), ((0, 1),), ((1, 1),), ((2, 1),), ((0, 1), (1, 1)), ((0, 1), (2, 1)), ((0, 1), (1, 1), (2, 1))]
    """
    found: list[Grid] = [()]
    frontier: list[Sized] = [((), 1)]
    longest, looked = _longest(sizes, most_cells), 1
    for columns in range(1, longest + 1):
        room = most_grids - len(found)
        if room <= 0:
            break
        width = room if columns == longest else (room + 1) // 2
        if search == "beam":
            frontier = _spread(frontier, max(1, LOOKED_AT * width // _choices(sizes)))
        most = room if levels != "finest" and search == "first" else LOOKED_AT * most_grids - looked
        following = list(islice(_extended(frontier, sizes, most_cells, coarsest=levels == "even"), most))
        looked += len(following)
        kept = following
        if levels == "finest":
            kept = [each for each in following if _finest(*each, sizes, most_cells)]
        elif levels == "even":
            kept = [_refined(*each, sizes, most_cells) for each in following]
        if search == "beam":
            following, kept = _spread(following, width), _spread(kept, width)
        found += [grid for grid, _ in kept[:room]]
        frontier = following
    return found


def _longest(sizes: Sequence[Sequence[int]], most_cells: int) -> int:
    """How many columns a grid may look at: those that have the smallest levels."""
    smallest = sorted(column[1] for column in sizes if len(column) > 1)
    return sum(cells <= most_cells for cells in accumulate(smallest, mul))


def _choices(sizes: Sequence[Sequence[int]]) -> int:
    """In how many ways a grid can be extended, at most."""
    return max(1, sum(len(column) - 1 for column in sizes))


def _extended(
    frontier: Sequence[Sized], sizes: Sequence[Sequence[int]], most_cells: int, *, coarsest: bool
) -> Iterator[Sized]:
    """Each grid with one column more, behind its last one; at every level, or at the coarsest only."""
    steps = [
        [((column, level), size) for level, size in enumerate(levels[: 2 if coarsest else None]) if level]
        for column, levels in enumerate(sizes)
    ]
    for grid, cells in frontier:
        for ways in steps[grid[-1][0] + 1 if grid else 0 :]:
            for step, size in ways:
                if cells * size <= most_cells:
                    yield (*grid, step), cells * size


def _finest(grid: Grid, cells: int, sizes: Sequence[Sequence[int]], most_cells: int) -> bool:
    """Whether no column of a grid could be seen one level finer."""
    return all(
        level + 1 == len(sizes[column])
        or cells // sizes[column][level] * sizes[column][level + 1] > most_cells
        for column, level in grid
    )


def _refined(grid: Grid, cells: int, sizes: Sequence[Sequence[int]], most_cells: int) -> Sized:
    """A grid with all of its columns seen as finely as the bound allows: each in turn is one level finer."""
    levels = dict(grid)
    waiting = list(levels)
    while waiting:
        column = waiting.pop(0)
        level = levels[column]
        if level + 1 < len(sizes[column]):
            finer = cells // sizes[column][level] * sizes[column][level + 1]
            if finer <= most_cells:
                levels[column], cells = level + 1, finer
                waiting.append(column)
    return tuple(levels.items()), cells


def _spread(some: list[Sized], most: int) -> list[Sized]:
    """So many of a list, each of which is as likely to be there; always the same ones, by public chance.

    Every so-and-so-many-th would be the same level of a column again and again.
    """
    if len(some) <= most:
        return some
    kept = np.random.default_rng([len(some), most]).choice(len(some), most, replace=False)
    return [some[place] for place in np.sort(kept).tolist()]


def around(grid: Grid, sizes: Sequence[Sequence[int]], most_cells: int, most_grids: int) -> list[Grid]:
    """A grid, and those that differ from it by little: what may be chosen next.

    One of its columns is seen at another level or not at all; or another column is looked at besides, with
    room made for it at the cost of one level or more of a column that is there; or in place of such a column.

    >>> around(((0, 1),), [(1, 2), (1, 3)], most_cells=6, most_grids=10)
    [((0, 1),), (), ((0, 1), (1, 1)), ((1, 1),)]
    """
    found = {grid: None}
    here = dict(grid)

    def try_out(levels: dict[int, int]) -> None:
        seen = tuple((column, level) for column, level in sorted(levels.items()) if level)
        if prod(sizes[column][level] for column, level in seen) <= most_cells:
            found.setdefault(seen)

    for column in here:
        for level in range(len(sizes[column])):
            try_out({**here, column: level})
    for other in range(len(sizes)):
        for level in range(1, len(sizes[other]) if other not in here else 0):
            try_out({**here, other: level})
            for column, known in grid:
                for coarser in range(known):
                    try_out({**here, other: level, column: coarser})
    return list(found)[:most_grids]


def marginals(pool: Sequence[Grid], columns: Sequence[Hierarchy], target: str) -> list[Marginal]:
    """For every grid the table of its cells and the labels of a column."""
    seen = [[groups.column for groups in column.levels] for column in columns]
    return [(*(seen[column][level] for column, level in grid), target) for grid in pool]


def partition(grid: Grid, columns: Sequence[Hierarchy]) -> Partition:
    """The cells of a grid."""
    return Partition(tuple(columns[column].levels[level] for column, level in grid))
