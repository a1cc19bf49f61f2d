"""PrivTree's decisions under exact audit: the worst loss of any tree, computed and not sampled.

All shapes that can grow are far too many to list, but the worst one is found node by node. Where two
neighbouring databases give a node the same score, and every node below it, nothing is lost. Elsewhere

    worst(v) = max( ln P(not split) / P'(not split),
                    ln P(split) / P'(split) + sum of worst(child) over the children of v ),

because the decisions are independent given the tree above them. The same recursion with min gives the
loss in the other direction. It only uses the interface of `penstock.privacy.mechanisms.growth.Level`, so
it serves points, taxonomies and sequences alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Claim, Kind, Target
from penstock.kinds.points.data import Points
from penstock.kinds.points.space import Space
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.mechanisms.splitting import Splitter, log_chances
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.schema import Relation, Schema

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


@dataclass(frozen=True)
class Forest:
    """Trees over the points of a small schema, all decided with the same epsilon."""

    schema: str
    epsilon: Fraction = Fraction(1)
    deepest: int = 8
    paths: int | None = None
    chances: Callable[[Splitter, Numbers, int], tuple[Reals, Reals]] = Splitter.log_chances
    lens: Callable[[Level], Level] = lambda level: level
    together: int | None = None

    def loss(self, first: Sequence[Record], second: Sequence[Record]) -> float:
        """The larger of the losses in both directions."""
        most, least = self.losses(first, second)
        return max(most, -least)

    def losses(self, first: Sequence[Record], second: Sequence[Record]) -> tuple[float, float]:
        import polars as pl

        schema = Schema.from_yaml(self.schema)
        space = Space.of(schema, together=self.together, deepest=self.deepest)
        types = [pl.String if field.type == "string" else pl.Float64 for field in schema.fields]
        columns = list(zip(schema.names, types, strict=True))
        facts = schema.model_copy(update={"unit": type(schema.unit)()})  # the rows given are those kept
        one, two = (
            self.lens(Points.open(pl.DataFrame(list(rows), schema=columns, orient="row"), facts).top(space))
            for rows in (first, second)
        )
        splitter = self.splitter(space)
        return worst_loss(one, two, partial(self.chances, splitter), deepest=space.deepest)

    def splitter(self, space: Space) -> Splitter:
        """The decisions as the method pays for them."""
        paths = Schema.from_yaml(self.schema).unit.records if self.paths is None else self.paths
        pay = Budget(self.epsilon, randomness=Randomness.seeded(0))
        return Splitter.paid(pay, fan_out=space.fan_out, paths=paths)


def without_clamp(splitter: Splitter, scores: Numbers, depth: int) -> tuple[Reals, Reals]:
    """The bias without its floor: empty cells at great depth tell how empty they are."""
    return log_chances(_margins(splitter, scores) - depth * float(splitter.gamma))


def without_bias(splitter: Splitter, scores: Numbers, depth: int) -> tuple[Reals, Reals]:
    """The same threshold at every depth: each level costs again."""
    return log_chances(np.maximum(_margins(splitter, scores), -float(splitter.gamma)))


def _margins(splitter: Splitter, scores: Numbers) -> Reals:
    return np.asarray((scores - float(splitter.theta)) / float(splitter.lam), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class OnlyOccupied:
    """A level that offers no children to empty cells, where only public facts may decide."""

    level: Level

    @property
    def fans(self) -> Numbers:
        every = np.arange(len(self.level.fans))
        return np.where(open_seal(self.level.scores(every)) > 0, self.level.fans, 0)

    def scores(self, asked: Numbers) -> Sealed[Numbers]:
        return self.level.scores(asked)

    def children(self, split: Numbers) -> OnlyOccupied:
        return OnlyOccupied(self.level.children(split))


LINE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
"""
TREE = """
kind: points
fields:
  - name: animal
    constraints: {enum: [cat, dog, wolf, hen, duck, newt]}
    taxonomy: {mammals: [cat, {canines: [dog, wolf]}], birds: [hen, duck], amphibians: [newt]}
"""
BOTH = f"""{TREE}  - {{name: x, type: number, constraints: {{minimum: 0, maximum: 1}}}}
"""
USERS = f"""
unit: {{protects: user, column: person, at_most: 3}}{LINE}"""

ON_LINE = tuple((value,) for value in (0.0, 0.1, 0.3, 0.5, 0.500001, 0.9))
IN_TREE = tuple((value,) for value in ("cat", "dog", "wolf", "hen", "newt"))
IN_BOTH = (("dog", 0.2), ("dog", 0.7), ("newt", 0.2), ("wolf", 0.2))


def crowds(record: Record, sizes: Sequence[int]) -> tuple[Pair, ...]:
    """One more point in a crowd at a single place: where the loss is largest."""
    return tuple(
        Pair((record,) * size, (record,) * (size + 1), f"{size} | {size + 1} times {record}")
        for size in sizes
    )


def groups(record: Record, sizes: Sequence[int], joining: int) -> tuple[Pair, ...]:
    """A user with several points at one place joins a crowd."""
    return tuple(
        Pair((record,) * size, (record,) * (size + joining), f"{joining} more than {size}") for size in sizes
    )


def targets() -> tuple[Target, ...]:
    """PrivTree over numbers, a taxonomy, both together and users, and four broken copies."""
    line, tree, both = Forest(LINE, deepest=24), Forest(TREE), Forest(BOTH, deepest=10)
    users = Forest(USERS, deepest=24)
    some = crowds((0.3,), range(0, 60, 4))
    every = partial(small_pairs, largest=3, relation=Relation.ADD_REMOVE, most=60)
    joined = groups((0.3,), range(0, 90, 6), 3)
    return (
        _target("privtree-numbers", "decisions over halved intervals", line, (*some, *every(ON_LINE))),
        _target(
            "privtree-taxonomy",
            "decisions over a taxonomy",
            tree,
            (*crowds(("wolf",), range(0, 40, 3)), *every(IN_TREE)),
        ),
        _target(
            "privtree-mixed",
            "decisions over a number and a taxonomy together",
            both,
            (*crowds(("dog", 0.2), range(0, 40, 3)), *every(IN_BOTH)),
        ),
        _target("privtree-users", "decisions when a user has up to three points", users, joined),
        _target("broken-privtree-without-clamp", "no floor under the bias", _but(line, without_clamp), some),
        _target("broken-privtree-without-bias", "no bias against depth", _but(line, without_bias), some),
        _target(
            "broken-privtree-users-as-records",
            "noise for one point where a user has three",
            replace(users, paths=1),
            joined,
        ),
        _target(
            "broken-privtree-empty-cells-skipped",
            "empty cells get no decision",
            replace(line, lens=OnlyOccupied),
            some,
        ),
    )


def _but(forest: Forest, chances: Callable[[Splitter, Numbers, int], tuple[Reals, Reals]]) -> Forest:
    return replace(forest, chances=chances)


def _target(name: str, summary: str, forest: Forest, pairs: Sequence[Pair]) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    return Target(name, kind, Claim(forest.epsilon), summary, pairs, loss=forest.loss)
