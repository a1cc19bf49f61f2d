"""Marginals from the transform of a joint table: equal to plain sums, and used where they are many."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import tally
from penstock.engine.cube import marginals_of
from penstock.engine.memory import MemoryEngine
from penstock.engine.view import View


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=5), st.integers(0, 2**32))
def test_every_marginal_is_the_plain_sum_of_the_joint_table(sizes: list[int], seed: int) -> None:
    joint = np.random.default_rng(seed).integers(0, 100, sizes)
    columns = [3 * axis + 1 for axis in range(len(sizes))]
    wanted = [axes for some in range(len(sizes) + 1) for axes in permutations(range(len(sizes)), some)]
    found = marginals_of(joint, columns, [tuple(columns[axis] for axis in axes) for axes in wanted])
    for axes, table in zip(wanted, found, strict=True):
        others = tuple(axis for axis in range(len(sizes)) if axis not in axes)
        in_order = np.moveaxis(joint.sum(axis=others, keepdims=True), axes, range(len(axes)))
        assert table.tolist() == in_order.ravel().tolist()


def test_many_marginals_of_few_cells_are_counted_from_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    sizes = {f"x{number}": 2 + number % 2 for number in range(9)}
    codes = {name: rng.integers(0, size, 5000) for name, size in sizes.items()}
    coarse = View("x1", (0, 0, 1))
    wanted = [(*names, coarse) for names in combinations([n for n in sizes if n != "x1"], 3)]
    wanted += [(*names, "x1") for names in combinations([n for n in sizes if n != "x1"], 3)]
    calls = []
    monkeypatch.setattr(tally, "marginals_of", lambda *given: calls.append(given[1]) or marginals_of(*given))
    found = MemoryEngine(codes, sizes).counts(wanted)
    assert calls == [tuple(range(10))]  # the coarse view is a column of its own
    monkeypatch.setattr(tally, "_JOINT", 0)
    planned = MemoryEngine(codes, sizes).counts(wanted)
    assert len(calls) == 1
    assert [table.tolist() for table in found] == [table.tolist() for table in planned]
