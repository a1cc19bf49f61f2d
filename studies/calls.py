"""DP-WHERE on the synthetic city: M1 to M4, and why the published curves are no targets.

    python studies/calls_data.py city.parquet --days 5         # once: 250,000 callers, 10 million calls
    python studies/calls.py city.parquet --out calls.json      # releases and distances; goes on if stopped
    python studies/calls.py --home --out calls.json            # the map of homes alone, by grid and epsilon
    python studies/calls.py --page --out calls.json            # docs/studies/calls-tables.md

Distances are earth mover's distances in miles on a grid of 20 x 20 cells, between the calls of 10,000
synthetic callers and all calls, mean over 24 hours. WHERE is the generator without privacy. Every cell of a
table is the mean of a few seeded runs; each run is kept as soon as it is done.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from calls_data import Remembered, schema, where
from penstock.engine.source import read
from penstock.kinds.calls.data import Calls
from penstock.kinds.calls.database import InDatabase
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.evaluation import SIDE, Seen, distances, synthetic_seen
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.published import PublishedWhere
from penstock.kinds.calls.region import HOURS, Groups, Reals, Region, cell_of
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.tables import Tables, from_cumulative
from penstock.kinds.calls.where import Where
from penstock.privacy.budgets.accounting import amplified
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness

DAYS = 5
EPSILONS = ("0.13", "0.23", "0.33")
RUNS = 2
HOME_SIDES = (50, 200, 2000)
HOME_GRID = 25
"""Homes of these grids are compared on one that all of them can be merged to."""
HOME_EPSILONS = ("1", "0.1", "0.05", "0.01")
PAGE = Path(__file__).parents[1] / "docs/studies/calls-tables.md"
ALLOWED = {"M1": 2.2, "M3": 1.3, "M4": 1.5}

Method = Callable[[], Any]
METHODS: dict[str, Method] = {
    "dp-where": Where,
    "dp-where, grid": lambda: Where(areas="grid"),
    "published, 40 x 40": lambda: PublishedWhere(side=40, commute_side=10),
    "published, 40 x 40, tight": lambda: PublishedWhere(side=40, commute_side=10, scales="tight"),
}


class Book:
    """What was found, in a file that is written after every run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def once(self, key: str, run: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = run()
            self.path.write_text(json.dumps(self.found, indent=1))
            print(key, self.found[key], flush=True)
        return self.found[key]


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
    region, layout = Region.of(described), CallsLayout.of(described)
    counted = Remembered(InDatabase(read(str(path)), described, layout, region))
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


def homes(book: Book, callers: int = 250_000) -> None:
    """The map of homes alone: Algorithm 2 on several grids, its copy that is not private, and the tree.

    The noise is drawn here with NumPy, in the published scale 2/epsilon: to see what it does, no release.
    """
    from penstock.demo.phones import City, _degrees

    people = City().people(callers, np.random.default_rng(1))["home"]
    places = _degrees("", people)
    region = Region.of(schema(DAYS))
    x = ((places["lon"] - region.west) / (region.east - region.west) * (1 << 20)).astype(np.int64)
    y = ((places["lat"] - region.south) / (region.north - region.south) * (1 << 20)).astype(np.int64)
    coarse = np.bincount(np.asarray(cell_of(x, y, HOME_GRID)), minlength=HOME_GRID**2).astype(np.float64)
    for side in HOME_SIDES:
        counts = np.bincount(np.asarray(cell_of(x, y, side)), minlength=side**2)
        merged = np.asarray(cell_of(*_middles(side), HOME_GRID))
        for epsilon in HOME_EPSILONS:
            book.once(
                f"home, Algorithm 2, {side} x {side}|{epsilon}|0",
                partial(_home_emd, counts, merged, float(epsilon), coarse, region, accumulate=True),
            )
            if side == HOME_SIDES[-1]:
                book.once(
                    f"home, noise not accumulated, {side} x {side}|{epsilon}|0",
                    partial(_home_emd, counts, merged, float(epsilon), coarse, region, accumulate=False),
                )


def _middles(side: int) -> tuple[Any, Any]:
    cells = np.arange(side**2)
    width = (1 << 20) / side
    return (((cells % side) + 0.5) * width).astype(np.int64), (((cells // side) + 0.5) * width).astype(
        np.int64
    )


def _home_emd(
    counts: Any, merged: Any, epsilon: float, coarse: Reals, region: Region, *, accumulate: bool
) -> dict[str, float]:
    rng = np.random.default_rng(3)
    noise = rng.laplace(0, 2 / epsilon, len(counts))
    if accumulate:
        shares = from_cumulative(counts + noise)
    else:
        risen = np.maximum.accumulate(np.cumsum(counts) + noise)
        shares = np.diff(np.maximum(risen, 0), prepend=0.0) / max(risen[-1], 1.0)
    weights = np.bincount(merged, weights=np.maximum(shares, 0), minlength=HOME_GRID**2)
    found: Reals = weights.astype(np.float64).reshape(HOME_GRID, HOME_GRID)
    true = np.cumsum(counts) / counts.sum()
    return {
        "emd": earth_movers_distance(
            coarse.reshape(HOME_GRID, HOME_GRID), found, region.cell_size(HOME_GRID)
        ),
        "ks": float(np.abs(np.cumsum(shares) - true).max()),
    }


def tree_homes(path: Path, book: Book) -> None:
    """M4: the map of homes at epsilon 0.05 of its own, by the tree and on a grid."""
    described = schema(DAYS)
    region = Region.of(described)
    counted = Remembered(InDatabase(read(str(path)), described, CallsLayout.of(described), region))
    calls = Calls(counted, described)
    original = truth(counted, region, np.zeros(0)).home.reshape(SIDE, SIDE)
    cell = region.cell_size(SIDE)
    for run in range(5):
        for name, method in {"tree": Where(), "grid": Where(areas="grid")}.items():

            def once(m: Where = method, r: int = run) -> dict[str, float]:
                budget = Budget("0.05", randomness=Randomness.seeded(50 + r))
                shares = m._places(calls, "home", float(len(counted.callers)), budget)
                merged = np.bincount(
                    np.asarray(cell_of(*_middles(128), SIDE)), weights=shares, minlength=SIDE**2
                )
                found: Reals = merged.astype(np.float64).reshape(SIDE, SIDE)
                return {"emd": earth_movers_distance(original, found, cell)}

            book.once(f"home at 0.05, {name}|0.05|{run}", once)


def rows(book: Book) -> Iterator[str]:
    """The page: one table of distances, one of homes, and what was promised."""
    found = book.found

    def mean(name: str, epsilon: str, what: str) -> float | None:
        values = [
            entry[what]
            for key, entry in found.items()
            if key.startswith(f"{name}|{epsilon}|") and what in entry
        ]
        return None if not values else float(np.mean(values))

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    known = [name for name in METHODS if any(key.startswith(f"{name}|") for key in found)]
    yield "# Tables of the study of calls\n"
    yield "Made by `python studies/calls.py --page`; see [the study](calls.md).\n"
    yield "## Distance of the maps of calls\n"
    yield "Mean earth mover's distance in miles over 24 hours.\n"
    yield f"| | no privacy | {' | '.join(f'ε = {e}' for e in EPSILONS)} |"
    yield "|---|--:|" + "--:|" * len(EPSILONS)
    for name in ("WHERE, 40 x 40", "WHERE, 128 x 128", "even homes and work"):
        yield f"| {name} | {cell(mean(name, '-', 'emd'))} |" + " |" * len(EPSILONS)
    for name in known:
        yield f"| {name} | | " + " | ".join(cell(mean(name, e, "emd")) for e in EPSILONS) + " |"
    for what, title in (("home", "homes"), ("work", "places of work")):
        yield f"\n## Distance of the maps of {title}\n"
        yield f"| | no privacy | {' | '.join(f'ε = {e}' for e in EPSILONS)} |"
        yield "|---|--:|" + "--:|" * len(EPSILONS)
        yield f"| WHERE, 40 x 40 | {cell(mean('WHERE, 40 x 40', '-', what))} |" + " |" * len(EPSILONS)
        for name in known:
            yield f"| {name} | | " + " | ".join(cell(mean(name, e, what)) for e in EPSILONS) + " |"
    yield "\n## Daily range\n"
    yield "Percentiles in miles, of 10,000 synthetic callers.\n"
    yield "| | ε | 2 % | 25 % | 50 % | 75 % | 98 % |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, epsilon in [
        ("WHERE, 40 x 40", "-"),
        *((n, e) for n in ("dp-where", "published, 40 x 40") for e in EPSILONS),
    ]:
        cuts = [entry["quartiles"] for key, entry in found.items() if key.startswith(f"{name}|{epsilon}|")]
        if cuts:
            yield (
                f"| {name} | {epsilon} | "
                + " | ".join(f"{each:.2f}" for each in np.mean(cuts, axis=0))
                + " |"
            )
    yield "\n## The map of homes by Algorithm 2, 250,000 callers\n"
    yield "Miles; in brackets the largest difference of the cumulative shares.\n"
    yield f"| | {' | '.join(f'ε = {e}' for e in HOME_EPSILONS)} |"
    yield "|---|" + "--:|" * len(HOME_EPSILONS)
    names = [f"home, Algorithm 2, {side} x {side}" for side in HOME_SIDES]
    for name in [*names, f"home, noise not accumulated, {HOME_SIDES[-1]} x {HOME_SIDES[-1]}"]:
        shown = []
        for epsilon in HOME_EPSILONS:
            far, ks = mean(name, epsilon, "emd"), mean(name, epsilon, "ks")
            shown.append("" if far is None or ks is None else f"{far:.2f} ({ks:.4f})")
        yield f"| {name.removeprefix('home, ')} | {' | '.join(shown)} |"
    yield "\n## What was promised\n"
    yield "| | promised | found |"
    yield "|---|---|---|"
    reference = mean("WHERE, 40 x 40", "-", "emd")
    even = mean("even homes and work", "-", "emd")
    if reference is not None and even is not None:
        for epsilon in EPSILONS:
            ours = mean("dp-where", epsilon, "emd")
            if ours is not None:
                far = abs(ours - reference)
                yield f"| M1, ε = {epsilon} | within {ALLOWED['M1']} miles of WHERE | {far:.2f} |"
                yield f"| M2, ε = {epsilon} | better than even homes and work ({even:.2f}) | {ours:.2f} |"
                quart = [
                    e["quartiles"][1:4] for k, e in found.items() if k.startswith(f"dp-where|{epsilon}|")
                ]
                base = [e["quartiles"][1:4] for k, e in found.items() if k.startswith("WHERE, 40 x 40|")]
                apart = float(np.abs(np.mean(quart, axis=0) - np.mean(base, axis=0)).max())
                words = f"quartiles of daily ranges within {ALLOWED['M3']} miles of WHERE"
                yield f"| M3, ε = {epsilon} | {words} | {apart:.2f} |"
    for name in ("tree", "grid"):
        found_m4 = mean(f"home at 0.05, {name}", "0.05", "emd")
        if found_m4 is not None:
            yield f"| M4, {name} | homes at ε = 0.05 within {ALLOWED['M4']} miles | {found_m4:.2f} |"
    half = amplified("0.23", "0.05")
    yield "\n## Sampling\n"
    yield (
        "A release of a secret sample of one caller in twenty at ε = 0.23 costs "
        f"{float(half):.5f}: ln(1 + p(e^ε − 1)). The published bound 2pε says {2 * 0.05 * 0.23:.4f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("calls.json"))
    parser.add_argument("--home", action="store_true")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    book = Book(given.out)
    if given.home:
        homes(book)
    if given.path is not None:
        tree_homes(given.path, book)
        releases(given.path, book)
    if given.page:
        PAGE.write_text("\n".join(rows(book)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
