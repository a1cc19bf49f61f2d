"""How well a histogram classifier can be expected to do: the score of a grid, and how far a record moves it.

The classifier answers with the label that has the largest *noisy* count of a cell. Its quality is how many
records it can be expected to get right. With two labels, of which the larger count leads by x, noise puts the
other one in front with a probability of a^x (b + c x), where a = exp(-epsilon) and b and c belong to the
noise (`flipping`). So a cell has the quality n1 - g(x), where n1 is its larger count and

    g(x) = x a^x (b + c x)

is what noise costs. With more labels the two largest counts stand for all (equation 3.8 of the reference).

*How far one record moves it.* One cell changes. If the record joins the leading label, x rises to at least
one and the quality by 1 + g(x-1) - g(x); if it joins the second one, by g(x) - g(x-1); a record of another
label changes nothing, and one that is level with the second counts as the second. With D the largest of
g(x-1) - g(x) over x = 1, 2, ..., and because g rises by no more than 1/2 from one x to the next, the change
lies in [-D, 1 + D]. D is below 0.0890 for every epsilon; its place is a root of a quadratic equation, since
g(x-1) - g(x) is a^x times a quadratic function of x. Lemma 1 of the reference calls 1 + D the sensitivity and
rounds it up to 1.1; the exponential mechanism only needs the *range* of the changes, 1 + 2D.

*On a lattice.* Scores are whole numbers of steps, `STEPS` to a record: g is rounded to steps once for each x,
so g(x-1) - g(x) may come out larger by one step, and by what floating point errs in g. Both are part of the
stated bound.

Reference: D. Su, J. Cao, N. Li and M. Lyu, "PrivPfC: differentially private data publication for
classification" (VLDB Journal 2018), and chapter 3 of Su's dissertation. Its equation 3.1, which takes all
labels instead of two, moves by more than 1.1 from three labels on, so nothing may be chosen by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, expm1, floor, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.seals.sensitivity import Sensitivity

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
Noise = Literal["geometric", "laplace"]
Calibration = Literal["range", "lemma1", "fixed"]

STEPS = 1 << 20
LONGEST_TABLE = 1 << 16
"""g is looked up for so many leads; where noise is larger than that, it is computed."""
FIXED = Fraction(11, 10)
"""The bound that is published."""
SUPREMUM = exp(-(1 + sqrt(3))) * ((1 + sqrt(3)) ** 2 - 2) / 4
"""What D tends to where epsilon does to 0, and is below everywhere: 0.0889."""
_SMALL = 1e-3
"""Below such an epsilon D is the supremum, as far as six digits tell, and doubles would blur it."""
_RELATIVE = 2.0**-48
"""More than doubles err in g, as a share of its largest value."""


def flipping(epsilon: float, noise: Noise) -> tuple[float, float]:
    """b and c: noise makes up for a lead of x with a probability of exp(-epsilon x) (b + c x).

    Of two numbers with independent noise, ties broken by a fair coin. For Laplace noise b = 1/2 and
    c = epsilon/4; for two-sided geometric noise they follow from summing the probabilities of differences.
    """
    if noise == "laplace":
        return 0.5, epsilon / 4
    a, rest = exp(-epsilon), -expm1(-epsilon)
    level = (1 + a * a) / (rest * (1 + a))
    share = (rest / (1 + a)) ** 2
    slope = share * (a / rest + 0.5)
    return share * (a * (1 + level) / rest + (a / rest) ** 2 + level / 2), slope


@dataclass(frozen=True)
class Quality:
    """The score of a histogram whose counts get noise of this epsilon, for one record.

    >>> quality = Quality(Fraction(6, 10), "laplace")
    >>> [round(quality.cost(x), 6) for x in (0, 3)]
    [0.0, 0.471102]
    """

    epsilon: Fraction
    noise: Noise = "geometric"

    @cached_property
    def _law(self) -> tuple[float, float, float]:
        epsilon = float(self.epsilon)
        return (epsilon, *flipping(epsilon, self.noise))

    def flips(self, lead: float) -> float:
        """How likely noise makes up for a lead."""
        epsilon, b, c = self._law
        return exp(-epsilon * lead) * (b + c * lead)

    def cost(self, lead: float) -> float:
        """g: how many records of a cell noise is expected to cost."""
        return lead * self.flips(lead)

    def steps(self, leads: Counts) -> Counts:
        """g of many leads, in whole steps."""
        if self._nothing > LONGEST_TABLE:
            return self._rounded(leads)
        return self._known[np.minimum(leads, len(self._known) - 1)]

    def _rounded(self, leads: Counts) -> Counts:
        epsilon, b, c = self._law
        lead = leads.astype(np.float64)
        return np.rint(STEPS * lead * np.exp(-epsilon * lead) * (b + c * lead)).astype(np.int64)

    @cached_property
    def _nothing(self) -> float:
        """A lead from which on g rounds to nothing: it is at most x exp(-epsilon x) (1 + epsilon x)."""
        return 64 / self._law[0]

    @cached_property
    def _known(self) -> Counts:
        """g of every lead up to one at which it rounds to nothing, as it does for all larger ones."""
        return self._rounded(np.arange(ceil(self._nothing) + 1))

    def of(self, tables: Counts) -> Counts:
        """The quality of every cell, in steps; a row for each cell and a column for each label."""
        if tables.shape[1] == 2:
            first, second = np.maximum(tables[:, 0], tables[:, 1]), np.minimum(tables[:, 0], tables[:, 1])
        else:
            ordered = np.partition(tables, tables.shape[1] - 2, axis=1)
            first, second = ordered[:, -1], ordered[:, -2]
        return STEPS * first - self.steps(first - second)

    @cached_property
    def excess(self) -> float:
        """D: by how much g can fall from one lead to the next.

        g(x-1) - g(x) = exp(-epsilon (x-1)) (p x^2 + q x + r); the derivative is zero where a quadratic
        function is, and beyond its larger root the difference falls towards 0.
        """
        epsilon, b, c = self._law
        if epsilon < _SMALL:
            return SUPREMUM
        rest = -expm1(-epsilon)
        p, q, r = c * rest, b * rest - 2 * c, c - b
        two, one, none = epsilon * p, epsilon * q - 2 * p, epsilon * r - q
        root = (-one + sqrt(max(0.0, one * one - 4 * two * none))) / (2 * two)
        places = {1.0, float(max(1, floor(root))), float(max(1, ceil(root)))}
        return max(0.0, *(self.cost(x - 1) - self.cost(x) for x in places))

    @cached_property
    def slack(self) -> int:
        """Steps by which rounding may make a change larger than it is."""
        largest = self.cost(sqrt(2) / float(self.epsilon))
        return 2 + ceil(2 * STEPS * largest * _RELATIVE)

    def sensitivity(self, records: int, candidates: int, calibration: Calibration) -> Sensitivity:
        """Of the scores of so many grids, for a unit of so many records, in steps.

        `range` pays for the range of the changes, `lemma1` for twice the largest one, and `fixed` for twice
        the published bound of it.
        """
        above = ceil(STEPS * self.excess) + self.slack
        most = Fraction(STEPS + above)
        if calibration == "fixed":
            most = max(most, STEPS * FIXED)
        spread = Fraction(STEPS + 2 * above) if calibration == "range" else 2 * most
        return Sensitivity.scores(records * most, candidates, spread=records * spread)
