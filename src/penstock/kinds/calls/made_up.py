"""Calls that nobody made, to try things out on: a few centres, homes around them, and work in one of them."""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import DAY, Region
from penstock.kinds.calls.tables import public_profiles
from penstock.schema import Schema

CENTRES = 4
_CALLS = 3.0
_MOST_DAYS = 60


def made_up_calls(schema: Schema, records: int, seed: int = 0) -> pl.DataFrame:
    """The calls of so many callers, as rows that the schema describes; nothing is read."""
    layout, region = CallsLayout.of(schema), Region.of(schema)
    rng = np.random.default_rng(seed)
    centres = rng.random((CENTRES, 2)) * 0.6 + 0.2
    home = np.clip(centres[rng.integers(CENTRES, size=records)] + rng.normal(0, 0.08, (records, 2)), 0, 1)
    work = np.clip(centres[0] + rng.normal(0, 0.05, (records, 2)), 0, 1)
    days = min(region.days, _MOST_DAYS)
    number = np.maximum(rng.poisson(_CALLS * days, records), 1)
    caller = np.repeat(np.arange(records), number)
    minutes = np.cumsum(np.repeat(public_profiles().mean(axis=0) / 60, 60))
    minute = np.minimum(np.searchsorted(minutes, rng.random(len(caller)) * minutes[-1]), 1439)
    second = rng.integers(0, days, len(caller)) * DAY + minute * 60
    at_work = (minute // 60 >= 9) & (minute // 60 < 18)
    place = np.where(at_work[:, None], work[caller], home[caller])
    clock = schema.field(layout.time).edges
    seconds = np.clip(region.first_day * DAY + second, int(clock.low), int(clock.high))
    columns: dict[str, pl.Series] = {
        layout.caller: pl.Series(caller),
    }
    moment = pl.Series(seconds * 1_000_000).cast(pl.Datetime("us"))
    if layout.date is None:
        columns[layout.time] = moment
    else:
        columns |= {layout.date: moment.dt.date(), layout.time: moment.dt.strftime("%H:%M:%S")}
    pairs = {(layout.longitude, layout.latitude): place}
    for name, pair in layout.places.items():
        pairs[pair] = (home if name == "home" else work)[caller]
    for (x, y), at in pairs.items():
        columns[x] = _within(schema, layout.longitude, region.west + at[:, 0] * (region.east - region.west))
        columns[y] = _within(schema, layout.latitude, region.south + at[:, 1] * (region.north - region.south))
    return pl.DataFrame([column.alias(name) for name, column in columns.items()])


def _within(schema: Schema, name: str, values: np.ndarray) -> pl.Series:
    field = schema.field(name)
    if field.type == "integer":
        return pl.Series(np.clip(np.floor(values), field.edges.low, field.edges.high).astype(np.int64))
    return pl.Series(np.clip(values, float(field.edges.low), float(field.edges.high)))
