"""dp-where beside dp-mobility-report, where the two answer the same question.

    python -m venv peer
    peer/bin/pip install "numpy<2" "pandas<2.2" "scikit-learn<1.4" "geopandas<1" "folium==0.12.1.post1" \\
        haversine pandarallel geojson rtree seaborn opencv-python-headless setuptools wheel
    peer/bin/pip install --no-deps diffprivlib==0.6.4 joblib
    peer/bin/pip install --no-deps --no-build-isolation dp-mobility-report==0.2.11
    python studies/calls_peer.py peer/bin/python

Both protect one user. Two questions can be put to both: how many people go from each area to each (the flows
of a grid of areas), and how calls are spread over the map. For the flows every user has one trip, from home
to work; dp-mobility-report gets its whole budget for this one analysis, and a quarter of it, as one of four.
For the map every call is a visit, of which some are kept for each user; the number is chosen on a city of
another seed. dp-where gets the same budget for everything it releases. The other's noise cannot be seeded:
its figures differ from run to run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import penstock
from calls_data import RESULTS, Book, schema
from calls_points import by_hour, city
from frame.data import file
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, synthetic_seen
from penstock.kinds.calls.region import HOURS, Reals, Region
from penstock.kinds.calls.release import CallsRelease
from penstock.schema import Schema

CALLERS = 20_000
DAYS = 5
RUNS = 2
EPSILONS = ("0.1", "1")
VISITORS = 4_000
"""Callers of the smaller city whose calls are visits."""
AREAS = (4, 8)
KEPT = (1, 5, 20)
TAXI = (-74.05, -73.85, 40.65, 40.9)
TAXI_SCHEMA = """
kind: calls
calls:
  caller: trip
  time: time
  latitude: lat
  longitude: lon
  homeLatitude: pickup_lat
  homeLongitude: pickup_lon
  workLatitude: dropoff_lat
  workLongitude: dropoff_lon
fields:
  - {name: time, type: datetime, constraints: {minimum: 2016-01-01, maximum: "2016-01-01T23:59:59"}}
  - {name: lat, type: number, constraints: {minimum: 40.65, maximum: 40.9}}
  - {name: lon, type: number, constraints: {minimum: -74.05, maximum: -73.85}}
"""
PEER = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import geopandas, numpy as np, pandas as pd
from shapely.geometry import box
from dp_mobility_report import DpMobilityReport, constants as const
west, east, south, north, *_ = json.loads(sys.argv[2])
trips = pd.read_csv(sys.argv[1], parse_dates=["datetime"])
answers = []
for asked in json.loads(sys.argv[3]):
    side = asked["side"]
    x, y = np.linspace(west, east, side + 1), np.linspace(south, north, side + 1)
    numbers = range(side * side)
    tiles = geopandas.GeoDataFrame(
        {"tile_id": [str(n) for n in numbers], "tile_name": [str(n) for n in numbers]},
        geometry=[box(x[n % side], y[n // side], x[n % side + 1], y[n // side + 1]) for n in numbers],
        crs="EPSG:4326",
    )
    found = DpMobilityReport(
        trips, tiles, privacy_budget=asked["epsilon"], max_trips_per_user=asked["trips"],
        analysis_selection=[getattr(const, asked["analysis"])], disable_progress_bar=True,
    ).report
    if asked["analysis"] == "OD_FLOWS":
        flows = found["od_flows"].data
        answers.append(flows[["origin", "destination", "flow"]].astype(int).values.tolist())
    else:
        visits = found["visits_per_tile"].data
        answers.append(visits[["tile_id", "visits"]].astype(int).values.tolist())
print(json.dumps(answers))
"""


