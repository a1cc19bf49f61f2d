"""Variable-order Markov models: what comes next, given as much of what came before as the model knows.

A model is a tree of contexts. Node 0 knows nothing; a child knows one more symbol to the left than
its parent, or that the sequence begins there. Every node has weights for what comes next: the symbols
0, 1, ... and, last, the end. All of it is public: a release made it from noisy counts.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
String = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Markov:
    """`children[v, s]` is the node that knows s before what v knows, or -1; `weights` are not negative.

    The number of symbols stands for the beginning where contexts are named, and for the end where
    what comes next is.

    >>> coin = Markov(np.array([[-1, -1]]), np.array([[1.0, 1.0]]))
    >>> coin.count((0, 0)), coin.top(2)
    (0.5, [((0,), 1.0), ((0, 0), 0.5)])
    """

    children: NDArray[np.integer]
    weights: Reals

    @property
    def mark(self) -> int:
        """The beginning, or the end."""
        return int(self.weights.shape[1]) - 1

    @cached_property
    def parents(self) -> Numbers:
        parents = np.full(len(self.children), -1)
        known = self.children >= 0
        parents[self.children[known]] = np.nonzero(known)[0]
        return parents

    @cached_property
    def depth(self) -> int:
        """How many symbols the longest context knows."""
        depth, deeper = 0, self.parents[self.parents >= 0]
        while len(deeper):
            depth, deeper = depth + 1, self.parents[deeper]
            deeper = deeper[deeper >= 0]
        return depth

    @cached_property
    def totals(self) -> Reals:
        totals: Reals = self.weights.sum(axis=1)
        return totals

    @cached_property
    def speakers(self) -> Numbers:
        """For every node the one that answers for it: itself, or the nearest ancestor with any weight.

        -1 where there is none; then everything is equally likely.
        """
        speakers = np.arange(len(self.totals))
        silent = np.flatnonzero(self.totals <= 0)
        while len(silent):
            speakers[silent] = self.parents[speakers[silent]]
            silent = silent[speakers[silent] >= 0]
            silent = silent[self.totals[speakers[silent]] <= 0]
        return speakers

    @cached_property
    def shares(self) -> Reals:
        """For every node the probability of everything that can come next."""
        rows = self.weights[self.speakers]
        rows[self.speakers < 0] = 1.0
        shares: Reals = rows / rows.sum(axis=1, keepdims=True)
        return shares

    def node(self, context: Sequence[int]) -> int:
        """The node that knows most of what came before, the last symbol last."""
        node = 0
        for symbol in reversed(context):
            child = int(self.children[node, symbol])
            if child < 0:
                break
            node = child
        return node

    def steps(self, string: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The node and the symbol of every step that a string takes after its first symbol."""
        for place in range(1, len(string)):
            yield self.node(string[:place]), string[place]

    @cached_property
    def following(self) -> NDArray[np.int32]:
        """For every node and symbol the node that knows most once the symbol has come.

        A node that knows less than that one would need leads to the one that it knows enough for.
        """
        size, symbols = len(self.children), self.mark
        depths = np.zeros(size, dtype=np.int64)
        oldest = np.full(size, -1)
        known = self.children >= 0
        oldest[self.children[known]] = np.nonzero(known)[1]
        found = np.zeros((size, symbols), dtype=np.int32)
        found[0] = np.where(self.children[0, :symbols] >= 0, self.children[0, :symbols], 0)
        level = np.array([0])
        while len(level := self.children[level][self.children[level] >= 0]):
            above = self.parents[level]
            depths[level] = depths[above] + 1
            reached = found[above]
            longer = self.children[reached, oldest[level][:, None]]
            whole = depths[reached] == depths[level][:, None]
            found[level] = np.where(whole & (longer >= 0), longer, reached)
        return found

    def count(self, string: Sequence[int]) -> float:
        """How often a string occurs: the count of its first symbol, times the share of each that follows.

        A string that begins with the mark is one with which sequences begin, a string that ends with it
        one with which they end.
        """
        first = self.beginnings if string[0] == self.mark and len(string) > 1 else self.weights[0, string[0]]
        value = float(first)
        for node, symbol in self.steps(string):
            value *= float(self.shares[node, symbol])
        return value

    @property
    def beginnings(self) -> float:
        """How many sequences begin: what follows the beginning or, where that is no context, the ends."""
        start = int(self.children[0, self.mark])
        return float(self.totals[start] if start >= 0 else self.weights[0, self.mark])

    def top(self, many: int) -> list[tuple[String, float]]:
        """The strings (without beginning and end) with the largest counts, largest first.

        Exact for this model: a longer string never has a larger count, so the best candidate cannot be
        beaten by what has not been looked at. Ties go to the shorter, then to the smaller codes.
        Strings that do not occur are left out.
        """
        found: list[tuple[String, float]] = []
        waiting: list[tuple[float, int, String]] = []

        def offer(string: String, counts: Reals) -> None:
            # Of the extensions of one string no more than are still wanted can be among the best.
            for symbol in np.argsort(-counts, kind="stable")[: many - len(found)].tolist():
                if counts[symbol] > 0:
                    heapq.heappush(waiting, (-float(counts[symbol]), len(string) + 1, (*string, symbol)))

        offer((), self.weights[0, : self.mark])
        while waiting and len(found) < many:
            count, _, string = heapq.heappop(waiting)
            found.append((string, -count))
            offer(string, -count * self.shares[self.node(string), : self.mark])
        return found

    def draw(
        self, many: int, longest: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.unsignedinteger], Numbers]:
        """Sequences drawn from the beginning to the end or to the `longest` length, all at once.

        Gives their symbols end to end and the length of each.
        """
        kind = np.min_scalar_type(self.mark)
        alive = np.arange(many, dtype=np.int32 if many < 1 << 31 else np.int64)
        before = [np.full(many, self.mark, dtype=kind)]
        owners, symbols = [], []
        for _ in range(longest):
            drawn = self._next(self.nodes(before), rng).astype(kind)
            going = drawn != self.mark
            alive, drawn = alive[going], drawn[going]
            if not len(alive):
                break
            owners.append(alive)
            symbols.append(drawn)
            before = [drawn, *(past[going] for past in before[: self.depth - 1])]
        if not owners:
            return np.zeros(0, dtype=kind), np.zeros(many, dtype=np.int64)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return np.concatenate(symbols)[order], np.bincount(owner, minlength=many)

    def nodes(self, before: list[NDArray[np.unsignedinteger]]) -> Numbers:
        """The node of every sequence, given what came before, the last symbols first."""
        nodes = np.zeros(len(before[0]), dtype=np.int64)
        moving = np.arange(len(nodes))
        for past in before:
            reached = self.children[nodes[moving], past[moving]]
            moving = moving[reached >= 0]
            if not len(moving):
                break
            nodes[moving] = reached[reached >= 0]
        return nodes

    @cached_property
    def _ladders(self) -> Reals:
        """Running sums of the shares of every node; the last is exactly 1."""
        sums = np.cumsum(self.shares, axis=1)
        return sums / sums[:, -1:]

    def _next(self, nodes: Numbers, rng: np.random.Generator) -> Numbers:
        """One draw for every node: the first rung above a uniform number, by bisection."""
        drawn = rng.random(len(nodes))
        low = np.zeros(len(nodes), dtype=np.int64)
        high = np.full(len(nodes), self.mark)
        for _ in range(self.mark.bit_length()):
            middle = (low + high) >> 1
            above = self._ladders[nodes, middle] <= drawn
            low = np.where(above, middle + 1, low)
            high = np.where(above, high, middle)
        return low
