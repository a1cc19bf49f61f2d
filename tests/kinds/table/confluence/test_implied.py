"""What a tree of counted pairs passes on to the others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.kinds.table.confluence.implied import averaged, implied


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


def test_a_group_of_codes_that_nobody_has_passes_on_their_mean() -> None:
    passed = averaged(np.array([[1.0, 0.0], [0.0, 1.0]]), np.zeros(2), np.array([0, 0]))
    np.testing.assert_allclose(passed, [[0.5, 0.5]])
