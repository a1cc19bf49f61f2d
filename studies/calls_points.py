"""Where calls are at an hour: dp-where beside a PrivTree of points.

    python studies/calls_points.py              # a city of 20,000 callers on five days; goes on if stopped

The same question is asked of both: how the calls of each hour are spread over the map, 20 x 20 cells, at the
same epsilon for one caller. Points are released with the fields lat, lon and hour and the unit user, of whom
`at_most` calls are kept; the number that is best is chosen on a city of another seed. Distances are earth
mover's distances in miles, mean over every third hour, and for the calls of all hours together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl

import penstock
from calls_data import RESULTS, Book, schema
from penstock.demo.phones import City
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, synthetic_seen
from penstock.kinds.calls.region import HOURS, STEPS, Reals, Region, cell_of
from penstock.kinds.calls.release import CallsRelease
from penstock.schema import Schema

DAYS = 5
CALLERS = 20_000
RUNS = 3
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


def compared(
    chosen: pl.DataFrame, confirmed: pl.DataFrame, epsilon: str, region: Region, run: int
) -> dict[str, float]:
    """The bound that is best on one city, and both methods on another."""
    truth, whole = by_hour(chosen, region), by_hour(confirmed, region)
    tried = {b: apart(truth, of_points(chosen, b, epsilon, 10 + run, region), region) for b in BOUNDS}
    bound = min(tried, key=lambda each: tried[each])
    points = of_points(confirmed, bound, epsilon, 20 + run, region)
    ours = of_calls(confirmed, epsilon, 20 + run)
    cell = region.cell_size(SIDE)
    return {
        "bound": bound,
        "by the hour, points": apart(whole, points, region),
        "by the hour, dp-where": apart(whole, ours, region),
        "all hours together, points": earth_movers_distance(whole.sum(axis=0), points.sum(axis=0), cell),
        "all hours together, dp-where": earth_movers_distance(whole.sum(axis=0), ours.sum(axis=0), cell),
    }


def rows(book: Book) -> Iterator[str]:
    """The table of the page, where there is something to tell."""
    if not any(key.startswith("points|") for key in book.found):
        return
    yield "\n## Beside a PrivTree of points\n"
    yield f"Miles, {CALLERS:,} callers on {DAYS} days, mean of {RUNS} runs (least and largest).\n"
    yield "| | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " |"
    yield "|---|" + "--:|" * len(EPSILONS)
    for what in ("by the hour", "all hours together"):
        for name in ("points", "dp-where"):
            cells = []
            for epsilon in EPSILONS:
                mean = book.mean("points", epsilon, f"{what}, {name}")
                ends = book.spread("points", epsilon, f"{what}, {name}")
                cells.append(
                    "" if mean is None or ends is None else f"{mean:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"
                )
            yield f"| {what}, {name} | {' | '.join(cells)} |"


def main() -> None:
    book, region = Book(RESULTS), Region.of(schema(DAYS))
    chosen, confirmed = city(1, CALLERS), city(2, CALLERS)
    for run in range(RUNS):
        for epsilon in EPSILONS:
            book.once(f"points|{epsilon}|{run}", partial(compared, chosen, confirmed, epsilon, region, run))


if __name__ == "__main__":
    main()
