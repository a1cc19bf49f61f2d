"""The default for item sets: which way it takes, what a set can move, and what becomes of noisy counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.errors import UsageError
from penstock.kinds.itemsets.data import STEPS, ItemSets
from penstock.kinds.itemsets.mining import superset_sums
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.supports import RANGES, Sizes, gathered, likely, spread_by_size, whole
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.encoding import Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.learn.sluice import method, smoothing
from penstock.learn.sluice.method import Sluice, as_sets
from penstock.learn.sluice.rows import divided, drawn_rows
from penstock.learn.sluice.smoothing import plausible
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=6), min_size=1, max_size=8)


def schema(items: int, top: str = "") -> Schema:
    labels = ", ".join(f"i{item}" for item in range(items))
    return Schema.from_yaml(
        f"{top}\nkind: itemsets\nitems: {{item: s}}\nfields: [{{name: s, constraints: {{enum: [{labels}]}}}}]"
    )


def opened(sets: list[Any], items: int = 6, **more: Any) -> ItemSets:
    texts = [" ".join(f"i{item}" for item in sorted(one)) for one in sets]
    return ItemSets.open(pl.DataFrame({"s": texts}, schema={"s": pl.String}), schema(items), **more)


def fitted(
    sets: list[Any], items: int = 6, epsilon: Any = 1, seed: int = 1, **parameters: Any
) -> SetsRelease:
    return Sluice(**parameters).fit(opened(sets, items), Budget(epsilon, randomness=Randomness.seeded(seed)))


# --- what a set can move ---


@given(SETS, st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_one_set_more_moves_supports_and_sizes_by_what_is_stated(
    sets: list[frozenset[int]], most: int
) -> None:
    """With and without the last set, by brute force: never more than stated, and always upwards."""
    with_it, without = opened(sets), opened(sets[:-1])
    for ask in (
        lambda data: data.supports_within(most),
        lambda data: data.sizes([0, 1, 3]),
        lambda data: data.table(),
    ):
        one, two = ask(with_it), ask(without)
        moved = open_seal(one) - open_seal(two)
        assert (moved >= 0).all()
        assert moved.sum() <= one.sensitivity.l1
    whole_sets = open_seal(with_it.supports_within(6))
    assert (whole_sets == STEPS * open_seal(with_it.supports())).all()


@given(SETS, st.lists(st.frozensets(st.integers(0, 5), max_size=6), max_size=2), st.integers(1, 7))
@settings(max_examples=40, deadline=None)
def test_one_user_more_moves_supports_and_sizes_by_what_is_stated(
    others: list[frozenset[int]], hers: list[frozenset[int]], most: int
) -> None:
    """A user with up to two sets comes, and others have one each: never more than stated, and that is met."""
    users = schema(6, "unit: {protects: user, column: person, at_most: 2}")

    def of(sets: list[tuple[str, frozenset[int]]]) -> ItemSets:
        texts = [" ".join(f"i{item}" for item in sorted(one)) for _, one in sets]
        rows = {"s": texts, "person": [person for person, _ in sets]}
        return ItemSets.open(pl.DataFrame(rows), users, order_key=b"k")

    there = [(f"p{place}", one) for place, one in enumerate(others)]
    with_her, without = of([*there, *(("she", one) for one in hers)]), of(there)
    for ask in (
        lambda data: data.supports_within(most),
        lambda data: data.sizes([0, 1, 3]),
        lambda data: data.table(),
        lambda data: data.lattice(range(6), 2),
    ):
        one, two = ask(with_her), ask(without)
        moved = open_seal(one) - open_seal(two)
        assert moved.sum() <= one.sensitivity.l1
        assert moved.max(initial=0) <= one.sensitivity.linf
    everything = [frozenset(range(6))] * 2
    met = open_seal(of([*there, *(("she", one) for one in everything)]).supports_within(6))
    stated = without.supports_within(6).sensitivity.l1
    assert (met - open_seal(without.supports_within(6))).sum() == stated


def test_sets_become_rows_of_a_table_one_for_one() -> None:
    table = opened([{0, 2}, {2}, set()]).as_columns(Table, [2, 0])
    (counts,) = table.counts([("item 2", "item 0")])
    assert open_seal(counts).tolist() == [1, 0, 1, 1]
    assert counts.sensitivity.l1 == 1
    assert not table.repeatable
    assert opened([{0}], order_key=b"k").as_columns(Table, [0]).repeatable


def test_owners_stay_owners_where_users_are_protected() -> None:
    users = schema(3, "unit: {protects: user, column: item 0, at_most: 2}")
    rows = pl.DataFrame({"s": ["i0", "i1", "i2", "i0 i1"], "item 0": ["a", "a", "a", "b"]})
    table = ItemSets.open(rows, users, order_key=b"k").as_columns(Table, [0, 1, 2])
    assert table.schema.unit == users.unit
    (total,) = table.counts([()])
    assert open_seal(total).tolist() == [3]  # two of the three sets of a, and that of b
    assert total.sensitivity.l1 == 2


def test_sets_gathered_from_rows_stay_the_unit_where_they_become_rows_of_a_table() -> None:
    labels = ", ".join(f"i{item}" for item in range(40))
    facts = Schema.from_yaml(
        f"kind: itemsets\nitems: {{item: s, transaction: basket}}\n"
        f"fields: [{{name: s, constraints: {{enum: [{labels}]}}}}]"
    )
    rows = pl.DataFrame({"s": [f"i{row % 40}" for row in range(1000)], "basket": np.arange(1000) // 2})
    release = penstock.release(rows, facts, epsilon=1, seed=1)
    assert release.parameters["taken"] == "columns"
    assert release.receipt.epsilon == 1


# --- which way ---


@pytest.mark.parametrize(("records", "way"), [(20, "columns"), (500, "cells")])
def test_every_set_is_counted_where_there_are_enough(records: int, way: str) -> None:
    """Six items have 64 sets; at epsilon 1 that takes 66 records, and one noisy count decides."""
    release = fitted([{0, 1}, {2}] * (records // 2))
    assert release.parameters["taken"] == way


def test_large_universes_are_never_counted_set_by_set() -> None:
    assert fitted([{0, 1}] * 5000, items=19).parameters["taken"] == "columns"
    with pytest.raises(UsageError, match="up to 18 items and has 19"):
        Sluice(way="cells").check(schema(19))


@pytest.mark.parametrize("parameters", [{}, {"way": "cells"}, {"way": "columns"}, {"columns": 2}])
def test_the_whole_budget_is_on_the_receipt(parameters: dict[str, Any]) -> None:
    release = fitted([{0, 1}, {2}, {0, 1, 2}, set()] * 100, epsilon="3/4", **parameters)
    assert release.receipt.epsilon == release.receipt.budget_epsilon


def test_frequent_sets_of_a_large_universe_are_found() -> None:
    """60 items of which two go together: DiffPart drops all of it, and columns know it."""
    rng = np.random.default_rng(1)
    sets = [{0, 1} | {int(rng.integers(2, 60))} for _ in range(1500)] + [{5}] * 500
    release = fitted(sets, items=60)
    assert release.parameters["taken"] == "columns"
    assert abs(release.count("i0,i1").value - 1500) < 200
    assert set(release.top(3)["items"]) == {"i0", "i1", "i0,i1"}


def test_few_rows_stand_for_many_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the limit on rows: about as many sets as there are, and items as often."""
    sets = [{0, 1}, {2}, {5}] * 500
    for most in (4000, 1000, 110):
        monkeypatch.setattr(method, "MOST_DRAWN", most)
        release = fitted(sets, items=40)
        assert abs(release.number.value - 1500) < 150
        assert abs(release.count("i0").value - 500) < 200


