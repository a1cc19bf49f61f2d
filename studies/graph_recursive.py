"""The recursive mechanism of Chen and Zhou (2013) for triangles of small graphs, by linear programs.

    python studies/graph_recursive.py            # median errors on Zachary's karate club, beside the ladder

For studies only: its noise is drawn in floating point, which no release may be. Edges are the participants,
and an edge may take part by a share f_e; a triangle counts z = max(0, sum of its shares - 2). Then

    X = min over f of sum of z + D * sum of (1 - f_e)

moves by at most D when an edge changes, for any D; and a good D is found privately, because the logarithm of

    Delta = min over i of exp(i beta) theta with G_{m-i} <= exp(i beta) theta,
    G_i = 2 min over f with sum i of the largest sum of z over the triangles of one edge

moves by at most beta. Error is the bias of X, which lies below the count, and the noise.
"""

from __future__ import annotations

import sys
from itertools import combinations
from math import exp

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from penstock.kinds.graph.patterns import Triangle
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.mechanisms import ladder

Links = tuple[tuple[int, int], ...]
THETA = 1.0
MU = 0.5
EPSILONS = ("0.1", "0.2", "0.4", "0.8", "1.6")
RUNS = 101


def copies(links: Links) -> list[tuple[int, ...]]:
    """The triangles of a graph, each as the numbers of its three edges."""
    places = {frozenset(link): number for number, link in enumerate(links)}
    nodes = sorted({node for link in links for node in link})
    found = []
    for three in combinations(nodes, 3):
        sides = [places.get(frozenset(pair)) for pair in combinations(three, 2)]
        if None not in sides:
            found.append(tuple(side for side in sides if side is not None))
    return found


def _inequalities(
    edges: int, found: list[tuple[int, ...]], more: int = 0
) -> tuple[NDArray[np.float64], list[float]]:
    """z_T >= sum of f - 2 for every triangle, as rows over (f, z, and more unknowns)."""
    rows = np.zeros((len(found), edges + len(found) + more))
    for number, sides in enumerate(found):
        rows[number, list(sides)] = 1
        rows[number, edges + number] = -1
    return rows, [2.0] * len(found)


def lower_bound(links: Links, delta: float) -> float:
    """X for one D."""
    edges, found = len(links), copies(links)
    if not found:
        return 0.0
    cost = np.concatenate([np.full(edges, -delta), np.ones(len(found))])
    rows, limits = _inequalities(edges, found)
    bounds = [(0, 1)] * edges + [(0, None)] * len(found)
    return float(linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds).fun) + delta * edges


def local_effect(links: Links, many: int) -> float:
    """G_i: twice the least largest effect of one edge when shares add up to i."""
    edges, found = len(links), copies(links)
    if not found or many <= 0:
        return 0.0
    rows, limits = _inequalities(edges, found, more=1)
    most = np.zeros((edges, edges + len(found) + 1))
    for number, sides in enumerate(found):
        most[list(sides), edges + number] = 1
    most[:, -1] = -1
    total = np.concatenate([np.ones(edges), np.zeros(len(found) + 1)])[None, :]
    cost = np.concatenate([np.zeros(edges + len(found)), [1.0]])
    bounds = [(0, 1)] * edges + [(0, None)] * (len(found) + 1)
    solved = linprog(
        cost,
        A_ub=np.vstack([rows, most]),
        b_ub=limits + [0.0] * edges,
        A_eq=total,
        b_eq=[many],
        bounds=bounds,
    )
    return 2 * float(solved.fun)


def scale(links: Links, beta: float) -> float:
    """Delta; between neighbours its logarithm moves by at most beta."""
    for removed in range(len(links) + 1):
        reached = exp(removed * beta) * THETA
        if local_effect(links, len(links) - removed) <= reached * (1 + 1e-9):
            return reached
    return exp(len(links) * beta) * THETA


def errors(links: Links, epsilon: float, runs: int, seed: int) -> NDArray[np.float64]:
    """Absolute errors of so many runs."""
    rng, beta, half = np.random.default_rng(seed), epsilon / 5, epsilon / 2
    truth, start = len(copies(links)), scale(links, beta)
    found = []
    for _ in range(runs):
        near = start * exp(MU + rng.laplace(scale=beta / half))
        found.append(abs(lower_bound(links, near) + rng.laplace(scale=near / half) - truth))
    return np.array(found)


def medians() -> dict[str, dict[str, float]]:
    """On Zachary's karate club: the median error of the recursive mechanism and of the ladder, by epsilon."""
    links = tuple((int(i), int(j)) for i, j in nx.karate_club_graph().edges())
    ends = np.array(links)
    rungs = Triangle().rungs(SimpleGraph.of(34, ends[:, 0], ends[:, 1]))
    found = {}
    for epsilon in EPSILONS:
        found[epsilon] = {
            "recursive": float(np.median(errors(links, float(epsilon), RUNS, seed=1))),
            "ladder": float(ladder.margin(rungs, float(epsilon) / 2, 0.5)),
        }
    return found


def main() -> int:
    print(f"{'epsilon':>8}{'recursive':>12}{'ladder':>9}")
    for epsilon, found in medians().items():
        print(f"{epsilon:>8}{found['recursive']:12.1f}{found['ladder']:9.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
