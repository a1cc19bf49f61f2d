"""PrivTree: deciding, under differential privacy, which nodes of a public tree to expand.

The tree is public and may be endless: boxes that are halved again and again, a taxonomy, all
contexts of a sequence. Every node has a score (such as the number of points in it) that never grows
from parent to child. A node at depth i with score c is split when

    max(c - i delta, theta - delta) + Lap(lambda) > theta.

Theorem. Let one unit change the scores only along x root-to-leaf paths, on each by between 0 and s.
With delta = gamma lambda, gamma > 0, releasing all decisions costs at most x s K(gamma) / lambda, where
K(gamma) = 1 + sum over j >= 0 of 1 / (2 exp(j gamma) - 1), however deep the tree becomes.

Proof idea. Take one path and s = 1. L(u) = ln Pr[u + Lap(lambda) > 0] has a derivative that is 1/lambda
for u <= 0, (1/lambda) / (2 exp(u/lambda) - 1) for u > 0, and does not increase. Move the scores of the
larger dataset to those of the smaller one continuously. At every moment the biased scores along the
path lie at least delta apart, because scores do not grow downwards and the bias grows by delta, and
those at the clamp do not move. So at most one of them is in (theta - delta, theta], costing 1/lambda,
and the j-th above it exceeds j delta, costing at most L'(j delta). The sum is K(gamma)/lambda; the one
"no" at the path's end works in the other direction and costs at most 1/lambda there. Several paths:
add the unit path by path.

The published constant is (2 exp(gamma) - 1) / (exp(gamma) - 1), which is larger than K(gamma): 15 % more
noise for two children of a node, 7 % for four, 2 % for sixteen. It assumes that the last biased score
above the clamp is a whole step above it; the argument above needs no such assumption.

The Laplace variable itself is never needed. Whether b + Lap(lambda) > theta is one coin, and it is
flipped exactly: heads with probability exp(-|b - theta| / lambda) / 2 in the unlikely direction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, exp, fsum, log, nextafter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.coins import Splits
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation

Constant = Literal["tight", "published"]
Reals = NDArray[np.float64]

STEPS = 1 << 32
"""Exponents are multiples of 1 / STEPS; lambda is rounded up to fit, which only adds noise, and gamma is
rounded up before the constant is computed from it."""
SMALLEST_DECAY = Fraction(1, 1000)


def noise_constant(gamma: Fraction, constant: Constant = "tight") -> Fraction:
    """An upper bound, sharp to nine digits, on K(gamma), or on the published constant.

    >>> round(float(noise_constant(decay(4))), 5), round(float(noise_constant(decay(4), "published")), 5)
    (2.1856, 2.33333)
    """
    step = float(gamma)
    if constant == "published":
        value = (2 * exp(step) - 1) / (exp(step) - 1)
    else:
        terms = ceil(40 / step) + 1
        value = 1 + fsum(1 / (2 * exp(j * step) - 1) for j in range(terms))
        value += exp(-terms * step) / (1 - exp(-step))  # the rest: 1/(2 e^y - 1) <= e^-y for y >= 0
    return Fraction(ceil(value * (1 + 1e-12) * 10**9), 10**9)


def decay(fan_out: int) -> Fraction:
    """gamma >= ln(fan-out): an empty subtree then has at most half a child per node on average."""
    if fan_out < 2:
        raise UsageError(f"A tree needs at least 2 children per node, not {fan_out}.")
    return Fraction(ceil(nextafter(log(fan_out), 10) * 2**20), 2**20)


@dataclass(frozen=True)
class Splitter:
    """Paid-for decisions about the nodes of one tree.

    `lam` is the noise scale, `gamma` the decay per level in units of `lam`, `theta` the threshold. Scores
    may be sealed under `relation` and move by up to `moves` in all: that is what was paid for. Only `paid`
    makes one that opens seals; a copy would decide about a second tree.
    """

    lam: Fraction
    gamma: Fraction
    theta: int
    randomness: Randomness
    relation: Relation
    moves: Fraction
    _trees: list[str] = field(default_factory=list, init=False, repr=False, compare=False)
    _asked: list[int] = field(default_factory=list, init=False, repr=False, compare=False)
    _paid: bool = field(default=False, init=False, repr=False, compare=False)

    def __reduce__(self) -> Any:
        raise UsageError("Decisions about a tree cannot be copied: each copy would decide about another one.")

    @classmethod
    def paid(
        cls,
        pay: Budget,
        *,
        fan_out: int,
        paths: int = 1,
        step: int = 1,
        theta: int = 0,
        gamma: Fraction | None = None,
        constant: Constant = "tight",
        relation: Relation = Relation.ADD_REMOVE,
    ) -> Splitter:
        """Pay once for all decisions about a tree in which a unit touches `paths` paths by `step`.

        Under `replace` one unit leaves some paths and another enters as many: the price of leaving,
        K / lambda, and that of entering, 1 / lambda, are both paid.
        """
        if paths < 1 or step < 1:
            raise UsageError("A unit touches at least one path of the tree by at least one.")
        if not isinstance(theta, int):
            raise UsageError(f"theta must be a whole number, not {theta}.")
        slope = decay(fan_out) if gamma is None else Fraction(ceil(gamma * STEPS), STEPS)
        if slope < SMALLEST_DECAY:
            raise UsageError(f"The decay gamma must be at least {SMALLEST_DECAY}, not {gamma}.")
        factor = noise_constant(slope, constant) + (1 if relation is Relation.REPLACE else 0)
        epsilon = pay.left[0]
        inverse = _inverse_scale(epsilon, factor * paths * step)
        source = pay.spend(
            "PrivTree decisions",
            amount=epsilon,
            relation=relation,
            sensitivity=str(paths * step),
            detail=f"fan-out {fan_out}, constant {plain(factor)} ({constant}), threshold {theta}",
        )
        moves = Fraction(paths * step * (2 if relation is Relation.REPLACE else 1))
        made = cls(Fraction(STEPS, inverse), slope, theta, source, relation, moves)
        object.__setattr__(made, "_paid", True)
        return made

    @staticmethod
    def refuse_too_little(
        epsilon: Fraction, *, fan_out: int, paths: int, constant: Constant = "tight"
    ) -> None:
        """Refuse, before anything else is paid, an epsilon that `paid` would refuse under add-remove."""
        _inverse_scale(epsilon, noise_constant(decay(fan_out), constant) * paths)

    @property
    def delta(self) -> Fraction:
        """How much the score of a node must gain for every level that it is deeper."""
        return self.gamma * self.lam

    def begin(self) -> None:
        """Begin the one tree that was paid for; a second one needs a splitter of its own."""
        if self._trees:
            raise UsageError("These decisions were paid for one tree; pay for the next one.")
        self._trees.append("begun")

    def split(self, scores: Sealed[NDArray[np.int64]], depth: int) -> NDArray[np.bool_]:
        """For every node of one depth, whether it is split; private by the theorem above.

        The caller vouches for the theorem's premises: the set of nodes is public (all children of
        nodes that were split, also empty ones), and scores do not grow downwards. Every depth is asked about
        once, on the way down, and scores that move by more than was paid for are refused.
        """
        if not self._paid:
            raise UsageError("These decisions were not paid for; use Splitter.paid.")
        if scores.relation is not self.relation or scores.sensitivity.l1 > self.moves:
            raise UsageError(
                f"These decisions were paid for scores that move by {self.moves} under "
                f"'{self.relation.value}', not by {scores.sensitivity.l1} under '{scores.relation.value}'."
            )
        if self._asked and depth <= self._asked[-1]:
            raise UsageError("Every depth of a tree is decided about once, on the way down.")
        self._asked.append(depth)
        return self.randomness.draw(Splits(self._margins(open_seal(scores), depth), Fraction(1, STEPS)))

    def _margins(self, scores: NDArray[np.int64], depth: int) -> Integers:
        """(b - theta) / lambda in steps, with b clamped from below at theta - delta."""
        inverse, slope = int(STEPS / self.lam), int(self.gamma * STEPS)
        largest = (int(np.abs(scores).max(initial=0)) + abs(self.theta)) * inverse + (depth + 1) * slope
        kind = np.int64 if largest < 1 << 62 else np.object_
        biased = (scores.astype(kind) - self.theta) * inverse - depth * slope
        clamped: Integers = np.maximum(biased, -slope)
        return clamped

    def log_chances(self, scores: NDArray[np.int64], depth: int) -> tuple[Reals, Reals]:
        """The logarithms of the chances that nodes are split and are not, for audits and exact tests."""
        # Differences first, exactly: near 2**62 doubles are hundreds apart.
        return log_chances(self._margins(scores, depth).astype(np.float64) / STEPS)


def _inverse_scale(epsilon: Fraction, moves: Fraction) -> int:
    """1 / lambda in steps, rounded down."""
    inverse = int(STEPS * epsilon / moves)
    if epsilon > 0 and inverse < 1:
        raise UsageError(
            "The budget is too small to decide about a tree; take a larger epsilon. Nothing was spent on it."
        )
    return inverse


def log_chances(margins: Reals) -> tuple[Reals, Reals]:
    """ln Pr[Lap(1) > -margin] and ln Pr[Lap(1) <= -margin]."""
    rare = -np.abs(margins) - log(2)
    common = np.log1p(-np.exp(rare))
    return np.where(margins > 0, common, rare), np.where(margins > 0, rare, common)
