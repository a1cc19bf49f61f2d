"""The choice of a grid on neighbouring tables, exactly: the promise holds, and nearly all of it is used."""

from __future__ import annotations

from itertools import product

import pytest

from penstock.audit.exact import TOLERANCE, worst
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind
from penstock.learn.classification.audits.grids import POOL, Step, moved_apart, targets

CHOICES = {target.name: target for target in targets()}


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_shipped_keeps_its_promise_and_every_broken_copy_breaks_it(name: str) -> None:
    target = CHOICES[name]
    if target.loss is not None:
        loss = max(target.loss(pair.first, pair.second) for pair in target.pairs)
    else:
        assert target.distribution is not None
        loss, _ = worst(target.distribution, target.pairs)
    if target.kind is Kind.BROKEN:
        assert loss > 1.1
    else:
        assert loss <= 1 + TOLERANCE


def test_the_range_of_changes_is_nearly_attained() -> None:
    """So that nothing smaller could be stated, and the published bound wastes nearly half."""
    attained, _ = worst(Step().law, moved_apart())
    published, _ = worst(Step(calibration="fixed").law, moved_apart())
    assert 0.99 < attained <= 1 + TOLERANCE
    assert 0.5 < published < 0.55


def test_a_second_choice_uses_nearly_all_that_it_is_paid_for() -> None:
    """So that nothing smaller could be stated of it, whoever pays."""
    for name in ("privpfc-two-passes", "privpfc-left-over"):
        target = CHOICES[name]
        assert target.loss is not None
        assert max(target.loss(pair.first, pair.second) for pair in target.pairs) > 0.95


def test_all_tables_with_counts_up_to_two_keep_the_promise() -> None:
    """Tables of two yes/no columns, with each record that may be added: three candidates and the root."""
    step = Step(pool=lambda records: ((), *POOL, ((0, 1), (1, 1))))
    cells = [(a, b) for a in (0, 1) for b in (0, 1)]
    pairs = []
    for counts in product(range(3), repeat=4):
        told = [(a, b, (a + place) % 2) for place, (a, b) in enumerate(cells)]
        rest = tuple(record for record, many in zip(told, counts, strict=True) for _ in range(many))
        pairs += [Pair(rest, (*rest, (a, b, label))) for a, b in ((0, 0), (1, 0)) for label in (0, 1)]
    loss, _ = worst(step.law, pairs[::4])
    assert loss <= 1 + TOLERANCE
