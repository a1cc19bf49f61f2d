"""The sealed handle on a graph: one edge more or less, on nodes that are public.

Neighbouring graphs have the same nodes and differ in one edge. Where the schema protects k edges together
(`unit.at_most`), one graph becomes the other by k such steps, and everything moves k times as far: this is
group privacy, and the only protection of a person's several edges that there is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data
from penstock.engine.header import Header
from penstock.engine.records import Source
from penstock.kinds.graph import counting
from penstock.kinds.graph.layout import nodes_of
from penstock.kinds.graph.patterns import KTriangle, Pattern, Reach
from penstock.kinds.graph.reading import open_graph, read_edges
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms.noisy_local import Local
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema


class Graph(Data):
    """A graph whose edges can be counted and not seen.

    >>> import polars as pl
    >>> schema = Schema.from_yaml("{kind: graph, edges: {nodes: 4}}")
    >>> Graph.open(pl.DataFrame({"from": ["a", "b"], "to": ["b", "c"]}), schema).degrees()
    Sealed(sensitivity 2, add-remove)
    """

    def __init__(self, graph: SimpleGraph, schema: Schema) -> None:
        self._graph, self.schema = graph, schema

    @classmethod
    def read(cls, source: Any, schema: Schema, *, table: str | None = None, header: Header = None) -> Source:
        return read_edges(source, schema, table=table, header=header)

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Graph:
        return cls(open_graph(source, schema, table=table), schema)

    def __repr__(self) -> str:
        return f"Graph({self.n} nodes, sealed edges, {self.schema.relation.value})"

    @property
    def n(self) -> int:
        """The number of nodes: public."""
        return nodes_of(self.schema)

    @property
    def together(self) -> int:
        """How many edges are protected together."""
        return self.schema.unit.records

    def size(self) -> Sealed[NDArray[np.int64]]:
        """The number of edges, as a vector of one."""
        return Sealed(
            np.array([self._graph.m], dtype=np.int64),
            Sensitivity.of(self.together, monotone=True),
            self.schema.relation,
            because="every edge is counted once",
        )

    def degrees(self) -> Sealed[NDArray[np.int64]]:
        """The degrees of all nodes in ascending order, without saying whose they are."""
        return Sealed(
            self._graph.degrees[::-1].copy(),
            Sensitivity.of(2 * self.together, linf=self.together, monotone=True),
            self.schema.relation,
            because="an edge adds one to two degrees, so that two counts of nodes of at least some degree "
            "grow "
            "by one, or one by two: in ascending order two places rise by one",
        )

    def rungs(self, pattern: Pattern) -> Sealed[Rungs]:
        """The number of a pattern on its ladder; the sensitivity is in rungs."""
        return Sealed(
            pattern.rungs(self._graph),
            Sensitivity.of(self.together),
            self.schema.relation,
            because="the widths are a ladder of the pattern's count, so that an edge moves an integer by at "
            "most one rung; see penstock.kinds.graph.patterns for the proof of each",
        )

    def count(self, pattern: Pattern) -> Sealed[int]:
        """The number of a pattern, which one edge moves by at most its public limit."""
        return Sealed(
            pattern.count(self._graph),
            Sensitivity.of(pattern.limit(self.n) * self.together),
            self.schema.relation,
            because="no edge of any graph with so many nodes is in more copies of the pattern than its limit",
        )

    def local(self, pattern: KTriangle) -> Sealed[Local]:
        """The number of k-triangles, how far one edge moves it, and what bounds how that changes."""
        most = counting.most_common(self._graph)
        found = Local(
            pattern.count(self._graph), counting.k_triangle_move(self._graph, pattern.k, most), most
        )
        return Sealed(
            found,
            Sensitivity.of(self.together),
            self.schema.relation,
            because="an edge moves the count by at most the local sensitivity, that by at most the growth "
            "at the "
            "largest number of common neighbours before or after, and this number by at most one",
        )

    def largest(self, reaches: Sequence[Reach]) -> Sealed[NDArray[np.int64]]:
        """The largest degree, or the largest number of common neighbours of any two nodes."""
        found = [
            int(self._graph.degrees.max(initial=0))
            if reach == "degree"
            else counting.most_common(self._graph)
            for reach in reaches
        ]
        return Sealed(
            np.array(found, dtype=np.int64),
            Sensitivity.of(self.together * len(found), linf=self.together, monotone=True),
            self.schema.relation,
            because="an edge adds at most one to a degree, and at most one common neighbour to a pair of "
            "nodes",
        )
