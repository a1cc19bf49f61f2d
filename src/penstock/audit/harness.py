"""The harness: lower bounds on epsilon that hold with a stated confidence, and verdicts.

A bound is found in two stages that never share a sample. First, an event is learned (`events.learn`)
that one input makes likelier than its neighbour. Then fresh outputs of both inputs are counted, and

    epsilon >= ln((p - delta) / q)

with p an exact lower confidence limit for the likelier input and q an exact upper one for the other
(Clopper and Pearson, half of the failure probability each). Because event and direction are fixed before
the fresh outputs are drawn there is one test and nothing to correct for. `refuted` therefore means: if
the claim were true, such a count would turn up with at most the stated failure probability. `holds`
means only that nothing was found; it never means proven.

Where only the verdict is wanted, fresh outputs are drawn in portions, and no more of them once the claim
stands whatever the rest were (curtailed sampling): the verdict is that of all outputs, so its failure
probability is, too, while the bound is that of those that were seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, log
from typing import Any

from penstock.audit.events import Learned, Outputs, learn, visible
from penstock.audit.exact import TOLERANCE, worst
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.sampling import CONFIDENCE, draw, portions, quantile
from penstock.audit.search import screen
from penstock.audit.target import Kind, Promise, Target
from penstock.errors import UsageError
from penstock.privacy.randomness.generator import Randomness

FEWEST = 40
PORTIONS = 10


class Status(StrEnum):
    """What the audit can say: a contradiction with the claim was found, or was not."""

    HOLDS = "holds"
    REFUTED = "refuted"


@dataclass(frozen=True)
class Bound:
    """Epsilon is at least this, up to the failure probability; zero when nothing was found."""

    epsilon: float
    failure: float
    pair: Pair
    event: str
    likelier: str
    hits: tuple[int, int] = (0, 0)
    tests: int = 0

    @property
    def exact(self) -> bool:
        return self.failure == 0.0


@dataclass(frozen=True)
class Verdict:
    """The result of one audit; `status` refers to the claim, `expected` to what the target is there for.

    `failure` bounds the probability that a true claim meets the verdict `refuted`.
    """

    name: str
    kind: Kind
    promise: Promise
    summary: str
    bounds: tuple[Bound, ...]
    status: Status
    failure: float
    trials: int
    seconds: float

    @property
    def bound(self) -> Bound:
        """The strongest lower bound on epsilon that was found."""
        return max(self.bounds, key=lambda bound: bound.epsilon)

    @property
    def exact(self) -> Bound | None:
        """The worst loss by enumeration: about the mathematics."""
        return next((bound for bound in self.bounds if bound.exact), None)

    @property
    def sampled(self) -> Bound | None:
        """The bound from running it: about the code."""
        return next((bound for bound in self.bounds if not bound.exact), None)

    @property
    def replays(self) -> int:
        """How many transcripts were replayed; 0 where nothing was."""
        return sum(bound.tests for bound in self.bounds if bound.exact)

    @property
    def how(self) -> str:
        return " and ".join("exact" if bound.exact else "sampled" for bound in self.bounds)

    @property
    def expected(self) -> bool:
        """Shipped mechanisms must not be refuted, broken ones must be."""
        return (self.status is Status.REFUTED) == (self.kind is Kind.BROKEN)

    @property
    def confidence(self) -> float:
        return 1 - self.failure

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; an unbounded loss is the word 'infinite'."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "summary": self.summary,
            "claim": {
                "epsilon": float(self.promise.epsilon),
                "delta": float(self.promise.delta),
                "relation": self.promise.relation.value,
            },
            "lower_bound": _number(self.bound.epsilon),
            "exact": None if self.exact is None else _number(self.exact.epsilon),
            "sampled": None if self.sampled is None else _number(self.sampled.epsilon),
            "failure_probability": self.failure,
            "how": self.how,
            "status": self.status.value,
            "expected": self.expected,
            "pair": self.bound.pair.words,
            "event": self.bound.event,
            "likelier_under": self.bound.likelier,
            "hits": list(self.bound.hits),
            "tests": self.bound.tests,
            "trials": self.trials,
            "seconds": round(self.seconds, 3),
        }


def _number(epsilon: float) -> float | str:
    return "infinite" if epsilon == inf else epsilon


def clopper_pearson(hits: int, tests: int, failure: float) -> tuple[float, float]:
    """A lower and an upper limit for a probability; each is wrong with probability at most `failure`.

    >>> low, high = clopper_pearson(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0295)
    """
    from scipy.special import betainccinv, betaincinv

    low = float(betaincinv(hits, tests - hits + 1, failure)) if hits > 0 else 0.0
    high = float(betainccinv(hits + 1, tests - hits, failure)) if hits < tests else 1.0
    return low, high


def bound_from_counts(
    hits_likelier: int, hits_other: int, tests: int, *, delta: float, failure: float
) -> float:
    """The lower bound on epsilon that an event, fixed beforehand, gives with these counts."""
    low, _ = clopper_pearson(hits_likelier, tests, failure / 2)
    _, high = clopper_pearson(hits_other, tests, failure / 2)
    return max(0.0, log((low - delta) / high)) if low > delta else 0.0


def lower_bound(
    target: Target,
    trials: int,
    confidence: float = CONFIDENCE,
    randomness: Randomness | None = None,
    *,
    claim: float | None = None,
) -> Bound:
    """The strongest lower bound on epsilon that sampling finds for a target.

    `trials` outputs of each input of the chosen pair: half to learn the event, half to test it. With
    several pairs, some further outputs of each pick the most promising pair (`search.screen`). The bound
    is wrong with probability at most 1 - confidence over the draws of `randomness`. With a `claim`, testing
    ends as soon as the bound can no longer exceed it; a bound that does is the same as without.
    """
    failure = 1 - confidence
    if not 0 < failure < 1:
        raise UsageError(f"The confidence of an audit lies strictly between 0 and 1, not at {confidence}.")
    if trials < FEWEST:
        raise UsageError(f"An audit needs at least {FEWEST} trials, not {trials}.")
    source = randomness or Randomness.seeded(0)
    pair = screen(target, max(FEWEST, trials // 4), source.spawn("screen"), failure=failure)
    learning = trials // 2
    tests = trials - learning
    known = draw(target, pair, source.spawn("learn"), learning)
    delta = float(target.promise.delta)
    found = learn(
        *known,
        delta=delta,
        z=quantile(failure),
        tests=tests,
        projections=target.projections,
        events=target.events,
    )
    if found is None:
        return Bound(0.0, failure, pair, "none found", "neither", tests=0)
    size = tests if claim is None else -(-tests // PORTIONS)
    fresh = portions(target, pair, source.spawn("test"), tests, size)
    return confirm(found, pair, fresh, tests, delta=delta, failure=failure, claim=claim)


def confirm(
    found: Learned,
    pair: Pair,
    fresh: Iterable[tuple[Outputs, Outputs]],
    tests: int,
    *,
    delta: float,
    failure: float,
    claim: float | None = None,
) -> Bound:
    """The bound that fresh outputs give for an event and a direction chosen without them.

    There are `tests` of each input. Whether an output is a hit changes the bound in a known direction, so the
    most that it can become is known at any time: if that is not above the claim, nothing more is drawn, and
    what was not drawn counts against the bound.
    """
    hits, seen = (0, 0), 0
    for outputs in fresh:
        likelier, other = outputs if found.first_is_likelier else outputs[::-1]
        hits = hits[0] + found.event.count(likelier), hits[1] + found.event.count(other)
        seen += len(likelier)
        most = bound_from_counts(hits[0] + tests - seen, hits[1], tests, delta=delta, failure=failure)
        if claim is not None and most <= claim:
            break
    epsilon = bound_from_counts(hits[0], hits[1] + tests - seen, tests, delta=delta, failure=failure)
    under = "first" if found.first_is_likelier else "second"
    return Bound(epsilon, failure, pair, found.event.words, under, hits, seen)


def search(
    target: Target,
    universe: Sequence[Any],
    largest: int,
    *,
    smallest: int = 0,
    trials: int = 20_000,
    most: int = 200,
    confidence: float = CONFIDENCE,
    randomness: Randomness | None = None,
) -> Bound:
    """Replace a target's own pairs by all small ones, find the worst, and bound epsilon on it."""
    pairs = small_pairs(universe, largest, target.promise.relation, smallest=smallest, most=most)
    return lower_bound(replace(target, pairs=pairs), trials, confidence, randomness)


