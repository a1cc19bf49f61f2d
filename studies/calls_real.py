"""dp-where on real places: check-ins and GPS fixes as calls, public tables of a census, homes worldwide.

    python studies/calls_real.py            # a few minutes; goes on if stopped

Gowalla's check-ins in New York City stand for sparse call records; two people's GPS fixes (GeoLife) for what
too few callers look like; the most visited places of Gowalla's users worldwide for homes; taxi trips are in
`calls_peer.py`. Homes and work of WHERE on public data come from census tracts and from the flows of
commuters between counties. Distances are earth mover's distances in miles on 20 x 20 cells.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from calls import measured, plain
from calls_data import RESULTS, Book, middles, where
from frame.data import file
from penstock.engine.source import read
from penstock.kinds.calls import without_records
from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, Seen, _again, _even, _seen, distances, quartiles_apart
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.reading import InMemory, coded_calls
from penstock.kinds.calls.region import HOURS, Reals, Region, cell_of
from penstock.kinds.calls.tables import from_cumulative, public_profiles
from penstock.kinds.calls.where import Where
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

RUNS = 2
HOME_RUNS = 3
EPSILONS = ("0.33", "1", "3")
HOME_EPSILONS = ("0.05", "0.1", "0.5")
COUNTIES = {36005: "2", 36047: "3", 36061: "1", 36081: "4", 36085: "5"}
"""The five counties of New York City, and the first digit of the numbers of their tracts."""
CALLS = """
kind: calls
calls: {{caller: {caller}, time: {time}, latitude: {lat}, longitude: {lon}{more}}}
fields:
  - {{name: {time}, type: datetime, constraints: {{minimum: {first}, maximum: "{last}T23:59:59"}}}}
  - {{name: {lat}, type: number, constraints: {{minimum: {box[2]}, maximum: {box[3]}}}}}
  - {{name: {lon}, type: number, constraints: {{minimum: {box[0]}, maximum: {box[1]}}}}}
