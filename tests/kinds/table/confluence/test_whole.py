"""One table of all columns: when it is counted, what is made of it, and what it must not give away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.kinds.table.tables import distance, mixed_rows, paid, schema_of, table_of

from penstock.audit.replay import Records, Tampering, Trial, replay
from penstock.audit.sabotage import understated
from penstock.kinds.table.confluence import method, whole
from penstock.kinds.table.confluence.knobs import KNOBS
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.conditionals import conditional
from penstock.kinds.table.network.release import NetworkRelease
from penstock.postprocessing import onto_simplex
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.releases import load
from penstock.schema import Schema

Rows = NDArray[np.int64]
IN_VIEWS = replace(KNOBS, whole_cells=0)


def odd(rows: int, columns: int = 4) -> Rows:
    """Yes/no columns of which the last says whether the others have an odd sum: no three of four tell."""
    found = np.random.default_rng(1).integers(0, 2, (rows, columns))
    found[:, -1] = found[:, :-1].sum(axis=1) % 2
    return found


def alike(rows: int, sizes: list[int]) -> Rows:
    """Columns that follow the first in half of the records."""
    rng = np.random.default_rng(2)
    found = rng.integers(0, sizes, (rows, len(sizes)))
    follows = rng.random((rows, len(sizes))) < 0.5
    return np.where(follows, found[:, :1] * np.array(sizes) // sizes[0], found)


def labels(release: NetworkRelease) -> list[str]:
    return [charge.label for _, charge in release.receipt.charges()]


def test_few_small_columns_are_counted_in_one_table_that_gets_all_that_is_left() -> None:
    release = Confluence().fit(table_of(odd(3000), schema_of([2] * 4)), paid(1))
    assert labels(release) == ["number of records", "all columns"]
    assert release.receipt.epsilon == 1
    assert release.parameters == {"rows": "drawn", "views": "all columns"}
    assert [one.counts.shape for one in release.measured] == [(2, 2, 2, 2)]
    assert release.measured[0].deviation == noise.standard_deviation(Fraction(1), Fraction(99, 100))


def test_what_only_all_columns_together_tell_comes_back() -> None:
    """In views nothing is seen: any three of the columns are independent.

    The other cells hold noise alone. Half of 8 numbers of deviation 1.4 are above 0: more than 60 with a
    probability below 1e-6.
    """
    rows = odd(3000)
    release = Confluence().fit(table_of(rows, schema_of([2] * 4)), paid(1))
    wrong = release.query("a = 0 and b = 0 and c = 0 and d = 1")
    assert wrong.rests_on == "counted"
    assert abs(wrong.value) < 25  # of scale 1: further off with a probability of e^-25
    drawn = release.sample(3000, seed=1).to_numpy()
    assert (drawn[:, :3].sum(axis=1) % 2 != drawn[:, 3]).sum() < 60
    in_views = fit_with(IN_VIEWS, table_of(rows, schema_of([2] * 4)), paid(1))
    lost = in_views.sample(3000, seed=1).to_numpy()
    assert (lost[:, :3].sum(axis=1) % 2 != lost[:, 3]).sum() > 1000


@pytest.mark.parametrize("epsilon", ["0.3", "1", "3"])
def test_it_is_nearer_than_views_are_where_noise_is_small(epsilon: str) -> None:
    """Twice as near or more, in every one of thirty seeds that were tried."""
    sizes = [4, 3, 6, 2]
    rows = alike(10_000, sizes)
    table = table_of(rows, schema_of(sizes))
    for way in (2, 3):
        errors = [
            sum(
                distance(fit_with(knobs, table, paid(epsilon, seed)), rows, sizes, way, 0)
                for seed in range(3)
            )
            for knobs in (KNOBS, IN_VIEWS)
        ]
        assert errors[0] < 0.8 * errors[1]


def test_one_table_is_counted_only_where_it_is_small_against_the_records() -> None:
    """Noise of deviation s in C cells is 0.8 of what chance does to C (s / 0.8)² records."""
    sizes = [6, 5, 8]
    limit = 240 * (noise.standard_deviation(Fraction(1), Fraction(1)) / KNOBS.whole) ** 2
    for rows, one in ((int(1.3 * limit), True), (int(0.7 * limit), False)):
        schema = schema_of(sizes, relation="replace", size=rows)
        release = Confluence().fit(table_of(mixed_rows(rows, sizes), schema), paid(2))
        assert (labels(release) == ["all columns"]) is one


def test_columns_that_depend_are_counted_in_one_table_sooner() -> None:
    """Where tables of pairs would have more noise than is added up here, and there is something to tell."""
    sizes, rows, told = [5, 6, 5], 3000, []
    for table in (alike(rows, sizes), np.random.default_rng(0).integers(0, sizes, (rows, 3))):
        schema = schema_of(sizes, relation="replace", size=rows)
        release = Confluence().fit(table_of(table, schema), paid("1/2", seed=2))
        told.append((release.parameters["views"], "dependence" in labels(release)))
    assert told == [("all columns", True), ("none", True)]


CASES_OF_NOISE = {
    "six yes/no columns": ([2] * 6, 2400, True),
    "two columns": ([4, 8], 1200, True),
    "far beyond chance": ([4, 8], 600, False),
    "one code in thousands": ([5000, 2], 2000, False),
    "eight yes/no columns": ([2] * 8, 9000, False),
    "three columns": ([9, 8, 7], 30_000, False),
}


@pytest.mark.parametrize("name", CASES_OF_NOISE)
def test_one_table_is_counted_beyond_chance_where_columns_lose_little_by_it(name: str) -> None:
    """Six yes/no columns have sums of 32 cells, a deviation of 5.7, by one table of all epsilon.

    By two tables of three of them, for half of epsilon each, they have sums of 4 cells and a deviation of 4.
    Noise is 2 to 2.5 times what chance does in all of these but two.
    """
    sizes, records, one = CASES_OF_NOISE[name]
    rows = np.random.default_rng(0).integers(0, sizes, (records, len(sizes)))
    schema = schema_of(sizes, relation="replace", size=records)
    release = Confluence().fit(table_of(rows, schema), paid("1/5"))
    assert (labels(release) == ["all columns"]) is one


def test_a_column_of_very_many_codes_is_told_without_a_matrix_of_them() -> None:
    """A table of 40,000 x 2 cells and two columns: 40,000 x 40,000 numbers would be 13 GB."""
    rows = mixed_rows(3000, [40_000, 2])
    release = Confluence().fit(table_of(rows, schema_of([40_000, 2])), paid(1))
    assert release.receipt.epsilon == 1
    whole_table = fit_with(replace(KNOBS, whole=1e9), table_of(rows, schema_of([40_000, 2])), paid(1))
    assert whole_table.parameters["views"] == "all columns"


def test_a_careful_table_keeps_what_only_cells_tell() -> None:
    """Every pair is independent. Deviation 30 in cells of 500: cells of none get a tenth of all at most."""
    parity = np.indices((2, 2, 2)).sum(axis=0) % 2
    exact = 500.0 * parity
    noisy = exact + np.random.default_rng(9).laplace(0, 30 / sqrt(2), exact.shape)
    found = whole.likely(noisy, 2000, 30.0, even([2, 2, 2]))
    assert whole.of_chance(30.0, 8, 2000) > 1
    assert found[parity == 0].sum() < 0.1


def test_a_likely_table_of_noise_alone_is_nearer_to_independent_columns() -> None:
    """Half of what cells say is given up where noise is far beyond chance: of thirty tables .64 of the error
    of the nearest table, give or take .14; the sum over twelve is above .85 with a probability below 1e-6."""
    rng, sizes, mended, cells = np.random.default_rng(8), [6, 5, 7], 0.0, 0.0
    for _ in range(12):
        shares = [rng.dirichlet(np.full(size, 3.0)) for size in sizes]
        exact = 400 * shares[0][:, None, None] * shares[1][:, None] * shares[2]
        noisy = exact + rng.laplace(0, 20, sizes)
        mended += of_pairs(whole.likely(noisy, 400, 20 * sqrt(2), shares), exact)
        cells += of_pairs(onto_simplex(noisy, 400), exact)
        assert np.allclose(whole.likely(exact, 400, 0.0, shares), exact / 400)
    assert mended < 0.85 * cells


def test_a_table_with_too_many_cells_is_counted_in_views() -> None:
    sizes = [40, 40, 40, 40]
    release = Confluence().fit(table_of(mixed_rows(2000, sizes), schema_of(sizes)), paid(20))
    assert release.parameters["views"] != "all columns"
    assert len(release.measured) > 1


def test_many_pairs_are_not_added_up_from_one_table_that_would_have_more_noise() -> None:
    """Sixteen yes/no columns have 120 pairs in 20 tables of four, and 65,536 cells in one."""
    rows = np.random.default_rng(3).integers(0, 2, (20_000, 16))
    rows[:, 1:] = np.where(np.random.default_rng(4).random((20_000, 15)) < 0.7, rows[:, :1], rows[:, 1:])
    release = Confluence().fit(table_of(rows, schema_of([2] * 16)), paid(3))
    assert release.parameters["views"] == "all pairs"


def even(sizes: Sequence[int]) -> list[NDArray[np.float64]]:
    return [np.full(size, 1 / size) for size in sizes]


@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    seed=st.integers(0, 1000),
    total=st.sampled_from([0.0, 1.0, 50.0, 4000.0]),
)
def test_a_likely_table_is_a_distribution_however_noisy_counts_are(
    sizes: list[int], seed: int, total: float
) -> None:
    rng = np.random.default_rng(seed)
    counts, possible = rng.normal(0, 20, sizes), rng.random(sizes) < 0.7
    for allowed in (None, possible):
        found = whole.likely(counts, total, 20.0, even(sizes), possible=allowed)
        assert found.shape == tuple(sizes)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(0.0 if allowed is not None and not allowed.any() else 1.0)
        assert allowed is None or not found[~allowed].any()


def of_pairs(joint: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    """The mean distance of all pairs of columns of two tables."""
    axes = range(exact.ndim)
    rests = [tuple(axis for axis in axes if axis not in pair) for pair in combinations(axes, 2)]
    away = joint / joint.sum() - exact / exact.sum()
    return float(np.mean([np.abs(away.sum(axis=rest)).sum() / 2 for rest in rests]))


def test_pairs_of_a_likely_table_are_not_flattened_by_noise_in_empty_cells() -> None:
    """Of 4,096 cells nine in ten are empty. In thirty seeds pairs had .37 of the error, give or take .04."""
    rng = np.random.default_rng(5)
    exact = np.zeros((16, 16, 16))
    exact[:4, :4, 4:10] = rng.integers(20, 60, (4, 4, 6))
    noisy = exact + np.rint(rng.laplace(0, 2, exact.shape))
    total = float(noisy.sum())
    mended = of_pairs(whole.likely(noisy, total, 2 * sqrt(2), even(exact.shape)), exact)
    assert mended < 0.6 * of_pairs(onto_simplex(noisy, total), exact)


def test_noise_of_pairs_is_not_followed_where_no_cell_is_empty() -> None:
    """Sums of pairs tell little there that cells do not, and would add their own noise."""
    rng = np.random.default_rng(6)
    mended = cells = 0.0
    for _ in range(20):
        exact = rng.integers(10, 40, (4, 4, 4)).astype(np.float64)
        noisy = exact + np.rint(rng.laplace(0, 16, exact.shape))
        total = float(noisy.sum())
        mended += of_pairs(whole.likely(noisy, total, 16 * sqrt(2), even(exact.shape)), exact)
        cells += of_pairs(onto_simplex(noisy, total), exact)
    assert mended < 1.1 * cells


def test_ordered_columns_of_one_table_have_what_their_neighbours_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of them exactly: others are moved a little by what comes after them, and by more care."""
    found: list[tuple[Any, Any]] = []
    shipped = whole.likely

    def watched(counts: Any, total: Any, deviation: Any, shares: Any, smooth: Any, possible: Any) -> Any:
        found.append((shares, smooth))
        return shipped(counts, total, deviation, shares, smooth, possible)

    monkeypatch.setattr(whole, "likely", watched)
    monkeypatch.setattr(whole, "DOUBT", 0.0)
    values = {"constraints": {"enum": ["0", "1", "2"]}}
    grades = [{"name": name, "categoriesOrdered": name == "b", **values} for name in "abc"]
    schema = Schema.model_validate({"fields": grades})
    rows = np.random.default_rng(7).integers(0, 3, (4000, 3)).astype(str)
    release = Confluence().fit(Table.open(pl.DataFrame(rows, schema=list("abc")), schema), paid(1))
    [(shares, smooth)] = found
    assert smooth == [1]
    assert np.allclose(release.marginal(["b"]), shares[1])


