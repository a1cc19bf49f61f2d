"""Slices of the records, and the one in which a release is furthest off beyond what sampling explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.evaluation.score import Score

Reals = NDArray[np.float64]

FEWEST = 50
"""Records of a slice that is looked at, and at least a hundredth of all."""


def enough(records: float) -> float:
    """The fewest records that a slice of so many must have."""
    return max(FEWEST, records / 100)


def given(table: Reals) -> Reals:
    """The distribution along the second axis for each place of the first; nothing where no record is."""
    mass = table.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(table, mass, out=np.zeros_like(table), where=mass > 0))


@dataclass(frozen=True)
class Worst:
    """The slice in which a release is furthest off: its number, its records, and how many were looked at."""

    place: int
    records: int
    looked_at: int
    distance: Mapping[str, float]

    def score(self, words: str, what: str) -> Score:
        """`what` says of which records the slice is, and what was compared in it."""
        return Score(
            words,
            self.distance["release"],
            floor=self.distance["floor"],
            ceiling=self.distance["ceiling"],
            note=f"{what}, the worst of {self.looked_at}",
        )


def worst(original: Reals, others: Mapping[str, Reals], records: Reals) -> Worst | None:
    """Of tables with a line for each slice: total variation distances within it; None where none has enough.

    >>> truth = np.array([[60.0, 0], [30, 30], [1, 0]])
    >>> tables = {"release": truth[:, ::-1], "floor": np.ones((3, 2)), "ceiling": truth}
    >>> found = worst(truth, tables, truth.sum(axis=1))
    >>> found.place, found.looked_at, found.distance["release"]
    (0, 2, 1.0)
    """
    there = np.flatnonzero(records >= enough(float(records.sum())))
    if not len(there):
        return None
    right = given(original[there])
    off = {key: np.minimum(1.0, _apart(right, given(table[there]))) for key, table in others.items()}
    place = int(np.argmax(off["release"] - off["ceiling"]))
    return Worst(
        int(there[place]),
        round(float(records[there[place]])),
        len(there),
        {key: float(each[place]) for key, each in off.items()},
    )


def _apart(one: Reals, two: Reals) -> Reals:
    """Total variation distances, line by line; 1 where one of them has nothing there."""
    empty = (one.sum(axis=1) == 0) | (two.sum(axis=1) == 0)
    return np.where(empty, 1.0, np.abs(one - two).sum(axis=1) / 2)