class Peer:
    """dp-mobility-report in an interpreter of its own."""

    def __init__(self, python: str) -> None:
        self.python = python

    def asked(
        self, trips: pl.DataFrame, box: tuple[float, ...], asked: list[dict[str, Any]]
    ) -> list[list[list[int]]]:
        """Its answers to several questions about the same trips."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trips.csv"
            trips.write_csv(path)
            words = [self.python, "-c", PEER, str(path), json.dumps(box), json.dumps(asked)]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
        found: list[list[list[int]]] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    def flows(
        self, trips: pl.DataFrame, box: tuple[float, ...], asked: list[tuple[int, float]]
    ) -> list[Reals]:
        """Flows between areas at an epsilon, rows for where trips begin; one trip for each user."""
        questions = [{"side": s, "epsilon": e, "trips": 1, "analysis": "OD_FLOWS"} for s, e in asked]
        matrices = []
        for (side, _), answer in zip(asked, self.asked(trips, box, questions), strict=True):
            matrix = np.zeros((side**2, side**2))
            for start, end, flow in answer:
                matrix[start, end] = flow
            matrices.append(matrix)
        return matrices

    def visits(
        self, trips: pl.DataFrame, box: tuple[float, ...], kept: tuple[int, ...], epsilon: float
    ) -> list[Reals]:
        """Visits in each cell of the map that distances are measured on, by the number of kept calls."""
        questions = [
            {"side": SIDE, "epsilon": epsilon, "trips": each, "analysis": "VISITS_PER_TILE"} for each in kept
        ]
        maps = []
        for answer in self.asked(trips, box, questions):
            counts = np.zeros(SIDE**2)
            for place, many in answer:
                counts[place] = many
            maps.append(counts.reshape(SIDE, SIDE))
        return maps


def trips_of(people: pl.DataFrame, home: tuple[str, str], work: tuple[str, str]) -> pl.DataFrame:
    """One trip from home to work for every row."""
    start = pl.datetime(2011, 4, 1, 8)
    uid = pl.int_range(pl.len(), dtype=pl.Int64)
    ends = [
        people.select(
            uid=uid, tid=uid, datetime=start + pl.duration(hours=late), lat=pl.col(lat), lng=pl.col(lon)
        )
        for late, (lat, lon) in ((0, home), (1, work))
    ]
    return pl.concat(ends)


def true_flows(trips: pl.DataFrame, box: tuple[float, ...], side: int) -> Reals:
    west, east, south, north = box
    across, up = (
        np.clip(((trips[name].to_numpy() - low) / (high - low) * side).astype(int), 0, side - 1)
        for name, low, high in (("lng", west, east), ("lat", south, north))
    )
    cells = up * side + across
    half = len(cells) // 2
    matrix = np.zeros((side**2, side**2))
    np.add.at(matrix, (cells[:half], cells[half:]), 1.0)
    return matrix


def variation(one: Reals, two: Reals) -> float:
    """Half the sum of the differences of two matrices of shares; an empty one is an even one."""
    other = two if two.sum() > 0 else np.ones_like(two)
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


def flows(
    peer: Peer, trips: pl.DataFrame, rows_: pl.DataFrame, described: Schema, epsilon: str, run: int
) -> dict[str, float]:
    """How far the flows of both are from the truth, for every number of areas."""
    region = Region.of(described)
    box = (region.west, region.east, region.south, region.north)
    made = penstock.release(rows_, described, epsilon=epsilon, seed=run)
    assert isinstance(made, CallsRelease)
    asked = [(side, float(epsilon) / part) for side in AREAS for part in (1, 4)]
    theirs = dict(zip(asked, peer.flows(trips, box, asked), strict=True))
    found = {}
    for side in AREAS:
        truth = true_flows(trips, box, side)
        for part, words in ((1, "all"), (4, "a quarter")):
            found[f"{side} x {side} areas, dp-mobility-report, {words}"] = variation(
                truth, theirs[side, float(epsilon) / part]
            )
        found[f"{side} x {side} areas, dp-where"] = variation(truth, made.matrix(side))
        found[f"{side} x {side} areas, even"] = variation(truth, np.ones_like(truth))
    return found


def visits(
    peer: Peer, chosen: pl.DataFrame, confirmed: pl.DataFrame, epsilon: str, run: int
) -> dict[str, float]:
    """How far the maps of all calls are from the truth."""
    region = Region.of(schema(DAYS))
    box, cell = (region.west, region.east, region.south, region.north), region.cell_size(SIDE)

    def asked(frame: pl.DataFrame, kept: tuple[int, ...]) -> list[float]:
        one = frame.select(
            uid=pl.col("phone").cast(pl.Int64),
            tid=pl.int_range(pl.len(), dtype=pl.Int64),
            datetime=pl.col("time"),
            lat=pl.col("lat"),
            lng=pl.col("lon"),
        )
        truth = by_hour(frame, region).sum(axis=0)
        return [
            earth_movers_distance(truth, found if found.sum() > 0 else np.ones_like(found), cell)
            for found in peer.visits(one, box, kept, float(epsilon))
        ]

    kept = KEPT[int(np.argmin(asked(chosen, KEPT)))]
    made = penstock.release(confirmed, schema(DAYS), epsilon=epsilon, seed=run)
    assert isinstance(made, CallsRelease)
    ours = synthetic_seen(made, run).hours.reshape(HOURS, SIDE, SIDE).sum(axis=0)
    return {
        "kept": kept,
        "map, dp-mobility-report, all": asked(confirmed, (kept,))[0],
        "map, dp-where": earth_movers_distance(by_hour(confirmed, region).sum(axis=0), ours, cell),
    }


def ordered(peer: Peer) -> dict[str, int]:
    """In how many of five reports at epsilon 0.01 the tiles stand in the order of their true visits."""
    visits = [7, 31, 3, 19, 12, 25, 40, 1, 50]
    place = np.repeat(np.arange(len(visits)), visits)
    number = np.arange(len(place))
    trips = pl.DataFrame({"uid": number, "tid": number, "lat": place // 3 + 0.5, "lng": place % 3 + 0.5})
    trips = trips.with_columns(datetime=pl.datetime(2011, 4, 1, 8))
    asked = [{"side": 3, "epsilon": 0.01, "trips": 1, "analysis": "VISITS_PER_TILE"}] * 5
    answers = peer.asked(trips, (0.0, 3.0, 0.0, 3.0), asked)
    true = np.argsort(visits)[::-1].tolist()
    return {"reports": len(answers), "in order": sum([tile for tile, _ in each] == true for each in answers)}


def taxi() -> pl.DataFrame:
    """Taxi trips within a box, each one a caller who lives where it begins and works where it ends."""
    west, east, south, north = TAXI
    frame = pl.read_csv(file("nyc_taxi/nyc_taxi_manhattan_2016_4d.csv.gz"))
    for end in ("pickup", "dropoff"):
        frame = frame.filter(
            pl.col(f"{end}_lon").is_between(west, east) & pl.col(f"{end}_lat").is_between(south, north)
        )
    return frame.with_columns(
        trip=pl.int_range(pl.len()),
        time=pl.lit("2016-01-01T12:00"),
        lat=pl.col("pickup_lat"),
        lon=pl.col("pickup_lon"),
    )


def rows(book: Book) -> Iterator[str]:
    """The table of the page."""
    yield "\n## Beside dp-mobility-report\n"
    yield (
        "Flows: half the sum of all differences of shares, 0 to 1. Map of all calls: miles. Mean of "
        f"up to {RUNS} runs (least and largest).\n"
    )
    yield "| | " + " | ".join(f"ε = {e}" for e in EPSILONS) + " |"
    yield "|---|" + "--:|" * len(EPSILONS)
    for group in ("city", "taxi", "visits"):
        names: dict[str, None] = {}
        for key, entry in book.found.items():
            if key.startswith(f"peer, {group}|"):
                names |= dict.fromkeys(name for name in entry if name != "kept")
        for name in sorted(names):
            cells = []
            for epsilon in EPSILONS:
                mean = book.mean(f"peer, {group}", epsilon, name)
                ends = book.spread(f"peer, {group}", epsilon, name)
                cells.append(
                    "" if mean is None or ends is None else f"{mean:.2f} ({ends[0]:.2f}–{ends[1]:.2f})"
                )
            where = {"city": "city: ", "taxi": "taxi trips: ", "visits": "city: "}[group]
            yield f"| {where}{name} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="an interpreter with dp-mobility-report")
    peer, book = Peer(parser.parse_args().python), Book(RESULTS)
    confirmed = city(2, CALLERS)
    people = confirmed.unique("phone", keep="first", maintain_order=True)
    of_city = trips_of(people, ("home_lat", "home_lon"), ("work_lat", "work_lon"))
    few = city(1, VISITORS), city(2, VISITORS)
    rides = taxi()
    of_taxi = trips_of(rides, ("pickup_lat", "pickup_lon"), ("dropoff_lat", "dropoff_lon"))
    book.once("peer, order|0.01|0", partial(ordered, peer))
    for run in range(RUNS):
        for epsilon in EPSILONS:
            book.once(
                f"peer, city|{epsilon}|{run}",
                partial(flows, peer, of_city, confirmed, schema(DAYS), epsilon, run),
            )
            book.once(
                f"peer, taxi|{epsilon}|{run}",
                partial(flows, peer, of_taxi, rides, Schema.from_yaml(TAXI_SCHEMA), epsilon, run),
            )
            book.once(f"peer, visits|{epsilon}|{run}", partial(visits, peer, *few, epsilon, run))


if __name__ == "__main__":
    main()
