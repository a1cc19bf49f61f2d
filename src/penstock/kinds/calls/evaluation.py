"""Evaluation of a release of calls: where calls are by the hour, homes and work, and daily ranges.

Maps are compared by the earth mover's distance on a grid of 20 cells each way, in miles: hour by hour, for
homes and for work. The floor is a map without knowledge, everything spread evenly; the ceiling is the
original with its callers drawn again. Calls are weighted as they are: a caller with many counts more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import read
from penstock.engine.part import part_of
from penstock.errors import DataError
from penstock.evaluation.findings import Evaluator, Findings, Options, compared_with
from penstock.evaluation.score import Score
from penstock.kinds.calls.callers import Callers
from penstock.kinds.calls.emd import earth_movers_distance
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.ranges import daily_ranges
from penstock.kinds.calls.reading import InMemory, coded_calls
from penstock.kinds.calls.region import HOURS, KILOMETRES, Numbers, Reals, Region, cell_of
from penstock.kinds.calls.release import CallsRelease
from penstock.kinds.calls.sampler import calls_of, population
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.curves import curves
from penstock.report.maps import grid_map
from penstock.report.page import Gallery, Section, Table
from penstock.report.picture import Picture
from penstock.report.pictures import histogram
from penstock.report.travel import PERCENTILES, spreads
from penstock.schema import Schema

SIDE = 20
SYNTHETIC = 10_000
MOST_DAYS = 30
MOST_RANGED = 2_000_000
RESAMPLED_CALLERS = "the original with its callers drawn again"


@dataclass(frozen=True, eq=False)
class Seen:
    """What is compared, of the original or of synthetic callers: calls by hour and cell, places, ranges."""

    hours: Reals
    home: Reals
    work: Reals
    ranges: Reals
    commutes: Reals

    @property
    def places(self) -> dict[str, Reals]:
        return {"home": self.home, "work": self.work}

    def hour_map(self, hour: int) -> Reals:
        return _square(self.hours[hour])


class CallsEvaluation(Evaluator):
    """How far maps by the hour, homes, work and daily ranges are from the original's."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, CallsRelease):
            raise DataError("Only a release of calls can be compared with calls.")
        layout, region = CallsLayout.of(schema), Region.of(schema)
        records = read(source, table=options.table)
        needed = [name for name in layout.columns if name in records.names]
        whose = [name for name in needed if name == layout.caller]
        records, part = part_of(records, needed, whose, options.seed)
        counted = InMemory(records, schema, layout, region)
        if not counted.callers.size:
            raise DataError("The data to compare with has no calls within the window.")
        calls = coded_calls(records.cells(layout.columns), schema, layout, region)
        caller, day, hour, x, y = (calls[name].to_numpy() for name in ("caller", "day", "hour", "x", "y"))
        original = _seen(caller, day, hour, x, y, counted.callers, region)
        synthetic = synthetic_seen(release, options.seed)
        rng = np.random.default_rng(options.seed)
        again = _again(caller, day, hour, x, y, counted.callers, region, rng)
        cell = region.cell_size(SIDE)
        hourly = distances(original, synthetic, cell)
        ceiling = distances(original, again, cell)
        flat = np.ones((SIDE, SIDE))
        floor = {hour: _emd(original.hour_map(hour), flat, cell) for hour in hourly}
        scores = [
            Score(
                "calls by the hour",
                _mean(hourly),
                floor=_mean(floor),
                ceiling=_mean(ceiling),
                note="earth mover's distance in miles between the maps of calls, mean over the hours of the "
                "day; floor: an even map",
            )
        ]
        for name in ("home", "work"):
            one, two, three = (each.places[name] for each in (original, synthetic, again))
            if one.sum() > 0:
                scores.append(
                    Score(
                        f"{name} map",
                        _emd(_square(one), _square(two), cell),
                        floor=_emd(_square(one), flat, cell),
                        ceiling=_emd(_square(one), _square(three), cell) if three.sum() > 0 else 0.0,
                        note=f"earth mover's distance in miles between maps of {name}; floor: an even map",
                    )
                )
        even = synthetic_seen(_even(release), options.seed)
        scores.append(
            Score(
                "daily range",
                quartiles_apart(original.ranges, synthetic.ranges),
                floor=quartiles_apart(original.ranges, even.ranges),
                ceiling=quartiles_apart(original.ranges, again.ranges),
                note="largest difference of the quartiles of daily ranges, in miles; floor: callers without "
                "knowledge",
            )
        )
        details = {
            "emd_miles_by_hour": {str(hour): round(value, 4) for hour, value in hourly.items()},
            "emd_kilometres_by_hour": {
                str(hour): round(value * KILOMETRES, 4) for hour, value in hourly.items()
            },
            "mean_emd_miles": _mean(hourly),
            "mean_emd_kilometres": _mean(hourly) * KILOMETRES,
            "daily_range_percentiles": {
                name: dict(zip(map(str, PERCENTILES), _percentiles(seen.ranges), strict=True))
                for name, seen in (("original", original), ("synthetic", synthetic))
            },
            "synthetic_callers": SYNTHETIC,
        }
        sections = _sections(release, original, synthetic, hourly, floor, ceiling)
        remarks = () if part is None else tuple(compared_with(*part))
        return Findings(tuple(scores), len(caller), details, sections, RESAMPLED_CALLERS, remarks)


