"""Every method of the catalogue replayed on neighbours, and every sabotaged copy of it caught; none is named.

A replay has no failure probability: its loss is exact. Which inputs are tried is fixed by seeds.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock import catalogue
from penstock.audit.hostile import Ground, search
from penstock.audit.replay import Replays, Trial, replay
from penstock.audit.replays import hostile, usable, words
from penstock.audit.tampering import TAMPERINGS, caught, domain_from_data, possible
from penstock.audit.targets import every_audit
from penstock.audit.transcript import Departure, Recording, Replaying, Transcript
from penstock.catalogue import MethodInfo
from penstock.contracts.plug import method_class
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import LaplaceAround
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

METHODS = catalogue.methods()
PRECISION = 1e-40
SEARCHED = 24
PAIRS = 160
"""About so many hostile pairs are tried for each method."""


def of_name(info: MethodInfo) -> str:
    return info.name


@pytest.mark.parametrize("info", METHODS, ids=of_name)
def test_no_replay_of_a_method_loses_more_than_it_paid(info: MethodInfo) -> None:
    """Every ground, relation, engine and word; hostile pairs, each recorded on either side.

    All pairs of the first setting, and of the others as many as seconds allow: `penstock audit` tries more.
    """
    found = Replays()
    settings = usable(info, every_audit())
    most = max(3, PAIRS // len(settings))
    for number, setting in enumerate(settings):
        some = setting if number == 0 else replace(setting, most=min(most, setting.most or most))
        more = hostile(info, some, seed=number, folders=number == 0)
        assert not more.problems, more.problems[0]
        found = found + more
    assert found.number > 50
    assert found.precision < PRECISION
    assert found.share <= 1 + 1e-12  # of the double that is shown; the comparison itself is exact
    assert found.share > 0.5, "no replay came near what was paid: the inputs are not hostile enough"


@pytest.mark.parametrize("info", METHODS, ids=of_name)
def test_the_search_for_worse_neighbours_finds_none(info: MethodInfo) -> None:
    setting = usable(info, every_audit())[-1]
    found = search(setting.trial(info.name), setting.ground, setting.relation, SEARCHED, seed=3)
    assert not found.problems, found.problems[0]
    assert found.number + found.refused >= SEARCHED


@pytest.mark.parametrize("info", METHODS, ids=of_name)
def test_every_word_and_engine_and_relation_is_replayed(info: MethodInfo) -> None:
    settings = usable(info, every_audit())
    defaults = {parameter.name: parameter.default for parameter in method_class(info).parameters()}
    for name, value in words(info):
        tried = [{**defaults, **setting.parameters}[name] for setting in settings]
        assert value in tried, f"{name}={value}"
    here = set(catalogue.kind(info.kind).engines) & set(catalogue.HERE)
    assert {setting.engine for setting in settings} == here
    assert {setting.relation.value for setting in settings} == set(info.relations)
    units = [setting.ground.described.unit for setting in settings]
    for protected in catalogue.kind(info.kind).units:
        if protected.bounded:
            assert any(unit.column is not None for unit in units)
        if protected.together:
            assert any(unit.column is None and unit.records > 1 for unit in units)


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.parametrize("info", METHODS, ids=of_name)
def test_a_sabotaged_method_is_caught(info: MethodInfo, name: str) -> None:
    tampering = TAMPERINGS[name][1]
    if name == "sorted-by-raw-counts" and not possible(info, every_audit(), tampering):
        return  # single numbers, or numbers that are told in their order
    assert caught(info, every_audit(), tampering) is not None


@pytest.mark.parametrize("info", METHODS, ids=of_name)
def test_a_domain_from_the_data_is_caught(info: MethodInfo) -> None:
    tampering = domain_from_data(info, every_audit())
    assert tampering is not None
    assert caught(info, every_audit(), tampering) is not None


# The replay itself -------------------------------------------------------------------------------------


def counts(values: list[int], moves: int = 1) -> Sealed[Any]:
    return Sealed(np.array(values), Sensitivity.of(moves), Relation.ADD_REMOVE, because="made up for a test")


def test_bits_without_a_law_are_refused_when_recording_and_when_replaying() -> None:
    recorded = Transcript()
    recording = Recording(Randomness.seeded(1), recorded)
    for source in (recording, Replaying(recorded, Transcript())):
        for bits in (source.words, source.halves, source.quarters, source.take, source.bits, source.below):
            with pytest.raises(Departure, match="without a law"):
                bits(3)
        with pytest.raises(Departure, match="without a law"):
            source.spawn("branch").words(1)
    assert recording.draw(LaplaceAround(np.array([1]), Fraction(1))).shape == (1,)


@pytest.mark.parametrize("change", ["more", "fewer", "amount", "label", "shape", "scale"])
def test_a_run_that_asks_for_something_else_departs(change: str) -> None:
    recorded, replayed = Transcript(), Transcript()
    first = Budget(1, randomness=Recording(Randomness.seeded(1), recorded))
    for part in first.evenly(["a", "b"]):
        noise.counts(counts([1, 2]), pay=part)
    second = Budget(1, randomness=Replaying(recorded, replayed))
    labels = ["a", "c"] if change == "label" else ["a", "b", "c"] if change == "amount" else ["a", "b"]
    parts = second.evenly(labels)
    if change == "fewer":
        noise.counts(counts([1, 3]), pay=parts[0])
        assert len(replayed.draws) < len(recorded.draws)
        return

    def run() -> None:
        for part in parts:
            values = [1, 3, 3] if change == "shape" else [1, 3]
            noise.counts(counts(values, 2 if change == "scale" else 1), pay=part)
        if change == "more":
            second.randomness.draw(LaplaceAround(np.array([1]), Fraction(1)))

    with pytest.raises(Departure):
        run()


def test_outputs_are_the_same_and_whoever_changes_one_changes_only_a_copy() -> None:
    recorded, replayed = Transcript(), Transcript()
    law = LaplaceAround(np.array([4, 5]), Fraction(3))
    once = Recording(Randomness.seeded(1), recorded).draw(law)
    kept = once.copy()
    once[:] = 0
    again = Replaying(recorded, replayed).draw(LaplaceAround(np.array([5, 5]), Fraction(3)))
    assert again.tolist() == kept.tolist()
    again[:] = 0
    assert recorded.draws[0].output.tolist() == kept.tolist()


def test_the_loss_of_a_histogram_is_exactly_epsilon() -> None:
    info = next(info for info in METHODS if info.default and info.kind == "table")
    ground = Ground("one column", "fields: [{name: a, type: boolean}]", ((True,), (False,)))
    trial = Trial(info.name, ground.described, types=ground.types(), epsilon=Fraction(1, 3))
    outcome = replay(trial, (), (((True,),),), seed=1)
    assert outcome.loss.exact == Fraction(1, 3) or outcome.loss.exact == -Fraction(1, 3)
    assert outcome.precision < PRECISION
