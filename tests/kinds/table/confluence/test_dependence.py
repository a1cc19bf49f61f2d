"""The strength of dependence: its sensitivity by brute force, its value, and that it is exact."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement
from math import floor

import numpy as np
import pytest
from tests.kinds.table.tables import mixed_rows, paid, schema_of, table_of

from penstock.kinds.table.confluence.dependence import GROUPS, MANY, Dependence, distance
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.confluence.tiers import PureTier
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

SIZES = [2, 3, 2]
RECORDS = np.array([[a, b, c] for a in range(2) for b in range(3) for c in range(2)])


def dependence(rows: np.ndarray, schema: Schema) -> Dependence:
    return Dependence(table_of(rows, schema), schema.attributes)


def total(rows: np.ndarray, schema: Schema) -> int:
    return int(open_seal(dependence(rows, schema).sealed())[0])


def test_a_record_moves_no_pair_by_more_than_four_and_a_replaced_one_by_eight() -> None:
    for n in (1, 2):
        for chosen in combinations_with_replacement(range(len(RECORDS)), n):
            rows = RECORDS[list(chosen)]
            before = total(rows, schema_of(SIZES))
            for record in RECORDS[:: 1 if n == 1 else 5]:
                more = dependence(np.vstack([rows, record]), schema_of(SIZES)).sealed()
                assert abs(int(open_seal(more)[0]) - before) <= more.sensitivity.l1 == 4 * 2
            swapped = dependence(np.vstack([rows[1:], RECORDS[-1]]), schema_of(SIZES, replace=n)).sealed()
            assert abs(int(open_seal(swapped)[0]) - before) <= swapped.sensitivity.l1 == 8 * 2


def test_the_sum_of_all_pairs_moves_by_no_more_than_all_of_them_do() -> None:
    for chosen in combinations_with_replacement(range(len(RECORDS)), 2):
        rows = RECORDS[list(chosen)]
        before = int(open_seal(dependence(rows, schema_of(SIZES)).together())[0])
        for record in RECORDS[::3]:
            more = dependence(np.vstack([rows, record]), schema_of(SIZES)).together()
            assert abs(int(open_seal(more)[0]) - before) <= more.sensitivity.l1 == 4 * 3
        swapped = dependence(np.vstack([rows[1:], RECORDS[-1]]), schema_of(SIZES, replace=2)).together()
        assert abs(int(open_seal(swapped)[0]) - before) <= swapped.sensitivity.l1 == 8 * 3


def test_the_mean_of_all_pairs_is_that_of_the_tree_where_all_are_alike_and_less_in_a_chain() -> None:
    same = np.repeat([0, 1], 5000)
    tier = partial(PureTier, paid(100))
    copies = dependence(np.column_stack([same] * 4), schema_of([2] * 4))
    assert copies.of_all(tier(), Fraction(1, 2), 10_000) == pytest.approx(0.5 - 0.4 / 100, abs=0.002)
    free = np.random.default_rng(0).integers(0, 2, (10_000, 2))
    pairs = dependence(np.column_stack([same, same, free]), schema_of([2] * 4))
    assert pairs.of_all(tier(), Fraction(1, 4), 10_000) == pytest.approx(0.5 / 6, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_the_change_is_the_product_that_the_proof_names(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, (3, 4))
    n, rows, columns = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    more = counts.copy()
    more[1, 2] += 1
    difference = (more - np.outer(more.sum(axis=1), more.sum(axis=0)) / (n + 1)) - (
        counts - np.outer(rows, columns) / n
    )
    factors = np.outer(np.eye(3)[1] - rows / n, np.eye(4)[2] - columns / n)
    assert np.allclose(difference, n / (n + 1) * factors)


def test_the_bound_is_attained() -> None:
    """Forty pairs of zeros and one of ones: the second one of ones moves the distance from 3 to 7."""
    found = [distance(np.array([[40, 0], [0, ones]])) for ones in range(3)]
    assert found == [0, 3, 7]


def test_distances_are_exact_and_rounded_down() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        counts = rng.integers(0, 1000, (3, 5))
        plain = np.abs(counts - np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()).sum()
        assert plain - 1 - 1e-6 <= distance(counts) <= floor(plain + 1e-6)
    huge = np.array([[3 * 10**12, 0], [0, 10**12]])
    assert distance(huge) == 4 * (3 * 10**24) // (4 * 10**12)
    assert distance(np.zeros((2, 2), dtype=np.int64)) == 0


def test_strength_is_what_pairs_share_beyond_chance() -> None:
    same = np.repeat([0, 1], 5000)
    schema = schema_of([2, 2])
    linked = dependence(np.column_stack([same, same]), schema).strength(
        PureTier(paid(100)), Fraction(1), 10_000
    )
    assert linked == pytest.approx(0.5 - 0.4 / 100, abs=0.001)  # scale 0.04 on 10,000
    rng = np.random.default_rng(0)
    apart = dependence(rng.integers(0, 6, (10_000, 4)), schema_of([6] * 4)).strength(
        PureTier(paid(100)), Fraction(1), 10_000
    )
    assert abs(apart) < 0.01


def test_groups_follow_from_the_schema_alone() -> None:
    rows = mixed_rows(50, [20, 20])
    ordered = dependence(rows, schema_of([20, 20], ordered=True)).looks[0]
    plain = dependence(rows, schema_of([20, 20])).looks[0]
    assert ordered.codes is not None
    assert plain.codes is not None
    assert ordered.size == plain.size == GROUPS
    assert list(ordered.codes) == sorted(ordered.codes)
    assert list(plain.codes[:10]) == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    many = schema_of([3] * (MANY + 1))
    assert {look.size for look in dependence(np.zeros((2, MANY + 1)), many).looks} == {2}


@pytest.mark.usefixtures("in_views")
def test_dependence_is_paid_less_where_less_tells_it() -> None:
    """Four hundredths of 1 tell the strength of 2,000 records to 0.025, of 200,000 to 0.00025."""
    parts = {}
    for rows in (2_000, 200_000):
        table = table_of(mixed_rows(rows, [4, 4, 4]), schema_of([4, 4, 4]))
        release = Confluence().fit(table, paid(1))
        charges = {charge.label: charge.epsilon for _, charge in release.receipt.charges()}
        parts[rows] = charges["dependence"]
        assert release.receipt.epsilon == 1
    assert parts[2_000] == Fraction(1, 25)
    assert parts[200_000] < Fraction(1, 200)
