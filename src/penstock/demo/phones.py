"""Phone calls in a city that does not exist: a core, suburbs, people who live here and work there.

The box is that of the study of New York from which DP-WHERE was made, and nothing else is. A part of all
homes is in the core, the others are in suburbs of very different size. Work is where jobs are, and rather
near than far. Two kinds of people call at different times of the day. Most calls are made at home or at
work, some on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

WEST, EAST, SOUTH, NORTH = -75.0, -73.0, 40.0, 42.0
CORE = (-74.0, 40.75)
MILE_EAST, MILE_NORTH = 1 / 52.2, 1 / 69.0
START = datetime(2011, 4, 1)


@dataclass(frozen=True)
class City:
    """A city drawn from a seed: where its suburbs are and how large, and then any number of callers.

    >>> city = City()
    >>> len(city.centres), city.calls(2, days=3, rng=np.random.default_rng(1)).columns
    (61, ['phone', 'time', 'lat', 'lon'])
    """

    seed: int = 20_110_401
    suburbs: int = 60
    in_core: float = 0.45
    reach: float = 10.0
    """Miles over which a job's pull falls to a third."""
    a_day: float = 8.0

    @cached_property
    def _drawn(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places of the core and the suburbs, and the share of homes in each."""
        rng = np.random.default_rng(self.seed)
        around = rng.normal(0, 30, (self.suburbs, 2))
        centres = np.vstack([np.zeros((1, 2)), around])
        sizes = 1 / np.arange(1, self.suburbs + 1) ** 0.7
        shares = np.concatenate([[self.in_core], (1 - self.in_core) * sizes / sizes.sum()])
        return centres, shares

    @property
    def centres(self) -> NDArray[np.float64]:
        """Miles from the core, east and north."""
        return self._drawn[0]

    def people(self, callers: int, rng: np.random.Generator) -> dict[str, NDArray[np.float64]]:
        """Homes and places of work in miles from the core, calls a day, and whether somebody calls late."""
        centres, shares = self._drawn
        lives = rng.choice(len(shares), callers, p=shares)
        spread = np.where(lives == 0, 6.0, 3.5)[:, None]
        home = centres[lives] + rng.normal(0, 1, (callers, 2)) * spread
        jobs = shares * np.where(np.arange(len(shares)) == 0, 1.6, 0.8)
        pull = jobs * np.exp(-np.hypot(*(centres[:, None] - centres).transpose(2, 0, 1)) / self.reach)
        rungs = np.cumsum(pull / pull.sum(axis=1, keepdims=True), axis=1)
        works = np.minimum((rungs[lives] < rng.random(callers)[:, None]).sum(axis=1), len(shares) - 1)
        work = centres[works] + rng.normal(0, 1, (callers, 2)) * np.where(works == 0, 4.0, 3.0)[:, None]
        return {
            "home": _inside(home),
            "work": _inside(work),
            "a_day": rng.gamma(2.0, self.a_day / 2, callers),
            "late": (rng.random(callers) < 0.4).astype(np.float64),
        }

    def calls(
        self, callers: int, *, days: int, rng: np.random.Generator, first: int = 1, stated: bool = False
    ) -> pl.DataFrame:
        """All calls of so many callers; with `stated`, home and work stand in columns of their own."""
        import polars as pl

        people = self.people(callers, rng)
        number = rng.poisson(np.repeat(people["a_day"][:, None], days, axis=1))
        slots = np.repeat(np.arange(callers * days), number.ravel())
        caller, day = slots // days, slots % days
        late = people["late"][caller] > 0
        minute = np.where(late, _minutes(20, 3.5, len(slots), rng), _minutes(12, 4.5, len(slots), rng))
        hour = minute // 60
        weekday = (START.weekday() + day) % 7 < 5
        busy = np.where(weekday & (hour >= 9) & (hour < 18), 0.72, 0.08)
        where = rng.random(len(slots))
        place = np.where((where < busy)[:, None], people["work"][caller], people["home"][caller])
        away = where > 0.92
        place = place + np.where(away[:, None], rng.normal(0, 4, (len(slots), 2)), 0.0)
        place = _inside(place + rng.normal(0, 0.3, (len(slots), 2)))
        seconds = day * 86_400 + minute * 60 + rng.integers(0, 60, len(slots))
        begun = int((START - datetime(1970, 1, 1)).total_seconds())
        frame = pl.DataFrame(
            {
                "phone": first + caller,
                "time": pl.Series((begun + seconds) * 1_000_000).cast(pl.Datetime("us")),
                **_degrees("", place),
            }
        )
        if stated:
            more = _degrees("home_", people["home"][caller]) | _degrees("work_", people["work"][caller])
            frame = frame.with_columns(**{name: pl.Series(values) for name, values in more.items()})
        return frame


def _inside(place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places held inside the box."""
    low = np.array([(WEST - CORE[0]) / MILE_EAST, (SOUTH - CORE[1]) / MILE_NORTH])
    high = np.array([(EAST - CORE[0]) / MILE_EAST, (NORTH - CORE[1]) / MILE_NORTH])
    return np.clip(place, low * 0.999, high * 0.999)


def _degrees(prefix: str, place: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    return {
        f"{prefix}lat": np.round(CORE[1] + place[:, 1] * MILE_NORTH, 5),
        f"{prefix}lon": np.round(CORE[0] + place[:, 0] * MILE_EAST, 5),
    }


def _minutes(centre: float, wide: float, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Minutes of the day around an hour, a few of them at any time."""
    near = rng.normal(centre * 60, wide * 60, size) % 1440
    return np.where(rng.random(size) < 0.9, near, rng.random(size) * 1440).astype(np.int64)


def phones(callers: int = 5_000, days: int = 7) -> pl.DataFrame:
    """A week of calls, one row each, in the order of the callers.

    >>> phones(2).columns
    ['phone', 'time', 'lat', 'lon']
    """
    return City(a_day=4.0).calls(callers, days=days, rng=np.random.default_rng(7))


def phones_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("phones.schema.yaml").read_text(encoding="utf-8")
