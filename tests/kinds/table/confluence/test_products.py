"""All pairs by one noisy matrix: what it moves by, tells, is used for, and must not tell."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kinds.table.tables import distance, of_causes, paid, schema_of, table_of

from penstock import load
from penstock.audit.replay import Records, Trial, replay
from penstock.kinds.table.confluence import multiplying, products
from penstock.kinds.table.confluence.knobs import KNOBS
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.confluence.products import Products
from penstock.kinds.table.counted import answered
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.release import PRODUCTS, NetworkRelease
from penstock.kinds.table.network.views import as_counted
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.seals.sensitivity import Sensitivity

Rows = NDArray[np.int64]
SIZES = [2, 3, 2, 5]
YES_NO = [2] * 16
IN_TABLES = replace(KNOBS, products=0.0)


def of(rows: Rows, sizes: list[int], **more: Any) -> Products:
    table = table_of(rows, schema_of(sizes, **more))
    return Products(table, encoded("vanilla", table.attributes).variables, [0] * len(sizes))


def answering(rows: int, columns: int = 16, seed: int = 6) -> Rows:
    """Yes/no columns that answer to one hidden cause."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 2, (rows, 1))
    return np.where(rng.random((rows, columns)) < 0.7, hidden, rng.integers(0, 2, (rows, columns)))


def labels(release: NetworkRelease) -> list[str]:
    return [charge.label for _, charge in release.receipt.charges()]


# What a record does to the matrix -------------------------------------------------------------------------


def test_a_record_adds_the_square_of_one_public_vector_and_none_is_longer_than_stated() -> None:
    rows = np.random.default_rng(0).integers(0, SIZES, (30, 4))
    before = open_seal(of(rows, SIZES).sealed()).astype(object)
    stated = of(rows, SIZES).sensitivity
    lengths, sums = [], []
    for record in product(*(range(size) for size in SIZES)):
        found = of(np.vstack([rows, record]), SIZES)
        change = open_seal(found.sealed()).astype(object) - before
        vector = np.concatenate(
            [[found.first], *(each[code] for each, code in zip(found.vectors, record, strict=True))]
        ).astype(object)
        assert (change == np.multiply.outer(vector, vector)).all()
        lengths.append(int(vector @ vector))
        sums.append(int(np.abs(change).sum()))
    assert max(lengths) == stated.trace
    assert max(sums) <= stated.l1
    assert min(lengths) > 0.99 * max(lengths)  # a shorter one would be hidden for more than it needs


def test_units_of_several_records_and_replaced_ones_move_it_further() -> None:
    rows = np.random.default_rng(0).integers(0, SIZES, (30, 4))
    one = of(rows, SIZES).sensitivity.trace
    assert one is not None
    assert of(rows, SIZES, replace=30).sensitivity.trace == 2 * one
    person = {"unit": {"protects": "user", "column": "person", "at_most": 3}}
    assert of(rows, SIZES, **person).sensitivity.trace == 3 * one


@pytest.mark.parametrize("corners", [2, 3, 4, 9, 32])
def test_vectors_are_the_corners_of_a_regular_simplex_and_add_up_to_nothing(corners: int) -> None:
    found = products._simplex(corners, 1.0).astype(np.float64) / (1 << products.FINE)
    assert (found.sum(axis=0) == 0).all()
    cosine = -1 / (corners - 1)
    assert np.allclose(found @ found.T, cosine + np.eye(corners) * (1 - cosine), atol=0.02)


# What it tells --------------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(2, 7), min_size=2, max_size=5), seed=st.integers(0, 99))
def test_without_noise_it_tells_every_count_exactly(sizes: list[int], seed: int) -> None:
    rows = np.random.default_rng(seed).integers(0, sizes, (200, len(sizes)))
    found = of(rows, sizes)
    told = found._told(open_seal(found.sealed()).astype(np.float64), 1e-3)
    assert len(told) == 1 + len(sizes) + comb(len(sizes), 2)
    for one in told:
        counts = np.zeros(one.counts.shape, dtype=np.int64)
        np.add.at(counts, tuple(rows[:, part.variable] for part in one.parts), 1 if one.parts else 0)
        assert (one.counts == (counts if one.parts else 200)).all()
        assert one.together is bool(one.parts)


