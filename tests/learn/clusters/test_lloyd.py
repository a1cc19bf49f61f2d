"""Clustering of weighted cells: worked examples, starts that lie apart, and weights below zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.learn.clusters.lloyd import Found, cluster, lloyd, measured, most_valid, moved
from penstock.learn.clusters.packing import Boundary, packed_starts, spread_starts, uniform_starts, widest
from penstock.learn.clusters.synopsis import Cells, GridSynopsis, weighted


def line(*counts: float) -> Cells:
    """Cells of equal width on a line."""
    places = -1 + (2 * np.arange(len(counts)) + 1) / len(counts)
    return Cells.of(places[:, None], np.array(counts, dtype=np.float64))


def step(
    cells: Cells, centres: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """One round."""
    around = measured(cells, centres)
    return moved(around.weights, around.sums, centres)


def test_the_worked_example() -> None:
    cells, start = line(5, -1, 2, 4), np.array([[[-0.5], [0.5]]])
    after = step(cells, start)
    assert after.ravel() == pytest.approx([-0.875, 0.583333], abs=1e-6)
    around = measured(cells, after)
    found = Found(after[0], around.weights[0], float(around.errors[0]))
    assert found.error == pytest.approx(0.0208333, abs=1e-6)
    assert found.nicv == pytest.approx(0.00208333, abs=1e-7)
    assert found.validity == pytest.approx(0.000980, abs=1e-6)


def test_a_centre_without_weight_stays_and_none_leaves_the_cube() -> None:
    cells, start = line(5, -4.9, 0, 0), np.array([[[-0.5], [0.6]]])
    after = step(cells, start)
    assert after.tolist() == [[[-1.0], [0.6]]]  # the mean of 5 and -4.9 is far outside


def test_clusters_that_noise_made_senseless_are_not_valid() -> None:
    assert Found(np.array([[0.0], [1.0]]), np.array([5.0, -1.0]), 0.5).validity == np.inf
    assert Found(np.array([[0.0], [1.0]]), np.array([5.0, 1.0]), -0.5).validity == np.inf
    assert Found(np.array([[0.0], [0.0]]), np.array([5.0, 1.0]), 0.5).validity == np.inf
    assert Found(np.array([[0.0]]), np.array([5.0]), 0.5).validity == np.inf
    good = Found(np.array([[0.0], [1.0]]), np.array([5.0, 1.0]), 0.6)
    assert good.validity == pytest.approx(0.1)
    bad = Found(np.array([[0.0], [1.0]]), np.array([5.0, 1.0]), 3.0)
    assert most_valid([[bad], [bad, good]]) == 1
    assert most_valid([[Found(np.zeros((1, 1)), np.ones(1), 1.0)]]) is None


@given(st.lists(st.integers(-30, 30), min_size=2, max_size=40), st.integers(1, 4), st.integers(0, 99))
def test_with_any_weights_it_ends_and_the_best_round_counts(counts: list[int], k: int, draw: int) -> None:
    cells, starts = line(*counts), uniform_starts(k, 1, 5, draw)
    first = measured(cells, starts).errors
    found = lloyd(cells, starts)
    assert all(each.error <= start + 1e-9 for each, start in zip(found, first, strict=True))
    for each in found:
        around = measured(cells, each.centres[None])
        assert around.errors[0] == pytest.approx(each.error)
        assert around.weights[0] == pytest.approx(each.weights)
        assert np.abs(each.centres).max() <= 1


def test_a_repetition_ends_it_long_before_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise around nothing makes centres leap for ever; without the memory all rounds would be made."""
    rng, rounds = np.random.default_rng(1), []
    cells = line(*rng.integers(-20, 21, 30).tolist())
    import penstock.learn.clusters.lloyd as module

    monkeypatch.setattr(module, "moved", lambda *args: rounds.append(1) or moved(*args))
    lloyd(cells, uniform_starts(3, 1, 10, 0), cap=10_000)
    assert 0 < len(rounds) < 200


def test_no_more_rounds_are_made_than_the_cap_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """From far away centres move for many rounds; the first three are better than none."""
    import penstock.learn.clusters.lloyd as module

    rounds: list[int] = []
    monkeypatch.setattr(module, "moved", lambda *args: rounds.append(1) or moved(*args))
    cells, start = line(*[5.0] * 60), np.array([[[-0.99], [-0.98], [-0.97]]])
    errors = []
    for cap in (0, 1, 3, 100):
        rounds.clear()
        errors.append(lloyd(cells, start, cap)[0].error)
        assert len(rounds) <= cap
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 4


