"""All engines give the same numbers: memory is the reference, databases must agree cell by cell."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.engine.counting import plain_counts
from tests.engine.databases import sqlite_table
from tests.engine.fetching import WIDE, assert_only_tables_are_fetched, watched, wide

from penstock.engine import Column, Engine, Marginal, MemoryEngine, open_engine
from penstock.errors import DataError, PenstockError
from penstock.schema import Schema

FACTS = Schema.from_yaml("""
fields:
- {name: colour, missing: value, outside: other, constraints: {enum: [red, sky blue, it's, 'say "so"', grün]}}
- {name: only, constraints: {enum: [one]}}
- {name: age, type: integer, constraints: {minimum: 0, maximum: 90}, bins: {width: 10}, outside: clamp}
- {name: share, type: number, constraints: {minimum: 0, maximum: 1}, bins: {count: 7}, missing: value}
- {name: Kind, type: integer, constraints: {enum: [3, 1, 2]}, merged: {1: [4]}, outside: other}
""")
TYPES = {"colour": pl.String, "only": pl.String, "age": pl.Int64, "share": pl.Float64, "Kind": pl.Int64}
COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "colour": st.sampled_from(["red", "sky blue", "it's", 'say "so"', "grün", "pink", None]),
    "only": st.just("one"),
    "age": st.integers(-20, 120),
    "share": st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1 / 7, 2 / 7, 3 / 7, 0.3, 1.0, None])),
    "Kind": st.integers(0, 4),
}


@st.composite
def tables(draw: DrawFn) -> pl.DataFrame:
    rows = draw(st.lists(st.tuples(*COLUMNS.values()), max_size=12))
    # Some rows many times, in a mixed order: weights matter.
    times = draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows)))
    repeated = [row for row, count in zip(rows, times, strict=True) for _ in range(count)]
    mixed = draw(st.permutations(repeated)) if repeated else []
    return pl.DataFrame(mixed, schema=TYPES, orient="row")


@st.composite
def columns(draw: DrawFn, name: str) -> Column | str:
    size = FACTS.sizes[name]
    if draw(st.booleans()):
        return name
    groups = draw(st.integers(1, size))
    return Column.of(name, draw(st.lists(st.integers(0, groups - 1), min_size=size, max_size=size)), groups)


@st.composite
def marginals(draw: DrawFn) -> list[Marginal]:
    chosen = draw(st.lists(st.lists(st.sampled_from(list(TYPES)), max_size=4, unique=True), max_size=8))
    return [tuple(draw(columns(name)) for name in names) for names in chosen]


def as_csv(frame: pl.DataFrame, folder: Path) -> tuple[Any, str]:
    frame.write_csv(folder / "t.csv")
    return folder / "t.csv", "duckdb"


def as_csv_in_memory(frame: pl.DataFrame, folder: Path) -> tuple[Any, str]:
    return as_csv(frame, folder)[0], "memory"


def as_parquet(frame: pl.DataFrame, folder: Path) -> tuple[Any, str]:
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.parquet", "duckdb"


def as_sqlite(frame: pl.DataFrame, folder: Path) -> tuple[Any, str]:
    return sqlite_table(frame), "auto"


WAYS: dict[str, Callable[[pl.DataFrame, Path], tuple[Any, str]]] = {
    "CSV in memory": as_csv_in_memory,
    "CSV in DuckDB": as_csv,
    "Parquet in DuckDB": as_parquet,
    "SQLite": as_sqlite,
}


def opened(frame: pl.DataFrame, folder: Path, facts: Schema = FACTS) -> Iterator[tuple[str, Engine]]:
    for name, way in WAYS.items():
        source, engine = way(frame, folder)
        coordinates = facts.kind == "points"
        yield name, open_engine(source, facts, engine=engine, coordinates=coordinates)


def assert_same(frame: pl.DataFrame, asked: list[Marginal], folder: Path) -> None:
    codes = {name: column.astype(np.int64) for name, column in FACTS.encode(frame).items()}
    expected = plain_counts(codes, FACTS.sizes, asked, len(frame))
    reference = MemoryEngine(codes, FACTS.sizes)
    for name, engine in opened(frame, folder):
        assert engine.rows() == len(frame), name
        assert dict(engine.sizes) == FACTS.sizes
        for marginal, ours, theirs in zip(asked, engine.counts(asked), expected, strict=True):
            assert ours.dtype == np.int64, name
            assert np.array_equal(ours, theirs), (name, marginal)
        for names in (["share", "colour"], list(FACTS.sizes), []):
            ours, theirs = engine.distinct(names), reference.distinct(names)
            assert ours[0].dtype == theirs[0].dtype
            assert np.array_equal(ours[0], theirs[0]), (name, names)
            assert np.array_equal(ours[1], theirs[1]), (name, names)


# Shrinking a failure through five engines takes minutes; the first one found is small enough.
QUICK = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@settings(QUICK, max_examples=10)
@given(frame=tables(), asked=marginals())
def test_every_engine_counts_the_same(tmp_path: Path, frame: pl.DataFrame, asked: list[Marginal]) -> None:
    assert_same(frame, asked, tmp_path)


ALL_PAIRS: list[Marginal] = list(itertools.combinations(TYPES, 2))


@pytest.mark.parametrize("rows", [[], [(None, "one", 5, None, 1)], [("red", "one", 7, 0.5, 3)] * 9])
def test_no_row_one_row_and_one_value(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    assert_same(frame, [(), ("only",), *ALL_PAIRS, tuple(TYPES)], tmp_path)


def test_many_marginals_of_a_larger_table(tmp_path: Path) -> None:
    """More rows and cells than one superset holds, lookups with gaps, several lookups of one column."""
    rng = np.random.default_rng(5)
    count = 3000
    frame = pl.DataFrame(
        {
            "colour": rng.choice(["red", "grün", "pink"], count),
            "only": ["one"] * count,
            "age": rng.integers(0, 91, count),
            "share": rng.random(count),
            "Kind": rng.integers(1, 4, count),
        }
    )
    bits = [Column.of("age", (np.arange(FACTS.sizes["age"]) >> bit) & 1, 2) for bit in range(3)]
    asked: list[Marginal] = [tuple(bits), ("age", bits[1], "share"), (Column.of("age", [0] * 10, 3), "Kind")]
    asked += [m for size in (1, 2, 3, 4) for m in itertools.combinations(TYPES, size)]
    assert_same(frame, asked, tmp_path)


def test_a_lookup_of_many_runs_is_applied_outside_the_database(tmp_path: Path) -> None:
    facts = Schema.from_yaml("fields:\n- {name: n, type: integer, constraints: {minimum: 0, maximum: 999}}")
    frame = pl.DataFrame({"n": np.random.default_rng(6).integers(0, 1000, 500)})
    facts = Schema.from_yaml(
        "fields:\n- {name: n, type: integer, constraints: {minimum: 0, maximum: 999}, bins: {count: 1000}}"
    )
    odd = Column.of("n", np.arange(1000) % 2)
    for name, engine in opened(frame, tmp_path, facts):
        counts = engine.counts([(odd,), (odd, Column.of("n", np.arange(1000) // 500))])
        assert counts[0].tolist() == np.bincount(frame["n"].to_numpy() % 2).tolist(), name
        assert counts[1].sum() == 500


def test_what_the_schema_refuses_is_refused_by_every_engine(tmp_path: Path) -> None:
    good = {"colour": ["red"] * 3, "only": ["one"] * 3, "age": [1] * 3, "share": [0.5] * 3, "Kind": [1] * 3}
    bad: list[tuple[str, list[Any], str]] = [
        ("only", ["one", "two", "two"], "only: value 'two'.*not a declared category"),
        ("only", ["one", None, "one"], "only: the value.* is missing"),
        ("age", [1, 2, None], "age: the value.* is missing"),
        ("share", [0.5, 1.5, 7.0], r"share: value .*1\.5.* is outside the declared"),
        ("share", [0.5, float("inf"), 0.5], "share: value .*inf"),
    ]
    for field, values, words in bad:
        frame = pl.DataFrame({**good, field: values}, schema=TYPES)
        for name, way in WAYS.items():
            if name == "SQLite" and values[1] == float("inf"):
                continue  # SQLite's driver and its cast to text disagree about infinity
            source, engine = way(frame, tmp_path)
            with pytest.raises(DataError, match=words) as caught:
                open_engine(source, FACTS, engine=engine)
            assert "\n" not in str(caught.value)


def test_a_database_says_how_many_values_it_refuses(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["x", "y", "y"]})
    facts = Schema.from_yaml("fields:\n- {name: a, constraints: {enum: [x]}}")
    with pytest.raises(DataError, match=r"\(2 records have such a value\.\)"):
        open_engine(frame, facts, engine="duckdb")


POINTS = """
kind: points
fields:
- {{name: x, type: number, constraints: {{minimum: -1, maximum: 2.5}}, outside: {outside}, missing: value}}
- {{name: y, type: integer, constraints: {{minimum: 0, maximum: 1000}}, outside: {outside}}}
- {{name: flat, type: number, constraints: {{minimum: 3, maximum: 3}}, outside: clamp}}
"""


@settings(QUICK, max_examples=5)
@given(
    points=st.lists(
        st.tuples(
            st.one_of(st.floats(-2, 3), st.sampled_from([None, -1.0, 2.5, 0.75, float("nan")])),
            st.integers(-100, 1100),
            st.floats(2, 4),
        ),
        max_size=20,
    ),
    bits=st.sampled_from([0, 1, 5, 30, 32]),
    outside=st.sampled_from(["clamp", "other"]),
)
def test_lattice_positions_agree(
    tmp_path: Path, points: list[tuple[Any, ...]], bits: int, outside: str
) -> None:
    facts = Schema.from_yaml(POINTS.format(outside=outside))
    kinds = {"x": pl.Float64, "y": pl.Int64, "flat": pl.Float64}
    if outside == "clamp":
        points = [point for point in points if point[0] == point[0]]  # NaN has no nearest bound
    frame = pl.DataFrame(points, schema=kinds, orient="row")
    in_memory = open_engine(frame, facts, coordinates=True)
    for name, engine in [("memory", in_memory), *opened(frame, tmp_path, facts)]:
        for names in (["x", "y"], ["flat", "x", "y"], []):
            expected = plain_lattice(points, names, bits, outside)
            positions, weights = engine.lattice(names, bits)
            assert positions.shape == (len(weights), len(names)), name
            found = dict(zip(map(tuple, positions.tolist()), weights.tolist(), strict=True))
            assert found == expected, (name, names)
            assert list(found) == sorted(found), name


def plain_lattice(points: list[tuple[Any, ...]], names: list[str], bits: int, outside: str) -> dict[Any, int]:
    bounds = {"x": (-1.0, 2.5), "y": (0.0, 1000.0), "flat": (3.0, 3.0)}
    found: dict[Any, int] = {}
    for point in points:
        place = []
        for name in names:
            value, (low, high) = point[("x", "y", "flat").index(name)], bounds[name]
            stray = outside == "other" and name != "flat" and value is not None and not low <= value <= high
            if value is None or value != value or stray:
                break
            end = high + 1 if name == "y" else high  # a whole number k stands for [k, k + 1)
            width = (min(max(float(value), low), high) - low) / (end - low) if end > low else 0.0
            place.append(min(int(width * 2.0**bits), 2**bits - 1))
        else:
            found[tuple(place)] = found.get(tuple(place), 0) + 1
    return found


def test_lattices_are_for_coordinates(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [0.5], "y": [3], "flat": [3.0]})
    facts = Schema.from_yaml(POINTS.format(outside="clamp"))
    for _, engine in opened(frame, tmp_path, facts):
        with pytest.raises(ValueError, match="no coordinate 'z'"):
            engine.lattice(["z"], 3)
        with pytest.raises(ValueError, match="0 to 32 bits"):
            engine.lattice(["x"], 33)


def test_a_date_as_a_coordinate_is_counted_in_memory_only() -> None:
    facts = Schema.from_yaml(
        "kind: points\n"
        "fields:\n- {name: day, type: date, constraints: {minimum: 2020-01-01, maximum: 2020-01-04}}"
    )
    frame = pl.DataFrame({"day": ["2020-01-01", "2020-01-04", "2020-01-04"]})
    positions, weights = open_engine(frame, facts, coordinates=True).lattice(["day"], 2)
    assert positions.tolist() == [[0], [3]]
    assert weights.tolist() == [1, 2]
    with pytest.raises(PenstockError, match="day: a date as a coordinate is not counted inside a database"):
        open_engine(frame, facts, engine="duckdb", coordinates=True)


@pytest.mark.parametrize("way", ["Parquet in DuckDB", "CSV in DuckDB", "SQLite"])
def test_very_many_marginals_are_counted_in_the_database_where_records_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    source, engine = WAYS[way](wide(), tmp_path)
    assert_only_tables_are_fetched(open_engine(source, WIDE, engine=engine), monkeypatch)


def test_what_was_counted_answers_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is coarser; the marginals of a short request are counted without their lookups for that."""
    frame = wide()
    engine = open_engine(frame, WIDE, engine="duckdb")
    coarse = Column.of("a1", [0, 1, 1])
    first: list[Marginal] = [("a0", coarse), ("a2", "a3")]
    engine.counts(first)
    questions = watched(monkeypatch)
    again: list[Marginal] = [("a1", "a0"), (coarse,), ("a3",), (Column.of("a2", [0, 0, 1]), "a3")]
    wanted = open_engine(frame, WIDE, engine="memory").counts(again)
    assert all(np.array_equal(one, two) for one, two in zip(engine.counts(again), wanted, strict=True))
    assert not questions
    engine.counts([("a0", "a4")])
    assert len(questions) == 1