def test_it_is_the_default() -> None:
    texts = pl.DataFrame({"s": ["i0 i1"] * 300})
    assert penstock.release(texts, schema(4), epsilon=1, seed=1).method == "sluice"


# --- post-processing ---


def test_counts_that_stand_out_are_kept_and_the_rest_agrees_with_its_sums() -> None:
    """Eight items, two big sets and small ones of one item: noise alone would spread over all sets."""
    rng = np.random.default_rng(2)
    counts = np.zeros(256, dtype=np.int64)
    counts[[1, 3]] = 4000, 2500
    counts[1 << np.arange(8)] += 4
    noisy = counts + np.round(rng.laplace(0, 3, 256)).astype(np.int64)
    found = plausible(noisy, 3 * 2**0.5)
    assert found[1] == noisy[1]
    assert found[3] == noisy[3]
    assert (found >= 0).all()
    rest = np.delete(found, [1, 3]).sum()
    assert rest == pytest.approx(max(0, np.delete(noisy, [1, 3]).sum()), abs=1e-6)
    truth = superset_sums(counts)
    cut = superset_sums(np.maximum(noisy, 0))
    assert np.abs(superset_sums(found) - truth).mean() < np.abs(cut - truth).mean() / 2


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [-5, -3, -2, -9], [900, 800, 700, 600]])
def test_counts_of_nothing_or_all_believed_come_through(counts: list[int]) -> None:
    found = plausible(np.array(counts), 1.4)
    assert found.tolist() == [max(0, count) for count in counts]


