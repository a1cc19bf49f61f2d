"""Studies of points: their datasets, the methods of the literature, and its two measures.

Importing this module makes the datasets known to `frame.data.load`.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import LOADERS, file
from penstock.kinds.points.baselines import AdaptiveGrid, Dawa
from penstock.kinds.points.box import Boxes, random_boxes
from penstock.kinds.points.data import Points
from penstock.kinds.points.evaluation import VOLUMES, count_boxes, relative_error
from penstock.kinds.points.grid import UniformGrid
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

Reals = NDArray[np.float64]
SETS = {name.removesuffix(" boxes"): volumes for name, volumes in VOLUMES.items()}
NAMES = ("x", "y", "u", "v")


@dataclass(frozen=True, eq=False)
class PointData:
    """Points in a public box, and the range counts they are asked for."""

    name: str
    points: Reals
    low: Sequence[float]
    high: Sequence[float]
    queries: int = 1000

    @cached_property
    def schema(self) -> Schema:
        fields = "\n".join(
            f"  - {{name: {name}, type: number, constraints: {{minimum: {low}, maximum: {high}}}}}"
            for name, low, high in zip(NAMES, self.low, self.high, strict=False)
        )
        return Schema.from_yaml(f"kind: points\nfields:\n{fields}\n")

    @cached_property
    def sealed(self) -> Points:
        return Points.open(pl.DataFrame(self.points, schema=list(self.schema.names)), self.schema)

    @cached_property
    def asked(self) -> dict[str, tuple[Boxes, Reals]]:
        """For each set of queries its boxes and their true counts."""
        low, high = np.array(self.low), np.array(self.high)
        found = {}
        for name, volumes in SETS.items():
            boxes = random_boxes(low, high, volumes, self.queries, np.random.default_rng(11))
            found[name] = (boxes, counted(self.points, boxes, high))
        return found


def counted(points: Reals, boxes: Boxes, top: Reals) -> Reals:
    """How many points lie in each box."""
    return count_boxes(points[np.argsort(points[:, 0], kind="stable")], boxes, top)


def _clusters(
    rng: np.random.Generator, k: int, widest: float, narrowest: float
) -> tuple[Reals, Reals, Reals]:
    centres = rng.random((k, 2))
    weights = rng.pareto(1.0, k) + 0.05
    return centres, weights / weights.sum(), 10 ** rng.uniform(narrowest, widest, k)


def skew2d(n: int = 100_000) -> PointData:
    """Clusters of very different sizes and widths on the unit square; needs no file."""
    rng = np.random.default_rng(7)
    centres, weights, widths = _clusters(rng, 60, -1.5, -3.5)
    chosen = rng.choice(60, n, p=weights)
    points = (centres[chosen] + rng.normal(size=(n, 2)) * widths[chosen][:, None]) % 1
    return PointData("skew2d", points, (0, 0), (1, 1))


def even2d(n: int = 100_000) -> PointData:
    """Half of the points anywhere, half around the middle: hardly skewed at all; needs no file."""
    rng = np.random.default_rng(8)
    half = n // 2
    points = np.concatenate([rng.random((half, 2)), rng.normal(0.5, 0.25, (n - half, 2)) % 1])
    return PointData("even2d", points, (0, 0), (1, 1))


def trips4d(n: int = 98_013) -> PointData:
    """Trips between clusters, each row an origin and a destination; needs no file."""
    rng = np.random.default_rng(3)
    centres, weights, widths = _clusters(rng, 40, -1.5, -3.0)
    towards = rng.dirichlet(np.full(40, 0.1), 40)
    origin = rng.choice(40, n, p=weights)
    ladder = np.cumsum(towards, axis=1)
    destination = np.minimum((ladder[origin] < rng.random(n)[:, None]).sum(axis=1), 39)
    ends = [(centres[at] + rng.normal(size=(n, 2)) * widths[at][:, None]) % 1 for at in (origin, destination)]
    return PointData("trips4d", np.hstack(ends), (0,) * 4, (1,) * 4, queries=500)


def us_roads() -> PointData:
    """87,575 road intersections of the continental United States, on a grid of whole numbers."""
    frame = pl.read_csv(file("us_roads/us_road_intersections.csv.gz"))
    return PointData("us_roads", frame.select("x", "y").to_numpy().astype(float), (0, 0), (10_000, 4235))


def two_states(n: int = 1_634_165) -> PointData:
    """As many places as the literature's road data has, along the roads of Washington and New Mexico.

    Each lies on a segment of us_roads chosen at random, at a random place, scattered around it by a tenth
    of the segment's length: dense in towns, thin along highways, and nothing between the two states.
    """
    nodes = pl.read_csv(file("us_roads/us_road_intersections.csv.gz"))
    with gzip.open(file("us_roads/us_road_edges.txt.gz"), "rt") as lines:
        segments = np.loadtxt(lines, dtype=np.int64)
    numbers = nodes["id"].to_numpy()
    places = np.zeros((numbers.max() + 1, 2))
    places[numbers] = nodes.select("x", "y").to_numpy()
    ends = places[segments]
    inside = np.zeros(len(ends), dtype=bool)
    for low, high in (((0, 3570), (1350, 4235)), ((2710, 1160), (3760, 2130))):
        inside |= ((ends >= low) & (ends <= high)).all(axis=(1, 2))
    ends = ends[inside]
    rng = np.random.default_rng(0)
    one, two = np.swapaxes(ends[rng.integers(len(ends), size=n)], 0, 1)
    along, scatter = rng.random((n, 1)), rng.normal(0, 0.1, (n, 2))
    length = np.maximum(np.linalg.norm(two - one, axis=1, keepdims=True), 1.0)
    points = one + along * (two - one) + scatter * length
    low, high = (0, 1160), (3760, 4235)
    return PointData("two_states", np.clip(points, low, high), low, high)


def gowalla() -> PointData:
    """107,091 of the visits of Gowalla's users, anywhere in the world."""
    frame = pl.read_csv(file("gowalla/gowalla_user_poi_visits.csv.gz"))
    points = frame.select("lon", "lat").to_numpy().astype(float)
    chosen = np.random.default_rng(0).choice(len(points), 107_091, replace=False)
    return PointData("gowalla", points[chosen], (-180, -90), (180, 90))


