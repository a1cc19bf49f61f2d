"""The mistakes that DP-WHERE invites are refuted by replays, and the method itself is not."""

from __future__ import annotations

import pytest

from penstock.audit.harness import Status, examine
from penstock.audit.target import Kind, Target
from penstock.kinds.calls.audits import MISTAKEN, MISTAKES


def by_name(target: Target) -> str:
    return target.name


def test_the_four_mistakes_are_those_that_the_paper_invites() -> None:
    assert set(MISTAKES) == {
        "noise-not-accumulated",
        "class-sizes-unpaid",
        "hours-forgotten",
        "shared-inference",
    }


@pytest.mark.parametrize("target", MISTAKEN.targets(), ids=by_name)
def test_every_mistake_is_refuted_and_the_method_itself_is_not(target: Target) -> None:
    verdict = examine(target, 40)
    assert verdict.status is (Status.REFUTED if target.kind is Kind.BROKEN else Status.HOLDS)