def test_the_stated_noise_is_that_of_every_pair_and_column() -> None:
    """Over 200 draws, of what columns have together: a quarter off is beyond six deviations for each of them,
    .07 for all on average."""
    sizes = [2, 3, 5, 2, 2]
    rows = np.random.default_rng(1).integers(0, sizes, (400, 5))
    found = of(rows, sizes)
    source = Randomness.seeded(2)
    squares: dict[Any, list[float]] = {}
    for _ in range(200):
        for one in found.counted(Budget(1, randomness=source)):
            exact = np.zeros(one.counts.shape, dtype=np.int64)
            np.add.at(exact, tuple(rows[:, part.variable] for part in one.parts), 1 if one.parts else 0)
            away = (one.counts - (exact if one.parts else 400)).astype(np.float64)
            free = 1
            for axis, size in enumerate(one.counts.shape):
                away, free = away - away.mean(axis=axis, keepdims=True), free * (size - 1)
            squares.setdefault(one.parts, []).append(float(np.square(away).sum()) / (one.deviation**2 * free))
    assert all(0.75 < np.mean(each) < 1.25 for each in squares.values())
    assert 0.93 < np.mean([np.mean(each) for each in squares.values()]) < 1.07


def test_where_the_number_of_records_is_public_nothing_tells_it_again() -> None:
    rows = np.random.default_rng(1).integers(0, SIZES, (400, 4))
    told = of(rows, SIZES, replace=400).counted(paid(1))
    assert all(one.parts for one in told)
    assert all(abs(int(one.counts.sum()) - 400) <= one.counts.size / 2 for one in told)


def test_planned_noise_is_that_which_is_told() -> None:
    found = of(np.random.default_rng(1).integers(0, SIZES, (400, 4)), SIZES)
    told = found.counted(paid(2))
    pairs = [one for one in told if len(one.parts) == 2]
    stated = sum(0.8 * one.counts.size * sqrt(one.deviation**2 - 1 / 12) for one in pairs)
    assert found.noise(Fraction(2)) == pytest.approx(stated)


# Where it is used -----------------------------------------------------------------------------------------


def test_yes_no_columns_that_depend_are_told_by_one_look_after_one_number() -> None:
    release = Confluence().fit(table_of(answering(3000), schema_of(YES_NO)), paid(1))
    assert labels(release) == ["number of records", "dependence", "products of all pairs"]
    assert release.parameters["views"] == PRODUCTS
    assert release.receipt.epsilon == 1


def test_not_where_nothing_depends_nor_where_tables_have_no_more_noise_nor_in_rho() -> None:
    free = np.random.default_rng(0).integers(0, 2, (3000, 16))
    assert PRODUCTS not in labels(Confluence().fit(table_of(free, schema_of(YES_NO)), paid(1)))
    many = [12] * 6
    rows = of_causes(20_000, 6, 1, 12)
    assert PRODUCTS not in labels(Confluence().fit(table_of(rows, schema_of(many)), paid(1)))


def test_a_delta_is_used_where_it_buys_less_noise() -> None:
    """At a delta of 1e-9 the matrix has less noise than Gaussian tables of all pairs, at a hundredth more."""
    rows = answering(3000)
    for delta, there in ((Fraction(1, 10**9), True), (Fraction(1, 100), False)):
        budget = Budget(1, delta, randomness=Randomness.seeded(1))
        release = Confluence().fit(table_of(rows, schema_of(YES_NO)), budget)
        assert (release.parameters["views"] == PRODUCTS) is there
        assert (release.receipt.epsilon, release.receipt.delta) == (1, delta)


def test_columns_come_first_where_one_has_more_codes_than_pairs_are_looked_at_in() -> None:
    sizes = [3] * 20 + [40]
    release = Confluence().fit(table_of(of_causes(3000, 21, 1, 3), schema_of(sizes)), paid(2))
    assert release.parameters["views"] == PRODUCTS
    assert "u" in labels(release)  # the last column, by itself
    assert labels(release).index("u") < labels(release).index("products of all pairs")
    assert release.receipt.epsilon == 2


def test_triples_that_pairs_do_not_tell_are_counted_beside_it() -> None:
    rows = answering(8000, 20)
    rows[:, -1] = rows[:, 0] ^ rows[:, 1]
    release = Confluence().fit(table_of(rows, schema_of([2] * 20)), paid("4/3"))
    assert release.parameters["views"] == PRODUCTS
    held = [{part.variable for part in one.parts} for one in release.measured if len(one.parts) == 3]
    assert {0, 1, 19} in held
    assert release.receipt.epsilon == Fraction(4, 3)


