"""All pairs by one noisy matrix: what it moves by, tells, is used for, and must not tell."""

from __future__ import annotations

from collections.abc import Sequence
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
from tests.kinds.table.tables import distance, in_couples, of_causes, paid, schema_of, table_of

from penstock import load
from penstock.audit.replay import Records, Trial, replay
from penstock.engine import MemoryEngine
from penstock.engine.marginal import Marginal
from penstock.errors import UsageError
from penstock.kinds.table.confluence import multiplying
from penstock.kinds.table.confluence.knobs import KNOBS
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.confluence.products import Products
from penstock.kinds.table.counted import answered
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.release import PRODUCTS, NetworkRelease
from penstock.kinds.table.network.views import as_counted
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws import matrices
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


@pytest.fixture
def in_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wishart noise of the same law, drawn fast: for tests of nothing but how large it is."""
    rng = np.random.default_rng(11)

    def between(size: int, rate: Fraction, source: Randomness) -> Rows:
        one, two = rng.standard_normal((2, size, size + 1))
        return np.rint((one @ one.T - two @ two.T) / (2 * float(rate))).astype(np.int64)

    monkeypatch.setattr(matrices, "between_wisharts", between)


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


class Repeated(MemoryEngine):
    """Every record so many times."""

    times = 1

    def counts(self, marginals: Sequence[Marginal]) -> list[Rows]:
        return [np.asarray(each) * self.times for each in super().counts(marginals)]


def repeated(times: int, sizes: list[int], record: list[int]) -> Products:
    schema = schema_of(sizes)
    engine = Repeated(
        {name: np.array([code]) for name, code in zip(schema.names, record, strict=True)}, schema.sizes
    )
    engine.times = times
    table = Table(engine, schema)
    return Products(table, encoded("vanilla", table.attributes).variables, [0] * len(sizes))


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2], SIZES, [2] * 16, [2, 2, 2, 40], [2] * 200 + [400]])
def test_as_many_records_as_64_bits_have_room_for_are_added_up_exactly_and_more_are_refused(
    sizes: list[int],
) -> None:
    one = repeated(1, sizes, [size - 1 for size in sizes])
    vector = np.concatenate([[one.first], *(each[-1] for each in one.vectors)]).astype(object)
    most = (2**62 - 1) // max(one.first**2, *(int(each @ each) for all_ in one.vectors for each in all_))
    assert most >= 2**34
    full = repeated(most, sizes, [size - 1 for size in sizes])
    assert (open_seal(full.sealed()).astype(object) == np.multiply.outer(vector, vector) * most).all()
    for times in (most + 1, 2**62):
        budget = paid(1)
        with pytest.raises(UsageError, match="Nothing was spent"):
            repeated(times, sizes, [size - 1 for size in sizes]).counted(budget)
        assert budget.left[0] == 1


def test_tables_are_looked_at_one_by_one_for_more_records_than_there_is_room_for() -> None:
    """Numbers that would wrap around when they are added up, and so look like few records."""
    found = of(np.zeros((4, 2), dtype=np.int64), [2, 2])
    with pytest.raises(OverflowError):
        found._matrix({(0, 1): np.full(4, 2**62)})


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


@pytest.mark.usefixtures("in_doubles")
def test_the_stated_noise_is_that_of_every_pair_and_column() -> None:
    """Of what columns have together, over 1,000 draws.

    A square has a deviation of 1.6 at most, as 3,000 other draws say, and the mean over all tables one of
    .36. Limits are six deviations of the mean over the draws away, or more: 1e-8 for each, 1e-6 for all.
    """
    sizes = [2, 3, 5, 2, 2]
    rows = np.random.default_rng(1).integers(0, sizes, (400, 5))
    found = of(rows, sizes)
    source = Randomness.seeded(2)
    squares: dict[Any, list[float]] = {}
    for _ in range(1000):
        for one in found.counted(Budget(1, randomness=source)):
            exact = np.zeros(one.counts.shape, dtype=np.int64)
            np.add.at(exact, tuple(rows[:, part.variable] for part in one.parts), 1 if one.parts else 0)
            away = (one.counts - (exact if one.parts else 400)).astype(np.float64)
            free = 1
            for axis, size in enumerate(one.counts.shape):
                away, free = away - away.mean(axis=axis, keepdims=True), free * (size - 1)
            squares.setdefault(one.parts, []).append(float(np.square(away).sum()) / (one.deviation**2 * free))
    assert all(0.7 < np.mean(each) < 1.4 for each in squares.values())
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


def test_not_before_columns_where_choices_find_the_few_pairs_that_depend() -> None:
    """Ten couples of twenty columns: one noisy number says that all pairs depend by less than noise."""
    sizes, rows = [4] * 20, in_couples(3000, 20, 4)
    table = table_of(rows, schema_of(sizes))
    errors = []
    for knobs in (KNOBS, replace(KNOBS, choosable=1e9)):
        made = [fit_with(knobs, table, paid(5, seed)) for seed in range(3)]
        told = [labels(release)[:3] for release in made]
        first = ["number of records", "dependence"]
        third = "dependence of all pairs" if knobs is KNOBS else "products of all pairs"
        assert told == [[*first, third]] * 3
        assert all(("pairs" in release.parameters) is (knobs is KNOBS) for release in made)
        errors.append(sum(distance(release, rows, sizes, 2, 0) for release in made))
    assert errors[0] < errors[1]


def test_where_enough_pairs_depend_the_matrix_is_taken_after_the_question() -> None:
    """Two causes of twenty columns: half of all pairs depend, a tree of them alone would not settle it."""
    rows = of_causes(3000, 20, 2, 4)
    release = Confluence().fit(table_of(rows, schema_of([4] * 20)), paid(5))
    assert labels(release) == [
        "number of records",
        "dependence",
        "dependence of all pairs",
        "products of all pairs",
    ]
    assert release.receipt.epsilon == 5


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


def test_what_was_asked_last_is_kept_for_the_same_columns_only() -> None:
    run = multiplying.Multiplying(table_of(answering(3000), schema_of(YES_NO)), paid(1), KNOBS)
    run.n = 3000
    first = run._products([0] * 16)
    assert first is not None
    assert run._products([0] * 16) is first
    run.variables = (*run.variables,)  # equal, but not the same
    second = run._products([0] * 16)
    assert second is not None
    assert second.variables is run.variables


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
    """Of 20 releases: columns, pairs and unions of cells; 95 % asked.

    Answers of one release share their noise: the part that is covered has a deviation of .032 between
    releases, and those that are far off are below. By Chernoff's bound, for parts as in 70 other releases,
    their mean is outside with a probability of less than 1e-8. Bars a third too narrow cover .81, bars half
    too wide .996.
    """
    rows = answering(2000)
    yes = dict(zip("abcdefghijklmnop", rows.T == 1, strict=True))
    asked = {f"{a} = 1": yes[a] for a in yes}
    for a, b in combinations(yes, 2):
        asked |= {f"{a} = 1 and {b} = 0": yes[a] & ~yes[b], f"{a} = 1 or {b} = 1": yes[a] | yes[b]}
    held = []
    for seed in range(20):
        release = Confluence().fit(table_of(rows, schema_of(YES_NO)), paid(1, seed))
        assert release.parameters["views"] == PRODUCTS
        for condition, truth in asked.items():
            answer = release.query(condition)
            assert answer.error is not None
            held.append(abs(answer.value - truth.sum()) <= answer.error)
    assert 0.9 < np.mean(held) < 0.987


@pytest.mark.usefixtures("in_doubles")
def test_bars_are_as_wide_as_the_noise_of_what_was_asked() -> None:
    """Of few columns of many codes, where parts of a question differ most in their noise.

    The square of an error, in bars, has a deviation of 1.5, as 2,000 other draws say, and its mean over 600
    one of .061: .64 is 5.9 of them below 1, and 1.56 is 9 above. That is 1e-8 for each question.
    """
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
    for _ in range(600):
        told = found.counted(Budget(1, randomness=source))
        tables = [as_counted(one, found.variables, dict(zip("abcd", sizes, strict=True))) for one in told]
        for (columns, weights), each in zip(questions, away, strict=True):
            answer = answered(tables, ["abcd"[column] for column in columns], weights, None)
            assert answer is not None
            truth = weights[tuple(rows[:, column] for column in columns)].sum()
            each.append(1.96 * (answer[0] - truth) / answer[1].half)
    assert all(0.8 < sqrt(np.square(each).mean()) < 1.25 for each in away)


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
    "sparse": ([4] * 20, in_couples(3000, 20, 4), 5, Fraction(0), {}),
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
    assert made.parameters["views"] == ("chosen pairs" if name == "sparse" else PRODUCTS)
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


def test_a_copy_that_asks_by_the_exact_number_of_records_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether all pairs depend by enough: not asked of an odd number of records."""
    shipped = multiplying.Multiplying._sparse

    def following(self: multiplying.Multiplying, found: Products, strength: float) -> bool:
        exact = int(open_seal(self.table.size())[0])
        return exact % 2 == 0 and shipped(self, found, strength)

    monkeypatch.setattr(multiplying.Multiplying, "_sparse", following)
    tried, first, near = trial("sparse")
    assert replay(tried, first, near[0], rows=False).problems
