"""Raw records as different rows of codes with their number, sorted into parts; all below the seal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.laws.passing import SparseCounts
from penstock.privacy.seals.sensitivity import Sensitivity

Counts = NDArray[np.int64]


class Scoring(Protocol):
    """What makes a split of the records good: a whole number, and how far one unit moves it."""

    def of(self, table: Counts) -> int:
        """Of a table with a row for each part and a column for each class."""

    def sensitivity(self, records: int, candidates: int, classes: int) -> Sensitivity:
        """Of the scores of so many splits, for a unit of so many records."""


@dataclass(frozen=True)
class Split:
    """Public: a column, and the codes of each part that it is divided into."""

    column: int
    parts: tuple[tuple[int, ...], ...]

    def lookup(self) -> Counts:
        """The part of each code; -1 for codes of none."""
        found = np.full(1 + max(max(part) for part in self.parts), -1, dtype=np.int64)
        for number, part in enumerate(self.parts):
            found[list(part)] = number
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """Raw: different rows, a column for each attribute, and how many records each has."""

    codes: Counts
    weights: Counts

    @property
    def size(self) -> int:
        return int(self.weights.sum())

    def children(self, split: Split) -> Counts:
        """The part of each row."""
        return split.lookup()[self.codes[:, split.column]]

    def table(self, split: Split, classes: Counts | None, size: int) -> Counts:
        """How many records each part has of each class; one class where there is none."""
        place = self.children(split) * size + (0 if classes is None else classes)
        counts = np.bincount(place, weights=self.weights, minlength=len(split.parts) * size)
        return counts.astype(np.int64).reshape(len(split.parts), size)

    def histogram(self, column: int, codes: Sequence[int]) -> Counts:
        """How many records have each of some codes, in their order."""
        counts = np.bincount(self.codes[:, column], weights=self.weights, minlength=max(codes) + 1)
        return counts.astype(np.int64)[list(codes)]

    def of(self, split: Split, child: int) -> Rows:
        """The rows of one part."""
        here = self.children(split) == child
        return Rows(self.codes[here], self.weights[here])


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Raw: columns of codes, a row for each record, or for so many records as `weights` says.

    `kept` holds what was once computed from them, such as their features; it never leaves the seal.
    """

    codes: Mapping[str, NDArray[Any]]
    weights: Counts | None
    length: int
    kept: dict[object, Any] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Raw: how many records there are."""
        return self.length if self.weights is None else int(self.weights.sum())


def sparse(counts: Counts) -> SparseCounts:
    """Counts of a table as those of its cells that are not empty."""
    cells = np.flatnonzero(counts)
    return SparseCounts(cells, counts[cells], len(counts))
