"""Exact audits of minima: the density of a perturbed minimum in one dimension, and mistakes in its theorem.

Records are single numbers u between -1 and 1, the product of feature and label. Then the density of the
minimum is a formula, and the largest loss over a fine grid of outputs is compared with the promise. The
broken copies are no payment for the determinant, as printed; a ridge that is paid for and not used; noise for
one of a user's two records; features that are scaled by the largest of the records; and a solver that stops
after one of Newton's steps, which is as far from 0 as the records are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import log

import numpy as np
from numpy.typing import NDArray

from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.learn.linear.losses import Logistic, Loss
from penstock.learn.linear.perturbation import logarithm
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
Numbers = Sequence[float]

PLACES = np.linspace(-25.0, 25.0, 2001)
VALUES = (-1.0, -0.5, 0.0, 1.0)


@dataclass(frozen=True)
class Minimum:
    """The minimum of the loss of some numbers with Laplace noise in the objective, for one epsilon.

    `paid` says whether the determinant is paid for, `used` the share of the ridge that is used, `records` how
    many a unit has and `counted` for how many the noise is made, `scaled` whether numbers are divided by the
    largest of them, and `converged` whether more is done than one step of Newton's from 0.
    """

    epsilon: Fraction
    ridge: Fraction
    relation: Relation
    paid: bool = True
    used: Fraction = Fraction(1)
    records: int = 1
    counted: int = 1
    scaled: bool = False
    converged: bool = True

    @property
    def loss(self) -> Loss:
        return Logistic()

    @property
    def rate(self) -> float:
        """That of the noise, which is all of epsilon but what the determinant costs."""
        cost = logarithm(self.loss.curvature_bound / self.ridge) if self.paid else Fraction(0)
        moved = 2 if self.relation is Relation.REPLACE else self.counted
        return float((self.epsilon - self.counted * cost) / moved)

    def log_density(self, records: Numbers) -> Reals:
        """Of every place, but for a constant that all records share."""
        u = np.array(records, dtype=np.float64).reshape(1, -1)
        if self.scaled and u.size and np.abs(u).max() > 0:
            u = u / np.abs(u).max()
        ridge = float(self.ridge * self.used)
        margins = PLACES[:, None] * (u if self.converged else 0 * u)
        bent = (self.loss.curvatures(margins) * u**2).sum(axis=1) + ridge
        held = ridge if self.converged else bent
        tilt = -(self.loss.slopes(margins) * u).sum(axis=1) - held * PLACES
        return np.asarray(log(self.rate / 2) - self.rate * np.abs(tilt) + np.log(bent))

    def worst(self, first: Numbers, second: Numbers) -> float:
        """The largest loss of any place, either way."""
        return float(np.abs(self.log_density(first) - self.log_density(second)).max())


def targets() -> tuple[Target, ...]:
    """The theorem for both relations and for users, and five mistakes."""
    small, little = Fraction(1, 5), Fraction(1, 2)
    added = Minimum(small, Fraction(2), Relation.ADD_REMOVE)
    swapped = Minimum(small, Fraction(2), Relation.REPLACE)
    wrong = Minimum(small, Fraction(1, 5), Relation.REPLACE, paid=False)
    return (
        _target("perturbed-minimum", "noise in the objective, one record more", added),
        _target("perturbed-minimum-replaced", "the same, one record replaced", swapped),
        _target("broken-minimum-determinant", "the determinant is not paid for, as printed", wrong),
        _target(
            "broken-minimum-ridge",
            "a ridge that is paid for, of which a hundredth is used",
            Minimum(small, Fraction(2), Relation.ADD_REMOVE, used=Fraction(1, 100)),
        ),
        _target(
            "perturbed-minimum-users",
            "the same, one user with two records more",
            Minimum(little, Fraction(5), Relation.ADD_REMOVE, records=2, counted=2),
        ),
        _target(
            "broken-minimum-one-record",
            "noise for one of the two records of a user",
            Minimum(little, Fraction(5), Relation.ADD_REMOVE, records=2),
        ),
        _target(
            "broken-minimum-scaled",
            "numbers divided by the largest of the records",
            Minimum(little, Fraction(5), Relation.ADD_REMOVE, scaled=True),
        ),
        _target(
            "broken-minimum-unconverged",
            "the solver stops after one step",
            Minimum(small, Fraction(2), Relation.ADD_REMOVE, converged=False),
        ),
    )


def _target(name: str, summary: str, made: Minimum) -> Target:
    """A target with all small neighbours, and some beside a crowd of equal records."""
    found = []
    for rest in ((), (0.0,) * 5, (0.5,) * 6, (-1.0,) * 4, (1.0, -0.5)):
        for one, two in product(VALUES, VALUES):
            if made.relation is Relation.REPLACE and one < two:
                found.append(Pair((*rest, one), (*rest, two), f"{len(rest)} and {one} | {two}"))
        if made.relation is Relation.ADD_REMOVE:
            found += [
                Pair(rest, (*rest, *(one,) * made.records), f"{len(rest)} | and {one}") for one in VALUES
            ]
    return Target(
        name,
        Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED,
        Promise(made.epsilon, relation=made.relation),
        summary,
        tuple(found),
        loss=made.worst,
    )
