"""Exact binomial numbers, by inversion, for chances that are known as closely as a comparison needs.

The cut points of a binomial distribution are sums of products of the chance, which may be made of exp(-x) and
then is no fraction. All of them are bracketed by integers; a uniform number is uncovered bit by bit until
it lies certainly between two cut points, so that nothing is decided by rounding (see `inversion`).
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.privacy.randomness.generator import Randomness

Bracket = Callable[[int], tuple[int, int]]
"""bits -> integers low <= 2**bits * chance <= high, a few units apart."""

_WORD = 64


def binomial(trials: int, chance: Bracket, source: Randomness) -> int:
    """How many of so many independent coins show heads, each with a chance of at most one half.

    The time grows with the number of heads, not with that of the coins.

    >>> third = lambda bits: ((1 << bits) // 3, (1 << bits) // 3 + 1)
    >>> 100 < binomial(600, third, Randomness.seeded(1)) < 300
    True
    """
    if trials < 0:
        raise ValueError(f"there are at least 0 coins to flip, not {trials}")
    if trials == 0:
        return 0
    expected = trials * chance(_WORD)[1] >> _WORD
    u, bits = source.bits(_WORD), _WORD
    while True:
        found = _rank(u, bits, trials, chance, spare=_WORD + 3 * (expected + 1))
        if found is not None:
            return found
        u, bits = u << _WORD | source.bits(_WORD), bits + _WORD


def _rank(u: int, bits: int, trials: int, chance: Bracket, spare: int) -> int | None:
    """The number of heads whose share of [0, 1) holds all numbers that begin with the bits u, if one does.

    No heads at all have a chance of (1 - p)**trials, which `spare` bits keep apart from 0. Each further
    number has (trials - j) / (j + 1) * p / (1 - p) times the chance of the one before it.
    """
    work = bits + spare
    one = 1 << work
    p_low, p_high = chance(work)
    q_low, q_high = one - p_high, one - p_low
    low, high = _power(q_low, trials, work, up=0), _power(q_high, trials, work, up=1)
    begin, end = u << spare, (u + 1) << spare
    below_low = below_high = 0
    for heads in range(trials):
        below_low, below_high = below_low + low, below_high + high
        if end <= below_low:
            return heads
        if begin < below_high:
            return None
        low = low * (trials - heads) * p_low // ((heads + 1) * q_high)
        high = high * (trials - heads) * p_high // ((heads + 1) * q_low) + 1
    return trials


def _power(base: int, exponent: int, work: int, up: int) -> int:
    """base**exponent in units of 2**-work, every product rounded down, or up."""
    result = 1 << work
    while exponent:
        if exponent & 1:
            result = (result * base >> work) + up
        base = (base * base >> work) + up
        exponent >>= 1
    return result
