"""Evaluation of a release of points: range counts and the density map.

Range counts follow the protocol of the spatial literature: random boxes in three sizes, and the relative
error |estimate - truth| / max(truth, 0.1 % of n), smoothed so that nearly empty boxes do not decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import read
from penstock.errors import DataError
from penstock.evaluation.findings import Evaluator, Findings, Options, compared_with
from penstock.evaluation.matches import matched_section, matches
from penstock.evaluation.metrics import tvd
from penstock.evaluation.score import Score
from penstock.evaluation.slices import Worst, worst
from penstock.evaluation.telling_apart import apart_score, propensity
from penstock.kinds.points.box import Boxes, Reals, random_boxes
from penstock.kinds.points.release import PointsRelease
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.maps import grid_map
from penstock.report.numbers import percent
from penstock.report.page import Block, Gallery, Section
from penstock.report.picture import Picture
from penstock.report.pictures import histogram
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

VOLUMES: Mapping[str, tuple[float, float]] = {
    "small boxes": (0.0001, 0.001),
    "medium boxes": (0.001, 0.01),
    "large boxes": (0.01, 0.1),
}
QUERIES = 500
SMOOTHING = 0.001
MAP_SIDE = 64
PROFILE_BINS = 48
REGIONS = 4
"""Parts of each of the first two axes, each looked at by itself."""
MOST_COMPARED = 1 << 21
"""Points that a release is compared with: more are drawn at random, and the evaluation says so."""
MOST_SYNTHETIC = 2_000_000
CROWDED = 0.01
_PLACE = "place"


class PointsEvaluation(Evaluator):
    """How far counts in boxes and the density map are from the original's."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        seed = options.seed
        sample, of = read(source, table=options.table).sampled(list(schema.names), MOST_COMPARED, seed)
        original, share = schema.staying(sample), of / max(1, sample.height)
        names = [field.name for field in schema.fields if field.ranged]
        if not names:
            raise DataError(
                "Points are compared by the boxes they lie in, and the schema has no numeric field."
            )
        low = np.array([schema.field(name).edges.low for name in names], dtype=np.float64)
        high = np.array([schema.field(name).edges.end for name in names], dtype=np.float64)
        points = coordinates(original, schema, names, low, high)
        if len(points) == 0:
            raise DataError("The data to compare with has no points.")
        everything = share * len(points)
        size = max(1, release.size)
        drawn = min(size, MOST_SYNTHETIC)
        synthetic = coordinates(release.sample(drawn, seed=seed), schema, names, low, high)
        rng = np.random.default_rng(seed)
        ceiling = points[rng.integers(len(points), size=len(points))]
        sorted_sets = {
            "original": _sorted(points),
            "release": _sorted(synthetic),
            "ceiling": _sorted(ceiling),
        }
        answer = release.range_counts if isinstance(release, PointsRelease) else None
        scores: list[Score] = []
        absolute: dict[str, float] = {}
        with progress("asking for range counts", total=len(VOLUMES)) as step:
            for words, volumes in VOLUMES.items():
                rng = np.random.default_rng([seed, len(scores)])
                boxes = random_boxes(low, high, volumes, options.queries, rng)
                counts = {key: count_boxes(ordered, boxes, high) for key, ordered in sorted_sets.items()}
                truth = share * counts["original"]
                uniform = everything * np.prod((boxes[1] - boxes[0]) / (high - low), axis=1)
                model = None if answer is None else answer(*boxes)
                estimate = (
                    counts["release"] * (size / len(synthetic)) if len(synthetic) else np.zeros(len(truth))
                )
                scores.append(
                    Score(
                        words,
                        relative_error(estimate, truth, everything),
                        floor=relative_error(uniform, truth, everything),
                        ceiling=relative_error(share * counts["ceiling"], truth, everything),
                        model=None if model is None else relative_error(model, truth, everything),
                        note=f"mean relative error of {options.queries} counts of boxes that cover "
                        f"{100 * volumes[0]:g} % to {100 * volumes[1]:g} % of the domain; floor: even spread",
                    )
                )
                absolute[words] = float(np.abs((estimate if model is None else model) - truth).mean())
                step(1)
        scores.append(_density_score(points, synthetic, ceiling, low, high))
        even = low + (high - low) * rng.random((min(len(points), MOST_SYNTHETIC), len(low)))
        region = _worst_region(points, {"release": synthetic, "floor": even, "ceiling": ceiling}, low, high)
        if region is not None:
            where = _region_of(region.place, names, low, high)
            what = f"total variation distance of where the {region.records:,} points with {where} lie"
            scores.append(region.score("worst region", what))
        if options.learning:
            sets = {"release": synthetic, "floor": even, "ceiling": ceiling}
            numbers = [False] * len(names)
            apart = apart_score(
                {key: propensity(_small(points), _small(each), numbers, seed) for key, each in sets.items()}
            )
            scores += [] if apart is None else [apart]
        equal = matches(_places(points), _places(synthetic), _places(even), [_PLACE])
        heaped = _most_crowded(points), _most_crowded(synthetic)
        details = {
            "matches": equal.to_dict(),
            "most_crowded_place": {"original": heaped[0], "synthetic": heaped[1]},
            "mean_absolute_error": absolute,
            "queries": options.queries,
            "synthetic_points": len(synthetic),
            "smoothing": SMOOTHING,
            "records": {"compared": sample.height, "of": of},
        }
        remarks = [*compared_with(sample.height, of), equal.words]
        if heaped[0] > max(CROWDED, 2 * heaped[1]):
            remarks.append(
                f"{percent(heaped[0])} of the original points lie on one and the same place, and "
                f"{percent(heaped[1])} of the synthetic ones: points are spread inside a cell."
            )
        sections = [
            *_sections(names, points, synthetic, low, high),
            matched_section(equal, "Points with the very same coordinates"),
        ]
        return Findings(tuple(scores), len(original), details, sections, remarks=tuple(remarks))


