"""Audits of linear predictors on tiny tables: a few records, columns of all sorts, labels and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.audit.mistakes import COLOURS as COLOURED
from penstock.audit.mistakes import NUMBERS, Mistake, Sabotaged, answered, beside
from penstock.audit.mistakes import RENTS as COLOURED_RENTS
from penstock.audit.target import Target
from penstock.learn.linear.audits import outputs, proofs
from penstock.schema import Schema

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
AGES = """
target: large
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 2}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
"""
AGE_RECORDS = ((0, "yes"), (4, "no"), (9, "no"))
USER = "unit: {protects: user, column: person, at_most: 2}"
USERS = f"{USER}{COLOURS}"


def seen_ranges(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """Bounds that are the smallest and the largest value that occurs, instead of public ones."""
    facts = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(facts["fields"]):
        seen = [record[place] for record in records if record[place] is not None]
        if "bins" in described and seen:
            described["constraints"] = {"minimum": min(seen), "maximum": max(seen) + 1}
            described["bins"] = {"count": 2}
    return Schema.model_validate(facts)


def targets() -> tuple[Target, ...]:
    """What has a proof of its own: minima with noise in the objective, and with noise on them."""
    return (*proofs.targets(), *outputs.targets())


SABOTAGED = (
    Sabotaged("functional-mechanism", Mistake.SCALED, seeds=4),
    Sabotaged("functional-mechanism", Mistake.ONE_OF_TWO, COLOURED),
    Sabotaged("regression", Mistake.SCALED, NUMBERS, seeds=4),
    Sabotaged("regression", Mistake.ONE_OF_TWO, COLOURED_RENTS),
    Sabotaged("private-erm", Mistake.SCALED, seeds=4),
    Sabotaged("private-erm", Mistake.ONE_OF_TWO, COLOURED),
)
AFTERWARDS = "weights are solved from sums that are noisy already, so that no guarantee rests on it"
MISTAKES = {
    "private-erm": answered(
        "broken-private-erm-scaled",
        "broken-minimum-ridge",
        "broken-minimum-unconverged",
        "broken-private-erm-one-record",
    ),
    "output-perturbation": answered(
        *(f"broken-noisy-minimum-{mistake}" for mistake in ("scaled", "ridge", "unconverged", "one-record"))
    ),
    **{
        method: answered(f"broken-{method}-scaled", AFTERWARDS, AFTERWARDS, f"broken-{method}-one-record")
        for method in ("functional-mechanism", "regression")
    },
}

AUDITS = Audits(
    (
        MethodAudit("regression", RENTS, RENT_RECORDS, read_off=seen_ranges, copies=CRUDE),
        MethodAudit("private-erm", COLOURS, COLOUR_RECORDS, copies=CRUDE),
        MethodAudit(
            "private-erm",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "loss": "huber"},
            label="three-labels",
            copies=(),
        ),
        MethodAudit(
            "private-erm",
            f"relation: replace\nsize: 2\n{COLOURS}",
            COLOUR_RECORDS,
            label="replace",
            copies=(),
        ),
        MethodAudit(
            "private-erm", COLOURS, COLOUR_RECORDS, parameters={"ridges": 2}, label="ridges", copies=()
        ),
        MethodAudit(
            "private-erm",
            AGES,
            AGE_RECORDS,
            label="bounds",
            read_off=seen_ranges,
            copies=("domain-from-data",),
        ),
        MethodAudit("output-perturbation", COLOURS, COLOUR_RECORDS, parameters={"ridge": 1}, copies=CRUDE),
        MethodAudit(
            "output-perturbation",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "loss": "huber"},
            label="three-labels",
            copies=(),
        ),
        # weights are a coarse view of the sums: few runs refute crude mistakes alone, replays refute all
        MethodAudit("functional-mechanism", COLOURS, COLOUR_RECORDS, copies=CRUDE),
        MethodAudit(
            "functional-mechanism", RENTS, RENT_RECORDS, label="numbers", read_off=seen_ranges, copies=()
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
    beside(targets, SABOTAGED),
    grounds=(
        Ground("users with labels to predict", USERS, COLOUR_RECORDS, parameters={"target": "large"}),
        Ground(
            "users with numbers to predict", f"{USER}{RENTS}", RENT_RECORDS, parameters={"target": "rent"}
        ),
    ),
    mistakes=MISTAKES,
)
