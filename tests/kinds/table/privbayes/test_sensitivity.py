"""Sensitivities against brute force over all small tables, both relations."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.kinds.table.privbayes.scores import information, score, twice_n2_r
from penstock.kinds.table.privbayes.sensitivity import information_change, largest_change, of_scores
from penstock.privacy.unit import Relation

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


def all_tables(rows: int, columns: int, n: int) -> np.ndarray:
    """Every table of this size with n records."""
    cells = rows * columns
    bars = np.array(list(_compositions(n, cells)))
    return bars.reshape(-1, rows, columns)


def _compositions(n: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in _compositions(n - first, parts - 1)]


def moves(rows: int, columns: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of tables that differ by one replaced record."""
    cells = rows * columns
    base = all_tables(rows, columns, n - 1).reshape(-1, cells)
    unit = np.eye(cells, dtype=np.int64)
    pairs = [(base + unit[i], base + unit[j]) for i, j in product(range(cells), repeat=2) if i < j]
    return tuple(np.concatenate(side).reshape(-1, rows, columns) for side in zip(*pairs, strict=True))  # type: ignore[return-value]


def additions(rows: int, columns: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of tables that differ by one added record."""
    cells = rows * columns
    base = all_tables(rows, columns, n).reshape(-1, cells)
    more = np.concatenate([base + unit for unit in np.eye(cells, dtype=np.int64)])
    return np.tile(base, (cells, 1)).reshape(-1, rows, columns), more.reshape(-1, rows, columns)


@pytest.mark.parametrize(
    ("rows", "columns", "n", "i", "f", "r"),
    [
        (2, 2, 4, 0.811278, Fraction(1, 4), 0.375),
        (2, 3, 7, 0.591673, Fraction(1, 7), 0.244898),
        (2, 2, 12, 0.413817, Fraction(1, 12), 0.152778),
        (3, 3, 3, 1.333333, None, 0.444444),
        (3, 3, 4, 1.188722, None, 0.4375),
        (3, 3, 5, 1.101955, None, 0.36),
        (3, 3, 7, 0.927175, None, 0.285714),
    ],
)
def test_replacing_a_record_moves_scores_as_the_oracle_says(
    rows: int, columns: int, n: int, i: float, f: Fraction | None, r: float
) -> None:
    before, after = moves(rows, columns, n)
    assert np.abs(information(before) - information(after)).max() == pytest.approx(i, abs=1e-6)
    largest_r = np.abs(twice_n2_r(before) - twice_n2_r(after)).max()
    assert largest_r / (2 * n * n) == pytest.approx(r, abs=1e-6)
    binary = min(rows, columns) == 2
    assert largest_r <= largest_change("R", REPLACE, binary=binary, n=n)
    assert largest_r <= largest_change("R", REPLACE, binary=binary, n=n, bound="published")
    if binary:
        assert largest_r == largest_change("R", REPLACE, binary=True, n=n)
    assert np.abs(score("I", before, REPLACE) - score("I", after, REPLACE)).max() <= largest_change(
        "I", REPLACE, binary=binary, n=n
    )
    if f is not None:
        assert (
            Fraction(int(np.abs(score("F", before, REPLACE) - score("F", after, REPLACE)).max()), 2 * n) == f
        )
        assert 2 * n * f == largest_change("F", REPLACE, binary=True, n=n)


@pytest.mark.parametrize(
    ("rows", "columns", "sizes"), [(2, 2, range(9)), (2, 3, range(6)), (2, 4, range(4)), (3, 3, range(4))]
)
def test_adding_a_record_moves_scores_within_the_bound(rows: int, columns: int, sizes: range) -> None:
    for n in sizes:
        before, after = additions(rows, columns, n)
        assert np.abs(score("R", before, ADD) - score("R", after, ADD)).max() <= largest_change(
            "R", ADD, binary=False
        )
        size = max(n, 1)
        exact = np.abs(twice_n2_r(before) / (2 * size) - twice_n2_r(after) / (2 * (n + 1))).max()
        assert exact <= 2 * n / (n + 1) + 1e-12
        if rows == 2 == columns and n >= 1:
            assert exact == pytest.approx(2 * n / (n + 1))  # attained: the bound is tight (n=4: 1.6)
        if rows == 2:
            moved = np.abs(score("F", before, ADD) - score("F", after, ADD)).max()
            assert moved <= largest_change("F", ADD, binary=True)
            assert moved == 2 or n < 2


def test_information_change_has_the_closed_forms_of_the_lemma() -> None:
    assert information_change(21574, binary=True) == pytest.approx(7.342e-4, rel=1e-3)
    assert information_change(45222, binary=False) == pytest.approx(7.035e-4, rel=1e-3)
    assert information_change(38000, binary=False) == pytest.approx(8.240e-4, rel=1e-3)
    assert information_change(3, binary=False) == pytest.approx(1.333333, abs=1e-6)
    assert information_change(1, binary=True) == 0.0


def test_published_magnitudes() -> None:
    def of(name: str, n: int, binary: bool) -> float:
        scale = 2 * n if name == "F" else 2 * n * n
        return float(largest_change(name, REPLACE, binary=binary, n=n, bound="published") / scale)  # type: ignore[arg-type]

    assert of("F", 21574, True) == pytest.approx(4.635e-5, rel=1e-3)
    assert of("R", 21574, True) == pytest.approx(1.3906e-4, rel=1e-3)
    assert of("R", 45222, False) == pytest.approx(6.634e-5, rel=1e-3)
    assert of("R", 38000, False) == pytest.approx(7.895e-5, rel=1e-3)


def test_one_candidate_without_a_binary_side_decides_for_all() -> None:
    mixed = of_scores("R", [(2, 4), (3, 3)], REPLACE, n=100)
    assert mixed.linf == 604
    assert of_scores("R", [(2, 4), (7, 2)], REPLACE, n=100).linf == 396


def test_a_user_with_several_records_moves_scores_that_many_times() -> None:
    assert largest_change("R", ADD, binary=False, records=3) == 24
    assert largest_change("F", ADD, binary=True, records=3) == 6


def test_information_is_refused_where_doubles_are_too_coarse_for_it() -> None:
    assert largest_change("I", REPLACE, binary=True, n=10**10) > 0
    with pytest.raises(UsageError, match="choose score R"):
        largest_change("I", REPLACE, binary=True, n=10**10 + 1)
