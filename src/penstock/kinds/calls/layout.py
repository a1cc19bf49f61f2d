"""Which columns of the data make a call, and whose calls they are."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from penstock.errors import SchemaError
from penstock.schema import Layout, Schema

Coordinates = Literal["degrees", "kilometres", "miles"]

BUSIEST = 120
"""The most calls within an hour that the published method lets a caller have."""
_USUAL_CALLS = 200
SETTINGS = ("outside: clamp",)
"""What may be set for the fields of a call: a value that is missing or unknown makes none."""


class CallsLayout(Layout):
    """Which columns make a call: whose it is, when, and where.

    The `time` is a datetime whose bounds are the window of days that is released: calls outside are left out.
    Where `date` names a column of its own, that of the time holds times of day, and its field describes both.
    `latitude` and `longitude` are numbers whose bounds are the box. Where a caller lives and works may stand
    in columns of its own, the same in all rows of a caller; without them the rule is that home is the cell
    with most of a caller's own calls at night (19:00 to 07:00), and work the one with most of them on weekday
    afternoons (13:00 to 17:00). With `busiest`, callers with more calls than that in any one hour of any one
    day are left out: machines, mostly.

    >>> CallsLayout(caller="id", time="at", latitude="lat", longitude="lon").declared
    {'time': 'at', 'latitude': 'lat', 'longitude': 'lon'}
    """

    required: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "calls: the schema does not say which columns make a call. Add a line such as "
        "'calls: {caller: id, time: time, latitude: lat, longitude: lon}'."
    )
    not_columns: ClassVar[tuple[str, ...]] = ("coordinates",)

    caller: str = Field(description="the column that says whose calls they are")
    time: str = Field(description="the field of dates and times")
    date: str | None = Field(
        default=None, description="the column of dates, where that of the time holds times of day alone"
    )
    latitude: str = Field(description="the field of places from south to north")
    longitude: str = Field(description="the field of places from west to east")
    home_latitude: str | None = Field(default=None, description="the column of where a caller lives, north")
    home_longitude: str | None = Field(default=None, description="the column of where a caller lives, east")
    work_latitude: str | None = Field(default=None, description="the column of where a caller works, north")
    work_longitude: str | None = Field(default=None, description="the column of where a caller works, east")
    busiest: int | None = Field(
        default=None, description="callers with more calls in one hour of a day are left out"
    )
    coordinates: Coordinates = Field(
        default="degrees", description="what places are measured in: degrees, kilometres or miles"
    )

    @model_validator(mode="after")
    def _possible(self) -> CallsLayout:
        if self.busiest is not None and not 1 <= self.busiest <= 86_400:
            raise SchemaError(
                f"calls: busiest is {self.busiest}; a caller may have 1 to 86400 calls in an hour."
            )
        for place in ("home", "work"):
            pair = (getattr(self, f"{place}_latitude"), getattr(self, f"{place}_longitude"))
            if (pair[0] is None) != (pair[1] is None):
                raise SchemaError(
                    f"calls: '{place}Latitude' and '{place}Longitude' go together. Name both, or neither."
                )
        named = self.columns
        twice = next((name for name in named if named.count(name) > 1), None)
        if twice is not None:
            raise SchemaError(f"calls: the column '{twice}' is named for two things. Name one column each.")
        return self

    @classmethod
    def _where(cls, data: object) -> str:
        return "calls"

    @property
    def gathered_by(self) -> str | None:
        return self.caller

    @property
    def most_values(self) -> int:
        return _USUAL_CALLS

    @property
    def declared(self) -> dict[str, str]:
        return {"time": self.time, "latitude": self.latitude, "longitude": self.longitude}

    @property
    def places(self) -> dict[str, tuple[str, str]]:
        """The columns of home and work, where there are some: east, then north."""
        found = {
            "home": (self.home_longitude, self.home_latitude),
            "work": (self.work_longitude, self.work_latitude),
        }
        return {name: (x, y) for name, (x, y) in found.items() if x is not None and y is not None}

    def refuse(self, schema: Schema) -> None:
        for field in schema.fields:
            if field.name not in self.declared.values():
                raise SchemaError(
                    f"{field.name}: a release of calls holds times and places and nothing else. Remove this "
                    "field from the schema."
                )
        for name in (self.latitude, self.longitude):
            field = schema.field(name)
            if field.type not in ("integer", "number") or not field.ranged:
                raise SchemaError(f"{name}: places are numbers within 'minimum' and 'maximum'. Declare them.")
            if field.edges.low >= field.edges.end:
                raise SchemaError(f"{name}: the box has no extent there. Widen its bounds.")
        clock = schema.field(self.time)
        if clock.type not in ("datetime", "date") or not clock.ranged:
            raise SchemaError(
                f"{self.time}: times are of type 'datetime', within 'minimum' and 'maximum'. Declare them."
            )
        if clock.type == "date":
            raise SchemaError(f"{self.time}: a date has no hour, and calls need one. Use type 'datetime'.")
        for name in self.declared.values():
            field = schema.field(name)
            if field.outside == "other" or field.missing == "value":
                raise SchemaError(
                    f"{name}: a call has a time and a place, so that none may be missing or unknown. Remove "
                    "'missing' and 'outside: other' from this field."
                )
