"""Noisy choices: the exponential-mechanism family.

Guarantee: pure epsilon; rho-zCDP where the exponential mechanism is paid in rho.
Why: let u(o) be the change of candidate o's score between two neighbouring inputs and R a bound on
max u - min u (`Sensitivity.spread`). Both methods look at differences of scores only, and both cost epsilon
when a difference of one point is worth a factor exp(-epsilon/R):

* The exponential mechanism picks o with probability proportional to base(o) exp(epsilon q(o)/R). Between
  neighbours that changes by exp(epsilon u(o)/R) divided by a weighted mean of such factors, a ratio between
  exp(-epsilon) and exp(epsilon).
* Permute-and-flip (McKenna and Sheldon 2020) looks at the candidates in random order and takes the first
  whose coin shows heads, with probability exp(-epsilon (max q - q(o))/R). It is the largest of the scores
  with independent exponential noise of mean R/epsilon added: given everybody else's noisy maximum m,
  candidate o wins with probability min(1, exp(-epsilon (m - q(o))/R)), and m - q(o) changes by at most R.
  It is never worse than the exponential mechanism, and its expected loss can be half of it.

Several at once (`best_several`), c of them in order. Choosing c times with epsilon/c each is composition.
The `one-shot` method instead adds independent exponential noise of mean c R/epsilon once and takes the c
largest.

* It costs epsilon. Let u be the change of the scores and u_max its largest. Given the noise of everybody
  else, add u_max - u(o), between 0 and R, to the noise of each of the c chosen ones: their noisy scores all
  rise by u_max, their order stays, and whoever was not chosen rises by no more. Each such shift costs a
  factor of at most exp(epsilon/c), and adding keeps exponential noise in its range. For c = 1 it is
  permute-and-flip.
* It is at least as good as the exponential mechanism's c choices, for every table of scores and every gain
  that grows with the scores of the chosen. Those c choices are the c largest after one round of Gumbel noise
  of scale c R/epsilon, and Gumbel noise is exponential noise plus something independent (minus the logarithm
  of a Gamma(2) variable: Gamma(1 - it) = Gamma(2 - it) / (1 - it) are their characteristic functions). So
  they are a symmetric rule based on a noisier copy of what one-shot sees. Let all assignments of the scores
  to the candidates be equally likely. The likelihood ratio of exponential noise grows with the observation,
  so the larger of two observations more likely belongs to the larger score, and taking the c largest is best
  among all rules (Bahadur and Goodman 1952, Lehmann 1966). A symmetric rule does equally well under every
  assignment, so what holds for the mean over them holds for each.

Paid in rho. The exponential mechanism's loss for an output o is epsilon u(o)/R plus something that does not
depend on o, so that the losses of all outputs lie in an interval of length epsilon: it has bounded range
epsilon, and is epsilon^2/8-zCDP. Paid rho, it uses the largest epsilon for which that is at most rho.
Permute-and-flip has no such interval (its losses span up to 2 epsilon), and is not paid in rho.

R is 2 linf in general, linf when all scores move in the same direction (`monotone`), or a tighter bound that
the score's author proves. Using the monotonic scale for a score that is not monotone breaks the guarantee:
changes of +1 and -1 at epsilon 1 can cost 1.434. That is why R comes with the sealed scores and is no
parameter here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.accounting import range_of
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.budget import Budget, Rho
from penstock.privacy.laws.choices import PermuteAndFlip, PointOf, PointOfEach, Tilted
from penstock.privacy.laws.tops import LargestNoisy, OneAfterAnother
from penstock.privacy.mechanisms.lattice import power_of_two, public_step, to_steps
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.seals.sealed import Sealed, form_of, open_seal
from penstock.privacy.unit import Relation

Method = Literal["permute-and-flip", "exponential"]
SeveralMethod = Literal["one-shot", "exponential", "permute-and-flip"]


def best(
    scores: Sealed[NDArray[Any]],
    pay: Budget | Rho,
    *,
    method: Method = "permute-and-flip",
    base: ArrayLike | None = None,
    granularity: Fraction | float | None = None,
) -> int:
    """The index of a candidate with a high score; pays all that is left of `pay`.

    `base` holds public integer weights of the candidates (exponential mechanism only). Real-valued scores are
    rounded to whole steps of a public power of two, by default at most 1/4096 of R, and R grows by two steps.
    Only the exponential mechanism can be paid in rho.
    """
    plan = _plan(scores, method, base, granularity, get_args(Method))
    if isinstance(pay, Rho):
        if method != "exponential":
            raise UsageError("Only method='exponential' can be paid in rho. Nothing was spent.")
        amount = pay.left
        epsilon = range_of(amount)
        if epsilon <= 0:
            raise BudgetError(f"Nothing is left of '{pay.label}' to pay for a choice.")
    else:
        amount = epsilon = _epsilon(pay)
    source = pay.spend(
        method, scores, amount=amount, sensitivity=plan.range_text, detail=f"{plan.size} candidates"
    )
    return plan.draw(plan.whole(open_seal(scores)), plan.rate(epsilon), None, source)


def best_several(
    scores: Sealed[NDArray[Any]],
    many: int,
    pay: Budget,
    *,
    method: SeveralMethod = "one-shot",
    base: ArrayLike | None = None,
    granularity: Fraction | float | None = None,
) -> list[int]:
    """Indices of `many` different candidates, best first; pays all that is left of `pay`.

    `one-shot` adds noise once and is at least as good as `exponential` for every table of scores (see the
    module's text). `exponential` and `permute-and-flip` choose one after another, each with an equal share:
    sequential composition, for who was chosen before is public by then and only shortens the list.
    """
    plan = _plan(scores, method, base, granularity, get_args(SeveralMethod))
    if not isinstance(many, int) or isinstance(many, bool) or not 1 <= many <= plan.eligible:
        raise UsageError(
            f"Cannot choose {many!r} different ones of {plan.eligible} candidates. Nothing was spent."
        )
    epsilon = _epsilon(pay)
    rate = plan.rate(epsilon / many)
    detail = f"{many} of {plan.size} candidates"
    source = pay.spend(method, scores, amount=epsilon, sensitivity=plan.range_text, detail=detail)
    whole = plan.whole(open_seal(scores))
    if base is None and method != "permute-and-flip":
        gaps = _gaps(whole, np.ones(plan.size, dtype=np.bool_))
        if method == "exponential" and rate is not None:
            return source.draw(OneAfterAnother(gaps, rate, many))
        return source.draw(LargestNoisy(gaps, rate, many))
    chosen: list[int] = []
    while len(chosen) < many:
        chosen.append(plan.draw(whole, rate, chosen, source))
    return chosen


@dataclass(frozen=True)
class Steps:
    """A score on the whole numbers low ... high - 1 that is constant between edges.

    Between `edges[i]` and `edges[i+1] - 1` the score is `scores[i]`. The edges may come from the records (the
    sorted values, for a median): what is chosen is a point, and the steps only say which points score alike.
    """

    edges: NDArray[np.int64]
    scores: NDArray[np.int64]


def point(scores: Sealed[Steps], low: int, high: int, pay: Budget) -> int:
    """A whole number in low ... high - 1 with a high score, by the exponential mechanism over all of them.

    A piece is drawn with weight length times exp(epsilon q/R), then a point of it uniformly: together that is
    one exact draw over the points, whatever the pieces are. Choose the unit so that one step of the domain is
    as fine as anybody needs; the cost does not depend on it.
    """
    if low >= high:
        raise UsageError(f"The domain {low} ... {high} holds no whole number. Nothing was spent.")
    if high - low >= 1 << 63:
        raise UsageError("A domain of 2**63 points or more is too fine; use larger steps. Nothing was spent.")
    moves = scores.sensitivity.spread
    epsilon = _epsilon(pay)
    rate = _rate(epsilon, moves)
    source = pay.spend(
        "exponential",
        scores,
        amount=epsilon,
        sensitivity=f"range {plain(moves)}",
        detail=f"{high - low} points",
    )
    return source.draw(_point_of(open_seal(scores), low, high, rate))


def points(scores: Sealed[tuple[Steps, ...]], low: int, high: int, pay: Budget) -> tuple[int, ...]:
    """The same for each of several parts of the records that share no unit, paid for only once.

    The sealed scores state how far those of one part move; a unit that is added or removed belongs to one
    part, and the scores of all others stay as they are. So the points of the other parts are as likely as
    before, and all of them together cost what one does.
    """
    if not 0 < high - low < 1 << 63:
        raise UsageError(f"The domain {low} ... {high} is empty or too fine. Nothing was spent.")
    if scores.relation is not Relation.ADD_REMOVE:
        raise UsageError("A unit that is replaced may leave one part for another. Nothing was spent.")
    moves = scores.sensitivity.spread
    epsilon = _epsilon(pay)
    rate = _rate(epsilon, moves)
    source = pay.spend(
        "exponential",
        scores,
        amount=epsilon,
        sensitivity=f"range {plain(moves)}",
        detail=f"{high - low} points in each of several disjoint parts",
    )
    each = tuple(_point_of(steps, low, high, rate) for steps in open_seal(scores))
    return source.draw(PointOfEach(each))


def _point_of(steps: Steps, low: int, high: int, rate: Fraction | None) -> PointOf:
    """The law of one point; the steps must rise and cover exactly the public domain."""
    lengths = np.diff(steps.edges)
    if (
        lengths.size != steps.scores.size
        or np.any(lengths < 0)
        or (steps.edges[0], steps.edges[-1]) != (low, high)
    ):
        raise UsageError("The steps of a sealed score must rise and cover exactly the public domain.")
    return PointOf(steps.edges, _gaps(steps.scores, lengths > 0), rate)


@dataclass(frozen=True)
class _Plan:
    """Everything about a choice that is public, checked before it is paid for."""

    size: int
    method: str
    base: Integers | None
    step: Fraction | None  # lattice step of real-valued scores
    spread: Fraction  # R, in lattice steps where there is a lattice

    @property
    def eligible(self) -> int:
        return self.size if self.base is None else int(np.count_nonzero(self.base))

    @property
    def range_text(self) -> str:
        return f"range {plain(self.spread * (self.step or 1))}"

    def rate(self, epsilon: Fraction) -> Fraction | None:
        return _rate(epsilon, self.spread)

    def whole(self, scores: NDArray[Any]) -> Integers:
        return scores if self.step is None else to_steps(scores, self.step)

    def draw(
        self, scores: Integers, rate: Fraction | None, without: list[int] | None, source: Randomness
    ) -> int:
        """One choice among the candidates that are not in `without`."""
        allowed = np.ones(self.size, dtype=np.bool_) if self.base is None else self.base > 0
        if without:
            allowed[without] = False
        (candidates,) = np.nonzero(allowed)
        gaps = _gaps(scores[candidates], np.ones(candidates.size, dtype=np.bool_))
        if self.method == "exponential":
            weights = None if self.base is None else self.base[candidates]
            return int(candidates[source.draw(Tilted(gaps, rate, weights))])
        return int(candidates[source.draw(PermuteAndFlip(gaps, rate))])


def _plan(
    scores: Sealed[NDArray[Any]],
    method: str,
    base: ArrayLike | None,
    granularity: Fraction | float | None,
    known: tuple[str, ...],
) -> _Plan:
    form = form_of(scores)
    if len(form.shape) != 1 or not form.size or form.kind not in "iufn":
        raise UsageError("A choice needs a non-empty vector of scores, one per candidate. Nothing was spent.")
    if method not in known:
        raise UsageError(
            f"method must be {' or '.join(map(repr, known))}, not {method!r}. Nothing was spent."
        )
    weights = None
    if base is not None:
        weights = np.asarray(base)
        if method != "exponential":
            raise UsageError("Only method='exponential' can weigh candidates by a base. Nothing was spent.")
        if (
            weights.shape != form.shape
            or weights.dtype.kind not in "iu"
            or weights.min() < 0
            or not weights.any()
        ):
            raise UsageError(
                "base must hold one whole number >= 0 per candidate, not all 0. Nothing was spent."
            )
    moves = scores.sensitivity.spread
    if form.kind != "f":
        return _Plan(form.size, method, weights, None, moves)
    step = public_step(granularity, power_of_two(moves / 4096) if moves else Fraction(1, 1 << 20))
    # Scores that move all alike (R = 0) are rounded at other places after the move, and drift apart by that.
    rounding = 2 if scores.sensitivity.linf else 0
    return _Plan(form.size, method, weights, step, moves / step + rounding)


def _epsilon(pay: Budget) -> Fraction:
    epsilon = pay.left[0]
    if epsilon <= 0:
        raise BudgetError(f"Nothing is left of '{pay.label}' to pay for a choice.")
    return epsilon


def _rate(epsilon: Fraction, moves: Fraction) -> Fraction | None:
    """What one point of score is worth; None when scores cannot move against each other."""
    return epsilon / moves if moves else None


def _gaps(scores: Integers, considered: NDArray[np.bool_]) -> Integers:
    """How far each score is below the best one considered (0 for those above it, which are not)."""
    top = scores[considered].max()
    if scores.dtype == object:
        exact_gaps: Integers = np.maximum(top - scores, 0)
        return exact_gaps
    # Differences of 64-bit integers can need 64 bits; modulo 2**64 they come out right.
    gaps = np.asarray(top).astype(np.uint64) - scores.astype(np.uint64)
    return np.where(scores <= top, gaps, np.uint64(0))
