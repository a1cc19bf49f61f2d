"""Calls inside a database: callers stay there, and every count is that of memory.

DuckDB and SQLite are asked here; PostgreSQL and Spark have tests of their own.
"""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest
from tests.engine.databases import sqlite_table
from tests.kinds.calls.town import SCHEMA, TOWN, call, commuters, crowd, frame

import penstock
from penstock.engine.connection import Duck
from penstock.engine.expressions import double
from penstock.kinds.calls.callers import HOURS, Callers, People, far
from penstock.kinds.calls.reading import InMemory, open_calls
from penstock.kinds.calls.region import STEPS, Groups, Region
from penstock.kinds.calls.tables import public_profiles
from penstock.kinds.calls.where import DEVIATIONS, MEANS
from penstock.schema import Schema

OBLONG = Schema.from_yaml(TOWN.replace("maximum: 16}}", "maximum: 23.7}}", 1))
COLUMNS = "homeLatitude: hy, homeLongitude: hx, workLatitude: wy, workLongitude: wx, busiest"
STATED = Schema.from_yaml(TOWN.replace("maximum: 16}}", "maximum: 23.7}}").replace("busiest", COLUMNS))


def in_sqlite(rows: pl.DataFrame) -> Any:
    return sqlite_table(rows.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S")))


def in_duckdb(rows: pl.DataFrame) -> Any:
    return Duck().copied(rows.to_arrow(), "given")


PLACES = {"duckdb": in_duckdb, "sqlite": in_sqlite}


def stated(rows: pl.DataFrame) -> pl.DataFrame:
    who = pl.col("id").str.slice(1).cast(pl.Float64)
    return rows.with_columns(
        hx=pl.when(who % 7 != 3).then(who * 0.37 % 16), hy=who * 0.11 % 16, wx=who * 0.07 % 16, wy=who % 16
    )


def asked(people: People, region: Region) -> dict[str, Any]:
    """Every question that methods ask."""
    usual = region.diagonal * (np.arange(17) / 16) ** 2
    own = np.sort(np.random.default_rng(1).random((9, 12)) * region.diagonal, axis=1)
    rng = np.random.default_rng(2)
    centres = [public_profiles(), rng.dirichlet(np.ones(HOURS), 2), rng.dirichlet(np.ones(HOURS), 4)]
    found: dict[str, Any] = {"size": people.size}
    found |= {
        f"{which} {side}": people.places(which, side) for which in ("home", "work") for side in (1, 5, 64)
    }
    found |= {"usual": people.commutes(4, np.tile(usual, (16, 1))), "own": people.commutes(3, own)}
    found |= {"pairs": people.per_day(MEANS, DEVIATIONS), "few": people.per_day((0, 1, 2), (0, 1))}
    found |= {"published": people.per_day(range(41), range(31))}
    for number, each in enumerate(centres):
        found[f"sizes {number}"], found[f"sums {number}"] = people.around(each)
    cells, steps, times = people.distances(3, 1 / 64, 1000)
    found["distances"] = np.zeros((9, 1000), dtype=np.int64)
    np.add.at(found["distances"], (cells, steps), times)
    return found


CASES = {
    "by the rule": (SCHEMA, lambda: commuters(120)),
    "in columns": (STATED, lambda: stated(commuters(120))),
    "an oblong box": (OBLONG, lambda: commuters(120, seed=5)),
    "some without home or work": (SCHEMA, lambda: crowd(80, seed=9)),
    "nobody": (SCHEMA, lambda: frame(call("a", 9, 1, 1, 1))),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_callers_are_counted_in_a_database_as_in_memory(place: str, case: str) -> None:
    schema, made = CASES[case]
    rows, region = made(), Region.of(schema)
    memory, database = open_calls(rows, schema, engine="memory"), open_calls(PLACES[place](rows), schema)
    assert isinstance(memory, InMemory)
    assert not isinstance(database, InMemory)
    ours, theirs = asked(database.callers, region), asked(memory.callers, region)
    assert theirs["size"] < rows["id"].n_unique()  # some are left out, too busy or without a call
    assert theirs["distances"].sum() > (10 if case != "nobody" else -1)
    for name in theirs:
        assert np.array_equal(ours[name], theirs[name]), name
    for groups in (Groups.blocks(8, 4), Groups.runs(5, 7)):
        for shared in (False, True):
            assert np.array_equal(
                database.hourly(groups, shared=shared), memory.hourly(groups, shared=shared)
            )


@pytest.mark.parametrize("place", PLACES)
def test_a_way_that_is_just_as_long_as_an_edge_is_counted_where_memory_counts_it(place: str) -> None:
    """Edges at distances for which the root of a sum is not what memory finds, in the last place."""
    rows, region = stated(commuters(120)), Region.of(STATED)
    memory = open_calls(rows, STATED, engine="memory").callers
    assert isinstance(memory, Callers)
    known = memory.home[:, 0] >= 0
    across, up = np.abs(memory.home - memory.work)[known].T
    east, north = across * (region.width / STEPS), up * (region.height / STEPS)
    apart = region.miles(across, up, 0, 0)
    rounded = np.unique(apart[np.sqrt(east * east + north * north) < apart])
    assert len(rounded) > 5
    edges = np.concatenate([[0], rounded, [region.diagonal]])[None, :]
    people = open_calls(PLACES[place](rows), STATED).callers
    assert np.array_equal(people.commutes(1, edges), memory.commutes(1, edges))


@pytest.mark.parametrize("method", ["dp-where", "dp-where-published"])
@pytest.mark.parametrize("place", PLACES)
def test_no_result_has_a_line_for_a_caller(place: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that comes back is as long as its public cells, and callers are more."""
    rows = commuters(500)
    small: dict[str, Any] = {"depth": 3}
    if method == "dp-where-published":
        small = {"side": 8, "commute_side": 1, "most_mean": 9, "most_deviation": 9}
    given = PLACES[place](rows)
    lengths = []
    plain = ibis.expr.types.Expr.to_pyarrow

    def to_pyarrow(expression: Any, **options: Any) -> Any:
        found = plain(expression, **options)
        lengths.append(getattr(found, "num_rows", 1))
        return found

    monkeypatch.setattr(ibis.expr.types.Expr, "to_pyarrow", to_pyarrow)
    for other in ("to_pyarrow_batches", "to_polars", "execute"):
        monkeypatch.setattr(ibis.expr.types.Expr, other, None)
    schema = Schema.from_yaml(TOWN.replace("coordinates: miles", "coordinates: kilometres"))
    options: dict[str, Any] = {"epsilon": 9, "method": method, "seed": 8, "parameters": small}
    made = penstock.release(given, schema, **options)
    assert 5 < len(lengths) < 25
    assert max(lengths) <= 24 * 64
    assert sorted(lengths)[-2] < 450
    expected = penstock.release(rows, schema, engine="memory", **options)
    assert made.model().json == expected.model().json
    assert all(table.equals(made.model().tables[name]) for name, table in expected.model().tables.items())


def test_a_sum_of_squares_has_one_order_everywhere() -> None:
    rng = np.random.default_rng(3)
    profiles, centre = rng.random((500, HOURS)), rng.random(HOURS)
    given = pl.DataFrame(profiles, schema=[f"p{hour}" for hour in range(HOURS)])
    for table in (in_duckdb(given), sqlite_table(given)):
        asked = table.select(far=far([table[name] for name in given.columns], [double(at) for at in centre]))
        found = np.sort(asked.to_pyarrow()["far"].to_numpy())
        assert np.array_equal(found, np.sort(far(list(profiles.T), centre)))
    one_by_one = sum((profiles[:, hour] - centre[hour]) ** 2 for hour in range(HOURS))
    assert not np.array_equal(one_by_one, far(list(profiles.T), centre))


@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
def test_a_literal_is_the_very_double(backend: str) -> None:
    rng = np.random.default_rng(1)
    given = [0.0, 1.0, -74.0, 0.1, 1e300, -1e-300, 5e-324, 2.0**70, *rng.random(40), *(rng.random(40) * 1e-9)]
    connection = getattr(ibis, backend).connect()
    for number in map(float, given):
        assert connection.to_pyarrow(double(number)).as_py() == number
