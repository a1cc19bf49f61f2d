"""The law of a noisy choice by its formula, for tests that compare draws, or neighbours, with it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.mechanisms.choice import Method


def probabilities(
    scores: ArrayLike,
    epsilon: Amount,
    *,
    spread: Amount,
    method: Method = "permute-and-flip",
    base: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """The probability with which `choice.best` takes each candidate, to about 14 digits.

    Permute-and-flip takes o with probability p(o) times the mean of 1/(1 + heads among the others), which is
    the integral over t in [0, 1] of the product of (1 - p(j) t) over the others: a polynomial, for which
    Gauss-Legendre quadrature is exact.

    >>> probabilities([1, 0], 1, spread=1).round(4)
    array([0.8161, 0.1839])
    """
    values = np.asarray(scores, dtype=np.float64)
    gaps = (values.max() - values) * float(exact(epsilon) / exact(spread, "spread"))
    if method == "exponential":
        weights = np.exp(-gaps) * (1.0 if base is None else np.asarray(base, dtype=np.float64))
        shares: NDArray[np.float64] = weights / weights.sum()
        return shares
    heads = np.exp(-gaps)
    nodes, node_weights = np.polynomial.legendre.leggauss(values.size // 2 + 1)
    t = (nodes + 1) / 2
    logs = np.log1p(-np.outer(heads, t))  # finite, since no node lies at t = 1
    others = np.exp(logs.sum(axis=0) - logs)
    taken: NDArray[np.float64] = heads * (others @ (node_weights / 2))
    return taken