def test_sizes_are_counted_in_ranges_and_made_plausible() -> None:
    sizes = Sizes.plausible(np.array([0, 90, 60, 50]))
    assert (sizes.number, sizes.usual, sizes.mean) == (200, 2, 1.8)
    assert sizes.mean_within(2) == 1.55
    nothing = Sizes.plausible(np.array([-3, -1, -2]))
    assert (nothing.number, nothing.usual) == (1, 1)
    assert nothing.mean_within(1) > 0
    found = open_seal(opened([{0}, {0, 1}, {1}, set(), {0, 1, 2, 3, 4}]).sizes(RANGES))
    assert found.tolist() == [1, 2, 1, 0, 0, 1] + [0] * (len(RANGES) - 6)
    assert len(Sizes.plausible(found).counts) == 65


def test_likely_supports_are_nearer_than_noisy_ones_and_than_those_above_a_threshold() -> None:
    """2,000 items with supports of a heavy tail: errors relative to 20, on average."""
    rng = np.random.default_rng(3)
    truth = np.floor(5 / rng.random(2000))
    noisy = truth + rng.laplace(0, 20, 2000)

    def error(found: Any) -> float:
        return float(np.mean(np.abs(found - truth) / np.maximum(truth, 20)))

    found = likely(noisy, 20, 20)
    assert (found >= 0).all()
    assert found[noisy > 200].tolist() == noisy[noisy > 200].tolist()
    assert error(found) < 0.8 * min(error(np.maximum(noisy, 0)), error(np.where(noisy > 100, noisy, 0)))


def test_sets_with_a_good_part_of_all_items_keep_their_frequent_items_alone() -> None:
    """Chance would bring the others together where they exclude each other."""
    rng = np.random.default_rng(4)
    sets = [{0, 1, 2, 3, int(rng.integers(4, 40))} for _ in range(3000)]
    dense, sparse = (
        fitted(sets, items=items, columns=4).synthetic.supports(items)[4:40] for items in (40, 400)
    )
    assert dense.sum() == 0
    assert abs(sparse.sum() - 3000) < 900


def test_whole_numbers_keep_the_sum_about() -> None:
    counts = np.full(1000, 0.25)
    assert abs(int(whole(counts).sum()) - 250) < 80  # 5.8 deviations of a binomial number


def test_rows_become_sets_and_other_items_are_spread() -> None:
    rows = np.array([[True, True, False], [False, True, False]]).repeat(100, axis=1)
    sizes = Sizes(np.array([60.0, 100.0, 140.0]))
    sets, empty = as_sets(rows, np.array([4, 9]), np.arange(10, 30), np.full(20, 4), sizes)
    supports = sets.supports(30)
    assert (supports[4], supports[9]) == (200, 100)
    assert abs(supports[10:].sum() - 80) <= 8
    assert sets.total + empty == 300
    nobody, none = as_sets(rows[:, :0], np.array([4, 9]), np.array([7]), np.array([30]), sizes)
    assert (len(nobody), none) == (0, 0)
    alone, _ = as_sets(rows, np.array([4, 9]), np.array([7])[:0], np.array([30])[:0], None)
    assert alone.supports(10)[7] == 0


