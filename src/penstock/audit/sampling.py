"""Running a target on both inputs of a pair, and how sure a finding must be."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.audit.events import Outputs, outputs_of, same_width
from penstock.audit.neighbours import Pair
from penstock.audit.target import Target
from penstock.errors import UsageError
from penstock.privacy.randomness.generator import Randomness

FAILURE = 1e-6
CONFIDENCE = 1 - FAILURE


def draw(target: Target, pair: Pair, source: Randomness, count: int) -> tuple[Outputs, Outputs]:
    """Fresh independent outputs under both inputs of a pair."""
    return next(portions(target, pair, source, count, count))


def portions(
    target: Target, pair: Pair, source: Randomness, count: int, size: int
) -> Iterator[tuple[Outputs, Outputs]]:
    """Fresh independent outputs under both inputs of a pair, some at a time, each drawn in its turn."""
    if target.run is None:
        raise UsageError(f"The audit target '{target.name}' cannot be run, only enumerated.")
    streams = source.spawn("first"), source.spawn("second")
    for start in range(0, count, size):
        some = min(size, count - start)
        first = outputs_of(target.run(pair.first, streams[0], some))
        second = outputs_of(target.run(pair.second, streams[1], some))
        if len(first) != some or len(second) != some:
            raise UsageError(f"The audit target '{target.name}' did not return as many outputs as asked for.")
        yield same_width(first, second)


def quantile(failure: float) -> float:
    """How many standard deviations half of the failure probability is."""
    from scipy.special import ndtri

    return float(-ndtri(failure / 2))
