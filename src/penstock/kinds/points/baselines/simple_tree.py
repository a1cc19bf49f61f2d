"""SimpleTree: a tree of bounded height, each node counted with noise and split if the count is high.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: a point lies in one node of each of at most `height` levels, and every level is paid for by its
equal part of the budget; which nodes there are follows from the noisy counts above them. The noise
therefore grows with the height, which is what PrivTree avoids.

Reference: Algorithm 4.1 of J. Zhang's thesis (2016), after G. Cormode et al., "Differentially private
spatial decompositions" (ICDE 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Number, Whole
from penstock.errors import PenstockError, ReleaseError
from penstock.kinds.points.data import Points
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.ranges import Ranges
from penstock.kinds.points.regions import region, shares
from penstock.kinds.points.space import Space
from penstock.kinds.points.tree import TreeRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.growth import MOST_NODES
from penstock.releases import Answer, Manifest, Model
from penstock.schema import Schema

MOST_HEIGHT = 256
"""No point is told from another by more cuts than this."""


@dataclass(frozen=True)
class SimpleTree(Method[Points]):
    """A tree of `height` levels. A node is split when its noisy count exceeds `theta`.

    Without a `theta` it is two standard deviations of the noise. `inner` answers from inner nodes,
    too, where a box contains them; without it leaves alone answer.

    >>> from penstock.demo import rides, rides_schema
    >>> from penstock.kinds.points.box import Box
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> points = Points.open(rides(500), Schema.from_yaml(rides_schema()))
    >>> release = SimpleTree().fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 20 < release.count(Box((0, 0), (10, 7))).value < 140
    True
    """

    name: ClassVar[str] = "simple-tree"

    height: Annotated[int, Whole(1, MOST_HEIGHT)] = 8
    theta: Annotated[float | None, Number()] = None
    inner: bool = True

    def check(self, schema: Schema) -> None:
        """Refuse fields that no tree can be made of."""
        Space.of(schema, deepest=self.height - 1)

    def fit(self, points: Points, budget: Budget) -> SimpleTreeRelease:
        """Count and split, level by level, each level for an equal part of the budget."""
        self.ready(points, budget)
        space = Space.of(points.schema, deepest=self.height - 1)
        parts = budget.evenly([f"level {depth}" for depth in range(self.height)])
        scale = points.schema.unit.records * self.height / float(budget.epsilon)
        theta = 2 * sqrt(2) * scale if self.theta is None else self.theta
        level, nodes = points.top(space), 1
        counts: list[NDArray[np.int64]] = []
        split: list[NDArray[np.bool_]] = []
        for depth, pay in enumerate(parts):
            fans = level.fans
            counts.append(noise.counts(level.scores(np.arange(len(fans))), pay=pay))
            marks = (counts[-1] > theta) & (fans > 0) & (depth < self.height - 1)
            chosen = np.flatnonzero(marks)
            chosen = chosen[nodes + np.cumsum(fans[chosen]) <= MOST_NODES]
            split.append(np.isin(np.arange(len(fans)), chosen))
            if not len(chosen):
                break
            nodes += int(fans[chosen].sum())
            level = level.children(chosen)
        for pay in parts[len(counts) :]:  # levels without nodes are part of the tree's price
            noise.counts(level.scores(np.arange(0)), pay=pay)
        partition = Partition.grown(space, np.concatenate(split))
        everywhere = np.concatenate(counts)
        return SimpleTreeRelease(
            method=self.name,
            schema=points.schema,
            parameters={"height": self.height, "theta": theta, "inner": self.inner},
            receipt=budget.receipt(points.schema.unit, points.relation),
            partition=partition,
            counts=everywhere[partition.leaves],
            deviation=noise.standard_deviation(points.sensitivity.l1, parts[0].epsilon),
            deepest=self.height - 1,
            inner=self.inner,
            nodes=everywhere if self.inner else partition.shape.sums(everywhere[partition.leaves]),
        )


class _Saved(BaseModel):
    inner: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SimpleTreeRelease(TreeRelease):
    """A tree with a count in every node; the topmost node inside a box answers for all below it.

    `inner` says whether inner nodes keep their own noisy counts, or have the sums of their leaves.

    >>> from penstock import Schema, release
    >>> from penstock.demo import rides, rides_schema
    >>> schema = Schema.from_yaml(rides_schema())
    >>> tree = release(rides(500), schema, epsilon=1, method="simple-tree", seed=1)
    >>> len(tree.nodes) > len(tree.counts)
    True
    """

    form: ClassVar[str] = "simple-tree"

    nodes: NDArray[np.int64]
    inner: bool

    @cached_property
    def ranges(self) -> Ranges:
        return Ranges(self.partition, self.nodes.astype(np.float64), additive=False)

    def ask(self, expression: str) -> Answer:
        """The number of points that meet a condition, from the topmost nodes that meet it wholly."""
        shape = self.partition.shape
        terms = region(expression, self.schema, self.space)
        share = shares(terms, self.partition.low, self.partition.high)
        whole = share > 1 - 1e-12
        above = np.append(False, whole[shape.parents[1:]])
        answering = (whole & ~above) | ((shape.fans == 0) & ~above)
        part = np.where(answering, share, 0.0)
        return self.stated(float(self.nodes @ part), float(part.sum()), float(np.sum(part**2)))

    @property
    def reservations(self) -> tuple[str, ...]:
        if self.inner:
            return ()
        return (
            "Which cells were split was decided by the same noisy counts, so those of the leaves are too "
            "small on average.",
        )

    def model(self) -> Model:
        import polars as pl

        model = super().model()
        return Model(
            json={**model.json, "inner": self.inner},
            tables={**model.tables, "inner": pl.DataFrame({"count": self.nodes})},
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        try:
            tree = TreeRelease.from_model(manifest, model)
        except PenstockError as problem:
            raise ReleaseError(str(problem)) from None
        nodes = model.table("inner", {"count": pl.Int64}, rows=len(tree.partition.shape))["count"].to_numpy()
        return cls(
            **manifest.common,
            partition=tree.partition,
            counts=tree.counts,
            deviation=tree.deviation,
            together=tree.together,
            deepest=tree.deepest,
            nodes=nodes,
            inner=model.read(_Saved).inner,
        )
