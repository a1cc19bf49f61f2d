"""PrivTree's decisions under exact audit: the worst loss of any tree, computed and not sampled.

All shapes that can grow are far too many to list, but the worst one is found node by node. Where two
neighbouring databases give a node the same score, and every node below it, nothing is lost. Elsewhere

    worst(v) = max( ln P(not split) / P'(not split),
                    ln P(split) / P'(split) + sum of worst(child) over the children of v ),

because the decisions are independent given the tree above them. The same recursion with min gives the
loss in the other direction. It only uses the interface of `penstock.privacy.mechanisms.growth.Level`, so
it serves points, taxonomies, bins of a column and contexts of sequences alike: the very levels that
releases grow from are audited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.mechanisms.splitting import Constant, Splitter, log_chances
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Chances = Callable[[Numbers, int], tuple[Reals, Reals]]
"""``chances(scores, depth)``: the logarithms of the probabilities of a split and of none."""


def worst_loss(
    first: Level, second: Level, chances: Chances, *, deepest: int, everywhere: bool = False
) -> tuple[float, float]:
    """The largest and the smallest ln P(shape) / P'(shape) over all shapes, for two neighbouring databases.

    Below a node where the two scores agree the databases are taken to agree, too; with `everywhere`
    all nodes are compared, for scores where that need not be so.
    """
    rounds: list[tuple[int, Numbers, Numbers, Reals, Reals]] = []
    for depth in range(deepest):
        fans = first.fans
        if not np.array_equal(fans, second.fans):
            return inf, -inf
        asked = np.flatnonzero(fans > 0)
        scores = open_seal(first.scores(asked)), open_seal(second.scores(asked))
        differ = np.full(len(asked), everywhere) | (scores[0] != scores[1])
        touched = asked[differ]
        if not len(touched):
            break
        one, two = (chances(each[differ], depth) for each in scores)
        rounds.append((len(fans), touched, fans[touched], one[0] - two[0], one[1] - two[1]))
        first, second = first.children(touched), second.children(touched)
    return _fold(rounds, np.maximum), _fold(rounds, np.minimum)


def _fold(rounds: Sequence[tuple[int, Numbers, Numbers, Reals, Reals]], extreme: Any) -> float:
    """The recursion from the deepest level up."""
    below = np.zeros(0)
    for nodes, touched, fans, split, kept in reversed(rounds):
        starts = np.cumsum(fans) - fans
        sums = np.add.reduceat(below, starts) if len(below) else np.zeros(len(touched))
        below = np.zeros(nodes)
        below[touched] = extreme(kept, split + sums)
    return float(below[0]) if len(below) else 0.0


Record = tuple[Any, ...]


def without_clamp(splitter: Splitter, scores: Numbers, depth: int) -> tuple[Reals, Reals]:
    """The bias without its floor: empty cells at great depth tell how empty they are."""
    return log_chances(_margins(splitter, scores) - depth * float(splitter.gamma))


def without_bias(splitter: Splitter, scores: Numbers, depth: int) -> tuple[Reals, Reals]:
    """The same threshold at every depth: each level costs again."""
    return log_chances(np.maximum(_margins(splitter, scores), -float(splitter.gamma)))


def _margins(splitter: Splitter, scores: Numbers) -> Reals:
    return np.asarray((scores - float(splitter.theta)) / float(splitter.lam), dtype=np.float64)


Rows = Sequence[Record]


@dataclass(frozen=True)
class DecidedTree:
    """A tree over the records of a small schema, all of whose splits are decided with the same epsilon.

    `top` opens records as their one topmost node. A score may agree where what lies below does not (the most
    frequent symbol comes once more; a record moves from one half of a column to the other), so all nodes are
    compared. `paths` is how many paths the noise is for, `relation`
    which neighbours; broken copies understate them.
    """

    schema: str
    top: Callable[[Rows, Schema], Level]
    fan_out: int
    paths: int
    deepest: int
    epsilon: Fraction = Fraction(1)
    constant: Constant = "tight"
    relation: Relation = Relation.ADD_REMOVE
    chances: Callable[[Splitter, Numbers, int], tuple[Reals, Reals]] = Splitter.log_chances

    def loss(self, first: Rows, second: Rows) -> float:
        """The larger of the losses in both directions."""
        most, least = self.losses(first, second)
        return max(most, -least)

    def losses(self, first: Rows, second: Rows) -> tuple[float, float]:
        schema = Schema.from_yaml(self.schema)
        one, two = self.top(first, schema), self.top(second, schema)
        chances = partial(self.chances, self.splitter())
        return worst_loss(one, two, chances, deepest=self.deepest, everywhere=True)

    def splitter(self) -> Splitter:
        """The decisions as a method pays for them."""
        return Splitter.paid(
            Budget(self.epsilon, randomness=Randomness.seeded(0)),
            fan_out=self.fan_out,
            paths=self.paths,
            constant=self.constant,
            relation=self.relation,
        )


def joined(crowd: Record, sizes: Sequence[int], joining: Rows) -> tuple[Pair, ...]:
    """A unit with some records joins crowds of one record, of all sizes."""
    return tuple(
        Pair((crowd,) * size, ((crowd,) * size) + tuple(joining), f"{len(joining)} more than {size}")
        for size in sizes
    )


def loss_target(name: str, summary: str, hierarchy: DecidedTree, pairs: Sequence[Pair]) -> Target:
    """A target whose loss is computed; its name says whether it is a broken copy."""
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    relation = Schema.from_yaml(hierarchy.schema).relation
    return Target(
        name, kind, Promise(hierarchy.epsilon, relation=relation), summary, pairs, loss=hierarchy.loss
    )
