"""The degree sequence: how many links nodes have, in ascending order, without saying whose they are.

Guarantee: pure epsilon for one edge added or removed (or as many together as the schema protects).
Why: an edge adds one to two degrees, and bringing sequences into order moves them no further apart, so that
the sequence has L1 sensitivity 2. Whole noise of that scale is added to each place; the order is then
restored by the nearest ascending sequence, which is post-processing. Sorting comes before the noise: noisy
degrees of named nodes would be another release, without what the order tells.

Reference: M. Hay, C. Li, G. Miklau and D. Jensen, "Accurate estimation of the degree distribution of private
networks" (ICDM 2009); as used by D. J. Mir and R. N. Wright, "A differentially private estimator for the
stochastic Kronecker graph model" (2012).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import ClassVar, Self

import numpy as np
import polars as pl
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.errors import QueryError, ReleaseError
from penstock.kinds.graph import pictures
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.ordering import AscendingDegrees, Numbers
from penstock.kinds.graph.release import GraphRelease, refuse_nodes
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Answer, Manifest, Model, Question
from penstock.releases.error_bars import Noises, bar
from penstock.report.picture import Picture


@dataclass(frozen=True)
class DegreeSequence(Method[Graph]):
    """Noisy degrees in ascending order.

    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> star = pl.DataFrame({"from": [0] * 20, "to": list(range(1, 21))})
    >>> graph = Graph.open(star, Schema.from_yaml("{kind: graph, edges: {nodes: 25}}"))
    >>> release = DegreeSequence().fit(graph, Budget(2, randomness=Randomness.seeded(3)))
    >>> print(release.count("edge"))
    17 ± 6.5 edges (counted)
    """

    name: ClassVar[str] = "degree-sequence"

    def fit(self, graph: Graph, budget: Budget) -> DegreeSequenceRelease:
        """One noisy number a node; spends the whole budget."""
        self.ready(graph, budget)
        degrees = private_degrees(graph, budget.rest("degrees"))
        return DegreeSequenceRelease(
            method=self.name,
            schema=graph.schema,
            receipt=budget.receipt(graph.schema.unit, graph.relation),
            degrees=degrees,
        )


def private_degrees(graph: Graph, pay: Budget) -> AscendingDegrees:
    """The degrees of a graph with noise, in ascending order again; pays all that is left of `pay`."""
    return AscendingDegrees.nearest(noise.counts(graph.degrees(), pay=pay))


class _Saved(BaseModel):
    nodes: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DegreeSequenceRelease(GraphRelease):
    """Degrees in ascending order, and what follows from them.

    >>> from penstock import Schema, release
    >>> ring = pl.DataFrame({"from": list(range(50)), "to": [*range(1, 50), 0]})
    >>> made = release(ring, Schema.from_yaml("{kind: graph, edges: {nodes: 50}}"), epsilon=3, seed=2,
    ...     method="degree-sequence")
    >>> made.degrees.whole[:3].tolist()
    [1, 1, 2]
    """

    answer: ClassVar[str] = "counts"
    form: ClassVar[str] = "degree-sequence"

    degrees: AscendingDegrees

    def count(self, pattern: str) -> Answer:
        """The number of edges or k-stars that the degrees make."""
        text = pattern.strip().lower()
        if text in ("edge", "edges"):
            spread = noise.standard_deviation(2 * self.receipt.unit.records, self.receipt.epsilon)
            known = bar([Noises(0.5, spread, self.n)])
            return Answer.counted(float(self.degrees.totals.sum()) / 2, known, "edges")
        k = text.removesuffix("-star")
        if not k.isdecimal() or not 2 <= int(k) <= 1000 or not text.endswith("-star"):
            raise QueryError(
                f"'{pattern}' does not follow from degrees; ask for edge, 2-star, 3-star and so on."
            )
        if comb(self.n, int(k)) > 10**300:
            raise QueryError(
                f"There can be more than 10**300 {text}s among {self.n} nodes; ask for smaller ones."
            )
        return Answer(self.degrees.stars(int(k)), None, f"{text}s")

    def with_degree(self, text: str) -> Answer:
        """How many nodes have a degree, such as 3, or one in a range, such as 3..10."""
        low, dots, high = (part.strip() for part in text.partition(".."))
        if not low.isdecimal() or (dots and not high.isdecimal()):
            raise QueryError(
                f"'{text}' is no degree; write a whole number such as 3, or a range such as 3..10."
            )
        begin, end = np.searchsorted(self.degrees.whole, [int(low), int(high if dots else low) + 1])
        return Answer(float(end - begin), None, "nodes")

    def distribution(self) -> pl.DataFrame:
        """The number of nodes for every degree that occurs: columns degree, nodes."""
        degrees, nodes = np.unique(self.degrees.whole, return_counts=True)
        return pl.DataFrame({"degree": degrees, "nodes": nodes.astype(np.int64)})

    def questions(self) -> Mapping[str, Question]:
        return {
            "pattern": Question("edges and stars are counted", self.count, example="edge"),
            "degree": Question("nodes of a degree are counted", self.with_degree, example="0..2"),
        }

    def model(self) -> Model:
        return degrees_model(self.degrees, _Saved(nodes=self.n).model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        nodes = model.read(_Saved).nodes
        found = cls(**manifest.common, degrees=degrees_from(model, nodes))
        refuse_nodes(nodes, "degrees", found.n)
        return found

    def pictures(self) -> Sequence[Picture]:
        return [pictures.degree_distribution({"degrees": self.degrees.whole})]

    def explain(self) -> Sequence[str]:
        largest = int(self.degrees.whole[-1]) if self.n else 0
        return [
            f"The degrees of all {self.n:,} nodes in ascending order, up to {largest:,}. Noise was added "
            "to each, "
            "and the nearest ascending sequence was taken. Whose degree is which was never looked at."
        ]

    def limits(self) -> Sequence[str]:
        return [
            "The number of edges that the degrees make is less certain than a number of edges released by "
            "itself.",
            *super().limits(),
        ]


def degrees_model(degrees: AscendingDegrees, json: dict[str, object]) -> Model:
    """Degrees as a table of blocks."""
    table = pl.DataFrame({"total": degrees.totals, "nodes": degrees.nodes})
    return Model(json=json, tables={"degrees": table})


def degrees_from(model: Model, nodes: int) -> AscendingDegrees:
    """The degrees of a saved table, checked."""
    table = model.table("degrees", {"total": pl.Int64, "nodes": pl.Int64})
    totals: Numbers = table["total"].to_numpy()
    many: Numbers = table["nodes"].to_numpy()
    if np.any(many < 1) or int(many.sum()) != nodes or np.any(np.diff(totals / np.maximum(many, 1)) < 0):
        raise ReleaseError(
            "model-degrees.parquet holds no ascending degrees of all nodes; get the release again."
        )
    return AscendingDegrees(totals, many)
