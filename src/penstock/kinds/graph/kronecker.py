"""A stochastic Kronecker graph, fitted to a few private counts: a graph in, graphs out.

Guarantee: pure epsilon for one edge added or removed (or as many together as the schema protects); with
preset="published", (epsilon, delta).
Why: the degree sequence is released with one part of the budget, which gives edges, 2-stars and 3-stars, and
the number of triangles with the other, by its ladder or, as published, by noise on its smooth sensitivity.
Fitting the model and drawing from it are post-processing. Which counts the fit uses depends on released
values alone: one of zero or less says nothing about the model and is left out. The number of nodes, a power
of two, comes from the public one.

Reference: D. J. Mir and R. N. Wright, "A differentially private estimator for the stochastic Kronecker graph
model" (2012), with corrected moments; the pure form is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Text
from penstock.errors import BudgetError, QueryError, ReleaseError, UsageError
from penstock.kinds.graph import pictures
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.degree_sequence import private_degrees
from penstock.kinds.graph.models import kronecker as model_of
from penstock.kinds.graph.models.kronecker import FEATURES, Distance, Initiator, Norm, levels_of
from penstock.kinds.graph.patterns import Pattern, Star, Triangle
from penstock.kinds.graph.release import warn_of_delta
from penstock.kinds.graph.simple import Numbers
from penstock.kinds.graph.synthetic import SyntheticGraphRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise, smooth
from penstock.privacy.mechanisms.ladder import ladder
from penstock.progress import progress
from penstock.releases import Answer, Manifest, Model, Question
from penstock.report.picture import Picture

LETTERS = dict(zip("EHDT", FEATURES, strict=True))


@dataclass(frozen=True)
class Kronecker(Method[Graph]):
    """A stochastic Kronecker graph whose expected counts match noisy ones.

    `features` says where 2-stars and 3-stars come from: from the degree sequence, or each from a ladder of
    its own (which is worse). `matched` names the counts that are matched, E(dges), H(airpins), D (triangles)
    and T(ripins).

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> links = [(i, j) for i in range(60) for j in range(i) if (i * j) % 7 == 1]
    >>> graph = Graph.open(
    ...     pl.DataFrame(links, schema=["from", "to"], orient="row"),
    ...     Schema.from_yaml("{kind: graph, edges: {nodes: 60}}"),
    ... )
    >>> release = Kronecker().fit(graph, Budget(4, randomness=Randomness.seeded(1)))
    >>> release.drawn_nodes, release.graph(seed=1).number_of_nodes()
    (64, 64)
    """

    name: ClassVar[str] = "kronecker"

    preset: Literal["pure", "published"] = "pure"
    degree_share: Annotated[Amount, Exact(above=0, below=1)] = "1/2"
    features: Literal["degrees", "counts"] = "degrees"
    matched: Annotated[str, Text()] = "EHDT"
    distance: Distance = "squared"
    norm: Norm = "F2"

    def __post_init__(self) -> None:
        super().__post_init__()
        chosen = set(self.matched)
        if not chosen <= set(LETTERS) or len(chosen) != len(self.matched) or len(chosen) < 3:
            raise UsageError(
                f"matched must be three or four of the letters E, H, D and T, not {self.matched!r}. "
                "Nothing was spent."
            )

    def fit(self, graph: Graph, budget: Budget) -> KroneckerRelease:
        """Counts of the graph, then the initiator that fits them; spends the whole budget."""
        self.ready(graph, budget)
        if self.preset == "published" and not budget.left[1]:
            raise BudgetError(
                "The published preset needs a delta, far below one in the number of edges; give one, or "
                "leave "
                "the preset out. Nothing was spent."
            )
        if self.preset == "published":
            warn_of_delta(budget.left[1], graph.n)
        counts = self._counted(graph, budget)
        used = {LETTERS[letter]: counts[LETTERS[letter]] for letter in self.matched}
        with progress("fitting the initiator", total=1) as step:
            initiator, _ = model_of.fit(used, levels_of(graph.n), distance=self.distance, norm=self.norm)
            step(1)
        return KroneckerRelease(
            method=self.name,
            schema=graph.schema,
            receipt=budget.receipt(graph.schema.unit, graph.relation),
            parameters={
                "preset": self.preset,
                "degree_share": str(exact(self.degree_share)),
                "features": self.features,
                "matched": self.matched,
                "distance": self.distance,
                "norm": self.norm,
            },
            initiator=initiator,
            counts=counts,
        )

    def _counted(self, graph: Graph, budget: Budget) -> dict[str, float]:
        """The four counts, each as it came out; all are public from here on."""
        if self.features == "counts":
            return self._from_ladders(graph, budget)
        pure = self.preset == "pure"
        share = exact(self.degree_share)
        degrees = private_degrees(graph, budget.part("degrees", share, delta_share=0))
        rest = budget.part("triangles", 1 - share, delta_share=0 if pure else 1)
        sealed = graph.rungs(Triangle())
        triangles = ladder(sealed, pay=rest) if pure else smooth.laplace(sealed, pay=rest)
        return {
            "edge": degrees.stars(1),
            "2-star": degrees.stars(2),
            "triangle": _held(triangles, Triangle(), graph.n),
            "3-star": degrees.stars(3),
        }

    def _from_ladders(self, graph: Graph, budget: Budget) -> dict[str, float]:
        pure = self.preset == "pure"
        edges, hairpins, triangles, tripins = (
            budget.part(name, "1/4", delta_share=0 if pure or name != "triangle" else 1) for name in FEATURES
        )
        sealed = graph.rungs(Triangle())
        noisy = ladder(sealed, pay=triangles) if pure else smooth.laplace(sealed, pay=triangles)
        return {
            "edge": float(noise.counts(graph.size(), pay=edges)[0]),
            "2-star": _held(ladder(graph.rungs(Star(2)), pay=hairpins), Star(2), graph.n),
            "triangle": _held(noisy, Triangle(), graph.n),
            "3-star": _held(ladder(graph.rungs(Star(3)), pay=tripins), Star(3), graph.n),
        }


def _held(count: int, pattern: Pattern, n: int) -> float:
    """A noisy count, not further from zero than there can be copies of the pattern among n nodes."""
    most = pattern.most(n)
    return float(min(max(count, -most), most))


class _Saved(BaseModel):
    initiator: list[float]
    counts: dict[str, float]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class KroneckerRelease(SyntheticGraphRelease):
    """An initiator and the noisy counts that it was fitted to.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> ring = pl.DataFrame({"from": list(range(50)), "to": [*range(1, 50), 0]})
    >>> made = release(ring, Schema.from_yaml("{kind: graph, edges: {nodes: 50}}"), epsilon=3, seed=2,
    ...     method="kronecker")
    >>> made.sample(2, seed=1).columns
    ['graph', 'from', 'to']
    """

    form: ClassVar[str] = "kronecker"

    initiator: Initiator
    counts: Mapping[str, float]

    @property
    def levels(self) -> int:
        return levels_of(self.n)

    @property
    def drawn_nodes(self) -> int:
        return int(2**self.levels)

    def links(self, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        return model_of.draw(self.initiator, self.levels, rng)

    def count(self, name: str) -> Answer:
        """A noisy count of the original graph that the model was fitted to, not below zero."""
        known = {"edges": "edge", **{each: each for each in FEATURES}}
        if name.strip().lower() not in known:
            raise QueryError(f"'{name}' was not counted; this release has {', '.join(FEATURES)}.")
        found = known[name.strip().lower()]
        return Answer(max(0.0, self.counts[found]), None, f"{found}s")

    def questions(self) -> Mapping[str, Question]:
        return {
            "pattern": Question("patterns are counted", self.count, example="triangle"),
            **super().questions(),
        }

    def model(self) -> Model:
        entries = [self.initiator.a, self.initiator.b, self.initiator.c]
        return Model(json=_Saved(initiator=entries, counts=dict(self.counts)).model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        if set(saved.counts) != set(FEATURES) or not all(np.isfinite(list(saved.counts.values()))):
            raise ReleaseError("model.json has other counts than a Kronecker graph; get the release again.")
        if len(saved.initiator) != 3 or not all(0 <= entry <= 1 for entry in saved.initiator):
            raise ReleaseError("model.json has no initiator of three probabilities; get the release again.")
        return cls(**manifest.common, initiator=Initiator(*saved.initiator), counts=saved.counts)

    def pictures(self) -> Sequence[Picture]:
        return [pictures.initiator(self.initiator), *super().pictures()]

    def explain(self) -> Sequence[str]:
        dropped = [name for name in FEATURES if self.counts[name] <= 0]
        left_out = (
            f" Left out because the noisy count is not above zero: {', '.join(dropped)}." if dropped else ""
        )
        told = ", ".join(str(self.count(name)) for name in FEATURES)
        return [
            f"A stochastic Kronecker graph of {self.drawn_nodes:,} nodes: two nodes are linked with a "
            "probability "
            "that follows from the binary digits of their numbers. It was fitted to these noisy counts: "
            f"{told}."
            f"{left_out}"
        ]

    def limits(self) -> Sequence[str]:
        return [
            f"Synthetic graphs have {self.drawn_nodes:,} nodes, a power of two, where the data have "
            f"{self.n:,}; "
            "many of them have no link.",
            "Such graphs cannot have as many triangles, nor as much clustering, as most real networks.",
            *super().limits(),
        ]
