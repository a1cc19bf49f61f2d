"""Knapsacks with a soft edge: equal to trying every subset, also where rates tie and rows differ."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.table.privbayes import knapsack
from penstock.kinds.table.privbayes.knapsack import fullest


def by_hand(weights: np.ndarray, gains: np.ndarray, room: int) -> int:
    taken = np.array(list(product((0, 1), repeat=len(weights))))
    return int((taken @ gains - np.maximum(taken @ weights - room, 0)).max())


items = st.integers(1, 40).flatmap(lambda weight: st.tuples(st.just(weight), st.integers(0, weight)))
rows = st.tuples(st.lists(items, min_size=9, max_size=9), st.integers(0, 150))


@settings(max_examples=150, deadline=None)
@given(st.lists(rows, min_size=1, max_size=6))
def test_the_best_subset_is_found_in_every_row(table: list[tuple[list[tuple[int, int]], int]]) -> None:
    weights = np.array([[weight for weight, _ in row] for row, _ in table])
    gains = np.array([[gain for _, gain in row] for row, _ in table])
    room = np.array([room for _, room in table])
    wanted = [by_hand(*row) for row in zip(weights, gains, room, strict=True)]
    assert fullest(weights, gains, room).tolist() == wanted


@pytest.mark.parametrize("crowded", [0, 8])
@pytest.mark.parametrize("kind", ["equal", "half", "nearly whole", "heavy first"])
def test_ties_and_heavy_items_leave_it_exact(
    kind: str, crowded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all rates are equal the fractional bound says nothing, and dominance must do the work."""
    monkeypatch.setattr(knapsack, "_CROWDED", crowded)
    rng = np.random.default_rng(11)
    weights = 2 * rng.integers(1, 60, (25, 12))
    gains = {
        "equal": np.full_like(weights, 12),
        "half": weights // 2,
        "nearly whole": weights - 1,
        "heavy first": weights // 3,
    }[kind]
    if kind == "equal":
        weights[:] = 26
    if kind == "heavy first":
        weights[:, 0], gains[:, 0] = 900, 700
    room = rng.integers(0, weights.sum(axis=1))
    wanted = [by_hand(*row) for row in zip(weights, gains, room, strict=True)]
    assert fullest(weights, gains, room).tolist() == wanted


def test_more_rows_than_are_solved_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 1000, (50, 40))
    gains = rng.integers(0, weights + 1)
    room = weights.sum(axis=1) // 3
    together = fullest(weights, gains, room)
    monkeypatch.setattr(knapsack, "_TOGETHER", 7)
    assert fullest(weights, gains, room).tolist() == together.tolist()
    assert fullest(weights[:0], gains[:0], room[:0]).tolist() == []


def hard(rows: int, records: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Equally large items of nearly the same rate, as fair and independent parents make them."""
    rng = np.random.default_rng(7)
    all_of_them = rng.poisson(records / 48, (rows, 48))
    light = rng.binomial(all_of_them, 0.25)
    heavy = all_of_them - light
    return 2 * heavy, 2 * light, 2 * heavy.sum(axis=1) - all_of_them.sum(axis=1)


@pytest.mark.parametrize("compiled", [True, False])
def test_hard_rows_are_solved_in_parts_or_by_compiled_code(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights, gains, room = hard(24, 30_000)
    wanted = [soft_program(*row) for row in zip(weights, gains, room, strict=True)]
    sizes: list[int] = []
    decided = knapsack._Rows._decided

    def watched(*given: Any) -> Any:
        sizes.append(len(given[1][0]))
        return decided(*given)

    monkeypatch.setattr(knapsack._Rows, "_decided", watched)
    monkeypatch.setattr(knapsack, "_MOST", 500)
    monkeypatch.setattr("penstock.engine.compiled.COMPILED", compiled)
    assert fullest(weights, gains, room).tolist() == wanted
    assert max(sizes) < 1000  # 4,300 if all rows were solved to the end together


def test_dominated_states_are_dropped_where_bounds_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one rate throughout, states differ by weight alone: no more of them than there are weights."""
    rng = np.random.default_rng(9)
    weights = np.where(np.arange(40) % 2, 6, 10) * np.ones((1, 40), dtype=np.int64)
    weights[0, 0] += 1  # so that nothing is a common multiple
    sizes: list[int] = []
    decided = knapsack._Rows._decided

    def watched(*given: Any) -> Any:
        states = decided(*given)
        sizes.append(len(states[0]))
        return states

    monkeypatch.setattr(knapsack._Rows, "_decided", watched)
    gains = weights // 2
    room = np.array([int(rng.integers(100, 200))])
    assert fullest(weights, gains, room).tolist() == [soft_program(weights[0], gains[0], int(room[0]))]
    assert max(sizes, default=0) <= weights.sum()


def test_of_equal_weights_the_best_is_kept_and_of_rows_each_its_own() -> None:
    row = np.array([0, 0, 0, 0, 1, 1, 0])
    weight = np.array([5.0, 3.0, 5.0, 9.0, 3.0, 2.0, 5.0])
    gain = np.array([4.0, 1.0, 6.0, 6.0, 1.0, 1.0, 6.0])
    assert knapsack._undominated(row, weight, gain).tolist() == [1, 2, 5]


def soft_program(weights: np.ndarray, gains: np.ndarray, room: int) -> int:
    """The plain dynamic program over weights."""
    best = np.full(int(weights.sum()) + 1, -1)
    best[0] = 0
    for weight, gain in zip(weights.tolist(), gains.tolist(), strict=True):
        reached = np.flatnonzero(best >= 0)
        best[reached + weight] = np.maximum(best[reached + weight], best[reached] + gain)
    reached = np.flatnonzero(best >= 0)
    return int((best[reached] - np.maximum(reached - room, 0)).max())
