"""Distances between tables of codes are what their definitions say, however they are computed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.evaluation import metrics
from penstock.evaluation.metrics import distances, independent_columns, mean_tvd, resampled, subsets, tvd

counts = st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any)


def table(rows: int, sizes: dict[str, int], seed: int) -> dict[str, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    return {name: rng.integers(size, size=rows) for name, size in sizes.items()}


@given(counts, counts, counts)
def test_tvd_is_a_metric_between_nought_and_one(one: list[int], two: list[int], three: list[int]) -> None:
    assert tvd(one, one) == 0
    assert tvd(one, two) == pytest.approx(tvd(two, one))
    assert 0 <= tvd(one, two) <= 1 + 1e-12
    assert tvd(one, three) <= tvd(one, two) + tvd(two, three) + 1e-12


@given(counts, counts)
def test_tvd_is_the_largest_difference_of_any_event(one: list[int], two: list[int]) -> None:
    p, q = np.array(one) / sum(one), np.array(two) / sum(two)
    events = [list(event) for size in range(6) for event in combinations(range(5), size)]
    assert tvd(one, two) == pytest.approx(max(abs(p[event].sum() - q[event].sum()) for event in events))


def test_tvd_ignores_scale_and_negative_noise() -> None:
    assert tvd([1, 3], [10, 30]) == pytest.approx(0)
    assert tvd([1, 1], [2, -5]) == pytest.approx(0.5)


def test_tvd_of_different_shapes_is_refused() -> None:
    with pytest.raises(UsageError, match="cannot be compared"):
        tvd([1, 2], [1, 2, 3])


@pytest.mark.parametrize("way", [1, 2, 3])
def test_mean_tvd_equals_counting_by_hand(way: int) -> None:
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2}
    one, two = table(200, sizes, 1), table(150, sizes, 2)
    by_hand = []
    for names in combinations(sizes, way):
        shares = []
        for codes in (one, two):
            counted = np.zeros([sizes[name] for name in names])
            np.add.at(counted, tuple(codes[name] for name in names), 1)
            shares.append(counted / counted.sum())
        by_hand.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    assert mean_tvd(one, two, sizes, way) == pytest.approx(np.mean(by_hand))


def test_tables_too_large_to_lay_out_are_compared_over_the_cells_that_occur(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = {"a": 7, "b": 9, "c": 5}
    one, two = table(300, sizes, 1), table(300, sizes, 2)
    marginals = [("a",), ("a", "b", "c"), ("b", "c"), ("a", "b")]
    dense = distances(one, {"other": two}, sizes, marginals)["other"]
    monkeypatch.setattr(metrics, "MOST_CELLS", 40)
    monkeypatch.setattr(metrics, "BATCH_CELLS", 60)
    assert distances(one, {"other": two}, sizes, marginals)["other"] == pytest.approx(dense)


def test_subsets_are_all_or_a_fixed_sample() -> None:
    names = [f"c{i}" for i in range(9)]
    assert len(subsets(names, 3)) == 84
    some = subsets(names, 3, 20)
    assert len(set(some)) == 20
    assert some == subsets(names, 3, 20)
    assert some != subsets(names, 3, 20, seed=1)
    assert set(some) <= set(subsets(names, 3))


def test_subsets_of_many_columns_are_drawn_without_listing_all() -> None:
    names = [f"c{i}" for i in range(300)]  # 4.5 million triples
    some = subsets(names, 3, 50)
    assert len(set(some)) == 50
    assert all(len(set(triple)) == 3 for triple in some)


def test_floor_forgets_how_columns_depend_and_ceiling_keeps_it() -> None:
    rng = np.random.default_rng(0)
    column = rng.integers(4, size=5000)
    codes, sizes = {"a": column, "b": column}, {"a": 4, "b": 4}
    floor, ceiling = independent_columns(codes, 5000, rng), resampled(codes, 5000, rng)
    # Two equal columns drawn independently agree in 1/4 of the rows instead of all: distance 3/4.
    assert mean_tvd(codes, floor, sizes, 2) == pytest.approx(0.75, abs=0.02)
    assert np.array_equal(ceiling["a"], ceiling["b"])
    assert mean_tvd(codes, ceiling, sizes, 2) < 0.03


def test_marginals_need_a_column() -> None:
    with pytest.raises(UsageError, match="at least one column"):
        subsets(["a"], 0)
