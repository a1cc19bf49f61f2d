"""Growing trees: limits, order, and what grows over nothing."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Growth, Shape, grow
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation


@dataclass(frozen=True)
class Halves:
    """Intervals of whole numbers below a power of two, halved again and again."""

    points: np.ndarray
    bits: int
    prefixes: np.ndarray

    @property
    def fans(self) -> np.ndarray:
        return np.full(len(self.prefixes), 2 if self.bits > 0 else 0)

    def scores(self, asked: np.ndarray) -> Sealed[np.ndarray]:
        counts = np.array([np.count_nonzero(self.points >> self.bits == p) for p in self.prefixes[asked]])
        return Sealed(
            counts.astype(np.int64),
            Sensitivity.of(1),
            Relation.ADD_REMOVE,
            because="a record lies in one node of each depth",
        )

    def children(self, split: np.ndarray) -> "Halves":
        return Halves(self.points, self.bits - 1, (self.prefixes[split][:, None] * 2 + np.arange(2)).ravel())


def tree(
    points: list[int], epsilon: object = 1, seed: int = 1, bits: int = 8, **limits: int
) -> Growth[Halves]:
    pay = Budget(epsilon, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]
    top = Halves(np.array(points, dtype=np.int64), bits, np.array([0]))
    return grow(top, Splitter.paid(pay, fan_out=2), **{"deepest": bits, **limits})


def test_leaves_partition_the_domain_and_exact_counts_add_up() -> None:
    growth = tree([7] * 500 + [200] * 80 + list(range(0, 256, 4)))
    length, total = 0, 0
    for level, leaves in zip(growth.levels, growth.leaves, strict=True):
        length += len(leaves) << level.bits
        total += int(open_seal(level.scores(leaves)).sum())
    assert (length, total) == (256, 500 + 80 + 64)
    assert growth.shape.depth > 4


def test_a_tree_over_nothing_has_on_average_one_split_more_than_nothing() -> None:
    # the root splits with probability 1/2, everything below with 1/4: E|T| = 1 + beta = 3
    sizes = [len(tree([], seed=seed, bits=20).shape) for seed in range(500)]
    # a mean of 500 trees, beyond 6 standard errors: below 1e-8 by the normal law
    assert abs(np.mean(sizes) - 3) < 6 * np.std(sizes) / 500**0.5
    singles = sum(size == 1 for size in sizes)
    assert abs(singles - 250) < 6 * 125**0.5  # binomial, beyond 6 standard deviations: below 3e-9


def test_depth_and_node_limits_hold_for_coincident_points() -> None:
    assert tree([3] * 10_000, bits=8).shape.depth <= 8
    assert tree([3] * 10_000, bits=8, deepest=3).shape.depth == 3
    assert tree([3] * 10_000, bits=8, deepest=0).shape.fans.tolist() == [0]
    assert len(tree([3] * 10_000, bits=8, most_nodes=6).shape) == 5


def test_a_splitter_decides_about_one_tree_only() -> None:
    splitter = Splitter.paid(Budget(1, randomness=Randomness.seeded(1)), fan_out=2)
    top = Halves(np.array([1]), 3, np.array([0]))
    grow(top, splitter, deepest=3)
    with pytest.raises(UsageError, match="next one"):
        grow(top, splitter, deepest=3)


@pytest.mark.parametrize("fans", [[], [1], [0, 2, 0], [2, 0], [0, 1], [-1, 2]])
def test_numbers_that_are_no_tree_are_refused(fans: list[int]) -> None:
    with pytest.raises(UsageError, match="describe a tree"):
        Shape(np.array(fans, dtype=np.int64))


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_sums_over_leaves_are_consistent_at_every_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fans, open_nodes = [], 1
    while open_nodes and len(fans) < 60:
        fan = int(rng.choice([0, 2, 3], p=[0.55, 0.25, 0.2]))
        fans.append(fan)
        open_nodes += fan - 1
    shape = Shape(np.array(fans + [0] * open_nodes))
    at_leaves = rng.integers(-9, 9, (len(shape.leaves), 2))
    totals = shape.sums(at_leaves)
    assert (totals[0] == at_leaves.sum(axis=0)).all()
    for node in range(len(shape)):
        children = totals[shape.first[node] : shape.first[node] + shape.fans[node]]
        if len(children):
            assert (totals[node] == children.sum(axis=0)).all()
            assert (shape.depths[shape.first[node]] == shape.depths[node] + 1).all()
