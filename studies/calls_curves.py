"""Why the published curves of DP-WHERE are no targets: its algorithms at its own grids and budgets.

    python studies/calls_curves.py                  # a few minutes; goes on if stopped
    python studies/calls_page.py                    # docs/studies/calls-tables.md

Three things are looked at on the synthetic city, each alone and with everything else exact: the map of homes
by Algorithm 2, and by the copy of it that shows the behaviour of the paper and is not private; calls by the
hour, in groups of cells by rows or in blocks, with and without the noise of Algorithm 6; and 2-means from a
random start. Noise is drawn here with NumPy, to see what it does: no release is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from calls_data import RESULTS, Book, middles, schema, two_means
from penstock.demo.phones import City, _degrees
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.region import HOURS, STEPS, Groups, Numbers, Reals, Region, cell_of
from penstock.kinds.calls.tables import from_cumulative, probability, public_profiles

CALLERS = 250_000
RUNS = 3
SIDES = (50, 200, 2000)
EPSILONS = ("1", "0.1", "0.05", "0.01", "0.0001", "0.000001")
GRID = 25
"""Homes of these grids are compared on one that all of them can be merged to."""
FINE, DAYS, BUSIEST = 2000, 91, 120
"""The grid, the days and the bound on calls an hour of the paper."""
ALL_CALLS = 1e9
HOURS_ASKED = (3, 9, 12, 15, 18, 21)
HOUR_GRID = 20
BLOCK = 47
BUDGETS = ("0.1", "0.05", "0.02")
STARTS = 10
STARTS_FROM = {
    "public": "public profiles",
    "random": "random numbers, divided by their sum",
    "simplex": "random, even over all profiles",
}
TABLE = {
    "WHERE": (3.2150, 3.3396, 3.0871),
    "0.33": (3.5316, 3.1655, 4.5687),
    "0.23": (3.4066, 4.5577, 5.1691),
    "0.13": (5.3391, 5.3194, 5.2754),
}
"""The published mean distances in miles, for commute cells of 0.01, 0.025 and 0.05 degrees."""


def lattice(frame: Any, region: Region, east: str = "lon", north: str = "lat") -> tuple[Numbers, Numbers]:
    """Places in degrees as steps of the lattice."""
    across = (np.asarray(frame[east]) - region.west) / (region.east - region.west)
    up = (np.asarray(frame[north]) - region.south) / (region.north - region.south)
    x, y = (np.clip(each * STEPS, 0, STEPS - 1).astype(np.int64) for each in (across, up))
    return x, y


def homes(book: Book, region: Region) -> None:
    """The map of homes by Algorithm 2, and with noise that does not accumulate."""
    x, y = lattice(_degrees("", City().people(CALLERS, np.random.default_rng(1))["home"]), region)
    coarse = np.bincount(np.asarray(cell_of(x, y, GRID)), minlength=GRID**2).astype(np.float64)
    for side in SIDES:
        counts = np.bincount(np.asarray(cell_of(x, y, side)), minlength=side**2)
        merged = np.asarray(cell_of(*middles(side), GRID))
        for epsilon in EPSILONS:
            for run in range(RUNS):
                for name, adds in (("Algorithm 2", True), ("noise not accumulated", False)):
                    if adds or side == SIDES[-1]:
                        book.once(
                            f"home, {name}, {side} x {side}|{epsilon}|{run}",
                            partial(_home, counts, merged, float(epsilon), coarse, region, run, adds),
                        )


def _home(
    counts: Numbers, merged: Numbers, epsilon: float, coarse: Reals, region: Region, run: int, adds: bool
) -> dict[str, float]:
    noise = np.random.default_rng(10 + run).laplace(0, 2 / epsilon, len(counts))
    if adds:
        shares = from_cumulative(counts + noise)
    else:  # the same post-processing, of cumulative counts of which each has noise of its own
        shares = from_cumulative(np.diff(np.cumsum(counts) + noise, prepend=0.0))
    weights = np.bincount(merged, weights=shares, minlength=GRID**2)
    found: Reals = weights.astype(np.float64).reshape(GRID, GRID)
    true = np.cumsum(counts) / counts.sum()
    return {
        "emd": earth_movers_distance(coarse.reshape(GRID, GRID), found, region.cell_size(GRID)),
        "ks": float(np.abs(np.cumsum(shares) - true).max()),
    }


def hours(book: Book, region: Region) -> None:
    """Calls by the hour: what grouping alone costs, and what the noise of Algorithm 6 leaves of them."""
    frame = City().calls(50_000, days=2, rng=np.random.default_rng(4))
    x, y = lattice(frame, region)
    hour = frame["time"].dt.hour().to_numpy()
    caller = np.unique(frame["phone"].to_numpy(), return_inverse=True)[1]
    shares = 1 / np.bincount(caller)[caller] * (CALLERS / (caller.max() + 1))
    calls = np.full(len(x), ALL_CALLS / len(x))
    strips = Groups.runs(FINE, HOURS * DAYS)
    blocks = Groups.blocks(FINE, FINE // BLOCK)
    scale = float(BUSIEST * DAYS * HOURS)
    for name, groups, weight, most in (
        ("strips of 2,184 cells, every call", strips, calls, scale),
        ("blocks of 47 x 47 cells, every call", blocks, calls, scale),
        ("blocks of 47 x 47 cells, by share of callers", blocks, shares, 1.0),
        ("16 x 16 blocks, by share of callers", Groups.blocks(FINE, 16), shares, 1.0),
    ):
        place = np.asarray(groups.of_place(x, y))
        for epsilon in ("-", "0.1", "0.05", "0.01"):
            for run in range(1 if epsilon == "-" else RUNS):
                noise = 0.0 if epsilon == "-" else most / float(epsilon)
                book.once(
                    f"hours, {name}|{epsilon}|{run}",
                    partial(_hours, x, y, hour, place, weight, groups, noise, region, run),
                )


def _hours(
    x: Numbers,
    y: Numbers,
    hour: Any,
    place: Numbers,
    weight: Reals,
    groups: Groups,
    noise: float,
    region: Region,
    run: int,
) -> dict[str, float]:
    rng, cell = np.random.default_rng(run), region.cell_size(HOUR_GRID)
    coarse, apart = np.asarray(cell_of(x, y, HOUR_GRID)), []
    cells = np.arange(FINE**2)
    group, at = groups.of_cell(cells), np.asarray(cell_of(*middles(FINE), HOUR_GRID))
    sizes = np.bincount(group, minlength=groups.size)
    for each in HOURS_ASKED:
        now = hour == each
        truth: Reals = np.bincount(coarse[now], weight[now], HOUR_GRID**2).astype(np.float64)
        counts: Reals = np.bincount(place[now], weight[now], groups.size).astype(np.float64)
        if noise:
            counts = counts + rng.laplace(0, noise, groups.size)
        even = from_cumulative(counts) / np.maximum(sizes, 1)
        found: Reals = np.bincount(at, even[group], HOUR_GRID**2).astype(np.float64)
        square = (HOUR_GRID, HOUR_GRID)
        apart.append(earth_movers_distance(truth.reshape(square), found.reshape(square), cell))
    return {"emd": float(np.mean(apart))}


def starts(book: Book) -> None:
    """2-means with the published noise, from a random start and from public profiles."""
    frame = City().calls(50_000, days=5, rng=np.random.default_rng(5))
    caller = np.unique(frame["phone"].to_numpy(), return_inverse=True)[1]
    hour = frame["time"].dt.hour().to_numpy().astype(np.int64)
    table = np.bincount(caller * HOURS + hour, minlength=(caller.max() + 1) * HOURS).reshape(-1, HOURS)
    profiles = table / table.sum(axis=1, keepdims=True)
    _, exact = two_means(profiles)
    for epsilon in BUDGETS:
        for run in range(STARTS):
            for name in STARTS_FROM:
                book.once(
                    f"2-means, {name} start|{epsilon}|{run}",
                    partial(_start, profiles, exact, float(epsilon), name, run),
                )


def _start(profiles: Reals, exact: Reals, epsilon: float, name: str, run: int) -> dict[str, float]:
    rng, rounds = np.random.default_rng(20 + run), 5
    centres = {
        "public": public_profiles(),
        "random": probability_rows(rng.random((2, HOURS))),
        "simplex": rng.dirichlet(np.ones(HOURS), 2),
    }[name]
    scale = epsilon / (2 * rounds) * CALLERS / len(profiles)
    for _ in range(rounds):
        far = np.stack([((profiles - centre) ** 2).sum(axis=1) for centre in centres])
        nearest = far.argmin(axis=0)
        sums = np.stack([profiles[nearest == kind].sum(axis=0) for kind in range(2)])
        sizes = np.bincount(nearest, minlength=2) + rng.laplace(0, 1 / scale, 2)
        noisy = sums + rng.laplace(0, 2 / scale, sums.shape)
        centres = probability_rows(noisy / np.maximum(sizes, 1)[:, None])
    ways = [np.abs(centres - other).sum(axis=1).mean() for other in (exact, exact[::-1])]
    return {"l1": float(min(ways))}


def probability_rows(rows: Reals) -> Reals:
    return np.stack([probability(row) for row in rows])


def rows(book: Book) -> Iterator[str]:
    """The tables of the page."""
    yield f"\n## The map of homes by Algorithm 2, {CALLERS:,} callers\n"
    yield f"Miles, mean of {RUNS} runs; in brackets the largest difference of the cumulative shares.\n"
    yield f"| | {' | '.join(f'ε = {e}' for e in EPSILONS)} |"
    yield "|---|" + "--:|" * len(EPSILONS)
    names = [f"home, Algorithm 2, {side} x {side}" for side in SIDES]
    for name in [*names, f"home, noise not accumulated, {SIDES[-1]} x {SIDES[-1]}"]:
        cells = [(book.mean(name, e, "emd"), book.mean(name, e, "ks")) for e in EPSILONS]
        shown = ["" if far is None or ks is None else f"{far:.2f} ({ks:.4f})" for far, ks in cells]
        yield f"| {name.removeprefix('home, ')} | {' | '.join(shown)} |"
    yield "\n## Calls by the hour alone\n"
    yield (
        "Miles between the map of an hour and the same map in groups of cells, mean of six hours; the noise "
        "is that of a billion calls of 250,000 callers on 91 days.\n"
    )
    asked = ("-", "0.1", "0.05", "0.01")
    yield "| | no noise | " + " | ".join(f"ε = {e}" for e in asked[1:]) + " |"
    yield "|---|" + "--:|" * len(asked)
    for name in sorted({key.split("|")[0] for key in book.found if key.startswith("hours, ")}, reverse=True):
        apart = [book.mean(name, e, "emd") for e in asked]
        yield f"| {name.removeprefix('hours, ')} | " + " | ".join(_cell(each) for each in apart) + " |"
    yield "\n## The start of 2-means\n"
    yield f"L1 error of the two profiles after five rounds, {STARTS} runs: mean, and the largest.\n"
    yield "| | " + " | ".join(f"ε = {e}" for e in BUDGETS) + " |"
    yield "|---|" + "--:|" * len(BUDGETS)
    for name, words in STARTS_FROM.items():
        key = f"2-means, {name} start"
        shown = []
        for epsilon in BUDGETS:
            mean, ends = book.mean(key, epsilon, "l1"), book.spread(key, epsilon, "l1")
            shown.append("" if mean is None or ends is None else f"{mean:.3f} ({ends[1]:.3f})")
        yield f"| {words} | {' | '.join(shown)} |"

    yield "\n## The published table, and its differences from WHERE\n"
    yield "| commute cells | 0.01° | 0.025° | 0.05° |"
    yield "|---|--:|--:|--:|"
    for name, values in TABLE.items():
        pairs = zip(values, TABLE["WHERE"], strict=True)
        shown = [
            f"{each:.4f}" if name == "WHERE" else f"{each:.4f} ({each - base:+.4f})" for each, base in pairs
        ]
        yield f"| {name if name == 'WHERE' else f'ε = {name}'} | {' | '.join(shown)} |"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def main() -> None:
    book, region = Book(RESULTS), Region.of(schema(5))
    starts(book)
    hours(book, region)
    homes(book, region)


if __name__ == "__main__":
    main()
