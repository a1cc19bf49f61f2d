"""Adaptive bins under exact audit: which bins of a column are told apart."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Target
from penstock.audit.worst_loss import DecidedTree, Rows, joined, loss_target, without_bias
from penstock.kinds.table.adaptive_bins import stretch
from penstock.kinds.table.data import Table
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.unit import Relation
from penstock.schema import Schema

AGES = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 15}, bins: {adaptive: true}}
"""
SIZE = 30
EXCHANGED = f"relation: replace\nsize: {SIZE}{AGES}"
SOME_AGES = tuple((value,) for value in (0, 3, 4, 15))


def column(rows: Rows, schema: Schema) -> Level:
    """The one bin that is a whole column."""
    table = Table.open(pl.DataFrame(list(rows), schema={"age": pl.Int64}, orient="row"), schema)
    (histogram,) = table.counts([("age",)])
    return stretch(histogram, table.schema.field("age").edges.count)


def targets() -> tuple[Target, ...]:
    """Bins as they are shipped, and broken copies."""
    bins = DecidedTree(AGES, column, fan_out=2, paths=1, deepest=4)
    families = replace(bins, paths=3)
    exchanged = replace(bins, schema=EXCHANGED, relation=Relation.REPLACE)
    ages = (*joined((3,), range(0, 24, 2), ((3,),)), *small_pairs(SOME_AGES, 3, Relation.ADD_REMOVE, most=40))
    triplets = joined((3,), range(0, 40, 3), ((3,),) * 3)
    moved = tuple(
        Pair(((3,),) * near + ((15,),) * (SIZE - near), ((3,),) * (near - 1) + ((15,),) * (SIZE - near + 1))
        for near in range(1, SIZE, 2)
    )
    return (
        loss_target("adaptive-bins", "which bins of a column are told apart", bins, ages),
        loss_target("adaptive-bins-users", "bins when a user has up to three records", families, triplets),
        loss_target("adaptive-bins-replace", "bins when a record is replaced", exchanged, moved),
        loss_target(
            "broken-adaptive-bins-without-bias",
            "no bias against depth",
            replace(bins, chances=without_bias),
            ages,
        ),
        loss_target(
            "broken-adaptive-bins-users-as-records",
            "noise for one record where a user has three",
            bins,
            triplets,
        ),
        loss_target(
            "broken-adaptive-bins-replace-as-add-remove",
            "noise for one record added where one is replaced",
            replace(exchanged, relation=Relation.ADD_REMOVE),
            moved,
        ),
    )
