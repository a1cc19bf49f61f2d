"""Several different candidates, best first: noise once and the largest, or one after another."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from penstock.privacy.laws.choices import heads_of
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ONE, ZERO, Between, Log
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.randomness.without_replacement import largest_noisy, tilted_several


@dataclass(frozen=True, eq=False)
class OneAfterAnother(Law[list[int]]):
    """The exponential mechanism again and again, each time among the candidates that are left."""

    gaps: Integers
    rate: Fraction
    many: int

    @property
    def public(self) -> Hashable:
        return "exponential, one after another", self.gaps.size, self.rate, self.many

    def draw(self, source: Randomness) -> list[int]:
        return tilted_several(self.gaps, self.rate, self.many, source)

    def log_probability(self, output: list[int]) -> Log:
        far, chosen = [int(gap) for gap in self.gaps], set(output)
        shares = {gap: Between.exp(-self.rate * gap) for gap in set(far)}
        left = ZERO
        for place, gap in enumerate(far):
            if place not in chosen:
                left = left + shares[gap]
        total = Log()
        for one in reversed(output):  # the last one was chosen among those that never were, and itself
            left = left + shares[far[one]]
            total = total + Log.ln(ONE / left, -self.rate * far[one])
        return total


@dataclass(frozen=True, eq=False)
class LargestNoisy(Law[list[int]]):
    """The `many` largest scores after exponential noise of this rate was added to each, largest first.

    A rate of None stands for no noise: the best ones, ties in random order.
    """

    gaps: Integers
    rate: Fraction | None
    many: int

    @property
    def public(self) -> Hashable:
        return "largest noisy", self.gaps.size, self.rate, self.many

    def draw(self, source: Randomness) -> list[int]:
        return largest_noisy(self.gaps, self.rate, self.many, source)

    def log_probability(self, output: list[int]) -> Log:
        far = [int(gap) for gap in self.gaps]
        chosen = [far[one] for one in output]
        rest = [gap for place, gap in enumerate(far) if place not in set(output)]
        if self.rate is None:
            return _among_ties(chosen, rest)
        return Log.ln(_first_in_order(chosen, rest, self.rate))


def _among_ties(chosen: Sequence[int], rest: Sequence[int]) -> Log:
    left, chance = sorted([*chosen, *rest]), Fraction(1)
    for gap in chosen:
        if gap != left[0]:
            return NEVER
        chance /= left.count(gap)
        left.remove(gap)
    return Log.ln(Between.of(chance))


def _first_in_order(chosen: Sequence[int], rest: Sequence[int], rate: Fraction) -> Between:
    """The chance that the chosen, with these gaps, come first and in their order.

    If E is exponential noise of rate r, exp(-r E) is uniform on (0, 1): the order of the noisy scores is that
    of independent variables, uniform on (0, y) with y = exp(r gap), smallest first. The different y cut the
    line into cells, and inside a cell everybody is uniform. So the chosen lie in cells that do not fall, each
    in one with chance width / y, those of one cell in any of their orders equally often, and whoever is not
    chosen lies in a later cell than the last of them, or in the same one and behind it: of j + u in one cell
    the j are the first, in their order, with chance u! / (j + u)!.
    """
    edges = [ZERO] + [Between.exp(rate * gap) for gap in sorted({*chosen, *rest})]
    levels = sorted({*chosen, *rest})
    end = min(rest, default=max(chosen))  # who is not chosen is passed at the end of the own stretch
    many = len(chosen)
    placed = [ONE] + [ZERO] * many  # how likely the first so many chosen lie in earlier cells, in order
    total = ZERO
    for cell, level in enumerate(levels):
        if level > end:
            break
        width = edges[cell + 1] - edges[cell]
        # A candidate whose stretch ended before this cell cannot lie in it.
        here = [width / Between.exp(rate * gap) if gap >= level else ZERO for gap in chosen]
        if rest:
            waiting = [ONE - edges[cell] / Between.exp(rate * gap) for gap in rest]  # not in earlier cells
            total = total + _ends_here(placed, here, waiting, [width / Between.exp(rate * g) for g in rest])
        after = [ZERO] * (many + 1)
        for before in range(many + 1):
            share = placed[before]
            after[before] = after[before] + share
            for more in range(1, many - before + 1):
                share = share * here[before + more - 1]
                after[before + more] = after[before + more] + share / Between.of(factorial(more))
        placed = after
    return total if rest else placed[many]


def _ends_here(
    placed: Sequence[Between], here: Sequence[Between], waiting: Sequence[Between], joining: Sequence[Between]
) -> Between:
    """The chance that the last of the chosen lies in this cell, and before everybody who is not chosen."""
    many = len(here)
    # `waiting` is the chance of not lying in an earlier cell, `joining` of lying in this one.
    everybody = ONE
    for chance in waiting:
        everybody = everybody * chance
    beside = heads_of([one / other for one, other in zip(joining, waiting, strict=True)])
    total = ZERO
    for together in range(1, many + 1):
        share = placed[many - together]
        for chance in here[many - together :]:
            share = share * chance
        first = ZERO
        for others, chance in enumerate(beside):
            first = first + chance * Between.of(Fraction(factorial(others), factorial(others + together)))
        total = total + share * first
    return total * everybody
