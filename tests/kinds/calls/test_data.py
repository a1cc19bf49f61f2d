"""The handle on calls: what is counted, by hand and on every engine, and how far one caller moves it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from tests.kinds.calls.town import DATED, SCHEMA, TOWN, call, crowd, frame, in_two, opened

from penstock.audit.neighbours import Pair
from penstock.audit.sensitivity import moves
from penstock.errors import DataError, SchemaError
from penstock.kinds.calls.callers import SHARE
from penstock.kinds.calls.data import PROFILE_STEPS
from penstock.kinds.calls.region import Groups, Region
from penstock.kinds.calls.tables import public_profiles
from penstock.kinds.calls.where import DEVIATIONS, MEANS
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

REGION = Region.of(SCHEMA)
EDGES = np.tile(np.array([0.0, 4.0, 30.0]), (4, 1))
NIGHT_OWL = (call("a", 0, 20, 1, 1), call("a", 1, 2, 1, 1), call("a", 0, 12, 15, 15), call("a", 2, 14, 9, 3))


def values(rows: pl.DataFrame, engine: str = "memory") -> dict[str, np.ndarray]:
    calls = opened(rows, engine=engine)
    centres = public_profiles()
    sealed = {
        "size": calls.size(),
        "home": calls.places("home", 4),
        "work": calls.places("work", 4),
        "commutes": calls.commutes(2, EDGES),
        "per day": calls.per_day((0, 1, 2), (0, 1, 2)),
        "sizes": calls.class_sizes(centres),
        "sums": calls.class_sums(centres),
        "around": calls.around(centres, 100),
        "shares": calls.hours_by_share(Groups.blocks(4, 2)),
        "calls": calls.hours_by_call(Groups.runs(4, 5)),
    }
    return {name: np.asarray(open_seal(value)) for name, value in sealed.items()}


def test_home_is_where_most_calls_at_night_are_and_work_where_those_of_weekday_afternoons_are() -> None:
    found = values(frame(*NIGHT_OWL))
    assert np.flatnonzero(found["home"]).tolist() == [0]
    assert np.flatnonzero(found["work"]).tolist() == [2]
    assert found["per day"][1].tolist() == [0, 1, 0]  # 2, 1, 1 and 0 calls: mean 1, deviation 0.7


def test_of_two_places_as_frequent_the_first_is_home_whatever_the_order_of_the_rows() -> None:
    rows = [call("a", 0, 20, 9, 1), call("a", 0, 21, 1, 1), call("a", 0, 22, 1, 9)]
    for order in (rows, rows[::-1]):
        assert np.flatnonzero(values(frame(*order))["home"]).tolist() == [0]


def test_calls_outside_the_window_are_left_out_and_with_them_who_has_no_others() -> None:
    found = values(frame(call("a", -1, 20, 1, 1), call("a", 4, 1, 1, 1), call("b", 0, 20, 1, 1)))
    assert found["size"].tolist() == [1]
    assert found["calls"].sum() == 1


def test_a_caller_above_the_bound_in_a_single_hour_of_a_single_day_is_left_out() -> None:
    spread = [call("a", day, 9.1, 1, 1) for day in range(4)]
    packed = [call("b", 0, 9 + minute / 10, 1, 1) for minute in range(4)]
    assert values(frame(*spread))["size"].tolist() == [1]
    assert values(frame(*spread, *packed))["size"].tolist() == [1]
    assert values(frame(*spread, *packed[:3]))["size"].tolist() == [2]


def test_the_filter_keeps_neighbours_neighbours() -> None:
    """One more caller, kept or not, changes no number by more than one caller may."""
    others = crowd(8, seed=3)
    for extra in (NIGHT_OWL, tuple(call("a", 0, 9 + n / 10, 1, 1) for n in range(9))):
        without, with_one = values(others), values(pl.concat([others, frame(*extra)]))
        for name, limit in (("size", 1), ("home", 1), ("work", 1), ("commutes", 1), ("per day", 1)):
            assert np.abs(with_one[name] - without[name]).sum() <= limit
        assert np.abs(with_one["shares"] - without["shares"]).sum() <= SHARE
        assert np.abs(with_one["sums"] - without["sums"]).sum() <= PROFILE_STEPS
        assert np.abs(with_one["calls"] - without["calls"]).sum() <= 3 * 4 * 24


def test_stated_sensitivities_are_those_of_one_caller() -> None:
    pairs = [Pair(crowd(6, seed=n), pl.concat([crowd(6, seed=n), frame(*NIGHT_OWL)])) for n in range(3)]
    groups = Groups.blocks(4, 2)
    for take in (
        lambda calls: calls.size(),
        lambda calls: calls.per_day(MEANS, DEVIATIONS),
        lambda calls: calls.commutes(2, np.tile([0.0, 2.0, 30.0], (4, 1))),
        lambda calls: calls.places("home", 4),
        lambda calls: calls.hours_by_share(groups),
        lambda calls: calls.hours_by_call(groups),
        lambda calls: calls.around(public_profiles(), 7),
    ):
        assert moves(lambda rows, take=take: take(opened(rows)), pairs).contradictions == []


def test_moving_a_caller_changes_the_home_histogram_by_two_and_adding_one_by_one() -> None:
    """Worked example: three callers, four cells."""
    three = [call(name, 0, 20, x, 1) for name, x in (("a", 1), ("b", 5), ("c", 9))]
    base = open_seal(opened(frame(*three)).places("home", 4))
    added, moved = [], []
    for x in (1, 5, 9, 13):
        added.append(open_seal(opened(frame(*three, call("d", 0, 20, x, 1))).places("home", 4)))
        moved.append(open_seal(opened(frame(*three[:2], call("c", 0, 20, x, 1))).places("home", 4)))
    assert max(int(np.abs(each - base).sum()) for each in added) == 1
    assert max(int(np.abs(each - base).sum()) for each in moved) == 2


@pytest.mark.parametrize("named", [False, True], ids=["by the rule", "in columns"])
def test_a_database_counts_what_memory_counts(named: bool) -> None:
    rows, schema = crowd(30, seed=9), SCHEMA
    if named:
        extra = pl.int_range(pl.len()).cast(pl.Float64) % 7
        rows = rows.with_columns(
            hx=pl.when(extra < 6).then(extra), hy=extra, wx=extra / 2, wy=pl.lit(3.0, dtype=pl.Float64)
        )
        stated = "homeLatitude: hy, homeLongitude: hx, workLatitude: wy, workLongitude: wx, busiest"
        schema = Schema.from_yaml(TOWN.replace("busiest", stated))
    source = rows if named else rows.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S"))
    memory, duck = (opened(source, schema, engine) for engine in ("memory", "duckdb"))
    for take in (
        lambda calls: calls.size(),
        lambda calls: calls.places("home", 5),
        lambda calls: calls.places("work", 5),
        lambda calls: calls.per_day((0, 1, 2), (0, 1)),
        lambda calls: calls.class_sums(public_profiles()),
        lambda calls: calls.hours_by_share(Groups.blocks(8, 4)),
        lambda calls: calls.hours_by_call(Groups.runs(5, 7)),
    ):
        assert np.array_equal(open_seal(take(memory)), open_seal(take(duck)))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_what_is_no_call_is_refused_in_a_sentence(engine: str) -> None:
    good = frame(*NIGHT_OWL)
    for broken, words in (
        (good.with_columns(x=pl.lit(17.0)), "x: value 17"),
        (good.with_columns(y=pl.lit(None, dtype=pl.Float64)), "y: the value"),
        (good.with_columns(at=pl.lit("noon")), "at: value 'noon'"),
        (good.with_columns(at=pl.lit(" 2024-05-01 ")), "is a date without a time of day"),
        (good.with_columns(pl.col("at").dt.date()), "at: the column holds dates without"),
        (good.with_columns(id=pl.lit(" ")), "no user"),
        (good.drop("x"), "no such column"),
    ):
        with pytest.raises(DataError, match=words):
            opened(broken, engine=engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_date_and_a_time_of_day_in_two_columns_are_the_moment_of_a_call(engine: str) -> None:
    rows = crowd(30, seed=9)
    at = pl.col("at")
    whole = opened(rows, engine=engine)
    texts = in_two(rows)
    for source in (
        texts,
        rows.with_columns(day=at.dt.date(), at=at.dt.time()),
        rows.with_columns(day=at.dt.truncate("1d"), at=at.dt.strftime("%H:%M:%S")),
        rows.with_columns(day=at.dt.strftime("%Y%m%d"), at=at.dt.strftime("%H%M%S")),
    ):
        parted = opened(source, DATED, engine)
        for take in (
            lambda calls: calls.places("work", 5),
            lambda calls: calls.per_day((0, 1, 2), (0, 1)),
            lambda calls: calls.hours_by_call(Groups.runs(5, 7)),
        ):
            assert np.array_equal(open_seal(take(whole)), open_seal(take(parted)))
    for broken, words in (
        (texts.with_columns(day=pl.lit("2024-13-01")), "at: value '2024-13-01T"),
        (texts.with_columns(at=pl.lit("nine")), "at: value '2024-"),
        (texts.with_columns(at=pl.lit(None, dtype=pl.String)), "at: the value"),
        (texts.with_columns(at=pl.lit("")), "at: value"),
        (texts.with_columns(day=pl.lit(20240501)), "day: the column holds int"),
        (texts.with_columns(at=pl.lit(9.5)), "at: the column holds (double|float64)"),
        (texts.drop("day"), "day: the data has no such column"),
    ):
        with pytest.raises(DataError, match=words):
            opened(broken, DATED, engine)


def test_a_schema_that_cannot_be_meant_is_refused() -> None:
    for old, new, words in (
        ("latitude: y", "latitude: x", "named for two things"),
        ("busiest: 3", "homeLatitude: h", "go together"),
        ("busiest: 3", "busiest: 0", "busiest is 0"),
        ("coordinates: miles", "coordinates: feet", "coordinates"),
        ("coordinates: miles}", "busiest: 2}\nrelation: replace\nsize: 3", "caller added or removed"),
        ("type: datetime", "type: integer", "times are of type|is not a whole number"),
        ("2024-05-04T23:59:59", "2044-05-04T23:59:59", "at most 3,660"),
    ):
        text = TOWN.replace(old, new).replace("busiest: 3, busiest: 2", "busiest: 2")
        with pytest.raises(SchemaError, match=words):
            opened(frame(*NIGHT_OWL), Schema.from_yaml(text))


def test_the_box_of_the_paper_has_its_size_in_miles() -> None:
    box = TOWN.replace("miles", "degrees").replace("minimum: 0, maximum: 16", "minimum: 40, maximum: 42", 1)
    region = Region.of(Schema.from_yaml(box.replace("minimum: 0, maximum: 16", "minimum: -75, maximum: -73")))
    assert region.height == pytest.approx(138.0)
    assert region.width == pytest.approx(104.4, abs=0.05)
    assert region.height * region.width == pytest.approx(14_408, abs=15)


def test_groups_of_the_paper() -> None:
    """Worked example: with d = 2,000 and 91 days 1,831 runs of 2,184 cells, and 1,096 cells are left."""
    groups = Groups.runs(2000, 24 * 91)
    assert (groups.run, groups.size) == (2184, 1832)
    assert groups.weights[-1] == 1096
    assert groups.weights.sum() == 2000**2


def test_counting_every_call_needs_the_bound() -> None:
    unbounded = Schema.from_yaml(TOWN.replace("busiest: 3, ", ""))
    with pytest.raises(SchemaError, match="busiest: 120"):
        opened(frame(*NIGHT_OWL), unbounded).hours_by_call(Groups.blocks(4, 2))
    bounded = opened(frame(*NIGHT_OWL)).hours_by_call(Groups.blocks(4, 2))
    assert bounded.sensitivity.l1 == Fraction(3 * 4 * 24)
