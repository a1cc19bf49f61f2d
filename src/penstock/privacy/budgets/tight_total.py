"""What was paid in the words of Google's `dp_accounting`, and the tighter total that its accountants find.

A receipt's own total adds epsilons and deltas, exactly. That is never wrong and sometimes far from
tight: a hundred releases of epsilon 1/10 cost 10 by addition and less than 5 at delta 1e-6. `epsilon_at`
asks the accountants. Its answer is computed in floating point with pessimistic discretisation; use it
to inform, and the exact total to decide.

How the charges are mapped. A mechanism that is epsilon-DP is dominated by randomised response between
two answers with the same epsilon (Kairouz, Oh and Viswanath 2015), whatever the mechanism and whatever
the relation. One that is (epsilon, delta)-DP is that, except for an event of probability delta, which
is set aside from the delta of the question. A concentrated payment is its zCDP event.

For several units together, a group of k, each mechanism's own rule is used before they are composed: k times
epsilon and the geometric sum of deltas (`accounting.group`), and k^2 rho for a concentrated payment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import exp, nextafter
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.privacy.budgets.accounting import group, group_rho, sequential
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Together

# dp_accounting takes a second to import, and only a question for a tighter total needs it: each function
# below imports what it uses.
if TYPE_CHECKING:
    from dp_accounting import DpEvent


def to_event(paid: Together, units: int = 1) -> DpEvent:
    """The charges as a `dp_accounting` event tree: randomised response and zCDP, composed.

    Equal events are counted, not repeated. The deltas of charges that have one are not in the tree:
    `set_aside` is their sum.
    """
    from dp_accounting import ComposedDpEvent, SelfComposedDpEvent

    repeated = Counter(_event(entry, units) for entry in _flat(paid))
    return ComposedDpEvent(
        [event if count == 1 else SelfComposedDpEvent(event, count) for event, count in repeated.items()]
    )


def set_aside(paid: Together, units: int = 1) -> Fraction:
    """The part of any delta that the event tree does not cover."""
    return sum((_aside(entry, units) for entry in _flat(paid)), Fraction(0))


def epsilon_at(paid: Together, delta: Amount, units: int = 1) -> float:
    """The smallest epsilon found for which everything that was paid for is (epsilon, delta)-DP.

    With `units`, for so many of the protected units together.

    >>> from penstock.privacy.budgets.budget import Budget
    >>> from penstock.privacy.unit import Relation
    >>> budget = Budget(10)
    >>> for part in budget.evenly([f"release {i}" for i in range(100)]):
    ...     _ = part.spend("discrete laplace", relation=Relation.ADD_REMOVE)
    >>> round(epsilon_at(budget.receipt().paid, "1e-6"), 1)
    4.8
    """
    wanted = exact(delta, "delta")
    aside = set_aside(paid, units)
    if not 0 <= wanted < 1 or wanted < aside:
        raise UsageError(
            f"The receipt has charges with delta {plain(aside)} in all; ask for a delta of at least that, "
            f"below 1, not {plain(wanted)}."
        )
    added = sequential(group(*entry.cost, units) for entry in _flat(paid))
    found = [_up(added[0])] if wanted >= added[1] else []
    slack = nextafter(float(wanted - aside), 0.0)
    if slack > 0 and paid.parts:
        found += _accountants(paid, slack, units)
    if not found:
        raise UsageError(
            f"At delta {plain(wanted)} nothing is known about this receipt; ask for a larger delta, "
            f"such as the {plain(added[1])} that was paid."
        )
    return min(found)


def _accountants(paid: Together, delta: float, units: int) -> list[float]:
    """What the accountants say: Renyi for everything, privacy loss distributions for pure charges."""
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    # Randomised response is defined for replacing an answer; as a dominating pair it has no relation.
    renyi = RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE).compose(to_event(paid, units))
    return [float(renyi.get_epsilon(delta)), *_loss_distribution(paid, delta, units)]


def _loss_distribution(paid: Together, delta: float, units: int) -> list[float]:
    """The composed privacy loss distribution, where all charges are pure.

    Composed here and not by `PLDAccountant`, which in dp_accounting 0.6 counts a self-composed
    randomised response once.
    """
    from dp_accounting import NeighboringRelation, RandomizedResponseDpEvent
    from dp_accounting.pld.privacy_loss_distribution import from_randomized_response, identity

    repeated = Counter(_event(entry, units) for entry in _flat(paid))
    if not all(isinstance(event, RandomizedResponseDpEvent) for event in repeated):
        return []
    whole = identity()
    for event, count in repeated.items():
        one = from_randomized_response(
            event.noise_parameter, event.num_buckets, neighboring_relation=NeighboringRelation.REPLACE_ONE
        )
        whole = whole.compose(one.self_compose(count))
    return [float(whole.get_epsilon_for_delta(delta))]


def _flat(entry: Entry) -> Iterator[Charge | Concentrated | Apart]:
    """What was paid one after the other."""
    if isinstance(entry, Together):
        for part in entry.parts:
            yield from _flat(part)
    else:
        yield entry


def _event(entry: Charge | Concentrated | Apart, units: int) -> DpEvent:
    from dp_accounting import NoOpDpEvent, RandomizedResponseDpEvent, ZCDpEvent

    if isinstance(entry, Concentrated):
        return ZCDpEvent(_up(group_rho(entry.rho, units)))
    if isinstance(entry, Apart) and _all_concentrated(entry):
        dearest = sorted((part.rho for part in entry.parts if isinstance(part, Concentrated)), reverse=True)
        return ZCDpEvent(_up(group_rho(sum(dearest[: entry.meets], Fraction(0)), units)))
    epsilon = group(*entry.cost, units)[0]
    if epsilon == 0:
        return NoOpDpEvent()
    # The chance of a random answer, rounded down: a little less noise than was used.
    return RandomizedResponseDpEvent(noise_parameter=2 / (1 + _exp_up(_up(epsilon))), num_buckets=2)


def _aside(entry: Charge | Concentrated | Apart, units: int) -> Fraction:
    if isinstance(entry, Concentrated) or (isinstance(entry, Apart) and _all_concentrated(entry)):
        return Fraction(0)
    return group(*entry.cost, units)[1]


def _all_concentrated(entry: Apart) -> bool:
    return bool(entry.parts) and all(isinstance(part, Concentrated) for part in entry.parts)


def _up(amount: Fraction) -> float:
    value = float(amount)
    return value if Fraction(value) >= amount else nextafter(value, float("inf"))


def _exp_up(epsilon: float) -> float:
    return exp(epsilon) * (1 + 1e-12)
