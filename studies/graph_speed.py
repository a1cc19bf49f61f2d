"""How fast are counts, ladders and synthetic graphs, and how much memory does a large graph take?

    python studies/graph_speed.py                    # the public graphs, beside SciPy and NetworkX
    python studies/graph_speed.py --edges 10000000   # a made-up graph of so many edges, and the peak memory

With `--keep` the figures go where the pages of the study find them. Times are CPU seconds of one thread.
Ratios are to `A.multiply(A @ A)` of SciPy and to the triangles of NetworkX on the same graph in the same
process. The exit code is 1 where a promise is not kept: triangles and their ladder within ten times the
product of SciPy, and triangles twenty times faster than NetworkX; a graph of ten million edges within 4 GiB.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import networkx as nx
import numpy as np

from graph_data import FILES, PATTERNS, graph, keep
from penstock.kinds.graph.counting import triangles
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.degree_sequence import private_degrees
from penstock.kinds.graph.models import degree_triangle
from penstock.kinds.graph.patterns import Triangle, pattern
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.ladder import ladder
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

DEGREE = 20
MOST_MEMORY = 4096


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    start = process_time()
    found = work()
    return found, process_time() - start


def _product(adjacency: Any) -> Any:
    return adjacency.multiply(adjacency @ adjacency).sum()


def public() -> tuple[bool, dict[str, Any]]:
    """Every public graph; whether all promises are kept, and all times."""
    kept, found = True, {}
    triangles(SimpleGraph.of(3, np.array([0, 1]), np.array([1, 2])))  # the compiled loop is loaded once
    print(
        f"{'graph':10}{'SciPy s':>9}{'NetworkX s':>12}{'triangles':>11}{'to SciPy':>10}{'to NetworkX':>13}",
        end="",
    )
    print("".join(f"{f'{name} ladder':>19}" for name in PATTERNS))
    for name in FILES:
        made = graph(name)
        adjacency = made.adjacency
        _, product = seconds(partial(_product, adjacency))
        ends = [side.tolist() for side in made.edges]
        known = nx.Graph(list(zip(*ends, strict=True)))
        _, slow = seconds(partial(nx.triangles, known))
        _, own = seconds(partial(triangles, SimpleGraph(made.adjacency)))
        print(
            f"{name:10}{product:9.3f}{slow:12.2f}{own:11.4f}{own / product:10.3f}{slow / own:13.0f}", end=""
        )
        found[name] = {"SciPy": product, "NetworkX": slow, "triangles": own}
        for number, words in enumerate(PATTERNS):
            _, took = seconds(partial(pattern(words).rungs, SimpleGraph(adjacency)))
            print(f"{took:12.2f} ({took / product:4.1f})", end="", flush=True)
            found[name][f"{words} ladder"] = took
            kept &= number > 0 or took <= 10 * product
        print()
        kept &= own <= 10 * product and slow >= 20 * own
    return kept, found


def large(edges: int) -> dict[str, Any]:
    """Triangle ladder, degree sequence and a synthetic graph of a made-up graph with many edges."""
    nodes = max(10, 2 * edges // DEGREE)
    rng = np.random.default_rng(1)
    weights = (1 + rng.pareto(2.5, size=nodes)).clip(max=50)
    ends = [rng.choice(nodes, size=edges, p=weights / weights.sum()) for _ in range(2)]
    made, load = seconds(lambda: SimpleGraph.of(nodes, *ends))
    ends.clear()
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {nodes}}}}}")
    sealed = Graph(made, schema)
    budget = Budget(1, randomness=Randomness.seeded(1))
    first, second = budget.evenly(["degrees", "triangles"])
    degrees, counting = seconds(lambda: private_degrees(sealed, first))
    found, climbing = seconds(lambda: ladder(sealed.rungs(Triangle()), pay=second))
    closeness, fitting = seconds(lambda: degree_triangle.fitted(degrees.whole, max(0, found)))
    drawn, drawing = seconds(lambda: degree_triangle.draw(degrees.whole, closeness, np.random.default_rng(2)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{nodes:,} nodes, {made.m:,} edges: graph {load:.1f} s, degrees {counting:.1f} s, triangle ladder "
        f"{climbing:.1f} s, fit {fitting:.1f} s, one graph of {drawn[0].size:,} edges {drawing:.1f} s; "
        f"peak {peak:,.0f} MiB"
    )
    return {
        "nodes": nodes,
        "edges": made.m,
        "graph": load,
        "degrees": counting,
        "ladder": climbing,
        "fit": fitting,
        "draw": drawing,
        "MiB": peak,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, help="a made-up graph of so many edges instead")
    parser.add_argument("--keep", action="store_true", help="for the pages of the study")
    given = parser.parse_args()
    kept = True
    if given.edges is None:
        kept, found = public()
    else:
        found = large(given.edges)
        kept = found["MiB"] <= MOST_MEMORY
    if given.keep:
        keep(*(("speed", found) if given.edges is None else ("scaling", {str(given.edges): found})))
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
