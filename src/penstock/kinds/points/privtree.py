"""PrivTree over points: a tree that is fine where points are many, with a noisy count in every leaf.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema
allows a user).
Why: the shape is decided by PrivTree (`penstock.privacy.mechanisms.splitting`), which pays for one path of
the tree per point, whatever its depth; no count leaves that step. The leaves are disjoint, so their
counts have L1 sensitivity 1 and get noise of their own. Inner counts are sums of leaves and cost
nothing.

Reference: J. Zhang, X. Xiao and X. Xie, "PrivTree: a differentially private algorithm for
hierarchical decompositions" (SIGMOD 2016). By default the noise of the decisions has the smaller
constant that the corrected proof allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from penstock.contracts.method import Method
from penstock.contracts.parameters import Share, Whole
from penstock.kinds.points.data import Points
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.space import Space
from penstock.kinds.points.tree import TreeRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.growth import MOST_NODES, grow
from penstock.privacy.mechanisms.splitting import Constant, Splitter
from penstock.schema import Schema


@dataclass(frozen=True)
class PrivTree(Method[Points]):
    """A tree of boxes, halved where the points are, with noisy counts.

    `tree_frac` is the share of the budget that the shape gets, the rest pays for the counts. `theta`
    is the threshold of a split and `constant` the one in the noise of the decisions, "tight" or
    "published". `together` axes are cut at a time (None: all of up to six, three in turn beyond),
    `deepest` and `most_nodes` bound the tree; all of them are public and chosen without the data.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> from penstock.kinds.points.box import Box
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ...   - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> frame = pl.DataFrame({"x": [0.1] * 500 + [0.9] * 500, "y": [0.2] * 500 + [0.7] * 500})
    >>> points = Points.open(frame, schema)
    >>> release = PrivTree().fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> 450 < release.count(Box((0, 0), (0.2, 0.3))).value < 550
    True
    """

    name: ClassVar[str] = "privtree"

    tree_frac: Annotated[Amount, Share()] = "1/2"
    theta: Annotated[int, Whole()] = 0
    constant: Constant = "tight"
    together: Annotated[int | None, Whole(least=1)] = None
    deepest: Annotated[int | None, Whole(least=0)] = None
    most_nodes: Annotated[int, Whole(least=1)] = MOST_NODES

    def check(self, schema: Schema) -> None:
        """Refuse fields that no tree can be made of, or not with so many cut together."""
        Space.of(schema, together=self.together, deepest=self.deepest)

    def fit(self, points: Points, budget: Budget) -> TreeRelease:
        """Grow the tree, then count its leaves; spends the whole budget."""
        self.ready(points, budget)
        space = Space.of(points.schema, together=self.together, deepest=self.deepest)
        share = exact(self.tree_frac, "tree_frac")
        for_shape, for_counts = budget.split(shape=share, counts=1 - share)
        splitter = Splitter.paid(
            for_shape,
            fan_out=space.fan_out,
            paths=points.schema.unit.records,
            theta=self.theta,
            constant=self.constant,
            relation=points.relation,
        )
        growth = grow(points.top(space), splitter, deepest=space.deepest, most_nodes=self.most_nodes)
        counts = points.leaf_counts(growth)
        deviation = noise.standard_deviation(counts.sensitivity.l1, for_counts.epsilon)
        return TreeRelease(
            method=self.name,
            schema=points.schema,
            parameters=self._parameters(splitter, space),
            partition=Partition.grown(space, growth.shape.fans > 0),
            counts=np.asarray(noise.counts(counts, pay=for_counts)),
            receipt=budget.receipt(points.schema.unit, points.relation),
            deviation=deviation,
            together=space.together,
            deepest=self.deepest,
        )

    def _parameters(self, splitter: Splitter, space: Space) -> dict[str, str | int | float | None]:
        """What was chosen, and what follows from it and the budget."""
        return {
            "tree_frac": str(Fraction(exact(self.tree_frac, "tree_frac"))),
            "theta": self.theta,
            "constant": self.constant,
            "together": space.together,
            "deepest": space.deepest,
            "most_nodes": self.most_nodes,
            "fan_out": space.fan_out,
            "noise_scale": float(splitter.lam),
            "decay": float(splitter.delta),
        }
