"""Draws of coefficients, enumerated on small lattices, and broken one mistake at a time.

Among the pairs are ones that are made for it: many records that agree put nearly all of the draw at one end
of the ball, and the record that differs moves the loss most at the other end. There nearly all of epsilon
shows, and half of the range would be refuted.

The broken copies make the mistakes that would be easy to make: one of the two records bounded, as the
published proof has it; features bounded and responses not; columns divided by the largest of the records; a
ball, or a prior, that is paid for and not kept to; a chain that is stopped after one step; and the
published calibration itself, with its own figures (n = 1, beta = 0.01, tau = 10, delta = 0.001: it claims
0.327).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.audit.exact import Distribution
from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.mistakes import NUMBERS, Mistake, Sabotaged, answered, beside
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.table.data import Table
from penstock.learn.classification.audits import seen_bounds
from penstock.learn.gaussian.method import bounded_sums
from penstock.learn.linear.features import STEPS, Problem
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.coefficients import Coefficients
from penstock.privacy.mechanisms import posterior
from penstock.privacy.mechanisms.posterior import Shape, Unbounded
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema
from penstock.theory.regression import Bounds, largest, published_epsilon

RENTS = """
target: rent
fields:
  - {name: rooms, type: integer, constraints: {minimum: 0, maximum: 4}, bins: {count: 5}}
  - {name: rent, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 8}, missing: value}
