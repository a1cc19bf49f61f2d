"""What a method of sequences pays for beside its model: a length to keep, the lengths, the times.

Guarantee: pure epsilon for one sequence (or user) added or removed, as a part of a method's budget.
Why: a sequence has one length, so that the counts of lengths have the sensitivity of a histogram
(`penstock.kinds.sequences.data`); for times see `penstock.kinds.sequences.times`.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.errors import UsageError
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.lengths import Lengths
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise

SHARES = {"longest": "longest_share", "lengths": "length_share", "times": "times_share"}
"""The part of a budget, and the parameter that says how large it is."""


def shares_beside(**asked: Amount | None) -> dict[str, Fraction]:
    """The shares of the budget that do not go to the model; UsageError if they leave nothing to it.

    >>> shares_beside(lengths="1/10", times=None)
    {'lengths': Fraction(1, 10)}
    """
    found = {label: exact(share, SHARES[label]) for label, share in asked.items() if share is not None}
    if sum(found.values()) >= 1:
        raise UsageError(
            f"The shares for {', '.join(found)} leave nothing of the budget for the model; lower one of "
            "them. Nothing was spent."
        )
    return found


def paid_lengths(sequences: Sequences, pay: Budget) -> Lengths:
    """Noisy counts of the lengths of sequences, in public bins, for all of `pay`."""
    sealed = sequences.length_counts()
    deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
    return Lengths(noise.counts(sealed, pay=pay), deviation)
