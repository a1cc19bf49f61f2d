"""Candidate grids: one level of every column's hierarchy each, listed without looking at a record.

A grid names the columns that are not at their root, each with its level. Grids are found level by level: all
that look at no column, at one, at two, in the order of columns and levels, each of them once. A grid with
more than `most_cells` cells is left out, and so is whatever extends it, because another column never makes
the cells fewer. At most `most_grids` are listed, so the order matters where that many are found.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.learn.classification.partition import Hierarchy, Partition

Grid = tuple[tuple[int, int], ...]
"""The number and the level of every column that a grid looks at."""


def grids(sizes: Sequence[Sequence[int]], most_cells: int, most_grids: int) -> list[Grid]:
    """The grids over columns whose levels have these sizes (the root's, 1, first), the root grid first.

    >>> grids([(1, 2), (1, 3, 9)], most_cells=6, most_grids=10)
    [(), ((0, 1),), ((1, 1),), ((0, 1), (1, 1))]
    """
    found: list[Grid] = [()]
    frontier: list[tuple[Grid, int]] = [((), 1)]
    while frontier and len(found) < most_grids:
        following: list[tuple[Grid, int]] = []
        for grid, cells in frontier:
            for column in range(grid[-1][0] + 1 if grid else 0, len(sizes)):
                for level, size in enumerate(sizes[column]):
                    if level and cells * size <= most_cells:
                        following.append(((*grid, (column, level)), cells * size))
                        found.append(following[-1][0])
                        if len(found) == most_grids:
                            return found
        frontier = following
    return found


def partition(grid: Grid, columns: Sequence[Hierarchy]) -> Partition:
    """The cells of a grid."""
    return Partition(tuple(columns[column].levels[level] for column, level in grid))
