"""The published tables of budgets, grids and rounds, recomputed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.learn.clusters.planning import (
    Sizing,
    affordable_rounds,
    best_share,
    cells_wanted,
    count_weight,
    hybrid_error,
    hybrid_share,
    least_for_a_round,
    round_error,
    side,
    synopsis_bias,
    synopsis_variance,
)

SETS = {  # n, d, k
    "S1": (5_000, 2, 15),
    "Gowalla": (107_091, 2, 5),
    "TIGER": (16_281, 2, 2),
    "Image": (34_112, 3, 3),
    "Adult": (48_841, 6, 5),
    "Lifesci": (26_733, 10, 3),
}
MOST = 5_000_000


@pytest.mark.parametrize(
    ("d", "g", "of_sum", "of_count", "least"),
    [
        (1, 0.5872, 0.6300, 0.3700, 4.00),
        (2, 0.7399, 0.3650, 0.2700, 20.57),
        (3, 0.8469, 0.2599, 0.2202, 56.93),
        (6, 1.0671, 0.1415, 0.1510, 352.95),
        (10, 1.2651, 0.0888, 0.1123, 1429.59),
    ],
)
def test_the_split_of_a_round(d: int, g: float, of_sum: float, of_count: float, least: float) -> None:
    found = count_weight(d)
    assert found == pytest.approx(g, abs=5e-5)
    assert 1 / (d + found) == pytest.approx(of_sum, abs=5e-5)
    assert found / (d + found) == pytest.approx(of_count, abs=5e-5)
    assert (d + found) ** 3 == pytest.approx(least, abs=0.005 * (1 + least / 100))
    # any other split of the same budget has a larger error
    error = [
        d * (d + weight) ** 2 + 4 * d * 0.225**2 * (d + weight) ** 2 / weight**2
        for weight in (0.9 * found, found, 1.1 * found)
    ]
    assert min(error) == error[1]


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        ("S1", 1.17827),
        ("Gowalla", 0.01059),
        ("TIGER", 0.01762),
        ("Image", 0.02570),
        ("Adult", 0.09616),
        ("Lifesci", 0.16433),
    ],
)
def test_the_least_epsilon_of_a_round(name: str, epsilon: float) -> None:
    n, d, k = SETS[name]
    assert least_for_a_round(n, k, d) == pytest.approx(epsilon, abs=6e-6)


def test_rounds_are_whole_and_between_two_and_seven() -> None:
    assert affordable_rounds(107_091, 5, 2, 0.05) == 4  # 4.72 of them would pay
    assert affordable_rounds(107_091, 5, 2, 10.0) == 7
    assert affordable_rounds(5_000, 15, 2, 0.05) == 2
    assert affordable_rounds(5_000, 15, 2, 2 * 1.17827) == 2


GRIDS = {  # cells and cells along an axis, at epsilon .05, .1, .5, 1 and 2; then UG at .1 and 1; then MkM
    "S1": ("25 5, 50 7, 250 16, 500 22, 1000 32", "50 7, 500 22", "1713 41"),
    "Gowalla": ("535 23, 1071 33, 5355 73, 10709 103, 21418 146", "1071 33, 10709 103", "31468 177"),
    "TIGER": ("81 9, 163 13, 814 29, 1628 40, 3256 57", "163 13, 1628 40", "5228 72"),
    "Image": ("477 8, 1095 10, 7555 20, 17358 26, 39877 34", "341 7, 3411 15", "67349 41"),
    "Adult": ("3816 4, 10794 5, 120679 7, 341332 8, 965432 10", "488 3, 4884 4", "1812257 11"),
    "Lifesci": ("3494 2, 11094 3, 162192 3, 514928 4, 1634793 4", "267 2, 2673 2", "3452534 5"),
}


@pytest.mark.parametrize("name", SETS)
def test_the_sizes_of_grids(name: str) -> None:
    n, d, _ = SETS[name]
    asked: tuple[tuple[Sizing, tuple[float, ...]], ...] = (
        ("eug", (0.05, 0.1, 0.5, 1.0, 2.0)),
        ("ug", (0.1, 1.0)),
        ("mkm", (0.7,)),
    )
    for (sizing, epsilons), printed in zip(asked, GRIDS[name], strict=True):
        for epsilon, both in zip(epsilons, printed.split(", "), strict=True):
            wanted = cells_wanted(sizing, n, d, epsilon)
            assert [round(wanted), side(wanted, d, 10 * MOST)] == [int(each) for each in both.split()]


def test_a_grid_never_has_more_cells_than_allowed() -> None:
    for d in (1, 2, 5, 30, 70):
        for wanted in (0.0, 3.0, 1e6, 1e30):
            found = side(wanted, d, MOST)
            assert 1 <= found**d <= MOST


@pytest.mark.parametrize(
    ("name", "fitted", "half", "share"),
    [
        ("S1", 23.5, 58.4, 0.0924),
        ("Gowalla", 0.1218, 0.3032, 0.5095),
        ("TIGER", 0.1282, 0.3191, 0.5044),
        ("Image", 0.0491, 0.1257, 0.6029),
        ("Adult", 0.0253, 0.0679, 0.6881),
        ("Lifesci", 0.0263, 0.0727, 0.6765),
    ],
)
def test_from_which_epsilon_on_a_round_follows(name: str, fitted: float, half: float, share: float) -> None:
    n, d, k = SETS[name]
    for rule, threshold in (("fitted", fitted), ("half", half)):
        below, above = (hybrid_share(rule, n, k, d, threshold * factor) for factor in (0.995, 1.005))  # type: ignore[arg-type]
        assert below == 1
        assert above < 1
    assert best_share(n, k, d, 1.0) == pytest.approx(share, abs=5e-5)


def test_more_shares_and_the_errors_behind_them() -> None:
    n, d, k = SETS["Adult"]
    for epsilon, share in ((0.05, 0.217), (0.1, 0.324), (0.5, 0.591)):
        assert best_share(n, k, d, epsilon) == pytest.approx(share, abs=5e-4)
    assert best_share(107_091, 5, 2, 0.5) == pytest.approx(0.440, abs=5e-4)
    assert synopsis_variance(n, k, d, 0.05) == pytest.approx(7.484e-3, rel=1e-3)
    assert hybrid_error(n, k, d, 0.05, 0.217) == pytest.approx(4.280e-3, rel=1e-3)
    assert round_error(107_091, 5, 2, 0.5) == pytest.approx(3.7747e-7, rel=1e-4)
    assert round_error(100_000, 5, 2, 1.0, 5) == pytest.approx(2.7056e-6, rel=1e-4)
    assert synopsis_bias(107_091, 2, 1.0) == pytest.approx(2 / 10709.1)
    assert synopsis_variance(107_091, 5, 2, 1.0) == pytest.approx(1.2450e-6, rel=1e-4)
    assert hybrid_share("fitted", n, k, d, 0.05) == Fraction(217, 1000)
    assert hybrid_share("half", n, k, d, 0.05) == 1
