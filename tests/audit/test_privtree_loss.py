"""The exact worst loss of PrivTree's trees: never above epsilon, and far above for broken copies."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from penstock.audit.harness import exact_bound
from penstock.audit.target import Kind, Target
from penstock.audit.worst_loss import DecidedTree
from penstock.kinds.points.audits import BOTH, LINE, TREE, USERS, Forest, decisions
from penstock.kinds.sequences import audits as sequences
from penstock.kinds.table.audits import bins


@pytest.mark.parametrize("target", decisions(), ids=lambda target: target.name)
def test_shipped_decisions_lose_at_most_epsilon_and_broken_ones_more(target: Target) -> None:
    loss = exact_bound(target).epsilon
    if target.kind is Kind.SHIPPED:
        assert 0.5 < loss <= 1
    else:
        assert loss > 2


@pytest.mark.parametrize("target", [*sequences.decisions(), *bins.targets()], ids=lambda target: target.name)
def test_contexts_and_bins_lose_at_most_epsilon_and_broken_ones_more(target: Target) -> None:
    loss = exact_bound(target).epsilon
    if target.kind is Kind.SHIPPED:
        assert 0.4 < loss <= 1
    else:
        assert loss > 1.05


def test_contexts_as_they_are_shipped_lose_what_the_specification_says() -> None:
    # two symbols, at most three kept: in one direction a root that stays whole loses 3 / lambda = 0.4 epsilon
    schema = sequences.VISITS.replace("longest: 4", "longest: 3")
    shipped = DecidedTree(
        schema, sequences.contexts, fan_out=3, paths=3, deepest=3, epsilon=Fraction(3), constant="published"
    )
    few = (("b b b",),) * 9
    most, least = shipped.losses((*few, ("a a a",)), few)
    assert least == pytest.approx(-1.2, rel=1e-4)
    assert most <= 1.102


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)])
@pytest.mark.parametrize("together", [None, 1])
def test_random_neighbours_in_a_mixed_space_lose_at_most_epsilon(
    epsilon: Fraction, together: int | None
) -> None:
    forest = Forest(BOTH, epsilon=epsilon, deepest=12, together=together)
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(25):
        size = int(rng.integers(1, 60))
        animals = rng.choice(["cat", "dog", "wolf", "hen", "newt"], size, p=[0.1, 0.6, 0.1, 0.1, 0.1])
        rows = tuple(zip(animals.tolist(), (rng.random(size) ** 6).tolist(), strict=True))
        most, least = forest.losses(rows, rows[:-1])
        assert most <= epsilon
        assert least >= -epsilon
        worst = max(worst, most)
    assert worst > epsilon / 10  # the neighbours do tell something


def test_the_smaller_direction_loses_at_most_one_over_the_noise_scale() -> None:
    forest = Forest(LINE, deepest=20)
    from penstock.kinds.points.space import Space
    from penstock.schema import Schema

    scale = float(forest.splitter(Space.of(Schema.from_yaml(LINE), deepest=20)).lam)
    least = [forest.losses(((0.3,),) * (n + 1), ((0.3,),) * n)[1] for n in range(0, 40, 3)]
    assert min(least) >= -1 / scale - 1e-12


def test_users_who_come_with_their_points_scattered_lose_at_most_epsilon() -> None:
    forest = Forest(USERS, deepest=16)
    rng = np.random.default_rng(2)
    for _ in range(20):
        rows = tuple((float(value),) for value in rng.random(int(rng.integers(0, 40))) ** 3)
        joining = tuple((float(value),) for value in rng.random(3) ** 3)
        most, least = forest.losses((*rows, *joining), rows)
        assert -1 <= least <= most <= 1


def test_the_budget_decides_and_not_the_depth() -> None:
    crowd, one_more = ((0.3,),) * 9, ((0.3,),) * 10
    losses = [Forest(LINE, deepest=depth).loss(crowd, one_more) for depth in (1, 4, 12, 30)]
    assert losses == sorted(losses)
    assert losses[-1] <= 1
    deeper = [replace(Forest(TREE), deepest=depth).loss((("dog",),), (("dog",),) * 2) for depth in (1, 3)]
    assert max(deeper) <= 1
