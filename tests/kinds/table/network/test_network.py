"""Sampling and inference on networks, against enumeration of the full joint."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from penstock.kinds.table.network import inference
from penstock.kinds.table.network.drawing import draw
from penstock.kinds.table.network.elimination import Factor, TooWideError, plan, sums
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent


def levels(size: int) -> tuple[Grouping, ...]:
    return (Grouping(tuple(range(size)), size), Grouping(tuple(i // 2 for i in range(size)), (size + 1) // 2))


SIZES = (4, 3, 2, 6, 3)


def network(seed: int = 0) -> Network:
    """Five variables with parents at various levels, and random tables with some zeros."""
    rng = np.random.default_rng(seed)
    variables = tuple(Variable(f"v{i}", f"v{i}", size, None, levels(size)) for i, size in enumerate(SIZES))
    pairs = (
        Pair(3),
        Pair(0, (Parent(3, 1),)),
        Pair(1, (Parent(0, 1), Parent(3))),
        Pair(4, (Parent(1, 1),)),
        Pair(2, (Parent(4), Parent(0))),
    )
    tables = []
    for pair in pairs:
        rows = int(np.prod([variables[v].sizes[level] for v, level in pair.parents]))
        table = rng.random((rows, variables[pair.child].size)) ** 2
        table[rng.random(table.shape) < 0.1] = 0
        table[:, 0] += 0.05
        tables.append(table / table.sum(axis=1, keepdims=True))
    return Network(variables, pairs, tuple(tables))


def joint_of(net: Network) -> np.ndarray:
    """The full joint by enumeration."""
    joint = np.zeros(SIZES)
    for row in product(*(range(size) for size in SIZES)):
        chance = 1.0
        for pair, table in zip(net.pairs, net.tables, strict=True):
            key = 0
            for variable, level in pair.parents:
                grouping = net.variables[variable].levels[level]
                key = key * grouping.size + grouping.groups[row[variable]]
            chance *= table[key, row[pair.child]]
        joint[row] = chance
    return joint


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("wanted", [(), (0,), (2,), (4, 0), (1, 3), (3, 2, 1), (0, 1, 2, 3, 4)])
def test_marginals_equal_enumeration(seed: int, wanted: tuple[int, ...]) -> None:
    net = network(seed)
    joint = joint_of(net)
    rest = tuple(i for i in range(5) if i not in wanted)
    expected = np.transpose(joint.sum(axis=rest), np.argsort(np.argsort(wanted))) if wanted else joint.sum()
    assert inference.marginal(net, wanted) == pytest.approx(expected)


def test_weighted_marginals_equal_enumeration() -> None:
    net = network(1)
    joint = joint_of(net)
    weights = {2: np.array([0.25, 1.0]), 3: np.array([0, 1, 1, 0.5, 0, 0.0])}
    weighed = joint * weights[2][None, None, :, None, None] * weights[3][None, None, None, :, None]
    assert inference.marginal(net, (4, 1), weights) == pytest.approx(weighed.sum(axis=(0, 2, 3)).T)
    assert inference.marginal(net, (3,), weights) == pytest.approx(weighed.sum(axis=(0, 1, 2, 4)))
    extra = [Factor((0, 4), np.random.default_rng(0).random((4, 3)))]
    both = weighed * extra[0].values[:, None, None, None, :]
    assert inference.marginal(net, (), weights, extra) == pytest.approx(both.sum())


def chi_square_is_plausible(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Pearson's statistic below mean + 8 standard deviations: far beyond 1e-6 for these sizes."""
    inside = expected > 0
    assert (counts[~inside] == 0).all()
    statistic = ((counts[inside] - expected[inside]) ** 2 / expected[inside]).sum()
    degrees = inside.sum() - 1
    return bool(statistic < degrees + 8 * np.sqrt(2 * degrees))


