"""A release of calls: six public distributions, from which callers and their calls are drawn and asked about.

What is asked is answered from a crowd of synthetic callers that is always the same (its seed is public), each
of whom counts for as many callers as there are. Nothing here sees a record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from penstock.errors import QueryError, ReleaseError, SchemaError, UsageError
from penstock.kinds.calls import pictures, saved
from penstock.kinds.calls.layout import CallsLayout
from penstock.kinds.calls.questions import (
    Area,
    area_text,
    example_area,
    parse_calls,
    parse_distance,
    parse_trip,
)
from penstock.kinds.calls.ranges import daily_ranges
from penstock.kinds.calls.region import DAY, HOURS, MOST_DAYS, STEPS, Numbers, Reals, Region
from penstock.kinds.calls.sampler import (
    CALLERS_AT_ONCE,
    Drawn,
    People,
    at_home,
    calls_of,
    drawn_in_pieces,
    population,
)
from penstock.kinds.calls.tables import PARTS, Tables
from penstock.progress import progress
from penstock.releases import Answer, Manifest, Model, Question, Release
from penstock.releases.batch import answered
from penstock.report.numbers import readable
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

CROWD = 10_000
"""Synthetic callers from whom questions are answered."""
RANGED = 2_000
"""Those of them whose calls are drawn to measure daily ranges."""
RANGED_DAYS = 7
MOST_CALLS = 500_000
"""About so many calls are drawn when nobody says how many callers."""
MOST_AREAS = 12
_LUCK = 1.96
MODELLED = (
    "The number comes from synthetic callers, who follow noisy distributions; nobody knows how far it is "
    "from the truth."
)
OF_CALLS = "It rests on all six tables, and on calls being made at home or at work alone."
OF_TRIPS = (
    "It rests on the tables of homes, work and commutes: where callers live, where they work and how far "
    "they go was counted, the direction was not."
)
OF_RANGES = "It rests on all six tables; ways to third places, which lengthen a day, are not in the model."
EQUALLY = "Every caller counts the same in where calls are made at an hour, however many calls there are."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CallsRelease(Release):
    """Where callers live, work and call, as six tables; synthetic calls are drawn from them.

    `public` names the tables that were public before and cost nothing.

    >>> from penstock import release
    >>> from penstock.demo import phones, phones_schema
    >>> from penstock.schema import Schema
    >>> made = release(phones(300), Schema.from_yaml(phones_schema()), epsilon=4, seed=1)
    >>> made.sampled, made.sample(3, seed=1).columns
    ('callers', ['phone', 'time', 'lat', 'lon'])
    """

    kinds: ClassVar[tuple[str, ...]] = ("calls",)
    answer: ClassVar[str] = "synthetic data"
    form: ClassVar[str] = "mobility"
    sampled: ClassVar[str] = "callers"
    sampled_often: ClassVar[int] = 1_000

    tables: Tables
    public: tuple[str, ...] = ()
    days: int | None = None

    @cached_property
    def region(self) -> Region:
        return Region.of(self.schema)

    # Synthetic calls ----------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The estimated number of callers; fewer where they would make more than `MOST_CALLS` calls."""
        calls = max(1.0, self.tables.mean_calls * self.drawn_days)
        return round(min(max(0.0, self.tables.callers), MOST_CALLS / calls))

    @property
    def drawn_days(self) -> int:
        """How many days of calls are drawn: those of the window, unless `on_days` said otherwise."""
        return self.region.days if self.days is None else self.days

    def on_days(self, days: int) -> Self:
        """The same release, whose callers call on so many days from the first one of the window on."""
        if type(days) is not int or not 1 <= days <= MOST_DAYS:
            raise UsageError(f"Calls are drawn for 1 to {MOST_DAYS:,} days, not for {days!r}.")
        return replace(self, days=days)

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """The calls of `n` synthetic callers; one who never calls has no row."""
        import polars as pl

        return pl.concat(self.pieces(n, rng))

    def pieces(self, n: int, rng: np.random.Generator) -> Iterator[pl.DataFrame]:
        """The same, some thousand callers at a time."""
        if not n:
            yield self._rows(0, *self._nobody(rng))
        with progress("drawing calls", total=-(-n // CALLERS_AT_ONCE)) as step:
            for first, people, drawn in drawn_in_pieces(self.tables, self.region, n, self.drawn_days, rng):
                yield self._rows(first, people, drawn)
                step(1)

    def _nobody(self, rng: np.random.Generator) -> tuple[People, Drawn]:
        people = population(self.tables, self.region, 0, rng)
        return people, calls_of(self.tables, people, self.drawn_days, rng)

    def _rows(self, first: int, people: People, drawn: Drawn) -> pl.DataFrame:
        """Calls as rows of the schema: the caller, then the fields in their order, then home and work."""
        import polars as pl

        layout = CallsLayout.of(self.schema)
        x, y = self.region.coordinates(drawn.x, drawn.y)
        clock = self.schema.field(layout.time).edges
        seconds = (self.region.first_day + drawn.day) * DAY + drawn.second
        if self.days is None:
            seconds = np.clip(seconds, int(clock.low), int(clock.high))
        columns: dict[str, pl.Series] = {
            layout.time: pl.Series(layout.time, seconds * 1_000_000).cast(pl.Datetime("us")),
            layout.longitude: self._place(layout.longitude, x),
            layout.latitude: self._place(layout.latitude, y),
        }
        found = [pl.Series(layout.caller, first + 1 + drawn.caller, dtype=pl.Int64)]
        for name in self.schema.names:
            if name == layout.time and layout.date is not None:
                found.append(columns[name].dt.date().alias(layout.date))
                found.append(columns[name].dt.strftime("%H:%M:%S"))
            else:
                found.append(columns[name])
        for name, (east, north) in layout.places.items():
            place = (people.home_place if name == "home" else people.work_place)[drawn.caller]
            at_x, at_y = self.region.coordinates(place[:, 0], place[:, 1])
            found += [
                self._place(layout.latitude, at_y).alias(north),
                self._place(layout.longitude, at_x).alias(east),
            ]
        return pl.DataFrame(found)

    def _place(self, name: str, values: Reals) -> pl.Series:
        """Coordinates as the field holds them: with few digits, within its bounds."""
        import polars as pl

        field = self.schema.field(name)
        if field.type == "integer":
            return pl.Series(
                name, np.clip(np.floor(values), field.edges.low, field.edges.high).astype(np.int64)
            )
        digits = 5 if field.decimals is None else field.decimals
        rounded = np.clip(np.round(values, digits), float(field.edges.low), float(field.edges.high))
        return pl.Series(name, rounded)

    # Questions ----------------------------------------------------------------------------------------

    @cached_property
    def crowd(self) -> People:
        """Synthetic callers, always the same ones."""
        return population(self.tables, self.region, CROWD, np.random.default_rng(0))

    @cached_property
    def ranges(self) -> Reals:
        """Daily ranges of some of them, in miles: one for every day with a call."""
        rng = np.random.default_rng(1)
        people = population(self.tables, self.region, RANGED, rng)
        drawn = calls_of(self.tables, people, min(RANGED_DAYS, self.region.days), rng)
        return daily_ranges(drawn.caller, drawn.day, drawn.x, drawn.y, self.region)

    def _part(self, cells: Numbers, area: Area) -> Reals:
        side = self.tables.side
        return area.overlap(cells % side, cells // side, side)

    def calls(self, text: str) -> Answer:
        """How many calls are made in a box at an hour, on a day: ``lat=40.7..40.8,lon=-74..-73.9 at 9``."""
        area, hour = parse_calls(text, self.schema, self.region)
        people, tables = self.crowd, self.tables
        hours = range(HOURS) if hour is None else (hour,)
        at_home_part, at_work_part = self._part(people.home, area), self._part(people.work, area)
        found = np.zeros(len(people))
        for each in hours:
            chance = at_home(tables, people, each)
            often = people.mean * tables.times[people.kind, each]
            found += often * (chance * at_home_part + (1 - chance) * at_work_part)
        words = "calls a day" if hour is None else "calls in this hour of a day"
        return self._modelled(found * tables.callers, words, OF_CALLS, EQUALLY)

    def trips(self, text: str) -> Answer:
        """How many callers live in one box and work in another: ``BOX to BOX``."""
        start, end = parse_trip(text, self.schema, self.region)
        both = self._part(self.crowd.home, start) * self._part(self.crowd.work, end)
        return self._modelled(both * self.tables.callers, "callers", OF_TRIPS)

    def beyond(self, text: str) -> Answer:
        """The share of a day's callers who move further than a distance on that day, such as ``5 miles``."""
        far = parse_distance(text)
        share = float((self.ranges > far).mean()) if len(self.ranges) else 0.0
        # as if all days of a caller were alike: more than the truth
        luck = _LUCK * 100 * float(np.sqrt(share * (1 - share) / RANGED))
        words = "percent of callers on a day with a call"
        rests = (MODELLED, OF_RANGES, _lucky(RANGED, luck, "at most"))
        return Answer(100 * share, None, words, "model", rests)

    def _modelled(self, each: Reals, words: str, *rests: str) -> Answer:
        """The mean of what every caller of the crowd stands for, with what is known about it."""
        luck = _LUCK * float(each.std()) / float(np.sqrt(len(each)))
        return Answer(
            float(each.mean()), None, words, "model", (MODELLED, *rests, _lucky(len(each), luck, "about"))
        )

    def flows(self, side: int = 4) -> pl.DataFrame:
        """The origin-destination matrix of a grid of so many areas each way.

        The columns are from, to, callers, the boxes of home and work as `trips` takes them, and what the
        number rests on. Areas are numbered row by row from the south-west, from 1 on.
        """
        import polars as pl

        if not 1 <= side <= MOST_AREAS:
            raise QueryError(f"Flows are between areas of a grid of 1 to {MOST_AREAS} each way, not {side}.")
        matrix = self.matrix(side)
        number = np.arange(1, side * side + 1)
        boxes = [area_text(self.schema, place, side) for place in range(side * side)]
        return pl.DataFrame(
            {
                "from": np.repeat(number, side * side),
                "to": np.tile(number, side * side),
                "callers": np.round(matrix.ravel(), 3),
                "home": np.repeat(boxes, side * side),
                "work": np.tile(boxes, side * side),
                "rests_on": ["model"] * side**4,
            }
        )

    def matrix(self, side: int) -> Reals:
        """How many callers live in each area (rows) and work in each (columns)."""
        homes, works = (
            (place[:, 1] * side // STEPS).astype(np.int64) * side
            + (place[:, 0] * side // STEPS).astype(np.int64)
            for place in (self.crowd.home_place, self.crowd.work_place)
        )
        flat = np.bincount(homes * side**2 + works, minlength=side**4).astype(np.float64)
        return flat.reshape(side**2, side**2) * (self.tables.callers / max(1, len(self.crowd)))

    def ask(self, expression: str) -> Answer:
        """The number of calls in a box at an hour."""
        return self.calls(expression)

    def example(self) -> str | None:
        return f"{example_area(self.schema)} at 9"

    def questions(self) -> Mapping[str, Question]:
        area = example_area(self.schema)
        return {
            "calls": Question(
                "calls in a box at an hour are counted",
                self.calls,
                partial(answered, column="calls", ask=self.calls),
                f"{area} at 9",
            ),
            "trips": Question(
                "callers who live in one box and work in another are counted",
                self.trips,
                partial(answered, column="trips", ask=self.trips),
                f"{area} to all",
            ),
            "beyond": Question(
                "the share of callers who move further than a distance on a day is told",
                self.beyond,
                partial(answered, column="beyond", ask=self.beyond),
                "5 miles",
            ),
            "flows": Question(
                "callers who live and work in each of K x K areas are listed",
                lambda text: self.flows(_areas(text)),
                example="2",
            ),
            **self.in_sql(),
        }

    # Words and pictures ----------------------------------------------------------------------------------

    def pictures(self) -> Sequence[Picture]:
        return pictures.of(self)

    def explain(self) -> Sequence[str]:
        paid = [part.replace("_", " ") for part in PARTS if part not in self.public]
        said = [
            "Six distributions were counted under noise: where callers live and work, how far they commute, "
            "how many calls they make a day, when in the day they call, and where they call by the hour. "
            "Synthetic callers are drawn from these: a home, a distance, a place of work at that distance, "
            "then calls, each at home or at work."
        ]
        if self.public:
            said.append(
                f"Public tables took the place of {', '.join(self.public).replace('_', ' ')}; paid for were "
                f"{', '.join(paid) or 'none'}."
            )
        return said

    def limits(self) -> Sequence[str]:
        return [
            MODELLED,
            EQUALLY,
            "A synthetic caller has two places, home and work. Other places, ways between places and what "
            "changes from day to day are not in the model.",
        ]

    # The folder -----------------------------------------------------------------------------------------

    def model(self) -> Model:
        return saved.model_of(self.tables, self.public)

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        try:
            Region.of(manifest.schema)
            tables, public = saved.tables_of(model)
        except (UsageError, SchemaError) as problem:
            raise ReleaseError(f"The model is not one of calls: {problem} Get the release again.") from None
        return cls(**manifest.common, tables=tables, public=public)


def _lucky(size: int, luck: float, how: str) -> str:
    """What another crowd would change: the one error of an answer that is known."""
    return f"Another {size:,} synthetic callers would move it by {how} ± {readable(luck)} (95 %)."


def _areas(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise QueryError(f"'{text}' is no whole number; write how many areas each way.") from None
