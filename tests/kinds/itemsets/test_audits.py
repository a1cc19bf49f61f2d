"""The mistakes that DiffPart invites are refuted by replays, and one of them costs what theory says."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import exp

import numpy as np
import pytest

from penstock.audit.harness import Status, examine
from penstock.audit.hostile import Ground, trial
from penstock.audit.replay import replay
from penstock.audit.target import Kind, Target
from penstock.kinds.itemsets.audits import EAGER, FOUR, MISTAKEN, MISTAKES, HigherForAbsent
from penstock.privacy.laws.passing import Passed, SparseCounts
from penstock.privacy.unit import Relation


def by_name(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", MISTAKEN.targets(), ids=by_name)
def test_every_mistake_is_refuted_and_the_method_itself_is_not(target: Target) -> None:
    verdict = examine(target, 40)
    assert verdict.status is (Status.REFUTED if target.kind is Kind.BROKEN else Status.HOLDS)


def test_a_threshold_that_is_one_higher_for_absent_parts_costs_one_rate_more_at_each_test() -> None:
    """From nothing to {a, b, c, d} two parts are tested with a sixth of epsilon each: 1 + 2/6 in all."""
    ground = Ground("four items", FOUR, (("a b c d",),))
    _, higher = MISTAKES["higher-for-absent"]
    made = trial(ground, "diffpart", Relation.ADD_REMOVE, 2, parameters=EAGER, tampering=higher)
    one = ((("a b c d",),),)
    assert max(replay(made, one, (), seed).share for seed in range(20)) == pytest.approx(4 / 3, abs=1e-12)


def test_the_law_of_that_mistake_adds_up_to_one() -> None:
    law = HigherForAbsent(SparseCounts(np.array([1]), np.array([2]), 3), Fraction(1, 2), least=2, told=False)
    outcomes = [
        np.array(cells, dtype=np.int64) for many in range(4) for cells in combinations(range(3), many)
    ]
    chances = [exp(float(law.log_probability(Passed(cells, None)))) for cells in outcomes]
    assert sum(chances) == pytest.approx(1, abs=1e-12)