def test_items_are_spread_so_that_sets_have_the_sizes_that_were_paid_for() -> None:
    """Sets of one item or of nine, over two hundred items: by chance alone, most would have about five."""
    held = np.zeros(20_000, dtype=np.int64)
    held[:4000] = 1
    counts = np.zeros(10)
    counts[1], counts[9] = 10_000, 10_000
    supports = np.full(200, 480)  # 96,000 places: 100,000 but for what is held
    found, items = gathered(spread_by_size(np.arange(200), supports, held, Sizes(counts)))
    sizes = found + held
    assert abs((sizes <= 4).mean() - 0.5) < 0.05
    assert (sizes >= 7).mean() > 0.4
    assert np.abs(np.bincount(items, minlength=200) / 480 - 1).max() < 0.05


def test_few_columns_have_the_rows_that_are_expected_of_each_combination() -> None:
    """But for rounding: no count of a combination is off by one or more, however many rows there are."""
    shares = np.array([[0.125, 0.5], [0.25, 0.125]])

    class Model:
        def marginal(self, names: Any) -> Any:
            return shares

    for many in (0, 1, 7, 1000):
        rows = drawn_rows(Model(), ["one", "two"], many)  # type: ignore[arg-type]
        assert rows.shape == (2, many)
        counts = np.bincount(2 * rows[0] + rows[1], minlength=4)
        assert (np.abs(counts - many * shares.ravel()) < 1).all()


def test_many_columns_divide_combinations_as_the_model_says() -> None:
    """Whatever the seed: an item given its parents is off by less than a row, and so is any combination.

    32 combinations of the six items before have the first one, so that it meets the seventh, which nothing
    ties to it, as often as expected but for 33 rows.
    """
    variables = tuple(Variable(str(number), str(number), 2) for number in range(8))
    chances = np.linspace(0.05, 0.6, 8)
    pairs = tuple(Pair(number, (Parent(number - 1),) if number % 2 else ()) for number in range(8))
    tables = tuple(
        np.array([[1 - chance, chance], [0.25, 0.75]][: 2 if number % 2 else 1])
        for number, chance in enumerate(chances)
    )
    has, counts = divided(Network(variables, pairs, tables), 100_000, np.random.default_rng(3))
    assert counts.sum() == 100_000
    assert len(np.unique(has, axis=1).T) == len(counts)
    for number in range(8):
        if not number % 2:
            assert abs(has[number] @ counts - 100_000 * chances[number]) < 1
            continue
        for parent, chance in ((True, 0.75), (False, chances[number])):
            among = counts[has[number - 1] == parent]
            got = has[number][has[number - 1] == parent] @ among
            assert abs(got - chance * among.sum()) < 1
    together = (has[0] & has[6]) @ counts
    assert abs(together - 100_000 * chances[0] * chances[6]) < 33


def test_rounds_that_lead_away_from_the_sums_are_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """With steps that are far too long, the supports of items come out as with short ones all the same."""
    rng = np.random.default_rng(2)
    has = np.arange(256)[:, None] >> np.arange(8) & 1
    shares = 1 / np.arange(2, 10)
    chances = np.prod(np.where(has, shares, 1 - shares), axis=1)
    noisy = rng.poisson(3000 * chances) + np.round(rng.laplace(0, 10, 256)).astype(np.int64)

    def supports() -> Any:
        return plausible(noisy, 14.1) @ has

    right = supports()
    monkeypatch.setattr(smoothing, "STEP", 2.0)
    assert np.abs(supports() - right).max() < 40
    monkeypatch.setattr(smoothing, "WORSE", np.inf)
    assert np.abs(supports() - right).max() > 200


def test_a_bound_on_sizes_shortens_synthetic_sets_and_loses_none() -> None:
    """2,000 sets of up to eight of 60 items, of which two are kept: as many synthetic ones, none larger."""
    rng = np.random.default_rng(5)
    held = [rng.choice(60, rng.integers(1, 9), replace=False) for _ in range(2000)]
    rows = pl.DataFrame({"s": [" ".join(f"i{item}" for item in one) for one in held]})
    facts = Schema.from_yaml(schema(60).to_yaml().replace("item: s", "item: s, largest: 2"))
    release = penstock.release(rows, facts, epsilon=5, seed=1)
    assert release.sizes()["size"].max() <= 2
    assert abs(release.number.value - 2000) < 60
