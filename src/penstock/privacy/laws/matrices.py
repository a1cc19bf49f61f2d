"""Noise around a symmetric matrix: the difference of two Wishart matrices.

What one record adds to a matrix of products is v v' for a vector v of length at most sqrt(t). Noise that
protects every entry by itself must allow for any change of that size; but v v' is of rank one, and of the
changes that are not, nobody has to be hidden.

**Theorem.** Let W and W' be independent with density in proportion to exp(-rate trace W) on the positive
semidefinite matrices, and 0 elsewhere. Then A + W - W' is (rate t)-DP where neighbours A differ by a
symmetric matrix whose absolute eigenvalues add up to t at most.

Proof. Let f be that density and P positive semidefinite. f(W + P) = exp(-rate trace P) f(W) wherever f(W) is
not 0. The density of W - W' at Z is g(Z) = the integral of f(Z + W') f(W') over W', and
g(Z + P) >= the integral of f(Z + W' + P) f(W') where f(Z + W') > 0, which is exp(-rate trace P) g(Z). Since
g(-Z) = g(Z), also g(Z - P) >= exp(-rate trace P) g(Z). A symmetric change is P - N, of its eigenvalues above
and below zero, and trace P + trace N <= t. For matrices of one entry this is the Laplace mechanism, as the
difference of two exponential variables.

W is a Wishart matrix of D + 1 degrees of freedom for D rows: G G' / (2 rate), G of D rows and D + 1 columns
of independent standard normal numbers. An entry off the diagonal of the noise has the variance
(D + 1) / (2 rate**2), one on it twice that. With t the square of the length of v, and all of its coordinates
about as large, the deviation of a product of two coordinates grows with D**1.5; with Laplace noise on each of
the products it grows with D**2.

**No real number can be held, and what is computed is off.** Both are paid for. Of every entry of G the cell
of a lattice is drawn exactly (`randomness.normals`), so fine that the noise computed from the middles of
these cells, by whole numbers, is less than 1/2 from the exact noise in every entry, for any G: where it is
not, all cells are drawn finer. A + W - W' rounded to whole numbers is private by the theorem, and tells
nothing of the cells. What is computed differs from it by at most 1 in each of the D (D + 1) / 2 entries,
whatever A is, so that the same discrete Laplace noise around either differs by a factor of exp(1 / cover) an
entry. That is once for each of two neighbours: D (D + 1) / cover in all.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.laws.additive import LaplaceAround, exact_sum
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Log
from penstock.privacy.randomness.normals import Normals, normals
from penstock.privacy.randomness.samplers import Integers

_LIMB: Final = 18  # binary digits of factors whose products doubles add up exactly, 2**17 of them
_SPARE: Final = 8  # of a cell, so that cells must hardly ever be drawn finer
_MORE: Final = 16
_CLOSE: Final = 1e-9  # of the largest eigenvalue: what doubles are off by, and more


@dataclass(frozen=True, eq=False)
class MatrixAround(Law[Integers]):
    """A symmetric matrix of whole numbers, plus the difference of two Wishart matrices.

    Of the matrix the upper triangle counts: what is drawn is symmetric, whatever is below it.
    `rate` is the cost of a change for each unit of its absolute eigenvalues, `cover` the scale of the
    discrete Laplace noise that hides what the computation of the noise is off by (see the module).

    >>> drawn = MatrixAround(np.zeros((3, 3), np.int64), Fraction(1, 1000), Fraction(10))
    >>> drawn.loss(np.zeros((3, 3), np.int64), MatrixAround(np.eye(3, dtype=np.int64), *drawn.scales)).exact
    Fraction(1203, 1000)
    """

    values: Integers
    rate: Fraction
    cover: Fraction

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        return self.rate, self.cover

    @property
    def public(self) -> Hashable:
        return "difference of Wishart matrices", self.values.shape, self.rate, self.cover

    def draw(self, source: Randomness) -> Integers:
        size = len(self.values)
        upper = np.triu_indices(size)
        computed = exact_sum(self.values[upper], between_wisharts(size, self.rate, source)[upper])
        told = LaplaceAround(computed, self.cover).draw(source)
        matrix = np.zeros(self.values.shape, dtype=told.dtype)
        matrix[upper] = matrix.T[upper] = told
        return matrix

    def log_probability(self, output: Integers) -> Log:
        """Of no output anything is known but that it can come: the density is an integral over matrices."""
        return Log(Fraction(0), Decimal("-Infinity"), Decimal(0))

    def loss(self, output: Integers, other: Law[Integers]) -> Log:
        """The bound of the theorem, which holds for every output, and what `cover` costs; none if equal."""
        assert isinstance(other, MatrixAround)
        upper = np.triu(self.values.astype(object) - other.values.astype(object))
        change = upper + np.triu(upper, 1).T  # what is drawn is around the upper triangle
        if not change.any():
            return Log()
        entries = len(change) * (len(change) + 1) // 2
        return Log(self.rate * absolute_trace(change) + 2 * entries / self.cover)


def absolute_trace(change: Integers) -> Fraction:
    """The sum of the absolute eigenvalues of a symmetric matrix: exact where these have one sign.

    Else to twelve digits or so, by doubles.

    >>> absolute_trace(np.array([[1, 2], [2, 4]])), float(absolute_trace(np.array([[0, 1], [1, 0]])))
    (Fraction(5, 1), 2.0)
    """
    trace = int(np.trace(change))
    values = np.linalg.eigvalsh(change.astype(np.float64))
    against = values[(values < 0) if trace >= 0 else (values > 0)]
    beyond = np.abs(against[np.abs(against) > _CLOSE * np.abs(values).max(initial=0.0)]).sum()
    return abs(trace) + 2 * Fraction(float(beyond))


def between_wisharts(size: int, rate: Fraction, source: Randomness) -> Integers:
    """W - W' of the module's text, rounded to whole numbers, each at most 1 from the exact one rounded.

    G is held by the middles m of cells, in steps h of half a cell, so that |G - m h| <= h. An entry of G G'
    is then off by no more than h^2 times the sums of |m| of two rows and the number of columns.
    """
    bits = max(1, (int(size / rate) + 1).bit_length() + _SPARE)
    pair = [normals(size * (size + 1), bits, source) for _ in range(2)]
    while sum(_off_by(one, size, rate) for one in pair) >= Fraction(1, 2):
        pair = [one.finer(_MORE, source) for one in pair]
    first, second = (squared(one.middles.reshape(size, size + 1)) for one in pair)
    step = _factor(pair[0], rate)
    above, below = step.numerator, step.denominator
    rounded = (2 * (first - second) * above + below) // (2 * below)
    return np.asarray(rounded, dtype=object)


def _factor(drawn: Normals, rate: Fraction) -> Fraction:
    """What a product of two middles stands for."""
    return 1 / (2 * rate) / (1 << 2 * (drawn.bits + 1))


def _off_by(drawn: Normals, size: int, rate: Fraction) -> Fraction:
    sums = np.abs(drawn.middles).reshape(size, size + 1).sum(axis=1)
    return _factor(drawn, rate) * (2 * int(sums.max()) + size + 1)


def squared(matrix: NDArray[Any]) -> NDArray[Any]:
    """M M' of whole numbers of any size, exactly: digits are multiplied by doubles that cannot round.

    >>> squared(np.array([[10**20, -1], [3, 4]], dtype=object)).tolist()
    [[10000000000000000000000000000000000000001, 299999999999999999996], [299999999999999999996, 25]]
    """
    sign, left, limbs = np.sign(matrix), np.abs(matrix), []
    while left.any():
        digits = np.asarray(left & ((1 << _LIMB) - 1))
        limbs.append((sign * digits).astype(np.float64))
        left = left >> _LIMB
    total = np.zeros((len(matrix), len(matrix)), dtype=object)
    for place, one in enumerate(limbs):
        for other, two in enumerate(limbs[: place + 1]):
            product = (one @ two.T).astype(np.int64).astype(object)
            both = product if other == place else product + product.T
            total += both << (_LIMB * (place + other))
    return total
