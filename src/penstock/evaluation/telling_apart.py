"""Can a classifier tell synthetic rows from original ones? The propensity score, and pMSE.

Original and synthetic rows are mixed half and half, a classifier learns from one part of them which is which,
and is asked about the other part. Where nobody can tell, its answers are all near one half: the AUC is 0.5
and pMSE, the mean square of what the answers differ from one half, is 0. It is 0.25 where every row is told
for sure.

Rows that repeat the original nearly one by one turn that around: what one part has too many of, the other
lacks, and the answers are sure and wrong. Who is right less often than a coin tells nothing apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.evaluation.learner import boosted
from penstock.evaluation.score import Score

MOST_ROWS = 20_000
"""Rows of each side that are looked at."""
MOST_CELLS = 10_000_000
"""Of the rows of one side: of hundreds of columns fewer rows are looked at."""
FEWEST_ROWS = 40


@dataclass(frozen=True)
class Propensity:
    """How well rows of two tables are told apart, on rows that were not learned from."""

    auc: float
    pmse: float
    rows: int = 0
    """Of each side that were looked at."""


def propensity(
    original: NDArray[np.float32], other: NDArray[np.float32], categorical: Sequence[bool], seed: int = 0
) -> Propensity | None:
    """How well a classifier tells two matrices of numbers apart; None where there are too few rows.

    >>> rows = np.random.default_rng(0).normal(size=(400, 2)).astype(np.float32)
    >>> found = propensity(rows, rows + 5, [False, False])
    >>> (round(found.auc, 2), round(found.pmse, 2))
    (1.0, 0.25)
    """
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(seed)
    many = min(len(original), len(other), MOST_ROWS, max(FEWEST_ROWS, MOST_CELLS // len(categorical)))
    if many < FEWEST_ROWS:
        return None
    sides = [side[rng.permutation(len(side))[:many]] for side in (original, other)]
    half = many // 2
    known = np.concatenate([side[:half] for side in sides])
    asked = np.concatenate([side[half:] for side in sides])
    model = boosted(categorical).fit(known, np.repeat([0, 1], half))
    chance = model.predict_proba(asked)[:, 1]
    truth = np.repeat([0, 1], many - half)
    auc = float(roc_auc_score(truth, chance))
    return Propensity(auc, float(np.mean((chance - 0.5) ** 2)) if auc > 0.5 else 0.0, many)


def apart_score(found: Mapping[str, Propensity | None]) -> Score | None:
    """The score of a release between its floor and its ceiling; None where one of them is not known."""
    release, floor, ceiling = (found[key] for key in ("release", "floor", "ceiling"))
    if release is None or floor is None or ceiling is None:
        return None
    return Score(
        "told apart",
        release.pmse,
        floor=floor.pmse,
        ceiling=ceiling.pmse,
        note="propensity score (pMSE) of a classifier that tells synthetic from original records: 0 where it "
        f"cannot, 0.25 where it always can; its AUC is {release.auc:.3f} "
        f"(for {release.rows:,} records of each)",
    )
