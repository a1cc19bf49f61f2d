"""Clusters as a release: their centres and sizes, and the synopsis that they were found on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.errors import PenstockError, QueryError, ReleaseError
from penstock.kinds.points.box import column
from penstock.kinds.points.data import along
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.space import Space
from penstock.learn.clusters.projection import stated
from penstock.learn.clusters.synopsis import GridSynopsis, GrownSynopsis, Synopsis
from penstock.learn.clusters.unit_box import UnitBox, nearest
from penstock.releases import Manifest, Model, Question, Release
from penstock.releases.answer import contributions
from penstock.releases.disk import AGAIN
from penstock.releases.predicting import Predicting
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

Reals = NDArray[np.float64]

MOST_CLUSTERS = 1000
MOST_CELLS = 5_000_000
MOST_LISTED = 10_000

Counted = Literal["last round", "cells"]
WHAT = {
    "last round": "A size counts the points that were nearest to the centre before its last move.",
    "cells": "A size adds up the noisy counts of the cells whose middle is nearest to the centre.",
}


class _Saved(BaseModel):
    clusters: int
    counted: Counted | None
    sides: list[int] | None
    together: int | None
    deepest: int | None
    deviation: float | None
    directions: list[list[int]] | None = None
    middle: list[int] | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ClustersRelease(Release, Predicting):
    """Centres of clusters, the largest first; new points belong to the nearest.

    `centres` are in the fields' own numbers. `sizes` are noisy, and `errors` are half-widths of 95 %
    intervals for what `counted` says; both are None where nothing was counted.

    >>> from penstock import Schema, release
    >>> from penstock.demo import rides, rides_schema
    >>> schema = Schema.from_yaml(rides_schema())
    >>> found = release(rides(2000), schema, epsilon=1, method="kmeans", parameters={"k": 3}, seed=1)
    >>> found.centres.shape
    (3, 2)
    >>> found.predict(rides(5)).columns
    ['cluster']
    """

    kinds: ClassVar[tuple[str, ...]] = ("points",)
    answer: ClassVar[str] = "clusters"
    form: ClassVar[str] = "clusters"

    centres: Reals
    sizes: Reals | None = None
    errors: Reals | None = None
    counted: Counted | None = None
    synopsis: Synopsis | None = None

    @property
    def box(self) -> UnitBox:
        return UnitBox.of(self.schema)

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.schema.names

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The number of the nearest centre for each row, from 0 on; null where a coordinate is missing."""
        import polars as pl

        self.refuse_without_predictors(rows)
        box = self.box
        points, present = box.points(rows)
        found = pl.Series("cluster", nearest(points, box.units(self.centres)), dtype=pl.Int64)
        return pl.DataFrame([found.set(pl.Series(~present), None)])

    def clusters(self, most: int | None = None) -> pl.DataFrame:
        """The clusters, the largest first: number, size with its error where known, and centre."""
        import polars as pl

        columns = [pl.Series("cluster", np.arange(len(self.centres)), dtype=pl.Int64)]
        if self.sizes is not None:
            columns.append(pl.Series("size", np.maximum(self.sizes, 0.0)))
            columns.append(pl.Series("error", self.errors, dtype=pl.Float64))
        taken = {each.name for each in columns}
        for place, field in enumerate(self.schema.fields):
            name = field.name if field.name not in taken else f"{field.name} (field)"
            along = self.centres[:, place]
            dated = field.type in ("date", "datetime")
            columns.append(column(field, along).rename(name) if dated else pl.Series(name, along))
        return pl.DataFrame(columns).head(len(self.centres) if most is None else most)

    def questions(self) -> Mapping[str, Question]:
        words = "clusters, their centres and their sizes are listed"
        return {**super().questions(), "clusters": Question(words, self._largest, None, "3")}

    def _largest(self, text: str) -> pl.DataFrame:
        if not text.strip().isdecimal() or not 1 <= int(text) <= MOST_LISTED:
            raise QueryError(f"'{text}' is not a number of clusters; write one from 1 to {MOST_LISTED:,}.")
        return self.clusters(int(text))

    # Saving and showing --------------------------------------------------------------------------------

    def model(self) -> Model:
        import polars as pl

        tables = {"centres": pl.DataFrame({"coordinate": self.centres.ravel()})}
        if self.sizes is not None and self.errors is not None:
            tables["sizes"] = pl.DataFrame({"size": self.sizes, "error": self.errors})
        facts: dict[str, Any] = {"sides": None, "together": None, "deepest": None, "deviation": None}
        if self.synopsis is not None:
            tables["counts"] = pl.DataFrame({"count": self.synopsis.counts})
            facts["deviation"] = self.synopsis.deviation
        if isinstance(self.synopsis, GridSynopsis):
            facts["sides"] = list(self.synopsis.sides)
        elif isinstance(self.synopsis, GrownSynopsis):
            space = self.synopsis.partition.space
            facts |= {"together": space.together, "deepest": space.deepest}
            mixed = self.synopsis.directions
            if mixed is not None:
                facts |= {"directions": mixed.weights.tolist(), "middle": mixed.middle.tolist()}
            tables["nodes"] = pl.DataFrame({"split": self.synopsis.partition.split})
        saved = _Saved(clusters=len(self.centres), counted=self.counted, **facts)
        return Model(json=saved.model_dump(), tables=tables)

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        axes = len(manifest.schema.names)
        if not 1 <= saved.clusters <= MOST_CLUSTERS:
            raise ReleaseError(f"model.json speaks of {saved.clusters} clusters, which cannot be. {AGAIN}")
        rows = saved.clusters * axes
        centres = model.table("centres", {"coordinate": pl.Float64}, rows=rows)["coordinate"].to_numpy()
        try:
            UnitBox.of(manifest.schema)
        except PenstockError as problem:
            raise ReleaseError(f"These fields cannot have centres: {problem}") from None
        sizes = errors = None
        if saved.counted is not None:
            columns = {"size": pl.Float64, "error": pl.Float64}
            table = model.table("sizes", columns, rows=saved.clusters)
            sizes, errors = table["size"].to_numpy(), table["error"].to_numpy()
            if errors.min() < 0:
                raise ReleaseError(f"model-sizes.parquet has an error bar below zero. {AGAIN}")
        return cls(
            **manifest.common,
            centres=centres.reshape(saved.clusters, axes),
            sizes=sizes,
            errors=errors,
            counted=saved.counted,
            synopsis=_synopsis(manifest, model, saved),
        )

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.clusters.pictures import pictures

        return pictures(self)

    def explain(self) -> Sequence[str]:
        made = (
            "They were found by noisy sums and numbers of the points around them."
            if self.synopsis is None
            else f"They were found on {self.synopsis.words}, each with a noisy count of its points."
        )
        told = [f"The centres of {len(self.centres)} clusters; a point belongs to the nearest. {made}"]
        if self.counted is not None:
            told.append(
                f"{WHAT[self.counted]} It lies within its error of what would have been counted without "
                "noise, with 95 % probability."
            )
        if isinstance(self.synopsis, GrownSynopsis) and self.synopsis.directions is not None:
            told.append(
                "A direction mixes all fields, each scaled to its bounds, by the weights that model.json "
                "states; rounds on all fields then found the centres."
            )
        return [*told, *contributions(self.schema)]

    def limits(self) -> Sequence[str]:
        return [
            "Distances are measured after every field was scaled to its declared bounds: wide bounds make a "
            "field count for little.",
            "Clusters of few points are lost in the noise; their centres may lie where nobody is.",
        ]


