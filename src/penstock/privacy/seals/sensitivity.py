"""Sensitivities: how far a value moves when one unit changes, in the norms that mechanisms ask for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from penstock.errors import UsageError


@dataclass(frozen=True)
class Sensitivity:
    """How far a value can move when one unit changes.

    `l1` sums over coordinates, `linf` is the largest single coordinate, `l2_squared` the squared
    Euclidean norm. `monotone` says that all coordinates move in the same direction, which halves
    the price of a choice. `spread` bounds max minus min of the coordinates' changes (the "bounded
    range" of the exponential mechanism); by default it follows from the others. `trace` is known of symmetric
    matrices alone: the absolute eigenvalues of the change, added up.
    """

    l1: Fraction
    linf: Fraction
    l2_squared: Fraction
    monotone: bool = False
    spread_bound: Fraction | None = None
    trace: Fraction | None = None

    def __post_init__(self) -> None:
        bounds = (self.spread_bound or Fraction(0), self.trace or Fraction(0))
        norms = (self.l1, self.linf, self.l2_squared, *bounds)
        # A fraction of NumPy integers would wrap around in later arithmetic, and noise become too small.
        if not all(isinstance(norm, Fraction) and type(norm.numerator) is int for norm in norms):
            raise UsageError("A sensitivity is made of exact fractions; use Sensitivity.of.")
        if min(norms) < 0 or self.linf > self.l1:
            raise UsageError("A sensitivity cannot be negative, nor one coordinate move more than all.")

    @classmethod
    def of(
        cls,
        l1: Fraction | int,
        *,
        linf: Fraction | int | None = None,
        l2_squared: Fraction | int | None = None,
        monotone: bool = False,
        spread: Fraction | int | None = None,
        trace: Fraction | int | None = None,
    ) -> Sensitivity:
        """The sensitivity with the given norms; what is not given is bounded by what is.

        >>> Sensitivity.of(2).l2_squared
        Fraction(4, 1)
        """
        one = _exact(l1)
        top = one if linf is None else _exact(linf)
        square = one * top if l2_squared is None else _exact(l2_squared)
        range_, absolute = (None if bound is None else _exact(bound) for bound in (spread, trace))
        return cls(one, top, square, monotone, range_, absolute)

    @classmethod
    def scores(
        cls,
        per_candidate: Fraction | int,
        candidates: int,
        *,
        monotone: bool = False,
        spread: Fraction | int | None = None,
    ) -> Sensitivity:
        """Scores of so many candidates: each can move by `per_candidate`, all of them at once."""
        step = _exact(per_candidate)
        return cls.of(step * max(1, int(candidates)), linf=step, monotone=monotone, spread=spread)

    @property
    def spread(self) -> Fraction:
        """Largest possible max-minus-min of the coordinates' changes."""
        # Two coordinates that move apart share the L1 budget, and each moves by no more than linf.
        natural = self.linf if self.monotone else min(2 * self.linf, self.l1)
        return natural if self.spread_bound is None else min(self.spread_bound, natural)

    def scaled(self, factor: Fraction | int) -> Sensitivity:
        """The sensitivity of `factor` times the value."""
        size = abs(_exact(factor))
        bound = None if self.spread_bound is None else self.spread_bound * size
        trace = None if self.trace is None else self.trace * size
        squares = self.l2_squared * size**2
        return Sensitivity(self.l1 * size, self.linf * size, squares, self.monotone, bound, trace)


def _exact(number: Fraction | int) -> Fraction:
    """The number as a fraction of Python's own integers, which have no end."""
    value = Fraction(number)
    return Fraction(int(value.numerator), int(value.denominator))
