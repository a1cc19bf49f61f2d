"""Exact audits of noise on a minimum, and of the paid choice of a ridge, with the mistakes that are easy.

Both sides open the seal of what is shipped and take the stated sensitivity from it. A minimum in whole steps
has discrete Laplace noise in each coordinate, so that the largest loss of any outcome is how far the minimum
moves in absolute sum over what was stated; a choice is enumerated.
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
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Problem
from penstock.learn.linear.losses import HUBER
from penstock.learn.linear.minimum import Objective
from penstock.learn.linear.perturbation import minimum_sensitivity, whole_steps
from penstock.learn.linear.ridges import right_answers
from penstock.learn.linear.whole_slopes import Point
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Records = Sequence[tuple[Any, ...]]

AGES = """
target: large
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 10}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
"""
UNIVERSE = ((0, "yes"), (9, "no"), (9, "yes"))
LATTICE = Fraction(1, 1 << 20)
RIDGE = Fraction(8)


def opened(
    records: Records, relation: Relation, *, read_off: bool = False
) -> tuple[Sealed[CodedRows], Problem]:
    """The sealed rows of a small table, and what is to be predicted."""
    facts = Schema.from_yaml(AGES).model_dump(by_alias=True, exclude_defaults=True)
    facts["relation"] = relation.value
    if relation is Relation.REPLACE:
        facts["size"] = len(records)
    if read_off and records:
        ages = [age for age, _ in records]
        facts["fields"][0]["constraints"] = {"minimum": min(ages) - 1, "maximum": max(ages) + 1}
        facts["fields"][0]["bins"] = {"count": 3}
    schema = Schema.model_validate(facts)
    table = Table.open(pl.DataFrame(list(records), schema=schema.names, orient="row"), schema)
    return table.coded_rows(), Problem.of(schema, "large")


class OneStep(Objective):
    """A solver that makes one step along the slope, and stops."""

    def minimum(self) -> Point:
        start = Point.near(np.zeros(len(self.tilt)), 56)
        return start.less(self.exact_slope(start))


@dataclass(frozen=True)
class Weights:
    """The minimum as `output-perturbation` finds it, and what is stated about it, with room for a mistake.

    The hinge pulls with all its strength where there are few records, so that the bound is met to the digit.

    `used` is the share of the stated ridge that is used, `records` how many a unit has, and `counted` for how
    many of them the noise is made.
    """

    relation: Relation = Relation.ADD_REMOVE
    solver: type[Objective] = Objective
    used: Fraction = Fraction(1)
    records: int = 1
    counted: int = 1
    read_off: bool = False

    def loss(self, first: Records, second: Records) -> float:
        """The exact loss for an epsilon of 1."""
        found = []
        for records in (first, second):
            rows, problem = opened(records, self.relation, read_off=self.read_off)
            number = problem.features.number
            examples = problem.examples(open_seal(rows))
            solver = self.solver(examples, 0, HUBER, RIDGE * self.used, np.zeros(number))
            found.append(whole_steps(solver, LATTICE))
            stated = minimum_sensitivity(problem.features, RIDGE, rows, LATTICE).l1
        return float(int(np.abs(found[0] - found[1]).sum()) / (stated * self.counted))


@dataclass(frozen=True)
class Ridge:
    """The choice among two public vectors of weights, by how many records they get right."""

    promise: Promise
    stated: Fraction = Fraction(1)

    def scores(self, records: Records) -> Sealed[NDArray[np.int64]]:
        rows, problem = opened(records, self.promise.relation)
        weights = [np.array([[0.0], [1.0]]), np.array([[0.0], [-1.0]])]
        sealed = right_answers(rows, problem, weights)
        return sealed.claim(
            lambda whole: whole,
            sealed.sensitivity.scaled(self.stated),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        )

    def law(self, records: Records) -> Distribution:
        """How likely each is to be chosen."""
        sealed = self.scores(records)
        rate = float(self.promise.epsilon / sealed.sensitivity.spread)
        return exact.permute_and_flip(open_seal(sealed).tolist(), rate)

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        """So many choices, by the shipped mechanism."""
        sealed = self.scores(records)
        return [choice.best(sealed, Budget(self.promise.epsilon, randomness=randomness)) for _ in range(n)]


def targets() -> tuple[Target, ...]:
    """What is shipped, for both relations, and its broken copies."""
    added, swapped = Promise(Fraction(1)), Promise(Fraction(1), relation=Relation.REPLACE)
    return (
        _moved("noisy-minimum", "noise on a minimum, one record more", Weights()),
        _moved("noisy-minimum-replaced", "the same, one record replaced", Weights(Relation.REPLACE)),
        _moved(
            "broken-noisy-minimum-unconverged", "the solver stops after one step", Weights(solver=OneStep)
        ),
        _moved(
            "broken-noisy-minimum-ridge",
            "a ridge that is paid for, of which a hundredth is used",
            Weights(used=Fraction(1, 100)),
        ),
        _moved(
            "noisy-minimum-users",
            "the same, one user with two records more",
            Weights(records=2, counted=2),
        ),
        _moved(
            "broken-noisy-minimum-one-record",
            "noise for one of the two records of a user",
            Weights(records=2),
        ),
        _moved(
            "broken-noisy-minimum-scaled",
            "columns are scaled by the smallest and the largest value that occurs",
            Weights(read_off=True),
        ),
        _chosen("ridge-choice", "one of some public weights, by how many records are right", Ridge(added)),
        _chosen("ridge-choice-replaced", "the same, one record replaced", Ridge(swapped)),
        _chosen(
            "broken-ridge-choice-one-record",
            "one of the two records that differ is bounded",
            Ridge(swapped, stated=Fraction(1, 2)),
        ),
    )


def _pairs(relation: Relation, records: int = 1) -> Sequence[Pair]:
    if relation is Relation.REPLACE:
        return small_pairs(UNIVERSE, 3, relation, smallest=3, most=30)
    return [
        Pair((one,) * crowd, (*(one,) * crowd, *(two,) * records))
        for one in UNIVERSE
        for two in UNIVERSE
        for crowd in (1, 60)
    ]


def _moved(name: str, summary: str, made: Weights) -> Target:
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        Promise(Fraction(1), relation=made.relation),
        summary,
        _pairs(made.relation, made.records),
        loss=made.loss,
    )


def _chosen(name: str, summary: str, made: Ridge) -> Target:
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        made.promise,
        summary,
        _pairs(made.promise.relation),
        run=made.run,
        distribution=made.law,
        effort=0.02,
    )