def test_sampled_rows_follow_the_joint() -> None:
    net = network(2)
    columns = net.sample(200_000, np.random.default_rng(5))
    counts = np.bincount(np.ravel_multi_index(columns, SIZES), minlength=int(np.prod(SIZES)))
    assert chi_square_is_plausible(counts, 200_000 * joint_of(net).ravel())


def test_rows_given_weights_follow_the_conditional_joint() -> None:
    net = network(3)
    weights = {2: np.array([0.3, 1.0]), 1: np.array([0.0, 1.0, 0.5])}
    columns = inference.sample_given(net, weights, 200_000, np.random.default_rng(6))
    assert columns is not None
    target = joint_of(net) * weights[1][None, :, None, None, None] * weights[2][None, None, :, None, None]
    counts = np.bincount(np.ravel_multi_index(columns, SIZES), minlength=int(np.prod(SIZES)))
    assert chi_square_is_plausible(counts, 200_000 * (target / target.sum()).ravel())


def test_impossible_evidence_is_recognised() -> None:
    assert inference.sample_given(network(0), {0: np.zeros(4)}, 10, np.random.default_rng(0)) is None


def test_draws_are_spread_evenly_within_each_group() -> None:
    rng = np.random.default_rng(1)
    tables = rng.random((7, 5))
    tables /= tables.sum(axis=1, keepdims=True)
    groups = rng.integers(7, size=10_000)
    codes = draw(groups, tables, rng)
    for group in range(7):
        mine = codes[groups == group]
        assert np.abs(np.bincount(mine, minlength=5) - len(mine) * tables[group]).max() <= 1 + 1e-6


def test_each_row_alone_has_the_exact_distribution() -> None:
    """One row of a group of three, 20,000 times: 6 standard errors, fails with probability below 1e-8."""
    rng = np.random.default_rng(2)
    table = np.array([[0.2, 0.5, 0.3]])
    first = np.array([draw(np.zeros(3, dtype=np.int64), table, rng)[0] for _ in range(20_000)])
    shares = np.bincount(first, minlength=3) / 20_000
    assert (np.abs(shares - table[0]) < 6 * np.sqrt(table[0] * (1 - table[0]) / 20_000)).all()


def test_codes_without_probability_are_never_drawn() -> None:
    tables = np.array([[0.0, 1 / 3, 2 / 3, 0.0], [1.0, 0.0, 0.0, 0.0], [1e-300, 0, 0, 1 - 1e-300]])
    groups = np.random.default_rng(3).integers(3, size=50_000)
    codes = draw(groups, tables, np.random.default_rng(4))
    assert (tables[groups, codes] > 0).all()
    assert draw(np.zeros(0, dtype=np.int64), tables, np.random.default_rng(0)).size == 0


def test_wide_questions_are_refused_before_anything_is_computed() -> None:
    net = network(0)
    with pytest.raises(TooWideError):
        inference.marginal(net, (0, 1, 2, 3, 4), limit=10)
    with pytest.raises(TooWideError):
        plan([tuple(range(40))], dict.fromkeys(range(40), 2), keep=[])


def test_elimination_of_unconnected_factors() -> None:
    factors = [Factor((0,), np.array([1.0, 2.0])), Factor((1,), np.array([3.0, 4.0]))]
    assert sums(factors, {0: 2, 1: 2}, keep=[]) == pytest.approx(21)
    assert sums(factors, {0: 2, 1: 2}, keep=[1, 0]).tolist() == [[3, 6], [4, 8]]


def test_broken_networks_are_refused() -> None:
    net = network(0)
    with pytest.raises(ValueError, match="before their children"):
        Network(net.variables, net.pairs[::-1], net.tables[::-1])
    with pytest.raises(ValueError, match="shape"):
        Network(net.variables, net.pairs, (*net.tables[:-1], net.tables[0]))
    with pytest.raises(ValueError, match="a place"):
        Network(net.variables, net.pairs[:-1], net.tables[:-1])
