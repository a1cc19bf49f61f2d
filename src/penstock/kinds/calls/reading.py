"""Calls: reading them and gathering what every caller did, in memory or inside a database.

In a database the records stay where they are, and so do callers (`penstock.kinds.calls.database`). In memory
the same is done with Polars. Everything here is raw and lies below the seal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from penstock.engine.bound import numbered_users
from penstock.engine.coordinates import Coordinate
from penstock.engine.opening import AUTO, in_memory, placed
from penstock.engine.records import Source
from penstock.engine.source import read as read_source
from penstock.kinds.calls import moments
from penstock.kinds.calls.callers import (
    PACKED,
    RULE_SIDE,
    SHARE,
    Callers,
    Counted,
    at_night,
    at_work,
    rule_score,
    ruled,
    spread,
)
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import BITS, DAY, HOURS, Groups, Numbers, Region, cell_of
from penstock.schema import Codec, Schema
from penstock.schema.reading import read

if TYPE_CHECKING:
    from numpy.typing import NDArray


def open_calls(source: Any, schema: Schema, *, table: str | None = None, engine: str = AUTO) -> Counted:
    """Raw: the calls of a source, gathered by caller; what the schema refuses stops here."""
    layout, region = CallsLayout.of(schema), Region.of(schema)
    records = placed(read_source(source, table=table), engine)
    records.required(layout.columns)
    if in_memory(engine, records):
        return InMemory(records, schema, layout, region)
    from penstock.kinds.calls.database import InDatabase

    return InDatabase(records, schema, layout, region)


class InMemory:
    """Calls in memory: numbered callers, and a day, an hour and a place for each of their calls."""

    def __init__(self, records: Source, schema: Schema, layout: CallsLayout, region: Region) -> None:
        self._calls = coded_calls(records.cells(layout.columns), schema, layout, region)
        people = self._gathered(layout, region)
        if layout.busiest is not None:
            people = people.filter(pl.col("busiest") <= layout.busiest)
        self._weights = people.select("caller", share=SHARE // pl.col("calls"), one=pl.lit(1, pl.Int64))
        self.callers = Callers.of(people, region, ruled=ruled(layout))

    def _gathered(self, layout: CallsLayout, region: Region) -> pl.DataFrame:
        """One row for every caller."""
        n, hour = pl.col("n"), pl.col("hour")
        slots = self._calls.group_by("caller", "day", "hour").agg(n=pl.len().cast(pl.Int64))
        days = slots.group_by("caller", "day").agg(n.sum())
        people = slots.group_by("caller").agg(
            n.sum().alias("calls"),
            n.max().alias("busiest"),
            *(n.filter(hour == each).sum().alias(f"h{each}") for each in range(HOURS)),
        )
        people = people.join(days.group_by("caller").agg(squares=(n * n).sum()), on="caller", how="left")
        for name in ("home", "work"):
            found = (
                self._most_frequent(name, region)
                if name in ruled(layout)
                else self._calls.group_by("caller").agg(pl.col(name).max())
            )
            people = people.join(found, on="caller", how="left")
        return people.sort("caller")

    def _most_frequent(self, name: str, region: Region) -> pl.DataFrame:
        day, hour = pl.col("day"), pl.col("hour")
        meant = at_night(hour) if name == "home" else at_work(day, hour, region)
        cell = cell_of(pl.col("x"), pl.col("y"), RULE_SIDE).alias("cell")
        cells = self._calls.filter(meant).group_by("caller", cell).agg(n=pl.len().cast(pl.Int64))
        best = rule_score(pl.col("n"), pl.col("cell")).max().alias(name)
        return cells.group_by("caller").agg(best)

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        weighed = self._calls.join(self._weights, on="caller", how="inner")
        group = groups.of_place(pl.col("x"), pl.col("y")).alias("group")
        total = pl.col("share" if shared else "one").sum().alias("total")
        return spread(weighed.group_by("hour", group).agg(total), groups)


def coded_calls(frame: pl.DataFrame, schema: Schema, layout: CallsLayout, region: Region) -> pl.DataFrame:
    """Every call within the window: columns caller, day, hour, minute, x, y, and home and work if stated."""
    if not frame.height:  # of no values pandas makes floats, whatever the others would have been
        frame = frame.cast(pl.String)
    frame = moments.in_memory(frame, layout)
    people = numbered_users(layout.caller, frame[layout.caller], schema.missing_values)
    seconds = _seconds(schema.codec(layout.time), frame[layout.time])
    columns: dict[str, Any] = {
        "caller": people.numbers.astype(np.int64),
        "day": seconds // DAY - region.first_day,
        "hour": seconds % DAY // 3600,
        "minute": seconds % DAY // 60,
        "x": _steps(schema.codec(layout.longitude), frame[layout.longitude]),
        "y": _steps(schema.codec(layout.latitude), frame[layout.latitude]),
    }
    for name, (x, y) in layout.places.items():
        east = _steps(schema.codec(layout.longitude), frame[x], optional=True)
        north = _steps(schema.codec(layout.latitude), frame[y], optional=True)
        columns[name] = np.where((east >= 0) & (north >= 0), east * PACKED + north, -1)
    clock = schema.field(layout.time).edges
    inside = (seconds >= clock.low) & (seconds <= clock.high)
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Int64)).filter(pl.Series(inside))


def _seconds(codec: Codec, column: pl.Series) -> Numbers:
    """Seconds since 1970; what is missing or no time is refused, what is outside the window is not."""
    found = read(codec.field, column, codec.markers)
    _refuse(codec, column, found.missing | found.unreadable | moments.without_hour(column))
    return found.values.cast(pl.Int64).to_numpy()


def _steps(codec: Codec, column: pl.Series, *, optional: bool = False) -> Numbers:
    """Steps of the lattice; -1 where a value is missing that may be."""
    edges = codec.field.edges
    found = read(codec.field, column, codec.markers)
    values = found.values.cast(pl.Float64).fill_null(edges.low).to_numpy()
    outside = ~((values >= edges.low) & (values <= edges.high)) & (codec.field.outside != "clamp")
    refused = (found.unreadable | outside) & ~found.missing
    _refuse(codec, column, refused if optional else refused | found.missing)
    clipped = np.clip(np.where(np.isfinite(values), values, edges.low), edges.low, edges.high)
    steps = Coordinate.of(codec).positions(clipped, BITS)
    return np.where(found.missing, -1, steps)


def _refuse(codec: Codec, column: pl.Series, refused: NDArray[np.bool_]) -> None:
    if refused.any():
        row = int(np.argmax(refused))
        raise moments.complaint(codec, column[row], row + 1)
