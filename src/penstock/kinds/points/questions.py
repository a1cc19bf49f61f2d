"""Boxes as people write them: by position, by name, and many of them in a file."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import QueryError
from penstock.kinds.points.box import Box, Reals
from penstock.releases.batch import refuse_ragged
from penstock.releases.disk import reason
from penstock.schema import Field, Schema

if TYPE_CHECKING:
    import polars as pl

FULL_CIRCLE = 360.0


def named_box(text: str, schema: Schema) -> str:
    """A box such as ``lon=-74..-73, lat=40..41`` as a question in the query language.

    On a field that goes once around the circle (360 wide, as longitudes do) a range may cross the
    seam: ``lon=170..-170``.

    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ... - {name: lon, type: number, constraints: {minimum: -180, maximum: 180}}
    ... - {name: lat, type: number, constraints: {minimum: -90, maximum: 90}}
    ... ''')
    >>> named_box("lon=170..-170, lat=40..41", schema)
    '("lon" >= 170 or "lon" < -170) and "lat" >= 40 and "lat" < 41'
    """
    parts = []
    for piece in text.split(","):
        name, equals, bounds = piece.partition("=")
        low, dots, high = bounds.partition("..")
        name, low, high = name.strip(), low.strip(), high.strip()
        if not (equals and dots and name and low and high):
            raise QueryError(f"'{piece.strip()}' is no side of a box; write name=low..high for each field.")
        field = schema.field(name)
        quoted = _quoted(name)
        upper = f"{quoted} <= {high}" if field.whole else f"{quoted} < {high}"
        if not _crosses(low, high):
            parts += [f"{quoted} >= {low}", upper]
        elif _goes_around(field):
            parts.append(f"({quoted} >= {low} or {upper})")
        else:
            raise QueryError(f"'{piece.strip()}' has a lower bound above its upper bound; exchange them.")
    return " and ".join(parts)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _goes_around(field: Field) -> bool:
    """Whether a field goes once around the circle, so that a range may cross its seam."""
    return field.ranged and field.edges.end - field.edges.low == FULL_CIRCLE


def _crosses(low: str, high: str) -> bool:
    try:
        return float(low) > float(high)
    except ValueError:
        return low > high  # dates sort as text


def read_boxes(path: str | PathLike[str], schema: Schema) -> tuple[pl.DataFrame, Reals, Reals]:
    """The boxes in a CSV or Parquet file: the file as it is, lower corners, upper corners.

    Columns are named after the numeric fields, ``x_low`` and ``x_high``; a field without columns is
    taken whole. A CSV file without a header holds low,high of each numeric field in order. The lower
    bound may lie above the upper one only on a field that goes around the circle.
    """
    import numpy as np
    import polars as pl

    place, fields = Path(path), [field for field in schema.fields if field.ranged]
    wanted = [f"{field.name}_{side}" for field in fields for side in ("low", "high")]
    try:
        if place.suffix.lower() == ".parquet":
            frame = pl.read_parquet(place)
        else:
            with place.open(encoding="utf-8-sig") as lines:
                head = lines.readline()
            named = any(letter.isalpha() and letter not in "eE" for letter in head)
            try:
                frame = pl.read_csv(place, has_header=named)
            except pl.exceptions.ComputeError:
                refuse_ragged(place.read_text(encoding="utf-8-sig"), str(path))
                raise
            if not named and frame.width == len(wanted):
                frame.columns = wanted
    except (OSError, pl.exceptions.PolarsError, UnicodeDecodeError) as problem:
        why = reason(problem) if isinstance(problem, OSError) else str(problem).splitlines()[0]
        raise QueryError(f"'{path}' cannot be read as boxes: {why}.") from None
    if not frame.height:
        raise QueryError(f"'{path}' holds no boxes.")
    known = [name for name in wanted if name in frame.columns]
    if not known:
        raise QueryError(f"'{path}' has none of the columns {', '.join(wanted)}.")
    low, high = np.empty((frame.height, len(fields))), np.empty((frame.height, len(fields)))
    for number, field in enumerate(fields):
        for side, bound, corner in (("low", field.edges.low, low), ("high", field.edges.end, high)):
            name = f"{field.name}_{side}"
            if name not in known:
                corner[:, number] = bound
                continue
            values = frame[name].cast(pl.Float64, strict=False)
            if values.null_count() or not values.is_finite().all():
                row = int((values.is_null() | ~values.is_finite().fill_null(False)).arg_max() or 0) + 1
                raise QueryError(f"'{path}': {name} in box {row} is not a finite number.")
            corner[:, number] = values.to_numpy()
    wrong = ((low > high) & ~np.array([_goes_around(field) for field in fields])).any(axis=1)
    if wrong.any():
        raise QueryError(f"'{path}': box {int(wrong.argmax()) + 1} has a lower bound above its upper bound.")
    return frame, low, high


def condition_of(low: Sequence[float], high: Sequence[float], schema: Schema) -> str:
    """A box as a question; where the lower bound of a side lies above the upper, the box crosses the seam."""
    names = [_quoted(field.name) for field in schema.fields if field.ranged]
    return " and ".join(
        f"({name} >= {a!r} {'or' if a > b else 'and'} {name} < {b!r})"
        for name, a, b in zip(names, low, high, strict=True)
    )


def parse_box(text: str, schema: Schema) -> Box | str:
    """A box by position, or a question when the sides are named."""
    return named_box(text, schema) if "=" in text else Box.parse(text)
