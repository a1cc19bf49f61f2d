"""What a tree method releases: a partition of the space with a noisy count in every leaf."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel

from penstock.errors import PenstockError, ReleaseError
from penstock.kinds.points.axis import Reals
from penstock.kinds.points.box import column, corners
from penstock.kinds.points.geojson import features
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.ranges import Ranges
from penstock.kinds.points.regions import region, shares
from penstock.kinds.points.release import PointsRelease
from penstock.kinds.points.space import Space
from penstock.releases import Answer, Manifest, Model, Question, Written
from penstock.releases.disk import reason, whole_file
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl


class _Saved(BaseModel):
    together: int | None
    deepest: int | None
    deviation: float | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TreeRelease(PointsRelease):
    """Noisy counts in the leaves of a tree: counts of boxes and of any question, synthetic points, a map.

    Counts are kept as they came out of the noise, also negative ones: cutting them off would bias
    every sum. `together` and `deepest` are what, besides the schema, defines the space.

    >>> from penstock import Schema, release
    >>> from penstock.demo import rides, rides_schema
    >>> tree = release(rides(500), Schema.from_yaml(rides_schema()), epsilon=1, method="privtree", seed=1)
    >>> 50 < tree.query("x_km < 10 and y_km < 7").value < 110
    True
    >>> tree.sample(3, seed=1).columns
    ['x_km', 'y_km']
    """

    form: ClassVar[str] = "tree"

    partition: Partition
    together: int | None = None
    deepest: int | None = None

    @property
    def space(self) -> Space:
        return self.partition.space

    # Questions ---------------------------------------------------------------------------------------

    @cached_property
    def ranges(self) -> Ranges:
        """The index behind batches of range counts, made when it is first needed."""
        return Ranges(self.partition, self.partition.shape.sums(self.counts.astype(np.float64)))

    def questions(self) -> Mapping[str, Question]:
        flat = sum(not axis.category for axis in self.space.axes) > 1
        shown = Question(
            "the map is written as GeoJSON", self._write_map, example="map.geojson" if flat else None
        )
        return {**super().questions(), "map": shown}

    def _write_map(self, path: str) -> Written:
        return Written(self.save_geojson(path), "the released map")

    def range_counts(self, low: ArrayLike, high: ArrayLike) -> Reals:
        return self.ranges.count(*self._corners(low, high))

    def range_cells(self, low: ArrayLike, high: ArrayLike) -> tuple[Reals, Reals]:
        box = self._corners(low, high)
        return self.ranges.shares(*box), self.ranges.squares(*box)

    def ask(self, expression: str) -> Answer:
        """The estimated number of points that meet a condition, such as ``lon = 2..3 and kind = 'tram'``."""
        terms = region(expression, self.schema, self.space)
        leaves = self.partition.leaves
        share = shares(terms, self.partition.low[leaves], self.partition.high[leaves])
        return self.stated(float(self.counts @ share), float(share.sum()), float(np.sum(share**2)))

    def _corners(self, low: ArrayLike, high: ArrayLike) -> tuple[Reals, Reals]:
        """Boxes over the numeric fields as boxes over all axes, in the axes' own units."""
        numeric = [number for number, axis in enumerate(self.space.axes) if not axis.category]
        below, above = corners(low, high, len(numeric))
        begin = np.zeros((len(below), len(self.space.axes)))
        end = np.broadcast_to([axis.length for axis in self.space.axes], begin.shape).copy()
        for place, number in enumerate(numeric):
            interval = self.space.axes[number].interval(below[:, place], above[:, place])
            begin[:, number], end[:, number] = interval
        return begin, end

    # Synthetic points ---------------------------------------------------------------------------------

    @cached_property
    def leaf_shares(self) -> Reals:
        """The plausible share of all points that each leaf holds: not negative, adding up to 1."""
        return self.partition.plausible(self.counts)

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Points spread over the leaves in proportion to their plausible counts, evenly inside a leaf."""
        import polars as pl

        allotted = self.partition.allot(self.leaf_shares, n, rng)
        leaves = np.repeat(self.partition.leaves, allotted)[rng.permutation(n)]
        columns = []
        for number, axis in enumerate(self.space.axes):
            low, high = self.partition.low[leaves, number], self.partition.high[leaves, number]
            drawn = low + (high - low) * rng.random(n)
            if axis.codes is not None:
                chosen = axis.codes[np.minimum(drawn, high - 1).astype(np.int64)]
                columns.append(axis.codec.decode(chosen, rng))
            else:
                if axis.field.whole:
                    drawn = np.minimum(np.floor(drawn), high - 1)
                columns.append(column(axis.field, axis.values(drawn)))
        return pl.DataFrame(columns)

    # Saving and showing --------------------------------------------------------------------------------

    def model(self) -> Model:
        import polars as pl

        saved = _Saved(together=self.together, deepest=self.deepest, deviation=self.deviation)
        return Model(
            json=saved.model_dump(),
            tables={
                "nodes": pl.DataFrame({"split": self.partition.split}),
                "leaves": pl.DataFrame({"count": self.counts}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        split = model.table("nodes", {"split": pl.Boolean})["split"].to_numpy()
        try:
            space = Space.of(manifest.schema, together=saved.together, deepest=saved.deepest)
            partition = Partition.grown(space, split)
        except PenstockError as problem:
            raise ReleaseError(f"model.json describes an impossible tree: {problem}") from None
        counts = model.table("leaves", {"count": pl.Int64}, rows=len(partition.leaves))["count"].to_numpy()
        return cls(
            **manifest.common,
            partition=partition,
            counts=counts,
            deviation=saved.deviation,
            together=saved.together,
            deepest=saved.deepest,
        )

    def geojson(self, x: str | None = None, y: str | None = None, side: int = 64) -> dict[str, Any]:
        """The released map as GeoJSON: one rectangle for each leaf, with its count and density.

        A release with further fields is seen from above, as a regular grid of `side` by `side` cells.
        """
        return features(self.partition, self.counts, self.range_counts, (x, y), side)

    def save_geojson(self, path: str | PathLike[str], x: str | None = None, y: str | None = None) -> Path:
        """Write `geojson` to a file, whole or not at all."""
        text = json.dumps(self.geojson(x, y))
        try:
            with whole_file(Path(path)) as partial:
                partial.write_text(text, encoding="utf-8")
        except OSError as problem:
            raise ReleaseError(f"'{path}' cannot be written: {reason(problem)}.") from None
        return Path(path)

    def pictures(self) -> Sequence[Picture]:
        from penstock.kinds.points.pictures import MOST_POINTS, pictures

        rows = self.draw(min(self.size, MOST_POINTS), np.random.default_rng(0))
        return pictures(self.partition, self.counts, rows, self.range_counts)

    def explain(self) -> Sequence[str]:
        shape = self.partition.shape
        noise = (
            "an estimate made from noisy counts of several cells."
            if self.deviation is None
            else f"a count to which exact noise with a standard deviation of {self.deviation:.3g} was added."
        )
        return [
            f"A tree with {len(shape.leaves):,} leaves, the deepest at depth {shape.depth}. Whether a cell "
            "was split was itself a noisy decision, so the shape of the tree is public. Each leaf holds "
            f"{noise} Counts of larger areas add up the leaves; inside a leaf, points are taken to be spread "
            "evenly.",
        ]

    def limits(self) -> Sequence[str]:
        return [
            "Detail finer than a leaf is not in this release; leaves are large where points are few.",
            "Single leaves in sparse areas are mostly noise, and some counts are below zero on purpose: "
            "sums over them are unbiased.",
        ]
