"""Marginals from the transform of a joint table: equal to plain sums, and used where they are many."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import joint_table, tally
from penstock.engine.joint_table import marginals_of
from penstock.engine.marginal import Column, Columns
from penstock.engine.memory import MemoryEngine


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 4), max_size=5), st.integers(0, 2**32), st.sampled_from([5, 1 << 17]))
def test_every_marginal_is_the_plain_sum_of_the_joint_table(
    sizes: list[int], seed: int, at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joint_table, "_TOGETHER", at_once)
        check_all_marginals(sizes, seed)


def check_all_marginals(sizes: list[int], seed: int) -> None:
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
    coarse = Column("x1", (0, 0, 1))
    wanted = [(*names, coarse) for names in combinations([n for n in sizes if n != "x1"], 3)]
    wanted += [(*names, "x1") for names in combinations([n for n in sizes if n != "x1"], 3)]
    calls = []
    monkeypatch.setattr(tally, "marginals_of", lambda *given: calls.append(given[1]) or marginals_of(*given))
    found = MemoryEngine(codes, sizes).counts(wanted)
    assert calls == [tuple(range(10))]  # the coarse one is a column of its own
    monkeypatch.setattr(tally, "_JOINT", 0)
    planned = MemoryEngine(codes, sizes).counts(wanted)
    assert len(calls) == 1
    assert [table.tolist() for table in found] == [table.tolist() for table in planned]


@pytest.mark.parametrize(
    ("rows", "marginals", "joint"),
    [
        (5000, 100, True),
        (5000, 3, False),  # 2^14 cells are not worth it for three marginals
        (600, 24, False),  # short tables are counted quickly one by one
        (600, 100, True),
        (40 << 16, 40, False),  # every block of rows would add to all cells
        (40 << 16, 100, True),
    ],
)
def test_the_joint_table_is_used_where_it_is_cheaper(
    rows: int, marginals: int, joint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    monkeypatch.setattr(tally.Rows, "_from_joint", lambda *given: used.append(given) or [])
    monkeypatch.setattr(tally.Rows, "_direct", lambda *given: [])
    columns = Columns({f"x{number}": 2 for number in range(14)})
    names = [tuple(range(14)), *combinations(range(14), 2), *combinations(range(14), 3)]
    tally.Rows(columns, {}, rows, None).tally(names[:marginals])
    assert bool(used) == joint


def test_columns_of_a_single_code_are_left_out_of_the_count() -> None:
    rng = np.random.default_rng(4)
    sizes = {"a": 2, "many": 5000} | {f"x{number}": 1 for number in range(80)}
    codes = {name: rng.integers(0, size, 4000) for name, size in sizes.items()}
    engine = MemoryEngine(codes, sizes)
    wanted = [("x0", "a", "x1"), ("x2",), tuple(f"x{number}" for number in range(80))]
    wanted += [(f"x{number}", "a") for number in range(80)]
    ones = int(codes["a"].sum())
    expected = [[4000 - ones, ones], [4000], [4000]] + [[4000 - ones, ones]] * 80
    assert [table.tolist() for table in engine.counts(wanted)] == expected
