"""The maximal parent sets among which a general network is chosen (Algorithms 5 and 6).

A parent set takes some variables, each at one level of generalisation, such that the product of
their sizes stays within a limit. It is maximal when no variable can be added and none can be had at a
finer level with everything else at least as fine. Scores only grow with more and finer parents, so
these sets are the only candidates worth scoring.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod

from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.kinds.table.privbayes.usefulness import MOST_CANDIDATES

MOST_SCORED = 1 << 31
"""Cells of the tables of all candidates together."""


class TooManyError(Exception):
    """There are more maximal parent sets than anybody wants to list."""


@dataclass
class ParentSets:
    """Maximal parent sets over a growing list of variables, each with its sizes, finest level first.

    The newest variable is taken first, so that everything computed for the earlier ones is found again in the
    next round and for the next child.

    >>> sets = ParentSets()
    >>> for number, sizes in enumerate([(2,), (3,), (4,)]):
    ...     sets.append(number, sizes)
    >>> [[parent.variable for parent in chosen] for chosen in sets.maximal(6)]
    [[0, 1], [2]]
    """

    most: int | None = None
    _variables: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    _known: dict[tuple[int, int], tuple[ParentSet, ...]] = field(default_factory=dict)
    _listed: int = 0

    def append(self, variable: int, sizes: Sequence[int]) -> None:
        """One more variable that may be a parent; sizes do not increase with the level."""
        if any(later > earlier for earlier, later in pairwise(sizes)):
            raise ValueError("sizes must not increase with the level")
        self._variables.append((variable, tuple(sizes)))

    def maximal(self, limit: int) -> tuple[ParentSet, ...]:
        """All maximal sets with at most `limit` configurations; none when not even the empty set fits.

        TooManyError as soon as `most` sets were listed on the way.
        """
        first = (len(self._variables), max(0, limit))
        waiting = [first]  # a list and no recursion: hundreds of variables would be too deep for Python
        while waiting:
            asked = waiting[-1]
            lacking = [] if self._found(asked) is not None else self._lacking(*asked)
            if lacking:
                waiting += lacking
                continue
            waiting.pop()
            if self._found(asked) is None:
                self._known[asked] = self._grown(*asked)
        return self._found(first) or ()

    def _found(self, asked: tuple[int, int]) -> tuple[ParentSet, ...] | None:
        """The sets of the first so many variables within a limit; None where they are not known yet."""
        length, limit = asked
        if limit < 1:
            return ()
        return ((),) if length == 0 else self._known.get(asked)

    def _lacking(self, length: int, limit: int) -> list[tuple[int, int]]:
        """What has to be known before, and is not."""
        below = [limit, *(limit // size for size in reversed(self._variables[length - 1][1]))]
        return [each for each in ((length - 1, less) for less in below) if self._found(each) is None]

    def _grown(self, length: int, limit: int) -> tuple[ParentSet, ...]:
        variable, sizes = self._variables[length - 1]
        extended: dict[ParentSet, int] = {}
        for level, size in enumerate(sizes):  # finest first: a set that takes it finer stands for all
            for rest in self._found((length - 1, limit // size)) or ():
                extended.setdefault(rest, level)
        alone = [rest for rest in self._found((length - 1, limit)) or () if rest not in extended]
        self._listed += len(alone) + len(extended)
        if self.most is not None and self._listed > self.most:
            raise TooManyError
        return (*alone, *((*rest, Parent(variable, level)) for rest, level in extended.items()))


def affordable_cells(sizes: Sequence[Sequence[int]], cells: int, most: int = MOST_CANDIDATES) -> int:
    """The number of cells, `cells` or fewer, at which a network has no more than `most` candidates.

    For computing time, never for privacy: sizes (at each level of each variable) and cells are public.

    >>> affordable_cells([(2,)] * 5, 8), affordable_cells([(2,)] * 40, 1 << 12, most=20_000)
    (8, 6)
    """
    cells = min(cells, prod(each[0] for each in sizes))
    if _are_few(sizes, cells, most):
        return cells
    found = 0
    while (larger := found + found // 4 + 1) < cells and _are_few(sizes, larger, most):
        found = larger
    return found


def _are_few(sizes: Sequence[Sequence[int]], cells: int, most: int) -> bool:
    """Whether all variables can be parents of each without too many sets, or too large tables, to score."""
    sets = ParentSets(most=2 * most)
    for number, each in enumerate(sizes):
        sets.append(number, each)
    children = Counter(each[0] for each in sizes)
    try:
        count = sum(times * len(sets.maximal(cells // size)) for size, times in children.items())
    except TooManyError:
        return False
    return count <= most and count * cells <= MOST_SCORED