def _small(points: Reals) -> NDArray[np.float32]:
    return points.astype(np.float32)


def _places(points: Reals) -> pl.DataFrame:
    """Each point as one value."""
    import polars as pl

    whole = np.ascontiguousarray(points[:MOST_SYNTHETIC]).view(f"V{points.shape[1] * 8}").ravel().tolist()
    return pl.DataFrame({_PLACE: pl.Series(whole, dtype=pl.Binary)})


def _most_crowded(points: Reals) -> float:
    """The share of the points on the place where most of them are."""
    return float(np.unique(points, axis=0, return_counts=True)[1].max() / len(points)) if len(points) else 0.0


def coordinates(frame: pl.DataFrame, schema: Schema, names: Sequence[str], low: Reals, high: Reals) -> Reals:
    """The points as numbers inside the declared box; points without a coordinate are left out."""
    from penstock.schema.reading import read

    schema.refuse_lacking_columns(frame.columns)
    columns, present = [], np.ones(frame.height, dtype=bool)
    for name in names:
        reading = read(schema.field(name), frame[name], schema.codec(name).markers)
        columns.append(np.array(reading.values.to_numpy(), dtype=np.float64))
        present &= ~(reading.missing | reading.unreadable)
    points = np.column_stack(columns)[present]
    return np.clip(points, low, high)


def _sorted(points: Reals) -> Reals:
    return points[np.argsort(points[:, 0], kind="stable")]


def count_boxes(ordered: Reals, boxes: Boxes, top: Reals) -> Reals:
    """How many points, sorted by their first coordinate, each half-open box holds.

    A box that reaches the top of the domain holds the points on it.

    >>> points = np.array([[0.1, 0.1], [0.5, 0.5], [1.0, 1.0]])
    >>> boxes = np.array([[0.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 1.0]])
    >>> count_boxes(points, boxes, np.ones(2))
    array([1., 2.])
    """
    below, above = boxes[0], np.where(boxes[1] >= top, np.inf, boxes[1])
    first = ordered[:, 0]
    begin, end = np.searchsorted(first, below[:, 0], "left"), np.searchsorted(first, above[:, 0], "left")
    others = np.ascontiguousarray(ordered[:, 1:].T)
    counts = np.empty(len(below))
    for query in range(len(below)):
        inside = np.ones(end[query] - begin[query], dtype=bool)
        for axis, values in enumerate(others, start=1):
            part = values[begin[query] : end[query]]
            inside &= (part >= below[query, axis]) & (part < above[query, axis])
        counts[query] = np.count_nonzero(inside)
    return counts


