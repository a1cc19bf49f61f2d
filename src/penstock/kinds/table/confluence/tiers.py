"""What a run pays with, and how noisy what it buys is: pure epsilon, or rho bought with a delta.

Guarantee: a part is a share of what was there at the start, so that all parts together are the whole.
Why: `PureTier` divides a budget, whose parts add up (sequential composition). `RhoTier` turns an (epsilon,
delta) into an amount rho of zero-concentrated DP once (`budgets.accounting.rho_of`: for some order alpha > 1,
rho = (epsilon + (ln delta - alpha ln(1 - 1/alpha) + ln(alpha - 1)) / (alpha - 1)) / alpha, the best of a
fixed grid, rounded down), and divides that: amounts of rho add up under adaptive composition. Counts then
get discrete Gaussian noise of variance s / (2 rho) for a squared L2 sensitivity s, choices are made by the
exponential mechanism with epsilon = sqrt(8 rho), whose range is bounded by it.

Which of them. A run begins in epsilon. Once it knows, from public numbers, which tables it will count, it
turns the rest into rho if that has less noise for these tables (`PureTier.least_noisy`): the noise of T
tables grows with T for epsilon and with the square root of T for rho, which starts higher. The parts before
were epsilon, the rest is an (epsilon, delta), and these add up. Where rho does not pay, the rest is spent as
epsilon, and is charged with the whole delta: what costs epsilon costs (epsilon, delta) all the more.

Prices. A table b that is counted with noise of deviation s_b adds A_b s_b to the error of the pairs in it
(`packing`). Laplace noise has a deviation in proportion to 1 / epsilon_b, Gaussian noise to 1 /
sqrt(rho_b). Under a fixed total the sum of A_b s_b is smallest when the part of b is in proportion to A_b
to the power 1/2 or 2/3. With W the sum of these weights, the sum is then the noise of one cell if it got
everything, times W to the power 2 or 3/2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError
from penstock.kinds.table.confluence.packing import GAUSSIAN
from penstock.privacy.budgets.accounting import rho_of, sigma_squared
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity

_MEAN = 0.7979  # mean absolute value of a standard normal variable


def _gaussian(rho: Fraction, sensitivity: Sensitivity) -> float:
    """The mean absolute noise of one count that gets all of this."""
    return _MEAN * sqrt(float(sigma_squared(rho, sensitivity.l2_squared)))


def _price(areas: Sequence[float], power: float) -> float:
    """The noise of tables of these areas, for a cell's noise of 1 if it got everything."""
    return float(sum(area**power for area in areas) ** (1 / power))


def _choices(rho: Fraction, sensitivity: Sensitivity, bearable: float) -> float:
    """How many choices this pays for if each may tell apart scores that differ by `bearable`."""
    return 8 * float(rho) * (bearable / float(sensitivity.spread)) ** 2


class Tier(ABC):
    """A budget in parts of what was there at the start."""

    power: ClassVar[float]
    """Of the area of a table in its weight."""

    gaussian: ClassVar[bool]

    def __init__(self) -> None:
        self.left = Fraction(1)

    @abstractmethod
    def part(self, label: str, share: Fraction) -> Any:
        """So much of what was there at the start."""

    @abstractmethod
    def rest(self, label: str) -> Any:
        """All that is left."""

    @abstractmethod
    def noise(self, sensitivity: Sensitivity, share: Fraction | float = 1) -> float:
        """The mean absolute noise of one count that gets this share of everything."""

    @abstractmethod
    def resolution(self, sensitivity: Sensitivity, share: Fraction) -> float:
        """By how much scores must differ for one choice of this share to tell them apart."""

    @abstractmethod
    def most(self, sensitivity: Sensitivity, share: Fraction, bearable: float) -> float:
        """How many choices this share pays for if each may tell apart scores that differ by that much."""

    @abstractmethod
    def number(self, sealed: Sealed[NDArray[np.int64]], label: str, share: Fraction) -> int:
        """A single noisy number."""

    @abstractmethod
    def choose(
        self, scores: Sealed[NDArray[np.int64]], label: str, share: Fraction, method: choice.Method
    ) -> int:
        """The index of a high score."""

    def total(self, weight: float, sensitivity: Sensitivity, share: Fraction | float = 1) -> float:
        """The noise of all pairs of tables whose weights add up to this, if they share that much."""
        return self.noise(sensitivity, share) * float(weight ** (1 / self.power))


