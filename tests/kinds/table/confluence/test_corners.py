"""Vectors for codes: whole numbers, as good as the corners of a regular simplex, that add up to nothing."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from penstock.kinds.table.confluence.corners import Corners

MANY = [2, 3, 4, 9, 32, 150, 333, 500, 600]
LENGTHS = [256.0, 2048.0, 9000.0]


@pytest.mark.parametrize("codes", MANY)
@pytest.mark.parametrize("length", LENGTHS)
def test_they_are_the_corners_of_a_regular_simplex_and_add_up_to_nothing(codes: int, length: float) -> None:
    corners = Corners.of(codes, length)
    assert corners.vectors.dtype == np.int64
    assert corners.vectors.shape == (codes, codes - 1)
    assert not corners.vectors.sum(axis=0).any()
    found = corners.vectors.astype(np.float64) / length
    cosine = -1 / (codes - 1)
    assert np.allclose(found @ found.T, cosine + np.eye(codes) * (1 - cosine), rtol=0, atol=3 / length)


@pytest.mark.parametrize("codes", MANY)
@pytest.mark.parametrize("length", [1.0, 8.0, *LENGTHS])
def test_no_number_is_rounded_by_one_or_more(codes: int, length: float) -> None:
    """Column j is - 1 for codes up to j and j + 1 for the next one, times what makes all vectors so long."""
    exact = np.zeros((codes, codes - 1))
    for column in range(codes - 1):
        unit = length / sqrt(1 - 1 / codes) / sqrt((column + 1) * (column + 2))
        exact[: column + 1, column], exact[column + 1, column] = -unit, (column + 1) * unit
    assert np.allclose(np.linalg.norm(exact, axis=1), length)
    assert np.abs(Corners.of(codes, length).vectors - exact).max() < 1


@pytest.mark.parametrize("codes", MANY)
@pytest.mark.parametrize("length", [1.0, 8.0, 2048.0])
def test_they_tell_all_of_counts_that_add_up_to_nothing(codes: int, length: float) -> None:
    corners = Corners.of(codes, length)
    counts = np.random.default_rng(codes).integers(0, 1000, codes).astype(np.float64)
    counts -= counts.mean()
    assert np.allclose(corners.back @ (corners.vectors.T @ counts), counts, rtol=0, atol=1e-6)


@pytest.mark.parametrize("codes", MANY)
def test_noise_on_them_is_as_large_in_counts_as_is_said(codes: int) -> None:
    """Noise of 1 in each of r - 1 directions adds the square of the deviation for each to what is squared."""
    corners = Corners.of(codes, 2048.0)
    squares = np.square(corners.back).sum()
    assert corners.deviation == pytest.approx(sqrt(squares / (codes - 1)))
    assert corners.deviation == pytest.approx(sqrt(1 - 1 / codes) / 2048, rel=2e-3)


@pytest.mark.parametrize("codes", MANY)
def test_what_is_said_of_their_sizes_is_that_of_the_largest(codes: int) -> None:
    corners = Corners.of(codes, 2048.0)
    rows = corners.vectors.tolist()
    assert corners.longest == max(sum(number**2 for number in row) for row in rows)
    assert corners.sum == max(sum(map(abs, row)) for row in rows)
    assert corners.largest == max(max(map(abs, row)) for row in rows)
    assert corners.products[0, -1] == sum(one * two for one, two in zip(rows[0], rows[-1], strict=True))
