"""Visits to the site of a library that does not exist: who looked at which page, and when."""

from __future__ import annotations

from datetime import datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

PAGES = ("home", "search", "book", "reserve", "account", "events", "hours", "contact")
_FIRST = (52, 16, 9, 0, 8, 6, 8, 1)
_NEXT = {  # what follows each page: weights of the pages, and of leaving
    "home": (4, 38, 4, 0, 16, 12, 11, 4, 22),
    "search": (3, 22, 52, 0, 1, 0, 0, 1, 14),
    "book": (4, 26, 9, 22, 3, 0, 1, 1, 30),
    "reserve": (3, 12, 4, 2, 40, 1, 3, 1, 34),
    "account": (12, 10, 2, 2, 18, 3, 2, 3, 40),
    "events": (14, 3, 0, 1, 4, 28, 6, 5, 44),
    "hours": (14, 5, 0, 0, 3, 7, 3, 14, 60),
    "contact": (16, 4, 0, 0, 4, 4, 10, 4, 66),
}
_PERSISTENT = 2.2  # who has just searched twice in a row goes on searching


def visits(visitors: int = 20_000) -> pl.DataFrame:
    """One row for every page that was looked at, in the order in which it happened.

    >>> visits(3).columns
    ['visitor', 'visited', 'page']
    """
    import polars as pl

    rng = np.random.default_rng(20_250_601)
    steps = np.array([_NEXT[page] for page in PAGES], dtype=float)
    last = rng.choice(len(PAGES), visitors, p=np.array(_FIRST) / sum(_FIRST))
    before = np.full(visitors, -1)
    alive = np.arange(visitors)
    times = rng.integers(0, 30 * 86_400, visitors)
    owners, pages, instants = [], [], []
    while len(alive):
        owners.append(alive)
        pages.append(last)
        instants.append(times)
        weights = steps[last]
        searching = np.where((last == 1) & (before == 1), _PERSISTENT, 1.0)
        weights = weights * np.where(np.arange(len(PAGES) + 1) == 1, searching[:, None], 1.0)
        rungs = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        following = (rungs < rng.random(len(alive))[:, None]).sum(axis=1)
        times = times + rng.integers(4, 240, len(alive))
        going = following < len(PAGES)
        alive, before, last, times = alive[going], last[going], following[going], times[going]
    when = np.concatenate(instants)
    order = np.argsort(when, kind="stable")
    start = datetime(2025, 6, 1)
    return pl.DataFrame(
        {
            "visitor": np.concatenate(owners)[order] + 1,
            "visited": [start + timedelta(seconds=int(second)) for second in when[order]],
            "page": np.array(PAGES)[np.concatenate(pages)[order]],
        }
    )


def visits_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("visits.schema.yaml").read_text(encoding="utf-8")
