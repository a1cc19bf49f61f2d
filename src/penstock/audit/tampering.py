"""Mistakes that can be made in any method, made from outside, for the replay to find.

Each changes one step of a run (`penstock.audit.replay.Tampering`) and needs to know nothing about the method:
the data handle, the budget, the release and the seam of all draws look the same everywhere. So every method
of the catalogue, also one that is added tomorrow, has all of these sabotaged copies, and each must be caught.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from penstock import catalogue
from penstock.audit.hostile import both_ways
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.replay import NONE, Replays, Tampering, published
from penstock.audit.replays import Setting, audits_of, usable
from penstock.audit.sabotage import understated
from penstock.audit.transcript import Departure, Recording, Replaying, Transcript
from penstock.catalogue import MethodInfo
from penstock.errors import PenstockError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.comparisons import Comparison, HiddenThreshold
from penstock.privacy.laws.passing import Passed, Passing
from penstock.privacy.laws.rungs import SmoothCauchy
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.releases.release import Release

O = TypeVar("O")  # noqa: E741  # an output

HALF = {"scale": Fraction(1, 2), "variance": Fraction(1, 4), "rate": Fraction(2), "step": Fraction(2)}
"""By which factor each parameter of a law is multiplied to halve its noise."""


DOMAIN = "domain-from-data"


def weakened(law: Any) -> Any:
    """The same law with half of its noise; Cauchy noise with a quarter, since half of it is still private at
    an epsilon of one: scale pays for shifts alone, and a shift and a change of scale never cost most at once.
    """
    if isinstance(law, SmoothCauchy):
        return replace(law, scale=law.scale / 4)
    if isinstance(law, Comparison):
        noise = law.noise
        law.noise = HiddenThreshold(noise.threshold_scale / 2, noise.query_scale / 2, noise.redraw)
        return law
    if not is_dataclass(law):
        return law
    known = {field.name for field in fields(law)}
    changed = {
        name: getattr(law, name) * factor
        for name, factor in HALF.items()
        if name in known and getattr(law, name) is not None
    }
    changed_law: Any = replace(law, **changed)  # type: ignore[type-var]  # an instance, not its class
    return changed_law


class _Weak(Recording):
    def draw(self, law: Law[O]) -> O:
        output: O = super().draw(law if self._transcript.inside else weakened(law))
        return output


class _WeakAgain(Replaying):
    def draw(self, law: Law[O]) -> O:
        output: O = super().draw(weakened(law))
        return output


def in_raw_order(law: Law[Any], output: Any) -> Any:
    """An output in the order of the values that it was made of; a choice, among candidates in that order."""
    gaps = getattr(law, "gaps", None)
    if gaps is not None and np.ndim(output) == 0:
        return int(np.argsort(gaps, kind="stable")[output]) if 0 <= output < len(gaps) else output
    if gaps is not None:
        return sorted(output, key=lambda place: int(gaps[place]))
    if isinstance(law, Passing) and output.counts is not None:
        table = law.table
        held = dict(zip(table.cells.tolist(), table.counts.tolist(), strict=True))
        order = np.argsort([held.get(cell, 0) for cell in output.cells.tolist()], kind="stable")
        return Passed(output.cells, output.counts[order])
    for name in ("values", "margins", "answers"):
        raw = getattr(law, name, None)
        if isinstance(raw, np.ndarray) and np.shape(output) == raw.shape and raw.size > 1:
            order = np.argsort(raw.ravel(), kind="stable")
            return np.asarray(output).ravel()[order].reshape(raw.shape)
    return output


class _Sorted(Recording):
    def draw(self, law: Law[O]) -> O:
        inside = self._transcript.inside
        found = super().draw(law)
        output: O = found if inside else in_raw_order(law, found)
        return output


class _SortedAgain(Replaying):
    def draw(self, law: Law[O]) -> O:
        output: O = in_raw_order(law, super().draw(law))
        return output


def raw_size(data: Any) -> int:
    """How many records there are, which nobody paid for."""
    return int(open_seal(data.size())[0])


def _share_by_size(data: Any, whole: Budget) -> Budget:
    return whole.part("as much as the records need", Fraction(1, 2 + raw_size(data) % 7))


def _size_told(data: Any, made: Release) -> Release:
    return replace(made, parameters={**made.parameters, "records": raw_size(data)})


def _bits_of_its_own(data: Any, whole: Budget) -> Budget:
    whole.randomness.below(1000)
    return whole


def _twice(data: Any, whole: Budget) -> Budget:
    return Budget(2 * whole.epsilon, whole.delta, randomness=whole.randomness)


TAMPERINGS: Mapping[str, tuple[str, Tampering]] = MappingProxyType(
    {
        "sensitivity-halved": (
            "the data handle states half of every sensitivity",
            Tampering(data=partial(understated, factor=Fraction(1, 2))),
        ),
        "noise-halved": (
            "every mechanism draws half of the noise that was paid for",
            Tampering(recording=_Weak, replaying=_WeakAgain),
        ),
        "size-decides": (
            "the raw size decides about a share of the budget",
            Tampering(budget=_share_by_size),
        ),
        "unpaid-look": ("the raw size is told beside the release", Tampering(release=_size_told)),
        "sorted-by-raw-counts": (
            "noisy values come in the order of the raw ones",
            Tampering(recording=_Sorted, replaying=_SortedAgain),
        ),
        "bits-without-law": ("bits are drawn past the seam", Tampering(budget=_bits_of_its_own)),
        "budget-twice": ("twice the budget is spent", Tampering(budget=_twice)),
    }
)
"""What is wrong, by name. A domain that was read off the records comes on top: see `domain_from_data`."""


def domain_from_data(info: MethodInfo, every: list[Audits]) -> Tampering | None:
    """The schema read off the records, as the method's own audits or others of its kind do it."""
    of_kind: list[MethodAudit] = [audit for audits in every for audit in audits.methods]
    for audit in (*audits_of(info, every), *of_kind):
        if audit.read_off is not None and audit.schema_kind == info.kind:
            return Tampering(schema=audit.read_off)
    return None


