"""A ridge that the records choose, and pay for: one of a grid that is declared.

Guarantee: that of what is learned with each ridge, and of the choice among them, one after another.
Why: each ridge of the grid has an equal part of epsilon to learn with, and what was learned is public from
then on. The choice is by how many records each of these public weights gets right, which one record moves by
one at most: an exponential mechanism (permute-and-flip) with the share of epsilon that is for it. Whether a
record is right must be decided by that record alone, down to the last digit: sums in doubles are added up in
an order that depends on how many rows there are. So weights are rounded to whole numbers, and margins, sums
of products of whole numbers below 2**53, are exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear.features import Problem
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

APART = 8
"""Ridges of a grid are so many times apart."""
MOST_RIDGES = 8
_BITS = 30  # of a whole weight; a thousand features have sums of at most 19 more


def chosen(
    rows: Sealed[CodedRows],
    problem: Problem,
    budget: Budget,
    ridges: int,
    share: Fraction,
    learn: Callable[[Sealed[CodedRows], Problem, Budget, int], Reals],
) -> tuple[Reals, int]:
    """What was learned with the chosen of so many ridges, and which it is; spends the whole budget.

    `learn` is given the rows, a part of the budget and how many times larger than the first the ridge is.
    """
    if ridges == 1:
        return learn(rows, problem, budget, 1), 0
    learning, choosing = budget.split(learning=1 - share, choice=share)
    parts = equally(learning, "ridge", ridges)
    found = [learn(rows, problem, part, APART**number) for number, part in enumerate(parts)]
    best = choice.best(right_answers(rows, problem, found), choosing)
    return found[best], best


def right_answers(rows: Sealed[CodedRows], problem: Problem, found: list[Reals]) -> Sealed[Numbers]:
    """How many records each of some public weights gets right, sealed."""
    whole = [whole_weights(weights) for weights in found]

    def counted(raw: CodedRows) -> Numbers:
        examples = problem.examples(raw)
        times = examples.counts
        totals = np.zeros(len(whole), dtype=np.int64)
        for here, steps in examples.parts():
            for place, weights in enumerate(whole):
                margins = steps @ weights
                said = margins[:, 0] > 0 if problem.answers == 1 else margins.argmax(axis=1)
                right = said.astype(np.int64) == examples.codes[here]
                totals[place] += right.sum() if times is None else times[here][right].sum()
        return totals

    adds = rows.sensitivity
    return rows.claim(
        counted,
        Sensitivity.scores(adds.linf, len(found), monotone=adds.monotone),
        shape=(len(found),),
        dtype=np.int64,
        because="a record is right or wrong for each of some public weights by its own features alone, in "
        "whole numbers: one that comes adds one to some of them; replaced by another, it moves each number "
        "by one at most; a unit of m records moves m times as far",
    )


def whole_weights(weights: Reals) -> Reals:
    """Weights as whole numbers of 30 bits, as doubles; all are multiplied by the same power of two.

    >>> whole_weights(np.array([[0.75], [-0.1]])).tolist()
    [[805306368.0], [-107374182.0]]
    """
    held = np.clip(np.nan_to_num(weights), -1e300, 1e300)
    _, exponent = np.frexp(np.abs(held).max(initial=0.0))
    return np.asarray(np.rint(np.ldexp(held, _BITS - int(exponent))))


def equally(budget: Budget, name: str, number: int) -> list[Budget]:
    """The budget in so many equal parts; itself where there is one."""
    if number == 1:
        return [budget]
    parts = [budget.part(f"{name} {place + 1}", Fraction(1, number)) for place in range(number - 1)]
    return [*parts, budget.rest(f"{name} {number}")]
