"""Audits of calls: whole methods on a few callers, and the mistakes that methods of this kind invite."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.audit.neighbours import Pair
from penstock.audit.paper_mistakes import Mistakes
from penstock.audit.replay import Tampering
from penstock.audit.sabotage import changed
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema

Rows = tuple[tuple[Any, ...], ...]

TOWN = """
kind: calls
calls: {caller: phone, time: at, latitude: y, longitude: x, busiest: 2, coordinates: kilometres}
fields:
  - {name: at, type: datetime, constraints: {minimum: 2024-05-01, maximum: "2024-05-02T23:59:59"}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 8}}
  - {name: x, type: number, constraints: {minimum: 0, maximum: 8}}
"""
STATED = """
kind: calls
calls:
  caller: phone
  time: at
  latitude: y
  longitude: x
  homeLatitude: home_y
  homeLongitude: home_x
  workLatitude: work_y
  workLongitude: work_x
  busiest: 1
  coordinates: miles
fields:
  - {name: at, type: datetime, constraints: {minimum: 2024-05-01, maximum: "2024-05-01T23:59:59"}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 8}, outside: clamp}
  - {name: x, type: number, constraints: {minimum: 0, maximum: 8}, outside: clamp}
"""
COLUMNS = ("phone", "at", "y", "x")
PLACED = ("at", "y", "x", "home_y", "home_x", "work_y", "work_x")

QUIET: Rows = (("2024-05-01T20:00", 1.0, 1.0),)
NEIGHBOUR: Rows = (("2024-05-01T22:00", 1.0, 5.0),)
COMMUTER: Rows = (
    ("2024-05-01T21:10", 1.0, 1.0),
    ("2024-05-02T06:30", 1.0, 1.0),
    ("2024-05-01T14:00", 7.0, 6.5),
    ("2024-05-02T15:59", 7.0, 6.5),
)
AT_WORK: Rows = (("2024-05-02T13:00", 7.5, 0.0), ("2024-05-03T13:00", 7.5, 0.0))
BUSY: Rows = tuple(
    (f"2024-05-0{day}T{hour:02d}:{minute}", 8.0, 8.0)
    for day in (1, 2)
    for hour in range(24)
    for minute in (10, 50)
)
TOO_BUSY: Rows = (*BUSY, ("2024-05-01T03:30", 0.0, 0.0))
OUTSIDE: Rows = (("2024-04-30T23:59", 1.0, 1.0), ("2024-05-03T00:00", 1.0, 1.0))
CASES = (QUIET, NEIGHBOUR, COMMUTER, AT_WORK, BUSY, TOO_BUSY, OUTSIDE)
HOMES: tuple[Rows, ...] = (
    (("2024-05-01T10:00", 1.0, 1.0, 1.0, 1.0, 7.0, 7.0),),
    (
        ("2024-05-01T10:00", 1.0, 1.0, 9.0, -1.0, None, None),
        ("2024-05-01T11:00", 20.0, 1.0, 2.0, 2.0, 3.0, 3.0),
    ),
    tuple((f"2024-05-01T{hour:02d}:30", 4.0, 4.0, 0.0, 0.0, 8.0, 8.0) for hour in range(24)),
)


def _named(*people: Rows) -> tuple[tuple[Any, ...], ...]:
    return tuple((number, *row) for number, rows in enumerate(people) for row in rows)


PAIRS = (
    Pair(_named(COMMUTER), _named(COMMUTER, QUIET), "one | one more with a single call"),
    Pair(_named(COMMUTER, QUIET), _named(COMMUTER, QUIET, BUSY), "two | one more, as busy as may be"),
    Pair(_named(QUIET, COMMUTER), _named(QUIET, COMMUTER, TOO_BUSY), "two | one more, who is left out"),
)
SMALL = {"depth": 2, "rounds": 1}
FEW = ("fixed-seed", "domain-from-data")
"""Broken copies that runs can refute where many tables share the budget; replays refute the others."""
COARSE = {"side": 4, "commute_side": 2, "most_mean": 4, "most_deviation": 2, "rounds": 1}


def seen_box(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The box drawn around the places that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    at = -2 if len(records[0]) <= len(COLUMNS) else 1
    for described, place in ((text["fields"][1], at), (text["fields"][2], at + 1)):
        seen = [float(record[place]) for record in records]
        described["constraints"] = {"minimum": min(seen), "maximum": max(seen) + 1.0}
    return Schema.model_validate(text)


def _not_accumulated(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """Noise on every entry of the cumulative counts, as if a caller were in one of them."""
    if name != "places":
        return sealed
    return sealed.claim(
        np.cumsum,
        sealed.sensitivity,
        because="it does not hold: a caller is in all cumulative counts from one cell on",
    )


def _sizes_for_nothing(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """The sizes of the two classes are told as they are."""
    if name != "class_sizes":
        return sealed
    return sealed.claim(
        lambda sizes: sizes, Sensitivity.of(0), because="it does not hold: sizes of classes are not paid for"
    )


def _without_hours(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """The noise of one hour for each of twenty-four, as if a caller had calls in one of them only."""
    if name != "hours_by_call":
        return sealed
    return sealed.claim(
        lambda counts: counts,
        sealed.sensitivity.scaled(Fraction(1, 24)),
        because="it does not hold: a caller may call at every hour of the day",
    )


def _fullest(counts: Any) -> Any:
    """Callers moved to the fullest cell of each row: an inference whose parameters all callers share."""
    side = round(len(counts) ** 0.5)
    rows = counts.reshape(side, side)
    moved = np.zeros_like(rows)
    moved[np.arange(side), rows.argmax(axis=1)] = rows.sum(axis=1)
    return moved.ravel()


def _shared_inference(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """Homes and work found by a model that was trained on all callers together."""
    if name != "places":
        return sealed
    return sealed.claim(
        _fullest,
        sealed.sensitivity,
        because="it does not hold: one more caller may move the homes of many others",
    )


MISTAKES: dict[str, tuple[str, Tampering]] = {
    "noise-not-accumulated": (
        "noise on each cumulative count, as in one count",
        Tampering(data=partial(changed, change=_not_accumulated)),
    ),
    "class-sizes-unpaid": (
        "sizes of the two classes are told without noise",
        Tampering(data=partial(changed, change=_sizes_for_nothing)),
    ),
    "hours-forgotten": (
        "noise for calls in one hour of the day where there are twenty-four",
        Tampering(data=partial(changed, change=_without_hours)),
    ),
    "shared-inference": (
        "homes are found by a model of all callers",
        Tampering(data=partial(changed, change=_shared_inference)),
    ),
}


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit(
        "dp-where", TOWN, (), parameters=SMALL, pairs=PAIRS, columns=COLUMNS, copies=FEW, read_off=seen_box
    ),
    MethodAudit(
        "dp-where",
        TOWN,
        (),
        parameters={**SMALL, "areas": "grid", "home": "1/100", "work": "1/100", "per_day": 100},
        pairs=PAIRS,
        columns=COLUMNS,
        label="grid",
        copies=(),
    ),
    MethodAudit(
        "dp-where-published",
        TOWN,
        (),
        parameters=COARSE,
        pairs=PAIRS,
        columns=COLUMNS,
        copies=CRUDE,
        read_off=seen_box,
    ),
)
GROUNDS = (
    Ground("callers, quiet and too busy", TOWN, COMMUTER, ("at", "y", "x"), cases=CASES, whose="phone"),
    Ground("callers with stated homes", STATED, HOMES[0], PLACED, cases=HOMES, whose="phone"),
)

MISTAKEN = Mistakes(
    "dp-where-published",
    GROUNDS[0],
    COARSE,
    "calls-published-parts",
    "the parts of DP-WHERE, replayed on hostile neighbours",
    "broken-calls",
    MISTAKES,
)
AUDITS = Audits(METHODS, MISTAKEN.targets, GROUNDS)
