"""Noise-aware choice of pairs: the sensitivity of gaps by brute force, the law of choices by enumeration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import log
from typing import Any

import numpy as np
import pytest
from tests.kinds.table.tables import mixed_rows, paid, schema_of, table_of
from tests.privacy.mechanisms.choice_law import probabilities

from penstock.kinds.table.confluence import tiers
from penstock.kinds.table.confluence.coarsening import levels_by_mass
from penstock.kinds.table.confluence.gaps import Gaps, Tables, choose
from penstock.kinds.table.confluence.tiers import PureTier
from penstock.kinds.table.network.encoding import encoded
from penstock.kinds.table.network.parents import ParentSet
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema


def gaps_of(rows: np.ndarray, schema: Schema) -> Gaps:
    variables = tuple(
        replace(
            v, levels=levels_by_mass(schema.attribute(v.attribute), np.full(v.size, 1 / v.size), (4, 3, 2))
        )
        for v in encoded("vanilla", schema.attributes).variables
    )
    return Gaps.of_pairs(table_of(rows, schema), variables, [0] * len(variables))


def any_expectation(gaps: Gaps, seed: int = 0) -> dict[tuple[int, int], np.ndarray]:
    """Public tables need not fit the records: the sensitivity must hold for all of them."""
    rng = np.random.default_rng(seed)
    return {
        (a, b): rng.integers(0, 3, (gaps.variables[a].size, gaps.variables[b].size)) for a, b in gaps.sets
    }


SIZES = [2, 3, 2]
RECORDS = np.array([[a, b, c] for a in range(2) for b in range(3) for c in range(2)])


@pytest.mark.parametrize("seed", range(3))
def test_gaps_move_by_at_most_one_for_an_added_and_two_for_a_replaced_record(seed: int) -> None:
    for n in (1, 2):
        for chosen in combinations_with_replacement(range(len(RECORDS)), n):
            rows = RECORDS[list(chosen)]
            schema = schema_of(SIZES)
            gaps = gaps_of(rows, schema)
            expected = any_expectation(gaps, seed)
            before = open_seal(gaps.of_all(expected))
            for record in RECORDS[:: 1 if n == 1 else 5]:
                more = gaps_of(np.vstack([rows, record]), schema)
                moved = np.abs(open_seal(more.of_all(expected)) - before)
                assert moved.max() <= more.of_all(expected).sensitivity.linf == 1
            swapped = gaps_of(np.vstack([rows[1:], RECORDS[0]]), schema_of(SIZES, replace=n))
            moved = np.abs(open_seal(swapped.of_all(expected)) - before)
            assert moved.max() <= swapped.of_all(expected).sensitivity.linf == 2


def test_gaps_against_exact_one_way_counts_would_move_further() -> None:
    """The mistake that the proof rules out: an expected table that follows the records is no constant."""
    schema = schema_of([3, 3])

    def gap(rows: np.ndarray) -> int:
        shares = [np.bincount(rows[:, i], minlength=3) for i in range(2)]
        expected = {(0, 1): np.rint(np.outer(*shares) / len(rows)).astype(np.int64)}
        return int(open_seal(gaps_of(rows, schema).of_all(expected))[0])

    rows = np.array([[0, 0]] * 4 + [[1, 0], [0, 1], [1, 1], [2, 2], [2, 0], [0, 2]])
    moves = [abs(gap(np.vstack([rows, [a, b]])) - gap(rows)) for a in range(3) for b in range(3)]
    assert max(moves) > 1


def test_absurd_expectations_do_not_round_a_record_away_or_twofold() -> None:
    """Beyond 2**53 neighbouring doubles are 2 apart: one record would move a gap by 0 or by 2."""
    schema = schema_of([2, 2])
    for huge in (2**53 + 1, 2**62):
        expected = {(0, 1): np.array([[huge, 3], [1, huge]])}
        found = [
            int(open_seal(gaps_of(np.zeros((n, 2), dtype=np.int64), schema).of_all(expected))[0])
            for n in range(1, 6)
        ]
        assert set(np.diff(found)) == {-1}


def test_bounds_are_attained() -> None:
    schema = schema_of([2, 2])
    nothing = {(0, 1): np.zeros((2, 2), dtype=np.int64)}
    one, two = (open_seal(gaps_of(np.zeros((n, 2), dtype=np.int64), schema).of_all(nothing)) for n in (1, 2))
    assert (two - one).tolist() == [1]


def test_gaps_equal_the_plain_sums_at_every_level() -> None:
    schema = schema_of([6, 5, 3], ordered=True)
    rows = mixed_rows(300, [6, 5, 3])
    gaps = gaps_of(rows, schema)
    expected = any_expectation(gaps, 4)
    found = open_seal(gaps.of_all(expected))
    for value, ((a, i), (b, j)) in zip(found, gaps.candidates, strict=True):
        first, second = gaps.variables[a].levels[i], gaps.variables[b].levels[j]
        table = np.zeros((first.size, second.size), dtype=np.int64)
        np.add.at(table, (first.lookup[rows[:, a]], second.lookup[rows[:, b]]), 1)
        for x in range(gaps.variables[a].size):
            for y in range(gaps.variables[b].size):
                table[first.groups[x], second.groups[y]] -= expected[a, b][x, y]
        assert value == np.abs(table).sum()


def triples_of(rows: np.ndarray, schema: Schema) -> Gaps:
    gaps = gaps_of(rows, schema)
    return replace(gaps, sets=list(combinations(range(len(gaps.variables)), 3)))


def test_gaps_of_triples_move_by_at_most_one_and_equal_the_plain_sums_at_every_level() -> None:
    schema, rng = schema_of([3, 4, 2, 6]), np.random.default_rng(6)
    rows = mixed_rows(120, [3, 4, 2, 6])
    gaps = triples_of(rows, schema)
    sizes = [variable.size for variable in gaps.variables]
    expected = {some: rng.integers(0, 9, [sizes[each] for each in some]) for some in gaps.sets}
    found = open_seal(gaps.of_all(expected))
    assert len(found) == len(gaps.candidates) > len(gaps.sets) == 4
    for value, parts in zip(found, gaps.candidates, strict=True):
        levels = [gaps.variables[variable].levels[level] for variable, level in parts]
        away = np.zeros([level.size for level in levels], dtype=np.int64)
        numbers = [part.variable for part in parts]
        np.add.at(away, tuple(level.lookup[rows[:, n]] for level, n in zip(levels, numbers, strict=True)), 1)
        for codes, count in np.ndenumerate(expected[tuple(numbers)]):
            away[tuple(level.lookup[code] for level, code in zip(levels, codes, strict=True))] -= count
        assert value == np.abs(away).sum()
    for record in rng.integers(0, sizes, (40, 4)):
        more = triples_of(np.vstack([rows, record]), schema).of_all(expected)
        assert np.abs(open_seal(more) - found).max() <= more.sensitivity.linf == 1


def test_coarser_levels_never_have_larger_gaps() -> None:
    schema = schema_of([6, 6])
    gaps = gaps_of(mixed_rows(200, [6, 6]), schema)
    found = open_seal(gaps.of_all(any_expectation(gaps)))
    assert found[0] == found.max()  # all codes on both sides come first


# The law of a whole run of choices, by walking down every branch ---------------------------------------


class BranchError(Exception):
    """A choice that the script does not cover yet, with the probability of each answer."""

    def __init__(self, chances: np.ndarray) -> None:
        self.chances = chances


def law(
    run: Callable[[], list[ParentSet]],
    monkeypatch: pytest.MonkeyPatch,
    spread: Callable[[Sensitivity], Fraction] = lambda s: s.spread,
) -> dict[tuple[ParentSet, ...], float]:
    """The exact probability of every outcome of `choose`, from the sealed scores that it really passes on."""
    script: list[int] = []
    asked = [0]

    def scripted(scores: Sealed[Any], pay: Any, **options: Any) -> int:
        epsilon = pay.left[0]
        pay.spend("choice", scores)
        asked[0] += 1
        if asked[0] > len(script):
            raise BranchError(probabilities(open_seal(scores), epsilon, spread=spread(scores.sensitivity)))
        return script[asked[0] - 1]

    monkeypatch.setattr(tiers.choice, "best", scripted)
    found: dict[tuple[ParentSet, ...], float] = {}

    def walk(taken: list[int], chance: float) -> None:
        script[:], asked[0] = taken, 0
        try:
            outcome = tuple(run())
        except BranchError as branch:
            for index, share in enumerate(branch.chances):
                walk([*taken, index], chance * share)
        else:
            found[outcome] = found.get(outcome, 0.0) + chance

    walk([], 1.0)
    return found


EPSILON = Fraction(1)


def chosen_from(
    rows: np.ndarray, monkeypatch: pytest.MonkeyPatch, replace_: bool = False, **mutant: Any
) -> dict[tuple[ParentSet, ...], float]:
    schema = schema_of([2, 2, 2], replace=len(rows) if replace_ else None)
    gaps = gaps_of(rows, schema)
    expected = {couple: np.array([[1, 0], [0, 1]]) for couple in gaps.sets}
    sizes = [v.sizes for v in gaps.variables]

    def run() -> list[ParentSet]:
        return choose(
            gaps.of_all(expected),
            gaps.candidates,
            sizes,
            PureTier(paid(EPSILON)),
            most=2,
            share=Fraction(1, 2),
            scale=0.2,
            caution=0.5,
        )

    found = law(run, monkeypatch, **mutant)
    assert sum(found.values()) == pytest.approx(1)
    return found


def worst(monkeypatch: pytest.MonkeyPatch, **mutant: Any) -> float:
    cells = np.array([[(c >> 2) & 1, (c >> 1) & 1, c & 1] for c in range(8)])
    laws = {}
    largest = 0.0
    for n in (1, 2, 3):
        for chosen in combinations_with_replacement(range(8), n):
            laws[chosen] = chosen_from(cells[list(chosen)], monkeypatch, **mutant)
            for i in range(n if n > 1 else 0):
                other = laws[(*chosen[:i], *chosen[i + 1 :])]
                largest = max(largest, *(abs(log(laws[chosen][key] / other[key])) for key in other))
    return largest


def test_choices_cost_no_more_than_they_are_paid_by_exact_enumeration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = worst(monkeypatch)
    assert 0.5 < found <= float(EPSILON)


@pytest.mark.parametrize(
    "mutant",
    [
        {"spread": lambda s: s.linf},  # as if all gaps moved in the same direction
        {"spread": lambda s: s.spread / 4},  # sensitivity of a normalised score, forgotten to be scaled
    ],
)
def test_broken_choices_are_refuted_by_the_same_enumeration(
    mutant: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert worst(monkeypatch, **mutant) > float(EPSILON)


def test_replacing_a_record_is_paid_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = np.array([[0, 0, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1]])
    one = chosen_from(cells[[0, 1]], monkeypatch, True)
    for new in (2, 3):
        other = chosen_from(cells[[0, new]], monkeypatch, True)
        assert max(abs(log(one[key] / other[key])) for key in one) <= float(EPSILON)


def six_at_most(gaps: Gaps, expected: Tables, budget: Budget, **more: Any) -> list[ParentSet]:
    """Choices of a tenth of a budget each."""
    sizes = [variable.sizes for variable in gaps.variables]
    given = dict(most=6, share=Fraction(1, 10), caution=1.0, **more)
    return choose(gaps.of_all(expected), gaps.candidates, sizes, PureTier(budget), **given)


def test_nothing_is_chosen_that_is_not_worth_its_noise() -> None:
    """Independent attributes and a high price: stopping wins by thousands of steps of the choice."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, size=(2000, 4))
    schema = schema_of([2] * 4)
    gaps = gaps_of(rows, schema)
    expected = {couple: np.full((2, 2), 500) for couple in gaps.sets}
    budget = paid(50)
    chosen = six_at_most(gaps, expected, budget, scale=500.0)
    assert chosen == []
    assert budget.receipt().epsilon == 5  # one choice: to stop; the rest is left for counts


