"""The assignment of parent configurations to child values behind score F, solved exactly.

Write a and b for the records of X = 0 and X = 1 that lie in their own columns. Score F wants the
largest min(2a, n) + min(2b, n) over all ways of giving every column to 0 or 1.

Give every column to its majority. If neither 2a nor 2b exceeds n, nothing can be better, because
a + b is largest. Otherwise say 2a > n (they cannot both exceed n). Then X = 1 has fewer than n/2
records, 2b stays below n whatever is done, and a column whose majority is 1 is best left there:
moving it to 0 loses as much or more in b than it can gain in a. What remains is which majority-0
columns to hand over: handing over column j gains 2 c1[j] in b and costs 2 c0[j] of the surplus
s = 2a - n, free as long as the surplus lasts and one for one beyond it. That is a knapsack with a
soft edge, which `penstock.kinds.table.privbayes.knapsack` fills.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.table.privbayes.knapsack import fullest

Counts = NDArray[np.int64]


def best_assignments(zeros: Counts, ones: Counts, n: Counts) -> Counts:
    """2 n F for each row of column counts of X = 0 and X = 1.

    >>> best_assignments(np.array([[6, 0, 0, 0]]), np.array([[1, 1, 1, 1]]), np.array([10])).tolist()
    [-4]
    """
    majority = zeros >= ones
    a = np.where(majority, zeros, 0).sum(axis=1)
    b = np.where(majority, 0, ones).sum(axis=1)
    found = 2 * (a + b - n)
    hard = np.flatnonzero(2 * np.maximum(a, b) > n)
    if len(hard):
        a, b, n = a[hard], b[hard], n[hard]
        zero = (a > b)[:, None]
        heavy = np.where(zero, zeros[hard], ones[hard])
        light = np.where(zero, ones[hard], zeros[hard])
        # ties went to 0, so they can be handed over only when 0 has the surplus
        ours = (light > 0) & ((heavy > light) | ((heavy == light) & zero))
        handed = fullest(2 * heavy * ours, 2 * light * ours, 2 * np.maximum(a, b) - n)
        found[hard] = 2 * np.minimum(a, b) - n + handed
    return np.asarray(found)
