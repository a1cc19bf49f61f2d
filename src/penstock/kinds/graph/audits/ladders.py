"""Ladders under audit: the exact loss between all neighbouring graphs of five nodes, and broken copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import comb, inf

import numpy as np

from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.graph.counting import k_triangle_move, k_triangles, most_common
from penstock.kinds.graph.patterns import Clique, KTriangle, Pattern, Star, Triangle
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms.ladder import log_total

Links = tuple[tuple[int, int], ...]
Law = Callable[[Rungs, float, int], float]
NODES = 5


def graph_of(links: Links, nodes: int = NODES) -> SimpleGraph:
    """The graph of these links."""
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    return SimpleGraph.of(nodes, ends[:, 0], ends[:, 1])


@cache
def different_graphs(nodes: int = NODES) -> tuple[Links, ...]:
    """One of every shape of graph with so many nodes.

    >>> [len(different_graphs(nodes)) for nodes in (3, 4, 5)]
    [4, 11, 34]
    """
    pairs = list(combinations(range(nodes), 2))
    seen: dict[frozenset[tuple[int, int]], Links] = {}
    orders = list(permutations(range(nodes)))
    for number in range(1 << len(pairs)):
        links = tuple(pair for place, pair in enumerate(pairs) if number >> place & 1)
        if frozenset(links) not in seen:
            for order in orders:
                same = frozenset((min(order[i], order[j]), max(order[i], order[j])) for i, j in links)
                seen.setdefault(same, links)
    return tuple(dict.fromkeys(seen.values()))


def neighbouring(nodes: int = NODES) -> Iterator[Pair]:
    """Every shape of graph, and each link that can be added to it."""
    for links in different_graphs(nodes):
        for pair in combinations(range(nodes), 2):
            if pair not in links:
                yield Pair(links, tuple(sorted((*links, pair))))


def log_chance(rungs: Rungs, rate: float, output: int) -> float:
    """As the mechanism is shipped."""
    return -rate * rungs.rung(output) - log_total(rungs, rate)


def open_at_the_end(rungs: Rungs, rate: float, output: int) -> float:
    """Broken: the last integer of every rung is never drawn."""
    t = rungs.rung(output)
    last = t > 0 and abs(output - rungs.value) == rungs.reach(t)
    return -inf if last else log_chance(rungs, rate, output)


def tail_from_one(rungs: Rungs, rate: float, output: int) -> float:
    """Broken: the geometric number of rungs beyond the last known one starts at 1."""
    beyond = rungs.rung(output) - rungs.widths.size
    return (
        -inf if beyond == 1 else log_chance(rungs, rate, output + (0 if beyond < 1 else _back(rungs, output)))
    )


def _back(rungs: Rungs, output: int) -> int:
    return -rungs.limit if output > rungs.value else rungs.limit


def tail_cut_off(rungs: Rungs, rate: float, output: int) -> float:
    """Broken: nothing beyond the last known rung is ever drawn."""
    return -inf if rungs.rung(output) > rungs.widths.size else log_chance(rungs, rate, output)


@dataclass(frozen=True)
class LadderLoss:
    """The exact loss of one ladder between two graphs."""

    pattern: Pattern
    epsilon: Fraction
    law: Law = log_chance
    nodes: int = NODES

    def __call__(self, first: Links, second: Links) -> float:
        one, two = (self.pattern.rungs(graph_of(links, self.nodes)) for links in (first, second))
        rate = float(self.epsilon / 2)
        farthest = max(rungs.reach(rungs.widths.size + 3) for rungs in (one, two))
        worst = 0.0
        # Beyond, both ladders have rungs of one width: what happens there happens again and again.
        for output in range(min(one.value, two.value) - farthest, max(one.value, two.value) + farthest + 1):
            chances = self.law(one, rate, output), self.law(two, rate, output)
            if chances == (-inf, -inf):
                continue
            worst = max(worst, abs(chances[0] - chances[1]))
        return worst


@dataclass(frozen=True)
class RungMove:
    """By how many rungs an integer moves, times epsilon: what the theorem of the ladder rests on."""

    widths: Callable[[SimpleGraph], Rungs]
    nodes: int

    def __call__(self, first: Links, second: Links) -> float:
        one, two = (self.widths(graph_of(links, self.nodes)) for links in (first, second))
        farthest = max(rungs.reach(6) for rungs in (one, two)) + abs(one.value - two.value)
        return float(
            max(
                abs(one.rung(one.value + y) - two.rung(one.value + y)) for y in range(-farthest, farthest + 1)
            )
        )


def gadget(extra: int) -> Pair:
    """Two nodes with two common neighbours, `extra` nodes on each of the four links, and the link that joins
    both common neighbours: the case that the published bound for k-triangles forgets.
    """
    links = [(0, 2), (0, 3), (1, 2), (1, 3)]
    node = 4
    for i, j in tuple(links):
        for _ in range(extra):
            links += [(i, node), (j, node)]
            node += 1
    return Pair(
        tuple(links), (*links, (2, 3)), f"four links with {extra} triangles each | two of them joined"
    )


def published(k: int) -> Callable[[SimpleGraph], Rungs]:
    """The ladder of k-triangles with the published bound, 3 C(a, k-1) + a C(a, k-2)."""

    def rungs(graph: SimpleGraph) -> Rungs:
        most = most_common(graph)
        widths = [k_triangle_move(graph, k, most)]
        for a in range(most, most + 6):
            widths.append(widths[-1] + 3 * comb(a, k - 1) + a * comb(a, k - 2))
        limit = KTriangle(k).limit(graph.n)
        return Rungs(k_triangles(graph, k), np.minimum(np.array(widths), limit), limit)

    return rungs


PATTERNS: tuple[Pattern, ...] = (Triangle(), Star(2), Star(3), Clique(4), KTriangle(2))
GADGETS = {3: (2, 12), 4: (2, 12), 5: (3, 16)}
"""k, with how many extra nodes on each link and how many nodes in all the published bound fails."""


def targets() -> tuple[Target, ...]:
    """Ladders as they are shipped, and broken copies."""
    every = tuple(neighbouring())
    found = [
        _target(
            f"ladder-{pattern.name}",
            f"the ladder of {pattern.name}s",
            LadderLoss(pattern, Fraction(1)),
            every,
        )
        for pattern in PATTERNS
    ]
    broken: Sequence[tuple[str, str, Law]] = (
        ("open-interval", "the far end of every rung is left out", open_at_the_end),
        ("geometric-from-1", "the tail begins one rung too far", tail_from_one),
        ("tail-cut-off", "the tail is never drawn", tail_cut_off),
    )
    twice = LadderLoss(Triangle(), Fraction(2))
    found.append(_target("broken-ladder-half-a-rung", "ladder: noise for half a rung", twice, every))
    for name, summary, law in broken:
        loss = LadderLoss(Triangle(), Fraction(1), law)
        found.append(_target(f"broken-ladder-{name}", f"ladder: {summary}", loss, every))
    for k, (extra, nodes) in GADGETS.items():
        found += [
            _target(
                f"ladder-rungs-{k}-triangle",
                f"an edge moves no integer by more than one rung of the {k}-triangles",
                RungMove(KTriangle(k).rungs, nodes),
                (gadget(extra),),
            ),
            _target(
                f"broken-ladder-published-{k}-triangle",
                f"ladder: the published bound for {k}-triangles, by which an integer moves two rungs",
                RungMove(published(k), nodes),
                (gadget(extra),),
            ),
        ]
    return tuple(found)


def _target(name: str, summary: str, loss: Callable[[Links, Links], float], pairs: Sequence[Pair]) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    return Target(name, kind, Promise(Fraction(1)), summary, pairs, loss=loss)
