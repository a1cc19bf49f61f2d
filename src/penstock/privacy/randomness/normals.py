"""Standard normal numbers as cells of a lattice: exact draws of where a real number lies.

A normal number is real and cannot be held. Which cell of a lattice of step h = 2**-bits it falls into can be
drawn exactly, by whole numbers alone, and drawn again more finely for as long as somebody needs to know more.

Of the absolute value |z| = (k + u) h, with a whole k and u in [0, 1), the density is in proportion to
exp(-z**2 / 2). A cell is proposed with weight exp(-k h), which is geometric, and u uniformly. It is kept with
probability exp(-x), x = (k + u)**2 h**2 / 2 - k h + 1/2 = ((k - 1/h)**2 + 2 k u + u**2) h**2 / 2: what is
left of the weight is exp(-z**2 / 2) times a constant. To keep it with that probability, an exponential
variable must exceed x. In units of h**2 / 2 its whole part is geometric, and decides nearly always, because u
moves x by no more than 2 k + 1 such units; where it does not, u and the exponential variable are uncovered
binary digit by digit, until they differ. Digits of a geometric variable are independent (`samplers`).

To know more of a cell, one of its parts is proposed with equal weights, and kept in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers, geometric, uniform

_WORD: Final = 64

Wide = NDArray[Any]
"""Python's integers in an object array."""


@dataclass(frozen=True, eq=False)
class Normals:
    """Independent standard normal numbers, each known to lie in a cell.

    Number i has the sign `signs[i]`, and its absolute value is between `cells[i]` and `cells[i]` + 1 steps of
    2**-bits.
    """

    signs: Wide
    cells: Wide
    bits: int

    @property
    def middles(self) -> Wide:
        """The middle of every cell, in steps of 2**-(bits + 1); a number is at most one step from it."""
        return np.asarray(self.signs * (2 * self.cells + 1))

    def finer(self, more: int, source: Randomness) -> Normals:
        """The same numbers, in cells of which each of these holds 2**more."""
        first = self.cells << more
        cells, bits = first.copy(), self.bits + more
        missing = np.arange(cells.size)
        while missing.size:
            begin = first[missing]
            parts = begin + _wide(uniform(1 << more, missing.size, source))
            kept = _outlived(parts**2 - begin**2, parts, bits, source)
            cells[missing[kept]] = parts[kept]
            missing = missing[~kept]
        return Normals(self.signs, cells, bits)


def normals(count: int, bits: int, source: Randomness) -> Normals:
    """So many standard normal numbers, each in a cell of width 2**-bits.

    >>> drawn = normals(1000, 20, Randomness.seeded(1))
    >>> abs(sum(abs(middle) < 2**21 for middle in drawn.middles) - 683) < 60  # about two thirds are below 1
    True
    """
    cells = np.zeros(count, dtype=object)
    missing = np.arange(count)
    one = 1 << bits
    while missing.size:
        proposed = _wide(geometric(Fraction(1, one), missing.size, source))
        kept = _outlived((proposed - one) ** 2, proposed, bits, source)
        cells[missing[kept]] = proposed[kept]
        missing = missing[~kept]
    return Normals(1 - 2 * _wide(uniform(2, count, source)), cells, bits)


def _outlived(least: Wide, cells: Wide, bits: int, source: Randomness) -> NDArray[np.bool_]:
    """For each cell k whether an exponential variable exceeds (least + 2 k u + u**2) / 2**(2 bits + 1).

    Every u is uniform on [0, 1), and independent of everything else.
    """
    rate = Fraction(1, 1 << (2 * bits + 1))
    ages = _wide(geometric(rate, cells.size, source))
    beyond = ages - least
    kept = np.asarray(beyond > 2 * cells, dtype=np.bool_)  # 2 k u + u**2 is below 2 k + 1
    for place in np.flatnonzero((beyond >= 0) & ~kept):
        kept[place] = _exceeds(int(beyond[place]), int(cells[place]), rate, source)
    return kept


def _exceeds(whole: int, cell: int, rate: Fraction, source: Randomness) -> bool:
    """Whether whole + r exceeds 2 k u + u**2, uncovering the digits of u and r until that is certain.

    r is what is left of an exponential variable of this rate beyond its whole part.
    """
    u = rest = bits = 0
    while True:
        bits += _WORD
        u = u << _WORD | source.bits(_WORD)
        digits = int(geometric(rate / (1 << bits), 1, source)[0]) % (1 << _WORD)
        rest = rest << _WORD | digits
        age = (whole << bits) + rest
        if age >= 2 * cell * (u + 1) + ((u + 1) ** 2 >> bits) + 1:
            return True
        if age + 1 <= 2 * cell * u + (u**2 >> bits):
            return False


def _wide(numbers: Integers) -> Wide:
    return numbers.astype(object)