def test_a_network_of_one_table_repeats_it() -> None:
    sizes = [3, 2, 4]
    release = Confluence().fit(table_of(alike(5000, sizes), schema_of(sizes)), paid(2))
    joint = np.random.default_rng(6).dirichlet(np.ones(24)).reshape(3, 2, 4)
    for before in ({}, {1: frozenset([2])}, {1: frozenset([0]), 0: frozenset([2])}):
        made = whole.network(joint, release.network.variables, before)
        there: list[int] = []
        for pair in made.pairs:
            assert before.get(pair.child, frozenset()) <= set(there)
            assert [parent.variable for parent in pair.parents] == there
            there.append(pair.child)
        again = replace(release, network=made)
        assert np.allclose(again.marginal(["a", "b", "c"]), joint)


def test_the_first_column_of_a_chain_has_few_codes() -> None:
    release = Confluence().fit(table_of(alike(5000, [4, 3, 2]), schema_of([4, 3, 2])), paid(2))
    assert [pair.child for pair in release.network.pairs] == [2, 1, 0]
    assert np.allclose(release.network.tables[0], conditional(release.marginal(["c"]), "back off"))


@pytest.mark.parametrize("sizes", [[3, 3, 2], [128, 128, 100]])
def test_what_rules_exclude_stays_out_of_the_table_and_the_rest_is_as_counted(sizes: list[int]) -> None:
    """Also of so many cells that a conditional table could not be weighed anew."""
    schema = schema_of(sizes, impossible=["a = 2 and b = 2", "b = 0 and c = 1"])
    rows = np.random.default_rng(0).integers(0, [each // 2 + 1 for each in sizes], (20_000, 3))
    rows[:, 2] = (rows[:, 0] + rows[:, 1]) % sizes[2]
    bad = ((rows[:, 0] == 2) & (rows[:, 1] == 2)) | ((rows[:, 1] == 0) & (rows[:, 2] == 1))
    release = Confluence().fit(table_of(rows[~bad], schema), paid(20))
    assert release.parameters["views"] == "all columns"
    assert 0 <= float(str(release.parameters["broken_without_rules"])) < 0.01
    joint = release.marginal(["a", "b", "c"])
    assert joint[2, 2].sum() == 0
    assert joint[:, 0, 1].sum() == 0
    exact = np.zeros(sizes)
    np.add.at(exact, tuple(rows[~bad].T), 1.0)
    # of 1.6 million counts e^-20 or so are off by one
    assert np.abs(joint - exact / exact.sum()).sum() / 2 < 0.001
    drawn = release.sample(5000, seed=1)
    assert drawn.filter((drawn["a"] == 2) & (drawn["b"] == 2)).height == 0
    assert release.query("a = 2 and b = 2").value == 0


def test_it_survives_the_folder_and_every_question_rests_on_counts(tmp_path: Path) -> None:
    sizes = [4, 3, 2]
    rows = alike(5000, sizes)
    release = Confluence().fit(table_of(rows, schema_of(sizes)), paid(1))
    again = load(release.save(tmp_path / "release"))
    assert isinstance(again, NetworkRelease)
    assert again.sample(500, seed=3).equals(release.sample(500, seed=3))
    answer = again.query("a >= 2 and c = 1")
    assert answer.rests_on == "counted"
    assert answer.error is not None
    # 2 x 3 cells of deviation 1.4: off by 12 of them with a probability below 1e-6
    truth = ((rows[:, 0] >= 2) & (rows[:, 2] == 1)).sum()
    assert abs(answer.value - truth) < 12 * 1.5 * sqrt(6)
    assert again.connections.groups == (("a", "b", "c"),)
    assert any("one table" in line for line in again.explain())
    assert "one of all" in again.limits()[0]


def test_a_release_of_coarse_pairs_does_not_say_that_it_counted_everything() -> None:
    release = Confluence().fit(table_of(mixed_rows(3000, [200, 150]), schema_of([200, 150])), paid(1))
    assert release.parameters["views"] != "all columns"
    assert not any("one table" in line for line in release.explain())


def test_the_report_draws_only_what_columns_have_in_common() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (5000, 4))
    rows[:, 1] = np.where(rng.random(5000) < 0.5, rows[:, 0], rows[:, 1])
    release = Confluence().fit(table_of(rows, schema_of([3] * 4)), paid(1))
    assert release.parameters["views"] == "all columns"
    caption = release.pictures()[0].caption
    assert "1 dependency between 4 attributes" in caption
    alone = Confluence().fit(table_of(rng.integers(0, 3, (5000, 4)), schema_of([3] * 4)), paid(1))
    assert not any("depend on which" in picture.title for picture in alone.pictures())


REPLACED = {"relation": "replace", "size": 3000}
CASES: dict[str, tuple[list[int], Any, Any, dict[str, Any]]] = {
    "at once": ([3, 2, 4], 3, 0, {}),
    "with a delta": ([3, 2, 4], 3, Fraction(1, 100), {}),
    "replace": ([3, 2, 4], 6, 0, {"relation": "replace", "size": 300}),
    "after dependence": ([5, 6, 5], Fraction(1, 2), 0, REPLACED),
    "after dependence, with a delta": ([5, 6, 5], Fraction(1, 2), Fraction(1, 10**9), REPLACED),
    "beyond chance": ([2, 2, 3], Fraction(1, 2), 0, {"relation": "replace", "size": 300}),
    "rules": ([3, 2, 4], 3, 0, {"impossible": ["a = 2 and b = 1"]}),
    "target": ([3, 2, 4], 3, 0, {"target": "b"}),
    "one value": ([3, 1, 4], 3, 0, {}),
    "users": ([2, 3], 8, 0, {"unit": {"protects": "user", "column": "person", "at_most": 2}}),
}


def trial(name: str) -> tuple[Trial, Records, list[Records]]:
    sizes, epsilon, delta, more = CASES[name]
    rows = alike(int(more.get("size", 300)), sizes)
    schema = schema_of(sizes, **more)
    tried = Trial("confluence", schema, epsilon=Fraction(epsilon), delta=Fraction(delta))
    first: Records = tuple((tuple(int(code) for code in row),) for row in rows)
    if "unit" in more:
        tried = replace(tried, columns=("a", "b", "person"))
        first = tuple(
            tuple((*(int(code) for code in row), str(place)) for row in rows[place : place + 2])
            for place in range(0, 300, 2)
        )
        more_of = (tuple((1, 2, "new") for _ in range(2)),)
        return tried, first, [first[1:], (*first, *more_of)]
    other = ((tuple(size - 1 for size in sizes),),)
    near: list[Records] = [(*first[1:], *other)] if "size" in more else [first[1:], (*first, *other)]
    return tried, first, near


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_changes_more_than_was_paid_for(name: str) -> None:
    tried, first, near = trial(name)
    made: Any = tried.release(first, Randomness.seeded(1))
    assert made.parameters["views"] == "all columns"
    assert ("dependence" in labels(made)) is name.startswith("after dependence")
    assert (made.receipt.epsilon, made.receipt.delta) == (tried.epsilon, tried.delta)
    for second in near:
        found = replay(tried, first, second, seed=1)
        assert not found.problems
        assert found.share <= 1 + 1e-12


@pytest.mark.parametrize("name", ["at once", "with a delta"])
def test_a_copy_that_decides_by_the_exact_number_of_records_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = method._Fit._as_a_whole

    def peeking(self: Any, strength: float | None = None) -> bool:
        return open_seal(self.table.size())[0] % 2 == 0 and shipped(self, strength)

    monkeypatch.setattr(method._Fit, "_as_a_whole", peeking)
    tried, first, near = trial(name)
    assert all(replay(tried, first, second, seed=1).problems for second in near)


@pytest.mark.parametrize("name", ["at once", "replace", "users"])
def test_a_copy_that_states_half_of_the_sensitivity_is_found_out(name: str) -> None:
    tried, first, near = trial(name)
    wrong = replace(tried, tampering=Tampering(data=partial(understated, factor=Fraction(1, 2))))
    assert all(replay(wrong, first, second, seed=1).problems for second in near)
