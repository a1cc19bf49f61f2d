"""Ranges of which only the bounds are declared: where they are cut, and what is drawn inside."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.schema import Field, Schema, parse
from penstock.schema.bins import ROUND_BINS
from penstock.schema.round_bins import round_edges
from penstock.schema.values import LARGEST_WHOLE, at, position

EPOCH = datetime(1970, 1, 1)
Bounds = tuple[Any, Any]


def field(type_: str, low: object, high: object, **more: Any) -> Field:
    return Field(name="x", type=type_, constraints={"minimum": low, "maximum": high}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("type_", "low", "high", "bins", "first"),
    [
        ("number", 0, 1000, 100, "[0, 10)"),
        ("number", 0, 1, 100, "[0, 0.01)"),
        ("number", -0.2, 0.2, 80, "[-0.2, -0.195)"),
        ("number", 17.5, 90, 73, "[17.5, 18)"),
        ("integer", 0, 1_000_000, 100, "0..9999"),
        ("integer", 0, 100, 101, "0"),
        ("integer", 1900, 2025, 63, "1900..1901"),
        ("date", "2025-01-01", "2025-03-31", 90, "2025-01-01"),
        ("date", "2025-01-01", "2025-12-31", 53, "2025-01-01..2025-01-05"),
        ("date", "2020-01-01", "2025-12-31", 72, "2020-01-01..2020-01-31"),
        ("date", "1900-01-01", "2025-12-31", 63, "1900-01-01..1901-12-31"),
        (
            "datetime",
            "2025-01-01T00:00",
            "2025-01-01T23:59:59",
            96,
            "2025-01-01T00:00:00..2025-01-01T00:14:59",
        ),
        (
            "datetime",
            "2025-01-01T00:00",
            "2025-01-31T23:59:59",
            62,
            "2025-01-01T00:00:00..2025-01-01T11:59:59",
        ),
        ("datetime", "2020-01-01", "2025-12-31", 72, "2020-01-01T00:00:00..2020-01-31T23:59:59"),
    ],
)
def test_a_range_without_bins_is_cut_at_round_places(
    type_: str, low: object, high: object, bins: int, first: str
) -> None:
    found = field(type_, low, high)
    assert found.edges.count == bins
    assert found.labels[0] == first


WHOLE = st.integers(-LARGEST_WHOLE, LARGEST_WHOLE)
REAL = st.floats(-1e300, 1e300, allow_nan=False)
DAYS = st.integers(position(date.min), position(date.max))  # type: ignore[arg-type]
SECONDS = st.integers(position(datetime.min), position(datetime(9999, 12, 31, 23, 59, 59)))  # type: ignore[arg-type]


@given(
    st.one_of(
        st.tuples(st.just("integer"), WHOLE, WHOLE),
        st.tuples(st.just("number"), REAL, REAL),
        st.tuples(st.just("date"), DAYS, DAYS),
        st.tuples(st.just("datetime"), SECONDS, SECONDS),
    ),
    st.integers(1, 300),
)
@example(("number", 0.0, 5e-324), 100)
@example(("number", 1e16, 1e16 + 64), 100)
@example(("date", position(date.min), position(date.max)), 1)
def test_round_edges_rise_between_the_bounds_and_are_not_too_many(
    bounds: tuple[Any, Any, Any], most: int
) -> None:
    kind, one, two = bounds
    low, high = sorted((one, two))
    inner = round_edges(kind, low, high, most)
    assert len(inner) < max(most, 2)
    assert all(a < b for a, b in pairwise((low, *inner, high))) or low == high
    made = field(kind, at(kind, low), at(kind, high))
    assert 1 <= made.edges.count <= ROUND_BINS + 1


def test_a_finer_cut_has_no_fewer_bins() -> None:
    counts = [len(round_edges("number", 0.0, 777.0, most)) for most in range(1, 200)]
    assert counts == sorted(counts)


def test_questions_at_round_places_cut_through_no_bin() -> None:
    schema = Schema.from_yaml("""
    fields:
      - {name: amount, type: number, constraints: {minimum: 0, maximum: 1000}}
      - {name: day, type: date, constraints: {minimum: 2020-01-01, maximum: 2025-12-31}}
      - {name: at, type: datetime, constraints: {minimum: 2020-01-01, maximum: 2025-12-31}}
    """)
    for text in ("amount < 20", "day < 2021-01-01", "day >= 2023-04-01", "at < 2022-01-01T00:00"):
        ((weights,),) = [term.values() for term in parse(text, schema).disjoint_terms()]
        assert set(weights.tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("made", "whole"),
    [
        (field("number", 0, 1000, decimals=2), 100),
        (field("number", 0, 1, decimals=3), 1000),
        (field("integer", 0, 1_000_000), 1),
    ],
)
def test_values_drawn_inside_a_bin_have_the_declared_precision(made: Field, whole: int) -> None:
    schema = Schema(fields=(made,))
    codes = np.arange(20_000) % made.edges.count
    drawn = schema.decode({"x": codes}, np.random.default_rng(1))["x"]
    assert drawn.is_between(made.edges.low, made.edges.high).all()
    assert np.allclose(drawn.to_numpy() * whole, np.rint(drawn.to_numpy() * whole), rtol=0, atol=1e-6)
    assert (schema.encode(pl.DataFrame({"x": drawn.cast(pl.String)}))["x"] == codes).all()
    assert drawn.n_unique() > 1000 or whole == 1000  # no spikes at the edges of bins


def test_times_drawn_inside_a_bin_are_spread_over_all_of_it() -> None:
    made = field("datetime", "2025-01-01", "2025-12-31T23:59:59")
    codes = np.arange(10_000) % made.edges.count
    drawn = Schema(fields=(made,)).decode({"x": codes}, np.random.default_rng(1))["x"]
    assert drawn.dt.hour().n_unique() == 24
    assert drawn.max() <= EPOCH + timedelta(seconds=made.edges.high)
    assert (drawn.dt.time() == datetime(2025, 1, 1, 23, 59, 59).time()).sum() < 10
