"""ExpSearch, also known as PrivLocal: one coordinate at a time, each step chosen privately.

Guarantee: that of the choices, one after another, each of which has an equal part of the budget.
Why it is worth more than it costs: candidates of a round lie one step from where the search stands, so that
one record moves their scores against each other by no more than twice the step. Steps shrink, and with them
what a choice has to hide.

Reference: D. Su, "Differentially private data publishing for data analysis" (PhD thesis, Purdue 2016),
section 2.6.4, Algorithm 8. As printed it makes one choice less than it pays for, and goes uphill on a loss;
here all parts are spent, and losses fall.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed

Whole = NDArray[np.int64]


def steps_of(first: float, decay: float, rounds: int, one: int) -> list[int]:
    """The length of the step of each round, in whole parts of which `one` make one, and no less than one.

    >>> steps_of(0.5, 0.5, 4, 8)
    [4, 2, 1, 1]
    """
    return [max(1, round(first * decay**number * one)) for number in range(rounds)]


def climbed(
    start: Whole,
    scores: Callable[[Whole, int], Sealed[Whole]],
    steps: Sequence[int],
    pay: Sequence[Budget],
) -> Whole:
    """Where the search ends: one choice for each of the steps, each with its own part of the budget.

    `scores` is asked for a place and the length of a step, and says how good it is to step forward along each
    coordinate, then back along each, and last to stay.
    """
    here = start.copy()
    for step, part in zip(steps, pay, strict=True):
        chosen = choice.best(scores(here, step), pay=part)
        if chosen < 2 * len(here):
            here[chosen % len(here)] += step if chosen < len(here) else -step
    return here
