"""Callers inside a database, counted there: the twin of `callers.Callers`, number for number.

What memory decides by real numbers is decided here by the same ones. Calls a day, and how far a profile is
from a centre, take sums, products and quotients, which are the same doubles in every database; what memory
compares with a root is compared with a square, moved to where the root changes. Only distances are the root
of a sum here and a library's `hypot` in memory, which may differ in the last place: the few that lie so close
to an edge come back as how far east and north they lead, with their number, and memory decides. Everything
here is raw and lies below the seal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.engine.arrow_memory import owned
from penstock.engine.expressions import added, double
from penstock.engine.inside import Inside
from penstock.engine.stored import Stored
from penstock.kinds.calls.callers import PROFILE_STEPS, bins_of, far, middles, steps_of
from penstock.kinds.calls.region import HOURS, STEPS, Numbers, Reals, Region, cell_of

if TYPE_CHECKING:
    import ibis.expr.types as ir

_CLOSE = 2.0**-48
"""How far the root of a sum may be from what memory finds, and more, as a share of it."""


class CallersInDatabase:
    """Raw: one row for every caller that is kept, in a table that stays where it is."""

    def __init__(self, inside: Inside, kept: Stored, region: Region) -> None:
        self._inside, self._kept, self._region = inside, kept, region
        self._around: tuple[bytes, tuple[Numbers, Numbers]] | None = None

    @property
    def table(self) -> ir.Table:
        return self._kept.table

    @property
    def size(self) -> int:
        asked = self.table.aggregate(callers=self.table.count())
        return int(self._inside.asked(lambda: self._inside.database.numbers(asked))["callers"][0])

    def places(self, which: str, side: int) -> Numbers:
        x, y = f"{which}_x", f"{which}_y"
        known = self.table.filter(self.table[x].notnull())
        return self._inside.counts(known, cell_of(known[x], known[y], side), side * side)

    def commutes(self, side: int, edges: Reals) -> Numbers:
        limits = [f"e{number}" for number in range(1, edges.shape[1] - 1)]
        numbers: dict[str, Any] = {"of_cell": owned(np.arange(side * side))}
        numbers |= {name: owned(edges[:, number].copy()) for number, name in enumerate(limits, start=1)}
        ways = self._ways(side)
        listed = self._inside.database.listed(numbers)
        ways = ways.inner_join(listed, ways["cell"] == listed["of_cell"])

        def passed(share: float) -> Any:
            return _how_many([ways["miles"] * double(share) >= ways[name] for name in limits])

        found = self._grouped(ways, passed)
        found["value"] = np.where(
            found["across"] < 0, found["value"], bins_of(self._miles(found), edges[found["cell"]])
        )
        counts = np.zeros((side * side, edges.shape[1] - 1), dtype=np.int64)
        np.add.at(counts, (found["cell"], found["value"]), found["callers"])
        return counts

    def distances(self, side: int, least: float, lattice: int) -> tuple[Numbers, Numbers, Numbers]:
        import ibis

        ways = self._ways(side)

        def steps(share: float) -> Any:
            whole = (ways["miles"] * double(share) / double(least)).floor().cast("int64")
            return ibis.least(whole, ibis.literal(lattice - 1, type="int64"))

        found = self._grouped(ways, steps)
        exact = steps_of(self._miles(found), least, lattice)
        return found["cell"], np.where(found["across"] < 0, found["value"], exact), found["callers"]

    def per_day(self, means: Sequence[float], deviations: Sequence[float]) -> Numbers:
        people, days = self.table, self._region.days
        calls, squares = (people[name].cast("float64") for name in ("calls", "squares"))
        mean = calls / double(days)
        spread = squares / double(days) - mean * mean
        row = _how_many([people["calls"] >= _calls_above(middle, days) for middle in middles(means)])
        column = _how_many([spread > double(_square_of(middle)) for middle in middles(deviations)])
        shape = len(means), len(deviations)
        return self._inside.counts(people, row * shape[1] + column, shape[0] * shape[1]).reshape(shape)

    def around(self, centres: Reals) -> tuple[Numbers, Numbers]:
        if self._around is None or self._around[0] != centres.tobytes():
            self._around = centres.tobytes(), self._summed(centres)
        sizes, sums = self._around[1]
        return sizes.copy(), sums.copy()

    def _summed(self, centres: Reals) -> tuple[Numbers, Numbers]:
        import ibis

        people, hours = self.table, [f"p{hour}" for hour in range(HOURS)]
        profile = [people[name].cast("float64") / double(PROFILE_STEPS) for name in hours]
        apart = people.select(
            *hours,
            **{
                f"d{number}": far(profile, [double(at) for at in centre])
                for number, centre in enumerate(centres)
            },
        )
        apart = self._inside.database.computed(apart)
        least: Any = ibis.least(*(apart[f"d{number}"] for number in range(len(centres))))
        nearest = ibis.cases(
            *(
                (apart[f"d{number}"] == least, ibis.literal(number, type="int64"))
                for number in range(len(centres) - 1)
            ),
            else_=ibis.literal(len(centres) - 1, type="int64"),
        )
        placed = apart.select(*hours, nearest=nearest)
        grouped = placed.group_by("nearest").aggregate(
            callers=placed.count(), **{name: placed[name].sum().cast("int64") for name in hours}
        )
        found = self._inside.asked(lambda: self._inside.database.numbers(grouped))
        sizes, sums = np.zeros(len(centres), dtype=np.int64), np.zeros((len(centres), HOURS), dtype=np.int64)
        sizes[found["nearest"]] = found["callers"]
        sums[found["nearest"]] = np.column_stack([found[name] for name in hours])
        return sizes, sums

    def _ways(self, side: int) -> ir.Table:
        """Everybody with home and work: the cell of the home, how far east or west and north or south the
        way leads in steps, and about how many miles that is."""
        people = self.table
        people = people.filter(people["home_x"].notnull() & people["work_x"].notnull())
        steps = people.select(
            cell=cell_of(people["home_x"], people["home_y"], side),
            across=(people["home_x"] - people["work_x"]).abs(),
            up=(people["home_y"] - people["work_y"]).abs(),
        )
        east = steps["across"].cast("float64") * double(self._region.width / STEPS)
        north = steps["up"].cast("float64") * double(self._region.height / STEPS)
        return self._inside.database.computed(steps.mutate(miles=(east * east + north * north).sqrt()))

    def _grouped(self, ways: ir.Table, value: Any) -> dict[str, Numbers]:
        """How many ways of each cell have which value; where that is uncertain, how far they lead instead.

        A way along an axis is as long in memory: the root of a square is exact.
        """
        import ibis

        bent = (ways["across"] > 0) & (ways["up"] > 0)
        unsure = bent & (value(1 - _CLOSE) != value(1 + _CLOSE))
        nowhere = ibis.literal(-1, type="int64")
        told = ways.select(
            cell=ways["cell"],
            value=value(1.0),
            across=ibis.ifelse(unsure, ways["across"], nowhere),
            up=ibis.ifelse(unsure, ways["up"], nowhere),
        )
        grouped = told.group_by("cell", "value", "across", "up").aggregate(callers=told.count())
        return self._inside.asked(lambda: self._inside.database.numbers(grouped))

    def _miles(self, found: dict[str, Numbers]) -> Reals:
        return self._region.miles(found["across"], found["up"], 0, 0)


def _how_many(conditions: Sequence[Any]) -> Any:
    """How many of several conditions hold."""
    import ibis

    one, none = (ibis.literal(number, type="int64") for number in (1, 0))
    return added([none, *(ibis.ifelse(each, one, none) for each in conditions)])


def _calls_above(mean: float, days: int) -> int:
    """The fewest calls whose mean, as a double, is above another.

    >>> _calls_above(0.5, 4), _calls_above(0.1, 30)
    (3, 4)
    """
    calls = int(mean * days)
    while calls > 0 and (calls - 1) / days > mean:
        calls -= 1
    while calls / days <= mean:
        calls += 1
    return calls


def _square_of(limit: float) -> float:
    """The largest double whose root, rounded, is not above a limit.

    >>> _square_of(0.1)
    0.010000000000000002
    """
    found = limit * limit
    while np.sqrt(found) > limit:
        found = float(np.nextafter(found, -np.inf))
    while np.sqrt(np.nextafter(found, np.inf)) <= limit:
        found = float(np.nextafter(found, np.inf))
    return found
