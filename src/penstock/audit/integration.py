"""Exact output probabilities of sparse-vector algorithms, by summing over the threshold's noise.

Given the noise z on the threshold, the answers of a sparse vector are independent, so the probability of a
list of answers is the integral over z of a product. With discrete noise the integral is a sum over whole
numbers. With continuous Laplace noise the integrand is smooth between the kinks at the queries' values, and
Gauss-Legendre quadrature between them is accurate to about 13 digits. Either way nothing is sampled. All is
done with logarithms, so that answers of probability 1e-200 are as accurate as likely ones.

`Variant` describes the algorithm: the published ones, right and wrong, differ in their noise scales, in
whether the threshold's noise is drawn anew after a yes, in whether they stop, and in what they tell with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from penstock.audit.exact import Distribution
from penstock.privacy.mechanisms.sparse_design import Design

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """A yes that tells the very number that was compared with the threshold."""

    number: float


Answer = bool | Told

REACH = 60.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Variant:
    """An algorithm of the sparse-vector kind on queries of sensitivity 1; `most` None: it never stops."""

    threshold_scale: float
    query_scale: float
    most: int | None
    redraw: bool = False
    discrete: bool = False

    @classmethod
    def of(cls, design: Design) -> Variant:
        """What Penstock ships: discrete noise at the scales of a design."""
        return cls(
            float(design.threshold_scale), float(design.query_scale), design.c, design.redraw, discrete=True
        )


def log_probability(variant: Variant, values: Sequence[float], answers: Sequence[Answer]) -> float:
    """The logarithm of the probability of these answers; queries stand for query minus threshold.

    Queries beyond the last answer were not asked any more. A yes that tells its noisy value contributes a
    density instead of a probability.
    """
    if not variant.redraw:
        return _stretch(variant, tuple(values[: len(answers)]), tuple(answers))
    total, start = 0.0, 0
    for end, answer in enumerate(answers, start=1):
        if answer is not False or end == len(answers):
            total += _stretch(variant, tuple(values[start:end]), tuple(answers[start:end]))
            start = end
    return total


def loss(
    variant: Variant, first: Sequence[float], second: Sequence[float], answers: Sequence[Answer]
) -> float:
    """How much likelier these answers are under one of two inputs than under the other, in logarithms."""
    one, two = (log_probability(variant, values, answers) for values in (first, second))
    return 0.0 if one == two else abs(one - two)


def law(variant: Variant, values: Sequence[float]) -> Distribution:
    """Every possible list of answers with its probability; an outcome is the tuple of answers."""
    size, most = len(values), len(values) if variant.most is None else variant.most
    outcomes: list[tuple[bool, ...]] = []
    for yeses in range(min(most, size) + 1):
        for places in combinations(range(size), yeses):
            # The last yes that there is ends the list.
            length = places[-1] + 1 if yeses == variant.most and places else size
            outcomes.append(tuple(place in places for place in range(length)))
    if variant.redraw or variant.query_scale == 0:
        logs = {outcome: log_probability(variant, values, outcome) for outcome in outcomes}
    else:
        logs = _logs(variant, values, outcomes)
    return Distribution({outcome: value for outcome, value in logs.items() if value > -inf})


def _logs(
    variant: Variant, values: Sequence[float], outcomes: Sequence[tuple[bool, ...]]
) -> dict[tuple[bool, ...], float]:
    """All outcomes over one grid: the noes of a beginning are summed once."""
    nodes, weights = _grid(variant, tuple(sorted(set(values))), 0.0)
    no = np.array([_log_no(variant, nodes - value) for value in values])
    gain = np.array([_log_yes(variant, nodes - value) for value in values]) - no
    before = np.vstack([np.zeros_like(nodes), np.cumsum(no, axis=0)])
    return {
        outcome: _log_sum(weights + before[len(outcome)] + gain[np.flatnonzero(outcome)].sum(axis=0))
        for outcome in outcomes
    }


@lru_cache(maxsize=4096)
def _stretch(variant: Variant, values: tuple[float, ...], answers: tuple[Answer, ...]) -> float:
    """Answers under one draw of the threshold's noise."""
    kinks = {*values, *(answer.number for answer in answers if isinstance(answer, Told))}
    nodes, total = _grid(variant, tuple(sorted(kinks)), log(1 + len(values)))
    density = 0.0
    for (value, answer), times in Counter(zip(values, answers, strict=True)).items():
        if isinstance(answer, Told):
            # The number reached the threshold, and everybody can see it: z is at most the number.
            total = np.where(nodes <= answer.number, total, -inf)
            once = -abs(answer.number - value) / variant.query_scale - log(2 * variant.query_scale)
            density += times * once
        elif answer:
            total = total + times * _log_yes(variant, nodes - value)
        else:
            total = total + times * _log_no(variant, nodes - value)
    return _log_sum(total) + density


def _grid(variant: Variant, kinks: tuple[float, ...], spare: float) -> tuple[Reals, Reals]:
    """Where to evaluate, and the logarithm of weight times density of the threshold's noise there."""
    widest, narrowest = _scales(variant)
    reach = (REACH + spare) * widest
    low, high = min(0.0, *kinks) - reach, max(0.0, *kinks) + reach
    scale = variant.threshold_scale
    if variant.discrete:
        nodes = np.arange(np.floor(low), np.ceil(high) + 1)
        return nodes, -np.abs(nodes) / scale + log(-np.expm1(-1 / scale)) - np.log1p(np.exp(-1 / scale))
    cuts = np.array(sorted({low, 0.0, high, *kinks}))
    panels = np.concatenate(
        [np.linspace(left, right, 2 + int((right - left) / narrowest))[:-1] for left, right in pairwise(cuts)]
    )
    ends = np.append(panels[1:], cuts[-1])
    middle, half = (panels + ends) / 2, (ends - panels) / 2
    nodes = (middle[:, None] + half[:, None] * _NODES).ravel()
    weights = (half[:, None] * _WEIGHTS).ravel()
    return nodes, np.log(weights) - np.abs(nodes) / scale - log(2 * scale)


def _scales(variant: Variant) -> tuple[float, float]:
    scales = [scale for scale in (variant.threshold_scale, variant.query_scale) if scale > 0]
    return max(scales), min(scales)


def _log_yes(variant: Variant, needed: Reals) -> Reals:
    """log P(noise >= needed)."""
    scale = variant.query_scale
    if scale == 0:
        return np.where(needed <= 0, 0.0, -inf)
    if variant.discrete:
        base = np.log1p(np.exp(-1 / scale))
        far = -np.maximum(needed, 1) / scale - base
        near = np.log1p(-np.exp(-(1 - np.minimum(needed, 0)) / scale - base))
        return np.asarray(np.where(needed >= 1, far, near))
    far = -np.maximum(needed, 0) / scale - log(2)
    near = np.log1p(-np.exp(np.minimum(needed, 0) / scale) / 2)
    return np.asarray(np.where(needed >= 0, far, near))


def _log_no(variant: Variant, needed: Reals) -> Reals:
    """log P(noise < needed): the noise is symmetric."""
    if variant.query_scale == 0:
        return np.where(needed > 0, 0.0, -inf)
    return _log_yes(variant, 1 - needed if variant.discrete else -needed)


def _log_sum(logs: Reals) -> float:
    top = float(logs.max())
    return top if top == -inf else top + log(float(np.exp(logs - top).sum()))
