"""Audits of selections, on tiny baskets and one column of a tiny table."""

from __future__ import annotations

from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.sabotage import seen_categories
from penstock.kinds.table.audits import MANY, USERS

BASKETS = """
kind: itemsets
items: {item: basket, largest: 1}
fields:
  - {name: basket, constraints: {enum: [a, b, c]}}
"""
LARGE_BASKETS = BASKETS.replace(", largest: 1", "")
SINGLES = (("a",), ("b",), ("c",))
SETS = (("a",), ("a b",), ("a b c",), ("",))
EVERYTHING = {"threshold": -1000}
COLOURS = """
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
"""
COLOUR_RECORDS = (("red",), ("green",), ("blue",))

AUDITS = Audits(
    (
        MethodAudit("select-items", BASKETS, SINGLES, parameters=EVERYTHING, read_off=seen_categories),
        MethodAudit("select-items", LARGE_BASKETS, SETS, parameters={"c": 2}, label="top"),
        MethodAudit(
            "select-items", LARGE_BASKETS, SETS, parameters={"c": 1, "counts": "1/2"}, label="top-and-counts"
        ),
        MethodAudit(
            "select-items",
            LARGE_BASKETS,
            SETS,
            parameters={"c": 1, "threshold": 1, "mechanism": "sparse-vector"},
            label="threshold",
        ),
        MethodAudit(
            "select-items",
            LARGE_BASKETS,
            SETS,
            parameters={"c": 1, "threshold": 12, "counts": "1/2", "mechanism": "sparse-vector"},
            label="nobody",
        ),
        MethodAudit(
            "select-categories", COLOURS, COLOUR_RECORDS, parameters=EVERYTHING, read_off=seen_categories
        ),
        MethodAudit(
            "select-categories", COLOURS, COLOUR_RECORDS, parameters={"c": 1}, label="top", copies=()
        ),
        MethodAudit(
            "select-categories",
            USERS,
            (),
            parameters={"c": 1, "threshold": 1},
            label="threshold-users",
            pairs=(MANY,),
            columns=("colour", "person"),
            copies=(),
        ),
    ),
    grounds=(
        Ground("baskets", LARGE_BASKETS, (("",), ("a",), ("a b c",), ("b b b",))),
        Ground(
            "baskets that may be too large", BASKETS.replace("largest: 1", "largest: 2"), (("a b c",), ("c",))
        ),
        Ground("users", f"unit: {{protects: user, column: person, at_most: 2}}{LARGE_BASKETS}", SETS),
    ),
)