def exact_bound(target: Target) -> Bound:
    """The worst loss over all pairs of a target, computed without sampling."""
    if target.distribution is not None:
        epsilon, pair = worst(target.distribution, target.pairs, float(target.promise.delta))
        return Bound(epsilon, 0.0, pair, "worst outcome", "either")
    if target.loss is None:
        raise UsageError(f"The audit target '{target.name}' has no exact output probabilities.")
    losses = [(target.loss(pair.first, pair.second), pair) for pair in target.pairs]
    epsilon, pair = max(losses, key=lambda item: item[0])
    return Bound(epsilon, 0.0, pair, "worst outcome", "either")


def replay_bound(target: Target, count: int, seed: int) -> Bound:
    """The largest loss that replays found, exactly; unbounded where neighbours can be told apart at once."""
    if target.replays is None:
        raise UsageError(f"The audit target '{target.name}' has nothing to replay.")
    found = target.replays(count, seed)
    words = f"{found.number} replays"
    if found.problems:
        return Bound(inf, 0.0, Pair((), (), words), found.problems[0], "either", tests=found.number)
    lost = found.share * float(target.promise.epsilon)
    event = f"the largest loss, {found.share:.3f} of epsilon, known to {max(found.precision, 1e-99):.0e}"
    return Bound(lost, 0.0, Pair((), (), words), event, "either", tests=found.number)


