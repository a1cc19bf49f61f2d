"""DP-WHERE: the ledger, the worked examples, and that it says what is there."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, log
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare
from tests import effort
from tests.kinds.calls.town import SCHEMA, TOWN, call, crowd, frame, in_two, opened, planted

from penstock import load, release
from penstock.demo import phones, phones_schema
from penstock.demo.phones import City
from penstock.errors import BudgetError, QueryError, ReleaseError, UsageError
from penstock.kinds.calls import without_records
from penstock.kinds.calls.draft import CallsDraft
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import CallsEvaluation
from penstock.kinds.calls.made_up import made_up_calls
from penstock.kinds.calls.published import PublishedWhere
from penstock.kinds.calls.ranges import daily_ranges
from penstock.kinds.calls.region import HOURS, Region, coarser
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.sampler import (
    _distances,
    _workplaces,
    at_home,
    calls_of,
    population,
)
from penstock.kinds.calls.spending import cost
from penstock.kinds.calls.tables import PARTS, exponential_edges, from_cumulative
from penstock.kinds.calls.where import Where
from penstock.privacy.budgets.accounting import amplified
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.choices import PointOf, PointOfEach
from penstock.privacy.mechanisms import choice
from penstock.privacy.mechanisms.choice import Steps
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.report.page import Table
from penstock.schema import Schema

REGION = Region.of(SCHEMA)


# Worked examples -------------------------------------------------------------------------------------


def test_cumulative_counts_that_do_not_fall() -> None:
    assert from_cumulative(np.array([5, -2, 4])) == pytest.approx([4 / 7, 0, 3 / 7])
    assert from_cumulative(np.array([-3, 1, -5])).tolist() == [1 / 3] * 3


def test_cumulative_counts_are_the_nearest_that_do_not_fall_by_two_other_ways() -> None:
    """The largest over starts of the smallest mean over ends, by hand; and scikit-learn's regression."""
    from sklearn.isotonic import isotonic_regression

    rng = np.random.default_rng(7)
    for size in (1, 2, 5, 12):
        for _ in range(20):
            counts = rng.integers(-9, 20, size).astype(float)
            risen = np.cumsum(counts)
            by_hand = [
                max(min(risen[start : end + 1].mean() for end in range(at, size)) for start in range(at + 1))
                for at in range(size)
            ]
            assert np.allclose(isotonic_regression(risen), by_hand)
            cut = np.maximum(by_hand, 0)
            expected = np.diff(cut, prepend=0) / cut[-1] if cut[-1] > 0 else np.full(size, 1 / size)
            assert from_cumulative(counts) == pytest.approx(expected, abs=1e-12)


def test_edges_of_an_exponential_law_with_median_five() -> None:
    stated = [0.760, 1.610, 2.573, 3.685, 5, 6.610, 8.685, 11.610, 16.610, 21.610]
    found = exponential_edges(5.0, 170.0)
    assert found[1:-1] == pytest.approx(stated, abs=5e-4)
    assert (found[0], found[-1]) == (0.0, 170.0)


def expo_median(values: list[int], e: float, high: int) -> PointOf:
    """The law of the median of some whole numbers from 0 to high, as `commute_ranks` has it."""
    ordered = np.sort(np.array(values, dtype=np.int64))
    edges, first = np.unique(ordered, return_index=True)
    below = np.append(first, len(values))
    gaps = np.abs(2 * below - len(values))
    return PointOf(
        np.concatenate([[0], edges, [high]]), (gaps - gaps.min()).astype(np.uint64), Fraction(e) / 4
    )


def test_the_median_of_one_two_four_eight_lies_in_each_interval_as_often_as_it_should() -> None:
    law = expo_median([1000, 2000, 4000, 8000], 1, 10_000)
    found = [
        sum(exp(float(law.log_probability(at))) for at in range(begin, end, 250)) * 250
        for begin, end in ((0, 1000), (1000, 2000), (2000, 4000), (4000, 8000), (8000, 10_000))
    ]
    assert found == pytest.approx([0.0600, 0.0988, 0.3259, 0.3954, 0.1199], abs=5e-5)


