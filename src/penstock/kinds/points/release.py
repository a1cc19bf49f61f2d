"""What all releases of points share: noisy counts of disjoint cells, asked by conditions and by boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.kinds.points.box import Box, Reals
from penstock.kinds.points.questions import condition_of, parse_box, read_boxes
from penstock.releases import Answer, Question, Release
from penstock.releases.example import example_query

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PointsRelease(Release):
    """Counts of cells: numbers of points in boxes or under any condition, and synthetic points.

    `deviation` is that of the independent noise of the counts; None where they share their noise.
    """

    kinds: ClassVar[tuple[str, ...]] = ("points",)
    answer: ClassVar[str] = "synthetic data"

    counts: NDArray[np.int64] | Reals
    deviation: float | None

    @property
    def total(self) -> float:
        """The estimated number of points."""
        return max(0.0, float(self.counts.sum()))

    @property
    def size(self) -> int:
        return round(self.total)

    @abstractmethod
    def range_counts(self, low: ArrayLike, high: ArrayLike) -> Reals:
        """The estimated numbers of points in many boxes: rows of lower and of upper corners."""

    @abstractmethod
    def range_errors(self, low: ArrayLike, high: ArrayLike) -> Reals | None:
        """Half the width of a 95 % interval for the noise in each of many range counts, where known."""

    def count(self, box: Box) -> Answer:
        """The estimated number of points in a box over the numeric fields; any category counts.

        Points are taken to be even inside a cell. The error bar is that of the noise: it does not cover
        uneven cells at the border of the box.
        """
        value, error = self.range_counts([box.low], [box.high]), self.range_errors([box.low], [box.high])
        return Answer(float(value[0]), None if error is None else float(error[0]), "points")

    def count_boxes(self, path: str | PathLike[str]) -> pl.DataFrame:
        """The boxes of a file with the numbers of points inside: the file's columns, then count and error.

        A box across the seam of a circle is asked as the condition that it is, the others all at once.
        """
        import polars as pl

        frame, low, high = read_boxes(path, self.schema)
        across = (low > high).any(axis=1)
        plain = ~across
        counts, errors = np.empty(len(low)), np.full(len(low), np.nan)
        counts[plain] = self.range_counts(low[plain], high[plain])
        known = self.range_errors(low[plain], high[plain])
        if known is not None:
            errors[plain] = known
        for row in np.flatnonzero(across):
            answer = self.query(condition_of(low[row].tolist(), high[row].tolist(), self.schema))
            counts[row], errors[row] = answer.value, np.nan if answer.error is None else answer.error
        return frame.with_columns(pl.Series("count", counts), pl.Series("error", errors, nan_to_null=True))

    def questions(self) -> Mapping[str, Question]:
        words = "points in a box are counted"
        box = Question(words, self._count_written, self.count_boxes, self._lower_half())
        return {**super().questions(), "box": box}

    def _lower_half(self) -> str | None:
        """A box to ask for: half of the first numeric field and all of the others; None without any."""
        edges = [field.edges for field in self.schema.fields if field.ranged]
        bounds = [number for each in edges for number in (each.low, each.end)]
        if bounds:
            bounds[1] = (bounds[0] + bounds[1]) / 2
        return ",".join(map(str, bounds)) or None

    def _count_written(self, text: str) -> Answer:
        """The number of points in a box as somebody wrote it."""
        asked = parse_box(text, self.schema)
        return self.count(asked) if isinstance(asked, Box) else self.query(asked)

    def example(self) -> str | None:
        return example_query(self.schema)
