"""The exact audits of perturbed minima: the theorem stands, and every mistake is refuted."""

from __future__ import annotations

import pytest

from penstock.audit.target import Kind, Target
from penstock.learn.linear.audits import outputs, proofs

EXACT = [target for target in (*proofs.targets(), *outputs.targets()) if target.loss is not None]


@pytest.mark.parametrize("target", EXACT, ids=lambda target: target.name)
def test_the_theorem_stands_and_its_broken_copies_are_refuted(target: Target) -> None:
    assert target.loss is not None
    worst = max(target.loss(pair.first, pair.second) for pair in target.pairs)
    if target.kind is Kind.SHIPPED:
        assert worst <= float(target.promise.epsilon)
        assert worst > 0.4 * float(target.promise.epsilon)
    else:
        assert worst > 1.2 * float(target.promise.epsilon)
