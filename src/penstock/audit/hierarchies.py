"""PrivTree away from the map: contexts of sequences and bins of a column, under the same exact audit.

`penstock.kinds.points.audits.worst_loss` needs no more than a hierarchy's levels, so the very levels that
releases grow from are audited here: those of `Sequences.contexts` and of `adaptive_bins.stretch`. A score
may agree where what lies below does not (the most frequent symbol comes once more; a record moves from one
half of a column to the other), so all nodes are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import polars as pl

from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Claim, Kind, Target
from penstock.kinds.points.audits import Numbers, Reals, Record, without_bias, worst_loss
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.table.adaptive_bins import stretch
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.mechanisms.splitting import Constant, Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation, Schema

Rows = Sequence[Record]


@dataclass(frozen=True)
class Hierarchy:
    """A hierarchy over the records of a small schema, all of it decided with the same epsilon.

    `top` opens records as their one topmost node. `paths` is how many paths the noise is for, `relation`
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


def contexts(rows: Rows, schema: Schema, longest: int | None = None) -> Level:
    """The empty context of some sequences; the rows given are those kept of every user."""
    if longest is not None:
        columns = SequenceLayout.of(schema).model_copy(update={"longest": longest})
        schema = schema.model_copy(update={"layout": columns})
    frame = pl.DataFrame(list(rows), schema={"pages": pl.String}, orient="row")
    return Sequences.open(frame, schema).contexts()


def column(rows: Rows, schema: Schema) -> Level:
    """The one bin that is a whole column."""
    table = Table.open(pl.DataFrame(list(rows), schema={"age": pl.Int64}, orient="row"), schema)
    (histogram,) = table.counts([("age",)])
    return stretch(histogram, table.schema.field("age").edges.count)


LONGEST = 4
VISITS = f"""
kind: sequences
sequence: {{symbol: pages, longest: {LONGEST}}}
fields:
  - {{name: pages, constraints: {{enum: [a, b]}}}}
"""
AGES = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 15}, bins: {adaptive: true}}
"""
SIZE = 30
EXCHANGED = f"relation: replace\nsize: {SIZE}{AGES}"

PAGES = tuple((text,) for text in ("", "a", "b", "a b", "b b", "a a a", "a b a b", "b a a b a"))
SOME_AGES = tuple((value,) for value in (0, 3, 4, 15))


def joined(crowd: Record, sizes: Sequence[int], joining: Rows) -> tuple[Pair, ...]:
    """A unit with some records joins crowds of one record, of all sizes."""
    return tuple(
        Pair((crowd,) * size, ((crowd,) * size) + tuple(joining), f"{len(joining)} more than {size}")
        for size in sizes
    )


def targets() -> tuple[Target, ...]:
    """Contexts and bins as they are shipped, and broken copies of both."""
    suffixes = Hierarchy(VISITS, contexts, fan_out=3, paths=LONGEST, deepest=LONGEST)
    people = replace(suffixes, paths=3 * LONGEST)
    bins = Hierarchy(AGES, column, fan_out=2, paths=1, deepest=4)
    families = replace(bins, paths=3)
    exchanged = replace(bins, schema=EXCHANGED, relation=Relation.REPLACE)
    visits = (
        *joined(("a b b b",), range(12), (("b a a",),)),
        *joined(("a a a a",), range(0, 60, 10), (("b b b b",),)),
        *small_pairs(PAGES, 2, Relation.ADD_REMOVE, most=24),
    )
    threes = joined(("a a a a",), range(0, 60, 10), (("b b b b",),) * 3)
    ages = (*joined((3,), range(0, 24, 2), ((3,),)), *small_pairs(SOME_AGES, 3, Relation.ADD_REMOVE, most=40))
    triplets = joined((3,), range(0, 40, 3), ((3,),) * 3)
    moved = tuple(
        Pair(((3,),) * near + ((15,),) * (SIZE - near), ((3,),) * (near - 1) + ((15,),) * (SIZE - near + 1))
        for near in range(1, SIZE, 2)
    )
    return (
        _target("privtree-contexts", "decisions about contexts of sequences", suffixes, visits),
        _target("privtree-contexts-users", "decisions when a user has up to three sequences", people, threes),
        _target("adaptive-bins", "which bins of a column are told apart", bins, ages),
        _target("adaptive-bins-users", "bins when a user has up to three records", families, triplets),
        _target("adaptive-bins-replace", "bins when a record is replaced", exchanged, moved),
        _target(
            "broken-privtree-contexts-length-ignored",
            "noise for one place where a sequence has four",
            replace(suffixes, paths=1),
            visits,
        ),
        _target(
            "broken-privtree-contexts-not-cut",
            "sequences are used whole, with noise for four of their places",
            replace(suffixes, top=partial(contexts, longest=20)),
            joined(("a a a a",), (40,), (("b " * 16,),)),
        ),
        _target(
            "broken-privtree-contexts-users-as-sequences",
            "noise for one sequence where a user has three",
            suffixes,
            threes,
        ),
        _target(
            "broken-adaptive-bins-without-bias",
            "no bias against depth",
            replace(bins, chances=without_bias),
            ages,
        ),
        _target(
            "broken-adaptive-bins-users-as-records",
            "noise for one record where a user has three",
            bins,
            triplets,
        ),
        _target(
            "broken-adaptive-bins-replace-as-add-remove",
            "noise for one record added where one is replaced",
            replace(exchanged, relation=Relation.ADD_REMOVE),
            moved,
        ),
    )


def _target(name: str, summary: str, hierarchy: Hierarchy, pairs: Sequence[Pair]) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    relation = Schema.from_yaml(hierarchy.schema).relation
    return Target(
        name, kind, Claim(hierarchy.epsilon, relation=relation), summary, pairs, loss=hierarchy.loss
    )