def _synopsis(manifest: Manifest, model: Model, saved: _Saved) -> Synopsis | None:
    """The synopsis that a model holds, checked."""
    import polars as pl

    if saved.deviation is None:
        return None
    if not 0 <= saved.deviation < np.inf:
        raise ReleaseError(f"model.json states an impossible noise. {AGAIN}")
    if saved.sides is not None:
        if len(saved.sides) != len(manifest.schema.names) or min(saved.sides) < 1:
            raise ReleaseError(f"model.json and schema.yaml disagree about the number of dimensions. {AGAIN}")
        cells = prod(saved.sides)
        if cells > MOST_CELLS:
            raise ReleaseError(f"model.json describes a grid of an impossible size. {AGAIN}")
        counts = model.table("counts", {"count": pl.Int64}, rows=cells)["count"].to_numpy()
        return GridSynopsis(tuple(saved.sides), counts, saved.deviation)
    split = model.table("nodes", {"split": pl.Boolean})["split"].to_numpy()
    try:
        directions = None
        if saved.directions is not None:
            directions = stated(saved.directions, saved.middle or [], len(manifest.schema.names))
        schema = manifest.schema if directions is None else along(manifest.schema, directions)
        space = Space.of(schema, together=saved.together, deepest=saved.deepest)
        partition = Partition.grown(space, split)
    except PenstockError as problem:
        raise ReleaseError(f"model.json describes an impossible tree: {problem}") from None
    counts = model.table("counts", {"count": pl.Int64}, rows=len(partition.leaves))["count"].to_numpy()
    return GrownSynopsis(partition, counts, saved.deviation, directions)