def everywhere(name: str, every: list[Audits]) -> Replays:
    """One mistake made in every method of the catalogue: its problems where all are caught, else none.

    So that a copy that slips through is not hidden by the others that are caught.
    """
    problems = []
    for info in catalogue.methods():
        wrong = domain_from_data(info, every) if name == DOMAIN else TAMPERINGS[name][1]
        if wrong is not None and possible(info, every, wrong):
            problems.append(caught(info, every, wrong))
    told = tuple(problem for problem in problems if problem is not None)
    return Replays(number=len(problems), problems=told if len(told) == len(problems) else ())


def possible(info: MethodInfo, every: list[Audits], tampering: Tampering) -> bool:
    """Whether a mistake changes anything in a method: where one number is told, there is nothing to sort.

    It is tried in memory alone: every engine counts the same.
    """
    for setting in usable(info, every):
        if setting.engine != catalogue.MEMORY:
            continue
        for number, pair in enumerate(setting.pairs()[::3]):
            found = []
            for wrong in (NONE, tampering):
                source = wrong.recording(Randomness.seeded(number), Transcript())
                try:
                    found.append(published(setting.trial(info.name, wrong).release(pair.second, source)))
                except (PenstockError, Departure):
                    found.append({})
            if found[0] != found[1]:
                return True
    return False


def caught(info: MethodInfo, every: list[Audits], tampering: Tampering, *, seeds: int = 2) -> str | None:
    """The first problem that replays of a sabotaged method meet, in words; None where they meet none."""
    for setting in usable(info, every):
        if setting.relation is not Relation.ADD_REMOVE or setting.engine != catalogue.MEMORY:
            continue
        for problem in _problems(info, setting, tampering, seeds):
            return problem
    return None


def _problems(info: MethodInfo, setting: Setting, tampering: Tampering, seeds: int) -> list[str]:
    made = setting.trial(info.name, tampering)
    for seed in range(seeds):
        for number, pair in enumerate(setting.pairs()):
            found, _ = both_ways(made, setting.ground, setting.relation, pair, 1000 * seed + number)
            if found.problems:
                return list(found.problems)
    return []
