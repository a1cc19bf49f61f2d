"""Counts of patterns with other noise than a ladder's: global, smooth, and local sensitivity bounded
privately.

Guarantee: pure epsilon for `laplace-counts` and `smooth-counts`, (epsilon, delta) for `noisy-local-counts`;
one edge added or removed, or as many together as the schema protects. Why: global sensitivity with discrete
Laplace noise; discrete Cauchy noise on a smooth sensitivity (`penstock.privacy.mechanisms.smooth`); Laplace
noise on a private bound of the local sensitivity (`penstock.privacy.mechanisms.noisy_local`). Several counts
share the budget equally.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text
from penstock.errors import BudgetError, UsageError
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.layout import nodes_of
from penstock.kinds.graph.patterns import KTriangle, Pattern, Star, Triangle, pattern
from penstock.kinds.graph.release import warn_of_delta
from penstock.kinds.graph.subgraph_counts import SubgraphCountsRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise, smooth
from penstock.privacy.mechanisms.noisy_local import noisy_local
from penstock.schema import Schema

_LARGEST = 1 << 62


@dataclass(frozen=True)
class _Counts(Method[Graph]):
    """Several counts, each with an equal part of the budget."""

    counts: Annotated[str, Text()] = "triangle"

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        found = tuple(pattern(text) for text in self.counts.split(",") if text.strip())
        if not found or len(set(found)) < len(found):
            raise UsageError("counts: name at least one pattern, and each once. Nothing was spent.")
        return found

    def check(self, schema: Schema) -> None:
        for each in self.patterns:
            each.refuse(nodes_of(schema))
            self.refuse(each, nodes_of(schema))

    def refuse(self, each: Pattern, n: int) -> None:
        """Raise for a pattern that this noise is not made for."""

    @abstractmethod
    def released(self, graph: Graph, each: Pattern, pay: Budget) -> tuple[int, float | None]:
        """One noisy count, and its error bar where it is public."""

    def _fitted(self, graph: Graph, budget: Budget) -> SubgraphCountsRelease:
        self.check(graph.schema)
        parts = budget.evenly([each.name for each in self.patterns])
        found = {
            each.name: self.released(graph, each, part)
            for each, part in zip(self.patterns, parts, strict=True)
        }
        return SubgraphCountsRelease(
            method=self.name,
            schema=graph.schema,
            receipt=budget.receipt(graph.schema.unit, graph.relation),
            parameters={parameter.name: getattr(self, parameter.name) for parameter in self.parameters()},
            counts={name: value for name, (value, _) in found.items()},
            errors={name: error for name, (_, error) in found.items()},
        )


@dataclass(frozen=True)
class LaplaceCounts(_Counts):
    """Counts with noise for the worst graph of so many nodes.

    >>> import networkx as nx
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> five = Graph.open(nx.complete_graph(5), Schema.from_yaml("{kind: graph, edges: {nodes: 5}}"))
    >>> release = LaplaceCounts().fit(five, Budget(8, randomness=Randomness.seeded(1)))
    >>> print(release.count("triangle").number)
    10 ± 1 triangles
    """

    name: ClassVar[str] = "laplace-counts"

    def refuse(self, each: Pattern, n: int) -> None:
        if each.limit(n) >= _LARGEST:
            raise UsageError(
                f"counts: one edge can move the number of {each.name}s among {n} nodes by more than 64 "
                "bits hold; "
                "use the ladder. Nothing was spent."
            )

    def fit(self, graph: Graph, budget: Budget) -> SubgraphCountsRelease:
        self.ready(graph, budget)
        return self._fitted(graph, budget)

    def released(self, graph: Graph, each: Pattern, pay: Budget) -> tuple[int, float | None]:
        sealed = graph.count(each)
        error = noise.margin(sealed.sensitivity.l1, pay.epsilon)
        return noise.counts(sealed, pay=pay), float(error)


@dataclass(frozen=True)
class SmoothCounts(_Counts):
    """Counts with Cauchy noise on the scale of their smooth sensitivity; triangles and k-stars.

    `calibration` is `tight`, or `published` with three times the noise.

    >>> import networkx as nx
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> five = Graph.open(nx.complete_graph(5), Schema.from_yaml("{kind: graph, edges: {nodes: 5}}"))
    >>> release = SmoothCounts(counts="2-star").fit(five, Budget(20, randomness=Randomness.seeded(1)))
    >>> print(release.count("2-star"))
    26 2-stars (counted: no error bar)
    """

    name: ClassVar[str] = "smooth-counts"

    calibration: Literal["tight", "published"] = "tight"

    def refuse(self, each: Pattern, n: int) -> None:
        if not isinstance(each, Triangle | Star):
            raise UsageError(
                f"counts: the smooth sensitivity of {each.name}s is not known; count triangles or stars, "
                "or use the "
                "ladder. Nothing was spent."
            )

    def fit(self, graph: Graph, budget: Budget) -> SubgraphCountsRelease:
        self.ready(graph, budget)
        return self._fitted(graph, budget)

    def released(self, graph: Graph, each: Pattern, pay: Budget) -> tuple[int, float | None]:
        return smooth.cauchy(graph.rungs(each), pay=pay, calibration=self.calibration), None


@dataclass(frozen=True)
class NoisyLocalCounts(_Counts):
    """Counts of k-triangles with noise on a private bound of their local sensitivity.

    >>> import networkx as nx
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> five = Graph.open(nx.complete_graph(5), Schema.from_yaml("{kind: graph, edges: {nodes: 5}}"))
    >>> budget = Budget(80, "1/1000", randomness=Randomness.seeded(1))
    >>> print(NoisyLocalCounts().fit(five, budget).count("2-triangle"))
    30 2-triangles (counted: no error bar)
    """

    name: ClassVar[str] = "noisy-local-counts"

    counts: Annotated[str, Text()] = "2-triangle"

    def refuse(self, each: Pattern, n: int) -> None:
        if not isinstance(each, KTriangle):
            raise UsageError(
                f"counts: this noise is for k-triangles, not for {each.name}s; use the ladder. Nothing was "
                "spent."
            )

    def fit(self, graph: Graph, budget: Budget) -> SubgraphCountsRelease:
        self.ready(graph, budget)
        if not budget.left[1]:
            raise BudgetError("noisy-local-counts needs a delta; give one, such as 1e-6. Nothing was spent.")
        warn_of_delta(budget.left[1], graph.n)
        return self._fitted(graph, budget)

    def released(self, graph: Graph, each: Pattern, pay: Budget) -> tuple[int, float | None]:
        assert isinstance(each, KTriangle)
        return noisy_local(graph.local(each), each.growth, pay=pay), None
