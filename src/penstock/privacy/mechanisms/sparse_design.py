"""How a sparse vector divides its epsilon, and how much noise that makes: public arithmetic only.

A sparse vector pays epsilon 1 for the noise on its threshold, epsilon 2 for the noise on every query, and,
where it also tells how large the positive queries are, epsilon 3 for those numbers. With sensitivity D and at
most c positive answers the noise scales are

    threshold  D / epsilon1                 (c D / epsilon1 when it is drawn anew after every positive answer)
    queries    k c D / epsilon2             k = 1 for monotone queries, else 2
    numbers    c D / epsilon3

What decides about a query is the difference of the first two, whose variance is smallest for
epsilon1 : epsilon2 = 1 : (k c)^(2/3); that division is called `optimal` (1 : k^(2/3) with a new threshold
each time). The proof that this costs epsilon1 + epsilon2 + epsilon3 stands in
`penstock.privacy.mechanisms.sparse`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from types import MappingProxyType
from typing import Any, Literal, Self, get_args

from penstock.errors import UsageError
from penstock.privacy.budgets.amounts import Amount, exact, plain

Allocation = Literal["optimal", "1:1", "1:3", "1:c"]


@dataclass(frozen=True)
class Design:
    """The three budgets of a sparse vector with at most `c` positive answers, and what follows from them.

    >>> design = Design.of(1, c=5)
    >>> round(float(design.threshold), 4), round(float(design.queries), 4), round(design.deviation**2, 2)
    (0.1773, 0.8227, 359.12)
    """

    c: int
    threshold: Fraction
    queries: Fraction
    answers: Fraction = Fraction(0)
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False
    redraw: bool = False

    def __post_init__(self) -> None:
        _refuse_uncountable(self.c)
        if self.threshold <= 0 or self.queries <= 0 or self.answers < 0:
            raise UsageError("A sparse vector needs budget for threshold and queries. Nothing was spent.")
        if self.sensitivity <= 0:
            raise UsageError("The sensitivity of a sparse vector's queries is above 0. Nothing was spent.")

    @classmethod
    def of(
        cls,
        epsilon: Amount,
        c: int,
        *,
        allocation: Allocation = "optimal",
        answers: Amount = 0,
        sensitivity: Amount = 1,
        monotone: bool = False,
        redraw: bool = False,
    ) -> Self:
        """Divide epsilon: `answers` is the share for numeric answers, `allocation` divides the rest."""
        if allocation not in get_args(Allocation):
            known = ", ".join(get_args(Allocation))
            raise UsageError(f"allocation must be one of {known}, not {allocation!r}. Nothing was spent.")
        share = exact(answers, "the share of the answers", derived=True)
        if not 0 <= share < 1:
            raise UsageError(
                f"The share of the numeric answers lies from 0 to below 1, not at {plain(share)}. "
                "Nothing was spent."
            )
        _refuse_uncountable(c)
        whole = exact(epsilon, derived=True)
        for_answers = whole * share
        rest = whole - for_answers
        factor = (1 if monotone else 2) * (1 if redraw else c)
        ratio = {
            "optimal": two_thirds_power(factor),
            "1:1": Fraction(1),
            "1:3": Fraction(3),
            "1:c": Fraction(c),
        }[allocation]
        threshold = rest / (1 + ratio)
        moves = exact(sensitivity, "sensitivity", derived=True)
        return cls(c, threshold, rest - threshold, for_answers, moves, monotone, redraw)

    @property
    def epsilon(self) -> Fraction:
        """What the whole sparse vector costs, however many answers it gives."""
        return self.threshold + self.queries + self.answers

    @property
    def threshold_scale(self) -> Fraction:
        return self.sensitivity * (self.c if self.redraw else 1) / self.threshold

    @property
    def query_scale(self) -> Fraction:
        return self.sensitivity * (1 if self.monotone else 2) * self.c / self.queries

    @property
    def answer_scale(self) -> Fraction | None:
        """The scale of the noise on numeric answers, None where there are none."""
        return self.sensitivity * self.c / self.answers if self.answers else None

    @property
    def deviation(self) -> float:
        """The standard deviation of (continuous) threshold noise minus query noise."""
        return sqrt(2 * float(self.threshold_scale**2 + self.query_scale**2))

    @property
    def words(self) -> str:
        """The scales, for the receipt."""
        listed = f"threshold {plain(self.threshold_scale)}, queries {plain(self.query_scale)}"
        listed += f", answers {plain(self.answer_scale)}" if self.answer_scale is not None else ""
        again = ", a new threshold after each" if self.redraw else ""
        return f"at most {self.c} positive answers{again}; noise scales: {listed}"


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "standard": {"allocation": "1:1"},
        "dwork-roth": {"allocation": "1:1", "redraw": True},
        "corrected": {"allocation": "1:1", "monotone": True},
        "reduced": {"allocation": "1:1", "monotone": True, "redraw": True},
    }
)
"""Published algorithms as designs: Lyu, Su and Li's Algorithm 1; the one in Dwork and Roth's book, which
draws a new threshold each time; and two for monotone queries from Zhang's thesis, the second of which is the
book's with half of the query noise. All are private; `optimal` is more accurate than any of them."""


def _refuse_uncountable(c: int) -> None:
    if isinstance(c, bool) or not isinstance(c, int) or c < 1:
        raise UsageError(
            f"c, the largest number of positive answers, is a whole number from 1 on, not {c!r}. "
            "Nothing was spent."
        )


def two_thirds_power(base: int) -> Fraction:
    """base^(2/3) to six digits after the point, as a fraction: the same on every machine.

    >>> float(two_thirds_power(8)), float(two_thirds_power(2))
    (4.0, 1.587401)
    """
    cube = base**2 * 10**18
    root = round(cube ** (1 / 3))
    while root**3 > cube:
        root -= 1
    while (root + 1) ** 3 <= cube:
        root += 1
    return Fraction(root, 10**6)
