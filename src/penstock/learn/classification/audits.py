"""Audits of classifiers on tiny tables: a few records, two columns to look at and a label."""

from __future__ import annotations

from fractions import Fraction

from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.sabotage import seen_categories

RICH = Fraction(64)
"""So much that two records have more than one candidate grid."""

COLOURS = """
target: large
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
"""
COLOUR_RECORDS = (("red", "yes"), ("green", "yes"), ("green", "no"), ("blue", "no"))
SHAPES = """
fields:
  - {name: colour, taxonomy: [red, {cold: [green, blue]}]}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 4}, missing: value}
  - {name: kind, constraints: {enum: [a, b, c]}}
"""
SHAPE_RECORDS = (("red", 0, "a"), ("green", 9, "b"), ("blue", None, "c"), ("green", 4, "a"))
USERS = f"unit: {{protects: user, column: person, at_most: 2}}{COLOURS}"

AUDITS = Audits(
    (
        MethodAudit("privpfc", COLOURS, COLOUR_RECORDS, read_off=seen_categories),
        MethodAudit("privpfc", COLOURS, COLOUR_RECORDS, label="choice", epsilon=RICH, copies=()),
        MethodAudit(
            "privpfc",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "features": 1, "ratio": 100},
            label="features",
            epsilon=RICH,
            copies=(),
        ),
        MethodAudit(
            "privpfc",
            COLOURS,
            COLOUR_RECORDS,
            parameters={"chosen_by": "exponential", "ratio": 100},
            label="exponential",
            copies=(),
        ),
    ),
    grounds=(
        Ground("labels of three sorts", SHAPES, SHAPE_RECORDS, parameters={"target": "kind"}),
        Ground("users with labels", USERS, COLOUR_RECORDS, parameters={"target": "large"}),
    ),
)
