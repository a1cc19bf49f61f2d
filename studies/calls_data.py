"""The synthetic city of the studies of calls, as a Parquet file of any size, and WHERE without privacy.

    python studies/calls_data.py city.parquet --callers 250000 --days 25     # about 50 million calls

Homes are 45 % in one core and else in 60 suburbs, commutes follow jobs and fall with distance, callers make
eight calls a day on average (`penstock.demo.phones`). Home and work stand in columns of their own, so that
what is compared does not depend on how they are found.

WHERE, the published generator without any privacy, is fitted here: studies need it as a reference, and
nothing else does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.demo.phones import City
from penstock.engine.source import read
from penstock.kinds.calls.callers import Callers
from penstock.kinds.calls.database import InDatabase
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.reading import InMemory
from penstock.kinds.calls.region import HOURS, STEPS, Groups, Numbers, Reals, Region, cell_of
from penstock.kinds.calls.tables import CLASSES, Tables, probability, public_profiles
from penstock.schema import Schema

AT_ONCE = 2_500
PLACES = ("home", "work")
ROUNDS = 30


def schema(days: int, *, stated: bool = True) -> Schema:
    """The public facts about the city."""
    lines = [f"{part}Latitude: {part}_lat, {part}Longitude: {part}_lon, " for part in PLACES if stated]
    places = "".join(lines)
    last = np.datetime64("2011-04-01") + np.timedelta64(days - 1, "D")
    return Schema.from_yaml(
        f"""
kind: calls
calls: {{caller: phone, time: time, latitude: lat, longitude: lon, {places}busiest: 120}}
fields:
  - {{name: time, type: datetime, constraints: {{minimum: 2011-04-01, maximum: "{last}T23:59:59"}}}}
  - {{name: lat, type: number, constraints: {{minimum: 40, maximum: 42}}}}
  - {{name: lon, type: number, constraints: {{minimum: -75, maximum: -73}}}}
"""
    )


def write(path: Path, callers: int, days: int, seed: int = 1) -> int:
    """The city's calls as a Parquet file; how many there are."""
    city, rng, written = City(), np.random.default_rng(seed), 0
    writer = None
    for first in range(0, callers, AT_ONCE):
        many = min(AT_ONCE, callers - first)
        table = city.calls(many, days=days, rng=rng, first=first + 1, stated=True).to_arrow()
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        written += table.num_rows
    if writer is not None:
        writer.close()
    return written


RESULTS = Path(__file__).parent / "calls_results.json"