"""
NEW_YORK = (-74.3, -73.65, 40.45, 40.95)
BEIJING = (115.4, 117.5, 39.4, 41.1)
WORLD = (-180, 180, -90, 90)


def described(caller: str, time: str, lat: str, lon: str, **rest: Any) -> Schema:
    return Schema.from_yaml(CALLS.format(caller=caller, time=time, lat=lat, lon=lon, **{"more": "", **rest}))


def within(frame: pl.DataFrame, lat: str, lon: str, box: tuple[float, ...]) -> pl.DataFrame:
    return frame.filter(pl.col(lon).is_between(box[0], box[1]) & pl.col(lat).is_between(box[2], box[3]))


def opened(frame: pl.DataFrame, schema: Schema) -> tuple[InMemory, Seen, Seen]:
    """The calls, what they look like, and what they look like with their callers drawn again."""
    layout, region = CallsLayout.of(schema), Region.of(schema)
    source = read(frame)
    counted = InMemory(source, schema, layout, region)
    calls = coded_calls(source.cells(layout.columns), schema, layout, region)
    caller, day, hour, x, y = (calls[name].to_numpy() for name in ("caller", "day", "hour", "x", "y"))
    again = _again(caller, day, hour, x, y, counted.callers, region, np.random.default_rng(0))
    return counted, _seen(caller, day, hour, x, y, counted.callers, region), again


def figures(found: dict[str, Any], original: Seen) -> dict[str, float]:
    """The mean distance of all hours, of homes and work, and of the quartiles of daily ranges."""
    quarters = np.percentile(original.ranges, (25, 50, 75))
    apart = float(np.abs(quarters - np.array(found["quartiles"][1:4])).max())
    return {"emd": found["emd"], "home": found["home"], "work": found["work"], "ranges": apart}


def public_tables(folder: Path, which: tuple[str, ...]) -> None:
    """Census homes, work and commutes from flows between counties, and guesses for the rest."""
    tracts = pl.read_csv(
        file("nyc_census/nyc_tracts_2010.csv.gz"), schema_overrides={"boro_ct2010": pl.String}
    )
    tracts = within(tracts, "lat", "lon", NEW_YORK)
    county = {
        fips: tracts.filter(pl.col("boro_ct2010").str.starts_with(digit)) for fips, digit in COUNTIES.items()
    }
    flows = pl.read_csv(file("ny_commuting/NY_commuting_flows_2011.csv")).filter(
        pl.col("origin").is_in(list(COUNTIES)) & pl.col("destination").is_in(list(COUNTIES))
    )
    arriving = dict(flows.group_by("destination").agg(pl.col("flow").sum()).iter_rows())
    works = pl.concat(
        [
            part.with_columns(weight=pl.col("population") / part["population"].sum() * arriving[fips])
            for fips, part in county.items()
        ]
    )
    rng, region = np.random.default_rng(0), Region.of(gowalla_schema())
    far = []
    for flow, start, end in flows.select("flow", "origin", "destination").iter_rows():
        many = max(1, flow // 500)
        places = [
            part[rng.choice(len(part), many, p=part["population"].to_numpy() / part["population"].sum())]
            for part in (county[start], county[end])
        ]
        across = (places[0]["lon"] - places[1]["lon"]).to_numpy() * region.miles_east
        up = (places[0]["lat"] - places[1]["lat"]).to_numpy() * region.miles_north
        far.append(np.hypot(across, up))
    counts, edges = np.histogram(np.concatenate(far), np.arange(0.0, 41.0, 2.0))
    profiles = public_profiles()
    grid = [
        (NEW_YORK[0] + (n % 4 + 0.5) / 4 * 0.65, NEW_YORK[2] + (n // 4 + 0.5) / 4 * 0.5) for n in range(16)
    ]
    tables = {
        "home": tracts.select("lon", "lat", weight="population"),
        "work": works.select("lon", "lat", "weight"),
        "commute": pl.DataFrame({"low": edges[:-1], "high": edges[1:], "weight": counts}),
        "per_day": pl.DataFrame({"mean": [0.05, 1.0], "deviation": [0.2, 1.0], "weight": [3, 1]}),
        "call_time": pl.DataFrame(
            {
                "class": np.repeat([1, 2], HOURS),
                "hour": np.tile(np.arange(HOURS), 2),
                "weight": profiles.ravel(),
            }
        ),
        "hours": pl.DataFrame(
            [(hour, x, y, 1.0) for hour in range(HOURS) for x, y in grid],
            schema=["hour", "lon", "lat", "weight"],
            orient="row",
        ),
    }
    for name in which:
        tables[name].write_csv(folder / f"{name}.csv")


def gowalla_schema() -> Schema:
    return described("user", "time", "lat", "lon", first="2010-01-01", last="2010-10-31", box=NEW_YORK)


def check_ins(book: Book) -> None:
    """Check-ins of New York City: WHERE, dp-where, dp-where with census homes, and public tables alone."""
    schema = gowalla_schema()
    region = Region.of(schema)
    frame = within(pl.read_csv(file("gowalla_nyc/gowalla_nyc_checkins.csv.gz")), "lat", "lon", NEW_YORK)
    counted, original, again = opened(frame, schema)
    cell = region.cell_size(SIDE)
    book.once(
        "check-ins, callers drawn again|-|0",
        lambda: {
            "emd": float(np.mean(list(distances(original, again, cell).values()))),
            **{
                name: earth_movers_distance(
                    getattr(original, name).reshape(SIDE, SIDE),
                    getattr(again, name).reshape(SIDE, SIDE),
                    cell,
                )
                for name in ("home", "work")
            },
            "ranges": quartiles_apart(original.ranges, again.ranges),
        },
    )
    calls = Calls(counted, schema)
    known = (counted.callers.home[:, 0] >= 0) & (counted.callers.work[:, 0] >= 0)
    print(f"{len(known):,} callers, {known.sum():,} of them with a home and a place of work")
    with tempfile.TemporaryDirectory() as all_six, tempfile.TemporaryDirectory() as homes:
        public_tables(Path(all_six), ("home", "work", "commute", "per_day", "call_time", "hours"))
        public_tables(Path(homes), ("home", "commute"))
        public = without_records.release(schema, all_six)
        book.once(
            "check-ins, public tables alone|-|0", lambda: figures(measured(public, original, 0), original)
        )
        book.once("check-ins, even map|-|0", lambda: figures(measured(_even(public), original, 0), original))
        book.once(
            "check-ins, WHERE|-|0",
            lambda: figures(measured(plain(where(counted, region, 40, 10), schema), original, 0), original),
        )
        for run in range(RUNS):
            for epsilon in EPSILONS:
                for name, method in {
                    "dp-where": Where(),
                    "dp-where, grid": Where(areas="grid"),
                    "dp-where, homes and commutes of the census": Where(public=homes),
                }.items():
                    book.once(
                        f"check-ins, {name}|{epsilon}|{run}",
                        partial(_release, method, calls, epsilon, original, run),
                    )


def _release(method: Where, calls: Calls, epsilon: str, original: Seen, run: int) -> dict[str, float]:
    made = method.fit(calls, Budget(epsilon, randomness=Randomness.seeded(run)))
    return figures(measured(made, original, run), original)


def two_people(book: Book) -> None:
    """GPS fixes of two people: what a release of two callers says."""
    schema = described("uid", "datetime", "lat", "lng", first="2008-10-01", last="2009-03-31", box=BEIJING)
    frame = pl.read_csv(file("geolife/geolife_2users.csv.gz"), schema_overrides={"uid": pl.String})
    counted, original, _ = opened(within(frame, "lat", "lng", BEIJING), schema)
    calls = Calls(counted, schema)
    for run in range(RUNS):
        for epsilon in EPSILONS:

            def once(e: str = epsilon, r: int = run) -> dict[str, float]:
                made = Where().fit(calls, Budget(e, randomness=Randomness.seeded(r)))
                return {**figures(measured(made, original, r), original), "callers": made.tables.callers}

            book.once(f"two people|{epsilon}|{run}", once)


def worldwide(book: Book) -> None:
    """Homes of Gowalla's users, the place that each visits most: a tree, a grid, and Algorithm 2."""
    visits = pl.read_csv(file("gowalla/gowalla_user_poi_visits.csv.gz"))
    homes = visits.sort("n", "poi", descending=[True, False]).unique(
        "user", keep="first", maintain_order=True
    )
    homes = homes.with_columns(time=pl.lit("2010-01-01T20:00"))
    schema = described("user", "time", "lat", "lon", first="2010-01-01", last="2010-01-01", box=WORLD)
    counted, original, _ = opened(homes, schema)
    region, calls = Region.of(schema), Calls(counted, schema)
    truth = original.home.reshape(SIDE, SIDE)
    x, y = counted.callers.home[:, 0], counted.callers.home[:, 1]
    for run in range(HOME_RUNS):
        for epsilon in HOME_EPSILONS:

            def once(areas: str, e: str = epsilon, r: int = run) -> dict[str, float]:
                if areas == "Algorithm 2, 50 x 50":
                    counts = np.bincount(np.asarray(cell_of(x, y, 50)), minlength=2500)
                    noise = np.random.default_rng(r).laplace(0, 2 / float(e), 2500)
                    shares, side = from_cumulative(counts + noise), 50
                else:
                    method = Where(areas="tree" if areas == "tree" else "grid")
                    budget = Budget(e, randomness=Randomness.seeded(r))
                    shares, side = method._places(calls, "home", float(len(x)), budget), 128
                at = np.asarray(cell_of(*middles(side), SIDE))
                found: Reals = np.bincount(at, weights=shares, minlength=SIDE**2).astype(np.float64)
                return {
                    "home": earth_movers_distance(truth, found.reshape(SIDE, SIDE), region.cell_size(SIDE))
                }

            for areas in ("tree", "grid", "Algorithm 2, 50 x 50"):
                book.once(f"homes worldwide, {areas}|{epsilon}|{run}", partial(once, areas))


