"""Aligned rows: nearer to what was counted than the network is, and never what the network rules out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from penstock.kinds.table.network import aligning
from penstock.kinds.table.network.aligning import aligned
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair, Parent, ParentSet
from penstock.kinds.table.network.spectrum import InCommon

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
SIZES = (4, 5, 3, 6)
ROWS = 6000


def variables(halves: bool = False) -> tuple[Variable, ...]:
    """With `halves` each can also be seen in two groups."""
    return tuple(
        Variable(
            f"v{i}",
            f"v{i}",
            size,
            None,
            (
                Grouping(tuple(range(size)), size),
                *([Grouping(tuple(int(code >= size // 2) for code in range(size)), 2)] if halves else []),
            ),
        )
        for i, size in enumerate(SIZES)
    )


def truth(rows: int = ROWS, seed: int = 5) -> list[Ints]:
    """Four columns that answer to a hidden class, so that every two of them hang together."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, rows)
    chances = [np.random.default_rng(size).dirichlet(np.full(size, 0.6), 3) for size in SIZES]
    return [
        np.minimum(
            (np.cumsum(each, axis=1)[hidden] <= rng.random(rows)[:, None]).sum(axis=1), len(each[0]) - 1
        )
        for each in chances
    ]


def counts(columns: list[Ints], parts: ParentSet, known: tuple[Variable, ...]) -> Ints:
    shape = [known[variable].sizes[level] for variable, level in parts]
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, tuple(known[v].levels[level].lookup[columns[v]] for v, level in parts), 1)
    return found


def views_of(
    columns: list[Ints], known: tuple[Variable, ...], deviation: float, level: int = 0
) -> list[Measured]:
    """All pairs of the columns, with Gaussian noise of this deviation."""
    rng = np.random.default_rng(8)
    found = []
    for one, two in combinations(range(len(known)), 2):
        parts = (Parent(one, level), Parent(two, level))
        exact = counts(columns, parts, known)
        found.append(
            Measured(
                parts, np.rint(exact + rng.normal(0, deviation, exact.shape)).astype(np.int64), deviation
            )
        )
    return found


def apart(columns: list[Ints], known: tuple[Variable, ...]) -> Network:
    """A network that knows the columns one by one only."""
    shares = [
        np.bincount(column, minlength=size) / len(column) for column, size in zip(columns, SIZES, strict=True)
    ]
    return Network(known, tuple(map(Pair, range(len(SIZES)))), tuple(share[None, :] for share in shares))


def distance(one: list[Ints], two: list[Ints], of: int) -> float:
    """The mean over all sets of so many columns of half the sum of the differences of their shares."""
    known = variables()
    return float(
        np.mean(
            [
                np.abs(
                    counts(one, parts, known) / len(one[0]) - counts(two, parts, known) / len(two[0])
                ).sum()
                / 2
                for parts in (tuple(map(Parent, some)) for some in combinations(range(len(SIZES)), of))
            ]
        )
    )


def test_rows_follow_counts_that_the_network_does_not_know() -> None:
    """A network of single columns is off by .2; after two rounds rows repeat nearly all of the pairs."""
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
    assert distance(rows, records, 2) > 0.15
    assert distance(nearer, records, 2) < 0.25 * distance(rows, records, 2)
    assert distance(nearer, records, 3) < 0.5 * distance(rows, records, 3)


def test_counts_that_are_only_noise_move_hardly_any_row() -> None:
    """The network is right, and the noise as large as the counts: rows stay as near to the records."""
    known = variables()
    network = apart(truth(), known)
    records = network.sample(ROWS, np.random.default_rng(3), balance=True)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 400.0), ROWS, np.random.default_rng(1))
    assert distance(nearer, records, 2) < 1.25 * distance(rows, records, 2) + 0.002


def of_sizes(sizes: Sequence[int]) -> tuple[Variable, ...]:
    return tuple(
        Variable(f"v{i}", f"v{i}", size, None, (Grouping(tuple(range(size)), size),))
        for i, size in enumerate(sizes)
    )


def singles(columns: list[Ints], known: tuple[Variable, ...]) -> Network:
    """A network that knows these columns one by one only."""
    shares = [np.bincount(column, minlength=each.size) for column, each in zip(columns, known, strict=True)]
    tables = tuple(share[None, :] / share.sum() for share in shares)
    return Network(known, tuple(map(Pair, range(len(known)))), tables)


def off_in_pairs(some: list[Ints], records: list[Ints], known: tuple[Variable, ...]) -> Reals:
    """For each pair of columns by how many rows its table differs."""
    pairs = [(Parent(one), Parent(two)) for one, two in combinations(range(len(known)), 2)]
    return np.array(
        [float(np.abs(counts(some, pair, known) - counts(records, pair, known)).sum()) for pair in pairs]
    )


