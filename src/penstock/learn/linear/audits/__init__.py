"""Audits of linear predictors on tiny tables: a few records, columns of all sorts, labels and numbers."""

from __future__ import annotations

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, SUBTLE, Audits, MethodAudit
from penstock.learn.classification.audits import seen_bounds

COLOURS = """
target: large
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
"""
COLOUR_RECORDS = (("red", "yes"), ("green", "yes"), ("green", "no"), ("blue", "no"))
SHAPES = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 4}, missing: value}
  - {name: kind, constraints: {enum: [a, b, c]}}
"""
SHAPE_RECORDS = ((0, "a"), (9, "b"), (None, "c"), (4, "a"))
RENTS = """
target: rent
fields:
  - {name: rooms, type: integer, constraints: {minimum: 0, maximum: 4}, bins: {count: 5}}
  - {name: rent, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 8}, missing: value}
"""
RENT_RECORDS = ((0, 0.5), (4, 7.5), (0, 7.5), (2, None))
USERS = f"unit: {{protects: user, column: person, at_most: 2}}{COLOURS}"

AUDITS = Audits(
    (
        MethodAudit("functional-mechanism", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
        MethodAudit(
            "functional-mechanism", RENTS, RENT_RECORDS, label="numbers", read_off=seen_bounds, copies=CRUDE
        ),
        MethodAudit(
            "functional-mechanism",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind"},
            label="three-labels",
            copies=(),
        ),
        MethodAudit(
            "functional-mechanism",
            f"relation: replace\nsize: 2\n{COLOURS}",
            COLOUR_RECORDS,
            label="replace",
            copies=(),
        ),
    ),
    grounds=(Ground("users with labels to predict", USERS, COLOUR_RECORDS, parameters={"target": "large"}),),
)
