"""The most frequent sets of items: the lattice of candidates, what one set moves, and what is made of it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.release import SetsRelease
from penstock.kinds.itemsets.top_sets import TopSets, fitting, lattice
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=6), min_size=1, max_size=8)


def opened(sets: list[Any], items: int = 6) -> ItemSets:
    labels = ", ".join(f"i{item}" for item in range(items))
    facts = f"kind: itemsets\nitems: {{item: s}}\nfields: [{{name: s, constraints: {{enum: [{labels}]}}}}]"
    texts = [" ".join(f"i{item}" for item in sorted(one)) for one in sets]
    return ItemSets.open(pl.DataFrame({"s": texts}, schema={"s": pl.String}), Schema.from_yaml(facts))


def fitted(sets: list[Any], items: int = 6, epsilon: Any = 1, **parameters: Any) -> SetsRelease:
    return TopSets(**parameters).fit(opened(sets, items), Budget(epsilon, randomness=Randomness.seeded(1)))


@given(SETS, st.integers(1, 3), st.sets(st.integers(0, 5), min_size=2))
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
    assert len(open_seal(nothing.lattice(range(6), 3))) == 6 + 15 + 20
    assert nothing.lattice(range(6), 3, [0, 7]).sensitivity.l1 == 2
    assert len(fitted([], k=5).sets) <= 15


def test_frequent_sets_are_found_among_many_items() -> None:
    rng = np.random.default_rng(1)
    sets = [{0, 1, 2} | {int(rng.integers(3, 90))} for _ in range(4000)] + [{5}] * 3000
    release = fitted(sets, items=90, k=8)
    assert {"i5", "i0,i1", "i0,i1,i2"} <= set(release.top(8)["items"])
    assert abs(release.count("i0,i1,i2").value - 4000) < 300  # noise of scale 16 each, fitted together
    assert release.receipt.epsilon == release.receipt.budget_epsilon


@given(st.lists(st.tuples(st.integers(1, 15), st.integers(1, 500)), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_supports_that_sets_can_have_are_met(made: list[tuple[int, int]]) -> None:
    """Exact supports of all sets of up to two of four items: the sets have them, but for rounding."""
    chosen = lattice(range(4), 2)
    sets = [({bit for bit in range(4) if mask >> bit & 1}, weight) for mask, weight in made]
    supports = np.array([sum(weight for items, weight in sets if set(one) <= items) for one in chosen])
    found = fitting(chosen, supports)
    assert np.abs(np.array([found.support(one) for one in chosen]) - supports).max() <= 8


def test_what_is_known_of_nothing_stays_without_items() -> None:
    release = fitted([{0}] * 400 + [set()] * 600, k=1, longest=1)
    assert release.top(1)["items"].to_list() == ["i0"]
    assert abs(release.number.value - 1000) < 150


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_the_lattice_has_every_small_set_once(longest: int) -> None:
    found = lattice(range(5), longest)
    assert len(set(found)) == len(found)
    assert set(found) == {one for size in range(1, longest + 1) for one in combinations(range(5), size)}
