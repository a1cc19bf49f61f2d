"""Public trees over the codes of a column: what a part of the records may be divided into.

The taxonomy of a field, or bins merged two by two, or all values at once where there is neither. A column of
ordered bins may instead be cut at a private median: then its node is an interval, and where it is cut is
found on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from penstock.kinds.table.rows import Split
from penstock.schema import Attribute


@dataclass(frozen=True)
class Node:
    """Codes that are not told apart yet; `height` bounds how often they can still be divided.

    `children` are what a taxonomy divides it into. A node without children and with a height is an interval.
    """

    codes: tuple[int, ...]
    height: int = 0
    children: tuple[Node, ...] = ()

    @property
    def interval(self) -> bool:
        """Whether where it is cut is still to be found."""
        return self.height > 0 and not self.children

    def cut(self, place: int) -> tuple[Node, Node]:
        """An interval cut behind so many of its codes."""
        return interval(self.codes[:place], self.height - 1), interval(self.codes[place:], self.height - 1)

    def split(self, column: int) -> Split:
        """What it is divided into; an interval in the middle."""
        children = self.children or self.cut(len(self.codes) // 2)
        return Split(column, tuple(child.codes for child in children))


def interval(codes: tuple[int, ...], height: int) -> Node:
    """An interval that may be cut so many times, or a single code."""
    return Node(codes, 0 if len(codes) == 1 else height)


def tree_of(attribute: Attribute, *, median: bool) -> Node:
    """The root of a column's tree; with `median` ordered bins are one interval, signs beside it.

    A group of a single member is the member itself.
    """
    every = tuple(range(attribute.size))
    if median and attribute.ordered and attribute.regular > 2:
        bins = every[: attribute.regular]
        body = interval(bins, ceil(log2(len(bins))) + 1)
        others = tuple(Node((code,)) for code in every[attribute.regular :])
        return _group((body, *others))
    nodes = [Node((code,)) for code in every]
    for level in attribute.levels[1:]:
        groups = np.asarray(level.codes)
        nodes = [
            _group(tuple(node for node in nodes if groups[node.codes[0]] == group))
            for group in range(level.size)
        ]
    return _group(tuple(nodes))


def _group(members: tuple[Node, ...]) -> Node:
    if len(members) == 1:
        return members[0]
    codes = tuple(sorted(code for member in members for code in member.codes))
    return Node(codes, 1 + max(member.height for member in members), members)
