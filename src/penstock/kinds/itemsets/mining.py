"""Frequent sets of items and association rules, mined from weighted sets; no privacy is spent here."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.weighted import Numbers, WeightedSets

ItemSet = tuple[int, ...]
N = TypeVar("N", np.int64, np.float64)

DENSE = 20
"""Up to so many items, the supports of all sets of items are computed at once."""


def supports_of(sets: WeightedSets, universe: int, asked: Sequence[Sequence[int]]) -> Numbers:
    """How many sets hold all of some items, for many questions at once.

    >>> supports_of(WeightedSets.of([((0, 1), 3), ((1,), 2)]), 2, [(1,), (0, 1)]).tolist()
    [5, 3]
    """
    if universe > DENSE or len(asked) < universe:
        return np.array([sets.support(items) for items in asked], dtype=np.int64)
    every = superset_sums(cells(sets, universe))
    return every[[sum(1 << item for item in items) for items in asked]]


def cells(sets: WeightedSets, universe: int) -> Numbers:
    """How often each set occurs, for all sets over a small universe: bit i of a cell stands for item i."""
    places = np.zeros(len(sets), dtype=np.int64)
    np.add.at(places, sets.owners, 1 << sets.items)
    found = np.zeros(1 << universe, dtype=np.int64)
    np.add.at(found, places, sets.weights)
    return found


def superset_sums(counts: NDArray[N]) -> NDArray[N]:
    """For every set over a small universe the sum over all sets that hold it.

    >>> superset_sums(np.array([1, 2, 4, 8])).tolist()
    [15, 10, 12, 8]
    """
    found = counts.copy()
    step = 1
    while step < len(found):
        pairs = found.reshape(-1, 2, step)
        pairs[:, 0] += pairs[:, 1]
        step *= 2
    return found


def subset_sums(values: NDArray[N]) -> NDArray[N]:
    """For every set over a small universe the sum over all sets that it holds.

    >>> subset_sums(np.array([1, 2, 4, 8])).tolist()
    [1, 3, 5, 15]
    """
    found = values.copy()
    step = 1
    while step < len(found):
        pairs = found.reshape(-1, 2, step)
        pairs[:, 1] += pairs[:, 0]
        step *= 2
    return found


def frequent(
    sets: WeightedSets, universe: int, many: int, *, smallest: int = 1, largest: int | None = None
) -> list[tuple[ItemSet, int]]:
    """The sets of items that most sets hold, with their supports; ties to the smaller, then to smaller codes.

    A set of items is never more frequent than one inside it. So the best candidate that waits cannot be
    beaten by one that has not been looked at, and supports are computed only for what can still be
    among the best. `smallest` and `largest` bound the number of items.

    >>> frequent(WeightedSets.of([((0, 1), 3), ((1,), 2)]), 2, 3)
    [((1,), 5), ((0,), 3), ((0, 1), 3)]
    """
    found: list[tuple[ItemSet, int]] = []
    waiting: list[tuple[int, int, ItemSet]] = []
    holders: dict[ItemSet, Numbers] = {(): np.arange(len(sets))}
    best: list[int] = []  # the supports of the best `many` so far, the least of them first

    def offer(items: ItemSet) -> None:
        supports = sets.weights_of_items(holders[items], universe)
        supports[: items[-1] + 1 if items else 0] = 0
        listed = len(items) + 1 >= smallest
        for item in np.argsort(-supports, kind="stable")[: many if listed else None].tolist():
            support = int(supports[item])
            if support <= 0 or (len(best) >= many and support < best[0]):
                break
            if listed:
                heapq.heappush(best, support)
                if len(best) > many:
                    heapq.heappop(best)
            heapq.heappush(waiting, (-support, len(items) + 1, (*items, item)))

    if universe:
        offer(())
    while waiting and len(found) < many:
        support, size, items = heapq.heappop(waiting)
        if size >= smallest:
            found.append((items, -support))
        if (largest is None or size < largest) and len(found) < many:
            holds = np.zeros(len(sets), dtype=np.bool_)
            holds[sets.holders(items[-1])] = True
            rows = holders[items[:-1]]
            holders[items] = rows[holds[rows]]
            offer(items)
    return found


RULES_FROM = 100
"""Rules come from so many of the most frequent sets at least."""


@dataclass(frozen=True)
class Rule:
    """Sets that hold some items hold another one too: how many do, which share, and how much more than usual.

    >>> Rule((0,), 1, 30, 0.6, 1.5).lift
    1.5
    """

    given: ItemSet
    then: int
    support: int
    confidence: float
    lift: float


def rules(sets: WeightedSets, universe: int, total: int, many: int) -> list[Rule]:
    """The surest rules with one item behind the arrow, of the most frequent sets of two items and more.

    The most frequent sets are taken, a hundred of them or `many` where that is more, and all their rules
    ordered by confidence: a shorter list is the beginning of a longer one. Rules of rarer sets may seem
    surer, and be chance.
    """
    supports = sets.supports(universe)
    made = []
    for items, support in frequent(sets, universe, max(many, RULES_FROM), smallest=2):
        for then in items:
            given = tuple(item for item in items if item != then)
            confidence = support / sets.support(given)
            lift = confidence * total / int(supports[then])
            made.append(Rule(given, then, support, confidence, lift))
    return sorted(made, key=lambda rule: (-rule.confidence, -rule.support, rule.given, rule.then))[:many]


def utility(truth: Iterable[tuple[ItemSet, int]], found: Mapping[ItemSet, float]) -> float:
    """1 minus the mean relative error of the supports of the most frequent sets; one not found counts as 0.

    1 means the same list with the same supports, 0 two lists that share nothing.

    >>> utility([((0,), 10), ((1,), 5)], {(0,): 8})
    0.4
    """
    errors = [abs(found.get(items, 0) - support) / support for items, support in truth]
    return 1 - sum(errors) / len(errors) if errors else 1.0