def checkin() -> PointData:
    """107,091 check-ins drawn from the histogram of all 6,442,863, anywhere inside their cells."""
    grid = np.load(file("dpbench/checkin_256x256.npz"))["x"].astype(float)
    rng = np.random.default_rng(0)
    cells = rng.choice(grid.size, 107_091, p=grid.ravel() / grid.sum())
    places = np.stack(np.unravel_index(cells, grid.shape), axis=-1) + rng.random((len(cells), 2))
    return PointData("checkin", places / 256, (0, 0), (1, 1))


def nyc_taxi() -> PointData:
    """16,451 taxi trips of New York: where they began and ended."""
    frame = pl.read_csv(file("nyc_taxi/nyc_taxi_manhattan_2016_4d.csv.gz"))
    low, high = (-74.05, 40.68, -74.05, 40.68), (-73.85, 40.83, -73.85, 40.83)
    points = np.clip(frame.to_numpy().astype(float), low, high)
    return PointData("nyc_taxi", points, low, high, queries=500)


MADE = {"skew2d": skew2d, "even2d": even2d, "trips4d": trips4d}
REAL = {
    "us_roads": us_roads,
    "two_states": two_states,
    "gowalla": gowalla,
    "checkin": checkin,
    "nyc_taxi": nyc_taxi,
}
LOADERS.update({**MADE, **REAL})


@dataclass(frozen=True)
class Fitted:
    """A method of Penstock, fitted with a seed."""

    method: Any

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        return self.method.fit(dataset.sealed, Budget(epsilon, randomness=Randomness.seeded(seed)))


@dataclass(frozen=True)
class PublishedUniformGrid:
    """The uniform grid as published: its side from the exact number of points, taken to be public."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        n, dimensions = dataset.points.shape
        side = max(1, round((n * float(epsilon) / 10) ** (2 / (dimensions + 2))))
        return Fitted(UniformGrid(side=side))(dataset, epsilon, seed)


@dataclass(frozen=True)
class PublishedAdaptiveGrid:
    """The adaptive grid as published: its coarse side from the exact number of points."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        return Fitted(AdaptiveGrid(size=len(dataset.points)))(dataset, epsilon, seed)


@dataclass(frozen=True)
class PublishedDawa:
    """DAWA as published: for each set of queries a release of its own, made for 500 queries like them."""

    questions: int = 500

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> BySet:
        low, high = np.array(dataset.low, dtype=float), np.array(dataset.high, dtype=float)
        releases = {}
        for place, (name, volumes) in enumerate(SETS.items()):
            workload = random_boxes(low, high, volumes, self.questions, np.random.default_rng(12))
            releases[name] = Fitted(Dawa(workload=workload))(dataset, epsilon, seed + place)
        return BySet(releases)


@dataclass(frozen=True)
class BySet:
    """Releases that answer one set of queries each."""

    releases: Mapping[str, Any]
    method: str = "by set"


def answers(outcome: Any, name: str, boxes: Boxes) -> Reals:
    """What a release, or the one made for this set of queries, says about boxes."""
    release = outcome.releases[name] if isinstance(outcome, BySet) else outcome
    found: Reals = release.range_counts(*boxes)
    return found


@dataclass(frozen=True)
class RelativeError:
    """The mean of |answer - truth| / max(truth, 0.1 % of the points), for each set of queries."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> Mapping[str, float]:
        return {
            name: relative_error(answers(outcome, name, boxes), truth, len(dataset.points))
            for name, (boxes, truth) in dataset.asked.items()
        }


@dataclass(frozen=True)
class AbsoluteError:
    """The mean of |answer - truth|, for each set of queries."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> Mapping[str, float]:
        return {
            name: float(np.abs(answers(outcome, name, boxes) - truth).mean())
            for name, (boxes, truth) in dataset.asked.items()
        }


@dataclass(frozen=True)
class SyntheticError:
    """The relative error of counts in synthetic points, as many as the release believes in."""

    methods: tuple[str, ...] = ("privtree",)
    datasets: tuple[str, ...] = ("skew2d",)

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> Mapping[str, float] | None:
        if outcome.method not in self.methods or dataset.name not in self.datasets:
            return None
        drawn = outcome.sample(seed=seed).to_numpy()
        return {
            name: relative_error(counted(drawn, boxes, np.array(dataset.high)), truth, len(dataset.points))
            for name, (boxes, truth) in dataset.asked.items()
        }
