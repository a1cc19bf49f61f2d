"""Smooth sensitivity under audit: exact losses between all neighbouring graphs of five nodes, and broken
copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, pi, tanh

import numpy as np

from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.graph.audits.ladders import Links, graph_of, neighbouring
from penstock.kinds.graph.patterns import Pattern, Star, Triangle
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms.smooth import (
    Calibration,
    cauchy_parameters,
    cauchy_scale,
    laplace_beta,
    smooth_sensitivity,
)

FARTHEST = 4_000


@dataclass(frozen=True)
class CauchyLoss:
    """The loss of discrete Cauchy noise between two graphs; `rounded` rounds S up to a whole number."""

    pattern: Pattern
    epsilon: Fraction
    calibration: Calibration = "tight"
    rounded: bool = False

    def __call__(self, first: Links, second: Links) -> float:
        one, two = (self.pattern.rungs(graph_of(links)) for links in (first, second))
        scales = [self._scale(rungs) for rungs in (one, two)]
        endless = abs(self._far(scales[0]) - self._far(scales[1]))  # of outputs without end
        outputs = one.value + np.arange(-FARTHEST, FARTHEST + 1)
        chances = [
            self._far(scale) - np.log(scale**2 + (outputs - rungs.value) ** 2)
            for rungs, scale in zip((one, two), scales, strict=True)
        ]
        return max(endless, float(np.abs(chances[0] - chances[1]).max()))

    def _scale(self, rungs: Rungs) -> float:
        alpha, beta = cauchy_parameters(self.epsilon, self.calibration)
        if not self.rounded:
            return float(cauchy_scale(rungs, alpha, beta))
        return -(-float(smooth_sensitivity(rungs, beta)) // 1) / float(alpha)

    def _far(self, scale: float) -> float:
        return log(scale) + log(tanh(pi * scale)) - log(pi)


@dataclass(frozen=True)
class LaplaceLoss:
    """The epsilon that discrete Laplace noise on a smooth sensitivity has at its delta, between two
    graphs."""

    pattern: Pattern
    epsilon: Fraction
    delta: Fraction
    forgets_scale: bool = False

    def __call__(self, first: Links, second: Links) -> float:
        one, two = (self.pattern.rungs(graph_of(links)) for links in (first, second))
        return max(self._epsilon(one, two), self._epsilon(two, one))

    def _epsilon(self, one: Rungs, two: Rungs) -> float:
        """The smallest epsilon with P - exp(epsilon) Q <= delta, summed where it is above zero; by
        bisection."""
        scales = [self._scale(rungs) for rungs in (one, two)]
        outputs = one.value + np.arange(-FARTHEST, FARTHEST + 1)
        likely, other = (
            tanh(0.5 / scale) * np.exp(-np.abs(outputs - rungs.value) / scale)
            for rungs, scale in zip((one, two), scales, strict=True)
        )
        low, high = 0.0, 2 * float(self.epsilon) + 20
        for _ in range(40):
            middle = (low + high) / 2
            over = float(np.maximum(0.0, likely - exp(middle) * other).sum())
            low, high = (middle, high) if over > float(self.delta) else (low, middle)
        return high

    def _scale(self, rungs: Rungs) -> float:
        if self.forgets_scale:
            return float(2 * max(1, rungs.width(0)) / self.epsilon)
        return float(2 * smooth_sensitivity(rungs, laplace_beta(self.epsilon, self.delta)) / self.epsilon)


def targets() -> tuple[Target, ...]:
    """Smooth noise as it is shipped, and broken copies."""
    some: Sequence[Pair] = tuple(neighbouring())[::7]
    one = Fraction(1)
    return (
        _target("smooth-cauchy-triangle", "Cauchy noise on triangles", CauchyLoss(Triangle(), one), some),
        _target("smooth-cauchy-2-star", "Cauchy noise on 2-stars", CauchyLoss(Star(2), one), some),
        _target(
            "smooth-cauchy-published",
            "Cauchy noise as published, on triangles",
            CauchyLoss(Triangle(), one, "published"),
            some,
        ),
        _target(
            "smooth-laplace-triangle",
            "Laplace noise on the smooth sensitivity of triangles",
            LaplaceLoss(Triangle(), one, Fraction(1, 100)),
            some,
            Fraction(1, 100),
        ),
        _target(
            "broken-smooth-cauchy-rounded",
            "smooth-counts: the smooth sensitivity is rounded up to a whole number",
            CauchyLoss(Triangle(), Fraction(1, 4), rounded=True),
            tuple(neighbouring()),
            epsilon=Fraction(1, 4),
        ),
        _target(
            "broken-smooth-laplace-local",
            "kronecker: noise on the local sensitivity as it is, not smoothed",
            LaplaceLoss(Triangle(), Fraction(1, 4), Fraction(1, 10**6), forgets_scale=True),
            tuple(neighbouring()),
            Fraction(1, 10**6),
            epsilon=Fraction(1, 4),
        ),
    )


def _target(
    name: str,
    summary: str,
    loss: Callable[[Links, Links], float],
    pairs: Sequence[Pair],
    delta: Fraction = Fraction(0),
    *,
    epsilon: Fraction = Fraction(1),
) -> Target:
    kind = Kind.BROKEN if name.startswith("broken-") else Kind.SHIPPED
    return Target(name, kind, Promise(epsilon, delta), summary, pairs, loss=loss)
