"""Questions about calls as people write them: boxes by name, an hour, two areas, a distance."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import HOURS, KILOMETRES, STEPS, Reals, Region
from penstock.schema import Schema
from penstock.schema.fact import nearest

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)"
_SIDE = re.compile(rf"^\s*(.+?)\s*=\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*$")
_HOUR = re.compile(r"^(.*?)\s+at\s+(\d{1,2})(?::00)?\s*$", re.IGNORECASE)
_TO = re.compile(r"\s+to\s+", re.IGNORECASE)
_FAR = re.compile(rf"^\s*({_NUMBER})\s*(mi|mile|miles|km|kilometre|kilometres)?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Area:
    """A box on the map, in steps of the lattice: from west to east and from south to north."""

    west: float
    east: float
    south: float
    north: float

    def holds(self, place: Reals) -> NDArray[np.bool_]:
        """Whether places lie in it; the upper ends belong to the next box, except those of the map."""
        x, y = place[:, 0], place[:, 1]
        east = np.inf if self.east >= STEPS else self.east
        north = np.inf if self.north >= STEPS else self.north
        return np.asarray((x >= self.west) & (x < east) & (y >= self.south) & (y < north))

    def overlap(self, columns: NDArray[np.int64], rows: NDArray[np.int64], side: int) -> Reals:
        """The share of each cell of a grid that lies in it."""
        width = STEPS / side
        across = np.clip(
            (np.minimum(self.east, (columns + 1) * width) - np.maximum(self.west, columns * width)) / width,
            0,
            1,
        )
        up = np.clip(
            (np.minimum(self.north, (rows + 1) * width) - np.maximum(self.south, rows * width)) / width, 0, 1
        )
        return np.asarray(across * up, dtype=np.float64)


def parse_area(text: str, schema: Schema, region: Region) -> Area:
    """A box such as ``lat=40.7..40.8,lon=-74.1..-73.9``; a side that is not named reaches from end to end."""
    layout = CallsLayout.of(schema)
    ends = {
        layout.longitude: (region.west, region.east),
        layout.latitude: (region.south, region.north),
    }
    given = dict(ends)
    if text.strip().lower() not in ("", "all", "anywhere"):
        for part in text.split(","):
            found = _SIDE.match(part)
            if found is None:
                raise QueryError(f"'{part.strip()}' is no side of a box; write {example_area(schema)}.")
            name, low, high = found[1], float(found[2]), float(found[3])
            if name not in given:
                raise QueryError(f"'{name}' is not a side of the map{nearest(name, given)}.")
            if low >= high:
                raise QueryError(f"{name}: the box begins at {low:g} and ends at {high:g}; turn them round.")
            given[name] = (max(low, ends[name][0]), min(high, ends[name][1]))
    (west, east), (south, north) = given[layout.longitude], given[layout.latitude]
    across, up = STEPS / (region.east - region.west), STEPS / (region.north - region.south)
    return Area(
        (west - region.west) * across,
        (east - region.west) * across,
        (south - region.south) * up,
        (north - region.south) * up,
    )


def parse_calls(text: str, schema: Schema, region: Region) -> tuple[Area, int | None]:
    """A box and an hour, ``BOX at 9``; without an hour, the whole day."""
    found = _HOUR.match(f" {text}")
    if found is None:
        return parse_area(text, schema, region), None
    hour = int(found[2])
    if hour >= HOURS:
        raise QueryError(f"'{hour}' is no hour of the day; write one from 0 to 23.")
    return parse_area(found[1], schema, region), hour


def parse_trip(text: str, schema: Schema, region: Region) -> tuple[Area, Area]:
    """Two boxes, ``BOX to BOX``: of home and of work."""
    ends = _TO.split(f" {text.strip()} ".replace("  ", " "))
    if len(ends) != 2:
        raise QueryError(f"A trip goes from one box to another: write {example_area(schema)} to all.")
    return parse_area(ends[0], schema, region), parse_area(ends[1], schema, region)


def parse_distance(text: str) -> float:
    """A distance in miles: ``5``, ``5 miles`` or ``8 km``."""
    found = _FAR.match(text)
    if found is None or float(found[1]) < 0:
        raise QueryError(f"'{text}' is no distance; write one such as '5 miles' or '8 km'.")
    far = float(found[1])
    return far / KILOMETRES if (found[2] or "").lower().startswith("k") else far


def example_area(schema: Schema) -> str:
    """The south-western quarter of the map."""
    return area_text(schema, 0, 2)


def area_text(schema: Schema, place: int, side: int) -> str:
    """One of side x side areas of the map as a box, numbered row by row from the south-west, from 0 on."""
    layout, region = CallsLayout.of(schema), Region.of(schema)
    row, column = divmod(place, side)
    across = np.linspace(region.west, region.east, side + 1)[column : column + 2]
    up = np.linspace(region.south, region.north, side + 1)[row : row + 2]
    return (
        f"{layout.latitude}={_plain(up[0])}..{_plain(up[1])},"
        f"{layout.longitude}={_plain(across[0])}..{_plain(across[1])}"
    )


def _plain(number: float) -> str:
    return np.format_float_positional(round(number, 6), trim="-")
