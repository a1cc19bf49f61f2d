"""Friendships at a school that does not exist: who plays with whom, in classes, clubs and across them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

PUPILS = 600
_CLASS, _CLUB = 25, 40


def friends() -> pl.DataFrame:
    """One row for each friendship, the smaller number first.

    >>> friends().columns
    ['pupil', 'friend']
    """
    import polars as pl

    rng = np.random.default_rng(20_250_801)
    popular = rng.gamma(3.0, 1.0, PUPILS)
    classes = np.arange(PUPILS) // _CLASS
    clubs = rng.permutation(PUPILS) // _CLUB
    one, other = np.triu_indices(PUPILS, 1)
    chance = 0.002 + 0.10 * (classes[one] == classes[other]) + 0.04 * (clubs[one] == clubs[other])
    chance = np.minimum(0.95, chance * popular[one] * popular[other] / 9)
    met = rng.random(len(one)) < chance
    return pl.DataFrame({"pupil": one[met] + 1, "friend": other[met] + 1})


def friends_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("friends.schema.yaml").read_text(encoding="utf-8")
