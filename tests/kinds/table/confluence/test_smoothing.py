"""Runs of neighbours: the mean over all ways to cut them, nothing lost without noise, less error with it."""

from __future__ import annotations

from itertools import product
from math import exp

import numpy as np
import pytest

from penstock.kinds.table.confluence.smoothing import FEWEST, MOST, smoothed


def by_enumeration(counts: np.ndarray, deviation: float) -> tuple[np.ndarray, float]:
    """Every way to cut the codes into runs, one after the other."""
    found, runs, whole = np.zeros(len(counts)), 0.0, 0.0
    for cuts in product((False, True), repeat=len(counts) - 1):
        run = np.concatenate([[0], np.cumsum(cuts)])
        means = np.bincount(run, counts) / np.bincount(run)
        misfit = float(((counts - means[run]) ** 2).sum())
        likely = exp(-misfit / (2 * deviation**2) - len(means))
        found += likely * means[run]
        runs += likely * len(means)
        whole += likely
    return found / whole, deviation * float(np.sqrt(runs / whole / len(counts)))


@pytest.mark.parametrize("deviation", [0.5, 3.0, 10.0, 200.0])
def test_it_is_the_mean_over_all_ways_to_cut(deviation: float) -> None:
    counts = np.array([10.0, 14, 3, 3, 4, 40, 41])
    found, left = smoothed(counts, deviation)
    wanted, doubt = by_enumeration(counts, deviation)
    assert np.allclose(found, wanted)
    assert left == pytest.approx(doubt)


@pytest.mark.parametrize("codes", [1, 2, FEWEST, 50, MOST, MOST + 1])
@pytest.mark.parametrize("deviation", [0.0, 1e-3, 1.0, 1e9])
def test_the_sum_stays_and_no_number_is_lost(codes: int, deviation: float) -> None:
    counts = np.random.default_rng(codes).normal(1e6, 100.0, codes)
    found, left = smoothed(counts, deviation)
    assert found.shape == counts.shape
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(counts.sum())
    assert 0 <= left <= deviation
    if deviation <= 1e-3:
        assert np.allclose(found, counts)


def test_smooth_columns_lose_noise_and_spikes_stay() -> None:
    """Seeded. 64 bins of a bell, and one code that holds half of everything, under noise of deviation 60."""
    rng = np.random.default_rng(0)
    bell = np.exp(-0.5 * ((np.arange(64) - 30) / 9) ** 2)
    spiky = bell.copy()
    spiky[50] = bell.sum()
    for shares, most in ((bell, 0.75), (spiky, 0.9)):
        truth = 10_000 * shares / shares.sum()
        errors = np.zeros(2)
        for _ in range(20):
            noisy = truth + rng.laplace(0, 60 / np.sqrt(2), 64)
            errors += [np.abs(smoothed(noisy, 60.0)[0] - truth).sum(), np.abs(noisy - truth).sum()]
        assert errors[0] < most * errors[1]
        assert smoothed(truth, 60.0)[0].argmax() == truth.argmax()
