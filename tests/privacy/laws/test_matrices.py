"""Wishart noise: the law that the theorem asks for, computed closely enough, and its bound."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import gamma, kstest
from tests.privacy.goodness import ERROR, fits, window

from penstock.privacy.laws import matrices
from penstock.privacy.laws.matrices import (
    MatrixAround,
    _off_by,
    absolute_trace,
    between_wisharts,
    squared,
)
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.normals import Normals, normals

RATE = Fraction(1, 10**6)


@cache
def drawn(size: int, count: int, seed: int) -> NDArray[np.float64]:
    source = Randomness.seeded(seed)
    return np.array([between_wisharts(size, RATE, source) for _ in range(count)]).astype(float) * float(RATE)


def test_of_one_entry_it_is_laplace_noise() -> None:
    """All tests of laws here fail with a probability of 1e-6 if these are right."""
    assert kstest(drawn(1, 3000, 1).ravel(), "laplace").pvalue > ERROR


@pytest.mark.parametrize("along", [(1, 0), (1, -2)])
def test_in_any_direction_it_is_the_difference_of_two_gamma_variables(along: tuple[int, ...]) -> None:
    """x'Wx / |x|^2 of a Wishart matrix of D + 1 degrees of freedom has the shape (D + 1) / 2."""
    x = np.array(along, dtype=float)
    seen = np.einsum("i,kij,j->k", x, drawn(2, 3000, 2), x) / (x @ x)
    rng = np.random.default_rng(0)
    like = gamma(1.5).rvs((2, 10**6), random_state=rng)
    assert kstest(seen, like[0] - like[1]).pvalue > ERROR
    few = gamma(1.0).rvs((2, 10**6), random_state=rng)
    assert kstest(seen, few[0] - few[1]).pvalue < ERROR  # of D degrees of freedom, which is not private


def test_entries_are_not_correlated_and_have_the_stated_variance() -> None:
    """Of 2,000 draws: a quarter off is beyond five deviations for every one of six variances."""
    upper = np.triu_indices(3)
    seen = drawn(3, 2000, 3)[:, upper[0], upper[1]]
    wanted = np.where(upper[0] == upper[1], 4.0, 2.0)  # (D + 1) and (D + 1) / 2, in units of the rate
    assert (np.abs(seen.var(axis=0) / wanted - 1) < 0.25).all()
    related = np.corrcoef(seen.T)
    assert np.abs(related[~np.eye(6, dtype=bool)]).max() < 0.15


@pytest.mark.parametrize("size", [1, 2, 7])
def test_squares_are_exact(size: int) -> None:
    rng = np.random.default_rng(size)
    matrix = rng.integers(-(1 << 62), 1 << 62, (size, size + 1)).astype(object) * (1 << 20) + 1
    assert (squared(matrix) == matrix.dot(matrix.T)).all()
    assert (squared(np.zeros((size, 2), dtype=object)) == 0).all()


