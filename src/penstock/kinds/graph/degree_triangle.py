"""Graphs with the released degrees and about the released number of triangles: a graph in, graphs out.

Guarantee: pure epsilon for one edge added or removed (or as many together as the schema protects).
Why: the degree sequence is released with one part of the budget and the number of triangles with the other,
by its ladder. Everything else, the blocks, how closely they are linked and the graphs, is drawn from these
two facts and is post-processing.

The model keeps what a stochastic Kronecker graph fitted to the same two facts cannot: the degrees themselves,
the triangles and the clustering. See `penstock.kinds.graph.models.degree_triangle`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact
from penstock.errors import QueryError, ReleaseError
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.degree_sequence import degrees_from, degrees_model, private_degrees
from penstock.kinds.graph.models import degree_triangle as model_of
from penstock.kinds.graph.models.degree_triangle import Closeness
from penstock.kinds.graph.ordering import AscendingDegrees
from penstock.kinds.graph.patterns import Triangle
from penstock.kinds.graph.release import refuse_nodes
from penstock.kinds.graph.simple import Numbers
from penstock.kinds.graph.synthetic import SyntheticGraphRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.ladder import ladder
from penstock.progress import progress
from penstock.releases import Answer, Manifest, Model, Question


@dataclass(frozen=True)
class DegreeTriangle(Method[Graph]):
    """Noisy degrees, a noisy number of triangles, and graphs that have both.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> links = [(i, j) for i in range(60) for j in range(max(0, i - 5), i)]
    >>> graph = Graph.open(
    ...     pl.DataFrame(links, schema=["from", "to"], orient="row"),
    ...     Schema.from_yaml("{kind: graph, edges: {nodes: 60}}"),
    ... )
    >>> release = DegreeTriangle().fit(graph, Budget(8, randomness=Randomness.seeded(1)))
    >>> 240 < release.sample(seed=1).height < 330  # of 285 links
    True
    """

    name: ClassVar[str] = "degree-triangle"

    degree_share: Annotated[Amount, Exact(above=0, below=1)] = "1/2"

    def fit(self, graph: Graph, budget: Budget) -> DegreeTriangleRelease:
        """Two private facts, then how closely blocks are linked; spends the whole budget."""
        self.ready(graph, budget)
        share = exact(self.degree_share)
        degrees = private_degrees(graph, budget.part("degrees", share))
        triangles = ladder(graph.rungs(Triangle()), pay=budget.rest("triangles"))
        with progress("fitting the blocks", total=1) as step:
            closeness = model_of.fitted(degrees.whole, max(0, triangles))
            step(1)
        return DegreeTriangleRelease(
            method=self.name,
            schema=graph.schema,
            receipt=budget.receipt(graph.schema.unit, graph.relation),
            parameters={"degree_share": str(share)},
            degrees=degrees,
            triangles=triangles,
            closeness=closeness,
        )


class _Saved(BaseModel):
    nodes: int
    triangles: int
    closeness: float
    decay: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DegreeTriangleRelease(SyntheticGraphRelease):
    """Degrees in ascending order, a number of triangles, and how closely nodes of similar degree are linked.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> ring = pl.DataFrame({"from": list(range(50)), "to": [*range(1, 50), 0]})
    >>> made = release(ring, Schema.from_yaml("{kind: graph, edges: {nodes: 50}}"), epsilon=3, seed=2)
    >>> made.method, made.graph(seed=3).number_of_nodes()
    ('degree-triangle', 50)
    """

    form: ClassVar[str] = "degree-triangle"

    degrees: AscendingDegrees
    triangles: int
    closeness: Closeness

    @property
    def drawn_nodes(self) -> int:
        return self.n

    def links(self, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        ones, others = model_of.draw(self.degrees.whole, self.closeness, rng)
        order = rng.permutation(self.n)  # a node's number says nothing about its degree
        return order[ones], order[others]

    def count(self, name: str) -> Answer:
        """The noisy number of edges, stars or triangles of the original graph, as far as it is possible."""
        text = name.strip().lower()
        if text == "triangle":
            found = min(max(0, self.triangles), Triangle().most(self.n))
            return Answer.counted(found, None, "triangles")
        known = {"edge": 1, "edges": 1, "2-star": 2, "3-star": 3}
        if text not in known:
            raise QueryError(f"'{name}' was not counted; this release has edge, 2-star, 3-star and triangle.")
        return Answer(self.degrees.stars(known[text]), None, f"{text.removesuffix('s')}s")

    def questions(self) -> Mapping[str, Question]:
        return {
            "pattern": Question("patterns are counted", self.count, example="triangle"),
            **super().questions(),
        }

    def model(self) -> Model:
        saved = _Saved(
            nodes=self.n,
            triangles=self.triangles,
            closeness=self.closeness.closeness,
            decay=self.closeness.decay,
        )
        return degrees_model(self.degrees, saved.model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        if not (0 <= saved.closeness <= 1 and 0 <= saved.decay <= 1):
            raise ReleaseError(
                "model.json has no closeness and decay between 0 and 1; get the release again."
            )
        found = cls(
            **manifest.common,
            degrees=degrees_from(model, saved.nodes),
            triangles=saved.triangles,
            closeness=Closeness(saved.closeness, saved.decay),
        )
        refuse_nodes(saved.nodes, "degrees", found.n)
        return found

    def explain(self) -> Sequence[str]:
        return [
            f"The noisy degrees of all {self.n:,} nodes and a noisy number of triangles, "
            f"{self.count('triangle')}. Synthetic graphs have these degrees; nodes of similar degree are "
            "linked as "
            "closely as it takes for that many triangles, and all else is linked at random."
        ]

    def limits(self) -> Sequence[str]:
        return [
            "Communities, distances and who is linked with whom are not modelled beyond what degrees and "
            "triangles "
            "imply.",
            *super().limits(),
        ]
