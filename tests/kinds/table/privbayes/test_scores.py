"""Scores on count tables: worked examples, brute force over assignments, monotonicity."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.kinds.table.privbayes.scores import information, records, score, scores, twice_n2_r, twice_n_f
from penstock.privacy.unit import Relation

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE

# Spec 13.3: eight records over A, B, C
ROWS = np.array([[int(c) for c in row] for row in ("000", "001", "000", "011", "111", "110", "111", "101")])
A, B, C = 0, 1, 2


def table(child: int, *parents: int) -> np.ndarray:
    key = ROWS[:, child]
    for parent in parents:
        key = key * 2 + ROWS[:, parent]
    return np.bincount(key, minlength=2 << len(parents)).reshape(1, 2, -1)


def f_by_hand(counts: np.ndarray) -> int:
    """2nF by trying every assignment in which both values own a column."""
    n, best = counts.sum(), None
    for owner in product((0, 1), repeat=counts.shape[1]):
        if len(set(owner)) < 2:
            continue
        own = [sum(counts[x, j] for j in range(counts.shape[1]) if owner[j] == x) for x in (0, 1)]
        value = -sum(max(n - 2 * k, 0) for k in own)
        best = value if best is None else max(best, value)
    return int(best)


def test_example_of_table_3_and_example_4_4() -> None:
    assert twice_n_f(np.array([[[6, 0, 0, 0], [1, 1, 1, 1]]])).tolist() == [-4]  # F = -0.2 at n = 10
    two_diagonals = np.array([[[5, 0], [0, 5]], [[0, 5], [5, 0]]])
    assert information(two_diagonals) == pytest.approx([1.0, 1.0])
    assert twice_n_f(two_diagonals).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("counts", "i", "f", "r"),
    [
        (table(A, B), 0.188722, -1 / 4, 1 / 4),
        (table(B, A), 0.188722, -1 / 4, 1 / 4),
        (table(A, C), 0.048795, -3 / 8, 1 / 8),
        (table(C, B), 0.048795, -3 / 8, 1 / 8),
        (table(A, B, C), 0.405639, -1 / 4, 1 / 4),
        (table(B, A, C), 0.405639, -1 / 4, 1 / 4),
        (table(C, A, B), 0.265712, -1 / 4, 7 / 32),
    ],
)
def test_worked_dataset_has_the_published_scores(counts: np.ndarray, i: float, f: float, r: float) -> None:
    assert information(counts)[0] == pytest.approx(i, abs=1e-6)
    assert twice_n_f(counts)[0] == 16 * f
    assert twice_n2_r(counts)[0] == 128 * r
    assert score("R", counts, ADD)[0] == np.floor(32 * r)


counts = st.integers(0, 30)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(counts, counts), min_size=2, max_size=10))
def test_f_equals_enumeration_of_all_assignments(columns: list[tuple[int, int]]) -> None:
    stack = np.array(columns).T[None]
    assert twice_n_f(stack)[0] == f_by_hand(stack[0])


def test_f_of_many_columns_equals_the_plain_dynamic_program() -> None:
    rng = np.random.default_rng(5)
    skews = [(0.5, 0.5), (0.9, 0.1), (0.2, 0.8)]
    stack = np.stack(
        [
            np.stack([rng.poisson(20 * zero, 64), rng.poisson(20 * one, 64)])
            for zero, one in skews
            for _ in range(6)
        ]
    )
    stack[::2] = np.maximum(stack[::2] ** 3 // 100, 0)  # a few heavy columns, many light ones

    def plain(c0: np.ndarray, c1: np.ndarray) -> int:
        n = int(c0.sum() + c1.sum())
        cap = -(-n // 2)
        best = np.full(cap + 1, -1)
        best[0] = 0
        for zero, one in zip(c0, c1, strict=True):
            reached = np.flatnonzero(best >= 0)
            new = np.full(cap + 1, -1)
            np.maximum.at(new, np.minimum(reached + zero, cap), best[reached])
            np.maximum.at(new, reached, best[reached] + one)
            best = new
        reached = np.flatnonzero(best >= 0)
        return int((-np.maximum(n - 2 * reached, 0) - np.maximum(n - 2 * best[reached], 0)).max())

    assert twice_n_f(stack).tolist() == [plain(*one) for one in stack]


@settings(max_examples=60, deadline=None)
@given(st.lists(counts, min_size=12, max_size=12))
def test_another_parent_never_lowers_a_score_and_pinsker_holds(cells: list[int]) -> None:
    joint = np.array(cells).reshape(2, 3, 2)
    fine, coarse = joint.reshape(1, 2, 6), joint.sum(axis=2).reshape(1, 2, 3)
    assert information(fine)[0] >= information(coarse)[0] - 1e-12
    assert twice_n_f(fine)[0] >= twice_n_f(coarse)[0]
    assert twice_n2_r(fine)[0] >= twice_n2_r(coarse)[0]
    n = max(int(records(fine)[0]), 1)
    assert twice_n2_r(fine)[0] / (2 * n * n) <= np.sqrt(0.34657359 * information(fine)[0]) + 1e-9


def test_scores_are_zero_without_parents_and_without_records() -> None:
    alone = np.array([[[3], [4], [0]]])
    assert information(alone) == pytest.approx([0.0])
    assert twice_n2_r(alone).tolist() == [0]
    empty = np.zeros((1, 2, 4), dtype=np.int64)
    assert [score(name, empty, REPLACE)[0] for name in ("I", "F", "R")] == [0, 0, 0]
    assert score("R", empty, ADD)[0] == 0


def test_tables_of_different_shapes_are_scored_in_their_order() -> None:
    flat = [np.array([5, 0, 0, 5]), np.array([1, 1, 1, 1, 1, 1]), np.array([0, 7, 7, 0])]
    assert scores("R", [(2, 2), (3, 2), (2, 2)], flat, REPLACE).tolist() == [100, 0, 196]


def test_squares_beyond_64_bits_are_exact() -> None:
    huge = np.array([[[10**10, 0], [0, 10**10]]])
    assert int(twice_n2_r(huge)[0]) == 4 * 10**20


def test_refused_scores_say_what_to_choose_instead() -> None:
    with pytest.raises(UsageError, match="Choose score R"):
        twice_n_f(np.ones((1, 3, 4), dtype=np.int64))
    with pytest.raises(UsageError, match="choose score R or F"):
        score("I", np.ones((1, 2, 2), dtype=np.int64), ADD)