def test_a_median_costs_half_of_its_parameter_when_one_value_comes_or_goes() -> None:
    """Brute force over all sets of up to three values on six points: within e/2 added, e replaced."""
    sets = [chosen for size in range(5) for chosen in combinations_with_replacement(range(6), size)]
    laws = {
        chosen: np.array([float(expo_median(list(chosen), 1, 5).log_probability(at)) for at in range(5)])
        for chosen in sets
    }
    added = replaced = 0.0
    for chosen in (each for each in sets if len(each) <= 3):
        for more in range(6):
            other = tuple(sorted((*chosen, more)))
            added = max(added, float(np.abs(laws[chosen] - laws[other]).max()))
            for place in range(len(chosen)):
                moved = tuple(sorted((*chosen[:place], more, *chosen[place + 1 :])))
                replaced = max(replaced, float(np.abs(laws[chosen] - laws[moved]).max()))
    assert added == pytest.approx(0.447, abs=5e-4)
    assert replaced == pytest.approx(0.796, abs=5e-4)
    assert added <= 0.5
    assert replaced <= 1.0


def test_medians_of_disjoint_parts_are_drawn_together_and_paid_once() -> None:
    steps = tuple(Steps(np.array([0, 3, 6]), np.array([-1, -1])) for _ in range(3))
    sealed = Sealed(steps, Sensitivity.scores(1, 2), Relation.ADD_REMOVE, because="made up for a test")
    budget = Budget(1, randomness=Randomness.seeded(2))
    found = choice.points(sealed, 0, 6, pay=budget)
    assert len(found) == 3
    assert budget.receipt().epsilon == 1
    law = PointOfEach(tuple(PointOf(each.edges, np.zeros(2, dtype=np.uint64), Fraction(1)) for each in steps))
    assert float(law.log_probability((0, 5, 2))) == pytest.approx(-3 * log(6))
    replaced = Sealed(steps, Sensitivity.scores(1, 2), Relation.REPLACE, because="made up for a test")
    with pytest.raises(UsageError, match="may leave one part"):
        choice.points(replaced, 0, 6, pay=Budget(1))


def test_five_rounds_of_a_hundredth_cost_what_the_table_says() -> None:
    nominal = {"call_time": 5 * 2 * Fraction("0.01")}
    assert cost(nominal, Relation.ADD_REMOVE) == Fraction("0.075")
    assert cost(nominal, Relation.REPLACE) == Fraction("0.15")
    whole = dict.fromkeys(("home", "work", "commute", "per_day", "hours"), Fraction(1))
    assert cost(whole, Relation.ADD_REMOVE) == 3
    assert cost(whole, Relation.REPLACE) == 6


def test_a_secret_sample_costs_less() -> None:
    assert float(amplified("0.23", "0.05")) == pytest.approx(0.01285, abs=5e-6)
    assert amplified("0.23", "1") == Fraction("0.23")
    for epsilon in ("0.5", "1", "1.256"):
        assert float(amplified(epsilon, "0.05")) <= 2 * 0.05 * float(epsilon)
    with pytest.raises(BudgetError, match="probability"):
        amplified("1", "0")


# Distances ---------------------------------------------------------------------------------------------


def test_distances_between_maps() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.random((6, 6)), rng.random((6, 6))
    assert earth_movers_distance(one, one) == 0
    assert earth_movers_distance(one, two) == pytest.approx(earth_movers_distance(two, one))
    here, there = np.zeros((10, 10)), np.zeros((10, 10))
    here[3, 4] = there[6, 8] = 2.0
    assert earth_movers_distance(here, there) == pytest.approx(5, rel=0.014)
    right = np.zeros((10, 10))
    right[3, 7] = 1.0
    assert earth_movers_distance(here, right, (2.0, 1.0)) == pytest.approx(6.0)
    for wrong in (np.zeros((10, 10)), np.ones((3, 3)), -here):
        with pytest.raises(UsageError, match="map"):
            earth_movers_distance(here, wrong)


def test_distances_on_the_grid_are_those_of_the_full_problem() -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(2)
    one, two = rng.random((5, 5)), rng.random((5, 5))
    at = np.array([(row, column) for row in range(5) for column in range(5)], dtype=float)
    price = np.hypot(*(at[:, None] - at).transpose(2, 0, 1)).ravel()
    leave, arrive = np.kron(np.eye(25), np.ones(25)), np.kron(np.ones(25), np.eye(25))
    sides = np.concatenate([one.ravel() / one.sum(), two.ravel() / two.sum()])
    whole = linprog(price, A_eq=np.vstack([leave, arrive])[:-1], b_eq=sides[:-1], method="highs").fun
    assert earth_movers_distance(one, two) == pytest.approx(whole, rel=0.014)