def test_small_pairs_say_together_that_rows_are_off_where_most_do_not_show_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What little 16 yes/no columns depend by is lost in the noise of a single pair, not in that of 120."""
    rng, count = np.random.default_rng(2), 16
    known = of_sizes([2] * count)
    hidden = rng.integers(0, 2, 4000)
    records = [np.where(rng.random(4000) < 0.3, hidden, rng.integers(0, 2, 4000)) for _ in range(count)]
    network = singles(records, known)
    rows = network.sample(4000, np.random.default_rng(0), balance=True)
    views = views_of(records, known, 60.0)
    told = [InCommon(view.parts, view.counts, view.deviation) for view in views]

    def left(some: list[Measured]) -> float:
        nearer = aligned(rows, network, some, 4000, np.random.default_rng(1))
        return float(off_in_pairs(nearer, records, known).sum() / off_in_pairs(rows, records, known).sum())

    together = left(views)
    assert together < 0.75
    assert left(list(told)) < 0.8
    monkeypatch.setattr(aligning, "_off_by_all", lambda told: 0.0)
    assert together < 0.9 * left(views)


def test_one_pair_that_is_off_does_not_make_others_follow_their_noise() -> None:
    """Of 66 pairs one depends: the rows of the 65 others stay about as near as they were drawn."""
    rng = np.random.default_rng(4)
    known = of_sizes([5] * 12)
    records = [rng.integers(0, 5, ROWS) for _ in known]
    records[1] = np.where(rng.random(ROWS) < 0.7, records[0], records[1])
    network = singles(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    views = views_of(records, known, 60.0)
    nearer = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    before, after = (off_in_pairs(some, records, known) for some in (rows, nearer))
    assert after[0] < 0.3 * before[0]
    assert after[1:].mean() < 1.2 * before[1:].mean()


def test_what_a_network_follows_is_trusted_sooner_and_noise_alone_never() -> None:
    """Squares as large as those of noise: for a view that the network follows they are more than noise."""
    noise = np.random.default_rng(1).normal(0, 10, (8, 8))
    parts, rows = (Parent(0), Parent(1)), np.full((8, 8), 100)

    def seen(away: Reals, held: bool) -> aligning._Seen:
        return aligning._Seen(parts, rows, away, 100.0, 2, held)

    assert seen(noise, held=False).off(0.0) == 0.0
    assert seen(1.6 * noise, held=False).off(0.0) > 0.5
    assert seen(noise, held=True).off(0.0) > 0.3
    assert seen(0.1 * noise, held=True).off(0.0) == 0.0
    # others count for a view that is not held, and for no other
    assert seen(noise, held=False).off(0.7) == 0.7
    assert seen(0.1 * noise, held=True).off(0.7) == 0.0
    single = aligning._Seen(parts[:1], rows[0], noise[0], 100.0, 2, held=False)
    assert single.off(0.7) == 0.0
    # together: noise says nothing, twice as much of it says by how much
    many = [np.random.default_rng(seed).normal(0, 10, (8, 8)) for seed in range(20)]
    assert aligning._off_by_all([seen(each, held=False) for each in many]) == 0.0
    twice = aligning._off_by_all([seen(2 * each, held=False) for each in many])
    assert twice == pytest.approx(3.0, rel=0.2)  # 400 - 100 over 100 rows


def sure(known: tuple[Variable, ...]) -> tuple[list[Ints], Network]:
    """Records of which three columns repeat a fourth, and a network that knows it, of other shares."""
    rng = np.random.default_rng(9)
    first = rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])
    wrong = rng.random((3, ROWS)) < 0.003
    records = [first, *(np.where(each, rng.integers(0, 4, ROWS), first) for each in wrong)]
    repeats = np.full((4, 4), 0.001) + 0.996 * np.eye(4)
    pairs = (Pair(0), *(Pair(number, (Parent(0),)) for number in range(1, 4)))
    return records, Network(known, pairs, (np.full((1, 4), 0.25), *[repeats] * 3))


def test_rows_of_columns_that_repeat_one_another_move_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network proposes another code to one row in a hundred, and flatter chances to many."""
    known = of_sizes([4] * 4)
    records, network = sure(known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    views = views_of(records, known, 2.0)
    nearer = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    monkeypatch.setattr(aligning, "FURTHER", 0)
    without = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    near, far, drawn = (off_in_pairs(some, records, known).mean() for some in (nearer, without, rows))
    assert near < 0.5 * far < 0.5 * drawn


def test_a_flatter_round_that_does_not_help_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    views = views_of(records, known, 2.0)
    monkeypatch.setattr(aligning, "FURTHER", 0)
    without = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    monkeypatch.setattr(aligning, "FURTHER", 1)
    monkeypatch.setattr(aligning, "STILL", 0.0)
    monkeypatch.setattr(aligning, "ROUNDS", 1)
    taken_back = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    monkeypatch.setattr(aligning, "FURTHER", 0)
    one_round = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    assert all((a == b).all() for a, b in zip(taken_back, one_round, strict=True))
    assert any((a != b).any() for a, b in zip(without, one_round, strict=True))


def test_what_is_asked_for_is_asked_until_it_is_there() -> None:
    """Noise is a fifth of what the network forgot: rows end nearer to the truth than the noisy counts are."""
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    views = views_of(records, known, 30.0)
    nearer = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    exact = [counts(records, view.parts, known) for view in views]
    noisy = np.mean([np.abs(view.counts - each).sum() for view, each in zip(views, exact, strict=True)])
    assert off_in_pairs(nearer, records, known).mean() < 0.85 * noisy


def test_a_pair_that_was_counted_in_groups_as_well_is_held_to_its_finest_view() -> None:
    known, records = variables(halves=True), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    fine, coarse = (views_of(records, known, 10.0, level) for level in (0, 1))
    alone, both = (
        off_in_pairs(
            aligned(rows, network, views, ROWS, np.random.default_rng(1)), records, variables()
        ).mean()
        for views in (fine, fine + coarse)
    )
    assert both < 1.2 * alone


def test_a_triple_that_was_counted_is_not_held_to_its_pairs() -> None:
    """Three yes/no columns of which two tell the third, and no pair anything."""
    rng = np.random.default_rng(6)
    known = of_sizes([2, 2, 2, 3])
    records = [
        rng.integers(0, 2, ROWS),
        rng.integers(0, 2, ROWS),
        np.zeros(ROWS, int),
        rng.integers(0, 3, ROWS),
    ]
    records[2] = np.where(rng.random(ROWS) < 0.9, records[0] ^ records[1], rng.integers(0, 2, ROWS))
    network = singles(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    three = (Parent(0), Parent(1), Parent(2))
    view = Measured(three, counts(records, three, known), 2.0)
    nearer = aligned(rows, network, [view, *views_of(records, known, 2.0)], ROWS, np.random.default_rng(1))
    before, after = (np.abs(counts(some, three, known) - view.counts).sum() for some in (rows, nearer))
    assert after < 0.1 * before


def test_tables_that_nobody_counted_are_put_right_by_their_pairs_and_kept_otherwise() -> None:
    """Of four columns three pairs were counted: others stay, and triples have the sides asked for."""
    known, records = variables(), truth()
    rows = apart(records, known).sample(ROWS, np.random.default_rng(0), balance=True)
    work = aligning._Rows(apart(records, known), rows)
    counted = [(0, 1), (1, 2)]
    views = [view for view in views_of(records, known, 2.0) if tuple(dict(view.parts)) in counted]
    nothing = (Parent(2), Parent(3))  # a view that asks for nothing stays as it is, too
    assert work.ask([*views, Measured(nothing, counts(rows, nothing, known), 2.0)], 1.0)
    asked = len(work.looks)
    assert asked == 3
    assert sorted(np.abs(look.excess).sum() > 1 for look in work.looks) == [False, True, True]
    work.keep(1000, np.random.default_rng(1))
    kept = {tuple(sorted(look.variables)): look for look in work.looks[asked:]}
    assert set(kept) == {(0, 2), (0, 3), (1, 3), *combinations(range(4), 3)}
    for some, look in kept.items():
        have = counts(rows, look.parts, known)
        wanted = have - look.excess.reshape(have.shape)
        assert wanted.sum() == pytest.approx(ROWS)
        if not any(set(pair) <= set(some) for pair in counted):
            assert np.abs(look.excess).max() < 1e-9
        for one, two in combinations(range(len(some)), 2):
            if (some[one], some[two]) in counted:
                rest = tuple(axis for axis in range(len(some)) if axis not in (one, two))
                side = work.sides[some[one], some[two]].cells
                assert np.abs(wanted.sum(axis=rest) - side).sum() < 0.01 * ROWS


def test_fewer_rows_than_records_have_less_noise_asked_of_them() -> None:
    """A tenth of the rows: counts and noise are a tenth as well, and so is what is left of it."""
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS // 10, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 30.0), ROWS, np.random.default_rng(1))
    assert distance(nearer, records, 2) < 0.5 * distance(rows, records, 2)
    only_noise = network.sample(ROWS, np.random.default_rng(3), balance=True)
    views = views_of(only_noise, known, 400.0)
    still = aligned(rows, network, views, ROWS, np.random.default_rng(1))
    assert distance(still, only_noise, 2) < 1.25 * distance(rows, only_noise, 2) + 0.002


def test_codes_that_the_network_rules_out_are_never_drawn() -> None:
    """Counts of everything, and a network in which the second column is never above the first."""
    known, records = variables(), truth()
    table = np.tril(np.ones((SIZES[0], SIZES[1])))
    network = Network(
        known,
        (Pair(0), Pair(1, (Parent(0),)), Pair(2), Pair(3)),
        (
            np.full((1, SIZES[0]), 1 / SIZES[0]),
            table / table.sum(axis=1, keepdims=True),
            np.full((1, SIZES[2]), 1 / SIZES[2]),
            np.full((1, SIZES[3]), 1 / SIZES[3]),
        ),
    )
    rows = network.sample(ROWS, np.random.default_rng(0))
    nearer = aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
    assert any((one != two).any() for one, two in zip(rows, nearer, strict=True))
    assert (nearer[1] <= nearer[0]).all()


def test_views_in_groups_leave_the_shares_within_groups_alone() -> None:
    known, records = variables(halves=True), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 2.0, level=1), ROWS, np.random.default_rng(1))
    halves = [known[number].levels[1].lookup for number in range(4)]
    there, here, wanted = (
        [half[column] for half, column in zip(halves, columns, strict=True)]
        for columns in (nearer, rows, records)
    )
    assert distance(there, wanted, 2) < 0.3 * distance(here, wanted, 2)
    for number, size in enumerate(SIZES):  # columns as such were known, and stay within a few rows of it
        assert (
            np.abs(
                np.bincount(nearer[number], minlength=size) - np.bincount(rows[number], minlength=size)
            ).max()
            < 90
        )


