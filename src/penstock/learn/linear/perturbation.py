"""Minima of a loss, made private: by noise in the objective, or by noise on the minimum.

Records enter as features of Euclidean length at most sqrt(q) <= 1 and absolute sum at most s, and as signs;
the loss has slopes between -1 and 0 and curvatures of at most c. The objective is
F(w) = sum of loss(y x.w) + ridge/2 |w|^2 + b.w, a sum over records; a unit moves m records.

**Noise in the objective** (`perturbed_minimum`). The coordinates of b are independent Laplace variables with
density proportional to exp(-rate |b|_1), and w is the minimum of F. Then w costs at most
rate m s + m ln(1 + c q / ridge) when m records are added or removed, and rate 2 s + ln(1 + c q / ridge) when
one is replaced by another.

Proof. F is strictly convex and smooth, so that a w is the minimum for exactly one b, namely
b(w) = -(sum of slopes y x + ridge w), and w has the density exp(-rate |b(w)|_1) |det of db/dw| up to a
constant that does not depend on the records (where the curvature jumps, as it does for a rounded hinge, b is
still one-to-one and Lipschitz, and the formula holds almost everywhere). At the same w, b of neighbouring
records differs by m vectors of absolute sum s (two for a record that is replaced): the first term. -db/dw is
H = ridge I + sum of curvatures x x^T. A further record turns det H into det H (1 + k x^T H^-1 x) with
0 <= k <= c, a factor between 1 and 1 + c q / ridge. For a record that is replaced, both determinants are
such multiples of that of the other records, and their ratio is at most 1 + c q / ridge. The published
theorem bounds that ratio by the square (`published`); the dissertation that it was taken from here leaves
it out altogether, which is wrong.

**The exact minimum cannot be computed, nor can a Laplace variable be held.** Both are paid for. |b_j| falls
into a cell of a lattice whose number is geometric: it is drawn exactly, with a fair sign, and the middle of
the cell is used, which is at most half a cell off in each coordinate. The minimum is found to a distance of
at most `minimum.distance`, which whole numbers certify, for any number of records. So what is found is within
r = (TOLERANCE + half a cell sqrt(d)) / ridge of the exact minimum for the exact b, whatever the records are.
Given that exact minimum, the computed vectors of two neighbours, rounded to a lattice of step t, differ by at
most 2 r sqrt(d) + d t in absolute sum, and discrete Laplace noise on the lattice hides that for a small share
of epsilon. By composition both together cost epsilon, and the exact minimum is never told.

**Noise on the minimum** (`noisy_minimum`). Without b, the minima of neighbouring records are at most
m sqrt(q) / ridge apart (2 sqrt(q) / ridge for one that is replaced): their slopes differ by as much at every
w, and F is strongly convex. What is found is at most 2 `minimum.distance` further apart. In absolute sum that
is sqrt(d) times as much; rounded to whole steps of a lattice it is a step more in each coordinate, and
discrete Laplace noise on the steps pays for all of it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from math import log1p
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Examples, Features, Problem, root, up
from penstock.learn.linear.losses import Loss
from penstock.learn.linear.minimum import TOLERANCE, Objective, distance
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.lattice import from_steps, power_of_two
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Log
from penstock.privacy.randomness.samplers import Integers, geometric, uniform
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
Determinant = Literal["tight", "published"]

FOR_DISTANCE = Fraction(1, 50)
"""The share of epsilon that hides how far the computed minimum is from the exact one."""
FINE = 60
FARTHEST = 1 << 60


def logarithm(ratio: Fraction) -> Fraction:
    """ln(1 + ratio), rounded up.

    >>> float(logarithm(Fraction(1))) - 0.6931471805599453 < 1e-9
    True
    """
    return up(Fraction(log1p(float(ratio)) * (1 + 1e-12)), FINE)


@dataclass(frozen=True)
class Calibration:
    """How much noise an epsilon buys in the objective: all of it public.

    `rate` is that of the noise, `ridge` what is added to the objective after all, `fine` the cells that the
    noise is drawn in, `lattice` the steps of the answer and `scale` the noise on it, in steps.
    """

    rate: Fraction
    ridge: Fraction
    fine: Fraction
    lattice: Fraction
    scale: Fraction

    @classmethod
    def of(
        cls,
        epsilon: Fraction,
        ridge: Fraction,
        curvature: Fraction,
        features: Features,
        rows: Sealed[CodedRows],
        determinant: Determinant = "tight",
    ) -> Calibration:
        """Steps 1 and 2 of the published algorithm: a ridge that costs too much is raised.

        Where the determinant would cost all of epsilon, the ridge is raised until it costs half.
        """
        moved = rows.sensitivity.l1
        halved = rows.relation is Relation.REPLACE and determinant == "tight"
        times = moved / 2 if halved else moved
        whole = epsilon * (1 - FOR_DISTANCE)
        bent = curvature * features.longest
        left = whole - times * logarithm(bent / ridge)
        if left <= 0:
            ridge = raised(whole / (2 * times), bent)
            left = whole - times * logarithm(bent / ridge)
        rate = Fraction(int((left / (moved * features.sum_bound)) * (1 << FINE)), 1 << FINE)
        number = features.number
        fine = power_of_two(TOLERANCE / root(Fraction(number)))
        off = off_by(ridge, fine, number)
        lattice = power_of_two(off / root(Fraction(number)))
        hidden = 2 * off * root(Fraction(number)) / lattice + number
        return cls(rate, ridge, fine, lattice, hidden / (epsilon * FOR_DISTANCE))


def off_by(ridge: Fraction, fine: Fraction, number: int) -> Fraction:
    """r: how far at most what is computed is from the exact minimum for the exact noise, in length."""
    return distance(ridge) + fine / 2 * root(Fraction(number)) / ridge


def raised(cost: Fraction, curvature: Fraction) -> Fraction:
    """A ridge for which ln(1 + curvature / ridge) is at most `cost`: curvature / (exp(cost) - 1), a bit more.

    >>> logarithm(Fraction(1, 4) / raised(Fraction(1, 10), Fraction(1, 4))) <= Fraction(1, 10)
    True
    """
    # e^x - 1 is at least its series cut off anywhere, so that the quotient is never too small
    term = grown = cost
    for power in range(2, 60):
        term = term * cost / power
        grown += term
        if term * (1 << FINE) < 1:
            break
    return up(curvature / grown * (1 + Fraction(1, 1 << 30)), FINE)


@dataclass(frozen=True, eq=False)
class PerturbedMinimum(Law[Integers]):
    """The minimum of an objective with a random linear term, on a lattice and with a little noise of its own.

    What the records say is in `examples`; everything else is public.
    """

    examples: Examples
    answer: int
    penalty: Loss
    calibration: Calibration
    rate: Fraction
    scale: Fraction

    @property
    def public(self) -> Hashable:
        number = self.examples.problem.features.number
        return "minimum", number, self.answer, self.penalty, self.calibration, self.rate, self.scale

    def draw(self, source: Randomness) -> Integers:
        number, fine = self.examples.problem.features.number, self.calibration.fine
        cells = geometric(self.rate * fine, number, source).tolist()
        signs = uniform(2, number, source).tolist()
        tilt = [(1 - 2 * sign) * (2 * cell + 1) * fine / 2 for sign, cell in zip(signs, cells, strict=True)]
        objective = Objective(self.examples, self.answer, self.penalty, self.calibration.ridge, tilt)
        steps = whole_steps(objective, self.calibration.lattice)
        return LaplaceAround(steps, self.scale).draw(source)

    def log_probability(self, output: Integers) -> Log:
        """Of the cell of the lattice around the output, by the density of the exact minimum there.

        The little noise of the last step, whose share of epsilon hides it, is not in it: the density hardly
        changes over its width. Computed in doubles.
        """
        weights = from_steps(output, self.calibration.lattice)
        rate = float(self.rate)
        objective = Objective(
            self.examples, self.answer, self.penalty, self.calibration.ridge, np.zeros(len(weights))
        )
        margins = objective.margins(weights)
        tilt = -objective.slope(weights, margins)
        _, bent = np.linalg.slogdet(objective.bend(margins))
        cell = len(weights) * (np.log(rate / 2) + np.log(float(self.calibration.lattice)))
        return Log(Fraction(float(cell - rate * np.abs(tilt).sum() + bent)))


def perturbed_minimum(
    rows: Sealed[CodedRows],
    problem: Problem,
    answer: int,
    loss: Loss,
    ridge: Fraction,
    pay: Budget,
    determinant: Determinant = "tight",
) -> Reals:
    """Weights that minimise the loss with noise in the objective; pure, and pays all that is left of `pay`.

    The theorem is that of the module.
    """
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    known = Calibration.of(epsilon, ridge, loss.curvature_bound, problem.features, rows, determinant)
    source = pay.spend(
        "objective perturbation",
        rows,
        amount=epsilon,
        detail=f"rate {plain(known.rate)}, ridge {plain(known.ridge)}, {problem.features.number} weights",
    )
    examples = problem.examples(open_seal(rows))
    drawn = source.draw(PerturbedMinimum(examples, answer, loss, known, known.rate, known.scale))
    return from_steps(drawn, known.lattice)


def whole_steps(objective: Objective, lattice: Fraction) -> Integers:
    """Raw: the minimum of an objective, rounded to whole steps of a lattice, none further than 2**60.

    Bringing two numbers into a range never brings them further apart.
    """
    found = [max(-FARTHEST, min(FARTHEST, each)) for each in objective.minimum().rounded(lattice)]
    return np.array(found, dtype=np.int64)


def minimum_sensitivity(
    features: Features, ridge: Fraction, rows: Sealed[CodedRows], lattice: Fraction | None = None
) -> Sensitivity:
    """How far the minimum that is found moves in absolute sum: sqrt(d) times how far in length.

    With a `lattice` in whole steps of it, rounding included.
    """
    moved = rows.sensitivity.l1
    length = moved * root(features.longest) / ridge + 2 * distance(ridge)
    whole = up(root(Fraction(features.number)) * length)
    return Sensitivity.of(whole if lattice is None else up(whole / lattice) + features.number)


def noisy_minimum(
    rows: Sealed[CodedRows], problem: Problem, answer: int, loss: Loss, ridge: Fraction, pay: Budget
) -> Reals:
    """Weights that minimise the loss, with noise on them; pure, and pays all that is left of `pay`."""
    number, epsilon = problem.features.number, pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for noise. Nothing was spent.")
    moves = minimum_sensitivity(problem.features, ridge, rows).l1
    lattice = power_of_two(min(moves / epsilon, moves / number) / 1024)

    def found(raw: CodedRows) -> Integers:
        return whole_steps(Objective(problem.examples(raw), answer, loss, ridge, np.zeros(number)), lattice)

    sealed = rows.claim(
        found,
        minimum_sensitivity(problem.features, ridge, rows, lattice),
        shape=(number,),
        dtype=np.int64,
        because="the objective is strongly convex and one record's slope is no longer than its features, so "
        "minima are no further apart than slopes over the ridge; what is found is closer to them than a "
        "distance that counts twice, the absolute sum is at most sqrt(d) times the length, and rounding to "
        "whole steps adds one in each coordinate",
    )
    return from_steps(noise.counts(sealed, pay), lattice)
