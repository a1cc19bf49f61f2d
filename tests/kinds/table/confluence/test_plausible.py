"""Plausible shares: distributions, the truth where noise is small, better than projection where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kinds.table.confluence.plausible import SHAPES, Noisy, plausible
from penstock.postprocessing import onto_simplex

N = 1000


def noisy(shares: np.ndarray, scale: float, rng: np.random.Generator) -> Noisy:
    counts = N * shares + rng.laplace(0, scale, len(shares))
    return Noisy(counts + (N - counts.sum()) / len(shares), scale * np.sqrt(2))


@pytest.mark.parametrize("scale", [1e-12, 0.1, 3.0, 100.0, 1e6])
def test_they_are_distributions_under_any_noise(scale: float) -> None:
    rng = np.random.default_rng(0)
    columns = [noisy(rng.dirichlet(np.full(size, 0.3)), scale, rng) for size in (1, 2, 7, 300)]
    for found, column in zip(plausible(columns, N), columns, strict=True):
        assert found.shape == column.counts.shape
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)


def test_without_noise_they_are_the_counts() -> None:
    shares = np.array([0.5, 0.3, 0.2, 0.0])
    exact, near = plausible([Noisy(N * shares, 0.0), Noisy(N * shares, 0.01)], N)
    assert np.allclose(exact, shares)
    assert np.allclose(near, shares, atol=1e-4)


def distance(found: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(found - truth).sum() / 2)


MOST = {
    0.03: 1.25,
    0.1: 1.1,
    0.3: 0.9,
    0.6: 0.8,
    1.0: 0.73,
}  # where nearly every column is constant, doubt costs most


@pytest.mark.parametrize("shape", SHAPES)
def test_flat_columns_win_much_and_nearly_constant_ones_lose_little(shape: float) -> None:
    """Seeded, against the nearest point of the simplex: twelve columns of one shape at a time."""
    rng = np.random.default_rng(int(100 * shape))
    ours, nearest = [], []
    for scale in (20.0, 80.0, 300.0):
        for _ in range(4):
            sizes = (2, 4, 8, 16, 32, 3, 5, 6, 10, 12, 20, 2)
            truths = [rng.dirichlet(np.full(size, shape)) for size in sizes]
            columns = [noisy(truth, scale, rng) for truth in truths]
            ours += [distance(p, t) for p, t in zip(plausible(columns, N), truths, strict=True)]
            nearest += [
                distance(onto_simplex(c.counts, N) / N, t) for c, t in zip(columns, truths, strict=True)
            ]
    assert np.mean(ours) < MOST.get(float(shape), 0.67) * np.mean(nearest)