def test_as_many_rows_come_out_in_their_order_and_the_same_for_a_seed() -> None:
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(500, np.random.default_rng(0))
    before = [column.copy() for column in rows]
    once, again = (
        aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
        for _ in range(2)
    )
    assert all((one == two).all() for one, two in zip(once, again, strict=True))
    assert all((one == two).all() for one, two in zip(rows, before, strict=True))
    assert sum(float((one == two).mean()) for one, two in zip(once, rows, strict=True)) > 4 * 0.4


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_rows_or_none(rows: int) -> None:
    known, records = variables(), truth()
    network = apart(records, known)
    drawn = network.sample(rows, np.random.default_rng(0))
    for total in (0.0, 1.0, float(ROWS)):
        found = aligned(drawn, network, views_of(records, known, 2.0), total, np.random.default_rng(1))
        assert [len(column) for column in found] == [rows] * 4
    assert aligned([], network, [], 1.0, np.random.default_rng(1)) == []


def test_without_room_for_any_table_rows_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aligning, "MOST_WORK", 0)
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0))
    found = aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
    assert all((one == two).all() for one, two in zip(found, rows, strict=True))


def test_of_many_columns_some_triples_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """More triples than are looked at: those that are, are different ones."""
    monkeypatch.setattr(aligning, "TRIPLES", 2)
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
    assert distance(nearer, records, 2) < 0.4 * distance(rows, records, 2)


