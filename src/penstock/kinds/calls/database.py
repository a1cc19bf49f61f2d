"""Calls inside a database: grouped counts over Ibis, in DuckDB by default.

The twin of `reading.InMemory`, number for number. The source is read once: calls are kept as small whole
numbers in a temporary table of the database, and so is one row for every caller. Both stay there; what comes
back are counts and sums over public cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.engine.bound import refuse_nobody, user_in_database
from penstock.engine.connection import Duck
from penstock.engine.coordinates import Coordinate
from penstock.engine.expressions import double
from penstock.engine.inside import Inside
from penstock.engine.records import Source
from penstock.engine.stored import Stored
from penstock.kinds.calls import moments
from penstock.kinds.calls.callers import (
    PACKED,
    PROFILE_STEPS,
    RULE_SIDE,
    SHARE,
    at_night,
    at_work,
    by_rule,
    rule_score,
    ruled,
    unpacked,
)
from penstock.kinds.calls.callers_in_database import CallersInDatabase
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.region import BITS, DAY, HOURS, Groups, Numbers, Region, cell_of
from penstock.progress import progress
from penstock.schema import Codec, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir


class InDatabase(Inside):
    """Calls in a database, counted there."""

    def __init__(
        self, records: Source, schema: Schema, layout: CallsLayout, region: Region, memory: str | None = None
    ) -> None:
        super().__init__(records, layout.columns, None if records.remote else Duck(memory))
        self._layout, self._region = layout, region
        self._raw = moments.in_database(self.source, layout)
        with progress("gathering calls by caller"):
            self._calls: Stored = self.asked(lambda: self._coded(schema))
            self.callers = CallersInDatabase(self, self.asked(self._gathered), region)

    @property
    def coded(self) -> ir.Table:
        """The calls within the window, one a row."""
        return self._calls.table

    def hourly(self, groups: Groups, *, shared: bool) -> Numbers:
        import ibis

        calls, people = self.coded, self.callers.table
        people = people.select(who="caller", many="calls")
        joined = calls.inner_join(people, calls["caller"] == people["who"])
        share: Any = ibis.literal(SHARE, type="int64") // joined["many"] if shared else ibis.literal(1)
        x, y = joined["x"].cast("int64"), joined["y"].cast("int64")
        cell = joined["hour"].cast("int64") * groups.size + groups.of_place(x, y)
        return self.summed(joined, cell, share, HOURS * groups.size).reshape(HOURS, groups.size)

    def _coded(self, schema: Schema) -> Stored:
        """The calls within the window as small whole numbers, kept in the database; or a refusal."""
        import ibis

        layout, raw = self._layout, self._raw
        wanted = {
            "t": (layout.time, layout.time),
            "x": (layout.longitude, layout.longitude),
            "y": (layout.latitude, layout.latitude),
        }
        for name, (x, y) in layout.places.items():
            wanted |= {f"{name}_x": (layout.longitude, x), f"{name}_y": (layout.latitude, y)}
        first: dict[str, Any] = {"caller": user_in_database(raw[layout.caller])}
        for name, (field, column) in wanted.items():
            value, missing, good = _checked(schema.codec(field), raw[column], name)
            first |= {name: value, f"{name} missing": missing, f"{name} good": good}
        inner = self.database.computed(raw.select(**first))
        clock = schema.field(layout.time).edges
        refused = ibis.cases(
            *((~inner[f"{name} good"], ibis.literal(place)) for place, name in enumerate(wanted, start=1)),
            else_=ibis.literal(0),
        )
        known = inner.mutate(refused=refused)
        inside = (known["t"] >= int(clock.low)) & (known["t"] <= int(clock.high))
        kept = known.filter((known["refused"] > 0) | inside)
        seconds = kept["t"].cast("int64")
        second: dict[str, Any] = {
            "caller": kept["caller"],
            "refused": kept["refused"].cast("int8"),
            "day": (seconds // DAY - self._region.first_day).cast("int16"),
            "hour": (seconds % DAY // 3600).cast("int8"),
            "x": _steps(schema.codec(layout.longitude), kept["x"]).cast("int32"),
            "y": _steps(schema.codec(layout.latitude), kept["y"]).cast("int32"),
        }
        for name in layout.places:
            stated = ~(kept[f"{name}_x missing"] | kept[f"{name}_y missing"])
            x = _steps(schema.codec(layout.longitude), kept[f"{name}_x"])
            y = _steps(schema.codec(layout.latitude), kept[f"{name}_y"])
            second[name] = ibis.ifelse(stated, x * PACKED + y, ibis.literal(-1, type="int64"))
        second["day"] = ibis.ifelse(kept["refused"] > 0, ibis.literal(0, type="int16"), second["day"])
        stored = Stored(kept.select(**second))
        self._refuse(stored.table, schema, list(wanted.items()))
        return stored

    def _refuse(
        self, stored: ir.Table, schema: Schema, wanted: Sequence[tuple[str, tuple[str, str]]]
    ) -> None:
        """Raise for values that are none, naming an example."""
        refuse_nobody(stored, "caller", self._layout.caller, schema.missing_values)
        wrong = stored.filter(stored["refused"] > 0)
        worst = int(self.database.numbers(wrong.aggregate(first=wrong["refused"].min()))["first"][0])
        if worst:
            name, (field, column) = wanted[worst - 1]
            codec = schema.codec(field)
            _, _, good = _checked(codec, self._raw[column], name)
            example = self._raw.filter(~good).select(column).limit(1)
            raise moments.complaint(codec, example.to_pyarrow().to_pylist()[0][column])

    def _gathered(self) -> Stored:
        """One row for every caller that is kept, in a temporary table."""
        calls = self.coded
        slots = calls.group_by("caller", "day", "hour").aggregate(n=calls.count())
        people = slots.group_by("caller").aggregate(
            calls=slots["n"].sum().cast("int64"),
            busiest=slots["n"].max().cast("int64"),
            **{f"h{hour}": slots["n"].sum(where=slots["hour"] == hour) for hour in range(HOURS)},
        )
        days = slots.group_by("caller", "day").aggregate(m=slots["n"].sum())
        squares = days.group_by("caller").aggregate(squares=(days["m"] * days["m"]).sum().cast("int64"))
        squares = squares.rename({"squares of": "caller"})
        people = people.left_join(squares, people["caller"] == squares["squares of"]).drop("squares of")
        if self._layout.busiest is not None:
            people = people.filter(people["busiest"] <= self._layout.busiest)
        columns: dict[str, Any] = {name: people[name] for name in ("caller", "calls", "squares")}
        for hour in range(HOURS):
            calls_then = people[f"h{hour}"].cast("int64").fill_null(0)
            columns[f"p{hour}"] = calls_then * PROFILE_STEPS // people["calls"]
        people = people.select(**columns)
        for name in ("home", "work"):
            people = self._placed(people, name)
        return Stored(people)

    def _placed(self, people: ir.Table, name: str) -> ir.Table:
        """The callers with one more place, in steps of the lattice; null where none is known."""
        import ibis

        rule = name in ruled(self._layout)
        found = self._most_frequent(name) if rule else self._stated(name)
        joined = people.left_join(found, people["caller"] == found[f"{name} of"])
        told, none = joined[name], ibis.null("int64")
        x, y = by_rule(told) if rule else unpacked(told)
        known = (told >= 0).fill_null(False)
        steps = {f"{name}_x": ibis.ifelse(known, x, none), f"{name}_y": ibis.ifelse(known, y, none)}
        return joined.mutate(**steps).drop(name, f"{name} of")

    def _stated(self, name: str) -> ir.Table:
        calls = self.coded
        found = calls.group_by("caller").aggregate(**{name: calls[name].max()})
        return found.rename({f"{name} of": "caller"})

    def _most_frequent(self, name: str) -> ir.Table:
        calls = self.coded
        day, hour = calls["day"].cast("int64"), calls["hour"]
        meant = at_night(hour) if name == "home" else at_work(day, hour, self._region)
        there = calls.filter(meant)
        x, y = there["x"].cast("int64"), there["y"].cast("int64")
        placed = there.select(caller=there["caller"], cell=cell_of(x, y, RULE_SIDE))
        cells = placed.group_by("caller", "cell").aggregate(n=placed.count())
        scored = cells.select(caller=cells["caller"], score=rule_score(cells["n"], cells["cell"]))
        found = scored.group_by("caller").aggregate(**{name: scored["score"].max().cast("int64")})
        return found.rename({f"{name} of": "caller"})


def _checked(codec: Codec, column: ir.Value, part: str) -> tuple[Any, Any, Any]:
    """The value of a column, where it is missing, and where it is one that this part of a call may have.

    A time may lie outside the window, a place not outside the box, unless it is clamped; homes and places of
    work may be missing.
    """
    from penstock.schema.database import readings

    value, missing, good = readings(codec, column)
    dated = moments.without_hour_in_database(column) if part == "t" else None
    if dated is not None:
        good = good & ~dated
    if part != "t" and codec.field.outside != "clamp":
        edges = codec.field.edges
        good = good & (value >= double(edges.low)) & (value <= double(edges.high))
    if part not in ("t", "x", "y"):
        good = good | missing
    return value, missing, good.fill_null(False)


def _steps(codec: Codec, value: Any) -> Any:
    import ibis

    low, high = double(codec.field.edges.low), double(codec.field.edges.high)
    number = value.cast("float64")
    clamped = ibis.ifelse(number < low, low, ibis.ifelse(number > high, high, number))
    return Coordinate.of(codec).positions_in_database(clamped, BITS).cast("int64")
