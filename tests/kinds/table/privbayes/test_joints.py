"""Joint tables: which are counted, which follow, and that each becomes a distribution."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kinds.table.network.conditionals import added_up, conditional
from penstock.kinds.table.network.encoding import encode_as
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.privbayes.joints import contains, repaired, sources

NAMES = ["age", "education", "workclass", "title", "income"]
FIVE = encode_as("vanilla", [(name, 2) for name in NAMES]).variables


def pairs_of(*numbers: tuple[int, tuple[int, ...]]) -> list[Pair]:
    return [Pair(child, tuple(Parent(p) for p in parents)) for child, parents in numbers]


EXAMPLE = pairs_of((0, ()), (1, (0,)), (2, (0, 1)), (3, (0, 2)), (4, (2, 3)))


def test_example_of_the_paper_needs_three_joints() -> None:
    assert sources(FIVE, EXAMPLE, reuse=True) == [2, 2, 2, 3, 4]
    assert sources(FIVE, EXAMPLE, reuse=False) == [0, 1, 2, 3, 4]


def test_degree_zero_counts_every_attribute_and_full_degree_one_table() -> None:
    assert sources(FIVE, pairs_of(*((i, ()) for i in range(5))), reuse=True) == [0, 1, 2, 3, 4]
    full = pairs_of(*((i, tuple(range(i))) for i in range(5)))
    assert sources(FIVE, full, reuse=True) == [4] * 5


def test_coarser_marginals_lie_within_finer_ones_only() -> None:
    fine, coarse = (Parent(0), Parent(1, 1)), (Parent(1, 2),)
    assert contains(fine, coarse)
    assert not contains(fine, (Parent(1),))
    assert not contains(fine, (Parent(2),))


def test_derived_conditionals_equal_those_of_the_marginalised_joint() -> None:
    rng = np.random.default_rng(1)
    joint = rng.random((2, 2, 2))  # workclass, age, education
    parts = EXAMPLE[2].parts
    summed = added_up(joint, parts, EXAMPLE[1].parts, FIVE)  # education given age
    assert summed == pytest.approx(joint.sum(axis=0).T)
    table = conditional(summed, "uniform")
    assert table[1] == pytest.approx(joint[:, 1, :].sum(axis=0) / joint[:, 1, :].sum())


def test_every_conditional_row_is_a_distribution_whatever_the_noise() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        noisy = rng.integers(-9, 10, size=(3, 2, 4))
        for repair in ("clamp", "project"):
            for empty in ("back off", "uniform"):
                table = conditional(repaired(noisy, repair), empty)
                assert table.shape == (8, 3)
                assert (table >= 0).all()
                assert table.sum(axis=1) == pytest.approx(np.ones(8))


def test_all_negative_counts_become_uniform() -> None:
    for repair in ("clamp", "project"):
        assert repaired(np.array([-3, -1]), repair).tolist() == [0.5, 0.5]