def relative_error(estimate: Reals, truth: Reals, points: float) -> float:
    """The mean of |estimate - truth| / max(truth, 0.1 % of the points)."""
    return float(np.mean(np.abs(estimate - truth) / np.maximum(truth, SMOOTHING * points)))


def _density(points: Reals, low: Reals, high: Reals, axes: Sequence[int], side: int) -> Reals:
    ranges = [(low[axis], high[axis]) for axis in axes]
    counted, _ = np.histogramdd(points[:, list(axes)], bins=[side] * len(axes), range=ranges)
    return np.asarray(counted)


def _density_score(points: Reals, synthetic: Reals, ceiling: Reals, low: Reals, high: Reals) -> Score:
    axes = list(range(min(2, len(low))))
    truth = _density(points, low, high, axes, MAP_SIDE)
    shape = " x ".join([str(MAP_SIDE)] * len(axes))
    return Score(
        "density map",
        tvd(truth, _density(synthetic, low, high, axes, MAP_SIDE)),
        floor=tvd(truth, np.ones_like(truth)),
        ceiling=tvd(truth, _density(ceiling, low, high, axes, MAP_SIDE)),
        note=f"total variation distance of the shares of points in {shape} cells; floor: even spread",
    )


def _worst_region(points: Reals, others: Mapping[str, Reals], low: Reals, high: Reals) -> Worst | None:
    """Of a few even regions of the map, that in which the cells are furthest off."""
    axes = list(range(min(2, len(low))))

    def by_region(which: Reals) -> Reals:
        shape = [part for _ in axes for part in (REGIONS, MAP_SIDE // REGIONS)]
        cells = _density(which, low, high, axes, MAP_SIDE).reshape(shape)
        order = [*range(0, len(shape), 2), *range(1, len(shape), 2)]
        return np.asarray(cells.transpose(order).reshape(REGIONS ** len(axes), -1))

    truth = by_region(points)
    return worst(truth, {key: by_region(each) for key, each in others.items()}, truth.sum(axis=1))


def _region_of(place: int, names: Sequence[str], low: Reals, high: Reals) -> str:
    """The bounds of a region in words."""
    axes = range(min(2, len(low)))
    steps = np.unravel_index(place, [REGIONS] * len(axes))
    edges = [low[axis] + (high[axis] - low[axis]) * np.arange(REGIONS + 1) / REGIONS for axis in axes]
    return " and ".join(
        f"{names[axis]} from {edges[axis][steps[axis]]:.6g} to {edges[axis][steps[axis] + 1]:.6g}"
        for axis in axes
    )


def _sections(
    names: Sequence[str], points: Reals, synthetic: Reals, low: Reals, high: Reals
) -> list[Section]:
    blocks: list[Block] = []
    if len(names) >= 2:
        across, up = (np.linspace(low[axis], high[axis], MAP_SIDE + 1) for axis in (0, 1))
        blocks.append(
            Gallery(
                [
                    grid_map(
                        title,
                        across,
                        up,
                        _density(which, low, high, (0, 1), MAP_SIDE),
                        x_name=names[0],
                        y_name=names[1],
                    )
                    for title, which in (("Original points", points), ("Synthetic points", synthetic))
                ]
            )
        )
    blocks.append(
        Gallery([_profile(axis, name, points, synthetic, low, high) for axis, name in enumerate(names)])
    )
    return [
        Section(
            "Where the points are",
            blocks,
            short="Map",
            lead="The original beside a synthetic sample; stronger colour means more points.",
        )
    ]


def _profile(axis: int, name: str, points: Reals, synthetic: Reals, low: Reals, high: Reals) -> Picture:
    counts = {
        "original": _density(points, low, high, [axis], PROFILE_BINS),
        "synthetic": _density(synthetic, low, high, [axis], PROFILE_BINS),
    }
    edges = np.linspace(low[axis], high[axis], PROFILE_BINS + 1).tolist()
    return histogram(f"Points along {name}", edges, counts, amount="points", axis=name)
