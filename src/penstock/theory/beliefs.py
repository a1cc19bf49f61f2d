"""What an epsilon lets an observer come to believe: Bayes' rule, with odds that move by e^epsilon at most."""

from __future__ import annotations

from math import exp, expm1, log1p

from penstock.errors import UsageError


def believed(prior: float, epsilon: float) -> tuple[float, float]:
    """The least and the most that somebody can come to believe who believed `prior` before.

    The odds of any statement about one unit move by a factor of at most e^epsilon.

    >>> [round(bound, 4) for bound in believed(0.01, 1.0)]
    [0.0037, 0.0267]
    """
    _refuse(prior, epsilon, 0.0)
    if prior in (0.0, 1.0):
        return prior, prior
    fall = exp(-epsilon)
    least = prior * fall / (prior * fall + 1.0 - prior)
    most = prior / (prior + (1.0 - prior) * fall)
    return least, most


def guessed(epsilon: float, delta: float = 0.0) -> float:
    """How often the best guess between two equally likely neighbours can be right.

    It is (e^epsilon + delta) / (e^epsilon + 1): an event of probability p under one of them has at most
    e^epsilon p' + delta under the other, in both directions, and half of p + 1 - p' is largest where both
    bounds are met.

    >>> round(guessed(1.0), 6), guessed(0.0), guessed(0.0, 0.5)
    (0.731059, 0.5, 0.75)
    """
    _refuse(0.5, epsilon, delta)
    return (1.0 + delta * exp(-epsilon)) / (1.0 + exp(-epsilon))


def sampled(epsilon: float, share: float) -> float:
    """The epsilon of a mechanism that sees each record with the probability `share`: ln(1 + p (e^eps - 1)).

    Exact under add-remove for records that are kept independently of each other. The simpler 2 p epsilon
    holds where e^eps - 1 <= 2 eps only, that is up to 1.256.

    >>> round(sampled(2.0, 0.01), 4), round(sampled(3.0, 0.1), 3)
    (0.0619, 1.068)
    """
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"share must be a number from 0 to 1, not {share!r}.")
    _refuse(0.5, epsilon, 0.0)
    if epsilon > 700.0:  # e^epsilon is no double; 1 - p is nothing beside p e^epsilon
        return epsilon + (log1p(share - 1.0) if share else -epsilon)
    return log1p(share * expm1(epsilon))


def _refuse(prior: float, epsilon: float, delta: float) -> None:
    if not 0.0 <= prior <= 1.0:
        raise UsageError(f"prior must be a probability, from 0 to 1, not {prior!r}.")
    if not epsilon >= 0.0:
        raise UsageError(f"epsilon must be 0 or more, not {epsilon!r}.")
    if not 0.0 <= delta <= 1.0:
        raise UsageError(f"delta must be a probability, from 0 to 1, not {delta!r}.")
