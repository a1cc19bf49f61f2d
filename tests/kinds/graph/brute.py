"""Brute force over small graphs: counts by their definition, and local sensitivities within t edits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

Count = Callable[[tuple[int, ...], int], int]


def rows_of(number: int, nodes: int) -> tuple[int, ...]:
    """The adjacency of the graph whose links are the bits of a number, as a bit mask for each node."""
    rows = [0] * nodes
    for place, (i, j) in enumerate(combinations(range(nodes), 2)):
        if number >> place & 1:
            rows[i] |= 1 << j
            rows[j] |= 1 << i
    return tuple(rows)


def links_of(number: int, nodes: int) -> tuple[tuple[int, int], ...]:
    return tuple(pair for place, pair in enumerate(combinations(range(nodes), 2)) if number >> place & 1)


def clique(k: int) -> Count:
    def count(rows: tuple[int, ...], nodes: int) -> int:
        return sum(
            all(rows[i] >> j & 1 for i, j in combinations(chosen, 2))
            for chosen in combinations(range(nodes), k)
        )

    return count


def star(k: int) -> Count:
    return lambda rows, nodes: sum(comb(row.bit_count(), k) for row in rows)


def k_triangle(k: int) -> Count:
    def count(rows: tuple[int, ...], nodes: int) -> int:
        return sum(
            comb((rows[i] & rows[j]).bit_count(), k)
            for i, j in combinations(range(nodes), 2)
            if rows[i] >> j & 1
        )

    return count


@cache
def _flips(nodes: int) -> np.ndarray:
    pairs = nodes * (nodes - 1) // 2
    return np.arange(1 << pairs)[:, None] ^ (1 << np.arange(pairs))[None, :]


def all_counts(count: Count, nodes: int) -> np.ndarray:
    """The count of every graph on so many nodes."""
    every = 1 << (nodes * (nodes - 1) // 2)
    return np.array([count(rows_of(number, nodes), nodes) for number in range(every)], dtype=np.int64)


def sensitivities(counts: np.ndarray, nodes: int, most: int) -> list[np.ndarray]:
    """For t = 0 ... most, the largest local sensitivity of every graph within t edits."""
    flips = _flips(nodes)
    found = [np.abs(counts[flips] - counts[:, None]).max(axis=1, initial=0)]
    for _ in range(most):
        found.append(np.maximum(found[-1], found[-1][flips].max(axis=1, initial=0)))
    return found
