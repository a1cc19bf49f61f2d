"""What all pairs have in common: nearer to the records than the counts are, and no more than is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.kinds.table.network.conditionals import Measured, added_up
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.parents import Parent, ParentSet
from penstock.kinds.table.network.spectrum import FEWEST, told

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
ROWS = 10_000


def variables(sizes: Sequence[int]) -> tuple[Variable, ...]:
    """Each can also be seen in two groups."""
    return tuple(
        Variable(
            f"v{number}",
            f"v{number}",
            size,
            None,
            (Grouping(tuple(range(size)), size), Grouping(tuple(int(code > 0) for code in range(size)), 2)),
        )
        for number, size in enumerate(sizes)
    )


def classes(sizes: Sequence[int], hidden: int = 2, seed: int = 1) -> Ints:
    """Columns that answer to one hidden class, or with one class to nothing."""
    rng = np.random.default_rng(seed)
    cause = rng.integers(0, hidden, ROWS)
    columns = []
    for size in sizes:
        steps = np.cumsum(rng.dirichlet(np.full(size, 1.0), hidden), axis=1)
        columns.append(np.minimum((steps[cause] <= rng.random(ROWS)[:, None]).sum(axis=1), size - 1))
    return np.stack(columns, axis=1)


def counts(rows: Ints, parts: ParentSet, known: Sequence[Variable]) -> Ints:
    found = np.zeros([known[number].sizes[level] for number, level in parts], dtype=np.int64)
    np.add.at(found, tuple(known[number].levels[level].lookup[rows[:, number]] for number, level in parts), 1)
    return found


def views_of(
    rows: Ints, sets: Sequence[tuple[int, ...]], known: Sequence[Variable], deviation: float, seed: int = 2
) -> list[Measured]:
    rng = np.random.default_rng(seed)
    found = []
    for some in sets:
        parts = tuple(map(Parent, some))
        exact = counts(rows, parts, known)
        noisy = np.rint(exact + rng.laplace(0, deviation / np.sqrt(2), exact.shape)).astype(np.int64)
        found.append(Measured(parts, noisy, deviation))
    return found


def errors(views: Sequence[Measured], rows: Ints, known: Sequence[Variable]) -> dict[ParentSet, Reals]:
    """How far the views of two columns are from the records, cell by cell."""
    return {one.parts: one.counts - counts(rows, one.parts, known) for one in views if len(one.parts) == 2}


def size_of(found: dict[ParentSet, Reals]) -> float:
    return float(np.sqrt(np.mean(np.concatenate([np.square(each).ravel() for each in found.values()]))))


def pairs_of(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return list(combinations(range(len(sizes)), 2))


@pytest.mark.parametrize("sizes", [[2] * 16, [4, 3, 5, 6, 4, 3, 5, 4, 3, 6]])
def test_pairs_of_one_cause_lose_most_of_their_noise(sizes: list[int]) -> None:
    """Twenty other seeds had .31 and .35 of the error, give or take .05; and what is said to be left is about
    what is there: 1.0 to 2.3 times and .7 to 1.0 times."""
    rows, known = classes(sizes), variables(sizes)
    noisy = views_of(rows, pairs_of(sizes), known, 300.0)
    clear = told(noisy, known, ROWS)
    assert [one.parts for one in clear] == [one.parts for one in noisy]
    before, after = (size_of(errors(views, rows, known)) for views in (noisy, clear))
    assert before == pytest.approx(300, rel=0.1)
    assert after < 0.6 * before
    assert 0.5 < np.mean([one.deviation for one in clear]) / after < 3
    assert min(one.deviation for one in clear) > 0.05 * 300


def test_columns_without_a_cause_get_none() -> None:
    """Of noise alone hardly a direction is kept: twenty other seeds left .25 to .39 of it. That there is
    nothing else is known no better than noise lets it be, and is not claimed.
    """
    sizes = [3] * 12
    rows, known = classes(sizes, hidden=1), variables(sizes)
    clear = told(views_of(rows, pairs_of(sizes), known, 300.0), known, ROWS)
    found = errors(clear, rows, known)
    assert size_of(found) < 0.6 * 300
    for one in clear:
        assert 50 < one.deviation < 300
        assert size_of({one.parts: found[one.parts]}) < 6 * one.deviation


def test_where_noise_is_small_nothing_changes() -> None:
    sizes = [3] * 8
    rows, known = classes(sizes, hidden=9), variables(sizes)
    noisy = views_of(rows, pairs_of(sizes), known, 2.0)
    assert told(noisy, known, ROWS) is noisy


def test_what_is_special_about_a_pair_stays() -> None:
    """The last column repeats the first, in which it has nothing in common with the others."""
    sizes = [4] * 10
    rows, known = classes(sizes), variables(sizes)
    rows = np.column_stack([rows[:, :-1], rows[:, 0]])
    noisy = views_of(rows, pairs_of(sizes), known, 200.0)
    clear = told(noisy, known, ROWS)
    before, after = (errors(views, rows, known) for views in (noisy, clear))
    twins = (Parent(0), Parent(9))
    assert np.abs(after[twins]).sum() < 1.2 * np.abs(before[twins]).sum() < 0.4 * ROWS
    assert size_of(after) < 0.6 * size_of(before)


def test_the_pairs_of_larger_tables_are_told_beside_them_and_the_rest_of_these_stays() -> None:
    sizes = [2] * 9
    rows, known = classes(sizes), variables(sizes)
    lines = [(a, a + 1, a + 2) for a in (0, 3, 6)]
    lines += [(a, 3 + b, 6 + (c + a * b) % 3) for c in range(3) for a in range(3) for b in range(3)]
    noisy = views_of(rows, lines, known, 300.0)
    clear = told(noisy, known, ROWS)
    beside = {one.parts: one for one in clear[len(noisy) :]}
    assert set(beside) == {(Parent(a), Parent(b)) for a, b in combinations(range(9), 2)}
    for before, after in zip(noisy, clear, strict=False):
        assert (after.parts, after.deviation) == (before.parts, before.deviation)
        change = after.counts - before.counts
        for axis in range(3):  # of one column, and of all three, it says what it said
            assert change.sum(axis=tuple({0, 1, 2} - {axis})) == pytest.approx(0, abs=1e-6)
        odd = change[0] - change[1]
        assert odd[0, 0] - odd[0, 1] - odd[1, 0] + odd[1, 1] == pytest.approx(0, abs=1e-6)
        for one, two in combinations(before.parts, 2):
            has = added_up(after.counts.astype(np.float64), after.parts, (one, two), known)
            wanted = beside[one, two].counts
            away = has - wanted
            assert away[0, 0] - away[0, 1] - away[1, 0] + away[1, 1] == pytest.approx(0, abs=1e-6)
    alone = {one.parts: added_up(one.counts * 1.0, one.parts, one.parts[:2], known) for one in noisy}
    before = size_of({parts[:2]: table - counts(rows, parts[:2], known) for parts, table in alone.items()})
    assert size_of(errors(list(beside.values()), rows, known)) < 0.6 * before


def test_views_stay_as_they_are_where_not_all_pairs_are_there() -> None:
    sizes = [3] * 8
    rows, known = classes(sizes), variables(sizes)
    noisy = views_of(rows, pairs_of(sizes), known, 300.0)
    assert told(noisy[1:], known, ROWS) == noisy[1:]
    few = FEWEST - 1
    some = views_of(rows, pairs_of(sizes[:few]), known[:few], 300.0)
    assert told(some, known[:few], ROWS) is some
    assert told(noisy, known, 0.0) is noisy
    parts = (Parent(0, 1), noisy[0].parts[1])  # in two groups, where others see three
    coarse = replace(noisy[0], parts=parts, counts=counts(rows, parts, known))
    assert told([coarse, *noisy[1:]], known, ROWS) == [coarse, *noisy[1:]]


def test_coarser_tables_and_single_columns_stay_beside_what_is_told_anew() -> None:
    sizes = [3] * 8
    rows, known = classes(sizes), variables(sizes)
    noisy = views_of(rows, pairs_of(sizes), known, 300.0)
    alone = Measured((Parent(2),), counts(rows, (Parent(2),), known), 10.0)
    parts = (Parent(0, 1), Parent(1, 1))
    coarse = Measured(parts, counts(rows, parts, known), 10.0)
    clear = told([alone, *noisy, coarse], known, ROWS)
    assert clear[0] is alone
    assert clear[-1] is coarse
    assert len(clear) == len(noisy) + 2


def test_a_pair_that_was_counted_twice_is_told_once() -> None:
    sizes = [2] * 10
    rows, known = classes(sizes), variables(sizes)
    once = views_of(rows, pairs_of(sizes), known, 300.0)
    twice = [*once, *views_of(rows, pairs_of(sizes), known, 300.0, seed=3)]
    clear = told(twice, known, ROWS)
    assert [one.parts for one in clear] == [one.parts for one in once]
    assert size_of(errors(clear, rows, known)) < size_of(errors(told(once, known, ROWS), rows, known))
