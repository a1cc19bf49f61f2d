"""Audits of points: the decisions of PrivTree over points, exactly, and whole methods on tiny maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, SUBTLE, Audits, MethodAudit
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.audit.worst_loss import Numbers, Reals, Record, without_bias, without_clamp, worst_loss
from penstock.kinds.points.data import Points
from penstock.kinds.points.space import Space
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema


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


def decisions() -> tuple[Target, ...]:
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
        _target(
            "broken-privtree-without-clamp",
            "no floor under the bias",
            replace(line, chances=without_clamp),
            some,
        ),
        _target(
            "broken-privtree-without-bias",
            "no bias against depth",
            replace(line, chances=without_bias),
            some,
        ),
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


def _target(name: str, summary: str, forest: Forest, pairs: Sequence[Pair]) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    return Target(name, kind, Promise(forest.epsilon), summary, pairs, loss=forest.loss)


SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""
CORNERS = ((0.1, 0.1), (0.1, 0.9), (0.9, 0.9))
ENDS = ((0.1,), (0.9,))
SHALLOW = {"tree_frac": "1/10", "deepest": 0}  # so that the counts, and mistakes about them, weigh most


def bounding_box(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The bounds moved to the smallest and largest value that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(text["fields"]):
        values = [record[place] for record in records]
        described["constraints"] = {"minimum": min(values), "maximum": max(values) + 0.01}
    return Schema.model_validate(text)


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit("uniform-grid", SQUARE, CORNERS, parameters={"side": 2}, read_off=bounding_box),
    MethodAudit("uniform-grid", SQUARE, CORNERS, label="adaptive-side", largest=3),
    MethodAudit("privtree", SQUARE, CORNERS, parameters=SHALLOW, read_off=bounding_box),
    MethodAudit("privtree", SQUARE, CORNERS, label="deep", largest=3),
    MethodAudit("adaptive-grid", SQUARE, CORNERS, effort=0.01, copies=CRUDE),
    MethodAudit("hierarchy", LINE, ENDS, parameters={"fan": 2, "height": 1}, copies=SUBTLE),
    MethodAudit("hierarchy", LINE, ENDS, parameters={"fan": 2, "height": 2}, label="two-levels", copies=()),
    MethodAudit("privelet", LINE, ENDS, parameters={"bits": 2, "hybrid": False}, copies=CRUDE),
    MethodAudit("simple-tree", LINE, ENDS, parameters={"height": 1}, copies=SUBTLE),
    MethodAudit("simple-tree", LINE, ENDS, parameters={"height": 3}, label="deep", copies=()),
    MethodAudit("dawa", LINE, ENDS, parameters={"bits": 1, "stretches": "1/10"}, effort=0.01, copies=CRUDE),
    MethodAudit(
        "dawa",
        LINE,
        ENDS,
        parameters={"bits": 2, "stretches": "1/2"},
        label="merging",
        effort=0.01,
        copies=(),
    ),
)

ON_THE_EDGE = ((0.0, 0.0), (1.0, 1.0), (0.5, 0.5), (0.5, 1.0), (0.4999999, 0.5))
GROUNDS = (
    Ground("a square and its edges", SQUARE, ON_THE_EDGE),
    Ground("a line and its ends", LINE, ((0.0,), (1.0,), (0.5,), (0.25,))),
    Ground("a taxonomy", TREE, IN_TREE),
    Ground("users", f"unit: {{protects: user, column: person, at_most: 3}}{SQUARE}", ON_THE_EDGE[:3]),
)

AUDITS = Audits(METHODS, decisions, GROUNDS)
