"""Statistical verdicts for the sampler tests.

Every verdict errs with probability at most `ERROR` when the sampler is right (and the tests are seeded, so
that a passing test keeps passing).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

ERROR = 1e-6


def fits(observed: ArrayLike, probabilities: ArrayLike) -> bool:
    """Chi-square: do counts per outcome agree with exact probabilities? Rare outcomes are pooled.

    `probabilities` need not add up to 1; the rest is one more outcome, whose count is passed last.
    """
    seen = np.asarray(observed, dtype=float)
    law = np.asarray(probabilities, dtype=float)
    if seen.size == law.size + 1:
        law = np.append(law, max(0.0, 1 - law.sum()))
    expected = law * seen.sum()
    if np.any(seen[expected == 0]):
        return False
    pooled = _pools(expected)
    pooled_seen = np.bincount(pooled, weights=seen)
    pooled_expected = np.bincount(pooled, weights=expected)
    statistic = ((pooled_seen - pooled_expected) ** 2 / pooled_expected).sum()
    return bool(pooled_seen.size == 1 or stats.chi2.sf(statistic, pooled_seen.size - 1) > ERROR)


def _pools(expected: NDArray[np.float64]) -> NDArray[np.int64]:
    """A pool for each outcome, rare ones together, such that at least 15 are expected in every pool."""
    pools = np.zeros(expected.size, dtype=np.int64)
    pool, held = -1, 0.0
    for outcome in np.argsort(expected)[::-1]:
        if pool < 0 or (held >= 15 and expected[outcome] > 0):
            pool, held = pool + 1, 0.0
        pools[outcome], held = pool, held + expected[outcome]
    if held < 15 and pool > 0:
        pools[pools == pool] = pool - 1
    return pools


def window(draws: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    """How often each of low ... high was drawn, and, last, how often anything else."""
    inside = draws[(draws >= low) & (draws <= high)]
    counts = np.bincount((inside - low).astype(np.int64), minlength=high - low + 1)
    return np.append(counts, draws.size - inside.size)


def alike(first: NDArray[np.int64], second: NDArray[np.int64], bins: int = 30) -> bool:
    """Two-sample chi-square: can both come from one distribution? Bins hold equal shares of the pool."""
    pool = np.concatenate([first, second])
    edges = np.unique(np.quantile(pool, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
    table = np.array(
        [np.bincount(np.searchsorted(edges, sample), minlength=edges.size + 1) for sample in (first, second)]
    )
    table = table[:, table.sum(axis=0) > 0]
    return bool(stats.chi2_contingency(table).pvalue > ERROR)