@pytest.mark.parametrize(("most", "moved"), [(2, set()), (7, {0, 2}), (17, {0, 1, 2}), (18, {0, 1, 2, 3})])
def test_columns_of_many_codes_are_left_alone_where_rows_are_many(
    most: int, moved: set[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 4, 5, 3 and 6 codes those of fewest have their turn, as long as there is room for them."""
    monkeypatch.setattr(aligning, "MOST_CHANCES", ROWS * most)
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(ROWS, np.random.default_rng(0), balance=True)
    nearer = aligned(rows, network, views_of(records, known, 2.0), ROWS, np.random.default_rng(1))
    assert {number for number in range(4) if (rows[number] != nearer[number]).any()} == moved


@pytest.mark.parametrize(("most", "cells"), [(0, []), (14, [12]), (30, [12, 15]), (47, [12, 15, 20])])
def test_tables_that_nobody_counted_have_no_more_cells_together_than_there_is_room_for(
    most: int, cells: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 131,072 rows and 30 columns of 700 codes they took five gigabytes."""
    monkeypatch.setattr(aligning, "MOST_CELLS", most)
    monkeypatch.setattr(aligning._Rows, "_uncounted", lambda *_: iter([(0, 2), (1, 2), (0, 1)]))
    work = aligning._Rows(apart(truth(), variables()), truth())
    work.keep(100, np.random.default_rng(0))
    assert [look.excess.size for look in work.looks] == cells


def test_views_of_less_than_one_record_ask_for_nothing() -> None:
    """Of next to no records so many rows would be a number that no float holds."""
    known, records = variables(), truth()
    network = apart(records, known)
    rows = network.sample(50, np.random.default_rng(0))
    found = aligned(rows, network, views_of(records, known, 2.0), 1e-300, np.random.default_rng(1))
    assert all((one == two).all() for one, two in zip(found, rows, strict=True))