def _seen(
    caller: Numbers, day: Numbers, hour: Numbers, x: Numbers, y: Numbers, people: Callers, region: Region
) -> Seen:
    return Seen(
        _by_hour(hour, x, y),
        _places(people.home),
        _places(people.work),
        daily_ranges(*_some(caller, day, x, y), region),
        _ways(people.home, people.work, region),
    )


def _some(caller: Numbers, day: Numbers, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers, Reals, Reals]:
    """The calls of the first callers, as many as daily ranges are measured for."""
    kept = slice(None)
    if len(caller) > MOST_RANGED:
        order = np.argsort(caller, kind="stable")
        last = caller[order[MOST_RANGED]]
        chosen = caller < last
        return caller[chosen], day[chosen], x[chosen].astype(np.float64), y[chosen].astype(np.float64)
    return caller[kept], day[kept], x.astype(np.float64), y.astype(np.float64)


def _by_hour(hour: Numbers, x: Any, y: Any) -> Reals:
    cells = np.asarray(cell_of(x, y, SIDE), dtype=np.int64)
    found = np.bincount(hour * SIDE**2 + cells, minlength=HOURS * SIDE**2)
    return found.reshape(HOURS, SIDE**2).astype(np.float64)


def _places(places: NDArray[np.int64]) -> Reals:
    known = places[places[:, 0] >= 0]
    cells = np.asarray(cell_of(known[:, 0], known[:, 1], SIDE), dtype=np.int64)
    return np.bincount(cells, minlength=SIDE**2).astype(np.float64)


def _ways(home: NDArray[np.int64], work: NDArray[np.int64], region: Region) -> Reals:
    known = (home[:, 0] >= 0) & (work[:, 0] >= 0)
    return region.miles(home[known, 0], home[known, 1], work[known, 0], work[known, 1])


def _again(
    caller: Numbers,
    day: Numbers,
    hour: Numbers,
    x: Numbers,
    y: Numbers,
    people: Callers,
    region: Region,
    rng: np.random.Generator,
) -> Seen:
    """The original with its callers drawn again: what a sample of the same size could say at best."""
    names = np.unique(caller)
    times = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
    weight = np.repeat(np.arange(len(caller)), times[np.searchsorted(names, caller)])
    chosen = rng.integers(people.size, size=people.size)
    return Seen(
        _by_hour(hour[weight], x[weight], y[weight]),
        _places(people.home[chosen]),
        _places(people.work[chosen]),
        daily_ranges(*_some(caller[weight], day[weight], x[weight], y[weight]), region),
        _ways(people.home[chosen], people.work[chosen], region),
    )