def _most_visible(target: Target, worst_pair: Pair, tests: int, failure: float) -> Pair:
    """The pair whose exact laws promise the highest sampled bound; no need to search for what is known."""
    if target.distribution is None or target.run is None:
        return worst_pair
    laws = {
        repr(each): target.distribution(each) for pair in target.pairs for each in (pair.first, pair.second)
    }
    delta, z = float(target.promise.delta), quantile(failure)

    def shown(pair: Pair) -> float:
        return visible(laws[repr(pair.first)], laws[repr(pair.second)], tests, delta, z)

    return max(target.pairs, key=shown)


def examine(
    target: Target,
    trials: int,
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    verdict_only: bool = False,
) -> Verdict:
    """Audit one target in every way it offers and keep the strongest bound.

    A target with exact probabilities and a runner gets both: the probabilities audit the mathematics, the
    runs audit the code. `trials` is scaled by the target's `effort`, since one run of a whole method
    costs more than one draw of noise. With `verdict_only`, runs end as soon as the claim stands whatever the
    others would show: the verdict is the same, and the bound of a claim that stands may be lower.
    """
    if target.run is not None and trials < FEWEST:
        raise UsageError(f"An audit needs at least {FEWEST} trials, not {trials}.")
    started = time.perf_counter()
    claimed = float(target.promise.epsilon)
    count = max(FEWEST, round(trials * target.effort))
    bounds: list[Bound] = []
    runnable = target
    if target.distribution is not None or target.loss is not None:
        bounds.append(exact_bound(target))
        # The worst pair may differ in an outcome too rare to be sampled; run the one that shows most.
        runnable = replace(target, pairs=(_most_visible(target, bounds[0].pair, count // 2, 1 - confidence),))
    if target.replays is not None:
        bounds.append(replay_bound(target, count, seed))
    if target.run is not None:
        source = Randomness.seeded(seed).spawn(target.name)
        claim = claimed if verdict_only else None
        bounds.append(lower_bound(runnable, count, confidence, source, claim=claim))
    against = [bound for bound in bounds if bound.epsilon > claimed + bound.exact * TOLERANCE * (1 + claimed)]
    return Verdict(
        target.name,
        target.kind,
        target.promise,
        target.summary,
        tuple(bounds),
        status=Status.REFUTED if against else Status.HOLDS,
        failure=min((bound.failure for bound in against), default=max(bound.failure for bound in bounds)),
        trials=count if target.run or target.replays else 0,
        seconds=time.perf_counter() - started,
    )