@pytest.mark.parametrize(("rows", "epsilon"), [(3000, 1), (10_000, "1/5")])
def test_it_is_nearer_than_tables(rows: int, epsilon: Any) -> None:
    """In ten tables of other seeds .5 and .6 of the error, give or take .06: not below .9 with a probability
    of less than 1e-6."""
    found = answering(rows)
    table, errors = table_of(found, schema_of(YES_NO)), []
    for knobs in (KNOBS, IN_TABLES):
        made = [fit_with(knobs, table, paid(epsilon, seed)) for seed in range(3)]
        errors.append(sum(distance(release, found, YES_NO, 2, 0) for release in made))
    assert errors[0] < 0.9 * errors[1]


# What is made of it ---------------------------------------------------------------------------------------


def test_a_saved_release_says_the_same(tmp_path: Path) -> None:
    release = Confluence().fit(table_of(answering(3000), schema_of(YES_NO)), paid(1))
    again = load(release.save(tmp_path / "release"))
    assert isinstance(again, NetworkRelease)
    assert any("one noisy matrix" in line for line in again.explain())
    assert [one.together for one in again.measured] == [one.together for one in release.measured]
    for condition in ("a = 1", "a = 1 and b = 0", "a = 1 and b = 0 and c = 1"):
        assert again.query(condition) == release.query(condition)
    assert again.sample(20, seed=1).equals(release.sample(20, seed=1))


def test_error_bars_cover_what_they_say() -> None:
    """Of 30 releases: columns, pairs and unions of cells; 95 % asked, 91 % is six deviations below."""
    rows = answering(2000)
    held = []
    for seed in range(30):
        release = Confluence().fit(table_of(rows, schema_of(YES_NO)), paid(1, seed))
        for one, two in combinations(range(0, 16, 3), 2):
            a, b = "abcdefghijklmnop"[one], "abcdefghijklmnop"[two]
            for condition, truth in (
                (f"{a} = 1", rows[:, one] == 1),
                (f"{a} = 1 and {b} = 0", (rows[:, one] == 1) & (rows[:, two] == 0)),
                (f"{a} = 1 or {b} = 1", (rows[:, one] == 1) | (rows[:, two] == 1)),
            ):
                answer = release.query(condition)
                assert answer.error is not None
                held.append(abs(answer.value - truth.sum()) <= answer.error)
    assert 0.91 < np.mean(held) < 0.98


def test_bars_are_as_wide_as_the_noise_of_what_was_asked() -> None:
    """Of few columns of many codes, where parts of a question differ most in their noise: over 200 draws the
    error is .85 to 1.15 times what the bar says, beyond six deviations."""
    sizes = [2, 2, 8, 12]
    rows = np.random.default_rng(1).integers(0, sizes, (900, 4))
    found, source = of(rows, sizes), Randomness.seeded(3)
    questions: list[tuple[tuple[int, ...], NDArray[np.float64]]] = [
        ((3,), (np.arange(12) < 11).astype(float)),
        ((0,), np.array([1.0, 0.0])),
        ((0, 1), np.array([[1.0, 1], [0, 0]])),
        ((2, 3), np.multiply.outer(np.arange(8) < 4, np.arange(12) < 6).astype(float)),
        ((2, 3), np.multiply.outer(np.arange(8) == 4, np.arange(12) == 6).astype(float)),
    ]
    away: list[list[float]] = [[] for _ in questions]
    for _ in range(200):
        told = found.counted(Budget(1, randomness=source))
        tables = [as_counted(one, found.variables, dict(zip("abcd", sizes, strict=True))) for one in told]
        for (columns, weights), each in zip(questions, away, strict=True):
            answer = answered(tables, ["abcd"[column] for column in columns], weights, None)
            assert answer is not None
            truth = weights[tuple(rows[:, column] for column in columns)].sum()
            each.append(1.96 * (answer[0] - truth) / answer[1].half)
    assert all(0.85 < np.std(each) < 1.15 for each in away)


