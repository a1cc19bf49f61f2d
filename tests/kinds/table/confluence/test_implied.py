"""What a tree of counted pairs passes on to the others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kinds.table.confluence.implied import along, averaged, implied, of_three


@given(st.integers(0, 10_000), st.lists(st.integers(2, 4), min_size=3, max_size=5))
def test_pairs_are_those_of_the_joint_distribution_of_the_tree(seed: int, sizes: list[int]) -> None:
    """Every column hangs on one before it; the joint table is made in full and added up."""
    rng = np.random.default_rng(seed)
    joint = rng.dirichlet(np.ones(sizes[0]))
    parents = [0] * len(sizes)
    for number in range(1, len(sizes)):
        parents[number] = int(rng.integers(number))
        table = rng.dirichlet(np.ones(sizes[number]), size=sizes[parents[number]])
        shape = [1] * number
        shape[parents[number]] = sizes[parents[number]]
        joint = joint[..., None] * table.reshape(*shape, sizes[number])

    def over(*kept: int) -> np.ndarray:
        dropped = tuple(axis for axis in range(len(sizes)) if axis not in kept)
        table = joint.sum(axis=dropped)
        return table if kept == tuple(sorted(kept)) else table.T

    links = {}
    for number in range(1, len(sizes)):
        for pair in ((parents[number], number), (number, parents[number])):
            links[pair] = over(*pair) / over(pair[0])[:, None]
    found = implied([over(number) for number in range(len(sizes))], links)
    for (one, two), table in found.items():
        np.testing.assert_allclose(table, over(one, two), atol=1e-12)


def test_what_was_counted_is_told_by_its_counts_and_not_along_the_tree() -> None:
    """A ring of three pairs and a fourth column: the pair that closes the ring is its own witness."""
    even, keeps, loses = np.full(2, 0.5), np.array([[0.9, 0.1], [0.1, 0.9]]), np.full((2, 2), 0.5)
    links = {(0, 1): keeps, (1, 2): keeps, (0, 2): loses, (2, 3): keeps}
    found = implied([even] * 4, links | {(two, one): table for (one, two), table in links.items()})
    np.testing.assert_allclose(found[0, 2], loses / 2)
    np.testing.assert_allclose(found[0, 3], keeps @ keeps @ keeps / 2)  # along the first edges


def test_a_group_of_codes_that_nobody_has_passes_on_their_mean() -> None:
    passed = averaged(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.array([0, 0]))
    np.testing.assert_allclose(passed, [[0.5, 0.5]])


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(3, 7), st.floats(0.05, 0.95))
def test_a_tree_of_even_channels_passes_on_what_is_said(
    seed: int, size: int, columns: int, kept: float
) -> None:
    """Where each column keeps the code of another with some probability, the distances are exact."""
    rng = np.random.default_rng(seed)
    channel = kept * np.eye(size) + (1 - kept) / size
    edges = [(int(rng.integers(number)), number) for number in range(1, columns)]
    links = {pair: channel for one, two in edges for pair in ((one, two), (two, one))}
    joint = implied([np.full(size, 1 / size)] * columns, links)
    distances = {pair: float(np.abs(table - 1 / size**2).sum()) / 2 for pair, table in joint.items()}
    along_tree = float(np.mean([distances[pair] for pair in edges]))
    mean = float(np.mean(list(distances.values())))
    assert np.isclose(along_tree, kept * (1 - 1 / size))  # what it could be, and what is kept of that
    assert np.isclose(mean / along_tree, along(edges, columns, kept))


@given(st.integers(0, 10_000), st.tuples(*[st.integers(1, 4)] * 3))
def test_a_triple_by_its_pairs_has_them_as_sides_and_no_more(seed: int, sizes: tuple[int, int, int]) -> None:
    """A table without dependence of all three at once is found again, and others have the same sides."""
    rng = np.random.default_rng(seed)
    sides = [rng.uniform(0.5, 2, (sizes[a], sizes[b])) for a, b in ((0, 1), (0, 2), (1, 2))]
    joint = sides[0][:, :, None] * sides[1][:, None, :] * sides[2][None, :, :]
    found = of_three(*(joint.sum(axis=axis) for axis in (2, 1, 0)))
    np.testing.assert_allclose(found, joint, rtol=0.02)
    other = joint * rng.uniform(0.5, 2, joint.shape)
    told = of_three(*(other.sum(axis=axis) for axis in (2, 1, 0)))
    for axis in (2, 1, 0):
        np.testing.assert_allclose(told.sum(axis=axis), other.sum(axis=axis), rtol=0.02)
