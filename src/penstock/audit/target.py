"""What an audit is about: a promise, neighbouring inputs, and a way to run what made the promise.

A `Target` says which (epsilon, delta) is claimed under which relation, lists pairs of inputs that the
relation calls neighbours, and runs the thing many times. Where the output space is small it also gives
the exact output probabilities. Whatever can be put in this form is audited by the same harness; adding
a method to the audit means writing one `Target`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from penstock.audit.events import Event, Projection
from penstock.audit.exact import Distribution
from penstock.audit.neighbours import Pair
from penstock.audit.replay import Replays
from penstock.errors import UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation

Runner = Callable[[Any, Randomness, int], Any]
"""``run(input, randomness, n)``: n independent outputs, as an array of n rows or a list of n sequences."""


class Kind(StrEnum):
    """Whether the promise is meant: what Penstock ships, or a deliberately broken copy."""

    SHIPPED = "shipped"
    BROKEN = "broken"


@dataclass(frozen=True)
class Promise:
    """The guarantee that an audit tries to refute.

    >>> Promise(Fraction(1, 2)).words
    'epsilon 0.5, add-remove'
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    relation: Relation = Relation.ADD_REMOVE

    @property
    def words(self) -> str:
        slack = f", delta {plain(self.delta)}" if self.delta else ""
        return f"epsilon {plain(self.epsilon)}{slack}, {self.relation.value}"


@dataclass(frozen=True)
class Target:
    """One auditable promise.

    At least one way to examine it is needed: `run` (sampled), `distribution` (exact, every output with
    its probability), `loss` (exact, the privacy loss of a pair computed in some other way, such as the
    integral over a shared threshold) or `replays` (exact, so many transcripts replayed on neighbours that it
    finds itself, with a seed). `events` and `projections` tell the sampled audit where the weak
    spot is known to be; without them it looks for one by itself. `effort` scales the number of runs: a
    whole method costs more than a draw of noise. `background` is what is known of a published algorithm:
    where it stands, what it really guarantees and why.
    """

    name: str
    kind: Kind
    promise: Promise
    summary: str
    pairs: Sequence[Pair]
    run: Runner | None = None
    distribution: Callable[[Any], Distribution] | None = None
    loss: Callable[[Any, Any], float] | None = None
    replays: Callable[[int, int], Replays] | None = None
    events: Sequence[Event] = ()
    projections: Sequence[Projection] = ()
    effort: float = 1.0
    background: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.replays is not None:
            return
        if not self.pairs:
            raise UsageError(f"The audit target '{self.name}' has no pair of neighbouring inputs.")
        if self.run is None and self.distribution is None and self.loss is None:
            raise UsageError(f"The audit target '{self.name}' can neither be run nor enumerated.")
