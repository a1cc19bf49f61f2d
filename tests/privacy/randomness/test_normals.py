"""Cells of normal numbers: as often as the normal distribution says, at any width, drawn finer or at once."""

from __future__ import annotations

from fractions import Fraction
from math import erf, exp, pi, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest
from tests.privacy.goodness import ERROR, fits

from penstock.privacy.randomness import normals as module
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.normals import Normals, normals


def chances(bits: int, last: int) -> np.ndarray:
    """Of each of the first cells, and of all others together."""
    ends = np.array([erf(cell / 2**bits / sqrt(2)) for cell in range(last + 1)])
    return np.append(np.diff(ends), 1 - ends[-1])


def right(drawn: Normals) -> bool:
    last = 3 << drawn.bits
    seen = np.bincount(np.minimum(drawn.cells.astype(np.int64), last), minlength=last + 1)
    return fits(seen, chances(drawn.bits, last))


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_every_cell_is_as_likely_as_the_normal_distribution_makes_it(bits: int) -> None:
    """Wide cells are decided by the digits of both variables nearly always. A right sampler fails with a
    probability of 1e-6."""
    assert right(normals(20_000, bits, Randomness.seeded(bits)))


@pytest.mark.parametrize(("bits", "more"), [(0, 1), (0, 4), (2, 2)])
def test_a_cell_drawn_finer_is_as_likely_as_one_drawn_at_once(bits: int, more: int) -> None:
    source = Randomness.seeded(10 + bits)
    wide = normals(20_000, bits, source)
    fine = wide.finer(more, source)
    assert right(fine)
    assert (fine.cells >> more == wide.cells).all()
    assert (fine.signs == wide.signs).all()


def test_signs_are_fair_and_middles_are_in_their_cells() -> None:
    drawn = normals(10_000, 30, Randomness.seeded(3))
    assert abs(int(drawn.signs.sum())) < 500  # five deviations: 1e-6
    assert (abs(drawn.middles) >> 1 == drawn.cells).all()
    values = drawn.middles.astype(np.float64) / 2**31
    assert abs(values.std() - 1) < 0.04  # beyond five deviations


def test_a_cell_of_no_width_left_is_decided_by_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the digits, wide cells come out as if the number were at their lower end."""
    monkeypatch.setattr(module, "_exceeds", lambda *_: True)
    assert not right(normals(20_000, 0, Randomness.seeded(1)))


def test_digits_are_those_of_a_uniform_number_and_of_what_is_left_of_an_exponential_one() -> None:
    """r > u**2, where r is below 1.

    It exceeds x with probability (exp(-x / 2) - exp(-1/2)) / (1 - exp(-1/2)). The mean of exp(-u**2 / 2) over
    u is sqrt(pi / 2) erf(sqrt(1/2)), so that this is .633; it would be 2/3 for a uniform r, ten deviations
    away. A right sampler fails with a probability of 1e-6.
    """
    source, count = Randomness.seeded(20), 20_000
    seen = sum(module._exceeds(0, 0, Fraction(1, 2), source) for _ in range(count))
    least = exp(-1 / 2)
    chance = (sqrt(pi / 2) * erf(sqrt(1 / 2)) - least) / (1 - least)
    assert binomtest(seen, count, chance).pvalue > ERROR
    assert binomtest(seen, count, 2 / 3).pvalue < ERROR