def test_single_columns_are_not_told_better_by_all_their_pairs() -> None:
    release = Confluence().fit(table_of(answering(3000), schema_of(YES_NO)), paid(1))
    (alone,) = [one for one in release.counted_tables if one.attributes == ("a",)]
    seen = [one for one in release.counted_tables if one.sees(["a"])]
    assert seen == [alone]
    assert len([one for one in release.counted_tables if one.sees(["a", "b"])]) == 1


# What it must not tell ------------------------------------------------------------------------------------

CASES: dict[str, tuple[list[int], Rows, Any, Fraction, dict[str, Any]]] = {
    "at once": (YES_NO, answering(400), 2, Fraction(0), {}),
    "replace": (YES_NO, answering(400), 4, Fraction(0), {"relation": "replace", "size": 400}),
    "delta": (YES_NO, answering(400), 2, Fraction(1, 10**9), {}),
    "target": (YES_NO, answering(400), 2, Fraction(0), {"target": "b"}),
    "codes": ([2, 3] * 8, of_causes(600, 16, 1, 2), 4, Fraction(0), {}),
    "triples": ([2] * 12, answering(4000, 12), 1, Fraction(0), {}),
    "after columns": ([3] * 20 + [40], of_causes(2000, 21, 1, 3), 2, Fraction(0), {}),
}


def trial(name: str) -> tuple[Trial, Records, list[Records]]:
    sizes, rows, epsilon, delta, more = CASES[name]
    first = tuple((tuple(map(int, row)),) for row in rows)
    other = ((tuple(size - 1 for size in sizes),),)
    near: list[Records] = [(*first[1:], *other)] if "size" in more else [first[1:], (*first, *other)]
    return Trial("confluence", schema_of(sizes, **more), epsilon=Fraction(epsilon), delta=delta), first, near


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_changes_more_than_was_paid_for(name: str) -> None:
    tried, first, near = trial(name)
    made = tried.release(first, Randomness.seeded(1))
    assert made.parameters["views"] == PRODUCTS
    assert (made.receipt.epsilon, made.receipt.delta) == (tried.epsilon, tried.delta)
    for second in near:
        outcome = replay(tried, first, second, rows=False)
        assert not outcome.problems
        assert outcome.share <= 1


def test_users_of_several_records_are_hidden_whole() -> None:
    schema = schema_of(YES_NO, unit={"protects": "user", "column": "person", "at_most": 2})
    rows = answering(600)
    codes = [tuple(map(int, row)) for row in rows]
    first = tuple(tuple(codes[start : start + 2]) for start in range(0, 600, 2))
    tried = Trial("confluence", schema, epsilon=Fraction(4))
    assert tried.release(first, Randomness.seeded(1)).parameters["views"] == PRODUCTS
    outcome = replay(tried, first, (*first, ((1,) * 16, (1,) * 16)), rows=False)
    assert not outcome.problems
    # the longest record twice: all that was paid for the matrix
    shares = {charge.label: float(loss) / float(paid_for) for charge, paid_for, loss in outcome.charges}
    assert shares["products of all pairs"] == pytest.approx(1, abs=1e-3)


def test_a_copy_that_states_half_of_the_length_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Products.sensitivity.fget  # type: ignore[attr-defined]  # a property has one
    monkeypatch.setattr(Products, "sensitivity", property(lambda self: whole(self).scaled(Fraction(1, 2))))
    tried, first, near = trial("at once")
    assert any("paid" in problem for problem in replay(tried, first, near[0], rows=False).problems)


def test_a_copy_without_the_number_before_the_vectors_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Products.sensitivity.fget  # type: ignore[attr-defined]

    def without(self: Products) -> Sensitivity:
        known = whole(self)
        return replace(known, trace=known.trace - self.first**2)

    monkeypatch.setattr(Products, "sensitivity", property(without))
    tried, first, near = trial("at once")
    assert any("paid" in problem for problem in replay(tried, first, near[0], rows=False).problems)


def test_a_copy_that_follows_the_exact_number_of_records_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def following(self: Products, strength: float) -> Products | None:
        exact = int(open_seal(self.table.size())[0])  # type: ignore[attr-defined]
        return None if exact % 2 else multiplying.Multiplying._products(self, [0] * 16)  # type: ignore[arg-type]

    monkeypatch.setattr(multiplying.Multiplying, "_products_at_once", following)
    tried, first, near = trial("at once")
    assert replay(tried, first, near[0], rows=False).problems
