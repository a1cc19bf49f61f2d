"""Candidate grids: one level of every column's hierarchy each, listed without looking at a record.

A grid names the columns that are not at their root, each with its level. Grids are found level by level: all
that look at no column, at one, at two, in the order of columns and levels, each of them once. A grid with
more than `most_cells` cells is left out, and so is whatever extends it, because another column never makes
the cells fewer. At most `most_grids` are listed, so the order matters where that many are found.

Two ways to make more of a list that is cut short. Where only the `finest` levels are listed, a grid stands
for all that see the same columns more coarsely: noise bounds the number of cells, and a grid is left out
where one of its columns could be seen one level finer within that bound. And once a grid is chosen, `around`
lists those that differ from it by little, however many columns it looks at.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from penstock.learn.classification.partition import Hierarchy, Partition

Grid = tuple[tuple[int, int], ...]
"""The number and the level of every column that a grid looks at."""


LOOKED_AT = 10
"""So many times `most_grids` are looked at in search of those of finest levels."""


def grids(
    sizes: Sequence[Sequence[int]], most_cells: int, most_grids: int, *, finest: bool = False
) -> list[Grid]:
    """The grids over columns whose levels have these sizes (the root's, 1, first), the root grid first.

    >>> grids([(1, 2), (1, 3, 9)], most_cells=6, most_grids=10)
    [(), ((0, 1),), ((1, 1),), ((0, 1), (1, 1))]
    >>> grids([(1, 2), (1, 3, 9)], most_cells=12, most_grids=10, finest=True)
    [(), ((0, 1),), ((1, 2),), ((0, 1), (1, 1))]
    """
    found: list[Grid] = [()]
    frontier: list[tuple[Grid, int]] = [((), 1)]
    looked = 1
    while frontier and len(found) < most_grids:
        following: list[tuple[Grid, int]] = []
        for grid, cells in frontier:
            for column in range(grid[-1][0] + 1 if grid else 0, len(sizes)):
                for level, size in enumerate(sizes[column]):
                    if level and cells * size <= most_cells:
                        longer, many = (*grid, (column, level)), cells * size
                        following.append((longer, many))
                        looked += 1
                        if not finest or _finest(longer, many, sizes, most_cells):
                            found.append(longer)
                        if len(found) == most_grids or looked == LOOKED_AT * most_grids:
                            return found
        frontier = following
    return found


def _finest(grid: Grid, cells: int, sizes: Sequence[Sequence[int]], most_cells: int) -> bool:
    """Whether no column of a grid could be seen one level finer."""
    return all(
        level + 1 == len(sizes[column])
        or cells // sizes[column][level] * sizes[column][level + 1] > most_cells
        for column, level in grid
    )


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


def partition(grid: Grid, columns: Sequence[Hierarchy]) -> Partition:
    """The cells of a grid."""
    return Partition(tuple(columns[column].levels[level] for column, level in grid))
