"""Audits of item sets: whole methods on a few items, and the mistakes that methods of this kind invite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from penstock.audit.hostile import Ground, both_ways, trial
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.replay import Replays, Tampering
from penstock.audit.sabotage import changed
from penstock.audit.tampering import raw_size
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.passing import SparseCounts
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.unit import Relation
from penstock.schema import Schema

PAIR = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [a, b]}}
"""
SINGLE = PAIR.replace("[a, b]", "[a]")
FOUR = PAIR.replace("[a, b]", "[a, b, c, d]")
GROUPED = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [a, b, c]}, taxonomy: {early: [a, b], late: [c]}}
"""
SINGLES = (("a",), ("b",))
BASKETS = (("a",), ("b",), ("a b",), ("",))
LARGE = (("a",), ("a b",), ("c d",), ("a b c d",), ("b d",), ("",))
LOOSE = {"fan_out": 2, "c1": "1/10", "c2": "1/10"}
EAGER = {"fan_out": 2, "c1": "1/100", "c2": "1/100"}


def seen_items(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The universe shortened to the items that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    seen = {item for record in records for item in str(record[0]).split()}
    described = text["fields"][0]
    described["constraints"]["enum"] = sorted(seen) or described["constraints"]["enum"][:1]
    described.pop("taxonomy", None)
    return Schema.model_validate(text)


def _only_occurring(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """A table of the cells that occur, so that no other can pass."""
    if name not in ("whole", "open"):
        return sealed

    def left(table: SparseCounts) -> SparseCounts:
        return replace(table, cells=np.arange(table.cells.size), size=max(1, table.cells.size))

    return sealed.claim(left, sealed.sensitivity, because="it does not hold: which cells occur is private")


def _counted_twice(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """Whole sets counted with twice what is left for them."""
    if name != "whole":
        return sealed
    return sealed.claim(
        lambda table: table,
        sealed.sensitivity.scaled(Fraction(1, 2)),
        because="it does not hold: the end of a chain is paid with twice what is left",
    )


def _tuned(data: Any, method: Any) -> Any:
    """The factor of the threshold whose release comes nearest to the records, as the paper suggests."""
    size = raw_size(data)

    def miss(factor: str) -> float:
        tried = replace(method, c1=factor)
        made = tried.fit(data, Budget(1, randomness=Randomness.seeded(size)))
        return abs(float(made.number.value) - size)

    return replace(method, c1=min(("1/100", "1", "2", "3"), key=miss))


MISTAKES: dict[str, tuple[str, Tampering]] = {
    "only-what-occurs": (
        "combinations that do not occur cannot pass",
        Tampering(data=partial(changed, change=_only_occurring)),
    ),
    "leaves-twice": (
        "whole sets are counted with twice what is left for them",
        Tampering(data=partial(changed, change=_counted_twice)),
    ),
    "tuned-threshold": (
        "the threshold is tried out on the records",
        Tampering(method=_tuned),
    ),
}


def _replayed(tampering: Tampering, number: int, seed: int) -> Replays:
    """All hostile pairs of a ground, with one mistake made."""
    ground = Ground("four items", FOUR, LARGE)
    made = trial(ground, "diffpart", Relation.ADD_REMOVE, 2, parameters=EAGER, tampering=tampering)
    found = Replays()
    for place, pair in enumerate(ground.pairs(Relation.ADD_REMOVE)):
        more, _ = both_ways(made, ground, Relation.ADD_REMOVE, pair, seed + place)
        found = found + more
    return found


def mistakes() -> tuple[Target, ...]:
    """DiffPart with each of the mistakes that published code of it makes, or invites."""
    shipped = Target(
        "diffpart-chains",
        Kind.SHIPPED,
        Promise(Fraction(1)),
        "parts of the records along a tree of items, replayed on hostile neighbours",
        (),
        replays=partial(_replayed, Tampering()),
        effort=0.001,
    )
    return (
        shipped,
        *(
            replace(
                shipped,
                name=f"broken-diffpart-{name}",
                kind=Kind.BROKEN,
                summary=f"diffpart: {words}",
                replays=partial(_replayed, tampering),
            )
            for name, (words, tampering) in MISTAKES.items()
        ),
    )


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit("diffpart", PAIR, SINGLES, parameters=EAGER, read_off=seen_items),
    MethodAudit("diffpart", FOUR, LARGE, parameters=LOOSE, label="deep"),
    MethodAudit(
        "diffpart", GROUPED, BASKETS, parameters={"fan_out": 3, "c1": "1/10", "c2": "1/10"}, label="grouped"
    ),
    MethodAudit(
        "diffpart", FOUR, LARGE, parameters={**LOOSE, "recover": "1/2"}, label="recovered", copies=()
    ),
    MethodAudit(
        "privtree-sets",
        PAIR,
        SINGLES,
        parameters={"tree_frac": "1/10"},
        epsilon=Fraction(2),
        read_off=seen_items,
    ),
    MethodAudit("privtree-sets", FOUR, LARGE, label="deep"),
    MethodAudit(
        "top-sets",
        SINGLE,
        SINGLES[:1],
        copies=("halved-sensitivity", "forgotten-noise", "budget-used-twice", "fixed-seed"),
    ),
    MethodAudit(
        "top-sets",
        PAIR,
        SINGLES,
        parameters={"k": 2, "longest": 1},
        read_off=seen_items,
        label="every item",
        copies=("domain-from-data",),
    ),
    MethodAudit("top-sets", FOUR, LARGE, parameters={"k": 2, "longest": 2, "items": 3}, label="chosen items"),
    MethodAudit("set-histogram", PAIR, SINGLES, read_off=seen_items),
    MethodAudit("set-histogram", PAIR, BASKETS, parameters={"negative": "cut"}, label="cut", copies=()),
)
GROUNDS = (
    Ground("sets of up to four items", FOUR, LARGE),
    Ground("users", f"unit: {{protects: user, column: person, at_most: 2}}{PAIR}", BASKETS),
)

AUDITS = Audits(METHODS, mistakes, GROUNDS)
