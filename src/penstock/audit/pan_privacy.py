"""Exact audits of pan-privacy: what somebody learns who looks inside once, and hears all answers.

A machine with a small state is enumerated: the law of its state after each update, carried on from every
state that an intruder may have seen at time t to the answers at times after it. The loss of a pair of
neighbouring streams is the largest log-ratio of any (state seen at t, answers at t') over all t. That is the
promise itself, so that a machine which protects its state and its answers one by one, but not together, is
refuted: noise in the state that is not fresh in an answer lets whoever has seen the state subtract it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp, log
from typing import Any

from penstock.audit.exact import Distribution, pure_loss
from penstock.errors import UsageError

State = Hashable
MOST_STATES = 200_000


@dataclass(frozen=True)
class Machine:
    """An algorithm over streams whose states can be listed.

    `initial` is the law of the state before the first update, `step` that of the state after one more, and
    `answer` that of what it tells. `seen` is what an intruder gets to see of a state: all of it, unless the
    state holds what the model needs and the machine does not keep.

    >>> coin = Machine({0: 0.75, 1: 0.25}, lambda state, flip: {state ^ flip: 1.0}, lambda state: {0: 1.0})
    >>> round(joint_loss(coin, [0], [1]), 4)
    1.0986
    """

    initial: Mapping[Any, float]
    step: Callable[[Any, Any], Mapping[Any, float]]
    answer: Callable[[Any], Mapping[Any, float]]
    seen: Callable[[Any], Hashable] = lambda state: state

    def after(self, law: Mapping[Any, float], updates: Sequence[Any]) -> dict[Any, float]:
        """The law of the state after some updates."""
        found = dict(law)
        for update in updates:
            following: dict[Any, float] = {}
            for state, share in found.items():
                for next_state, chance in self.step(state, update).items():
                    following[next_state] = following.get(next_state, 0.0) + share * chance
            if len(following) > MOST_STATES:
                raise UsageError(f"This machine has more than {MOST_STATES:,} states to enumerate.")
            found = following
        return found


def joint(
    machine: Machine, stream: Sequence[Any], seen_at: int, asked_at: Sequence[int] = ()
) -> Distribution:
    """The law of (what is seen inside after `seen_at` updates, the answers after each of `asked_at`).

    Answers may come before and after the look; what was answered changes no state.
    """
    paths: dict[tuple[Any, Hashable, tuple[Hashable, ...]], float] = {
        (state, None, ()): share for state, share in machine.initial.items() if share > 0
    }
    for time in range(len(stream) + 1):
        if time:
            paths = _moved(machine, paths, stream[time - 1])
        if time == seen_at:
            paths = {
                (state, (machine.seen(state),), told): share for (state, _, told), share in paths.items()
            }
        for _ in range(list(asked_at).count(time)):
            answered: dict[tuple[Any, Hashable, tuple[Hashable, ...]], float] = {}
            for (state, look, told), share in paths.items():
                for answer, chance in machine.answer(state).items():
                    key = state, look, (*told, answer)
                    answered[key] = answered.get(key, 0.0) + share * chance
            paths = answered
    together: dict[Hashable, float] = {}
    for (_, look, told), share in paths.items():
        together[look, told] = together.get((look, told), 0.0) + share
    return Distribution({outcome: log(share) for outcome, share in together.items() if share > 0})


def _moved(machine: Machine, paths: Mapping[Any, float], update: Any) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for (state, look, told), share in paths.items():
        for following, chance in machine.step(state, update).items():
            key = following, look, told
            found[key] = found.get(key, 0.0) + share * chance
    return found


def joint_loss(
    machine: Machine, first: Sequence[Any], second: Sequence[Any], *, answers: int = 1, before: bool = True
) -> float:
    """The largest loss over all moments at which somebody may look, and all at which it may be asked.

    The streams are neighbours of the same length: an update that only one of them has is one that changes
    nothing in the other. With `answers` 0 the state alone; without `before`, answers come at the end only.
    """
    if len(first) != len(second):
        raise UsageError("Neighbouring streams of an exact audit have the same number of updates.")
    times = range(len(first) + 1)
    worst = 0.0
    for seen_at in times:
        moments = times if before else [len(first)]
        for asked in product(moments, repeat=answers):
            if list(asked) != sorted(asked):
                continue
            one, other = (joint(machine, stream, seen_at, asked) for stream in (first, second))
            worst = max(worst, pure_loss(one, other))
    return worst


def clamped_laplace(value: int, scale: float, low: int, high: int) -> dict[int, float]:
    """Discrete Laplace noise on a value, its tails gathered at two ends: what an answer tells, as a finite
    law."""
    rate = exp(-1 / scale)
    told = {z: (1 - rate) / (1 + rate) * rate ** abs(z - value) for z in range(low + 1, high)}
    told[low] = rate ** (value - low) / (1 + rate)
    told[high] = rate ** (high - value) / (1 + rate)
    return told