class PureTier(Tier):
    """Parts of an epsilon: discrete Laplace noise, any choice. A delta stays with the rest."""

    power = 0.5
    gaussian = False

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self.budget, self.epsilon = budget, budget.left[0]

    def part(self, label: str, share: Fraction) -> Budget:
        self.left -= share
        return self.budget.part(label, share * self.epsilon / self.budget.epsilon, delta_share=0)

    def rest(self, label: str) -> Budget:
        self.left = Fraction(0)
        return self.budget.rest(label)

    def totals(
        self, areas: Sequence[float], sensitivity: Sensitivity, apart: Sequence[float] | None = None
    ) -> tuple[float, float]:
        """The noise of tables of these areas for the epsilon that is left, and for the rho that it buys.

        Under rho other tables may be counted for the same columns: those of `apart`.
        """
        rho = self._buys()
        pure = float(sensitivity.l1 / self.budget.left[0]) * _price(areas, PureTier.power)
        concentrated = _price(areas if apart is None else apart, RhoTier.power)
        return pure, _gaussian(rho, sensitivity) * concentrated if rho else inf

    def _buys(self) -> Fraction:
        """The rho that all that is left would buy."""
        epsilon, delta = self.budget.left
        try:
            return rho_of(epsilon, delta) if delta else Fraction(0)
        except BudgetError:  # too little to buy any
            return Fraction(0)

    def most_of_either(self, sensitivity: Sensitivity, share: Fraction, bearable: float) -> float:
        """How many choices this share pays for, in epsilon or in the rho that it buys."""
        concentrated = _choices(self._buys() * share, sensitivity, bearable)
        return max(self.most(sensitivity, share, bearable), concentrated)

    def least_noisy(
        self, areas: Sequence[float], sensitivity: Sensitivity, apart: Sequence[float] | None = None
    ) -> Tier:
        """This tier, or what is left of it turned into rho if tables of these areas have less noise then."""
        pure, concentrated = self.totals(areas, sensitivity, apart)
        return self if pure <= concentrated else self.concentrated()

    def concentrated(self) -> RhoTier:
        """What is left of this tier, turned into rho."""
        return RhoTier(self.budget.concentrated("release"))

    def noise(self, sensitivity: Sensitivity, share: Fraction | float = 1) -> float:
        return float(sensitivity.l1 / self.epsilon) / float(share)

    def deviation(self, sensitivity: Sensitivity) -> float:
        """That of the noise of a count that gets all that is left: far less than `noise` for a large epsilon.

        Noise is whole numbers, and nearly always 0 there.
        """
        return noise.standard_deviation(sensitivity.l1, self.budget.left[0])

    def resolution(self, sensitivity: Sensitivity, share: Fraction) -> float:
        return float(sensitivity.spread / (share * self.epsilon))

    def most(self, sensitivity: Sensitivity, share: Fraction, bearable: float) -> float:
        return bearable * float(share * self.epsilon / sensitivity.spread)

    def number(self, sealed: Sealed[NDArray[np.int64]], label: str, share: Fraction) -> int:
        return int(noise.counts(sealed, pay=self.part(label, share))[0])

    def choose(
        self, scores: Sealed[NDArray[np.int64]], label: str, share: Fraction, method: choice.Method
    ) -> int:
        return choice.best(scores, self.part(label, share), method=method)


class RhoTier(Tier):
    """Parts of a rho: discrete Gaussian noise, choices by the exponential mechanism."""

    power = GAUSSIAN
    gaussian = True

    def __init__(self, rho: Rho) -> None:
        super().__init__()
        self.rho = rho

    def part(self, label: str, share: Fraction) -> Rho:
        self.left -= share
        return self.rho.part(label, share)

    def rest(self, label: str) -> Rho:
        self.left = Fraction(0)
        return self.rho.rest(label)

    def noise(self, sensitivity: Sensitivity, share: Fraction | float = 1) -> float:
        return _gaussian(self.rho.rho, sensitivity) / sqrt(float(share))

    def resolution(self, sensitivity: Sensitivity, share: Fraction) -> float:
        return float(sensitivity.spread) / sqrt(8 * float(self.rho.rho * share))

    def most(self, sensitivity: Sensitivity, share: Fraction, bearable: float) -> float:
        return _choices(self.rho.rho * share, sensitivity, bearable)

    def number(self, sealed: Sealed[NDArray[np.int64]], label: str, share: Fraction) -> int:
        return int(noise.gaussian(sealed, pay=self.part(label, share))[0])

    def choose(
        self, scores: Sealed[NDArray[np.int64]], label: str, share: Fraction, method: choice.Method
    ) -> int:
        return choice.best(scores, self.part(label, share), method="exponential")
