"""Knapsacks with a soft edge: equal to trying every subset, also where rates tie and rows differ."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.tabular.privbayes import knapsack
from penstock.tabular.privbayes.knapsack import fullest


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
