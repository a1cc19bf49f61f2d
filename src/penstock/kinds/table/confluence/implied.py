"""What counted pairs say about others, and about triples.

In a tree of dependence two attributes have nothing to do with each other beyond what is passed along the
path between them. Given the distribution of one end of a pair for each code of the other, the joint
distribution of any two attributes is a product of such tables along that path; attributes that nothing
connects are independent. A pair whose counts agree with that tells nothing new, however far it is from
independent.

Of three attributes nothing more is known than their pairs, counted or passed on: the table of maximum
entropy that has all three as its sides says no more than they do. A triple whose counts agree with that tells
nothing new.

Everything here is public: counts that were paid for, and no others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import grouped

Reals = NDArray[np.float64]

_SMALLEST = 1e-12  # a group of codes that nobody seems to have
_ROUNDS = 12  # over the three sides of a triple


def implied(shares: Sequence[Reals], given: Mapping[tuple[int, int], Reals]) -> dict[tuple[int, int], Reals]:
    """The joint distribution of every two attributes, smaller number first.

    `shares` are those of single attributes; `given` holds for each pair that was counted, both ways round,
    the distribution of the second for each code of the first. What was not counted is passed on along a tree
    of these pairs, those first that come first.

    >>> even, same = np.array([0.5, 0.5]), np.eye(2)
    >>> both = {pair: same for pair in [(0, 1), (1, 0), (1, 2), (2, 1)]}
    >>> tables = implied([even] * 4, both)
    >>> tables[0, 2].tolist(), tables[0, 3].tolist()
    ([[0.5, 0.0], [0.0, 0.5]], [[0.25, 0.25], [0.25, 0.25]])
    """
    beside: dict[int, list[int]] = {}
    for one, two in forest(given):
        beside.setdefault(one, []).append(two)
        beside.setdefault(two, []).append(one)
    found = {}
    for first in range(len(shares)):
        along = {first: np.diag(shares[first])}
        waiting = [first]
        while waiting:
            here = waiting.pop()
            for there in beside.get(here, ()):
                if there not in along:
                    along[there] = along[here] @ given[here, there]
                    waiting.append(there)
        for second in range(first + 1, len(shares)):
            if (first, second) in given:
                found[first, second] = along[first] @ given[first, second]
            else:
                apart = np.multiply.outer(shares[first], shares[second])
                found[first, second] = along.get(second, apart)
    return found


def forest(edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of these edges, in their order, that connect what none before them connects.

    >>> forest([(0, 1), (1, 2), (2, 0), (3, 4)])
    [(0, 1), (1, 2), (3, 4)]
    """
    group: dict[int, int] = {}
    kept = []
    for edge in edges:
        one, two = (group.setdefault(end, end) for end in edge)
        if one != two:
            kept.append(edge)
            group = {number: two if own == one else own for number, own in group.items()}
    return kept


def along(edges: Sequence[tuple[int, int]], attributes: int, passed: float) -> float:
    """The mean dependence of all pairs if a tree told everything, over that of the pairs that it connects.

    Each step along a path passes on the same part of a dependence; where there is no path there is none.

    >>> along([(0, 1), (1, 2)], 3, 0.5)  # two pairs, and half as much for the third
    0.8333333333333334
    """
    beside: dict[int, list[int]] = {}
    for one, two in edges:
        beside.setdefault(one, []).append(two)
        beside.setdefault(two, []).append(one)
    total = 0.0
    for first in range(attributes):
        steps = {first: 0}
        waiting = deque([first])
        while waiting:
            here = waiting.popleft()
            for there in beside.get(here, ()):
                if there not in steps:
                    steps[there] = steps[here] + 1
                    waiting.append(there)
        total += sum(passed ** (step - 1) for step in steps.values() if step)
    return total / max(1, attributes * (attributes - 1))


def averaged(given: Reals, shares: Reals, groups: NDArray[np.int64]) -> Reals:
    """Of distributions for each code, those for groups of codes, each code by its share.

    >>> given = np.array([[1.0, 0], [0, 1], [0, 1]])
    >>> averaged(given, np.array([0.25, 0.75, 0]), np.array([0, 0, 1])).tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    weights = np.maximum(shares, _SMALLEST)
    return np.asarray(grouped(given * weights[:, None], 0, groups) / np.bincount(groups, weights)[:, None])


def of_three(first: Reals, second: Reals, third: Reals) -> Reals:
    """The table of three attributes by those of the first two, the outer two and the last two.

    Each side in turn is put right by a factor for each of its cells, which leads to the table of maximum
    entropy where the sides agree, and close to all of them where they are noisy.

    >>> same, apart = np.eye(2) / 2, np.full((2, 2), 0.25)
    >>> of_three(same, apart, apart).tolist()
    [[[0.25, 0.25], [0.0, 0.0]], [[0.0, 0.0], [0.25, 0.25]]]
    """
    sides = (first[:, :, None], second[:, None, :], third[None, :, :])
    joint = np.ones((*first.shape, second.shape[1]))
    for _ in range(_ROUNDS):
        for axis, side in zip((2, 1, 0), sides, strict=True):
            joint *= side / np.maximum(joint.sum(axis=axis, keepdims=True), _SMALLEST)
    return joint
