"""Exact audits: the privacy loss of every outcome, without sampling.

Where a mechanism's output space is small, or known in closed form, its guarantee can be checked on given
inputs with no statistical doubt: enumerate all outcomes with their probabilities under both inputs and
take the worst ratio. Doing so for all neighbouring pairs among small inputs is a brute-force proof for
those inputs (and for those only). Log-probabilities are sums of doubles; `TOLERANCE` covers their rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, expm1, fsum, inf, isclose, log, log1p
from numbers import Integral
from typing import Any

from penstock.audit.neighbours import Pair
from penstock.errors import UsageError

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Distribution:
    """Every outcome of a mechanism on one input, with the logarithm of its probability.

    >>> Distribution.of({"heads": 0.75, "tails": 0.25}).probability("heads")
    0.75
    """

    logs: Mapping[Hashable, float]

    def __post_init__(self) -> None:
        total = fsum(exp(value) for value in self.logs.values())
        if not isclose(total, 1.0, abs_tol=1e-8):
            raise UsageError(f"The probabilities of an enumerated mechanism add up to {total:.9g}, not to 1.")

    @classmethod
    def of(cls, probabilities: Mapping[Any, float]) -> Distribution:
        return cls({outcome: log(share) for outcome, share in probabilities.items() if share > 0})

    def probability(self, outcome: Hashable) -> float:
        return exp(self.logs.get(outcome, -inf))

    def through(self, function: Callable[[Any], Hashable]) -> Distribution:
        """The distribution after post-processing: outcomes that become the same are added."""
        shares: dict[Hashable, list[float]] = {}
        for outcome, value in self.logs.items():
            shares.setdefault(function(outcome), []).append(value)
        return Distribution({outcome: _log_sum(values) for outcome, values in shares.items()})


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top + log(fsum(exp(value - top) for value in values))


def independent(parts: Sequence[Distribution]) -> Distribution:
    """Several independent outputs, released together."""
    return Distribution(
        {
            tuple(outcome for outcome, _ in chosen): fsum(value for _, value in chosen)
            for chosen in product(*(part.logs.items() for part in parts))
        }
    )


def pure_loss(first: Distribution, second: Distribution) -> float:
    """The smallest epsilon for which no outcome tells the two inputs apart by more than e^epsilon.

    >>> round(pure_loss(Distribution.of({0: 0.75, 1: 0.25}), Distribution.of({0: 0.25, 1: 0.75})), 6)
    1.098612
    """
    outcomes = first.logs.keys() | second.logs.keys()
    return max(
        (abs(first.logs.get(outcome, -inf) - second.logs.get(outcome, -inf)) for outcome in outcomes),
        default=0.0,
    )


def loss(first: Distribution, second: Distribution, delta: float = 0.0) -> float:
    """The smallest epsilon that makes (epsilon, delta) true for these two inputs, in both directions."""
    if delta <= 0:
        return pure_loss(first, second)
    return max(_one_sided(first, second, delta), _one_sided(second, first, delta))


def _one_sided(first: Distribution, second: Distribution, delta: float) -> float:
    """Take outcomes by falling ratio; between two ratios delta is linear in e^epsilon and can be solved."""
    shares = sorted(
        ((exp(value), second.probability(outcome)) for outcome, value in first.logs.items()),
        key=lambda pair: pair[0] / pair[1] if pair[1] > 0 else inf,
        reverse=True,
    )
    mass = other = 0.0
    for index, (share, other_share) in enumerate(shares):
        mass, other = mass + share, other + other_share
        if mass <= delta:
            continue
        if other <= 0:
            return inf
        factor = (mass - delta) / other  # the e^epsilon at which the outcomes taken so far exceed by delta
        following = shares[index + 1] if index + 1 < len(shares) else None
        if following is None or following[0] <= factor * following[1]:
            return max(0.0, log(factor))
    return 0.0


def worst(
    distribution: Callable[[Any], Distribution], pairs: Iterable[Pair], delta: float = 0.0
) -> tuple[float, Pair]:
    """The largest loss over the pairs, and the pair that has it.

    Inputs that occur in many pairs are enumerated once.
    """
    known: dict[Any, Distribution] = {}

    def of(value: Any) -> Distribution:
        key = repr(value)
        if key not in known:
            known[key] = distribution(value)
        return known[key]

    best: tuple[float, Pair] | None = None
    for pair in pairs:
        found = loss(of(pair.first), of(pair.second), delta)
        if best is None or found > best[0]:
            best = found, pair
    if best is None:
        raise UsageError("An exact audit needs at least one pair of neighbouring inputs.")
    return best


def discrete_laplace(value: int, scale: float, window: tuple[int, int]) -> Distribution:
    """``value`` plus two-sided geometric noise, P(z) proportional to exp(-|z|/scale), clamped to a window.

    Clamping is post-processing and adds the tails exactly. It hides nothing: beyond all values that an
    audit compares the loss is constant, so a window that holds them shows the same worst loss as the
    unbounded output.
    """
    low, high = window
    if not low < value < high:
        raise UsageError(f"The window {window} of an exact audit must hold the value {value} inside.")
    rate = 1.0 / scale
    centre = log(-expm1(-rate)) - log1p(exp(-rate))
    logs: dict[Hashable, float] = {z: centre - abs(z - value) * rate for z in range(low + 1, high)}
    # A tail that starts at distance m holds a^m / (1 + a), a = exp(-rate).
    logs[low] = -(value - low) * rate - log1p(exp(-rate))
    logs[high] = -(high - value) * rate - log1p(exp(-rate))
    return Distribution(logs)


def discrete_gaussian(value: int, sigma_squared: float) -> Distribution:
    """``value`` plus integer noise, P(z) proportional to exp(-z^2 / (2 sigma_squared)).

    Cut where the tails hold less than 1e-40 of the probability, far below any delta in use.
    """
    reach = int(14 * sigma_squared**0.5) + 2
    weights = {z: -(z * z) / (2 * sigma_squared) for z in range(-reach, reach + 1)}
    total = _log_sum(list(weights.values()))
    return Distribution({value + z: weight - total for z, weight in weights.items()})


def exponential(scores: Sequence[float], rate: float) -> Distribution:
    """The exponential mechanism: candidate i with probability proportional to exp(rate * scores[i])."""
    weights = [-rate * gap for gap in _gaps(scores)]
    total = _log_sum(weights)
    return Distribution({index: weight - total for index, weight in enumerate(weights)})


def permute_and_flip(scores: Sequence[float], rate: float) -> Distribution:
    """Candidates in random order, each accepted with probability exp(rate * (score - best)), until one is.

    Enumerated over the sets of candidates still to come, hence for a dozen candidates at most.
    """
    count = len(scores)
    if count > 14:
        raise UsageError("Permute-and-flip is enumerated for at most 14 candidates.")
    taken = [exp(-rate * gap) for gap in _gaps(scores)]
    reach = {(1 << count) - 1: 1.0}  # probability that exactly these candidates are still to come
    chosen = [0.0] * count
    for _ in range(count):
        following: dict[int, float] = {}
        for left, share in reach.items():
            members = [index for index in range(count) if left >> index & 1]
            for index in members:
                step = share / len(members)
                chosen[index] += step * taken[index]
                if taken[index] < 1:
                    rest = left & ~(1 << index)
                    following[rest] = following.get(rest, 0.0) + step * (1 - taken[index])
        reach = following
    return Distribution.of(dict(enumerate(chosen)))


def randomised_response(value: int, size: int, epsilon: float) -> Distribution:
    """The truth with probability e^epsilon / (e^epsilon + size - 1), every other answer equally often."""
    total = exp(epsilon) + size - 1
    return Distribution({answer: epsilon * (answer == value) - log(total) for answer in range(size)})


def _gaps(scores: Sequence[Any]) -> list[float]:
    """How far each score is below the best; the difference is exact, also where doubles are far apart.

    >>> _gaps([2**62, 2**62 + 1])
    [1.0, 0.0]
    """
    exact = [Fraction(int(score)) if isinstance(score, Integral) else Fraction(score) for score in scores]
    return [float(max(exact) - score) for score in exact]
