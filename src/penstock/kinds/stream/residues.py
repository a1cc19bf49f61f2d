"""Counters on a circle, which updates move at single places: what such sketches share.

Each counter is written once in a call, with its sum already reduced. A sum that was not reduced yet would
tell more than the counters may, so it exists only inside the call.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Counters, Setting, Sketch, Updates
from penstock.privacy.randomness.generator import Randomness

Moves = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Residues(Sketch):
    """A sketch of residues, of which an update moves one."""

    @abstractmethod
    def modulus(self, setting: Setting) -> int:
        """The prime that counters are reduced by."""

    @abstractmethod
    def moves(self, setting: Setting, updates: Updates) -> Moves:
        """Which counters are moved, and each by how much modulo the prime."""

    def feed(self, setting: Setting, counters: Counters, updates: Updates, source: Randomness) -> None:
        moves = (self.moves(setting, piece) for piece in updates.pieces())
        add(counters, moves, self.modulus(setting), len(updates))

    def plausible(self, setting: Setting, counters: Counters) -> bool:
        return int(counters.max()) < self.modulus(setting)


def add(counters: Counters, moves: Iterable[Moves], prime: int, number: int) -> None:
    """Add amounts at places of the flat counters, modulo a prime, in place; `number` says how many there are.

    >>> counters = np.array([5, 0, 1], dtype=np.uint32)
    >>> add(counters, [(np.array([0, 2, 0]), np.array([1, 3, 4]))], 7, 3)
    >>> counters.tolist()
    [3, 0, 4]
    """
    flat = counters.reshape(-1)
    many = number * 4 > flat.size
    summed = np.zeros(flat.size if many else 0, dtype=np.int64)
    for place, amount in moves:
        if many:
            np.add.at(summed, place, amount)
        else:
            touched, inverse = np.unique(place, return_inverse=True)
            together = np.zeros(touched.size, dtype=np.int64)
            np.add.at(together, inverse, amount)
            flat[touched] = (flat[touched] + together) % prime
    if many:
        summed += flat
        summed %= prime
        flat[:] = summed
