"""The most frequent sets of items: the lattice of candidates, what one set moves, and what is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ReleaseError, UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.fitting import fitting
from penstock.kinds.itemsets.top_release import TopSetsRelease
from penstock.kinds.itemsets.top_sets import MOST_CANDIDATES, TopSets, candidate, candidates
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.releases import Manifest, Model
from penstock.schema import Schema

SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=6), min_size=1, max_size=8)


def lattice(items: Sequence[int], longest: int) -> list[tuple[int, ...]]:
    return [one for size in range(1, longest + 1) for one in combinations(items, size)]


def opened(sets: list[Any], items: int = 6, largest: int | None = None) -> ItemSets:
    labels = ", ".join(f"i{item}" for item in range(items))
    more = "" if largest is None else f", largest: {largest}"
    facts = (
        f"kind: itemsets\nitems: {{item: s{more}}}\nfields: [{{name: s, constraints: {{enum: [{labels}]}}}}]"
    )
    texts = [" ".join(f"i{item}" for item in sorted(one)) for one in sets]
    return ItemSets.open(pl.DataFrame({"s": texts}, schema={"s": pl.String}), Schema.from_yaml(facts))


def fitted(sets: list[Any], items: int = 6, epsilon: Any = 1, **parameters: Any) -> TopSetsRelease:
    return TopSets(**parameters).fit(opened(sets, items), Budget(epsilon, randomness=Randomness.seeded(1)))


@given(SETS, st.integers(1, 5), st.sets(st.integers(0, 5), min_size=2))
@settings(max_examples=60, deadline=None)
def test_candidates_are_counted_as_brute_force_does(
    sets: list[frozenset[int]], longest: int, chosen: set[int]
) -> None:
    """And one set more moves no count by more than one, all of them upwards."""
    items = sorted(chosen)
    expected = [sum(set(one) <= each for each in sets) for one in lattice(items, longest)]
    found = opened(sets).lattice(items, longest)
    assert open_seal(found).tolist() == expected
    moved = open_seal(found) - open_seal(opened(sets[:-1]).lattice(items, longest))
    assert set(moved.tolist()) <= {0, 1}
    assert moved.sum() <= found.sensitivity.l1 == len(expected)
    assert (found.sensitivity.linf, found.sensitivity.monotone) == (1, True)


def test_the_candidates_are_public() -> None:
    """They depend on the number of items alone, and a count is asked for no more than was chosen."""
    nothing = opened([])
    assert len(open_seal(nothing.lattice(range(6), 3))) == 6 + 15 + 20 == candidates(6, 3)
    assert nothing.lattice(range(6), 3, [0, 7]).sensitivity.l1 == 2
    assert len(fitted([], k=5).chosen) <= 5


@given(st.frozensets(st.integers(0, 5), max_size=6), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_a_bound_on_sets_bounds_what_they_hold(one: frozenset[int], largest: int, longest: int) -> None:
    """Of all candidates, a set of at most so many items holds no more than its own subsets."""
    sealed = opened([one], largest=largest).lattice(range(6), longest)
    assert int(open_seal(sealed).sum()) <= sealed.sensitivity.l1
    assert sealed.sensitivity.l1 == sum(
        len(list(combinations(range(largest), size))) for size in range(1, longest + 1)
    )


FOUND = [{0, 1, 2} | {3 + place % 87} for place in range(4000)] + [{5}] * 3000


@pytest.fixture(scope="module")
def release() -> TopSetsRelease:
    return fitted(FOUND, items=90, k=8)


def test_frequent_sets_are_found_among_many_items(release: TopSetsRelease) -> None:
    assert {"i5", "i0,i1", "i0,i1,i2"} <= set(release.top(8)["items"])
    assert release.receipt.epsilon == release.receipt.budget_epsilon


def test_a_chosen_set_answers_with_its_own_count(release: TopSetsRelease) -> None:
    """The published count, with its bar; another set only with what the synthetic sets say."""
    counted = release.count("i2,i1,i0")
    listed = dict(zip(release.top(8)["items"], release.top(8)["count"], strict=True))
    assert counted.rests_on == "counted"
    assert counted.value == listed["i0,i1,i2"]
    assert counted.error is not None
    assert abs(counted.value - 4000) < 5 * counted.error  # of 95 %: fails by chance once in 10**6
    assert release.estimates([(0, 1, 2), (8, 9)]).tolist() == [counted.value, release.sets.support((8, 9))]
    assert release.count("i8,i9").rests_on == "model"
    assert release.top(3)["error"].to_list() == [counted.error] * 3
    assert release.number.rests_on == "counted"


def test_rules_follow_from_the_counts(release: TopSetsRelease) -> None:
    support = dict(zip(release.chosen, release.supports.tolist(), strict=True))
    for rule in release.mined(8):
        whole = tuple(sorted((*rule.given, rule.then)))
        assert rule.support == support[whole]
        assert rule.confidence == min(1.0, support[whole] / support[rule.given])
        assert rule.lift == pytest.approx(rule.confidence * release.counted / support[rule.then,])
    assert release.mined(8)


def test_much_budget_gives_the_true_list() -> None:
    """At epsilon 100 the supports are off by a few: those of the sets that are most frequent."""
    sets = [{place % 3, 3 + place % 2, 5} for place in range(600)] + [{0, 1}] * 50 + [{2}] * 20
    found = fitted(sets, epsilon=100, k=12)
    truth = {one: sum(set(one) <= each for each in sets) for one in lattice(range(6), 5)}
    best = sorted(truth.values(), reverse=True)[:12]
    assert all(abs(found.count([f"i{item}" for item in one]).value - truth[one]) <= 2 for one in found.chosen)
    assert sorted((truth[one] for one in found.chosen), reverse=True) == best


@given(st.lists(st.tuples(st.integers(1, 63), st.integers(1, 500)), min_size=1, max_size=9))
@settings(max_examples=30, deadline=None)
def test_supports_that_sets_can_have_are_met(made: list[tuple[int, int]]) -> None:
    """Exact supports of all sets of up to three of six items: the sets have them, but for rounding."""
    chosen = lattice(range(6), 3)
    sets = [({bit for bit in range(6) if mask >> bit & 1}, weight) for mask, weight in made]
    supports = np.array([sum(weight for items, weight in sets if set(one) <= items) for one in chosen])
    number = sum(weight for _, weight in sets) + 30
    found, empty = fitting(chosen, supports, number)
    assert np.abs(np.array([found.support(one) for one in chosen]) - supports).max() <= 12
    assert found.total + empty == number


def test_what_no_sets_can_have_is_come_near_to() -> None:
    """A pair that is more frequent than its items: the nearest is where all three are the same."""
    found, empty = fitting([(0,), (1,), (0, 1)], np.array([0, 0, 90]), 100)
    assert found.support((0, 1)) == 30
    assert (found.total, empty) == (30, 70)


def test_what_is_known_of_nothing_stays_without_items() -> None:
    release = fitted([{0}] * 400 + [set()] * 600, k=1, longest=1)
    assert release.top(1)["items"].to_list() == ["i0"]
    assert release.sets.total + release.empty == pytest.approx(1000, abs=150)


@pytest.mark.parametrize("longest", [1, 2, 3, 5])
def test_the_lattice_has_every_small_set_once(longest: int) -> None:
    found = [candidate(place, [1, 2, 4, 7, 9]) for place in range(candidates(5, longest))]
    assert found == lattice([1, 2, 4, 7, 9], longest)


def test_candidates_are_as_many_as_chance_allows() -> None:
    """From the universe, the budget and a paid number of sets alone: more of each, more candidates."""
    method, universe = TopSets(k=100), 500
    many = [
        candidates(*method.considered(universe, 1, Fraction(1), number)) for number in (1000, 10**5, 10**7)
    ]
    assert many == sorted(many)
    assert many[0] < many[1] < many[2] <= MOST_CANDIDATES
    less = candidates(*method.considered(universe, 5, Fraction(1), 10**5))
    assert less < many[1]
    assert TopSets(k=100, items=30, longest=2).considered(universe, 1, Fraction(1), 0) == (30, 2)


def test_too_many_candidates_cost_nothing() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    with pytest.raises(UsageError, match="more than 5,000,000 sets"):
        TopSets(items=100, longest=5).fit(opened([{0}], items=120), budget)
    assert budget.left[0] == 1


def test_a_forged_folder_is_refused(release: TopSetsRelease) -> None:
    manifest = Manifest(release.method, release.schema, release.receipt, release.parameters)
    model = release.model()
    assert TopSetsRelease.from_model(manifest, model).chosen == release.chosen
    for table, column in (("chosen", "size"), ("members", "item")):
        frame = model.tables[table]
        forged = {**model.tables, table: frame.with_columns(pl.lit(0, dtype=pl.Int64).alias(column))}
        with pytest.raises(ReleaseError):
            TopSetsRelease.from_model(manifest, Model(json=model.json, tables=forged))
