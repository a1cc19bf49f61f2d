"""Audits of searches: one choice exactly on small tables, whole methods on tiny ones, and mistakes to catch.

The exact side opens the seal of the shipped scores and takes the stated sensitivity from it; the sampled side
calls the shipped mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.audit.mistakes import Mistake, Sabotaged, answered, beside
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.data import Table
from penstock.learn.aggregate import audits as aggregate
from penstock.learn.linear.features import Problem
from penstock.learn.search.judged import Encoding, Judged
from penstock.learn.search.losses import HUBER, SQUARED, WEIGHT_BITS, Loss
from penstock.learn.search.vectors import coarser
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Whole = NDArray[np.int64]
Records = Sequence[tuple[Any, ...]]

LABELS = """
target: ill
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 3}, bins: {count: 4}}
  - {name: ill, type: boolean}
"""
NUMBERS = """
target: pay
fields:
  - {name: hired, type: boolean}
  - {name: pay, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 4}}
"""
UNIVERSE = ((0, True), (3, False), (3, True), (1, False))
PAID = ((True, 0.0), (False, 8.0), (True, 7.0))
STEP = 1 << (WEIGHT_BITS - 2)


def replaced(schema: str) -> str:
    """The same schema for three records of which one is replaced."""
    return f"relation: replace\nsize: 3{schema}"


def seen_bounds(schema: Schema, records: Records) -> Schema:
    """Bounds that are the smallest and the largest value that occurs, instead of public ones."""
    facts = schema.model_dump(by_alias=True, exclude_defaults=True)
    for place, described in enumerate(facts["fields"]):
        if "bins" in described:
            seen = [record[place] for record in records]
            described["constraints"] = {"minimum": min(seen), "maximum": max(seen) + 1}
            described["bins"] = {"count": int(max(seen) - min(seen)) + 2}
    return Schema.model_validate(facts)


def as_known(known: Sensitivity, judged: Judged, records: Records) -> Sensitivity:
    """What the shipped scores state."""
    return known


@dataclass(frozen=True)
class Step:
    """One choice, of a step from a place or of one of a few candidates, with room for a mistake."""

    schema: str = LABELS
    loss: Loss = HUBER
    candidates: tuple[tuple[int, int], ...] | None = None
    stated: Callable[[Sensitivity, Judged, Records], Sensitivity] = as_known
    read_off: bool = False
    promise: Promise = field(default_factory=lambda: Promise(Fraction(1)))

    def scores(self, records: Records) -> Sealed[Whole]:
        import polars as pl

        schema = Schema.from_yaml(self.schema)
        if self.read_off and records:
            schema = seen_bounds(schema, records)
        table = Table.open(pl.DataFrame(list(records), schema=schema.names, orient="row"), schema)
        judged = Judged(table.coded_rows(), Problem.of(schema, str(schema.target)), 0, self.loss)
        if self.candidates is None:
            sealed = judged.falls(np.zeros(2, dtype=np.int64), STEP)
        else:
            sealed = judged.scores(np.array(self.candidates) * STEP)
        return sealed.claim(
            lambda whole: whole,
            self.stated(sealed.sensitivity, judged, records),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def law(self, records: Records) -> Distribution:
        """How likely each candidate is to be chosen."""
        sealed = self.scores(records)
        found, rate = open_seal(sealed).tolist(), float(self.promise.epsilon / sealed.sensitivity.spread)
        return (
            exact.permute_and_flip(found, rate) if self.candidates is None else exact.exponential(found, rate)
        )

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        """So many choices, by the shipped mechanism."""
        sealed = self.scores(records)
        method: choice.Method = "permute-and-flip" if self.candidates is None else "exponential"
        return [
            choice.best(sealed, Budget(self.promise.epsilon, randomness=randomness), method=method)
            for _ in range(n)
        ]


def _half(known: Sensitivity, judged: Judged, records: Records) -> Sensitivity:
    return known.scaled(Fraction(1, 2))


def _over_records(known: Sensitivity, judged: Judged, records: Records) -> Sensitivity:
    """The largest differences over the records that there are, as the paper prints it."""
    ages = np.array([record[0] for record in records], dtype=np.int64)
    features = judged.problem.features
    seen = Encoding((np.array([[features.constant]]), features.lookups[0][np.unique(ages)]))
    moves = coarser(judged.loss.steepest * seen.diameter(np.array(PAIR) * STEP))
    return Sensitivity.scores(max(1, moves), len(PAIR), spread=max(1, moves))


PAIR = ((0, 1), (0, -1))
"""Two candidates that records at the ends of the range tell apart most, and those in the middle hardly."""
REPLACED = Promise(Fraction(1), relation=Relation.REPLACE)


def proofs() -> tuple[Target, ...]:
    """Choices as they are shipped, for both relations and losses, and the mistakes that would be easy."""
    return (
        _target("search-step", "a step along one coordinate", Step()),
        _target("search-step-numbers", "the same for a squared loss", Step(NUMBERS, SQUARED)),
        _target(
            "search-step-replace",
            "the same where a record is replaced",
            Step(replaced(LABELS), promise=REPLACED),
        ),
        _target("search-candidates", "one of a few vectors of weights", Step(candidates=PAIR)),
        _target(
            "search-candidates-replace",
            "the same where a record is replaced",
            Step(replaced(LABELS), candidates=PAIR, promise=REPLACED),
        ),
        _target(
            "broken-search-one-way",
            "two steps are said to move apart as far as one of them moves",
            Step(stated=_half),
        ),
        _target(
            "broken-search-one-of-two-records",
            "the constant for a record that goes, where another comes in its place",
            Step(replaced(LABELS), stated=_half, promise=REPLACED),
        ),
        _target(
            "broken-search-candidates-one-of-two-records",
            "the same among a few vectors of weights",
            Step(replaced(LABELS), candidates=PAIR, stated=_half, promise=REPLACED),
        ),
        _target(
            "broken-search-maxima-over-records",
            "the sensitivity is the largest over the records that there are",
            Step(candidates=PAIR, stated=_over_records),
        ),
        _target(
            "broken-search-bounds-from-records",
            "columns are scaled by the smallest and the largest value that occurs",
            Step(read_off=True),
        ),
        *aggregate.targets(),
    )


def _target(name: str, summary: str, step: Step) -> Target:
    relation = step.promise.relation
    universe = PAID if step.schema == NUMBERS else UNIVERSE
    few = small_pairs(universe, 3, relation, smallest=3 if relation is Relation.REPLACE else 1, most=40)
    many = [Pair((one,) * 40, (*(one,) * 40, two)) for one in universe for two in universe if one != two]
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        step.promise,
        summary,
        few if relation is Relation.REPLACE else (*few, *many),
        run=step.run,
        distribution=step.law,
        effort=0.02,
    )


SABOTAGED = (
    Sabotaged("privlocal", Mistake.SCALED, parameters={"rounds": 2}, seeds=4),
    Sabotaged("privgene", Mistake.SCALED, parameters={"rounds": 2, "population": 20}, seeds=4),
)
HELD_TO_NOTHING = "every choice is paid for; nothing is minimised, and nothing is held to a regulariser"
PAID_STEPS = (
    "every step is a choice that is paid for, wherever the search stands; the number of steps is public"
)
MISTAKES = {
    "privlocal": answered(
        "broken-privlocal-scaled", HELD_TO_NOTHING, PAID_STEPS, "broken-search-one-of-two-records"
    ),
    "privgene": answered(
        "broken-privgene-scaled", HELD_TO_NOTHING, PAID_STEPS, "broken-search-candidates-one-of-two-records"
    ),
    "SampleAndAggregate": answered(
        "broken-aggregate-scaled",
        "whatever an estimator holds to what, the range of its outputs bounds it",
        "broken-aggregate-warm",
        "broken-aggregate-one-side",
    ),
}

AUDITS = Audits(
    (
        MethodAudit("privlocal", LABELS, UNIVERSE, parameters={"rounds": 2}, effort=0.01, copies=CRUDE),
        MethodAudit(
            "privlocal",
            NUMBERS,
            PAID,
            parameters={"rounds": 1, "step": 2.0},
            label="numbers",
            effort=0.01,
            copies=(),
        ),
        MethodAudit(
            "privgene",
            LABELS,
            UNIVERSE,
            parameters={"rounds": 2, "population": 20},
            effort=0.002,
            copies=("fixed-seed",),
        ),
    ),
    beside(proofs, SABOTAGED),
    grounds=(Ground("three sorts of pay", NUMBERS, PAID, parameters={"target": "pay"}),),
    mistakes=MISTAKES,
)
