"""Drafts of calls: a guess at who calls, when and where."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from penstock.drafting.columns import MARKERS, looks
from penstock.drafting.proposal import KindDraft, Notes, propose
from penstock.kinds.calls import moments
from penstock.kinds.calls.layout import CallsLayout
from penstock.schema import Field, Layout, Unit
from penstock.schema.values import BLANKS, CLOCK, Type

_SAY_WHICH = (
    "Say which columns make a call: calls: {caller: ..., time: ..., latitude: ..., longitude: ...}, and "
    "declare the bounds of time and place under 'fields'."
)
_LATITUDE = re.compile(r"^(lat|latitude|y|y_km|north|northing)$", re.IGNORECASE)
_LONGITUDE = re.compile(r"^(lon|lng|long|longitude|x|x_km|east|easting)$", re.IGNORECASE)
_CALLER = re.compile(
    r"^(caller|phone|user|subscriber|imsi|msisdn|id|uid|person|device)(_?id)?$", re.IGNORECASE
)
_PLACE = re.compile(r"^(home|work)_?(lat|latitude|lon|lng|long|longitude|x|y)$", re.IGNORECASE)


class CallsDraft(KindDraft):
    """A caller, a time and two coordinates where names and types suggest them."""

    codes_are_categories = False

    def why_left_out(self, type_: Type) -> str | None:
        return None if type_ in ("integer", "number", "datetime") else "is no part of a call"

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        found = None if frame is None else _guess(frame, markers)
        if frame is None or found is None:
            notes.top.append(_SAY_WHICH)
            return fields, None
        declared = {}
        described = moments.in_memory(frame, found)
        for part, name in found.declared.items():
            field = propose(described[name], self, markers, notes)
            if not isinstance(field, Field) or not field.ranged:
                notes.top.append(_SAY_WHICH)
                return fields, None
            declared[part] = field.model_copy(
                update={"missing": "refuse", "missing_values": None, "bins": None}
            )
        used = set(found.columns)
        notes.top[:] = [
            note for note in notes.top if not any(f"Left out: '{name}' " in note for name in used)
        ]
        notes.top += [
            f"Left out: '{each.name}' is no part of a call." for each in fields if each.name not in used
        ]
        notes.top += [
            "The columns under 'calls' are a guess from their names and values. Correct them.",
            "The bounds of time and place are the window and the map that are released: widen them to",
            "what is public. Add 'busiest: 120' to leave out callers with more calls than that in any hour.",
        ]
        return list(declared.values()), found

    def unit(
        self, names: Sequence[str], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> Unit | None:
        """The unit is a caller with all calls; who that is stands in the layout."""
        return None


def _only_times(column: pl.Series) -> bool:
    """Whether a column holds times of day and nothing else."""
    if column.dtype == pl.Time:
        return True
    if column.dtype != pl.String:
        return False
    known = column.drop_nulls().str.strip_chars(BLANKS)
    return not known.is_empty() and bool(known.str.contains(f"^{CLOCK}$").all())


def _guess(frame: pl.DataFrame, markers: tuple[str, ...]) -> CallsLayout | None:
    types = {name: looks(frame[name], markers or MARKERS).type for name in frame.columns}
    numbers = [name for name, type_ in types.items() if type_ in ("integer", "number")]
    time = next((name for name, type_ in types.items() if type_ == "datetime"), None)
    date = None
    if time is None:
        time = next((name for name in frame.columns if _only_times(frame[name])), None)
        date = next((name for name, type_ in types.items() if type_ == "date"), None)
    latitude = next((name for name in numbers if _LATITUDE.match(name)), None)
    longitude = next((name for name in numbers if _LONGITUDE.match(name)), None)
    others = [name for name in frame.columns if name not in (time, date, latitude, longitude)]
    caller = next((name for name in others if _CALLER.match(name)), None)
    if time is None or latitude is None or longitude is None or caller is None:
        return None
    if types[time] != "datetime" and date is None:
        return None
    places: dict[str, str] = {}
    for name in others:
        match = _PLACE.match(name)
        if match is not None and name in numbers:
            north = match[2].lower() in ("lat", "latitude", "y")
            places[f"{match[1].lower()}_{'latitude' if north else 'longitude'}"] = name
    for which in ("home", "work"):
        pair = [f"{which}_latitude", f"{which}_longitude"]
        if sum(part in places for part in pair) < 2:
            for part in pair:
                places.pop(part, None)
    plane = re.search(r"^(x|y|north|east|easting|northing)", latitude, re.IGNORECASE) is not None
    return CallsLayout.model_validate(
        {
            "caller": caller,
            "time": time,
            **({} if date is None else {"date": date}),
            "latitude": latitude,
            "longitude": longitude,
            **places,
            **({"coordinates": "kilometres"} if plane else {}),
        }
    )
