"""Top-c selections as audit targets, and their exact output probabilities for few candidates.

The databases are all multisets of up to three baskets, the scores how many baskets hold an item. An outcome
is the tuple of chosen candidates, best first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import exp, expm1, factorial

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import neighbours
from penstock.audit.target import Kind, Promise, Target
from penstock.errors import UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.choice import SeveralMethod, best_several
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Law = Callable[[Sequence[float], float], Distribution]
Records = Sequence[Sequence[int]]

MOST = 6
ITEMS = 4
CHOSEN = 2
BASKETS = ((0,), (1,), (0, 1), (0, 1, 2))


def targets() -> tuple[Target, ...]:
    """Every way to choose several at once; none may be refuted."""
    added = Promise(Fraction(1))
    replaced = Promise(Fraction(1), relation=Relation.REPLACE)
    return (
        _target(
            "top-one-shot", "two of four items, noise once, counts that move together", "one-shot", added
        ),
        _target("top-one-shot-replace", "the same when baskets are replaced", "one-shot", replaced),
        _target("top-exponential", "two of four items, one after the other", "exponential", added),
        _target("top-permute-and-flip", "two of four items, one after the other", "permute-and-flip", added),
    )


def _target(name: str, summary: str, method: SeveralMethod, promise: Promise) -> Target:
    return Target(
        name,
        Kind.SHIPPED,
        promise,
        summary,
        tuple(neighbours(BASKETS, 3, promise.relation)),
        run=partial(run_several, method=method, promise=promise),
        distribution=partial(several_law, method=method, promise=promise),
        effort=0.1,
    )


def _scores(records: Records) -> NDArray[np.int64]:
    held = np.array([item for basket in records for item in basket], dtype=np.int64)
    return np.bincount(held, minlength=ITEMS).astype(np.int64)


def _moves(promise: Promise) -> Sensitivity:
    return Sensitivity.scores(1, ITEMS, monotone=promise.relation is Relation.ADD_REMOVE)


def run_several(
    records: Records, randomness: Randomness, n: int, method: SeveralMethod, promise: Promise
) -> NDArray[np.int64]:
    sealed = Sealed(
        _scores(records),
        _moves(promise),
        promise.relation,
        because="a basket has an item or not: it moves each support by at most one, and added all upwards",
    )
    return np.array(
        [
            best_several(sealed, CHOSEN, Budget(promise.epsilon, randomness=randomness), method=method)
            for _ in range(n)
        ]
    )


def several_law(records: Records, method: SeveralMethod, promise: Promise) -> Distribution:
    scores = _scores(records).tolist()
    rate = float(promise.epsilon / CHOSEN / _moves(promise).spread)
    if method == "one-shot":
        return one_shot(scores, rate, CHOSEN)
    once = exact.exponential if method == "exponential" else exact.permute_and_flip
    return peeled(once, scores, rate, CHOSEN)


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
