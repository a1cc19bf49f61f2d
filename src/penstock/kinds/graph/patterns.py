"""Patterns to count: how many there are, and how far that number moves when edges change.

Each pattern gives a ladder (`penstock.privacy.mechanisms.ladder`): widths I_t such that one edge moves the
count of g by at most I_0(g), and I_t(g') <= I_{t+1}(g) for neighbours. The number of nodes n is public.

Triangles, k-stars: the exact local sensitivity within distance t, which is the smallest ladder there is. A
pair of nodes with a common neighbours, of which b others know one of the two, comes to have a + floor((t +
min(t, b)) / 2) in common by t edits, since those cost one edit each and strangers two. For k-stars the larger
of both degrees grows first.

k-cliques: LS + C(a_m + t, k-2) - C(a_m, k-2), where a_m is the largest number of common neighbours of any
pair. One edit enlarges a common neighbourhood by at most one node, which is in at most C(a_m, k-3) new
cliques.

k-triangles: LS plus the sum of U(a_m + i) over i < t, with
U(a) = max(3 C(a, k-1) + a C(a, k-2), 4 C(a, k-2) where a >= 2). The published bound has the first term only.
It is too small for k = 3, 4, 5: an edge that joins two common neighbours of a pair raises four terms at once,
by up to 4 C(a, k-2). For k = 2 and from k = 6 on both are the same.

A custom pattern follows the same recipe: count, LS, and v, U with LS(g') - LS(g) <= U(v(g)), where U does not
fall and v moves by at most `step` when one edge changes.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import ClassVar, Literal

import numpy as np

from penstock.errors import UsageError
from penstock.kinds.graph import counting
from penstock.kinds.graph.counting import binomials
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.randomness.samplers import Integers

Reach = Literal["common neighbours", "degree"]
LARGEST_MOVE = 1 << 900


class Pattern(ABC):
    """A pattern whose number can be released."""

    reach: ClassVar[Reach] = "common neighbours"
    """What of a graph decides the noise: the largest number of common neighbours, or the largest degree."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @abstractmethod
    def limit(self, n: int) -> int:
        """How far one edge can move the count in any graph of n nodes."""

    def most(self, n: int) -> int:
        """How many there are where all of n nodes are linked; an upper bound for a custom pattern."""
        return self.limit(n) * comb(n, 2)

    @abstractmethod
    def count(self, graph: SimpleGraph) -> int:
        """Raw: how many there are."""

    @abstractmethod
    def widths(self, graph: SimpleGraph) -> Integers:
        """Raw: I_0, I_1, ..., at most as many as matter."""

    @abstractmethod
    def bound(self, n: int, largest: int) -> Integers:
        """Upper bounds of the widths of any graph with so many common neighbours or links at most."""

    def rungs(self, graph: SimpleGraph) -> Rungs:
        """Raw: the count on its ladder."""
        limit = self.limit(graph.n)
        return (
            Rungs(self.count(graph), _cut(self.widths(graph), limit), limit)
            if limit
            else Rungs(0, np.zeros(0, dtype=np.int64), 0)
        )

    def bounding(self, n: int, largest: int) -> Rungs:
        """A ladder that is nowhere narrower than that of any such graph, for error bars."""
        limit = self.limit(n)
        if not limit:
            return Rungs(0, np.zeros(0, dtype=np.int64), 0)
        return Rungs(0, _cut(self.bound(n, max(0, min(largest, n - 1))), limit), limit)

    def refuse(self, n: int) -> None:
        """Raise for a graph that is too large for this pattern."""
        if self.limit(n) >= LARGEST_MOVE:
            raise UsageError(
                f"counts: one edge can move the number of {self.name}s among {n} nodes by more than 2**900; "
                "choose a smaller pattern. Nothing was spent."
            )


def _cut(widths: Integers, limit: int) -> Integers:
    """Widths up to the first at their limit."""
    held = np.minimum(widths, limit)
    (full,) = np.nonzero(held >= limit)
    return held[: int(full[0])] if full.size else held


