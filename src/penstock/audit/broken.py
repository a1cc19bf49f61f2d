"""Deliberately broken mechanisms: the mistakes that published software makes, each with a false claim.

They exist to show that the audit would notice. Nothing outside `penstock.audit` may import this module;
none of these functions takes a budget, so none can pass for a mechanism in a release.

Histograms are tuples of counts over a public universe of cells, all with the claim "epsilon 1".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.exact import Distribution, discrete_gaussian, discrete_laplace, exponential, independent
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation

ONE = Fraction(1)
SLACK = Fraction(1, 100)
Histogram = Sequence[int]


def targets() -> tuple[Target, ...]:
    """Every broken mechanism; each must be refuted."""
    return (
        _broken(
            "halved-sensitivity",
            "noise for half of the sensitivity",
            [Pair((3, 0), (4, 0))],
            partial(noisy_histogram, scale=ONE / 2),
            distribution=partial(_noisy_histogram_law, scale=0.5),
        ),
        _broken(
            "replace-as-add-remove",
            "noise for one changed cell where replacing a record changes two",
            [Pair((3, 1), (2, 2))],
            noisy_histogram,
            promise=Promise(ONE, relation=Relation.REPLACE),
            distribution=_noisy_histogram_law,
        ),
        _broken("forgotten-noise", "the exact counts", [Pair((3, 0), (3, 1))], exact_histogram),
        _broken(
            "noise-on-nonempty-cells",
            "empty cells are left alone",
            [Pair((3, 0), (3, 1))],
            noise_where_occupied,
        ),
        _broken(
            "domain-from-data",
            "the list of categories is read off the records",
            [Pair((3, 0), (3, 1))],
            only_seen_categories,
        ),
        _broken(
            "size-from-data",
            "the exact number of records decides how many values come out",
            [Pair((3, 0), (3, 1))],
            one_value_per_record,
        ),
        _broken("fixed-seed", "the noise is the same in every release", [Pair((3, 0), (4, 0))], same_noise),
        _broken(
            "budget-used-twice",
            "two answers for the price of one",
            [Pair((3, 0), (4, 0))],
            answered_twice,
            distribution=lambda counts: _noisy_histogram_law((*counts, *counts)),
        ),
        _broken(
            "clamp-after-sum",
            "the sum is clamped, not the values, and the noise fits one clamped value",
            [Pair((0.5, 0.5), (0.5, 0.5, 5.0))],
            sum_then_clamp,
        ),
        _broken(
            "redrawn-until-positive",
            "noise is drawn again until the count is not negative",
            [Pair((0,), (1,))],
            redrawn,
            distribution=_redrawn_law,
        ),
        _broken(
            "monotone-price-misused",
            "a choice at the monotone price, among scores that move both ways",
            [Pair((1, 0, 0, 0), (0, 1, 1, 1))],
            choose_at_monotone_price,
            distribution=lambda scores: exponential(scores, 1.0),
        ),
        _broken(
            "halved-deviation",
            "Gaussian noise with half of the standard deviation",
            [Pair((3,), (4,))],
            half_deviation,
            promise=Promise(ONE, SLACK),
            distribution=lambda counts: discrete_gaussian(counts[0], float(_half_variance())),
        ),
    )


def _broken(
    name: str,
    summary: str,
    pairs: Sequence[Pair],
    run: Callable[..., Any],
    *,
    promise: Promise | None = None,
    distribution: Callable[[Any], Distribution] | None = None,
) -> Target:
    return Target(
        f"broken-{name}",
        Kind.BROKEN,
        promise or Promise(ONE),
        summary,
        pairs,
        run=run,
        distribution=distribution,
    )


def noisy_histogram(counts: Histogram, randomness: Randomness, n: int, scale: Fraction = ONE) -> NDArray[Any]:
    """Discrete Laplace noise of the given scale on every cell, n times."""
    noise = samplers.discrete_laplace(scale, n * len(counts), randomness).reshape(n, -1)
    return np.asarray(counts) + noise


def _noisy_histogram_law(counts: Histogram, scale: float = 1.0) -> Distribution:
    return independent([discrete_laplace(count, scale, (-2, 7)) for count in counts])


def exact_histogram(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    return np.tile(np.asarray(counts), (n, 1))


def noise_where_occupied(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    return np.where(np.asarray(counts) > 0, noisy_histogram(counts, randomness, n), 0)


def only_seen_categories(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    return noisy_histogram([count for count in counts if count > 0], randomness, n)


def one_value_per_record(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    """Uniformly random values, which say nothing; their number says everything."""
    values = samplers.uniform(len(counts), n * sum(counts), randomness)
    return values.reshape(n, sum(counts))


def same_noise(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    once = noisy_histogram(counts, Randomness.seeded(0), 1)
    return np.tile(once, (n, 1))


def answered_twice(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    return np.hstack([noisy_histogram(counts, randomness, n), noisy_histogram(counts, randomness, n)])


def sum_then_clamp(values: Sequence[float], randomness: Randomness, n: int) -> NDArray[Any]:
    """The sum in sixteenths, clamped to 0..100 instead of each value to 0..1, with noise for the latter."""
    total = round(16 * min(max(sum(values), 0.0), 100.0))
    return (total + samplers.discrete_laplace(Fraction(16), n, randomness)) / 16


def redrawn(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    """Rejection of what is negative: the chance of acceptance depends on the count."""
    found = np.empty(0, dtype=np.int64)
    while len(found) < n:
        drawn = noisy_histogram(counts, randomness, 2 * n).ravel()
        found = np.concatenate([found, drawn[drawn >= 0]])
    return found[:n]


def _redrawn_law(counts: Histogram) -> Distribution:
    law = discrete_laplace(counts[0], 1.0, (-1, 7))
    kept = {outcome: value for outcome, value in law.logs.items() if outcome != -1}
    lost = log(1 - exp(law.logs[-1]))
    return Distribution({outcome: value - lost for outcome, value in kept.items()})


def choose_at_monotone_price(scores: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    """Candidate i with probability proportional to e^scores[i]; twice the rate that these scores allow."""
    best = max(scores)
    chosen = np.empty(0, dtype=np.int64)
    while len(chosen) < n:
        offered = samplers.uniform(len(scores), 8 * n, randomness)
        gaps = best - np.asarray(scores)[offered]
        accepted = samplers.bernoulli_exp_each(gaps, ONE, randomness)
        chosen = np.concatenate([chosen, offered[accepted]])
    return chosen[:n]


def half_deviation(counts: Histogram, randomness: Randomness, n: int) -> NDArray[Any]:
    return np.asarray(counts) + samplers.discrete_gaussian(_half_variance(), n, randomness)[:, None]


def _half_variance() -> Fraction:
    from penstock.privacy.mechanisms.noise import gaussian_variance

    return gaussian_variance(ONE, ONE, SLACK) / 4
