"""Where calls are at an hour: dp-where beside a PrivTree of points.

    python studies/calls_points.py                  # a city of 50,000 callers on five days

The same question is asked of both: how the calls of each hour are spread over the map, 20 x 20 cells, at the
same epsilon for one caller. Points are released with the fields lat, lon and hour and the unit user, of whom
`at_most` calls are kept; the number that is best is chosen on a city of another seed. Distances are earth
mover's distances in miles, mean over every third hour, and for the calls of all hours together.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

import penstock
from calls_data import schema
from penstock.demo.phones import City
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, synthetic_seen
from penstock.kinds.calls.region import HOURS, STEPS, Reals, Region, cell_of
from penstock.kinds.calls.release import CallsRelease
from penstock.schema import Schema

DAYS = 5
CALLERS = 50_000
EPSILONS = ("0.1", "0.33", "1")
BOUNDS = (5, 20, 60)
POINTS = """
kind: points
unit: {{protects: user, column: phone, at_most: {bound}}}
fields:
  - {{name: lat, type: number, constraints: {{minimum: 40, maximum: 42}}}}
  - {{name: lon, type: number, constraints: {{minimum: -75, maximum: -73}}}}
  - {{name: hour, type: integer, constraints: {{minimum: 0, maximum: 23}}}}
"""


def city(seed: int, callers: int) -> pl.DataFrame:
    frame = City().calls(callers, days=DAYS, rng=np.random.default_rng(seed), stated=True)
    return frame.with_columns(hour=pl.col("time").dt.hour().cast(pl.Int64))


def by_hour(frame: pl.DataFrame, region: Region) -> Reals:
    """Calls in each hour and cell."""
    across = (frame["lon"].to_numpy() - region.west) / (region.east - region.west)
    up = (frame["lat"].to_numpy() - region.south) / (region.north - region.south)
    x, y = (np.clip(each * STEPS, 0, STEPS - 1).astype(np.int64) for each in (across, up))
    cells = np.asarray(cell_of(x, y, SIDE))
    flat = np.bincount(frame["hour"].to_numpy() * SIDE**2 + cells, minlength=HOURS * SIDE**2)
    return flat.reshape(HOURS, SIDE, SIDE).astype(np.float64)


def apart(one: Reals, two: Reals, region: Region) -> float:
    cell = region.cell_size(SIDE)
    found = [
        earth_movers_distance(one[hour], two[hour] if two[hour].sum() > 0 else np.ones((SIDE, SIDE)), cell)
        for hour in range(0, HOURS, 3)
    ]
    return float(np.mean(found))


def of_points(frame: pl.DataFrame, bound: int, epsilon: str, seed: int, region: Region) -> Reals:
    """Maps by hour of a PrivTree of points, from its synthetic points."""
    described = Schema.from_yaml(POINTS.format(bound=bound))
    made = penstock.release(frame, described, epsilon=epsilon, seed=seed)
    return by_hour(made.sample(200_000, seed=1), region)


def of_calls(frame: pl.DataFrame, epsilon: str, seed: int) -> Reals:
    made = penstock.release(frame, schema(DAYS), epsilon=epsilon, seed=seed)
    assert isinstance(made, CallsRelease)
    return synthetic_seen(made, 1).hours.reshape(HOURS, SIDE, SIDE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--callers", type=int, default=CALLERS)
    given = parser.parse_args()
    region = Region.of(schema(DAYS))
    chosen, confirmed = city(1, given.callers), city(2, given.callers)
    truth = {1: by_hour(chosen, region), 2: by_hour(confirmed, region)}
    whole = truth[2].sum(axis=0)
    for epsilon in EPSILONS:
        tried = {b: apart(truth[1], of_points(chosen, b, epsilon, 1, region), region) for b in BOUNDS}
        bound = min(tried, key=lambda b: tried[b])
        points = of_points(confirmed, bound, epsilon, 2, region)
        ours = of_calls(confirmed, epsilon, 2)
        cell = region.cell_size(SIDE)
        row = {
            "by hour, points": apart(truth[2], points, region),
            "by hour, dp-where": apart(truth[2], ours, region),
            "all day, points": earth_movers_distance(whole, points.sum(axis=0), cell),
            "all day, dp-where": earth_movers_distance(whole, ours.sum(axis=0), cell),
        }
        print(epsilon, f"at_most {bound}", {name: round(value, 2) for name, value in row.items()}, flush=True)


if __name__ == "__main__":
    main()
