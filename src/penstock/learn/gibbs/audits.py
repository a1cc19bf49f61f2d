"""Audits of Gibbs learners: whole methods on tiny tables, and draws among predictors that are handed over.

Draws are enumerated. The broken copies bound one of the two records that differ; read a predictor off the
rows, the label that most of them have; and divide rows by the largest of them before predictors are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.mistakes import Mistake, Sabotaged, answered, beside
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.data import Table
from penstock.learn.classification.audits import COLOUR_RECORDS, COLOURS, SHAPE_RECORDS, SHAPES
from penstock.learn.gibbs.handed import Answered, wrong
from penstock.learn.gibbs.method import Rules, sealed_scores
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Records = Sequence[tuple[int, int]]
Counts = NDArray[np.int64]

UNIVERSE = ((0, 0), (0, 1), (1, 0), (1, 1))


def same(rows: NDArray[np.float64]) -> Any:
    return rows[:, 0].astype(int)


def other(rows: NDArray[np.float64]) -> Any:
    return 1 - rows[:, 0].astype(int)


@dataclass(frozen=True)
class Constant:
    """The same label for every row."""

    label: int

    def predict(self, rows: NDArray[np.float64]) -> Any:
        return np.full(len(rows), self.label)


@dataclass(frozen=True)
class Draw:
    """One of three predictors of a label from a column of 0 and 1, with room for a mistake."""

    promise: Promise
    stated: Fraction = Fraction(1)
    read_off: bool = False
    scaled: bool = False

    def right(self, records: Records) -> Sealed[Counts]:
        """How much each predictor gets right, as it is shipped."""
        values, truth = np.array(records, dtype=np.int64).reshape(-1, 2).T
        predictors: list[Any] = [same, other, Constant(0)]
        if self.read_off:
            predictors = [Constant(int(2 * truth.sum() > len(truth))), Constant(0)]
        rows = values[:, None].astype(np.float64)
        if self.scaled:
            rows = rows / max(rows.max(initial=0.0), 1.0)
        return Answered(rows, truth, self.promise.relation).right(predictors, wrong)

    def scores(self, records: Any) -> Sealed[Counts]:
        sealed = self.right(records)
        return sealed.claim(
            lambda whole: whole,
            sealed.sensitivity.scaled(self.stated),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def law(self, records: Records) -> Distribution:
        """How likely each predictor is; where one is read off the rows, what it says."""
        sealed = self.scores(records)
        rate = float(self.promise.epsilon / sealed.sensitivity.spread)
        drawn = exact.exponential(open_seal(sealed).tolist(), rate)
        if not self.read_off:
            return drawn
        most = int(2 * sum(label for _, label in records) > len(records))
        return Distribution({(place, most if place == 0 else 0): log for place, log in drawn.logs.items()})

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        """So many draws, by the shipped mechanism."""
        sealed = self.scores(records)
        budget = self.promise.epsilon
        return [
            choice.best(sealed, Budget(budget, randomness=randomness), method="exponential") for _ in range(n)
        ]


class RuleDraw(Draw):
    """One of the rules of a schema, all of which weigh the same."""

    def right(self, records: Any) -> Sealed[Counts]:
        size = f"relation: replace\nsize: {len(records)}\n"
        schema = Schema.from_yaml(size + COLOURS)
        table = Table.open(pl.DataFrame(list(records), schema=schema.names, orient="row"), schema)
        return sealed_scores(table, Rules.of(schema, "large"), "large")


def targets() -> tuple[Target, ...]:
    """Draws as they are shipped, for both relations, and four mistakes."""
    added, swapped = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
    return (
        _target("gibbs-draw", "one of some predictors that were handed over", Draw(added)),
        _target("gibbs-draw-replaced", "the same, one row replaced", Draw(swapped)),
        _target(
            "broken-gibbs-draw-one-record",
            "one of the two rows that differ is bounded",
            Draw(swapped, stated=Fraction(1, 2)),
        ),
        _target(
            "broken-gibbs-draw-learned",
            "one of the predictors was learned from the rows",
            Draw(added, read_off=True),
        ),
        _target(
            "broken-gibbs-draw-scaled",
            "rows are divided by the largest of them before the predictors are asked",
            Draw(added, scaled=True),
            [Pair(((1, 1),) * 12, (*((1, 1),) * 12, (2, 0)))],
        ),
        _target(
            "gibbs-rule-draw-replaced", "one rule of a schema, one record replaced", RuleDraw(swapped), RED
        ),
        _target(
            "broken-gibbs-rule-draw-one-record",
            "one of the two records that differ is bounded",
            RuleDraw(swapped, stated=Fraction(1, 2)),
            RED,
        ),
    )


RED = [
    Pair((*(("red", "yes"),) * crowd, one), (*(("red", "yes"),) * crowd, two))
    for crowd in (0, 30)
    for one in COLOUR_RECORDS
    for two in COLOUR_RECORDS
    if one != two
]


def _target(name: str, summary: str, draw: Draw, made: Sequence[Pair] | None = None) -> Target:
    relation = draw.promise.relation
    pairs = small_pairs(UNIVERSE, 3, relation, smallest=3 if relation is Relation.REPLACE else 1, most=40)
    crowd = ((0, 0),) * 30
    crowds = [Pair((*crowd, one), (*crowd, two)) for one in UNIVERSE for two in UNIVERSE if one < two]
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        draw.promise,
        summary,
        made or (*pairs, *(crowds if relation is Relation.REPLACE else ())),
        run=None if draw.read_off else draw.run,
        distribution=draw.law,
        effort=0.02,
    )


SABOTAGED = (Sabotaged("gibbs-rule", Mistake.SCALED, seeds=4),)
ANY_PRIOR = "the prior is public, and the guarantee is the same for any"
MISTAKES = {
    "gibbs-rule": answered(
        "broken-gibbs-rule-scaled",
        ANY_PRIOR,
        "the draw is exact among a finite number of rules, and nothing is solved",
        "broken-gibbs-rule-draw-one-record",
    ),
    "PrivateGibbs": answered(
        "broken-gibbs-draw-scaled",
        ANY_PRIOR,
        "predictors are handed over, whatever they were made of; one that is learned from the rows is "
        "`broken-gibbs-draw-learned`",
        "broken-gibbs-draw-one-record",
    ),
}

AUDITS = Audits(
    (
        MethodAudit(
            "gibbs-rule", COLOURS, COLOUR_RECORDS, epsilon=Fraction(2), copies=("halved-sensitivity",)
        ),
        MethodAudit(
            "gibbs-rule",
            SHAPES,
            SHAPE_RECORDS,
            parameters={"target": "kind", "prior": "rules"},
            label="three-labels",
            copies=(),
        ),
    ),
    beside(targets, SABOTAGED),
    mistakes=MISTAKES,
)
