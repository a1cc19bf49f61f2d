"""The public choice of degree and cell limit, against the figures of the papers' datasets."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.kinds.table.privbayes.usefulness import affordable, candidates, cell_limit, degree, usefulness

GRID = [Fraction(x) for x in ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")]
JOURNAL, THESIS = (Fraction(7, 10), Fraction(4)), (Fraction(1, 2), Fraction(3))


@pytest.mark.parametrize(
    ("n", "d", "preset", "degrees"),
    [
        (21574, 16, JOURNAL, [1, 2, 3, 5, 6, 7]),
        (47461, 23, JOURNAL, [2, 3, 4, 5, 6, 7]),
        (17259, 16, JOURNAL, [1, 2, 3, 4, 5, 7]),
        (37968, 23, JOURNAL, [1, 3, 4, 5, 6, 7]),
        (21574, 16, THESIS, [1, 2, 3, 5, 6, 7]),
        (47461, 23, THESIS, [2, 3, 4, 5, 6, 7]),
        (45222, 52, JOURNAL, [0, 1, 3, 4, 5, 6]),  # Adult in bits
        (38000, 33, JOURNAL, [1, 2, 3, 4, 5, 6]),  # BR2000 in bits
    ],
)
def test_degree_grows_with_epsilon_as_published(
    n: int, d: int, preset: tuple[Fraction, Fraction], degrees: list[int]
) -> None:
    share, theta = preset
    assert [degree(n, share * epsilon, d, theta) for epsilon in GRID] == degrees


@pytest.mark.parametrize(
    ("n", "d", "cells"), [(45222, 15, [13, 26, 52, 105, 211, 422]), (38000, 14, [11, 23, 47, 95, 190, 380])]
)
def test_cell_limits_of_adult_and_br2000(n: int, d: int, cells: list[int]) -> None:
    assert [cell_limit(n, JOURNAL[0] * epsilon, d, JOURNAL[1]) for epsilon in GRID] == cells


def test_usefulness_of_nltcs_at_a_tenth() -> None:
    values = [float(usefulness(21574, Fraction(7, 100), 16, k)) for k in (1, 2, 3)]
    assert values == pytest.approx([12.585, 6.742, 3.630], abs=1e-3)


def test_half_the_noise_is_twice_as_useful() -> None:
    assert usefulness(100, Fraction(1), 5, 2, 1) == 2 * usefulness(100, Fraction(1), 5, 2, 2)
    assert cell_limit(1000, Fraction(1), 5, Fraction(4), 1) == 50
    assert cell_limit(1000, Fraction(1), 5, Fraction(4), 2) == 25


def test_degree_is_capped_and_never_negative() -> None:
    assert degree(10**9, Fraction(1), 16, Fraction(4)) == 15
    assert degree(10**9, Fraction(1), 16, Fraction(4), largest=3) == 3
    assert degree(-5, Fraction(1), 16, Fraction(4)) == 0
    assert degree(10**9, Fraction(1), 1, Fraction(4)) == 0
    assert cell_limit(-5, Fraction(1), 3, Fraction(4)) == 0


def test_degrees_that_would_take_too_long_are_left_out() -> None:
    assert [candidates(16, k) for k in (1, 2, 6)] == [680, 2395, 24375]
    assert affordable(16) == 15  # all of them
    assert affordable(23) == 5
    assert affordable(52) == 2  # Adult in bits
    assert affordable(1) == 0
    assert affordable(5, most=10) == 0