@pytest.mark.parametrize("spare", [-12, -4, 8])
def test_cells_are_drawn_finer_until_the_noise_is_less_than_a_half_off(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the exact numbers in the cells are: here they lie at the ends of the last cells."""
    kept = []

    def keeping(count: int, bits: int, source: Randomness) -> matrices.Normals:
        kept.append(normals(count, bits, source))
        return kept[-1]

    finer = matrices.Normals.finer
    monkeypatch.setattr(matrices, "normals", keeping)
    monkeypatch.setattr(
        matrices.Normals, "finer", lambda one, more, source: kept.append(finer(one, more, source)) or kept[-1]
    )
    monkeypatch.setattr(matrices, "_SPARE", spare)
    found = between_wisharts(3, Fraction(1, 1000), Randomness.seeded(4))
    assert (len(kept) > 2) is (spare < 0)
    rng = np.random.default_rng(1)
    for _ in range(20):
        exact = []
        for one in kept[-2:]:
            ends = one.signs * (one.cells + rng.integers(0, 2, one.cells.shape).astype(object))
            exact.append(ends.reshape(3, 4).dot(ends.reshape(3, 4).T))
        real = (exact[0] - exact[1]) * Fraction(1000, 2) / (1 << 2 * kept[-1].bits)
        assert max(abs(Fraction(a) - b) for a, b in zip(found.ravel(), real.ravel(), strict=True)) < 1


@pytest.mark.parametrize("rows", [[0, 0, 0], [5, 5, 5], [1, 3, 2], [10**12, 0, 10**6]])
def test_what_noise_can_be_off_by_is_no_less_than_at_the_ends_of_cells_and_hardly_more(
    rows: list[int],
) -> None:
    """All numbers of a row of G are in one cell, and at the upper end of it: G G' is farthest away then."""
    bits, rate, size = 4, Fraction(1, 7), len(rows)
    cells = np.repeat(np.array(rows, dtype=object), size + 1)
    found = Normals(np.ones(cells.size, dtype=object), cells, bits)
    ends, middles = (
        (each.reshape(size, size + 1) * Fraction(1, 1 << bits))
        for each in (cells + 1, found.middles * Fraction(1, 2))
    )
    away = (ends.dot(ends.T) - middles.dot(middles.T)) / (2 * rate)
    assert 0.9 < Fraction(away.max()) / _off_by(found, size, rate) <= 1


def test_the_loss_is_that_of_the_change_whatever_comes_out() -> None:
    start = np.array([[5, 2], [2, 7]])
    law = MatrixAround(start, Fraction(1, 10), Fraction(100))
    for change, costs in (([[4, 2], [2, 1]], 5), ([[-4, -2], [-2, -1]], 5), ([[1, 0], [0, -1]], 2)):
        other = MatrixAround(start + np.array(change), Fraction(1, 10), Fraction(100))
        found = law.loss(start, other)
        assert float(found) == pytest.approx(costs / 10 + 6 / 100)
    assert float(law.loss(start, MatrixAround(start.copy(), *law.scales))) == 0
    assert law.public != MatrixAround(start, Fraction(1, 9), Fraction(100)).public


def test_what_differs_above_the_diagonal_is_what_is_lost() -> None:
    start = np.zeros((2, 2), dtype=np.int64)
    for place, costs in (((0, 1), 200), ((1, 0), 0)):
        other = start.copy()
        other[place] = 100
        found = MatrixAround(start, Fraction(1), Fraction(10**6)).loss(
            start, MatrixAround(other, Fraction(1), Fraction(10**6))
        )
        assert float(found) == pytest.approx(costs, abs=1e-3)


def test_absolute_eigenvalues_of_products_are_exact() -> None:
    vector = np.array([3, -7, 2048, 11], dtype=np.int64)
    assert absolute_trace(np.outer(vector, vector)) == int(vector @ vector)
    both = np.outer(vector, vector) - np.outer(vector[::-1], vector[::-1])
    assert float(absolute_trace(both)) == pytest.approx(np.abs(np.linalg.eigvalsh(both.astype(float))).sum())


def test_what_is_drawn_is_symmetric_and_around_the_values() -> None:
    values = np.diag([10**9, 0, -(10**9)])
    found = MatrixAround(values, Fraction(1, 10), Fraction(10)).draw(Randomness.seeded(0))
    assert (found == found.T).all()
    assert (np.abs(found - values) < 2000).all()


def test_what_the_computation_is_off_by_is_hidden_by_laplace_noise_on_every_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the other noise, the law is that of discrete Laplace noise of scale `cover`.

    Noise of another scale is noticed, too.
    """
    monkeypatch.setattr(
        matrices, "between_wisharts", lambda size, *_: np.zeros((size, size), dtype=np.int64).astype(object)
    )
    values, cover, source = np.arange(1600).reshape(40, 40), Fraction(7, 2), Randomness.seeded(5)
    upper = np.triu_indices(40)
    seen = [(MatrixAround(values, RATE, cover).draw(source) - values)[upper] for _ in range(20)]
    away = np.concatenate(seen).astype(np.int64)
    reach = np.abs(np.arange(-30, 31))
    for scale, right in ((float(cover), True), (3.0, False)):
        a = np.exp(-1 / scale)
        assert fits(window(away, -30, 30), (1 - a) / (1 + a) * a**reach) is right
