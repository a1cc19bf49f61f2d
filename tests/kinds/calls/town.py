"""A small town for the tests of calls: callers with known homes, work and habits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.region import HOURS, Groups
from penstock.kinds.calls.tables import Tables
from penstock.schema import Schema

TOWN = """
kind: calls
calls: {caller: id, time: at, latitude: y, longitude: x, busiest: 3, coordinates: miles}
fields:
  - {name: at, type: datetime, constraints: {minimum: 2024-05-01, maximum: "2024-05-04T23:59:59"}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 16}}
  - {name: x, type: number, constraints: {minimum: 0, maximum: 16}}
"""
SCHEMA = Schema.from_yaml(TOWN)
DATED = Schema.from_yaml(TOWN.replace("time: at", "date: day, time: at"))
"""The same town, where dates stand in a column of their own."""
WEDNESDAY = datetime(2024, 5, 1)


def call(caller: object, day: int, hour: float, x: float, y: float) -> tuple[Any, ...]:
    return caller, WEDNESDAY + timedelta(days=day, hours=hour), y, x


def frame(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(
        list(rows),
        schema={"id": pl.String, "at": pl.Datetime("us"), "y": pl.Float64, "x": pl.Float64},
        orient="row",
    )


def in_two(rows: pl.DataFrame) -> pl.DataFrame:
    """The same calls with the date and the time of day in two columns of text."""
    at = pl.col("at")
    return rows.with_columns(day=at.dt.strftime("%Y-%m-%d"), at=at.dt.strftime(" %H:%M:%S "))


def opened(rows: pl.DataFrame, schema: Schema = SCHEMA, engine: str = "memory") -> Calls:
    return Calls.open(rows, schema, engine=engine)


def crowd(callers: int = 60, seed: int = 0) -> pl.DataFrame:
    """Callers with a few calls each, at random."""
    rng = np.random.default_rng(seed)
    rows = []
    for caller in range(callers):
        for _ in range(int(rng.integers(1, 9))):
            day, hour = int(rng.integers(-1, 5)), float(rng.integers(0, 24 * 4)) / 4
            rows.append(call(f"c{caller}", day, hour, *rng.integers(0, 17, 2).astype(float)))
    return frame(*rows)


def commuters(callers: int, seed: int = 4) -> pl.DataFrame:
    """Callers with a home and a place of work each, some of whom are too busy to be counted."""
    rng = np.random.default_rng(seed)
    rows = []
    for caller in range(callers):
        home, work = rng.integers(0, 16, 2) + 0.5, rng.integers(0, 64, 2) / 4
        for number in range(int(rng.integers(1, 6))):
            rows.append(call(f"c{caller}", number % 4, 20.25 + number % 2, *home))
            rows.append(call(f"c{caller}", number % 2, 14.5, *work))
        if caller % 9 == 4:  # more calls in an hour than the town allows
            rows += [call(f"c{caller}", 3, 8 + minute / 10, *home) for minute in range(4)]
    return frame(*rows)


def planted() -> Tables:
    """Six distributions that can be recognised in a sample."""
    side = 8
    rng = np.random.default_rng(5)

    def shares(size: int) -> Any:
        found = rng.random(size) ** 2
        return found / found.sum()

    edges = np.tile(np.array([0.0, 2.0, 6.0, 12.0]), (4, 1))
    return Tables(
        side=side,
        home=shares(side**2),
        work=np.full(side**2, 1 / side**2),
        commute_side=2,
        edges=edges,
        commute=np.stack([shares(3) for _ in range(4)]),
        means=(1, 3, 6),
        deviations=(0, 1),
        per_day=shares(6).reshape(3, 2),
        classes=np.array([0.3, 0.7]),
        times=np.stack([shares(HOURS) for _ in range(2)]),
        groups=Groups.blocks(side, 4),
        hours=np.stack([shares(16) for _ in range(HOURS)]),
        callers=500.0,
    )
