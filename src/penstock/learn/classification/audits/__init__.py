"""Audits of classifiers on tiny tables: a few records, two columns to look at and a label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, SUBTLE, Audits, MethodAudit
from penstock.audit.mistakes import Mistake, Sabotaged, answered, beside
from penstock.learn.classification.audits import grids
from penstock.schema import Schema

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

AGES = """
target: large
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 2}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
"""
AGE_RECORDS = ((0, "yes"), (4, "no"), (9, "no"))


def seen_bounds(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """Bounds that are the smallest and the largest value that occurs, instead of public ones."""
    facts = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(facts["fields"]):
        if "bins" in described:
            seen = [record[place] for record in records]
            described["constraints"] = {"minimum": min(seen), "maximum": max(seen) + 1}
    return Schema.model_validate(facts)


CELLS = ("privpfc", "classifier", "diffgen", "pph")
TREES = ("diffpid3", "diffpc45")
DEEP: Mapping[str, Any] = {"parameters": {"depth": 1}, "epsilon": Fraction(4)}
SABOTAGED = (
    *(Sabotaged(method, Mistake.SCALED, seeds=6) for method in CELLS),
    *(Sabotaged(method, Mistake.ONE_OF_TWO, users=True, seeds=6) for method in (*CELLS, "majority-label")),
    *(Sabotaged(method, Mistake.SCALED, seeds=4, **DEEP) for method in TREES),
    *(Sabotaged(method, Mistake.ONE_OF_TWO, users=True, seeds=4, **DEEP) for method in TREES),
)
COUNTED = "labels are counted in cells; there are no weights to be held to anything"
NOT_SOLVED = "counts and choices are exact in whole numbers, and nothing is solved"
MISTAKES = {
    **{
        method: answered(f"broken-{method}-scaled", COUNTED, NOT_SOLVED, f"broken-{method}-one-record")
        for method in (*CELLS, *TREES)
    },
    "majority-label": answered(
        "it counts labels, and looks at no other column",
        COUNTED,
        NOT_SOLVED,
        "broken-majority-label-one-record",
    ),
}

AUDITS = Audits(
    (
        MethodAudit("privpfc", COLOURS, COLOUR_RECORDS, copies=(*SUBTLE, "fixed-seed")),
        MethodAudit("privpfc", COLOURS, COLOUR_RECORDS, label="choice", epsilon=RICH, copies=()),
        MethodAudit("classifier", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
        MethodAudit(
            "privpfc",
            AGES,
            AGE_RECORDS,
            label="bounds",
            read_off=seen_bounds,
            copies=("domain-from-data",),
        ),
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
        MethodAudit(
            "privpfc",
            COLOURS,
            COLOUR_RECORDS,
            parameters={"levels": "finest", "passes": 2, "most_grids": 2, "ratio": 100},
            label="passes",
            copies=(),
        ),
        MethodAudit("diffgen", COLOURS, COLOUR_RECORDS, parameters={"steps": 2}, copies=CRUDE),
        MethodAudit(
            "diffgen",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "steps": 3, "score": "gini", "calibration": "published"},
            label="specialised",
            copies=(),
        ),
        MethodAudit("pph", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
        MethodAudit(
            "pph",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "columns": 1, "ratio": 1000},
            label="one-column",
            epsilon=RICH,
            copies=(),
        ),
        MethodAudit("diffpid3", COLOURS, COLOUR_RECORDS, parameters={"depth": 1}, copies=CRUDE),
        MethodAudit(
            "diffpid3",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "depth": 2, "score": "gini"},
            label="gini",
            epsilon=RICH,
            copies=(),
        ),
        MethodAudit("diffpc45", COLOURS, COLOUR_RECORDS, parameters={"depth": 1}, copies=CRUDE),
        MethodAudit(
            "diffpc45",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "depth": 2, "score": "gain"},
            label="ranges",
            epsilon=RICH,
            copies=(),
        ),
        MethodAudit("majority-label", COLOURS, COLOUR_RECORDS, copies=SUBTLE),
    ),
    beside(grids.targets, SABOTAGED),
    grounds=(
        Ground("labels of three sorts", SHAPES, SHAPE_RECORDS, parameters={"target": "kind"}),
        Ground("users with labels", USERS, COLOUR_RECORDS, parameters={"target": "large"}),
    ),
    mistakes=MISTAKES,
)