def test_weights_of_ordinary_points_give_what_everybody_finds() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate(
        [rng.normal(centre, 0.05, (200, 2)) for centre in ((-0.5, 0.5), (0.5, 0.0), (0.0, -0.7))]
    )
    best = cluster(Cells.of(points, np.ones(len(points))), packed_starts(3, 2, 10, 0))[0]
    expected = np.stack([points[start : start + 200].mean(axis=0) for start in (0, 200, 400)])
    assert sorted(map(tuple, best.centres.round(9))) == sorted(map(tuple, expected.round(9)))
    assert sorted(best.weights) == [200, 200, 200]


def test_blocks_keep_all_sums_and_the_best_of_them_goes_on_with_all_cells() -> None:
    rng = np.random.default_rng(3)
    counts = rng.poisson(3, 10_000) + rng.integers(-5, 6, 10_000)
    cells = weighted(GridSynopsis((100, 100), counts, 1.0), "signed")
    blocks = cells.blocks()
    assert len(blocks) == 32 * 32
    assert blocks.weights.sum() == pytest.approx(cells.weights.sum())
    assert blocks.sums.sum(axis=0) == pytest.approx(cells.sums.sum(axis=0))
    assert blocks.squares.sum() == pytest.approx(cells.squares.sum())
    assert blocks.blocks() is blocks
    best = cluster(cells, packed_starts(4, 2, 5, 0))[0]
    assert measured(cells, best.centres[None]).errors[0] == pytest.approx(best.error)


def test_counts_below_zero_may_be_left_out() -> None:
    synopsis = GridSynopsis((4,), np.array([5, -1, 2, 4]), 1.0)
    assert weighted(synopsis, "signed").weights.tolist() == [5, -1, 2, 4]
    assert weighted(synopsis, "non-negative").weights.tolist() == [5, 0, 2, 4]
    assert synopsis.places.ravel().tolist() == [-0.75, -0.25, 0.25, 0.75]


@pytest.mark.parametrize("boundary", ["corner", "border"])
@pytest.mark.parametrize(("k", "d"), [(15, 2), (5, 6), (3, 10), (1, 1), (40, 1)])
def test_packed_centres_lie_apart(k: int, d: int, boundary: Boundary) -> None:
    radius = widest(k, d, boundary)
    starts = packed_starts(k, d, 4, 7, boundary)
    assert starts.shape == (4, k, d)
    assert np.abs(starts).max() <= 1
    for start in starts:
        apart = np.sqrt(((start[:, None] - start) ** 2).sum(axis=2))[np.triu_indices(k, 1)]
        gaps = 1 - np.abs(start)
        free = gaps.min(axis=1) if boundary == "border" else np.sqrt((gaps**2).sum(axis=1))
        assert free.min() >= 0.5 * radius  # the radius shrinks where luck does not hold
        assert apart.min(initial=np.inf) >= radius


@pytest.mark.parametrize(
    ("k", "d", "corner", "border"), [(15, 2, 0.22, 0.185), (5, 6, 1.04, 0.43), (3, 10, 1.49, 0.34)]
)
def test_radii_are_about_those_found_before(k: int, d: int, corner: float, border: float) -> None:
    assert widest(k, d, "corner") == pytest.approx(corner, rel=0.15)
    assert widest(k, d, "border") == pytest.approx(border, rel=0.15)


def test_spread_starts_follow_the_weights_and_lie_apart() -> None:
    places = np.linspace(-1, 1, 50)[:, None]
    weights = np.where(np.isin(np.arange(50), (3, 25, 44)), 10.0, -1.0)
    for start in spread_starts(places, weights, 3, 10, 0):
        assert sorted(start.ravel()) == pytest.approx(places[[3, 25, 44], 0].tolist())
    assert spread_starts(places, weights, 5, 2, 0).shape == (2, 5, 1)  # more than there are cells with weight
    assert spread_starts(places, -np.ones(50), 2, 4, 0).shape == (4, 2, 1)


def test_starts_are_public_and_repeat() -> None:
    assert np.array_equal(packed_starts(3, 2, 2, 5), packed_starts(3, 2, 2, 5))
    assert not np.array_equal(packed_starts(3, 2, 2, 5), packed_starts(3, 2, 2, 6))
    with pytest.raises(ValueError, match="read-only"):
        packed_starts(3, 2, 2, 5)[0] = 0
