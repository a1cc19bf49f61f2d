"""One draw of regression coefficients from a tempered posterior: the exponential mechanism over a lattice.

Guarantee: pure epsilon (`bounded`), or (epsilon, delta) (`unbounded`).
Why: the loss of coefficients w is half the sum of (x.w - y)^2 over the records, and a draw has probability
proportional to exp(-beta loss(w)) times a public prior.

* `bounded`: only coefficients of norm at most B are candidates, where one record adds between 0 and
  (M B + Y)^2 / 2 to the loss. So the change of the losses between neighbours has a range of at most R, that
  times the number of records that differ, and beta = epsilon / R makes this an exponential mechanism of cost
  epsilon. R comes with the sealed sums.
* `unbounded`: the candidates lie in a ball so large that it cuts off nothing that matters. With probability
  1 - delta / r under each of two neighbours, |x.w - y| stays below Y + M (W + tau t) for each of the r
  records that differ, where W bounds the mean and t = sqrt(2 ln(2.001 r / delta)). Given that, losses move
  apart by no more than in a bounded draw, and what is left is covered by delta: for any set T of outputs,
  P(T) <= e^epsilon P'(T) + delta, with epsilon = beta r (Y + M (W + tau t))^2 / 2 (the relaxed exponential
  mechanism). The factor 2.001 is for both sides of the tail on the lattice: E exp(s x.(w - mean)) is
  exp(s^2 x'P^-1 x / 2) times a ratio of two sums of a Gaussian over shifted lattices, which by Poisson's
  formula is within 1 + 10^-9 as long as the lattice is finer than the narrowest deviation by the square
  root of 2 (`_lattice`); the ball cuts off less than 2^-40 of the draw.

Candidates are points of a public lattice, and sums are whole numbers, so nothing is rounded and the draw is
exact (`penstock.privacy.laws.coefficients`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt, log, sqrt

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.coefficients import Coefficients, TailedCoefficients
from penstock.privacy.seals.sealed import Sealed, form_of, open_seal

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

TAILS = 2.001
"""Both sides of a tail on a lattice, and what the ball that holds the lattice adds."""
_BEYOND = 2.0**40
_FINEST = 1 << 40


@dataclass(frozen=True)
class Shape:
    """What is public about the coefficients: how many, the unit of the sums, and the prior.

    `prior` is the precision of the prior, 1 / tau^2. The sums hold the products of all features row by row,
    and then those of the features with the response, each a whole number of 1 / `unit`.
    """

    number: int
    unit: int
    prior: Fraction

    def __post_init__(self) -> None:
        if self.number < 1 or self.unit < 1 or self.prior <= 0:
            raise UsageError("Coefficients need a number, a unit and a prior above 0. Nothing was spent.")


def bounded(sums: Sealed[Numbers], pay: Budget, shape: Shape, *, radius: Fraction, steps: int) -> Reals:
    """Coefficients of norm at most `radius`, on a lattice of `steps` steps to its edge; pays all of `pay`.

    The sensitivity of the sums is that of the losses of all such coefficients.
    """
    _refuse(sums, shape)
    if radius <= 0 or not 1 <= steps <= _FINEST:
        raise UsageError(
            "A ball of coefficients needs a radius above 0, and one step at least. Nothing was spent."
        )
    moves = sums.sensitivity.spread
    epsilon = pay.left[0]
    if epsilon <= 0 or moves <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for a draw.")
    source = pay.spend(
        "posterior draw",
        sums,
        amount=epsilon,
        sensitivity=f"range {plain(moves)}",
        detail=f"{shape.number} coefficients of norm {plain(radius)} at most",
    )
    gram, linear = _parts(open_seal(sums), shape.number)
    step = radius / steps
    law = Coefficients(gram, linear, shape.unit, epsilon / moves, shape.prior, step, steps)
    return _values(source.draw(law), step)


def unbounded(
    sums: Sealed[Numbers], pay: Budget, shape: Shape, *, x: Fraction, y: Fraction, records: int
) -> Reals:
    """Coefficients without bounds, for features of norm `x`, responses up to `y` and so many records at most.

    The sensitivity of the sums counts records: L1 is how many of them differ. Pays all of `pay`, which needs
    a delta.
    """
    _refuse(sums, shape)
    epsilon, delta = pay.left
    if epsilon <= 0 or delta <= 0:
        raise BudgetError(f"'{pay.label}' needs an epsilon and a delta for this draw. Nothing was spent.")
    plan = Unbounded.of(shape, float(epsilon), float(delta), float(x), float(y), records, sums.sensitivity.l1)
    source = pay.spend(
        "posterior draw with tails",
        sums,
        amount=epsilon,
        sensitivity=f"beta {float(plan.beta):.6g}",
        detail=f"{shape.number} coefficients, at most {records} records",
    )
    gram, linear = _parts(open_seal(sums), shape.number)
    law = TailedCoefficients(gram, linear, shape.unit, plan.beta, shape.prior, plan.step, plan.steps)
    return _values(source.draw(law), plan.step)


@dataclass(frozen=True)
class Unbounded:
    """Beta, the lattice and the ball of an unbounded draw: public, each rounded to the safe side."""

    beta: Fraction
    step: Fraction
    steps: int

    @classmethod
    def of(
        cls,
        shape: Shape,
        epsilon: float,
        delta: float,
        x: float,
        y: float,
        records: int,
        differing: Fraction,
    ) -> Unbounded:
        """The largest beta whose cost is at most epsilon, the lattice that its tails need, and the ball."""
        tau = 1 / sqrt(float(shape.prior))
        tail = tau * sqrt(2 * log(TAILS * float(differing) / delta))

        def mean(beta: float) -> float:
            lam = float(shape.prior) / beta
            return min(x * y * records / lam, sqrt(records) * y / (2 * sqrt(lam)))

        def cost(beta: float) -> float:
            return beta * float(differing) * (y + x * (mean(beta) + tail)) ** 2 / 2

        low, high = 0.0, 1.0
        while cost(high) <= epsilon:
            low, high = high, 2 * high
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if cost(middle) <= epsilon else (low, middle)
        beta = Fraction(low * (1 - 1e-9))  # doubles are off by far less
        if beta <= 0:
            raise UsageError("This epsilon is too small for a draw with tails. Nothing was spent.")
        sharpest = float(beta) * records * x * x + float(shape.prior)
        step = _lattice(sharpest)
        cut = tau * sqrt(2 * log(TAILS * shape.number * _BEYOND))
        reach = (mean(float(beta)) + cut * sqrt(shape.number)) * (1 + 1e-9)
        return cls(beta, step, ceil(reach / float(step)) + 1)


def _lattice(sharpest: float) -> Fraction:
    """A power of two whose square times the sharpest precision is at most a half."""
    exponent = 0
    while 4.0**-exponent * sharpest > 0.5:
        exponent += 1
    return Fraction(1, 1 << exponent)


def _refuse(sums: Sealed[Numbers], shape: Shape) -> None:
    form = form_of(sums)
    if form.shape != (shape.number * (shape.number + 1),) or form.kind not in "iun":
        raise UsageError(
            "A draw needs whole sums of all products, and of those with the response. Nothing was spent."
        )


def _parts(sums: Numbers, number: int) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    whole = sums.astype(object)
    return whole[: number * number].reshape(number, number), whole[number * number :]


def _values(chosen: tuple[int, ...], step: Fraction) -> Reals:
    return np.array([float(each * step) for each in chosen], dtype=np.float64)


def norm_bound(square: Fraction, bits: int = 40) -> Fraction:
    """A fraction that is not below the root of a square.

    >>> norm_bound(Fraction(1, 4)) >= Fraction(1, 2)
    True
    """
    return Fraction(isqrt((square.numerator << (2 * bits)) // square.denominator) + 1, 1 << bits)
