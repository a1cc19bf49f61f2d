"""What formulas say about one epsilon: how sure an observer can become, and how far off counts are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1
from typing import Any

from penstock.errors import UsageError
from penstock.privacy.budgets.amounts import exact, plain
from penstock.releases.error_bars import single
from penstock.schema import Relation, Schema
from penstock.theory.beliefs import believed, guessed

RARE = 0.01
"""Somebody who is thought of with this probability, and a group that has this share of the records."""
SMALLEST, LARGEST = Fraction(1, 10**6), Fraction(10**4)
MOST_AMOUNTS = 25


@dataclass(frozen=True)
class Foreseen:
    """One epsilon, in numbers that need no record.

    `guess` is how often the best guess between two neighbouring data sets is right, where both are equally
    likely; `rare` what somebody can come to believe who believed 1 % before. One count that gets all of the
    budget lies within `within` of the truth in 95 of 100 cases, which is the share `of_group` of a group of
    1 % of the records. Counting every field by itself, each with an equal part, leaves cells `cell` off on
    average, which is the share `of_cell` of the average cell of the widest field; None where records are not
    rows of fields.
    """

    epsilon: Fraction
    guess: float
    rare: float
    within: float
    of_group: float | None
    cell: float | None
    of_cell: float | None

    @classmethod
    def of(cls, schema: Schema, records: int, epsilon: Fraction, delta: Fraction = Fraction(0)) -> Foreseen:
        """What the formulas say; discrete Laplace noise throughout."""
        units = schema.unit.records
        within = single(float(epsilon / units)).half
        cell = of_cell = None
        if schema.layout is None and schema.attributes:
            moves = units * (2 if schema.relation is Relation.REPLACE else 1)
            cell = mean_error(float(epsilon / (len(schema.attributes) * moves)))
            of_cell = cell * max(schema.sizes.values()) / records
        return cls(
            epsilon,
            guessed(float(epsilon), float(delta)),
            believed(RARE, float(epsilon))[1],
            within,
            within / (RARE * records) if RARE * records >= 1 else None,
            cell,
            of_cell,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "epsilon": plain(self.epsilon),
            "guess": self.guess,
            "rare": self.rare,
            "within": self.within,
            "of_group": self.of_group,
            "cell": self.cell,
            "of_cell": self.of_cell,
        }


def mean_error(rate: float) -> float:
    """E|Z| of discrete Laplace noise, P(z) proportional to exp(-rate |z|): 2a / (1 - a^2), a = exp(-rate).

    >>> round(mean_error(1.0), 6)
    0.850918
    """
    return 2.0 * exp(-rate) / -expm1(-2.0 * rate)


def amounts(text: str) -> tuple[Fraction, ...]:
    """The epsilons of a text: one, several after commas, or a range whose steps are 1, 2, 5, 10, 20, ...

    >>> [str(amount) for amount in amounts("0.1..2")]
    ['1/10', '1/5', '1/2', '1', '2']
    >>> [str(amount) for amount in amounts("0.3, 3")]
    ['3/10', '3']
    """
    low, dots, high = text.partition("..")
    if not dots or high.startswith("."):
        found = [_amount(part) for part in text.split(",")]
    else:
        first, last = _amount(low), _amount(high)
        if first > last:
            raise UsageError(f"epsilon: {text.strip()} runs backwards; write the smaller one first.")
        rungs = [digit * Fraction(10) ** power for power in range(-6, 5) for digit in (1, 2, 5)]
        found = [first, *(rung for rung in rungs if first < rung < last), last]
    if len(found) > MOST_AMOUNTS:
        raise UsageError(f"epsilon: {len(found)} amounts are too many; give {MOST_AMOUNTS} at most.")
    return tuple(sorted(set(found)))


def _amount(text: str) -> Fraction:
    try:
        found = exact(text.strip())
    except Exception:
        found = Fraction(0)
    if not SMALLEST <= found <= LARGEST:
        raise UsageError(
            f"epsilon: '{text.strip()[:40]}' is no amount from 0.000001 to 10000; write 1, a list such as "
            "0.1,1,10, or a range such as 0.1..10."
        )
    return found
