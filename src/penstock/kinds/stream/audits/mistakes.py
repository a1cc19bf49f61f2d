"""Sketches with one mistake each, made from what is shipped: every one of them must be refuted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.pan_privacy import Machine
from penstock.contracts.sketch import Setting
from penstock.kinds.stream.audits.machines import Small, Update
from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.continual import ContinualCounter, ContinualMoment, Intervals, SignedIntervals
from penstock.kinds.stream.moments import SecondMoment, Signs
from penstock.kinds.stream.paying import Seed
from penstock.privacy.laws.modular import TwoLevels
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation


def without_fresh_noise(small: Small) -> Machine:
    """The answer is what the state says, exactly: whoever saw the state learns what was fed since."""

    def answer(state: Any) -> Mapping[Any, float]:
        return {int(np.count_nonzero(np.array(state) < (small.values + 1) // 2)): 1.0}

    return replace(small.machine(), answer=answer)


def not_halved(small: Small) -> Machine:
    """The noise of every counter is for one id, and a neighbour's move touches two."""
    setting = small.setting
    wrong = replace(
        small, known={}, law=lambda blank: TwoLevels(blank.astype(np.int64), small.values, setting.state)
    )
    return wrong.machine()


def answered_for_one(small: Small) -> Machine:
    """The answer's noise is for one id, and a neighbour's move touches two."""
    alone = replace(small, setting=replace(small.setting, relation=Relation.ADD_REMOVE), known={})
    return replace(small.machine(), answer=alone.answer)


def kept_generator(small: Small) -> Machine:
    """The generator's state stays in memory: whoever looks draws the first noise again."""
    shipped = small.machine()
    initial = {(state, state): share for state, share in shipped.initial.items()}

    def step(state: Any, update: Update) -> Mapping[Any, float]:
        first, here = state
        return {(first, there): share for there, share in shipped.step(here, update).items()}

    return Machine(initial, step, lambda state: shipped.answer(state[1]))


def kept_checkpoint(small: Small) -> Machine:
    """The state before the last update is still on the disk: two looks for the price of one."""
    shipped = small.machine()
    initial = {(state, state): share for state, share in shipped.initial.items()}

    def step(state: Any, update: Update) -> Mapping[Any, float]:
        return {(state[1], there): share for there, share in shipped.step(state[1], update).items()}

    return Machine(initial, step, lambda state: shipped.answer(state[1]))


def buffered(small: Small) -> Machine:
    """Updates wait in memory to be added together."""
    shipped = small.machine()
    initial = {(None, state): share for state, share in shipped.initial.items()}

    def step(state: Any, update: Update) -> Mapping[Any, float]:
        waiting, here = state
        return {(update, there): share for there, share in shipped.step(here, waiting).items()}

    return Machine(initial, step, lambda state: shipped.answer(state[1]))


def never_reduced(small: Small) -> Machine:
    """Sums are kept as they are and reduced when somebody asks: they tell on which side of the prime they
    are."""
    shipped = small.machine()
    initial = {(state, (0,) * len(state)): share for state, share in shipped.initial.items()}

    def step(state: Any, update: Update) -> Mapping[Any, float]:
        here, turns = state
        found = {}
        for there, share in shipped.step(here, update).items():
            over = tuple(turn + (new < old) for new, old, turn in zip(there, here, turns, strict=True))
            found[there, over] = share
        return found

    return Machine(initial, step, lambda state: shipped.answer(state[0]))


def doubled_bias(small: Small) -> Machine:
    """The bit of an id that occurred shows 1 twice as much more often as it may."""
    wrong = replace(small, setting=replace(small.setting, state=2 * small.setting.state), known={})
    return replace(small.machine(), step=wrong.step)


@dataclass(frozen=True)
class _OneRow(Signs):
    def moved(self, setting: Setting) -> int:
        return setting.touched * setting.most


class OneRow(SecondMoment):
    """The noise of the state is for one row, and an id is in all of them."""

    sketch_class = _OneRow


@dataclass(frozen=True)
class _OneLevel(Intervals):
    def moved(self, setting: Setting) -> int:
        return setting.touched * setting.most


class OneLevel(ContinualCounter):
    """The noise of an interval is for one level, and an event is in one interval of each."""

    sketch_class = _OneLevel


class AsItStands(ContinualCounter):
    """What an interval holds is published without fresh noise: whoever looked in before takes that off."""

    def _published(self, over: list[int], source: Randomness) -> NDArray[np.int64]:
        return np.array(self.seized()[over]).ravel()


class BegunWithNothing(ContinualCounter):
    """Only the first interval of each level begins with noise: whoever looks in later sees counts."""

    def step(self, *, seed: Seed = None) -> Reading:
        told = super().step(seed=seed)
        self._counters[self.sketch.over(len(self.history))] = 0
        return told


@dataclass(frozen=True)
class _OneSum(SignedIntervals):
    def moved(self, setting: Setting) -> int:
        return super().moved(setting) // self.across


class OneSum(ContinualMoment):
    """The noise of an interval is for one of its rows."""

    sketch_class = _OneSum


@dataclass(frozen=True)
class _OneId(SignedIntervals):
    def moved(self, setting: Setting) -> int:
        return super().moved(setting) // setting.touched


class OneId(ContinualMoment):
    """The noise is for one id, and an event that passes from one to another touches two."""

    sketch_class = _OneId


SUMS: tuple[tuple[str, str, str, Relation, Callable[..., Any]], ...] = (
    ("l2-sketch", "one-row", "the noise of the state is for one row", Relation.REPLACE, OneRow),
    ("continual-counter", "one-level", "noise is for one level", Relation.ADD_REMOVE, OneLevel),
    ("continual-counter", "as-it-stands", "published without noise", Relation.ADD_REMOVE, AsItStands),
    ("continual-counter", "begun-bare", "intervals begin with 0", Relation.ADD_REMOVE, BegunWithNothing),
    ("continual-l2", "one-sum", "noise is for one row", Relation.ADD_REMOVE, OneSum),
    ("continual-l2", "one-id", "noise is for one id, where an event passes", Relation.REPLACE, OneId),
)
"""Sketch, mistake, what it is, for which neighbours, and the copy."""