class Book:
    """What was found, in a file that is written after every run; what is in it is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def once(self, key: str, run: Callable[[], Any]) -> Any:
        if key not in self.found:
            found = run()
            kept = json.loads(self.path.read_text()) if self.path.exists() else {}
            self.found |= kept | {key: found}  # another study may have written meanwhile
            self.path.write_text(json.dumps(dict(sorted(self.found.items())), indent=0) + "\n")
            print(key, self.found[key], flush=True)
        return self.found[key]

    def mean(self, name: str, epsilon: str, what: str) -> float | None:
        """The mean of a figure over all runs, None where there is none."""
        start = f"{name}|{epsilon}|"
        values = [entry[what] for key, entry in self.found.items() if key.startswith(start) and what in entry]
        return float(np.mean(values)) if values else None

    def spread(self, name: str, epsilon: str, what: str) -> tuple[float, float] | None:
        """The least and the largest of it."""
        start = f"{name}|{epsilon}|"
        values = [entry[what] for key, entry in self.found.items() if key.startswith(start) and what in entry]
        return (min(values), max(values)) if values else None


def middles(side: int) -> tuple[Numbers, Numbers]:
    """The middles of the cells of a grid, in steps of the lattice."""
    cells, width = np.arange(side**2), STEPS / side
    across, up = ((cells % side) + 0.5) * width, ((cells // side) + 0.5) * width
    return across.astype(np.int64), up.astype(np.int64)


@dataclass(eq=False)
class Remembered:
    """Calls that were read once, and their callers: for studies, since callers are to stay where they are.

    Calls by the hour are asked for once for each division of the map.
    """

    counted: InDatabase
    callers: Callers
    _known: dict[tuple[Groups, bool], Numbers] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, described: Schema) -> Remembered:
        """The calls of a file, and one row of numbers for every caller."""
        layout, region = CallsLayout.of(described), Region.of(described)
        counted = InDatabase(read(str(path)), described, layout, region)
        calls, people = counted.coded, counted.callers.table
        by_hour = calls.group_by("caller").aggregate(
            **{f"h{hour}": (calls["hour"] == hour).sum().cast("int64") for hour in range(HOURS)}
        )
        joined = people.inner_join(by_hour, "caller").drop("caller").to_polars().fill_null(-1)
        hours, home, work = (
            joined.select(names).to_numpy()
            for names in (
                [f"h{hour}" for hour in range(HOURS)],
                ["home_x", "home_y"],
                ["work_x", "work_y"],
            )
        )
        numbers = (joined["calls"].to_numpy(), joined["squares"].to_numpy())
        return cls(counted, Callers(region, *numbers, hours, home, work))

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        if (groups, shared) not in self._known:
            self._known[groups, shared] = self.counted.hourly(groups, shared=shared)
        return self._known[groups, shared].copy()


def where(counted: Remembered | InMemory, region: Region, side: int, commute_side: int) -> Tables:
    """WHERE without privacy: the six distributions as they are, on these grids."""
    callers = counted.callers
    homes, works = callers.home[callers.home[:, 0] >= 0], callers.work[callers.work[:, 0] >= 0]
    home = np.asarray(cell_of(homes[:, 0], homes[:, 1], side))
    work = np.asarray(cell_of(works[:, 0], works[:, 1], side))
    both = (callers.home[:, 0] >= 0) & (callers.work[:, 0] >= 0)
    start, end = callers.home[both], callers.work[both]
    area = np.asarray(cell_of(start[:, 0], start[:, 1], commute_side))
    apart = region.miles(start[:, 0], start[:, 1], end[:, 0], end[:, 1])
    edges = np.linspace(0.0, region.diagonal, 201)
    bins = np.clip(np.searchsorted(edges, apart, side="right") - 1, 0, len(edges) - 2)
    ways = np.zeros((commute_side**2, len(edges) - 1))
    np.add.at(ways, (area, bins), 1.0)
    mean = callers.calls / region.days
    deviation = np.sqrt(np.maximum(callers.squares / region.days - mean**2, 0.0))
    pairs = np.zeros((101, 51))
    np.add.at(
        pairs,
        (np.minimum(np.rint(mean), 100).astype(int), np.minimum(np.rint(deviation), 50).astype(int)),
        1.0,
    )
    classes, times = two_means(callers.hours / callers.calls[:, None])
    groups = Groups.blocks(side, side)
    hours = counted.hourly(groups, shared=False).astype(np.float64)
    return Tables(
        side=side,
        home=probability(np.bincount(home, minlength=side**2).astype(np.float64)),
        work=probability(np.bincount(work, minlength=side**2).astype(np.float64)),
        commute_side=commute_side,
        edges=np.tile(edges, (commute_side**2, 1)),
        commute=np.stack([probability(row) for row in ways]),
        means=tuple(range(101)),
        deviations=tuple(range(51)),
        per_day=pairs / pairs.sum(),
        classes=classes,
        times=times,
        groups=groups,
        hours=np.stack([probability(row) for row in hours]),
        callers=float(callers.size),
    )


def two_means(profiles: Reals) -> tuple[Reals, Reals]:
    """Plain 2-means from the public start: shares of the classes, and their profiles."""
    centres: Reals = public_profiles()
    nearest: NDArray[np.int64] = np.zeros(len(profiles), dtype=np.int64)
    for _ in range(ROUNDS):
        far = np.stack([((profiles - centre) ** 2).sum(axis=1) for centre in centres])
        nearest = far.argmin(axis=0)
        centres = np.stack(
            [
                probability(profiles[nearest == kind].sum(axis=0))
                if (nearest == kind).any()
                else centres[kind]
                for kind in range(CLASSES)
            ]
        )
    assert centres.shape == (CLASSES, HOURS)
    return np.bincount(nearest, minlength=CLASSES) / max(1, len(profiles)), centres


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--callers", type=int, default=250_000)
    parser.add_argument("--days", type=int, default=25)
    given = parser.parse_args()
    print(f"{write(given.path, given.callers, given.days):,} calls of {given.callers:,} callers")
    schema(given.days).save(given.path.with_suffix(".schema.yaml"), overwrite=True)


if __name__ == "__main__":
    main()
