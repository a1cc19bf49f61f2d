"""Exact random variables, many at a time, from fair bits and integer arithmetic.

Nothing here touches private data; the mechanisms in `noise`, `choice` and `response` do. Every draw has
exactly the stated distribution for rational parameters of any size: the coins are decided by `inversion`, and
no floating-point number takes part in a decision.

Two facts about a geometric variable G with P(G >= k) = exp(-x k) carry the whole module:

* Its digits in any base are independent. With G = V b + D and 0 <= D < b, the event {V = v, D = d} has
  probability proportional to exp(-x b v) exp(-x d), a product: V is geometric with rate x b, and D is a digit
  with weights exp(-x d). A huge scale is therefore a handful of small tables.
* A coin that shows heads with probability exp(-x k) is the event {G >= k}. A million coins with a million
  different k are a million draws from one table, and one comparison.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.inversion import FEW, Inversion, coin, digit, exp_bracket, exp_floor, leading

Integers = NDArray[Any]
"""int64, or Python integers in an object array where 64 bits could overflow."""

_SAFE: Final = 1 << 62
_CELL_BITS: Final = 30
_SMALL: Final = 16  # bases of digits
_LARGE: Final = 4096


def bernoulli(probability: Fraction, count: int, source: Randomness) -> NDArray[np.bool_]:
    """Coins that show heads (True) with a rational probability."""
    if not 0 <= probability <= 1:
        raise ValueError(f"a probability lies between 0 and 1, not at {probability}")
    heads: NDArray[np.bool_] = _rational_coin(probability).draw(source, count) == 1
    return heads


def bernoulli_exp_each(multiples: Integers, rate: Fraction, source: Randomness) -> NDArray[np.bool_]:
    """One coin for each k of `multiples` (integers >= 0), heads with probability exp(-rate k)."""
    if rate == 0:
        return np.ones(multiples.shape, dtype=np.bool_)
    heads: NDArray[np.bool_] = geometric(rate, multiples.size, source).reshape(multiples.shape) >= multiples
    return heads


def uniform(bound: int, count: int, source: Randomness) -> Integers:
    """Integers uniform on 0 ... bound - 1, by rejection."""
    if bound < 1:
        raise ValueError(f"there is no integer below {bound} to draw; the bound must be at least 1")
    if bound > _SAFE:
        return np.array([source.below(bound) for _ in range(count)], dtype=object)
    small = bound <= 1 << 32
    drawn = np.empty(count, dtype=np.int64)
    missing = np.arange(count)
    while missing.size:
        if small:
            # The high half of (word * bound) is uniform once the words whose low half is one of the first
            # 2**32 mod bound values are thrown away: every result then keeps the same number of words.
            product = source.halves(missing.size).astype(np.uint64) * bound
            value = product >> 32
            kept = (product & 0xFFFFFFFF) >= (1 << 32) % bound
        else:
            value = source.words(missing.size) & ((1 << (bound - 1).bit_length()) - 1)
            kept = value < bound
        drawn[missing[kept]] = value[kept].astype(np.int64)
        missing = missing[~kept]
    return drawn


def geometric(rate: Fraction, count: int, source: Randomness) -> Integers:
    """Geometric variables on 0, 1, 2, ... with P(G >= k) = exp(-rate k), rate > 0 (see the module's text)."""
    if rate <= 0:
        raise ValueError(f"the rate of a geometric variable must be greater than 0, not {rate}")
    # Few draws: small digits, whose tables are quick to make. Many draws: large digits, fewer look-ups.
    base = _SMALL if count < FEW else _LARGE
    first, cap, digits = _places(rate, base)
    value: Integers = first.draw(source, count)
    (beyond,) = np.nonzero(value == cap)
    while beyond.size:
        # Who falls off the end of the table starts again from there: a geometric variable has no memory.
        more = first.draw(source, beyond.size)
        value[beyond] += more
        beyond = beyond[more == cap]
    if digits and (int(value.max(initial=0)) + 1) * base ** len(digits) > _SAFE:
        value = value.astype(object)
    for place in digits:
        value = value * base + place.draw(source, count)
    return value


@lru_cache(maxsize=64)
def _places(rate: Fraction, base: int) -> tuple[Inversion, int, list[Inversion]]:
    """The leading place of a geometric variable, where its table ends, and the digits after it."""
    digits: list[Inversion] = []
    smallest = Fraction(1, 8) if base == _SMALL else Fraction(1, 256)
    while rate < smallest:
        digits.insert(0, digit(rate, base))
        rate *= base
    cap = int(20 / rate) + 1
    return leading(rate, cap), cap, digits


def discrete_laplace(scale: Fraction, count: int, source: Randomness) -> Integers:
    """Integers Z with P(Z = z) proportional to exp(-|z| / scale).

    The difference of two independent geometric variables of rate 1/scale has this law: summing
    exp(-(g + |z| + g)/scale) over g leaves exp(-|z|/scale) times a constant.
    """
    if scale <= 0:
        raise ValueError(f"the scale of discrete Laplace noise must be greater than 0, not {scale}")
    pairs = geometric(1 / scale, 2 * count, source)
    difference: Integers = pairs[:count] - pairs[count:]
    return difference


def discrete_gaussian(sigma_squared: Fraction, count: int, source: Randomness) -> Integers:
    """Integers Z with P(Z = z) proportional to exp(-z**2 / (2 sigma_squared)).

    Rejection from discrete Laplace (Canonne, Kamath and Steinke 2020), arranged so that the coin has an
    integer multiple in its exponent. With s = sigma_squared and any c > 0, completing the square gives
    exp(-|y| c/s) exp(-(|y| - c)**2 / (2 s)) = exp(-y**2 / (2 s)) exp(-c**2 / (2 s)). So draw y with scale s/c
    and keep it with probability exp(-(|y| - c)**2 / (2 s)). We take c close to sigma, where most proposals
    are kept: a whole number, or 1/2**j when sigma is below 1.
    """
    if sigma_squared <= 0:
        raise ValueError(f"the parameter sigma_squared must be greater than 0, not {sigma_squared}")
    whole = isqrt(int(sigma_squared))
    parts = 1  # c = centre / parts
    while whole == 0 and sigma_squared * parts**2 < 1:
        parts *= 2
    centre = max(1, whole)
    rate = 1 / (2 * sigma_squared * parts**2)
    drawn = np.zeros(count, dtype=np.int64)
    missing = np.arange(count)
    while missing.size:
        y = discrete_laplace(sigma_squared * parts / centre, missing.size, source)
        distance = np.abs(y)
        if (int(distance.max()) + 1) * parts + centre >= 1 << 31:
            distance = distance.astype(object)
        kept = bernoulli_exp_each((distance * parts - centre) ** 2, rate, source)
        if y.dtype == object:
            drawn = drawn.astype(object)
        drawn[missing[kept]] = y[kept]
        missing = missing[~kept]
    return drawn


def permutation(count: int, source: Randomness) -> NDArray[np.int64]:
    """0 ... count - 1 in an order uniform among all orders.

    The order of independent random keys; all keys are drawn again when two agree, for given that they differ
    every order is equally likely by symmetry.
    """
    while True:
        keys = source.words(count)
        order = np.argsort(keys, kind="stable")
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64, copy=False)


