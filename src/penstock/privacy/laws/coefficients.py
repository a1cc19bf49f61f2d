"""Coefficients of a regression: a Gaussian posterior on the points of a lattice inside a ball, drawn exactly.

A vector of whole numbers k stands for the coefficients h k. It comes with probability proportional to
exp(-E(k)), E(k) = beta (h^2 k'Gk / 2 - h k's) / unit + prior h^2 k'k / 2, where G and s are whole numbers:
sums over records of products of features, and of features with the response. Only k'k <= radius^2 can come.

No number of floating point decides anything. Doubles find a proposal that is nearly the law, and whatever
they get wrong is set right by exact coins:

* A factorisation of the quadratic form in doubles is rounded to fractions. From then on it is public to the
  proposal: coordinates are drawn one after the other, the last first, each around a centre that the later
  ones fix, and a vector comes out with weight exp(-Q(k)), Q the rounded form. Of each coordinate, blocks of
  whole numbers get integer weights of at least 2^30 exp(-x); a number of a block is kept by an exact coin,
  and all weights are filled up to a total that no centre exceeds, so that the weight of a number does not
  depend on the centre's. A vector whose coordinate is not kept is dropped as a whole. Doubles compute these
  weights, with a margin a billion times their error: they need only be large enough.
* Where the ball cuts off much, the form is made steeper by mu k'k / 2; any mu is right, and a good one is
  found in doubles. On the ball E(k) - Q(k) is at least minus a bound C that is computed in fractions, from
  how far the rounded form is from the true one. A vector is kept by an exact coin of exp(-(E(k) - Q(k) + C)).

Where the lattice has few points, these are listed, and one is drawn by such weights and coins.

So whoever is kept has weight exp(-Q) exp(-(E - Q + C)), which is exp(-E) times a constant. How many vectors
are dropped before one is kept depends on the sums, and so does the time that a draw takes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, isqrt, pi, sqrt
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ONE, ZERO, Between, Log
from penstock.privacy.randomness.samplers import under_exp

Whole = NDArray[Any]
Reals = NDArray[np.float64]

ENUMERATED: Final = 1 << 13
"""So many points of a lattice are summed up to know a probability exactly."""
_BITS: Final = 30
_FINE: Final = 40  # binary digits of the rounded factors and centres
_SHARP: Final = 70  # of the rounded precisions
_NEAR: Final = 22.0  # beyond this exponent a weight is below 2**-30
_MARGIN: Final = 1 + 2.0**-20  # far more than doubles are off
_PER_DEVIATION: Final = 64


@dataclass(frozen=True, eq=False)
class Coefficients(Law[tuple[int, ...]]):
    """The law of one draw; see the module's text for E(k).

    `gram` and `sums` hold Python's whole numbers, `radius` is in steps of the lattice.
    """

    gram: Whole
    sums: Whole
    unit: int
    beta: Fraction
    prior: Fraction
    step: Fraction
    radius: int

    @property
    def public(self) -> Hashable:
        return "coefficients", len(self.sums), self.unit, self.beta, self.prior, self.step, self.radius

    def exponent(self, chosen: tuple[int, ...]) -> Fraction:
        """E(k), exactly."""
        k = np.array(chosen, dtype=object)
        quadratic, linear = int(k @ self.gram @ k), int(k @ self.sums)
        data = self.beta * (self.step**2 * quadratic / 2 - self.step * linear) / self.unit
        return data + self.prior * self.step**2 * int(k @ k) / 2

    def draw(self, source: Randomness) -> tuple[int, ...]:
        if self._few:
            return self._listed(source)
        proposal = self._proposal
        while True:
            chosen = proposal.draw(source)
            if chosen is None or sum(each * each for each in chosen) > self.radius**2:
                continue
            excess = self.exponent(chosen) - proposal.exponent(chosen) + proposal.bound
            if under_exp(source.bits(64), 64, excess, source):
                return chosen

    def _listed(self, source: Randomness) -> tuple[int, ...]:
        """One of few points, by integer weights of at least 2**30 exp(-E) and an exact coin."""
        points, gaps, ends = self._list
        while True:
            place = source.below(int(ends[-1]))
            here = int(np.searchsorted(ends, place, side="right"))
            place -= int(ends[here - 1]) if here else 0
            if under_exp(place, _BITS, gaps[here], source):
                return points[here]

    @cached_property
    def _list(self) -> tuple[list[tuple[int, ...]], list[Fraction], NDArray[np.int64]]:
        """All points, how far each exponent is above the least, and the running total of the weights."""
        points = list(self.points())
        exponents = [self.exponent(point) for point in points]
        least = min(exponents)
        gaps = [exponent - least for exponent in exponents]
        return points, gaps, np.cumsum(_cells(np.array([float(gap) for gap in gaps])))

    @cached_property
    def _proposal(self) -> _Proposal:
        return _Proposal.of(self)

    # How likely ---------------------------------------------------------------------------------------

    def log_probability(self, output: tuple[int, ...]) -> Log:
        """Exact where the points are few; else between bounds that are far apart."""
        if sum(each * each for each in output) > self.radius**2:
            return NEVER
        mine = self.exponent(output)
        if self._few:
            points, gaps, _ = self._list
            return Log.ln(ONE / self._total, -gaps[points.index(output)])
        # E is at least -|linear part| radius, there are at most so many points, and one of them is this one
        least = -self.beta * self.step * _root(_squares(self.sums)) * self.radius / self.unit
        lowest = Log(least - mine) - Log.ln(Between.of((2 * self.radius + 1) ** len(output)))
        return Log(Fraction(0), Decimal(-ceil(-float(lowest)) - 1), Decimal(0))

    @cached_property
    def _total(self) -> Between:
        """The sum of all weights, that of the likeliest being 1."""
        total = ZERO
        for gap in self._list[1]:
            total = total + Between.exp(-gap)
        return total

    def loss(self, output: tuple[int, ...], other: Law[tuple[int, ...]]) -> Log:
        """Exact where the points are few; else between bounds, since the two normalisers are within e^D."""
        if self._few or not isinstance(other, Coefficients):
            return super().loss(output, other)
        quadratic = _root(_squares((self.gram - other.gram).ravel()))
        linear = _root(_squares(self.sums - other.sums))
        far = self.step * self.radius
        apart = self.beta * (far**2 * quadratic / 2 + far * linear) / self.unit
        slack = Decimal(ceil(float(apart) * (1 + 1e-9)) + 1)
        return Log(other.exponent(output) - self.exponent(output), -slack, slack)

    @property
    def _few(self) -> bool:
        return bool((2 * self.radius + 1) ** len(self.sums) <= ENUMERATED)

    def points(self) -> Iterator[tuple[int, ...]]:
        """All vectors that can be drawn."""
        along = range(-self.radius, self.radius + 1)
        for point in product(along, repeat=len(self.sums)):
            if sum(each * each for each in point) <= self.radius**2:
                yield point


class TailedCoefficients(Coefficients):
    """The same, in a ball so large that only a tail of the draw, which a delta covers, can lose more."""

    approximate: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class _Proposal:
    """Coordinates one after the other, each around a centre that the later ones fix; all in fractions.

    Coordinate i has precision `sharp[i]` / 2**_SHARP and centre (`centres[i]` - `factors[i]` . k) / 2**_FINE,
    where the factors of coordinates that are not later are 0. `most[i]` is what its weights are filled up to.
    """

    sharp: tuple[int, ...]
    centres: tuple[int, ...]
    factors: Whole
    most: tuple[int, ...]
    radius: int
    bound: Fraction

    @classmethod
    def of(cls, law: Coefficients) -> _Proposal:
        number, scale = len(law.sums), law.beta * law.step / law.unit
        quadratic = law.gram.astype(np.float64) * float(scale * law.step)
        quadratic += np.eye(number) * float(law.prior * law.step**2)
        linear = law.sums.astype(np.float64) * float(scale)
        steeper = _steeper(quadratic, linear, float(law.prior * law.step**2), law.radius)
        matrix = quadratic + steeper * np.eye(number)
        lower = _factor(matrix)
        means = np.linalg.solve(lower.T, np.linalg.solve(lower, linear))
        diagonal = np.diag(lower)
        upper = np.triu((lower / diagonal).T, 1)
        sharp = [max(1, round(Fraction(float(each) ** 2) * (1 << _SHARP))) for each in diagonal]
        factors = np.array(
            [[round(Fraction(float(each)) * (1 << _FINE)) for each in row] for row in upper], dtype=object
        ).reshape(number, number)
        centres = [round(Fraction(float(each)) * (1 << _FINE)) for each in means + upper @ means]
        most = tuple(_most(each, law.radius) for each in sharp)
        bound = _bound(law, Fraction(steeper), sharp, centres, factors)
        return cls(tuple(sharp), tuple(centres), factors, most, law.radius, bound)

    def exponent(self, chosen: tuple[int, ...]) -> Fraction:
        """Q(k), exactly."""
        k = np.array(chosen, dtype=object)
        off = (k << _FINE) - np.array(self.centres, dtype=object) + self.factors @ k
        total = sum(sharp * each * each for sharp, each in zip(self.sharp, off.tolist(), strict=True))
        return Fraction(int(total), 1 << (_SHARP + 2 * _FINE + 1))

    def draw(self, source: Randomness) -> tuple[int, ...] | None:
        """One vector with weight exp(-Q), or None."""
        chosen = np.zeros(len(self.sharp), dtype=object)
        for place in reversed(range(len(self.sharp))):
            centre = self.centres[place] - int(self.factors[place] @ chosen)
            found = _coordinate(self.sharp[place], centre, self.most[place], self.radius, source)
            if found is None:
                return None
            chosen[place] = found
        return tuple(chosen.tolist())


def _coordinate(sharp: int, centre: int, most: int, radius: int, source: Randomness) -> int | None:
    """A whole number j with probability 2**30 exp(-x_j) / most, x_j = a (j - c)^2 / 2; or None."""
    a, block, blocks = _blocks(sharp)
    nearest = (centre + (1 << (_FINE - 1))) >> _FINE
    aside = (centre - (nearest << _FINE)) * 2.0**-_FINE
    begins = 1.0 + block * np.arange(blocks)
    both = np.stack([begins - aside, begins + aside])
    cells = _cells(a * both * both / 2)
    middle = int(_cells(np.array([a * aside * aside / 2]))[0])
    reach = blocks * block
    right = radius - max(nearest + reach, -radius - 1)
    left = max(0, min(nearest - reach, radius + 1) + radius)
    place = source.below(most)
    if place < middle:
        return _kept(nearest, place, sharp, centre, source)
    place -= middle
    ends = np.cumsum(cells.ravel() * block)
    if place < int(ends[-1]):
        here = int(np.searchsorted(ends, place, side="right"))
        place -= int(ends[here - 1]) if here else 0
        side, along = divmod(here, blocks)
        step, u = divmod(place, int(cells[side, along]))
        away = 1 + along * block + step
        return _kept(nearest + (away if side == 0 else -away), u, sharp, centre, source)
    place -= int(ends[-1])
    if place < max(0, right):
        return _kept(radius - place, 0, sharp, centre, source)
    place -= max(0, right)
    return _kept(place - radius, 0, sharp, centre, source) if place < left else None


def _kept(value: int, u: int, sharp: int, centre: int, source: Randomness) -> int | None:
    """The value, where a uniform point whose first digits are u lies below exp(-x)."""
    off = (value << _FINE) - centre
    x = Fraction(sharp * off * off, 1 << (_SHARP + 2 * _FINE + 1))
    return value if under_exp(u, _BITS, x, source) else None


def _blocks(sharp: int) -> tuple[float, int, int]:
    """The precision as a double, how many numbers share a weight, and how many blocks there are a side."""
    a = sharp * 2.0**-_SHARP
    deviation = 1 / sqrt(a)
    block = max(1, int(deviation / _PER_DEVIATION))
    return a, block, ceil(sqrt(2 * _NEAR / a) / block) + 2


def _cells(exponents: Reals) -> NDArray[np.int64]:
    """Whole numbers of at least 2**30 exp(-x)."""
    return np.floor(np.exp(-exponents) * (_MARGIN * (1 << _BITS))).astype(np.int64) + 1


def _most(sharp: int, radius: int) -> int:
    """What the weights of a coordinate can add up to, whatever its centre.

    Where every number has its own weight, the sum of exp(-a (j - c)^2 / 2) over all j is largest for whole c
    (Poisson's formula has positive terms). Where blocks share one, it is at most the integral and a block for
    each side.
    """
    a, block, blocks = _blocks(sharp)
    if block == 1:
        away = np.arange(1, blocks + 2, dtype=np.float64)
        share = 1 + 2 * float(np.exp(-a * away * away / 2).sum())
    else:
        share = 1 + 2 * block + sqrt(2 * pi / a)
    numbers = 2 * blocks * block + 1
    return ceil(share * _MARGIN * _MARGIN * (1 << _BITS)) + numbers + 2 * radius + 8


def _factor(matrix: Reals) -> Reals:
    """A triangular factor of the matrix, or of one a rounding away from it where that has none in doubles.

    How far that is, is part of the bound, so any factor is right.
    """
    added, scale = 0.0, float(np.trace(matrix))
    while True:
        try:
            return np.asarray(np.linalg.cholesky(matrix + added * np.eye(len(matrix))), dtype=np.float64)
        except np.linalg.LinAlgError:
            added = max(2 * added, 1e-15 * scale)


def _steeper(quadratic: Reals, linear: Reals, flattest: float, radius: int) -> float:
    """A mu for which the squared length of the proposal is about what the ball allows; 0 if it is anyway."""
    values, vectors = np.linalg.eigh(quadratic)
    values, along = np.maximum(values, flattest), (vectors.T @ linear) ** 2

    def length(mu: float) -> float:
        return float((along / (values + mu) ** 2 + 1 / (values + mu)).sum())

    wanted = float(radius) ** 2
    if length(0.0) <= wanted:
        return 0.0
    low, high = 0.0, float(values.max()) + 1.0
    while length(high) > wanted:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if length(middle) > wanted else (low, middle)
    return high


def _bound(
    law: Coefficients, steeper: Fraction, sharp: list[int], centres: list[int], factors: Whole
) -> Fraction:
    """A C with E(k) - Q(k) + C >= 0 for every k of the ball, from the true form and the rounded one.

    Q is k'Ak/2 - k'c + q. With R = P + mu I - A and r the difference of the linear parts,
    E - Q = -mu |k|^2 / 2 + k'Rk / 2 - r'k - q, and |k'Rk| <= |R| radius^2, |r'k| <= |r| radius.
    """
    number = len(sharp)
    rows = factors + np.array([[int(i == j) << _FINE for j in range(number)] for i in range(number)], object)
    weighted = rows * np.array(sharp, dtype=object)[:, None]
    made = rows.T @ weighted  # in units of 2**-(_SHARP + 2 _FINE)
    pulled = np.array(centres, dtype=object) @ weighted
    constant = sum(one * each * each for one, each in zip(sharp, centres, strict=True))
    unit = Fraction(1, 1 << (_SHARP + 2 * _FINE))
    scale = law.beta * law.step / law.unit
    flat = Fraction(law.prior * law.step**2) + steeper
    off = Fraction(0)
    for i in range(number):
        for j in range(number):
            true = scale * law.step * int(law.gram[i, j]) + (flat if i == j else 0)
            off += (true - int(made[i, j]) * unit) ** 2
    aside = sum(((scale * int(law.sums[i]) - int(pulled[i]) * unit) ** 2 for i in range(number)), Fraction(0))
    far = law.radius
    return steeper * far**2 / 2 + _root(off) * far**2 / 2 + _root(aside) * far + int(constant) * unit / 2


def _squares(values: Whole) -> Fraction:
    return Fraction(sum(int(each) ** 2 for each in values.tolist()))


def _root(square: Fraction, bits: int = 80) -> Fraction:
    """A fraction that is not below the square root."""
    return Fraction(isqrt((square.numerator << (2 * bits)) // square.denominator) + 1, 1 << bits)