@dataclass(frozen=True)
class Triangle(Pattern):
    """Three nodes, all linked."""

    @property
    def name(self) -> str:
        return "triangle"

    def limit(self, n: int) -> int:
        return max(0, n - 2)

    def most(self, n: int) -> int:
        return comb(n, 3)

    def count(self, graph: SimpleGraph) -> int:
        return counting.triangles(graph)

    def widths(self, graph: SimpleGraph) -> Integers:
        t = np.arange(2 * max(0, graph.n - 2) + 1)
        widest = np.zeros(t.size, dtype=np.int64)
        for common, links in counting.common_frontier(graph):
            np.maximum(widest, common + (t + np.minimum(t, links - 2 * common)) // 2, out=widest)
        return widest

    def bound(self, n: int, largest: int) -> Integers:
        return np.arange(largest, max(largest, n - 2) + 1)


@dataclass(frozen=True)
class Star(Pattern):
    """A node and k of its neighbours."""

    reach: ClassVar[Reach] = "degree"
    k: int

    @property
    def name(self) -> str:
        return f"{self.k}-star"

    def limit(self, n: int) -> int:
        return 2 * comb(max(0, n - 2), self.k - 1)

    def most(self, n: int) -> int:
        return n * comb(max(0, n - 1), self.k)

    def count(self, graph: SimpleGraph) -> int:
        return counting.stars(graph, self.k)

    def widths(self, graph: SimpleGraph) -> Integers:
        return self._grown(graph.n, counting.star_frontier(graph))

    def bound(self, n: int, largest: int) -> Integers:
        return self._grown(n, [(min(largest, n - 2), min(largest, n - 2))])

    def _grown(self, n: int, frontier: list[tuple[int, int]]) -> Integers:
        full = n - 2
        table = binomials(full, self.k - 1)
        t = np.arange(2 * full + 1)
        widest = np.zeros(t.size, dtype=table.dtype)
        for high, low in frontier:
            grown = table[np.minimum(high + t, full)]
            widest = np.maximum(
                widest, grown + table[np.minimum(low + np.maximum(t - (full - high), 0), full)]
            )
        return widest


@dataclass(frozen=True)
class Clique(Pattern):
    """k nodes, all linked."""

    k: int

    @property
    def name(self) -> str:
        return f"{self.k}-clique"

    def limit(self, n: int) -> int:
        return comb(max(0, n - 2), self.k - 2)

    def most(self, n: int) -> int:
        return comb(n, self.k)

    def count(self, graph: SimpleGraph) -> int:
        return counting.cliques(graph, self.k)

    def widths(self, graph: SimpleGraph) -> Integers:
        return self._grown(graph.n, counting.most_common(graph), counting.clique_move(graph, self.k))

    def bound(self, n: int, largest: int) -> Integers:
        return self._grown(n, largest, comb(largest, self.k - 2))

    def _grown(self, n: int, most: int, move: int) -> Integers:
        table = binomials(2 * n, self.k - 2)
        widths: Integers = move + table[most : most + n] - table[most]
        return widths


@dataclass(frozen=True)
class KTriangle(Pattern):
    """A link and k common neighbours of its ends."""

    k: int

    @property
    def name(self) -> str:
        return f"{self.k}-triangle"

    def limit(self, n: int) -> int:
        return comb(max(0, n - 2), self.k) + 2 * max(0, n - 2) * comb(max(0, n - 3), self.k - 1)

    def most(self, n: int) -> int:
        return comb(n, 2) * comb(max(0, n - 2), self.k)

    def count(self, graph: SimpleGraph) -> int:
        return counting.k_triangles(graph, self.k)

    def widths(self, graph: SimpleGraph) -> Integers:
        most = counting.most_common(graph)
        return self._grown(graph.n, most, counting.k_triangle_move(graph, self.k, most))

    def bound(self, n: int, largest: int) -> Integers:
        most = min(largest, n - 2)
        return self._grown(n, most, comb(most, self.k) + 2 * most * comb(most, self.k - 1))

    def growth(self, a: int) -> int:
        """U: how much further one edge moves the count after another edge, with at most a in common
        before."""
        joined = 4 * comb(a, self.k - 2) if a >= 2 else 0
        return max(3 * comb(a, self.k - 1) + a * comb(a, self.k - 2), joined)

    def _grown(self, n: int, most: int, move: int) -> Integers:
        limit = self.limit(n)
        first, second = binomials(most + 3 * n, self.k - 1), binomials(most + 3 * n, self.k - 2)
        a = np.arange(most, most + 3 * n)
        # As doubles first: beyond the limit exact values may not fit 64 bits, and are not needed.
        rough = 3.0 * first[a].astype(np.float64) + a * second[a].astype(np.float64)
        steps = min(a.size, int(np.searchsorted(np.cumsum(rough), float(limit))) + 2)
        kind = np.int64 if limit < 1 << 48 else np.object_  # the steps beyond the limit fit 64 bits, too
        used: Integers = a[:steps].astype(kind)
        one, two = first[a[:steps]].astype(kind), second[a[:steps]].astype(kind)
        grown: Integers = np.maximum(3 * one + used * two, np.where(used >= 2, 4 * two, 0))
        return np.asarray(move + np.concatenate([np.zeros(1, dtype=kind), np.cumsum(grown)]))


@dataclass(frozen=True)
class CustomPattern(Pattern):
    """A count of one's own, with the proof of its ladder: `because` says why it holds.

    `count_of` counts, `move_of` is the local sensitivity LS (how far one edge moves the count), and LS(g') -
    LS(g) <= growth(measure(g)) for neighbours, where `growth` does not fall and `measure` moves by at most
    `step`. `limit_of(n)` is how far one edge moves the count in any graph of n nodes. All of them get or
    describe raw graphs, and none may fail or depend on anything else.

    >>> four = CustomPattern(
    ...     "tetrahedron",
    ...     count_of=lambda graph: counting.cliques(graph, 4),
    ...     move_of=lambda graph: counting.clique_move(graph, 4),
    ...     measure=counting.most_common,
    ...     growth=lambda a: a,
    ...     limit_of=lambda n: comb(max(0, n - 2), 2),
    ...     because="an edit adds one common neighbour, linked to at most all others",
    ... )
    >>> four.name
    'tetrahedron'
    """

    called: str
    count_of: Callable[[SimpleGraph], int]
    move_of: Callable[[SimpleGraph], int]
    measure: Callable[[SimpleGraph], int]
    growth: Callable[[int], int]
    limit_of: Callable[[int], int]
    because: str
    step: int = 1

    @property
    def name(self) -> str:
        return self.called

    def limit(self, n: int) -> int:
        return int(self.limit_of(n))

    def count(self, graph: SimpleGraph) -> int:
        return int(self.count_of(graph))

    def widths(self, graph: SimpleGraph) -> Integers:
        return self._grown(graph.n, int(self.measure(graph)), int(self.move_of(graph)))

    def bound(self, n: int, largest: int) -> Integers:
        return self._grown(n, n, self.limit(n))

    def _grown(self, n: int, measure: int, move: int) -> Integers:
        # From any t on the widths may be the limit, which no graph exceeds: a ladder is still a ladder.
        limit, widths = self.limit(n), [move]
        while widths[-1] < limit and len(widths) < 4 * n + 4:
            widths.append(widths[-1] + int(self.growth(measure)))
            measure += self.step
        return np.array(widths, dtype=object)


_NAMED = re.compile(r"^(\d{1,4})-(star|clique|triangle)$")


def pattern(name: str) -> Pattern:
    """The pattern of a name: triangle, 3-star, 4-clique, 2-triangle.

    >>> pattern("3-star"), pattern("1-triangle"), pattern("3-clique")
    (Star(k=3), Triangle(), Triangle())
    """
    text = name.strip().lower()
    if text == "triangle":
        return Triangle()
    found = _NAMED.match(text)
    if found is None:
        raise UsageError(
            f"counts: '{name}' is no pattern; write triangle, or a number and star, clique or triangle, "
            "such as "
            "3-star, 4-clique or 2-triangle. Nothing was spent."
        )
    k, kind = int(found[1]), found[2]
    least = {"star": 2, "clique": 3, "triangle": 1}[kind]
    if k < least:
        raise UsageError(f"counts: a {kind} has at least {least} as its number, not {k}. Nothing was spent.")
    if (kind, k) in (("clique", 3), ("triangle", 1)):
        return Triangle()
    if kind == "star":
        return Star(k)
    return Clique(k) if kind == "clique" else KTriangle(k)