def test_the_daily_range_is_the_largest_distance_of_a_day() -> None:
    step = (1 << 20) / 16
    caller, day = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 0, 1, 0])
    x, y = np.array([0.0, 3, 0, 9, 5]) * step, np.array([0.0, 0, 4, 9, 5]) * step
    assert daily_ranges(caller, day, x, y, REGION) == pytest.approx([5, 0, 0])


def test_the_daily_range_of_many_calls_is_that_of_all_pairs() -> None:
    """Scattered, on a line, upright, in a few places, and in one: more calls than are compared one by one."""
    rng, many = np.random.default_rng(2), 300
    along = rng.random(many) * (1 << 19)
    places = [
        rng.random((many, 2)) * (1 << 20),
        np.column_stack([along, 2 * along]),
        np.column_stack([np.full(many, 77.0), along]),
        np.repeat(rng.random((5, 2)) * (1 << 20), many // 5, axis=0),
        np.full((many, 2), 5.0),
    ]
    caller, day = np.repeat(np.arange(5), many), np.zeros(5 * many, dtype=np.int64)
    x, y = np.concatenate(places).T
    expected = [
        float(REGION.miles(*(at[:, None, 0], at[:, None, 1], at[None, :, 0], at[None, :, 1])).max())
        for at in places
    ]
    mixed = rng.permutation(5 * many)
    found = daily_ranges(caller[mixed], day[mixed], x[mixed], y[mixed], REGION)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_daily_range_takes_a_few_looks_at_each_call_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Callers who go to work and back: all pairs would be 99 distances for each call, or 49 with care."""
    measured, plain = 0, Region.miles

    def counted(self: Region, x: Any, *others: Any) -> Any:
        nonlocal measured
        measured += np.size(x)
        return plain(self, x, *others)

    rng, callers, many = np.random.default_rng(4), 40, 100
    caller = np.repeat(np.arange(callers), many)
    at_work = rng.random(len(caller)) < 0.4
    ends = rng.random((2, callers, 2))
    x, y = ((ends[at_work.astype(int), caller] + rng.random((len(caller), 2)) / 50) * (1 << 19)).T
    monkeypatch.setattr(Region, "miles", counted)
    found = daily_ranges(caller, np.zeros(len(caller), dtype=np.int64), x, y, REGION)
    assert len(found) == callers
    assert measured < 15 * len(caller)


def test_looking_for_work_in_a_fine_grid_takes_memory_for_the_cells_where_somebody_works() -> None:
    """A table of all cells in whole numbers would be 8 bytes for each of them; of true and false it is 1."""
    side = 1500
    work = np.zeros(side**2)
    work[:: side * 50 + 7] = 1.0
    fine: Any = SimpleNamespace(side=side, work=work / work.sum())
    home, distance = np.full(50, side**2 // 2), np.full(50, 3.0)
    assert effort.peak(lambda: _workplaces(fine, REGION, home, distance, np.random.default_rng(1))) < (
        3 * side**2
    )
    found = _workplaces(fine, REGION, home, distance, np.random.default_rng(1))
    assert (work[found[found != home]] > 0).all()


# The sampler -------------------------------------------------------------------------------------------


def test_a_sample_follows_every_planted_distribution() -> None:
    """Chi-square of each distribution, seeded; each fails by chance with probability below 1e-6."""
    tables, rng = planted(), np.random.default_rng(11)
    people = population(tables, REGION, 20_000, rng)
    rare = 1e-6

    def same(found: np.ndarray, shares: np.ndarray) -> bool:
        kept = shares * found.sum() > 5
        scaled = shares[kept] * found[kept].sum() / shares[kept].sum()
        return bool(chisquare(found[kept], scaled).pvalue > rare)

    assert same(np.bincount(people.home, minlength=64), tables.home)
    pair = np.searchsorted(tables.means, people.mean) * 2 + people.deviation.astype(int)
    assert same(np.bincount(pair, minlength=6), tables.per_day.ravel())
    assert same(np.bincount(people.kind, minlength=2), tables.classes)
    drawn = calls_of(tables, people, 2, rng)
    for kind in range(2):
        theirs = people.kind[drawn.caller] == kind
        minutes = np.bincount(drawn.second[theirs] // 60, minlength=1440)
        assert same(minutes.reshape(-1, 60).sum(axis=1), tables.minutes[kind].reshape(-1, 60).sum(axis=1))
    chance = at_home(tables, people, 9)[drawn.caller]
    nine = drawn.second // 3600 == 9
    sure = 5 * np.sqrt(nine.sum()) / 2
    assert abs(drawn.at_home[nine].sum() - chance[nine].sum()) < sure


def test_callers_who_seldom_call_do_so_as_often_as_was_counted() -> None:
    """Seeded. Calls of 400 days and 200 callers: a mean within 5 of its own deviations, 1e-6 for each."""
    rng, tables = np.random.default_rng(8), planted()
    for mean in (0.02, 0.05, 0.1, 0.35, 0.75):
        for deviation in (0.0, 0.2, 0.5, 1.0, 4.0):
            people = population(tables, REGION, 200, rng)
            people = replace(people, mean=np.full(200, mean), deviation=np.full(200, deviation))
            drawn = calls_of(tables, people, 400, rng)
            days = np.bincount(drawn.caller * 400 + drawn.day, minlength=80_000)
            assert days.mean() == pytest.approx(mean, abs=5 * days.std() / np.sqrt(80_000))
    often = replace(people, mean=np.full(200, 2.0), deviation=np.zeros(200))
    assert len(calls_of(tables, often, 3, rng).caller) == 1200


def test_distances_follow_the_row_of_the_home_and_work_the_shares_of_cells_at_that_distance() -> None:
    """Chi-square of each, seeded; each fails by chance with probability below 1e-6."""
    tables, rng, size = planted(), np.random.default_rng(3), 20_000
    cells = np.array([0, 7, 27, 63])
    for cell, area in zip(cells, coarser(cells, 8, 2), strict=True):
        home = np.full(size, cell)
        far = _distances(tables, home, rng)
        found, _ = np.histogram(far, tables.edges[area])
        assert chisquare(found, tables.commute[area] * size).pvalue > 1e-6
    uneven = tables.but(work=np.arange(1, 65) / np.arange(1, 65).sum())
    wide, high = REGION.cell_size(8)
    apart = np.hypot((np.arange(64) % 8 - 3) * wide, (np.arange(64) // 8 - 3) * high)
    near = np.abs(apart - 5.0) <= np.hypot(wide, high) / 2
    work = _workplaces(uneven, REGION, np.full(size, 27), np.full(size, 5.0), rng)
    counts = np.bincount(work, minlength=64)
    assert counts[~near].sum() == 0
    assert chisquare(counts[near], uneven.work[near] / uneven.work[near].sum() * size).pvalue > 1e-6
    alone = tables.but(work=np.eye(64)[27])
    assert set(_workplaces(alone, REGION, np.full(9, 27), np.full(9, 12.0), rng)) == {27}  # tolerance doubles


def test_a_sample_is_the_same_in_pieces_and_at_once_and_days_can_be_chosen() -> None:
    made = CallsRelease(
        method="dp-where", schema=SCHEMA, receipt=Budget(1).receipt(), parameters={}, tables=planted()
    )
    whole = made.sample(50, seed=4)
    pieces = pl.concat(made.pieces(*made.drawing(50, 4)))
    assert whole.equals(pieces)
    assert whole["at"].dt.date().n_unique() == 4
    longer = made.on_days(9).sample(50, seed=4)
    assert longer["at"].dt.date().n_unique() == 9
    for days in (0, True, 10**6):
        with pytest.raises(UsageError, match="days"):
            made.on_days(days)


def test_synthetic_calls_have_a_column_of_dates_where_the_records_have_one() -> None:
    schema = Schema.from_yaml(TOWN.replace("time: at", "date: day, time: at").replace("busiest: 3, ", ""))
    made = release(in_two(crowd()), schema, epsilon=8, parameters={"depth": 2}, seed=3)
    rows = made.sample(20, seed=1)
    assert rows.columns == ["id", "day", "at", "y", "x"]
    assert (rows["day"].dtype, rows["at"].dtype) == (pl.Date, pl.String)
    again = opened(rows, schema)
    assert open_seal(again.size()).tolist() == [rows["id"].n_unique()]
    assert made_up_calls(schema, 3).columns[:3] == ["id", "day", "at"]


def test_samples_for_any_days_are_written_piece_by_piece(tmp_path: Path) -> None:
    from penstock.cli.app import commands

    made = release(crowd(), SCHEMA, epsilon=1, parameters={"depth": 2}, seed=3)
    folder = str(made.save(tmp_path / "release"))
    asked = ["sample", folder, "-n", "4500", "--days", "2", "--seed", "1", "-o"]
    for name in ("calls.csv", "calls.parquet"):
        commands()([*asked, str(tmp_path / name)], standalone_mode=False)
    text = pl.read_csv(tmp_path / "calls.csv", try_parse_dates=True)
    rows = pl.read_parquet(tmp_path / "calls.parquet")
    assert rows.height == text.height > 4096
    assert rows["id"].to_list() == text["id"].to_list()
    assert rows["id"].max() > 4096  # callers of a second piece
    assert rows["at"].dt.date().n_unique() == 2


# Methods -----------------------------------------------------------------------------------------------


def city(callers: int) -> tuple[pl.DataFrame, Schema]:
    return phones(callers), Schema.from_yaml(phones_schema())


def test_with_a_large_budget_the_tables_are_those_of_the_callers() -> None:
    """Seeded. At epsilon 1,000 noise moves no share by a hundredth, except with probability below 1e-6."""
    rows, schema = city(400)
    made = Where(depth=3).fit(opened(rows, schema), Budget(100, randomness=Randomness.seeded(1)))
    calls = opened(rows, schema)
    home = open_seal(calls.places("home", 8))
    assert made.tables.home == pytest.approx(home / home.sum(), abs=0.02)
    assert made.tables.callers == pytest.approx(400, abs=60)
    hours = open_seal(calls.hours_by_share(made.tables.groups)).astype(float)
    assert made.tables.hours == pytest.approx(hours / hours.sum(axis=1, keepdims=True), abs=0.05)


def test_a_tree_and_a_grid_put_callers_where_they_are() -> None:
    rows, schema = city(400)
    truth = open_seal(opened(rows, schema).places("home", 8)).reshape(8, 8).astype(float)
    for areas in ("tree", "grid"):
        made = Where(depth=3, areas=areas).fit(
            opened(rows, schema), Budget(20, randomness=Randomness.seeded(2))
        )
        far = earth_movers_distance(truth, made.tables.home.reshape(8, 8))
        assert far < earth_movers_distance(truth, np.ones((8, 8))) / 3


@pytest.mark.parametrize("scales", ["published", "tight"])
def test_the_receipt_of_the_published_method_has_what_each_part_costs(scales: str) -> None:
    method = PublishedWhere(side=4, commute_side=2, most_mean=3, most_deviation=2, rounds=5, scales=scales)
    made = method.fit(opened(crowd()), Budget("0.33", randomness=Randomness.seeded(1)))
    paid: dict[str, Fraction] = {}
    for labels, charge in made.receipt.charges():
        part = labels[0] if isinstance(labels, tuple | list) else str(labels).split(" / ")[0]
        paid[part] = paid.get(part, Fraction(0)) + charge.epsilon
    assert made.receipt.epsilon == Fraction("0.33") == sum(paid.values())
    nominal = {part: Fraction(each) for part, each in made.parameters["nominal"].items()}
    if scales == "published":
        assert cost(nominal, Relation.ADD_REMOVE) == Fraction("0.33")
        assert (
            cost(nominal, Relation.REPLACE)
            == Fraction(made.parameters["replace"])
            == 2
            * Fraction("0.33")
            * cost(nominal, Relation.REPLACE)
            / (2 * cost(nominal, Relation.ADD_REMOVE))
        )
    else:
        assert sum(nominal.values()) == Fraction("0.33")


def test_the_published_noise_has_the_published_scales() -> None:
    """Lap(2/eps) for home, 4/eps for commutes, 1/eps_it and 2/eps_it in a round, the whole bound over eps."""
    method = PublishedWhere(side=4, commute_side=2, most_mean=3, most_deviation=2, rounds=1)
    made = method.fit(opened(crowd()), Budget("1", randomness=Randomness.seeded(1)))
    nominal = {part: Fraction(each) for part, each in made.parameters["nominal"].items()}
    scales = [charge.detail for _, charge in made.receipt.charges()]
    sensitivities = [
        Fraction(charge.sensitivity) if "range" not in charge.sensitivity else None
        for _, charge in made.receipt.charges()
    ]
    found = [
        None if moves is None else moves / charge.epsilon
        for moves, (_, charge) in zip(sensitivities, made.receipt.charges(), strict=True)
    ]
    step = nominal["call_time"] / 2
    expected = [
        2 / nominal["home"],
        2 / nominal["work"],
        None,
        4 / nominal["commute"],
        2 / nominal["per_day"],
        1 / step,
        (1 << 20) * 2 / step,
        3 * 4 * 24 / nominal["hours"],
    ]
    assert found == expected, scales


def test_public_tables_cost_nothing_and_the_others_share_the_budget(tmp_path: Path) -> None:
    (tmp_path / "home.csv").write_text("x,y,weight\n1,1,3\n9,9,1\n")
    (tmp_path / "call_time.csv").write_text(
        "class,hour,weight\n" + "".join(f"{kind},{hour},1\n" for kind in (1, 2) for hour in range(24))
    )
    made = Where(depth=2, rounds=1, public=str(tmp_path)).fit(
        opened(crowd()), Budget(1, randomness=Randomness.seeded(1))
    )
    assert made.public == ("home", "call_time")
    assert made.tables.home[[0, 10]].tolist() == [0.75, 0.25]
    assert made.receipt.epsilon == 1
    words = " ".join(str(label) for label, _ in made.receipt.charges())
    assert "home" not in words
    assert "work" in words


def test_where_calls_a_day_are_public_their_share_pays_for_the_number_of_callers(tmp_path: Path) -> None:
    """Seeded. Noise of scale below 1 moves a count of 400 by 40 with probability below 1e-15."""
    (tmp_path / "per_day.csv").write_text("mean,deviation,weight\n2,1,1\n4,1,1\n")
    rows, schema = city(400)
    found = {}
    for areas in ("tree", "grid"):
        made = Where(depth=3, areas=areas, public=str(tmp_path)).fit(
            opened(rows, schema), Budget(30, randomness=Randomness.seeded(1))
        )
        assert made.receipt.epsilon == 30
        assert made.tables.callers == pytest.approx(400, abs=40)
        assert made.tables.means == (2, 4)
        paid = {charge.label: charge.epsilon for _, charge in made.receipt.charges()}
        assert paid["callers"] == Fraction(30, 20)
        found[areas] = made.tables.home
    truth = open_seal(opened(rows, schema).places("home", 8)).reshape(8, 8).astype(float)
    for home in found.values():
        far = earth_movers_distance(truth, home.reshape(8, 8))
        assert far < earth_movers_distance(truth, np.ones((8, 8))) / 3


PLACE = "x,y,weight\n1,1,3\n9,9,1\n"
PUBLIC = {
    "home": PLACE,
    "work": PLACE,
    "commute": "low,high,weight\n0,5,3\n5,20,1\n",
    "per_day": "mean,deviation,weight\n2,1,1\n4,1,1\n",
    "call_time": "class,hour,weight\n1,9,1\n2,20,1\n",
    "hours": "hour,x,y,weight\n" + "".join(f"{hour},1,1,1\n" for hour in range(HOURS)),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_public_table_may_take_the_place_of_any_part(part: str, tmp_path: Path) -> None:
    (tmp_path / f"{part}.csv").write_text(PUBLIC[part])
    made = Where(depth=2, rounds=2, public=str(tmp_path)).fit(
        opened(crowd()), Budget(1, randomness=Randomness.seeded(1))
    )
    assert made.public == (part,)
    assert made.receipt.epsilon == 1
    paid = {(*labels, charge.label)[1] for labels, charge in made.receipt.charges()}
    kept = {each.replace("_", " ") for each in PARTS if each != part}
    assert paid == (kept | {"callers"} if part == "per_day" else kept)
    assert made.sample(3, seed=1).columns == ["id", "at", "y", "x"]


def test_where_on_public_tables_reads_no_record_and_pays_nothing(tmp_path: Path) -> None:
    for name, text in PUBLIC.items():
        (tmp_path / f"{name}.csv").write_text(text)
    made = without_records.release(SCHEMA, tmp_path)
    assert made.receipt.epsilon == 0
    assert not list(made.receipt.charges())
    assert made.sample(5, seed=1).columns == ["id", "at", "y", "x"]
    with pytest.raises(UsageError, match="nothing to pay for"):
        Where(public=str(tmp_path)).check(SCHEMA)
    (tmp_path / "home.csv").unlink()
    with pytest.raises(UsageError, match="lacks home"):
        without_records.release(SCHEMA, tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("home", "x,weight\n1,1\n", "no column 'y'"),
        ("home", "x,y,weight\n99,1,1\n", "outside the box"),
        ("home", "x,y,weight\n1,1,-1\n", "0 or more"),
        ("home", "x,y,weight\n1,a,1\n", "cannot be read|no number"),
        ("commute", "low,high,weight\n0,5,1\n6,7,1\n", "do not follow"),
        ("per_day", "mean,deviation,weight\n-1,1,1\n", "numbers from 0"),
        ("call_time", "class,hour,weight\n3,1,1\n", "class"),
        ("hours", "hour,x,y,weight\n24,1,1,1\n", "hour is a whole number"),
    ],
)
def test_public_tables_that_cannot_be_meant_are_refused(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(UsageError, match=words):
        Where(public=str(tmp_path)).check(SCHEMA)
    for folder in ("", "nowhere", str(tmp_path / f"{name}.csv")):
        with pytest.raises(UsageError, match="no folder"):
            Where(public=folder).check(SCHEMA)


# The release -------------------------------------------------------------------------------------------


def made_release() -> CallsRelease:
    found = release(crowd(), SCHEMA, epsilon=8, parameters={"depth": 2}, seed=3)
    assert isinstance(found, CallsRelease)
    return found


def test_questions_add_up_and_nonsense_is_refused() -> None:
    made = made_release()
    everything = made.calls("all").value
    assert everything == pytest.approx(sum(made.calls(f"all at {hour}").value for hour in range(HOURS)))
    halves = made.calls("x=0..8").value + made.calls("x=8..16").value
    assert halves == pytest.approx(everything)
    assert made.trips("all to all").value == pytest.approx(made.tables.callers)
    assert made.trips("x=0..8 to all").value <= made.tables.callers
    assert made.beyond("0").value >= made.beyond("5 miles").value >= made.beyond("50 km").value
    assert made.beyond("1.609344 km").value == made.beyond("1 mile").value
    flows = made.flows(3)
    assert flows.height == 81
    assert flows["callers"].sum() == pytest.approx(made.tables.callers, abs=0.1)
    assert flows.columns == ["from", "to", "callers", "home", "work", "rests_on"]
    for ask, text in (
        (made.calls, "z=0..1 at 3"),
        (made.calls, "x=5..1"),
        (made.calls, "all at 24"),
        (made.calls, "x=a..b"),
        (made.trips, "x=0..1"),
        (made.beyond, "far"),
    ):
        with pytest.raises(QueryError):
            ask(text)
    with pytest.raises(QueryError, match="1 to 12"):
        made.flows(13)


def test_every_answer_says_what_it_rests_on_and_how_far_another_crowd_would_move_it() -> None:
    made = made_release()
    answers = {
        "calls": made.calls("x=0..8 at 9"),
        "trips": made.trips("x=0..8 to y=0..8"),
        "beyond": made.beyond("2 miles"),
    }
    for name, rest in (
        ("calls", "all six tables"),
        ("trips", "direction was not"),
        ("beyond", "third places"),
    ):
        said = " ".join(answers[name].caveats)
        assert answers[name].rests_on == "model"
        assert answers[name].error is None
        assert "nobody knows how far" in said
        assert rest in said
        assert "synthetic callers would move it" in said


def test_a_flow_is_the_number_of_trips_between_its_two_boxes() -> None:
    """Both are of the same crowd; places inside a cell are drawn, so that boxes of whole cells agree."""
    made = made_release()
    flows = made.flows(2)
    for row in flows.iter_rows(named=True):
        assert made.trips(f"{row['home']} to {row['work']}").value == pytest.approx(row["callers"], abs=0.01)


def test_a_folder_that_was_tampered_with_is_refused(tmp_path: Path) -> None:
    made = made_release()
    assert load(made.save(tmp_path / "good")).tables.home.tolist() == made.tables.home.tolist()
    model = made.model()
    manifest = type("M", (), {"schema": SCHEMA, "common": {}})()
    broken = {
        "home": pl.DataFrame({"share": [1.0] * 16}),
        "commute": pl.DataFrame({"low": [0.0, 3.0], "high": [2.0, 4.0], "share": [0.5, 0.5]}),
        "per-day": model.tables["per-day"].reverse(),
        "hours": model.tables["hours"].head(7),
    }
    for name, table in broken.items():
        wrong = type(model)(json=model.json, tables={**model.tables, name: table})
        with pytest.raises(ReleaseError):
            CallsRelease.from_model(manifest, wrong)
    for key, value in (("block_side", 0), ("public", ["nonsense"]), ("side", 3)):
        wrong = type(model)(json={**model.json, key: value}, tables=model.tables)
        with pytest.raises(ReleaseError):
            CallsRelease.from_model(manifest, wrong)


def test_an_evaluation_stands_between_floor_and_ceiling() -> None:
    rows, schema = city(300)
    made = release(rows, schema, epsilon=20, parameters={"depth": 4}, seed=1)
    found = CallsEvaluation().compare(
        made, rows, schema, __import__("penstock.evaluation", fromlist=["Options"]).Options()
    )
    scores = {score.name: score for score in found.scores}
    for name in ("calls by the hour", "home map", "work map"):
        assert scores[name].ceiling < scores[name].value < scores[name].floor
    told = next(part for section in found.sections for part in section.blocks if isinstance(part, Table))
    assert told.columns[:3] == ("hour", "miles", "kilometres")
    hours = found.details["emd_miles_by_hour"]
    assert [row[0] for row in told.rows] == ["all hours", *(f"{int(hour):02d}:00" for hour in hours)]
    assert all(float(row[2]) == pytest.approx(float(row[1]) * 1.609344, abs=0.02) for row in told.rows)
    assert found.details["mean_emd_kilometres"] == pytest.approx(found.details["mean_emd_miles"] * 1.609344)


def test_a_draft_finds_callers_times_and_places() -> None:
    import penstock

    proposal = penstock.draft(phones(50), kind="calls")
    assert proposal.layout is not None
    assert proposal.layout.model_dump(exclude_none=True)["caller"] == "phone"
    assert set(proposal.to_review()) >= {"time", "lat", "lon", "unit"}
    stated = phones(50).with_columns(home_lat=pl.col("lat"), home_lon=pl.col("lon"))
    again = penstock.draft(stated, kind="calls")
    assert again.layout.home_latitude == "home_lat"
    two = phones(50).with_columns(
        date=pl.col("time").dt.strftime("%Y-%m-%d"), time=pl.col("time").dt.strftime("%H:%M")
    )
    parts = penstock.draft(two, kind="calls")
    assert (parts.layout.date, parts.layout.time) == ("date", "time")
    assert parts.field("time").type == "datetime"
    assert penstock.draft(two.drop("date"), kind="calls").layout is None
    nothing = penstock.draft(pl.DataFrame({"a": [1, 2], "b": [2, 3]}), kind="calls")
    assert nothing.layout is None
    assert CallsDraft().why_left_out("string") is not None


def test_the_city_is_the_same_for_the_same_seed_and_looks_like_the_one_of_the_study() -> None:
    """45 % of homes in the core, the box of the paper, a few calls a day; each far within its noise."""
    rng = np.random.default_rng(1)
    people = City().people(20_000, rng)
    again = City().people(20_000, np.random.default_rng(1))
    assert all(np.array_equal(people[name], again[name]) for name in people)
    core = np.hypot(*people["home"].T) < 18
    assert 0.45 < core.mean() < 0.75  # suburbs overlap the core
    far = np.hypot(*(people["home"] - people["work"]).T)
    assert 5 < np.median(far) < 20
    assert people["a_day"].mean() == pytest.approx(8, abs=0.3)
    calls = City().calls(200, days=3, rng=rng)
    assert calls["lat"].is_between(40, 42).all()
    assert calls["lon"].is_between(-75, -73).all()


def test_made_up_calls_fit_their_schema() -> None:
    rows = made_up_calls(SCHEMA, 20, seed=1)
    assert open_seal(opened(rows).size()).tolist() == [20]
    assert made_up_calls(SCHEMA, 0).height == 0


def test_a_rule_of_home_uses_own_calls_alone() -> None:
    """Whoever comes, nobody else's home moves."""
    one = frame(call("a", 0, 20, 1, 1), call("a", 1, 20, 9, 9))
    crowd_elsewhere = frame(*(call(f"b{n}", 0, 21, 9, 9) for n in range(50)))
    alone = open_seal(opened(one).places("home", 4))
    together = open_seal(opened(pl.concat([one, crowd_elsewhere])).places("home", 4))
    others = open_seal(opened(crowd_elsewhere).places("home", 4))
    assert np.array_equal(together, alone + others)


def test_the_text_of_the_schema_reads_back() -> None:
    again = Schema.from_yaml(SCHEMA.to_yaml())
    assert again == SCHEMA == Schema.from_yaml(TOWN)
