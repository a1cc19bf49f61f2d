"""Neighbouring inputs: pairs of small databases that differ in one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice
from typing import Any, TypeVar

import numpy as np

from penstock.privacy.unit import Relation

T = TypeVar("T")


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs.

    >>> Pair((0, 1), (0,)).words
    '(0, 1) | (0,)'
    """

    first: Any
    second: Any
    name: str = ""

    @property
    def words(self) -> str:
        return self.name or f"{self.first} | {self.second}"


def databases(universe: Sequence[T], largest: int, smallest: int = 0) -> Iterator[tuple[T, ...]]:
    """All multisets of records with `smallest` to `largest` records.

    >>> list(databases("ab", 1))
    [(), ('a',), ('b',)]
    """
    for size in range(smallest, largest + 1):
        yield from combinations_with_replacement(universe, size)


def neighbours(universe: Sequence[T], largest: int, relation: Relation, smallest: int = 0) -> Iterator[Pair]:
    """All pairs of small databases over a universe that differ in one record.

    Add-remove: the second has one record more. Replace: one record differs (each pair once).

    >>> [pair.words for pair in neighbours("ab", 1, Relation.ADD_REMOVE)]
    ["() | ('a',)", "() | ('b',)"]
    """
    if relation is Relation.ADD_REMOVE:
        for rest in databases(universe, largest - 1, smallest):
            for record in universe:
                yield Pair(rest, (*rest, record))
    else:
        for rest in databases(universe, largest - 1, max(0, smallest - 1)):
            for place, record in enumerate(universe):
                for other in universe[place + 1 :]:
                    yield Pair((*rest, record), (*rest, other))


def small_pairs(
    universe: Sequence[Any],
    largest: int,
    relation: Relation,
    *,
    smallest: int = 0,
    most: int = 200,
    seed: int = 0,
) -> tuple[Pair, ...]:
    """Neighbouring pairs among the databases with at most `largest` records of a public universe.

    All of them, or `most` drawn with a fixed seed where there are more.
    """
    every = tuple(islice(neighbours(universe, largest, relation, smallest), 200_000))
    if len(every) <= most:
        return every
    chosen = np.random.default_rng(seed).choice(len(every), size=most, replace=False)
    return tuple(every[place] for place in sorted(chosen))