def test_the_first_choices_connect_what_is_not_connected() -> None:
    """Three columns that agree and one that leans on them a little: a tree before the third equal pair."""
    rng = np.random.default_rng(1)
    same = rng.integers(0, 2, 4000)
    loose = np.where(rng.random(4000) < 0.3, same, rng.integers(0, 2, 4000))
    gaps = gaps_of(np.column_stack([same, same, same, loose]), schema_of([2] * 4))
    expected = {couple: np.full((2, 2), 1000) for couple in gaps.sets}
    couples = {}
    for tree in (True, False):
        chosen = choose(
            gaps.of_all(expected),
            gaps.candidates,
            [v.sizes for v in gaps.variables],
            PureTier(
                paid(50)
            ),  # the loose column's gap is 1200, the others' 4000: a wrong order has chance e^-100
            most=3,
            share=Fraction(1, 10),
            scale=0.0,
            caution=1.0,
            tree=tree,
        )
        couples[tree] = [{a, b} for (a, _), (b, _) in chosen]
    assert [3 in pair for pair in couples[True]] == [False, False, True]
    assert [3 in pair for pair in couples[False]] == [False, False, False]


def test_a_column_that_is_not_worth_connecting_does_not_end_the_choices() -> None:
    """Three columns that agree and one on its own: it is refused once, then the third equal pair comes.

    Equal pairs have a gap of 4000, others below 300, and 500 are expected: a wrong choice has chance e^-50.
    """
    rng = np.random.default_rng(1)
    same = rng.integers(0, 2, 4000)
    gaps = gaps_of(np.column_stack([same, same, same, rng.integers(0, 2, 4000)]), schema_of([2] * 4))
    budget = paid(50)
    expected = {couple: np.full((2, 2), 1000) for couple in gaps.sets}
    apparent = np.full(len(gaps.candidates), 500.0)
    chosen = six_at_most(gaps, expected, budget, scale=0.0, apparent=apparent, tree=True)
    assert sorted((a.variable, b.variable) for a, b in chosen) == [(0, 1), (0, 2), (1, 2)]
    assert budget.receipt().epsilon == 25  # three pairs, and two refusals


