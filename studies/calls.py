"""DP-WHERE on the synthetic city: M1 to M4.

    python studies/calls_data.py city.parquet --days 5      # once: 250,000 callers, 10 million calls
    python studies/calls.py city.parquet                    # releases and distances; goes on if stopped
    python studies/calls_page.py                            # docs/studies/calls-tables.md, with all studies

What is found is kept in `studies/calls_results.json`; delete a line there to have it measured again.

Distances are earth mover's distances in miles on a grid of 20 x 20 cells, between the calls of 10,000
synthetic callers and all calls, mean over 24 hours. WHERE is the generator without privacy. Every cell of a
table is the mean of a few seeded runs; each run is kept as soon as it is done.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calls_data import RESULTS, Book, Remembered, middles, schema, where
from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, Seen, distances, synthetic_seen
from penstock.kinds.calls.published import PublishedWhere
from penstock.kinds.calls.region import HOURS, Groups, Reals, Region, cell_of
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.tables import Tables
from penstock.kinds.calls.where import Where
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness

DAYS = 5
EPSILONS = ("0.13", "0.23", "0.33")
RUNS = 3

Method = Callable[[], Any]
METHODS: dict[str, Method] = {
    "dp-where": Where,
    "dp-where, grid": lambda: Where(areas="grid"),
    "published, 40 x 40": lambda: PublishedWhere(side=40, commute_side=10),
    "published, 40 x 40, tight": lambda: PublishedWhere(side=40, commute_side=10, scales="tight"),
}


def truth(counted: Remembered, region: Region, calls: Any) -> Seen:
    """What the original looks like: calls by hour and cell, homes, work, and daily ranges of some callers."""
    hours = counted.hourly(Groups.blocks(SIDE, SIDE), shared=False).astype(np.float64)
    maps = {}
    for name in ("home", "work"):
        place = getattr(counted.callers, name)
        cells = np.asarray(cell_of(place[:, 0], place[:, 1], SIDE))
        maps[name] = np.bincount(cells, minlength=SIDE**2).astype(np.float64)
    return Seen(hours, maps["home"], maps["work"], calls, np.zeros(0))


def measured(release: CallsRelease, original: Seen, seed: int) -> dict[str, Any]:
    """How far synthetic callers are from the original."""
    cell = release.region.cell_size(SIDE)
    seen = synthetic_seen(release, seed)
    hourly = distances(original, seen, cell)
    maps = {
        name: earth_movers_distance(
            getattr(original, name).reshape(SIDE, SIDE), getattr(seen, name).reshape(SIDE, SIDE), cell
        )
        for name in ("home", "work")
    }
    return {
        "emd": float(np.mean(list(hourly.values()))),
        "hours": {str(hour): value for hour, value in hourly.items()},
        **maps,
        "quartiles": np.percentile(seen.ranges, (2, 25, 50, 75, 98)).tolist(),
    }


def plain(tables: Tables, described: Any) -> CallsRelease:
    """Tables without privacy as a release, to draw from: for studies alone."""
    receipt = Budget(1).receipt(described.unit, described.relation)
    return CallsRelease(method="dp-where", schema=described, receipt=receipt, tables=tables)


def releases(path: Path, book: Book) -> None:
    """All methods at all budgets, and the references."""
    described = schema(DAYS)
    region = Region.of(described)
    counted = Remembered.read(path, described)
    original = truth(counted, region, np.zeros(0))
    calls = Calls(counted, described)
    for side, commute_side in ((40, 10), (128, 16)):
        tables = where(counted, region, side, commute_side)
        for run in range(RUNS):
            book.once(
                f"WHERE, {side} x {side}|-|{run}",
                partial(measured, plain(tables, described), original, run),
            )
    even = where(counted, region, 40, 10).but(
        home=np.full(1600, 1 / 1600),
        work=np.full(1600, 1 / 1600),
        hours=np.full((HOURS, 1600), 1 / 1600),
    )
    book.once("even homes and work|-|0", lambda: measured(plain(even, described), original, 0))
    for run in range(RUNS):
        for epsilon in EPSILONS:
            for name, make in METHODS.items():
                budget = Budget(epsilon, randomness=Randomness.seeded(1000 * run + 7))
                book.once(
                    f"{name}|{epsilon}|{run}",
                    partial(_fitted, make, calls, budget, original, run),
                )


def _fitted(make: Any, calls: Calls, budget: Budget, original: Any, run: int) -> dict[str, Any]:
    return measured(make().fit(calls, budget), original, run)


def tree_homes(path: Path, book: Book) -> None:
    """M4: the map of homes at epsilon 0.05 of its own, by the tree and on a grid."""
    described = schema(DAYS)
    region = Region.of(described)
    counted = Remembered.read(path, described)
    calls = Calls(counted, described)
    original = truth(counted, region, np.zeros(0)).home.reshape(SIDE, SIDE)
    cell = region.cell_size(SIDE)
    for run in range(5):
        for name, method in {"tree": Where(), "grid": Where(areas="grid")}.items():

            def once(m: Where = method, r: int = run) -> dict[str, float]:
                budget = Budget("0.05", randomness=Randomness.seeded(50 + r))
                shares = m._places(calls, "home", float(counted.callers.size), budget)
                merged = np.bincount(
                    np.asarray(cell_of(*middles(128), SIDE)), weights=shares, minlength=SIDE**2
                )
                found: Reals = merged.astype(np.float64).reshape(SIDE, SIDE)
                return {"emd": earth_movers_distance(original, found, cell)}

            book.once(f"home at 0.05, {name}|0.05|{run}", once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    path, book = parser.parse_args().path, Book(RESULTS)
    tree_homes(path, book)
    releases(path, book)


if __name__ == "__main__":
    main()
