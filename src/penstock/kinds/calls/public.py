"""Public tables in place of private ones: census tables, surveys, whatever is known without the records.

A folder holds a CSV file for each distribution that is public, named after it; the others are counted and
paid for. Nothing in such a file comes from the records, so that it costs nothing. With all six of them calls
are drawn without reading any record: WHERE on public data (`penstock.kinds.calls.without_records`).

    home.csv, work.csv   the fields of longitude and latitude, weight
    commute.csv          low, high, weight         in miles; the same everywhere
    per_day.csv          mean, deviation, weight   of calls a day
    call_time.csv        class, hour, weight       classes 1 and 2, hours 0 to 23
    hours.csv            hour, the fields of longitude and latitude, weight
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.errors import UsageError
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, STEPS, Groups, Numbers, Reals, Region, cell_of
from penstock.kinds.calls.tables import CLASSES, PARTS, probability

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

BLOCKS = 16
USUAL_CALLERS = 1000.0
MOST_CALLS = 86_400


@dataclass(frozen=True, eq=False)
class PublicTables:
    """Some of the six distributions, from files that hold no secret."""

    columns: Mapping[str, tuple[Reals, ...]] = field(default_factory=dict)
    region: Region | None = None
    callers: float = USUAL_CALLERS

    @property
    def parts(self) -> tuple[str, ...]:
        """Which of them there are."""
        return tuple(part for part in PARTS if part in self.columns)

    @classmethod
    def read(cls, folder: str | Path, schema: Schema) -> PublicTables:
        """The tables of a folder; UsageError for what cannot be meant."""
        layout, place = CallsLayout.of(schema), Path(folder)
        names = {
            "home": (layout.longitude, layout.latitude),
            "work": (layout.longitude, layout.latitude),
            "commute": ("low", "high"),
            "per_day": ("mean", "deviation"),
            "call_time": ("class", "hour"),
            "hours": ("hour", layout.longitude, layout.latitude),
        }
        if not str(folder).strip() or not place.is_dir():
            raise UsageError(f"public: '{folder}' is no folder of public tables. Nothing was spent.")
        found = {
            part: _columns(place / f"{part}.csv", (*wanted, "weight"))
            for part, wanted in names.items()
            if (place / f"{part}.csv").is_file()
        }
        if not found:
            known = ", ".join(f"{part}.csv" for part in PARTS)
            raise UsageError(
                f"public: '{folder}' holds none of the files {known}. Add one, or leave 'public' out. "
                "Nothing was spent."
            )
        tables = cls(found, Region.of(schema), float(schema.size or USUAL_CALLERS))
        for part in tables.parts:  # each of them can be made, or it is refused now
            tables.made(part)
        return tables

    def made(self, part: str) -> dict[str, Any]:
        """One of the tables, as `Tables` wants it."""
        if part in ("home", "work"):
            return {part: self.places(part, 1)}
        if part == "commute":
            return self.commute(1.0)
        if part == "hours":
            return self.hours(1)
        return self.per_day() if part == "per_day" else self.call_time()

    def places(self, part: str, side: int) -> Reals:
        """Shares of a grid's cells."""
        x, y, weight = self.columns[part]
        cells = self._cells(x, y, side, part)
        return probability(
            np.asarray(np.bincount(cells, weights=weight, minlength=side**2), dtype=np.float64)
        )

    def commute(self, furthest: float) -> dict[str, Any]:
        low, high, weight = self.columns["commute"]
        order = np.argsort(low)
        edges = np.append(low[order], high[order][-1])
        if edges[0] < 0 or (np.diff(edges) <= 0).any() or (high[order][:-1] != low[order][1:]).any():
            raise UsageError("public: the bins of commute.csv do not follow one another. Nothing was spent.")
        return {"commute_side": 1, "edges": edges[None, :], "commute": probability(weight[order])[None, :]}

    def per_day(self) -> dict[str, Any]:
        mean, deviation, weight = self.columns["per_day"]
        if min(mean.min(), deviation.min()) < 0 or max(mean.max(), deviation.max()) > MOST_CALLS:
            raise UsageError(
                f"public: means and deviations of per_day.csv are numbers from 0 to {MOST_CALLS:,}. "
                "Nothing was spent."
            )
        means, deviations = np.unique(mean), np.unique(deviation)
        shares = np.zeros((len(means), len(deviations)))
        np.add.at(shares, (np.searchsorted(means, mean), np.searchsorted(deviations, deviation)), weight)
        return {
            "means": tuple(float(each) for each in means),
            "deviations": tuple(float(each) for each in deviations),
            "per_day": probability(shares.ravel()).reshape(shares.shape),
        }

    def call_time(self) -> dict[str, Any]:
        kind, hour, weight = self.columns["call_time"]
        at = _whole(kind, CLASSES + 1, "class") - 1, _whole(hour, HOURS, "hour")
        if (at[0] < 0).any():
            raise UsageError("public: the classes of call_time.csv are 1 and 2. Nothing was spent.")
        times = np.zeros((CLASSES, HOURS))
        np.add.at(times, at, weight)
        return {
            "classes": probability(times.sum(axis=1)),
            "times": np.stack([probability(row) for row in times]),
        }

    def hours(self, side: int) -> dict[str, Any]:
        hour, x, y, weight = self.columns["hours"]
        groups = Groups.blocks(side, min(side, BLOCKS))
        counts = np.zeros((HOURS, groups.size))
        np.add.at(
            counts, (_whole(hour, HOURS, "hour"), self._cells(x, y, groups.block_side, "hours")), weight
        )
        return {"groups": groups, "hours": np.stack([probability(row) for row in counts])}

    def _cells(self, x: Reals, y: Reals, side: int, part: str) -> Numbers:
        assert self.region is not None
        where = self.region
        across = (x - where.west) / (where.east - where.west)
        up = (y - where.south) / (where.north - where.south)
        if ((across < 0) | (across > 1) | (up < 0) | (up > 1)).any():
            raise UsageError(f"public: a place in {part}.csv lies outside the box. Nothing was spent.")
        steps = [np.minimum(values * STEPS, STEPS - 1).astype(np.int64) for values in (across, up)]
        return np.asarray(cell_of(steps[0], steps[1], side), dtype=np.int64)


def _columns(path: Path, names: tuple[str, ...]) -> tuple[Reals, ...]:
    """The columns of a CSV file as numbers, the last of them weights."""
    import polars as pl

    try:
        frame: pl.DataFrame = pl.read_csv(path)
        lacking = [name for name in names if name not in frame.columns]
        if lacking:
            raise UsageError(f"public: {path.name} has no column '{lacking[0]}'. Nothing was spent.")
        found = tuple(frame[name].cast(pl.Float64).to_numpy() for name in names)
    except (OSError, pl.exceptions.PolarsError) as problem:
        first = str(problem).splitlines()[0]
        raise UsageError(f"public: {path.name} cannot be read ({first}). Nothing was spent.") from None
    weights = found[-1]
    if not len(weights) or not all(np.isfinite(column).all() for column in found):
        raise UsageError(f"public: {path.name} is empty or holds what is no number. Nothing was spent.")
    if (weights < 0).any() or weights.sum() <= 0:
        raise UsageError(f"public: the weights of {path.name} are 0 or more, and not all 0.")
    return found


def _whole(values: Reals, below: int, what: str) -> Numbers:
    found = values.astype(np.int64)
    if (found != values).any() or (found < 0).any() or (found >= below).any():
        raise UsageError(f"public: a {what} is a whole number below {below}. Nothing was spent.")
    return found
