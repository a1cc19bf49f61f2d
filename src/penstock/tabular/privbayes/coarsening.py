"""Coarser looks at an attribute, cut to where its records are.

Once the one-way counts of an attribute are public, its codes can be merged so that no group is left
with next to nobody: a table of few well-filled groups says more, under the same noise, than one of
many empty cells. Merging is post-processing of counts that were paid for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.schema.attribute import Attribute
from penstock.tabular.privbayes.encoding import Grouping

SIZES = (64, 32, 16, 12, 8, 6, 4, 3, 2)
"""The numbers of groups at which an attribute can be seen."""


def levels_by_mass(
    attribute: Attribute, shares: NDArray[np.float64], sizes: Sequence[int] = SIZES
) -> tuple[Grouping, ...]:
    """All codes, then ever fewer groups, each level a merge of the one before.

    The two groups that hold the least together are merged first: neighbours in an ordered attribute,
    members of one branch as long as a taxonomy has branches, any two otherwise.
    """
    groups = [[code] for code in range(attribute.size)]
    mass = [float(share) for share in shares]
    branches = [level.codes for level in attribute.levels[1:]] if not attribute.ordered else []
    found = [_grouping(groups)]
    for size in sizes:
        if size >= len(groups):
            continue
        while len(groups) > size:
            first, second = _lightest(groups, mass, attribute.ordered, branches)
            groups[first] += groups.pop(second)
            mass[first] += mass.pop(second)
        found.append(_grouping(groups))
    return tuple(found)


def _lightest(
    groups: list[list[int]], mass: list[float], ordered: bool, branches: Sequence[NDArray[np.unsignedinteger]]
) -> tuple[int, int]:
    """The positions of the two groups to merge, the earlier one first."""
    if ordered:
        first = min(range(len(groups) - 1), key=lambda i: mass[i] + mass[i + 1])
        return first, first + 1
    for branch in branches:  # finest branches first: merge within them as long as any holds two groups
        members: dict[int, list[int]] = {}
        for place, codes in enumerate(groups):
            members.setdefault(int(branch[codes[0]]), []).append(place)
        pairs = [_two_lightest(places, mass) for places in members.values() if len(places) > 1]
        if pairs:
            return min(pairs, key=lambda pair: mass[pair[0]] + mass[pair[1]])
    return _two_lightest(list(range(len(groups))), mass)


def _two_lightest(places: list[int], mass: list[float]) -> tuple[int, int]:
    one, two = sorted(places, key=lambda place: mass[place])[:2]
    return min(one, two), max(one, two)


def _grouping(groups: list[list[int]]) -> Grouping:
    size = sum(len(codes) for codes in groups)
    numbers = [0] * size
    for number, codes in enumerate(groups):
        for code in codes:
            numbers[code] = number
    return Grouping(tuple(numbers), len(groups))
