"""Links that nobody has, to try things out on: nodes of very different liveliness, and friends of friends."""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.errors import UsageError
from penstock.kinds.graph.layout import EdgeLayout, first_number, nodes_of
from penstock.schema import Schema

_FRIENDS = 0.3  # of the links close a triangle, or try to
_ROUNDS = 200


def made_up_edges(schema: Schema, records: int, seed: int = 0) -> pl.DataFrame:
    """So many links between the declared nodes, as rows that the schema describes; nothing is read."""
    layout, nodes = EdgeLayout.of(schema), nodes_of(schema)
    if records > nodes * (nodes - 1) // 4:
        raise UsageError(
            f"{records:,} links are more than half of all that {nodes:,} nodes can have; say fewer."
        )
    rng = np.random.default_rng(seed)
    weights = (rng.permutation(nodes) + 10.0) ** -0.6
    shares = np.cumsum(weights / weights.sum())
    found: dict[tuple[int, int], None] = {}
    known: list[list[int]] = [[] for _ in range(nodes)]
    for _ in range(_ROUNDS * max(1, records)):
        if len(found) >= records:
            break
        one, other = (int(np.searchsorted(shares, draw)) for draw in rng.random(2))
        if known[one] and rng.random() < _FRIENDS:
            friend = known[one][int(rng.integers(len(known[one])))]
            other = known[friend][int(rng.integers(len(known[friend])))]
        edge = (min(one, other), max(one, other))
        if one != other and max(edge) < nodes and edge not in found:
            found[edge] = None
            known[one].append(other)
            known[other].append(one)
    ends = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    names = layout.labels(schema)
    if names is not None:
        return pl.DataFrame(
            {end: [names[node] for node in ends[:, side]] for side, end in enumerate(layout.ends)}
        )
    return pl.DataFrame({end: ends[:, side] + first_number(schema) for side, end in enumerate(layout.ends)})
