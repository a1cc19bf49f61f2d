"""Small mechanisms as channels: what they tell, how far off they are, and what they cost, exactly.

A mechanism with finitely many inputs and outputs is a matrix: row x holds the probabilities of all outputs
for the input x. The distribution of the inputs is a public modelling assumption, never one that was estimated
from the records. Of all channels with the same expected distortion, the one that tells least about its input
weighs outputs by exp(-epsilon distortion): an exponential mechanism, which costs at most 2 epsilon times
the sensitivity of the distortion. The converse is false, and the bound is loose: `privacy_loss` is exact.

Reference: D. J. Mir, "Information-theoretic foundations of differential privacy" (FPS 2012); the iteration is
R. E. Blahut's and S. Arimoto's (1972).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import permutations
from math import exp, inf, log, tanh

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import UsageError

Reals = NDArray[np.float64]
Pairs = Iterable[tuple[int, int]]

NEGLIGIBLE = 1e-9
"""Outputs that come more rarely than this on the way to the optimum are ones that the optimum never gives."""


def mutual_information(prior: ArrayLike, channel: ArrayLike) -> float:
    """How much the output tells about the input, in nats: E ln(channel(o | x) / channel(o)).

    >>> round(mutual_information([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]]), 6)
    0.130812
    """
    inputs, rows = _checked(prior, channel)
    overall = inputs @ rows
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(rows > 0, rows * np.log(rows / overall), 0.0)
    return max(0.0, float(inputs @ terms.sum(axis=1)))


def privacy_loss(channel: ArrayLike, neighbours: Pairs | None = None) -> float:
    """The smallest epsilon that the channel keeps between neighbouring inputs; infinite where it keeps none.

    `neighbours` are pairs of rows, looked at in both directions; without them any two inputs are neighbours.
    An output that neither of two inputs can give does not tell them apart (0/0 counts as 1).

    >>> round(privacy_loss([[0.75, 0.25], [0.25, 0.75]]), 6)
    1.098612
    """
    rows = np.asarray(channel, dtype=np.float64)
    _, rows = _checked(np.full(len(rows), 1.0 / max(1, len(rows))), rows)
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    worst = 0.0
    for one, two in _pairs(neighbours, len(rows)):
        seen = (rows[one] > 0) | (rows[two] > 0)
        worst = max(worst, float(np.abs(logs[one][seen] - logs[two][seen]).max(initial=0.0)))
    return worst


def information_bound(epsilon: float, records: int, *, independent: bool = False) -> float:
    """The most that any epsilon-private mechanism (one record replaced) tells about all records, in nats.

    Two inputs that differ in k records are within k epsilon, so one output distribution is at most
    k epsilon tanh(k epsilon / 2) nats from another, which for k = n bounds the information whatever the
    distribution of the inputs. Of `independent` records each adds at most epsilon tanh(epsilon / 2). Both
    are below n epsilon.

    >>> round(information_bound(1.0, 1), 6), round(information_bound(0.1, 100, independent=True), 6)
    (0.462117, 0.499584)
    """
    if not epsilon >= 0.0 or records < 0:
        raise UsageError("An information bound needs an epsilon of 0 or more and a number of records.")
    together = records * epsilon
    if independent:
        return together * tanh(epsilon / 2.0)
    return together * tanh(together / 2.0)


@dataclass(frozen=True, eq=False)
class RateDistortion:
    """A channel that tells as little as its distortion allows.

    `information` and `distortion` are its point of the curve, whose slope there is -epsilon; `loss` is the
    exact privacy loss over the neighbours, `promised` the theorem's bound of it. `gap` is a certificate: no
    channel is better by more than this, measured as information + epsilon distortion.
    """

    epsilon: float
    channel: Reals
    outputs: Reals
    information: float
    distortion: float
    loss: float
    promised: float
    gap: float


def rate_distortion(
    prior: ArrayLike,
    distortion: ArrayLike,
    epsilon: float,
    *,
    neighbours: Pairs | None = None,
    tolerance: float = 1e-12,
    most_rounds: int = 100_000,
) -> RateDistortion:
    """The channel that minimises information / epsilon + expected distortion, by Blahut and Arimoto.

    `distortion[x][o]` is how far off the output o is for the input x. Rounds end when the certified gap is
    below `tolerance`, or after `most_rounds`; the result says which gap was reached.

    >>> found = rate_distortion([0.5, 0.5], [[0, 1], [1, 0]], 1.0)
    >>> round(found.distortion, 6), round(found.information, 6), round(found.loss, 6)
    (0.268941, 0.110944, 1.0)
    """
    inputs = _distribution(prior)
    far = np.asarray(distortion, dtype=np.float64)
    if far.ndim != 2 or far.shape[0] != inputs.size or far.shape[1] < 1 or not np.isfinite(far).all():
        raise UsageError("distortion must hold a finite number for each input (row) and output (column).")
    if not 0.0 < epsilon < inf or most_rounds < 1:
        raise UsageError(f"epsilon must be a number above 0, not {epsilon!r}.")
    pairs = _pairs(neighbours, inputs.size)
    weights = np.exp(-epsilon * (far - far.min(axis=1, keepdims=True)))
    outputs, gap = np.full(far.shape[1], 1.0 / far.shape[1]), inf
    for _ in range(most_rounds):
        gain = inputs @ (weights / (weights @ outputs)[:, None])
        gap = log(float(gain.max()))
        if gap < tolerance:
            break
        outputs = outputs * gain
    outputs = np.where(outputs < NEGLIGIBLE, 0.0, outputs)
    channel = weights * outputs
    channel /= channel.sum(axis=1, keepdims=True)
    moves = max((float(np.abs(far[one] - far[two]).max()) for one, two in pairs), default=0.0)
    return RateDistortion(
        epsilon=epsilon,
        channel=channel,
        outputs=inputs @ channel,
        information=mutual_information(inputs, channel),
        distortion=float(inputs @ (channel * far).sum(axis=1)),
        loss=privacy_loss(channel, pairs),
        promised=2.0 * epsilon * moves,
        gap=max(0.0, gap),
    )


def randomised_response(categories: int, epsilon: float) -> Reals:
    """The channel of k-ary randomised response: the truth with probability e^eps / (e^eps + k - 1).

    >>> randomised_response(2, log(3)).round(2).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    if categories < 2 or not 0.0 <= epsilon < inf:
        raise UsageError("Randomised response needs two categories or more, and an epsilon of 0 or more.")
    fall = exp(-epsilon)
    other = fall / (1.0 + (categories - 1) * fall)
    channel = np.full((categories, categories), other)
    np.fill_diagonal(channel, 1.0 / (1.0 + (categories - 1) * fall))
    return channel


def _pairs(neighbours: Pairs | None, inputs: int) -> list[tuple[int, int]]:
    found = list(permutations(range(inputs), 2)) if neighbours is None else list(neighbours)
    if any(not (0 <= one < inputs and 0 <= two < inputs) for one, two in found):
        raise UsageError(f"neighbours must be pairs of inputs, numbered from 0 to {inputs - 1}.")
    return found


def _checked(prior: ArrayLike, channel: ArrayLike) -> tuple[Reals, Reals]:
    inputs, rows = _distribution(prior), np.asarray(channel, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != inputs.size:
        raise UsageError("channel must have a row of probabilities for each input.")
    if not (rows >= 0).all() or not np.allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-9):
        raise UsageError("Each row of channel must hold probabilities that add up to 1.")
    return inputs, rows


def _distribution(prior: ArrayLike) -> Reals:
    inputs = np.asarray(prior, dtype=np.float64)
    if inputs.ndim != 1 or not inputs.size or not (inputs >= 0).all() or abs(inputs.sum() - 1.0) > 1e-9:
        raise UsageError("prior must hold a probability for each input, and these must add up to 1.")
    return inputs
