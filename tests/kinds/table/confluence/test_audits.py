"""The steps of confluence: their exact loss, and that of every broken copy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.audit.harness import Status, exact_bound, examine
from penstock.audit.target import Kind, Target
from penstock.kinds.table.audits import dependence, gaps, looks

TARGETS = {target.name: target for target in (*gaps.targets(), *dependence.targets(), *looks.targets())}
SHIPPED = [target for target in TARGETS.values() if target.kind is Kind.SHIPPED]
BROKEN = [target for target in TARGETS.values() if target.kind is Kind.BROKEN]


def by_name(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", SHIPPED, ids=by_name)
def test_a_step_never_costs_more_than_it_is_paid(target: Target) -> None:
    found = exact_bound(target).epsilon
    assert 0.5 < found <= 1 + 1e-9
    if target.name in ("confluence-dependence-three", "confluence-dependence-of-all", "confluence-largest"):
        assert found == pytest.approx(1)  # a record can move all of them at once


@pytest.mark.parametrize("target", BROKEN, ids=by_name)
def test_every_mistake_is_refuted_by_enumeration(target: Target) -> None:
    assert exact_bound(target).epsilon > 1.2


@pytest.mark.parametrize("name", ["confluence-choice", "broken-confluence-price-from-records"])
def test_running_the_shipped_code_agrees_with_the_enumeration(name: str) -> None:
    """Seeded; a true claim is refuted with probability at most 1e-6."""
    target = TARGETS[name]
    verdict = examine(replace(target, pairs=(exact_bound(target).pair,), effort=1), 1500)
    assert verdict.expected
    assert verdict.sampled is not None
    refuted = verdict.sampled.epsilon > 1
    assert refuted == (target.kind is Kind.BROKEN)
    assert verdict.status is (Status.REFUTED if refuted else Status.HOLDS)
