"""What all releases of points share: noisy counts of disjoint cells, asked by conditions and by boxes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import UsageError
from penstock.kinds.points.box import Box, Reals
from penstock.kinds.points.questions import condition_of, parse_box, read_boxes
from penstock.releases import Answer, Question, Release
from penstock.releases.answer import contributions
from penstock.releases.batch import with_answers
from penstock.releases.error_bars import Noises, bar
from penstock.releases.example import example_query
from penstock.report.numbers import percent
from penstock.schema import parse

if TYPE_CHECKING:
    import polars as pl

CUT = (
    "It cuts through cells: points are taken to be spread evenly inside a cell, and how far that is wrong "
    "is not known. Boxes at the edges of cells have an error bar."
)
SHARED = (
    "It is an estimate made from noisy counts of many sizes, whose common noise the release does not keep."
)
MOST_DRAWN = 20_000_000
"""Points that are drawn for those that meet a condition, and LEAST_MET times as many as will be needed."""
LEAST_MET = 2
AT_ONCE = 1 << 20
_WHOLE = 1e-6  # of a cell: rounding, or a sliver that does not matter


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
    def range_cells(self, low: ArrayLike, high: ArrayLike) -> tuple[Reals, Reals]:
        """For each of many boxes the sum of the shares of the cells that it takes, and that of their squares.

        They are the same number of cells where the box takes every cell wholly or not at all.
        """

    def count(self, box: Box) -> Answer:
        """The estimated number of points in a box over the numeric fields; any category counts.

        Points are taken to be even inside a cell. A box that cuts through cells has no error bar: how
        uneven they are, nobody knows.
        """
        shares, squares = self.range_cells([box.low], [box.high])
        value = float(self.range_counts([box.low], [box.high])[0])
        return self.stated(value, float(shares[0]), float(squares[0]))

    def stated(self, value: float, shares: float, squares: float) -> Answer:
        """An estimate with what it rests on: the sum of the shares of cells, and of their squares, tells."""
        told = (*self.reservations, *contributions(self.schema))
        if abs(shares - squares) > _WHOLE * max(1.0, shares):
            return Answer(value, None, "points", "spread evenly", (CUT, *told))
        if self.deviation is None:
            return Answer(value, None, "points", "model", (SHARED, *told))
        if self.reservations:
            return Answer.counted(value, None, "points", told)
        return Answer.counted(value, bar([Noises(1.0, self.deviation, round(squares))]), "points", told)

    def draw_where(self, where: str, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic points that meet a condition: others are drawn and thrown away, a bounded number."""
        import polars as pl

        condition = parse(where, self.schema)
        share = self.query(where).value / self.total if self.total > 0 else 0.0
        if n * LEAST_MET > share * MOST_DRAWN:
            raise UsageError(
                f'"{where}" holds for {percent(share)} of the points, which is too rare for {n:,} of them; '
                "ask for fewer points, or for something more common."
            )
        kept, found, drawn = [self.draw(0, rng)], 0, 0
        while found < n and drawn < MOST_DRAWN:
            many = min(AT_ONCE, round((n - found) / max(share, 1e-9) * 1.2) + 64, MOST_DRAWN - drawn)
            rows = self.draw(many, rng)
            rows = rows.filter(pl.Series(condition.holds(rows), dtype=pl.Boolean)).head(n - found)
            kept.append(rows)
            found, drawn = found + rows.height, drawn + many
        if found < n:
            raise UsageError(f'"{where}" holds for nearly no point that is drawn; ask for a wider area.')
        return pl.concat(kept)

    @property
    def reservations(self) -> tuple[str, ...]:
        """Why counts of whole cells have no error bar, where they have none."""
        return ()

    def count_boxes(self, path: str | PathLike[str]) -> pl.DataFrame:
        """The boxes of a file with the numbers of points inside: the file's columns, then those of answers.

        A box across the seam of a circle is asked as the condition that it is, the others all at once.
        """
        frame, low, high = read_boxes(path, self.schema)
        across = (low > high).any(axis=1)
        plain = np.flatnonzero(~across)
        counts = self.range_counts(low[plain], high[plain])
        shares, squares = self.range_cells(low[plain], high[plain])
        answers = {
            int(row): self.stated(*facts)
            for row, *facts in zip(plain, counts.tolist(), shares.tolist(), squares.tolist(), strict=True)
        }
        for row in np.flatnonzero(across).tolist():
            answers[row] = self.query(condition_of(low[row].tolist(), high[row].tolist(), self.schema))
        return with_answers(frame, [answers[row] for row in range(len(low))])

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