def test_a_gap_that_noise_alone_would_show_is_not_chosen() -> None:
    rng = np.random.default_rng(0)
    gaps = gaps_of(rng.integers(0, 2, size=(2000, 3)), schema_of([2] * 3))
    sealed = gaps.of_all({couple: np.array([[400, 600], [400, 600]]) for couple in gaps.sets})
    for seeming, found in ((0.0, 3), (1000.0, 0)):  # the gaps are about 400
        chosen = choose(
            sealed,
            gaps.candidates,
            [v.sizes for v in gaps.variables],
            PureTier(paid(50)),
            most=3,
            share=Fraction(1, 10),
            scale=0.0,
            caution=1.0,
            apparent=np.full(len(gaps.candidates), seeming),
        )
        assert len(chosen) == found


def test_among_many_candidates_luck_is_not_worth_a_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact law: no gap is worth its price, and yet one is likely to be chosen unless luck counts."""
    gaps = gaps_of(RECORDS[:4, [0, 2, 0]], schema_of([2, 2, 2]))
    stops = []
    for luck in (0.0, 1.0, 3.0):

        def run(luck: float = luck) -> list[ParentSet]:
            return choose(
                gaps.of_all({couple: np.ones((2, 2), dtype=np.int64) for couple in gaps.sets}),
                gaps.candidates,
                [v.sizes for v in gaps.variables],
                PureTier(paid(EPSILON)),
                most=1,
                share=Fraction(1),
                scale=1.0,
                caution=1.0,
                apparent=np.full(len(gaps.candidates), 1.0),
                luck=luck,
            )

        stops.append(law(run, monkeypatch)[()])
    assert stops[0] < 0.5 < stops[1] < 0.8 < stops[2]


def test_pairs_are_looked_at_in_about_as_many_groups_on_both_sides() -> None:
    gaps = gaps_of(mixed_rows(50, [6, 2, 3]), schema_of([6, 2, 3]))
    shown = [tuple(gaps.variables[number].sizes[level] for number, level in pair) for pair in gaps.candidates]
    assert shown[:5] == [(6, 2), (4, 2), (3, 2), (2, 2), (6, 3)]
    assert shown[5:8] == [(4, 3), (3, 3), (2, 2)]


def test_no_pair_is_chosen_twice() -> None:
    schema = schema_of([5, 5, 5])
    gaps = gaps_of(mixed_rows(3000, [5, 5, 5]), schema)
    expected = {couple: np.full((5, 5), 120) for couple in gaps.sets}
    chosen = choose(
        gaps.of_all(expected),
        gaps.candidates,
        [v.sizes for v in gaps.variables],
        PureTier(paid(10)),
        most=9,
        share=Fraction(1, 20),
        scale=0.01,
        caution=0.5,
    )
    couples = [(a.variable, b.variable) for a, b in chosen]
    assert sorted(couples) == [(0, 1), (0, 2), (1, 2)]
