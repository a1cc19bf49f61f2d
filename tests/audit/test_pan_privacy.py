"""The exact tester of pan-privacy: it sees state and answers together, and what either of them hides."""

from __future__ import annotations

from math import inf, isclose, log

import pytest

from penstock.audit.exact import pure_loss
from penstock.audit.harness import Status, examine
from penstock.audit.pan_privacy import Machine, clamped_laplace, joint, joint_loss
from penstock.audit.target import Kind, Target
from penstock.errors import UsageError
from penstock.kinds.stream.audits import AUDITS, box, machines
from penstock.privacy.unit import Relation

FLIP = Machine(
    {0: 0.75, 1: 0.25},
    lambda state, update: {state ^ update: 1.0},
    lambda state: {state: 0.75, 1 - state: 0.25},
)
"""A bit that began with noise, and is told with noise: ln 3 for either."""


def test_the_loss_of_state_and_answer_together_is_the_sum_of_both() -> None:
    assert isclose(joint_loss(FLIP, [1], [0], answers=0), log(3))
    # seen before the update, and told after it: nothing, and ln 3; seen after it, both
    assert isclose(joint_loss(FLIP, [1], [0], answers=1), 2 * log(3))
    assert isclose(joint_loss(FLIP, [1], [0], answers=2), 3 * log(3))


def test_a_state_and_an_answer_that_are_private_one_by_one_may_not_be_together() -> None:
    """The answer tells the state: whoever looked in before the update learns the update."""
    bare = Machine(FLIP.initial, FLIP.step, lambda state: {state: 1.0})
    never, always = 5, 1
    alone = pure_loss(joint(bare, [1], never, [always]), joint(bare, [0], never, [always]))
    assert isclose(alone, log(3))
    assert isclose(joint_loss(bare, [1], [0], answers=0), log(3))
    assert joint_loss(bare, [1], [0]) == inf


def test_what_the_model_needs_and_the_machine_does_not_keep_is_not_seen() -> None:
    watched = Machine(
        {(0, 0): 0.75, (1, 1): 0.25},
        lambda state, update: {(state[0] ^ update, state[1]): 1.0},
        lambda state: {0: 1.0},
    )
    assert joint_loss(watched, [1], [0]) == inf
    hidden = Machine(watched.initial, watched.step, watched.answer, seen=lambda state: state[0])
    assert isclose(joint_loss(hidden, [1], [0]), log(3))


def test_neighbouring_streams_have_as_many_updates() -> None:
    with pytest.raises(UsageError, match="same number of updates"):
        joint_loss(FLIP, [1], [])


def test_noise_that_is_cut_off_is_a_law() -> None:
    assert isclose(sum(clamped_laplace(1, 2.0, -1, 3).values()), 1.0)


TIGHT = (
    *(f"{name}-{relation.value}" for name in ("pp-bucket", "pp-incidence") for relation in Relation),
    "group-sketch",
    "continual-counter-seen-add-remove",
    "continual-l2-seen-add-remove",
)
"""Where the loss is all that is paid for: no noise is wasted."""


def test_one_epsilon_pays_for_the_look_and_for_all_steps() -> None:
    """Of an interval with the event, either the look tells or what is published later, never both."""
    assert {target.promise.epsilon for target in AUDITS.targets() if target.name.startswith("continual")} == {
        1
    }


@pytest.mark.parametrize("target", AUDITS.targets(), ids=lambda target: target.name)
def test_what_is_shipped_stands_and_every_broken_copy_is_refuted(target: Target) -> None:
    """S5: the state at t and the answer at t' > t, over all t and t', of every sketch."""
    verdict = examine(target, 100)
    assert verdict.status is (Status.HOLDS if target.kind is Kind.SHIPPED else Status.REFUTED)
    assert verdict.exact is not None
    if target.name in TIGHT:
        assert isclose(verdict.exact.epsilon, float(target.promise.epsilon))


def test_the_box_of_algorithm_7_puts_probability_where_a_neighbour_has_none() -> None:
    """As printed, whole totals from -2 Z to 2 Z; in a group of residues nothing is lost."""
    lost = [box.lost_mass([(one, 1)], [(other, 1)])[0] for one in range(4) for other in range(one)]
    assert min(lost) > 0.05
    assert max(lost) > 0.2
    group = machines.group().machine()
    assert joint_loss(group, [(0, 1)], [(1, 1)], answers=0) == pytest.approx(1)
    assert min(group.initial.values()) > 0


@pytest.mark.parametrize("relation", list(Relation))
def test_the_state_of_the_shipped_sketches_loses_their_share(relation: Relation) -> None:
    """S1: by enumeration with q = 7, for both notions of neighbours."""
    for small in (machines.buckets(relation), machines.incidence(relation)):
        for first, second in machines.STREAMS[relation]:
            loss = joint_loss(small.machine(), first, second, answers=0)
            assert loss <= float(small.setting.state) + 1e-9
