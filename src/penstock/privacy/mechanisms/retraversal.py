"""Top-c by a sparse vector that goes through the candidates again until it has found enough.

Guarantee: pure epsilon, that of the sparse vector.
Why: asking the candidates that were not selected again is nothing but more queries to the same sparse vector,
and a no is free. Order and raised threshold are public, and when to stop depends on answers only.

For choosing the c best among known candidates `choice.best_several` is better; this is for comparison and for
those who want candidates above a threshold and no others.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.public import AnyOrder
from penstock.privacy.mechanisms.sparse import paid_for
from penstock.privacy.mechanisms.sparse_design import Allocation
from penstock.privacy.mechanisms.thresholds import Threshold, exact_threshold
from penstock.privacy.seals.sealed import Sealed, form_of

SAFETY: Final = 1000
"""Passes after which `retraverse` gives up when no number is given: public, whatever the scores are."""


def retraverse(
    scores: Sealed[NDArray[Any]],
    pay: Budget,
    *,
    c: int,
    threshold: Threshold,
    raised: Amount = 2,
    passes: int | None = 10,
    allocation: Allocation = "optimal",
    monotone: bool | None = None,
) -> list[int]:
    """Up to c indices with scores above a threshold, by going through all of them again and again.

    The threshold is raised by `raised` times the scale of the query noise, so that a yes is seldom wrong, and
    whoever was not selected is asked again with fresh noise, in random order, until c are selected or the
    number of passes is reached (None: `SAFETY`). To the sparse vector that is one longer stream, and a no is
    free, so the price is the same. The number of passes must not depend on the scores, and does not: only on
    the answers.
    """
    limit, multiples = exact_threshold(threshold), exact(raised, "raised")
    if passes is not None and passes < 1:
        raise UsageError(f"There must be at least one pass over the scores, not {passes}. Nothing was spent.")
    svt = paid_for(scores, pay, c=c, allocation=allocation, monotone=monotone)
    limit += multiples * svt.design.query_scale * (svt.step or 1)
    order = pay.randomness.spawn("order").draw(AnyOrder(form_of(scores).size))
    chosen: list[int] = []
    for _ in range(SAFETY if passes is None else passes):
        if svt.exhausted or not order.size:
            break
        hits = svt.ask_all(_some(scores, order), limit).positions
        chosen += order[hits].tolist()
        order = np.delete(order, hits)
    return chosen


def _some(scores: Sealed[NDArray[Any]], where: NDArray[np.int64]) -> Sealed[NDArray[Any]]:
    return scores.claim(
        lambda whole: np.asarray(whole)[where],
        scores.sensitivity,
        shape=where.shape,
        because="some coordinates of a vector move by no more than all of them, in every norm",
    )