def tilted(gaps: Integers, rate: Fraction, weights: Integers | None, source: Randomness) -> int:
    """One index i, drawn with probability proportional to weights[i] * exp(-rate * gaps[i]).

    Rejection with a close envelope. Every factor exp(-rate gap) is bounded above by an integer number of
    cells of width 2**-30 (narrower where a small weight at gap 0 would drown in large ones far off). Index
    and cell are drawn exactly by integer weights, and the cell is kept when a uniform point in it lies under
    the true factor, decided lazily to as many digits as needed. A second try is hardly ever needed.
    """
    each: Integers = np.ones(gaps.size, dtype=np.int64) if weights is None else weights
    everything, best = int(_running_total(each)[-1]), int(each[gaps == 0].sum(dtype=object))
    bits = max(_CELL_BITS, (everything // max(1, best)).bit_length() + 12)
    cells = tilted_cells(gaps, rate, bits)
    if everything >= 1 << 32 or cells.dtype == object:
        each, cells = each.astype(object), cells.astype(object)
    bounds = _running_total(cells * each)
    while True:
        place = source.below(int(bounds[-1]))
        index = int(np.searchsorted(bounds, place, side="right"))
        below = int(bounds[index - 1]) if index else 0
        if under_exp((place - below) // int(each[index]), bits, rate * int(gaps[index]), source):
            return index


def under_exp(u: int, bits: int, x: Fraction, source: Randomness) -> bool:
    """Whether a uniform point whose first `bits` binary digits are u lies below exp(-x)."""
    while u == (edge := exp_floor(x, bits)):
        u, bits = u << 64 | source.bits(64), bits + 64
    return u < edge


def tilted_cells(gaps: Integers, rate: Fraction, bits: int) -> Integers:
    """Integers at least 2**bits * exp(-rate * gap), and only a little more; at least 1."""
    farthest = min(int(Fraction(7, 10) * bits / rate) + 1, _SAFE) if rate else 0  # exp(-0.7) < 1/2
    left = np.minimum(gaps, farthest).astype(np.uint64)
    base = _SMALL if gaps.size < FEW else _LARGE
    cells: Integers = np.full(gaps.shape, 1 << bits, dtype=np.uint64 if bits <= _CELL_BITS else object)
    while farthest:
        table = _powers(rate, min(base, farthest + 1), bits)
        # A product of upper bounds is an upper bound, and it is rounded up again.
        cells = (cells * table[left % base] + ((1 << bits) - 1)) >> bits
        left, farthest, rate = left // base, farthest // base, rate * base
    return cells.astype(np.int64) if cells.dtype == np.uint64 else cells


@lru_cache(maxsize=256)
def _powers(rate: Fraction, size: int, bits: int) -> Integers:
    """Upper bounds of 2**bits * exp(-rate * k) for k = 0 ... size - 1."""
    spare = 64
    step = exp_bracket(rate, bits + spare)[1]
    bound = 1 << (bits + spare)
    table = []
    for _ in range(size):
        table.append((bound >> spare) + (bound & ((1 << spare) - 1) > 0))
        bound = (bound * step >> (bits + spare)) + 1
    return np.array(table, dtype=np.uint64 if bits <= _CELL_BITS else object)


def _running_total(weights: Integers) -> Integers:
    if not weights.size or np.any(weights < 0) or not np.any(weights > 0):
        raise ValueError("weights must not be negative, and one of them must be greater than 0")
    if int(weights.max()) * weights.size > _SAFE:
        weights = weights.astype(object)
    total: Integers = np.cumsum(weights)
    return total


@lru_cache(maxsize=256)
def _rational_coin(probability: Fraction) -> Inversion:
    return coin(lambda bits: (probability.numerator << bits) // probability.denominator)