"""
RENT_RECORDS = ((0, 0.5), (4, 7.5), (0, 7.5), (2, None))
REPLACED = f"relation: replace\nsize: 2\n{RENTS}"
USERS = f"unit: {{protects: user, column: person, at_most: 2}}{RENTS}"
ALONE = """
target: rent
fields: [{name: rent, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 8}, missing: value}]
"""
SMALL = {"steps": 3, "radius": 1}
MANY = 60
PRIOR = Fraction(1)
HIGH, LOW = ((4, 4),) * MANY, ((4, -4),) * MANY


@dataclass(frozen=True)
class Draw:
    """A bounded draw as the shipped code makes it, with room for a mistake."""

    relation: Relation
    stated: Fraction = Fraction(1)
    ball: int = 1
    converged: bool = True

    @property
    def promise(self) -> Promise:
        return Promise(Fraction(1), relation=self.relation)

    def sums(self, records: Sequence[tuple[int, float | None]]) -> tuple[Sealed[NDArray[np.int64]], Shape]:
        frame = pl.DataFrame(list(records), schema={"rooms": pl.Int64, "rent": pl.Float64}, orient="row")
        size = f"size: {len(records)}\n" if self.relation is Relation.REPLACE else ""
        schema = Schema.from_yaml(f"relation: {self.relation.value}\n{size}{RENTS}")
        table = Table.open(frame, schema)
        problem = Problem.of(schema, "rent")
        sealed = bounded_sums(table.coded_rows(), problem, Fraction(1))
        return sealed.claim(
            lambda whole: whole,
            sealed.sensitivity.scaled(self.stated),
            because="the shipped statement stands, unless a broken copy changes it on purpose",
        ), Shape(problem.features.number, STEPS**2, PRIOR)

    def law(self, records: Sequence[tuple[int, float | None]]) -> Distribution:
        """How likely each vector of coefficients is."""
        sealed, shape = self.sums(records)
        found, number = open_seal(sealed).astype(object), shape.number
        beta, steps = self.promise.epsilon / sealed.sensitivity.spread, SMALL["steps"]
        split = number * number
        law = Coefficients(
            found[:split].reshape(number, number),
            found[split:],
            shape.unit,
            beta,
            shape.prior,
            Fraction(1, steps),
            steps * self.ball,
        )
        return enumerated(law) if self.converged else chained(law)

    def run(
        self, records: Sequence[tuple[int, float | None]], randomness: Randomness, n: int
    ) -> list[list[float]]:
        """So many draws, by the shipped mechanism."""
        sealed, shape = self.sums(records)
        return [
            posterior.bounded(
                sealed,
                Budget(self.promise.epsilon, randomness=randomness),
                shape,
                radius=Fraction(1),
                steps=SMALL["steps"],
            ).tolist()
            for _ in range(n)
        ]


def enumerated(law: Coefficients) -> Distribution:
    """Every point of the ball with its probability, in doubles."""
    points = list(law.points())
    exponents = np.array([float(law.exponent(point)) for point in points])
    logs = -exponents - np.logaddexp.reduce(-exponents)
    return Distribution(dict(zip(points, logs.tolist(), strict=True)))


def chained(law: Coefficients) -> Distribution:
    """A chain that begins at the likeliest point and stops after one step, which it takes or refuses."""
    known = {point: float(law.exponent(point)) for point in law.points()}
    here = min(known, key=lambda point: known[point])
    found = {here: 0.0}
    ways = [(place, way) for place in range(len(here)) for way in (-1, 1)]
    for place, way in ways:
        there = (*here[:place], here[place] + way, *here[place + 1 :])
        taken = min(1.0, exp(known[here] - known[there])) / len(ways) if there in known else 0.0
        found[there] = taken
        found[here] += 1 / len(ways) - taken
    return Distribution({point: log(chance) for point, chance in found.items() if chance > 0})


Dots = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Tailed:
    """An unbounded draw of one coefficient, for features and responses of -1 to 1, in so many `parts`.

    `prior` is the share of the prior's precision that is used, and `scaled` divides features by the largest
    of them.
    """

    epsilon: Fraction
    delta: Fraction
    tau: Fraction
    records: int
    beta: Callable[[Tailed, Unbounded], Fraction] = lambda self, plan: plan.beta
    parts: int = 1
    prior: Fraction = Fraction(1)
    scaled: bool = False
    converged: bool = True

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta, Relation.REPLACE)

    def law(self, records: Dots) -> Distribution:
        """How likely each coefficient is, on the lattice and in the ball of the shipped draw."""
        shape = Shape(1, self.parts**2, 1 / self.tau**2)
        plan = Unbounded.of(
            shape, float(self.epsilon), float(self.delta), 1.0, 1.0, self.records, Fraction(2)
        )
        if self.scaled:
            largest = max(abs(x) for x, _ in records)
            records = [(self.parts * x // largest, y) for x, y in records]
        gram, sums = _sums(records).astype(object)
        law = Coefficients(
            np.array([[gram]], dtype=object),
            np.array([sums], dtype=object),
            shape.unit,
            self.beta(self, plan),
            shape.prior * self.prior,
            plan.step,
            plan.steps,
        )
        return enumerated(law) if self.converged else chained(law)

    def run(self, records: Dots, randomness: Randomness, n: int) -> list[float]:
        """So many draws, by the shipped mechanism."""
        sealed = Sealed(
            _sums(records),
            Sensitivity.of(2, linf=1),
            Relation.REPLACE,
            because="made-up records, of which one is replaced by another",
        )
        shape, one = Shape(1, 1, 1 / self.tau**2), Fraction(1)
        return [
            float(
                posterior.unbounded(
                    sealed,
                    Budget(self.epsilon, self.delta, randomness=randomness),
                    shape,
                    x=one,
                    y=one,
                    records=self.records,
                )[0]
            )
            for _ in range(n)
        ]


def _sums(records: Dots) -> NDArray[np.int64]:
    return np.array([sum(x * x for x, _ in records), sum(x * y for x, y in records)], dtype=np.int64)


def published(self: Tailed, plan: Unbounded) -> Fraction:
    """The beta of the published calibration."""
    bounds = Bounds(self.records)
    tau, delta = float(self.tau), float(self.delta)
    return Fraction(largest(lambda beta: published_epsilon(beta, tau, delta, bounds), float(self.epsilon)))


def targets() -> tuple[Target, ...]:
    """The draws as they are shipped, and their broken copies."""
    added, swapped = Draw(Relation.ADD_REMOVE), Draw(Relation.REPLACE)
    half = Draw(Relation.REPLACE, stated=Fraction(1, 2))
    tailed = Tailed(Fraction(2), Fraction(1, 1000), Fraction(1), 2)
    many = replace(tailed, records=MANY, parts=4)
    claimed = Tailed(Fraction(327, 1000), Fraction(1, 1000), Fraction(10), 1, beta=published)
    return (
        _drawn("posterior-draw", "coefficients of norm 1 at most, one record added or removed", added),
        _drawn("posterior-draw-replace", "the same, one record replaced", swapped),
        _drawn("broken-posterior-draw-one-record", "one of the two records that differ is bounded", half),
        _drawn(
            "broken-posterior-draw-ball",
            "a ball that is paid for, and one four times as wide that is drawn from",
            Draw(Relation.ADD_REMOVE, ball=4),
        ),
        _drawn(
            "broken-posterior-draw-unconverged",
            "a chain from the likeliest coefficients, stopped after one step",
            Draw(Relation.ADD_REMOVE, converged=False),
        ),
        _tailed("gaussian-draw", "a coefficient without bounds, whose tails a delta covers", tailed),
        _tailed(
            "broken-gaussian-draw-published", "the published calibration, which claims too little", claimed
        ),
        _tailed(
            "broken-gaussian-draw-scaled",
            "features divided by the largest of the records",
            replace(many, scaled=True),
            (Pair(((1, 4),) * MANY, (*((1, 4),) * (MANY - 1), (4, -4))),),
        ),
        _tailed(
            "broken-gaussian-draw-prior",
            "a prior that is paid for, and one a thousand times as wide that is drawn with",
            replace(tailed, prior=Fraction(1, 1000)),
        ),
        _tailed(
            "broken-gaussian-draw-unconverged",
            "a chain from the likeliest coefficient, stopped after one step",
            replace(many, converged=False),
            [
                Pair((*HIGH[left:], *LOW[:left]), (*HIGH[left + 1 :], *LOW[: left + 1]))
                for left in range(MANY)
            ],
        ),
        _tailed(
            "broken-gaussian-draw-features-only",
            "features are held to their bounds, and the response of the record that comes is not",
            many,
            (Pair(((4, 4),) * MANY, (*((4, 4),) * (MANY - 1), (4, -400))),),
        ),
    )


def _drawn(name: str, summary: str, draw: Draw) -> Target:
    high, low = (4, 7.5), (4, 0.5)
    faithful = draw.ball == 1 and draw.converged
    if draw.relation is Relation.ADD_REMOVE:
        made = [Pair((high,) * MANY, (*((high,) * MANY), low)), Pair((low,) * MANY, (*((low,) * MANY), high))]
        few = small_pairs(RENT_RECORDS, 2, draw.relation, smallest=1, most=8)
    else:
        made = [Pair((*((high,) * MANY), high), (*((high,) * MANY), low))]
        few = small_pairs(RENT_RECORDS, 2, draw.relation, smallest=2, most=8)
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        draw.promise,
        summary,
        (*made, *few),
        run=draw.run if faithful else None,
        distribution=draw.law,
        effort=0.01,
    )


def _tailed(name: str, summary: str, draw: Tailed, made: Sequence[Pair] = ()) -> Target:
    corners = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 1))
    pairs = made or small_pairs(corners, draw.records, Relation.REPLACE, smallest=draw.records, most=40)
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        draw.promise,
        summary,
        pairs,
        run=None if name.startswith("broken") else draw.run,
        distribution=draw.law,
        effort=0.01,
    )


SABOTAGED = (Sabotaged("posterior-regression", Mistake.SCALED, NUMBERS, parameters=SMALL, seeds=4),)
MISTAKES = {
    "posterior-regression": answered(
        "broken-posterior-regression-scaled",
        *(f"broken-posterior-draw-{mistake}" for mistake in ("ball", "unconverged", "one-record")),
    ),
    "gaussian-regression": answered(
        *(
            f"broken-gaussian-draw-{mistake}"
            for mistake in ("scaled", "prior", "unconverged", "features-only")
        )
    ),
}

AUDITS = Audits(
    (
        MethodAudit(
            "posterior-regression",
            RENTS,
            RENT_RECORDS,
            parameters=SMALL,
            read_off=seen_bounds,
            copies=("fixed-seed",),
        ),
        MethodAudit(
            "posterior-regression",
            REPLACED,
            RENT_RECORDS,
            parameters={**SMALL, "draws": 2},
            label="replace",
            copies=(),
        ),
        MethodAudit(
            "posterior-regression",
            ALONE,
            ((0.5,), (7.5,), (None,)),
            parameters={"steps": 1, "radius": 1},
            epsilon=Fraction(4),
            label="alone",
            copies=(),
        ),
    ),
    beside(targets, SABOTAGED),
    grounds=(Ground("users with numbers to predict", USERS, RENT_RECORDS, parameters={"target": "rent"}),),
    mistakes=MISTAKES,
)