def synthetic_seen(release: CallsRelease, seed: int, size: int = SYNTHETIC) -> Seen:
    """The same of synthetic callers."""
    rng = np.random.default_rng(seed)
    people = population(release.tables, release.region, size, rng)
    drawn = calls_of(release.tables, people, min(MOST_DAYS, release.region.days), rng)
    x, y = drawn.x.astype(np.int64), drawn.y.astype(np.int64)
    home, work = people.home_place.astype(np.int64), people.work_place.astype(np.int64)
    return Seen(
        _by_hour(drawn.second // 3600, x, y),
        _places(home),
        _places(work),
        daily_ranges(*_some(drawn.caller, drawn.day, x, y), release.region),
        _ways(home, work, release.region),
    )


def _even(release: CallsRelease) -> CallsRelease:
    """The same release without knowledge of where anybody is: homes, work and ways are even."""
    from dataclasses import replace

    tables = release.tables
    side = tables.side
    flat = np.full(side**2, 1 / side**2)
    blank = tables.but(
        home=flat,
        work=flat,
        commute_side=1,
        edges=np.array([[0.0, release.region.diagonal]]),
        commute=np.ones((1, 1)),
        hours=np.full((HOURS, tables.groups.size), 1 / tables.groups.size),
    )
    return replace(release, tables=blank)


def distances(one: Seen, two: Seen, cell: tuple[float, float]) -> dict[int, float]:
    """The distance between two maps of calls for every hour in which there are calls in the first.

    A map without a call is compared as an even one.
    """
    found = {}
    with progress("comparing maps by the hour", total=HOURS) as step:
        for hour in range(HOURS):
            if one.hours[hour].sum() > 0:
                other = two.hour_map(hour)
                found[hour] = _emd(
                    one.hour_map(hour), other if other.sum() > 0 else np.ones_like(other), cell
                )
            step(1)
    return found


def _emd(one: Reals, two: Reals, cell: tuple[float, float]) -> float:
    return earth_movers_distance(one, two if two.sum() > 0 else np.ones_like(two), cell)


def _square(flat: Reals) -> Reals:
    return flat.reshape(SIDE, SIDE)


def _mean(values: dict[int, float]) -> float:
    return float(np.mean(list(values.values()))) if values else 0.0


def _percentiles(values: Reals) -> list[float]:
    return (
        [round(float(each), 4) for each in np.percentile(values, PERCENTILES)] if values.size else [0.0] * 5
    )


def quartiles_apart(one: Reals, two: Reals) -> float:
    """The largest difference of the three quartiles."""
    if not one.size or not two.size:
        return 0.0 if one.size == two.size else float(np.percentile(one if one.size else two, 75))
    return float(np.abs(np.percentile(one, (25, 50, 75)) - np.percentile(two, (25, 50, 75))).max())


def _sections(
    release: CallsRelease,
    original: Seen,
    synthetic: Seen,
    hourly: dict[int, float],
    floor: dict[int, float],
    ceiling: dict[int, float],
) -> list[Section]:
    layout, region = CallsLayout.of(release.schema), release.region
    across = np.linspace(region.west, region.east, SIDE + 1)
    up = np.linspace(region.south, region.north, SIDE + 1)
    maps = [
        grid_map(
            f"{title} {name}",
            across,
            up,
            _square(seen.places[name]).T,
            x_name=layout.longitude,
            y_name=layout.latitude,
            amount="callers",
        )
        for name in ("home", "work")
        for title, seen in (("Original", original), ("Synthetic", synthetic))
    ]
    lines = {
        "release": (list(hourly), list(hourly.values())),
        "floor: an even map": (list(floor), list(floor.values())),
        f"ceiling: {RESAMPLED_CALLERS}": (list(ceiling), list(ceiling.values())),
    }
    by_hour = curves(
        "Distance of the maps of calls, hour by hour",
        lines,
        x_name="hour of the day",
        y_name="miles",
        log_x=False,
        log_y=False,
    )
    return [
        Section(
            "How far calls are from where they were",
            [Gallery([by_hour]), _in_both(hourly, floor, ceiling), Gallery(maps)],
            short="Maps",
            lead="Earth mover's distances: how far calls have to be carried, on average, to make one map the "
            "other. One mile is 1.609 kilometres.",
        ),
        Section(
            "How far people move",
            [
                Gallery(
                    [
                        spreads(
                            "Daily range",
                            {"original": original.ranges, "synthetic": synthetic.ranges},
                            axis="miles",
                            unit="miles",
                        ),
                        _commutes(original, synthetic),
                    ]
                )
            ],
            short="Ranges",
        ),
    ]


def _in_both(hourly: dict[int, float], floor: dict[int, float], ceiling: dict[int, float]) -> Table:
    """The distances of every hour, and their means, in miles and kilometres."""
    shown = [("all hours", _mean(hourly), _mean(floor), _mean(ceiling))]
    shown += [(f"{hour:02d}:00", hourly[hour], floor[hour], ceiling[hour]) for hour in hourly]
    return Table(
        ("hour", "miles", "kilometres", "floor, miles", "ceiling, miles"),
        [
            (name, *(f"{each:.2f}" for each in (far, far * KILOMETRES, low, high)))
            for name, far, low, high in shown
        ],
        caption="Every hour, in miles and kilometres",
        strong=(0,),
        right=(1, 2, 3, 4),
        folded=True,
    )


def _commutes(original: Seen, synthetic: Seen) -> Picture:
    far = max(
        (float(np.percentile(each.commutes, 99)) for each in (original, synthetic) if each.commutes.size),
        default=1.0,
    )
    lines = np.linspace(0.0, max(far, 1.0), 25)
    series = {}
    for name, seen in (("original", original), ("synthetic", synthetic)):
        counts, _ = np.histogram(np.minimum(seen.commutes, lines[-1]), lines)
        series[name] = 100 * counts / max(1, counts.sum())
    return histogram("Commutes", lines.tolist(), series, amount="percent of callers", axis="miles")
