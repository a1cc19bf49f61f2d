"""Balanced rows: nearer to the model than independent draws, and never what the model rules out."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kinds.table.network.balancing import balanced, looks
from penstock.kinds.table.network.drawing import draw
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent

SIZES = (6, 5, 4)
SHARES = tuple(np.random.default_rng(size).dirichlet(np.full(size, 2.0)) for size in SIZES)
ROWS = 2000


def apart() -> Network:
    """Three columns that have nothing to do with each other."""
    variables = tuple(
        Variable(f"v{i}", f"v{i}", size, None, (Grouping(tuple(range(size)), size),))
        for i, size in enumerate(SIZES)
    )
    return Network(
        variables, tuple(Pair(i) for i in range(len(SIZES))), tuple(share[None, :] for share in SHARES)
    )


def off(columns: list[np.ndarray]) -> float:
    """Half the sum of the differences between the cross table of all three columns and the model."""
    seen = np.zeros(SIZES)
    np.add.at(seen, tuple(columns), 1 / len(columns[0]))
    model = np.einsum("i,j,k->ijk", *SHARES)
    return float(np.abs(seen - model).sum() / 2)


def test_cross_tables_are_much_nearer_to_the_model() -> None:
    """120 cells and 2,000 rows: by chance off by .08, give or take .006; balanced by less than half of it."""
    net = apart()
    for seed in range(3):
        by_chance = off(net.sample(ROWS, np.random.default_rng(seed)))
        nearer = off(net.sample(ROWS, np.random.default_rng(seed), balance=True))
        assert nearer < 0.55 * by_chance


def test_a_code_without_probability_is_never_drawn() -> None:
    rng = np.random.default_rng(1)
    tables = np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.2, 0.8, 0.0]])
    groups = rng.integers(0, 3, ROWS)
    codes = draw(groups, tables, rng)
    before = {0: (groups, 3), 1: (rng.integers(0, 7, ROWS), 7)}
    again = balanced(codes, groups, tables, before, 3, rng)
    assert (tables[groups, again] > 0).all()
    assert (again != codes).any()


def test_counts_stay_near_those_of_the_distribution() -> None:
    """Within the groups of a parent, and over all rows, codes keep their shares to a few rows."""
    rng = np.random.default_rng(2)
    tables = rng.dirichlet(np.ones(4), 3)
    groups = rng.integers(0, 3, ROWS)
    before = {0: (groups, 3), 1: (rng.integers(0, 5, ROWS), 5)}
    again = balanced(draw(groups, tables, rng), groups, tables, before, 3, rng)
    seen = np.zeros((3, 4))
    np.add.at(seen, (groups, again), 1)
    assert np.abs(seen - tables * np.bincount(groups)[:, None]).max() < 15  # chance: deviation up to 13


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows_or_none(rows: int) -> None:
    for balance in (False, True):
        columns = apart().sample(rows, np.random.default_rng(0), balance=balance)
        assert [len(column) for column in columns] == [rows] * 3


def test_a_parent_at_a_coarser_level_and_no_room_for_any_look() -> None:
    net = apart()
    child = Pair(2, (Parent(0),))
    linked = Network(
        net.variables, (Pair(0), Pair(1), child), (*net.tables[:2], np.repeat(net.tables[2], 6, axis=0))
    )
    assert len(linked.sample(50, np.random.default_rng(0), balance=True)) == 3
    assert looks(500, 1_000_000) == 0
    codes = np.zeros(5, dtype=np.int64)
    assert balanced(codes, codes, np.array([[1.0]]), {}, 3, np.random.default_rng(0)) is codes
