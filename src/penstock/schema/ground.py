"""The ground of a map: coastlines, borders or streets that everybody knows, drawn with released counts.

They come from a GeoJSON file of the custodian, beside the schema, because a page that tells nobody that it
was opened cannot fetch any. They are as public as the rest of the schema and cost nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, Final

from penstock.errors import SchemaError

Line = tuple[tuple[float, float], ...]
Ground = tuple[Line, ...]

MOST_PLACES: Final = 50_000
_DEEPEST: Final = 8


def from_geojson(text: str, source: str) -> list[list[list[float]]]:
    """The lines of a GeoJSON text: lines as they are, areas by their borders; points are left out.

    >>> from_geojson('{"type": "LineString", "coordinates": [[0, 0], [1, 2]]}', "coast.geojson")
    [[[0.0, 0.0], [1.0, 2.0]]]
    """
    try:
        found = [
            [[float(place[0]), float(place[1])] for place in line] for line in _lines(json.loads(text), 0)
        ]
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        raise SchemaError(f"ground: '{source}' is no GeoJSON. Give lines or areas, in x and y.") from None
    return found


def _lines(geometry: Any, depth: int) -> Iterator[Any]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    match geometry["type"]:
        case "FeatureCollection":
            for each in geometry["features"]:
                yield from _lines(each, depth + 1)
        case "Feature":
            if geometry["geometry"] is not None:
                yield from _lines(geometry["geometry"], depth + 1)
        case "GeometryCollection":
            for each in geometry["geometries"]:
                yield from _lines(each, depth + 1)
        case "LineString":
            yield geometry["coordinates"]
        case "MultiLineString" | "Polygon":
            yield from geometry["coordinates"]
        case "MultiPolygon":
            for area in geometry["coordinates"]:
                yield from area
        case "Point" | "MultiPoint":
            return
        case other:
            raise ValueError(other)


def checked(given: Any) -> Ground:
    """The lines of a schema, as numbers."""
    try:
        found = tuple(tuple((float(x), float(y)) for x, y in line) for line in _sequence(given))
    except (ArithmeticError, TypeError, ValueError):
        raise SchemaError(
            "ground: not a list of lines. Name a GeoJSON file beside the schema, such as 'coast.geojson'."
        ) from None
    if not all(isfinite(number) for line in found for place in line for number in place):
        raise SchemaError("ground: a place is not finite. Correct the file.")
    places = sum(map(len, found))
    if places > MOST_PLACES:
        raise SchemaError(
            f"ground: {places:,} places are too many for a page. Simplify it to {MOST_PLACES:,} at most."
        )
    return found


def _sequence(given: Any) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        raise TypeError("not a list")
    return given
