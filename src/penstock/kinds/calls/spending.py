"""What each of the six parts of DP-WHERE gets, and what the published scales of its noise really cost.

The published proof mixes two relations. Its noise for home, work, commute and calls a day is twice as large
as one caller added or removed needs, while that of cluster sizes and of calls by the hour is not. So under
add-remove a nominal epsilon costs less than it says, and under replace more. `cost` has the factors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction

from penstock.kinds.calls.tables import PARTS
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.unit import Relation

SHARES: Mapping[str, Amount] = {
    "home": "1/5",
    "work": "1/5",
    "commute": "1/10",
    "per_day": "1/20",
    "call_time": "1/10",
    "hours": "7/20",
}
"""How a budget is divided when nobody says how."""

_HALF = {Relation.ADD_REMOVE: Fraction(1, 2), Relation.REPLACE: Fraction(1)}
FACTORS: Mapping[str, Mapping[Relation, Fraction]] = {
    "home": _HALF,
    "work": _HALF,
    "commute": _HALF,
    "per_day": _HALF,
    "call_time": {Relation.ADD_REMOVE: Fraction(3, 4), Relation.REPLACE: Fraction(3, 2)},
    "hours": {Relation.ADD_REMOVE: Fraction(1), Relation.REPLACE: Fraction(2)},
}
"""What a nominal epsilon of each part costs with the published scales of noise."""


def cost(nominal: Mapping[str, Fraction], relation: Relation) -> Fraction:
    """What the nominal epsilons of some parts cost together under a relation.

    >>> nominal = {"call_time": Fraction("0.1")}
    >>> float(cost(nominal, Relation.ADD_REMOVE)), float(cost(nominal, Relation.REPLACE))
    (0.075, 0.15)
    """
    return sum((FACTORS[part][relation] * epsilon for part, epsilon in nominal.items()), Fraction(0))


def divided(weights: Mapping[str, Amount], without: Collection[str] = ()) -> dict[str, Fraction]:
    """The shares of the parts that are paid for, in the ratio of their weights."""
    paid = {part: exact(weights[part], part) for part in PARTS if part not in without}
    total = sum(paid.values(), Fraction(0))
    return {part: weight / total for part, weight in paid.items()}


def published(
    weights: Mapping[str, Amount], epsilon: Fraction, without: Collection[str] = ()
) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    """Nominal epsilons in the ratio of the weights that cost just this under add-remove, and their shares."""
    shares = divided(weights, without)
    whole = cost(shares, Relation.ADD_REMOVE)
    nominal = {part: share * epsilon / whole for part, share in shares.items()}
    return nominal, {
        part: FACTORS[part][Relation.ADD_REMOVE] * share / whole for part, share in shares.items()
    }