def rows(book: Book) -> Iterator[str]:
    """The tables of the page."""
    yield "\n## Check-ins of New York City\n"
    yield (
        "Gowalla, January to October 2010, as calls; miles: maps by the hour / homes / work / quartiles of "
        f"daily ranges. Mean of up to {RUNS} runs.\n"
    )
    yield "| | no privacy | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " |"
    yield "|---|--:|" + "--:|" * len(EPSILONS)
    for name in dict.fromkeys(key.split("|")[0] for key in book.found if key.startswith("check-ins, ")):
        cells = [_four(book, name, epsilon) for epsilon in ("-", *EPSILONS)]
        yield f"| {name.removeprefix('check-ins, ')} | {' | '.join(cells)} |"
    yield "\n## Two people\n"
    yield "Fixes of two people (GeoLife); the same figures, and the noisy number of callers.\n"
    yield "| | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " |"
    yield "|---|" + "--:|" * len(EPSILONS)
    yield "| dp-where | " + " | ".join(_four(book, "two people", e) for e in EPSILONS) + " |"
    ends = [book.spread("two people", e, "callers") for e in EPSILONS]
    yield "| callers | " + " | ".join("" if e is None else f"{e[0]:,.0f}–{e[1]:,.0f}" for e in ends) + " |"
    yield "\n## Homes worldwide\n"
    yield f"The most visited places of 18,737 users of Gowalla; miles, mean of {HOME_RUNS} runs.\n"
    yield "| | " + " | ".join(f"ε = {e} of its own" for e in HOME_EPSILONS) + " |"
    yield "|---|" + "--:|" * len(HOME_EPSILONS)
    for areas in ("tree", "grid", "Algorithm 2, 50 x 50"):
        found = [book.mean(f"homes worldwide, {areas}", e, "home") for e in HOME_EPSILONS]
        yield f"| {areas} | " + " | ".join("" if each is None else f"{each:,.0f}" for each in found) + " |"


def _four(book: Book, name: str, epsilon: str) -> str:
    found = [book.mean(name, epsilon, what) for what in ("emd", "home", "work", "ranges")]
    return " / ".join("" if each is None else f"{each:.2f}" for each in found) if any(found) else ""


def main() -> None:
    book = Book(RESULTS)
    worldwide(book)
    two_people(book)
    check_ins(book)


if __name__ == "__main__":
    main()
