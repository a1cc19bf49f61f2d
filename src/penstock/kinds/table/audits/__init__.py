"""Audits of tables: scores of pairs and adaptive bins, exactly, and whole methods on tiny tables."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, SUBTLE, Audits, MethodAudit
from penstock.audit.neighbours import Pair
from penstock.audit.sabotage import seen_categories
from penstock.audit.target import Target
from penstock.kinds.table.audits import bins, dependence, gaps, looks
from penstock.schema import Schema

COLOURS = """
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
"""
COLOUR_RECORDS = (("red",), ("green",), ("blue",))
SIZES = COLOURS + "  - {name: large, constraints: {enum: ['yes', 'no']}}\n"
SIZE_RECORDS = (("red", "yes"), ("green", "yes"), ("green", "no"), ("blue", "no"))
USERS = f"unit: {{protects: user, column: person, at_most: 2}}{COLOURS}"
AGES = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 15}, bins: {adaptive: true, most: 4}}
"""
AGE_RECORDS = ((3,), (4,), (12,))
RICH, SLACK = Fraction(64), Fraction(1, 10**6)
EAGER = {"c1": "1/100", "c2": "1/100"}
BINNED = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 5}, missing: value}
  - {name: large, type: boolean}
"""
BINNED_RECORDS = ((0, True), (9, False), (4, True), (None, True))
OTHERS = (("red", 1), ("green", 2))
MANY = Pair(OTHERS, (*OTHERS, *(("blue", 3),) * 5), "two users | a third with five blue records")
COPIED = "fields:\n" + "".join(f"  - {{name: x{number}, type: boolean}}\n" for number in range(22))
"""So many columns that one table of all would be too large, and that a delta buys less noise than epsilon
alone: each of six four times, but for the last."""
ALL_BITS = tuple(tuple(bool(code >> place // 4 & 1) for place in range(22)) for code in range(64))
ODD_ONES = tuple((place % 2 == 0,) * 11 + (False,) * 11 for place in range(2))
ONE_MORE = tuple(Pair(ALL_BITS, (*ALL_BITS, odd), f"all bits | and {odd[0]}") for odd in ODD_ONES)


def seen_edges(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """Bins that begin at the values that occur, instead of bins that were paid for."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(text["fields"]):
        low, high = (described["constraints"][bound] for bound in ("minimum", "maximum"))
        inner = sorted({record[place] for record in records} - {low, high})
        described["bins"] = {"edges": [low, *inner, high]}
    return Schema.model_validate(text)


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit("independent", COLOURS, COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("independent", SIZES, SIZE_RECORDS, label="two-columns"),
    MethodAudit("independent", f"relation: replace\nsize: 2\n{COLOURS}", COLOUR_RECORDS, label="replace"),
    MethodAudit("independent", USERS, (), label="users", pairs=(MANY,), columns=("colour", "person")),
    MethodAudit("confluence", COLOURS, COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("confluence", SIZES, SIZE_RECORDS, label="two-columns"),
    MethodAudit("confluence", f"relation: replace\nsize: 2\n{SIZES}", SIZE_RECORDS, label="replace"),
    # with so much even two records are counted in all columns at once
    MethodAudit("confluence", SIZES, SIZE_RECORDS, label="whole", epsilon=RICH, copies=()),
    MethodAudit("confluence", SIZES, SIZE_RECORDS, label="delta", delta=SLACK, copies=()),
    MethodAudit("confluence", SIZES, SIZE_RECORDS, label="whole-delta", epsilon=RICH, delta=SLACK, copies=()),
    # so many are asked how they hang together, and views are counted
    MethodAudit(
        "confluence", COPIED, (), label="views", epsilon=RICH, pairs=ONE_MORE, effort=0.01, copies=()
    ),
    MethodAudit(
        "confluence",
        COPIED,
        (),
        label="choices-delta",
        epsilon=Fraction(10),
        delta=Fraction(1, 100),
        pairs=ONE_MORE,
        effort=0.01,
        copies=(),
    ),
    MethodAudit("privbayes", COLOURS, COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("privbayes", SIZES, SIZE_RECORDS, label="two-columns"),
    MethodAudit(
        "privbayes",
        f"relation: replace\nsize: 2\n{SIZES}",
        SIZE_RECORDS,
        parameters={"preset": "journal"},
        label="journal",
    ),
    MethodAudit(
        "independent",
        AGES,
        AGE_RECORDS,
        label="adaptive-bins",
        effort=0.01,
        read_off=seen_edges,
        copies=("domain-from-data",),
    ),
    MethodAudit(
        "diffpart-table", COLOURS, COLOUR_RECORDS, parameters={"c1": "1/100"}, read_off=seen_categories
    ),
    MethodAudit("diffpart-table", SIZES, SIZE_RECORDS, parameters=EAGER, label="two-columns", copies=()),
    MethodAudit(
        "diffpart-table",
        SIZES,
        SIZE_RECORDS,
        parameters={**EAGER, "score": "gain", "target": "large"},
        label="classes",
        copies=(),
    ),
    MethodAudit(
        "diffpart-table",
        BINNED,
        BINNED_RECORDS,
        parameters={**EAGER, "numeric": "median"},
        label="median",
        copies=(),
    ),
    MethodAudit("laplace-marginals", COLOURS, COLOUR_RECORDS, parameters={"way": 1}, copies=SUBTLE),
    MethodAudit("laplace-marginals", SIZES, SIZE_RECORDS, label="two-columns", copies=()),
    MethodAudit("fourier-marginals", COLOURS, COLOUR_RECORDS, parameters={"way": 1}, copies=CRUDE),
    MethodAudit("fourier-marginals", SIZES, SIZE_RECORDS, label="two-columns", copies=()),
    MethodAudit("contingency", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
    MethodAudit(
        "contingency", f"relation: replace\nsize: 2\n{SIZES}", SIZE_RECORDS, label="replace", copies=()
    ),
    MethodAudit("mwem", SIZES, SIZE_RECORDS, parameters={"way": 2, "rounds": 2}, copies=()),
    MethodAudit(
        "mwem",
        f"relation: replace\nsize: 2\n{COLOURS}",
        COLOUR_RECORDS,
        parameters={"way": 1, "rounds": 1},
        label="replace",
        copies=CRUDE,
    ),
    MethodAudit("uniform", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
)


def proofs() -> tuple[Target, ...]:
    """The steps of methods that have a proof of their own."""
    return (*gaps.targets(), *dependence.targets(), *looks.targets(), *bins.targets())


MIXED = """
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 3}, missing: value}
  - {name: large, type: boolean, missing: value}
"""
EXTREMES = (
    ("red", 0, True),
    ("red", 9, False),
    ("green", 3, True),
    ("blue", None, False),  # the only missing value, and the rarest category
    ("green", 9, None),
)
BINARY = """
fields:
  - {name: smokes, type: boolean}
  - {name: coughs, type: boolean}
"""
RULED = """
impossible: ["colour = 'red' and begun > 1"]
always: ["ended >= begun", "if colour = 'green' then ended > 0"]
fields:
  - {name: colour, constraints: {enum: [red, green]}}
  - {name: begun, type: integer, constraints: {minimum: 0, maximum: 2}, missing: value}
  - {name: ended, type: integer, constraints: {minimum: 0, maximum: 2}}
"""
BESIDE_THE_RULES = (
    ("red", 0, 2),
    ("green", 0, 0),  # this one and the next are against the rules
    ("red", 2, 1),
    ("green", None, 2),
)
GROUNDS = (
    Ground("rules", RULED, BESIDE_THE_RULES),
    Ground("a mixed table", MIXED, EXTREMES),
    Ground("two values each", BINARY, ((True, True), (True, False), (False, True), (False, False))),
    Ground("users", f"unit: {{protects: user, column: person, at_most: 2}}{SIZES}", SIZE_RECORDS),
    Ground(
        "adaptive bins",
        AGES + "  - {name: member, type: boolean}\n",
        ((0, True), (15, False), (7, True), (8, True)),
    ),
)

AUDITS = Audits(METHODS, proofs, GROUNDS)
