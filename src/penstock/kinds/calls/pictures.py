"""Pictures of released calls: homes, workplaces, maps by hour, flows, commutes and daily ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, KILOMETRES, Reals, coarser
from penstock.kinds.calls.sampler import at_home
from penstock.report.maps import grid_map
from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.pictures import histogram
from penstock.report.travel import flow_map, maps_by_time, spreads

if TYPE_CHECKING:
    from penstock.kinds.calls.release import CallsRelease

MAP_SIDE = 48
SHOWN_HOURS = (0, 3, 6, 9, 12, 15, 18, 21)
AREAS = 4
COMMUTE_BINS = 24


def of(release: CallsRelease) -> Sequence[Picture]:
    """All pictures of a release."""
    return [
        _map(release, "Where callers live", release.tables.home),
        _map(release, "Where callers work", release.tables.work),
        _by_hour(release),
        _flows(release),
        _commutes(release),
        _hours(release),
        _ranges(release),
    ]


def edges(release: CallsRelease, side: int) -> tuple[Reals, Reals]:
    """The lines of a grid over the map, across and up."""
    region = release.region
    return np.linspace(region.west, region.east, side + 1), np.linspace(region.south, region.north, side + 1)


def _map(release: CallsRelease, title: str, shares: Reals) -> Picture:
    tables, layout = release.tables, CallsLayout.of(release.schema)
    side = min(tables.side, MAP_SIDE)
    lived = np.flatnonzero(shares)  # of millions of cells that may be few
    cells = coarser(lived, tables.side, side)
    counts = np.bincount(cells, weights=shares[lived], minlength=side**2).reshape(side, side).T
    return grid_map(
        title,
        *edges(release, side),
        counts * tables.callers,
        amount="callers",
        x_name=layout.longitude,
        y_name=layout.latitude,
    )


def hourly_map(release: CallsRelease, hour: int, side: int) -> Reals:
    """The calls of an hour of a day in each cell of a grid, row by row: those of the release's crowd."""
    tables, people = release.tables, release.crowd
    chance = at_home(tables, people, hour)
    often = people.mean * tables.times[people.kind, hour]
    found = np.zeros(side**2)
    for cells, weight in ((people.home, often * chance), (people.work, often * (1 - chance))):
        found += np.bincount(coarser(cells, tables.side, side), weights=weight, minlength=side**2)
    return found * tables.callers / max(1, len(people))


def _by_hour(release: CallsRelease) -> Picture:
    side = min(release.tables.side, MAP_SIDE // 2)
    grids = [hourly_map(release, hour, side).reshape(side, side).T for hour in SHOWN_HOURS]
    return maps_by_time(
        "Calls by hour",
        [f"{hour:02d}:00" for hour in SHOWN_HOURS],
        *edges(release, side),
        np.stack(grids),
        amount="calls",
    )


def _flows(release: CallsRelease) -> Picture:
    region = release.region
    across, up = edges(release, AREAS)
    middles = [
        ((across[column] + across[column + 1]) / 2, (up[row] + up[row + 1]) / 2)
        for row in range(AREAS)
        for column in range(AREAS)
    ]
    return flow_map(
        "From home to work",
        middles,
        release.matrix(AREAS),
        bounds=(region.west, region.east, region.south, region.north),
        names=[f"area {place + 1}" for place in range(AREAS**2)],
        amount="callers",
    )


def commutes(release: CallsRelease) -> Reals:
    """How far the callers of the crowd go to work, in miles."""
    home, work = release.crowd.home_place, release.crowd.work_place
    return release.region.miles(home[:, 0], home[:, 1], work[:, 0], work[:, 1])


def _commutes(release: CallsRelease) -> Picture:
    far = commutes(release)
    lines = np.linspace(0.0, max(1.0, float(np.percentile(far, 99))), COMMUTE_BINS + 1)
    counts, _ = np.histogram(np.minimum(far, lines[-1]), lines)
    middle = float(np.median(far))
    return histogram(
        "Commutes",
        lines.tolist(),
        100 * counts / max(1, counts.sum()),
        amount="percent of callers",
        axis="miles between home and work",
        caption=f"Half of the callers work within {readable(middle)} miles "
        f"({readable(middle * KILOMETRES)} km) of their homes; the last bin holds all longer ways.",
    )


def _hours(release: CallsRelease) -> Picture:
    tables = release.tables
    share = 100 * (tables.classes[:, None] * tables.times).sum(axis=0)
    top = int(np.argmax(share))
    told = " and ".join(f"{100 * each:.0f} %" for each in tables.classes)
    return histogram(
        "Calls through the day",
        list(range(HOURS + 1)),
        share,
        amount="percent of calls",
        axis="hour of the day",
        labels=[f"{hour:02d}:00" for hour in range(HOURS)],
        caption=f"Most calls are made in the hour from {top:02d}:00. Two classes of callers, with {told} of "
        "them, differ in when they call.",
    )


def _ranges(release: CallsRelease) -> Picture:
    return spreads("Daily range", {"synthetic": release.ranges}, axis="miles", unit="miles")
