"""Maximal parent sets: the worked examples, and brute force on random instances."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.table.network.parents import Parent
from penstock.kinds.table.privbayes.parent_sets import ParentSets


def maximal(sizes: list[list[int]], limit: int) -> set[frozenset[tuple[int, int]]]:
    sets = ParentSets()
    for number, levels in enumerate(sizes):
        sets.append(number, levels)
    found = [frozenset((p.variable, p.level) for p in chosen) for chosen in sets.maximal(limit)]
    assert len(found) == len(set(found))
    return set(found)


def by_brute_force(sizes: list[list[int]], limit: int) -> set[frozenset[tuple[int, int]]]:
    """Keep the feasible sets that no other feasible set contains at levels as fine or finer."""
    choices = [[None, *range(len(levels))] for levels in sizes]
    feasible = [
        pick
        for pick in product(*choices)
        if prod(sizes[i][level] for i, level in enumerate(pick) if level is not None) <= limit
    ]

    def covers(big: tuple[int | None, ...], small: tuple[int | None, ...]) -> bool:
        return big != small and all(
            s is None or (b is not None and b <= s) for b, s in zip(big, small, strict=True)
        )

    return {
        frozenset((i, level) for i, level in enumerate(pick) if level is not None)
        for pick in feasible
        if not any(covers(other, pick) for other in feasible)
    }


A, B, C = 0, 1, 2


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0, []),
        (1, [""]),
        (2, ["A"]),
        (4, ["A", "B", "C"]),
        (6, ["AB", "C"]),
        (8, ["AB", "AC"]),
        (12, ["AB", "AC", "BC"]),
        (24, ["ABC"]),
    ],
)
def test_three_flat_attributes(limit: int, expected: list[str]) -> None:
    assert maximal([[2], [3], [4]], limit) == {
        frozenset(("ABC".index(letter), 0) for letter in names) for names in expected
    }


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (2, ["A0", "B1", "C2"]),
        (4, ["A0 B1", "A0 C2", "B0", "B1 C2", "C1"]),
        (8, ["A0 B0", "A0 B1 C2", "A0 C1", "B0 C2", "B1 C1", "C0"]),
        (16, ["A0 B0 C2", "A0 B1 C1", "A0 C0", "B0 C1", "B1 C0"]),
    ],
)
def test_three_attributes_with_levels(limit: int, expected: list[str]) -> None:
    wanted = {frozenset(("ABC".index(word[0]), int(word[1])) for word in words.split()) for words in expected}
    assert maximal([[2], [4, 2], [8, 4, 2]], limit) == wanted


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.lists(st.integers(2, 12), min_size=1, max_size=3).map(lambda x: sorted(set(x), reverse=True)),
        max_size=4,
    ),
    st.integers(0, 80),
)
def test_recursion_equals_brute_force(sizes: list[list[int]], limit: int) -> None:
    assert maximal(sizes, limit) == by_brute_force(sizes, limit)


def test_sets_of_earlier_rounds_are_found_again() -> None:
    rng = np.random.default_rng(3)
    growing = ParentSets()
    sizes: list[list[int]] = []
    for number in range(6):
        sizes.append([int(rng.integers(2, 7))])
        growing.append(number, sizes[-1])
        found = {frozenset((p.variable, p.level) for p in chosen) for chosen in growing.maximal(30)}
        assert found == by_brute_force(sizes, 30)


def test_sizes_must_not_grow_with_the_level() -> None:
    with pytest.raises(ValueError, match="not increase"):
        ParentSets().append(0, [2, 4])


def test_parents_are_ordered_by_variable() -> None:
    assert sorted([Parent(2), Parent(1, 3), Parent(1)]) == [Parent(1), Parent(1, 3), Parent(2)]


def test_hundreds_of_variables_are_not_too_deep() -> None:
    sets = ParentSets()
    for number in range(1500):
        sets.append(number, (2,))
    assert len(sets.maximal(2)) == 1500
