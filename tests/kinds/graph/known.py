"""Small graphs that everybody knows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np

from penstock.kinds.graph.simple import SimpleGraph

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "graphs"
GRAPHS = ("figure", "karate", "K5", "petersen")


def networkx_graph(name: str) -> nx.Graph:
    if name == "figure":  # of the paper: i, j, a, b, c with c alone
        made = nx.Graph([(0, 2), (1, 2), (0, 3)])
        made.add_node(4)
        return made
    known = {
        "karate": nx.karate_club_graph,
        "petersen": nx.petersen_graph,
        "K5": lambda: nx.complete_graph(5),
    }
    return known[name]()


@cache
def graph(name: str) -> SimpleGraph:
    known = networkx_graph(name)
    ends = np.array(list(known.edges()), dtype=np.int64).reshape(-1, 2)
    return SimpleGraph.of(known.number_of_nodes(), ends[:, 0], ends[:, 1])
