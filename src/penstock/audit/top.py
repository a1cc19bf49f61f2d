"""Exact output probabilities of top-c selections, for few candidates.

An outcome is the tuple of chosen candidates, best first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from math import exp, expm1, factorial

from penstock.audit.exact import Distribution
from penstock.errors import UsageError

Law = Callable[[Sequence[float], float], Distribution]

MOST = 6


def peeled(law: Law, scores: Sequence[float], rate: float, many: int) -> Distribution:
    """One choice after another with the same law, each among the candidates that are left."""
    _refuse_many(scores)
    shares: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(many):
        following: dict[tuple[int, ...], float] = {}
        for chosen, share in shares.items():
            left = [index for index in range(len(scores)) if index not in chosen]
            found = law([scores[index] for index in left], rate)
            for place, index in enumerate(left):
                following[(*chosen, index)] = share * found.probability(place)
        shares = following
    return Distribution.of(shares)


def one_shot(scores: Sequence[int], rate: float, many: int) -> Distribution:
    """The `many` largest of whole scores with exponential noise of this rate, largest first.

    Noisy scores are sorted by their whole part, from above. Who has the same whole part comes in random order
    (`privacy.without_replacement` says why), and so do all who reach the largest score: beyond it noise has
    no memory. So a walk down the whole numbers, deciding at each who is there, has finitely many steps.
    """
    _refuse_many(scores)
    top, bottom = max(scores), min(scores)
    shares: dict[tuple[int, ...], float] = {(): 1.0}
    done: dict[tuple[int, ...], float] = {}
    for level in range(top, bottom - 1, -1):
        following: dict[tuple[int, ...], float] = {}
        for chosen, share in shares.items():
            left = [index for index in range(len(scores)) if index not in chosen]
            chances = [_here(scores[index], level, top, rate) for index in left]
            for mask in range(1 << len(left)):
                chance = share
                for place, here in enumerate(chances):
                    chance *= here if mask >> place & 1 else 1 - here
                if chance == 0:
                    continue
                arriving = [index for place, index in enumerate(left) if mask >> place & 1]
                for order in permutations(arriving):
                    outcome = (*chosen, *order)[:many]
                    where = done if len(outcome) == many else following
                    where[outcome] = where.get(outcome, 0.0) + chance / factorial(len(arriving))
        shares = following
    return Distribution.of(done)


def _here(score: int, level: int, top: int, rate: float) -> float:
    """The chance that a noisy score has this whole part (at the top: at least this), given none above."""
    if score > level:
        return 0.0
    at_least = exp(-rate * (level - score))
    if level == top:
        return at_least
    not_above = -expm1(-rate * (level + 1 - score))
    return at_least * -expm1(-rate) / not_above


def _refuse_many(scores: Sequence[float]) -> None:
    if len(scores) > MOST:
        raise UsageError(f"Top-c selections are enumerated for at most {MOST} candidates.")
