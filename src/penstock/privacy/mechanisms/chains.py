"""Chains: one payment for records that are sorted into finer and finer parts.

A top-down method looks at a part of the records, decides which of its sub-parts are worth keeping, and goes
on with those. Every record follows one chain of parts, from the whole to a last one, so that what counts is
the most that is spent along any chain.

Theorem. Let every record of a part go on to at most one of its sub-parts, decided by the record and by what
is public. If the amounts that are spent on the parts of every chain add up to at most epsilon, and a
spent amount a on a value of L1 sensitivity s buys noise of rate a/s, then all outputs together cost at most
epsilon when one unit is added or removed.

Proof. Let a unit have up to s records, and add them one by one. Which parts exist is decided by outputs, so
fix these. A record changes one number by one in the parts of its chain and in no other, and each of them
has noise of rate a/s: a factor of at most exp(a/s) for the outputs of that part, exp(epsilon/s) for the
chain, and exp(epsilon) for s records. A choice among candidates whose scores the record moves by at most one,
all in one direction, with rate a/s, costs the same.

Why a ledger of its own and not a budget for each part: there may be millions of parts, most of them only
chances that did not come true. A `Chain` is a budget in all but the receipt: it refuses to spend
what is not left, and it is used up once its sub-parts have it.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, log, sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.laws.choices import Tilted
from penstock.privacy.laws.passing import Passing, SparseCounts
from penstock.privacy.laws.public import AnyBelow
from penstock.privacy.laws.tops import OneAfterAnother
from penstock.privacy.mechanisms.noise import held
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation

Numbers = NDArray[np.int64]
T = TypeVar("T")


class Chain:
    """What is left to spend on the records of one part, and on all that becomes of it.

    >>> top = Chain.paid(Budget(1, randomness=Randomness.seeded(1)), "parts", detail="two levels")
    >>> top.left
    Fraction(1, 1)
    >>> one, two = top.apart(2, because="a record lies in one of the two halves")
    >>> one.left, two.left, top.left
    (Fraction(1, 1), Fraction(1, 1), Fraction(0, 1))
    """

    __slots__ = ("_left", "_source")

    def __init__(self, left: Fraction, source: Randomness) -> None:
        """Called by `paid` and `apart`."""
        self._left, self._source = left, source

    @classmethod
    def paid(cls, pay: Budget, label: str, *, detail: str) -> Chain:
        """Pay all that is left of a budget, once, for everything that is spent below."""
        epsilon = pay.left[0]
        source = pay.spend(label, amount=epsilon, relation=Relation.ADD_REMOVE, detail=detail)
        return cls(epsilon, source)

    def __reduce__(self) -> Any:
        raise UsageError("A chain cannot be copied: the copy would be spent a second time.")

    @property
    def left(self) -> Fraction:
        """What has not been spent on this part."""
        return self._left

    def apart(self, many: int, *, because: str) -> list[Chain]:
        """A chain for each of several sub-parts that share no record; this one is used up.

        Each may spend all that is left: a record meets one of them. `because` says why, in a few words that a
        reviewer finds beside the reasons of sealed values.
        """
        if not because.strip():
            raise UsageError("Parts of a chain need the reason why they share no record: because='...'.")
        left, self._left = self._left, Fraction(0)
        return [Chain(left, self._source) for _ in range(many)]

    def any_below(self, bound: int) -> int:
        """A public coin: a whole number from 0 to below a bound, whatever the records are. It is free."""
        return 0 if bound == 1 else self._source.draw(AnyBelow(bound))

    def passing(self, table: Sealed[SparseCounts], least: int, amount: Fraction) -> Numbers:
        """The cells whose noisy count is at least so much, without the counts."""
        rate = self._spend(table, amount)
        return self._source.draw(Passing(open_seal(table), rate, least, told=False)).cells

    def counted(
        self, table: Sealed[SparseCounts], least: int, amount: Fraction | None = None
    ) -> tuple[Numbers, Numbers]:
        """The same cells with their noisy counts; by default for all that is left."""
        rate = self._spend(table, self._left if amount is None else amount)
        found = self._source.draw(Passing(open_seal(table), rate, least, told=True))
        assert found.counts is not None
        return found.cells, held(found.counts)

    def noisy(self, values: Sealed[Numbers], amount: Fraction | None = None) -> Numbers:
        """Counts with noise, all of them; by default for all that is left."""
        rate = self._spend(values, self._left if amount is None else amount)
        return held(self._source.draw(LaplaceAround(np.asarray(open_seal(values)), 1 / rate)))

    def chosen(self, scores: Sealed[Numbers], amount: Fraction) -> int:
        """The number of a candidate with a high score, by the exponential mechanism."""
        rate = self._spend(scores, amount, spread=True)
        return self._source.draw(Tilted(_gaps(open_seal(scores)), rate))

    def several(self, scores: Sealed[Numbers], many: int, amount: Fraction) -> list[int]:
        """The numbers of so many candidates, by the exponential mechanism one after another."""
        rate = self._spend(scores, amount, spread=True)
        return self._source.draw(OneAfterAnother(_gaps(open_seal(scores)), rate / many, many))

    def _spend(self, sealed: Sealed[Any], amount: Fraction, *, spread: bool = False) -> Fraction:
        """Spend an amount on a sealed value; the rate of the noise that it buys."""
        moves = sealed.sensitivity.spread if spread else sealed.sensitivity.l1
        if sealed.relation is not Relation.ADD_REMOVE:
            raise UsageError("Parts of the records are only private together under 'add-remove'.")
        if amount <= 0 or moves <= 0:
            raise UsageError("There is something to spend, and something that it is spent on.")
        if amount > self._left:
            raise BudgetError("More would be spent on a part of the records than is left for it.")
        self._left -= amount
        return amount / moves


def _gaps(scores: Numbers) -> NDArray[np.uint64]:
    """How far each score is below the best one."""
    gaps: NDArray[np.uint64] = (scores.max() - scores).astype(np.uint64)
    return gaps


def least_above(factor: Fraction, amount: Fraction) -> int:
    """The smallest whole number above sqrt(2) factor / amount, exactly.

    >>> least_above(Fraction(1), Fraction(1)), least_above(Fraction(27, 4), Fraction(1, 200))
    (2, 1910)
    """
    return isqrt(int(2 * (factor / amount) ** 2)) + 1


def threshold_factor(choices: int, expected: float) -> Fraction:
    """The factor C of a threshold sqrt(2) C / amount that so many empty cells of these pass on average.

    An empty cell passes with a chance of exp(-sqrt(2) C) / 2, whatever the amount. To two decimals.

    >>> threshold_factor(1023, 0.0366)
    Fraction(27, 4)
    """
    return Fraction(round(100 * log(choices / (2 * expected)) / sqrt(2)), 100)
