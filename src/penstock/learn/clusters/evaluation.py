"""Evaluation of clusters: how far the points are from their centres, compared with clustering without noise.

The measure is the normalised intra-cluster variance (NICV): the mean squared distance of a point to the
nearest centre, in the cube from -1 to 1 to which the declared bounds are scaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import read
from penstock.errors import DataError, UsageError
from penstock.evaluation.findings import MOST_COMPARED, Evaluator, Findings, Options, compared_with
from penstock.evaluation.score import Score
from penstock.learn.clusters.lloyd import Found, lloyd
from penstock.learn.clusters.packing import packed_starts, spread_starts, uniform_starts
from penstock.learn.clusters.pictures import beside
from penstock.learn.clusters.release import ClustersRelease
from penstock.learn.clusters.synopsis import Cells
from penstock.learn.clusters.unit_box import nearest, squared
from penstock.releases.release import Release
from penstock.report.page import Gallery, Section
from penstock.report.pictures import bars
from penstock.schema import Schema

Reals = NDArray[np.float64]

STARTS = 30
MOST_POINTS = 50_000
"""So many points, drawn at random, are clustered without noise; the rest is only measured."""


def nicv(points: Reals, centres: Reals) -> float:
    """The mean squared distance of a point to the nearest centre.

    >>> nicv(np.array([[0.0], [1.0]]), np.array([[0.0], [0.5]]))
    0.125
    """
    step, total = 1 << 16, 0.0
    for begin in range(0, len(points), step):
        total += float(squared(points[begin : begin + step], centres).min(axis=1).sum())
    return total / len(points)


def best_without_noise(points: Reals, k: int, starts: int = STARTS, seed: int = 0) -> Found:
    """What Lloyd's algorithm finds on the points themselves: the best of so many starts.

    Two of three are packed, as published; the others are points that lie apart, which finds small clusters
    far away from all others.
    """
    cells, apart = Cells.of(points, np.ones(len(points))), starts // 3
    packed = packed_starts(k, points.shape[1], starts - apart, seed)
    spread = spread_starts(points, cells.weights, k, apart, seed)
    return min(lloyd(cells, np.concatenate([packed, spread])), key=lambda each: each.error)


class ClustersEvaluation(Evaluator):
    """How compact the clusters are, and how many points are where the release says."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, ClustersRelease):
            raise UsageError("Only clusters can be compared with the points around them.")
        records = read(source, table=options.table)
        rows, of = records.sampled(list(schema.names), MOST_COMPARED, options.seed)
        release.refuse_without_predictors(rows)
        box = release.box
        points, present = box.points(rows)
        points = points[present]
        if not len(points):
            raise DataError("The data to compare with has no points.")
        centres, k = box.units(release.centres), len(release.centres)
        rng = np.random.default_rng(options.seed)
        some = points if len(points) <= MOST_POINTS else points[rng.choice(len(points), MOST_POINTS, False)]
        best = best_without_noise(some, k, seed=options.seed)
        start = uniform_starts(k, box.dimensions, 1, options.seed)[0]
        score = Score(
            "NICV",
            nicv(points, centres),
            floor=nicv(points, start),
            ceiling=nicv(points, best.centres),
            note="mean squared distance of a point to the nearest centre, every field scaled to -1 ... 1; "
            f"floor: one random start; ceiling: Lloyd's algorithm without noise, the best of {STARTS}",
        )
        true = np.bincount(nearest(points, centres), minlength=k) * (of / rows.height)
        details = {
            "clusters": k,
            "without_noise": box.values(best.centres).tolist(),
            "points_nearest": true.round().astype(int).tolist(),
        }
        series = {"original": true}
        if release.sizes is not None:
            series["release"] = np.maximum(release.sizes, 0.0)
        picture = bars(
            "Points of every cluster", [f"cluster {number}" for number in range(k)], series, amount="points"
        )
        section = Section(
            "How many points are nearest to each centre",
            [Gallery([picture])],
            short="Sizes",
            lead="In the order of the release, the largest first.",
        )
        where = Section(
            "Where the centres are",
            [Gallery([beside(release, box.values(best.centres))])],
            short="Centres",
            lead="Beside those that are found on the records themselves.",
        )
        return Findings(
            (score,),
            rows.height,
            details,
            [where, section],
            "Lloyd's algorithm without noise",
            tuple(compared_with(rows.height, of)),
        )
