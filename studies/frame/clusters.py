"""Studies of clusters: their datasets, each with its published number of clusters, and the measure.

Importing this module makes the datasets known to `frame.data.load`. Every column is scaled to -1 ... 1 by its
smallest and largest value, as the literature does it: bounds read off public data, for studies only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import LOADERS, file
from frame.points import us_roads
from penstock.kinds.points.data import Points
from penstock.learn.clusters.evaluation import best_without_noise, nicv
from penstock.learn.clusters.lloyd import Found, cluster, lloyd
from penstock.learn.clusters.packing import packed_starts
from penstock.learn.clusters.planning import side
from penstock.learn.clusters.release import MOST_CELLS
from penstock.learn.clusters.rounds import noisy_round
from penstock.learn.clusters.synopsis import Cells, GridSynopsis, weighted
from penstock.learn.clusters.unit_box import UnitBox
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

Reals = NDArray[np.float64]

STARTS = 30
MOST_POINTS = 5_000
"""So many points, by a fixed draw, are clustered from every start to find out how good clusters can be."""


@dataclass(frozen=True, eq=False)
class ClusterData:
    """Points of the cube from -1 to 1, and how many clusters they are asked for."""

    name: str
    points: Reals
    k: int

    @cached_property
    def schema(self) -> Schema:
        bounds = {"minimum": -1.0, "maximum": 1.0}
        names = [f"x{axis}" for axis in range(self.points.shape[1])]
        fields = [{"name": name, "type": "number", "constraints": bounds} for name in names]
        return Schema.model_validate({"kind": "points", "fields": fields})

    @cached_property
    def sealed(self) -> Points:
        return Points.open(pl.DataFrame(self.points, schema=list(self.schema.names)), self.schema)

    @cached_property
    def best(self) -> Found:
        """What Lloyd's algorithm finds without noise, the best of thirty starts, gone on with all points."""
        points = self.points
        if len(points) > MOST_POINTS:
            points = points[np.random.default_rng(0).choice(len(points), MOST_POINTS, replace=False)]
        found = best_without_noise(points, self.k, STARTS)
        return lloyd(Cells.of(self.points, np.ones(len(self.points))), found.centres[None])[0]


def scaled(points: Reals) -> Reals:
    """Every column from -1 to 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(2 * (points - low) / (high - low) - 1)


def s1() -> ClusterData:
    """5,000 points in fifteen clusters: the literature's own file."""
    return ClusterData("s1", np.loadtxt(file("s1/s1_processed.txt.gz")), 15)


NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def adult_numeric() -> ClusterData:
    """The six numeric columns of Adult."""
    frame = pl.read_csv(file("adult/adult_48842.csv.gz"))
    return ClusterData("adult-num", scaled(frame.select(NUMERIC).to_numpy().astype(float)), 5)


def gowalla_visits() -> ClusterData:
    """107,091 of the visits of Gowalla's users, anywhere in the world."""
    frame = pl.read_csv(file("gowalla/gowalla_user_poi_visits.csv.gz"))
    points = frame.select("lat", "lon").to_numpy().astype(float)
    chosen = np.random.default_rng(0).choice(len(points), 107_091, replace=False)
    return ClusterData("gowalla-visits", scaled(points[chosen]), 5)


def roads() -> ClusterData:
    """87,575 road intersections of the United States."""
    return ClusterData("roads", scaled(us_roads().points), 8)


def taxi() -> ClusterData:
    """16,451 taxi trips of New York, each where it began and ended."""
    frame = pl.read_csv(file("nyc_taxi/nyc_taxi_manhattan_2016_4d.csv.gz"))
    return ClusterData("taxi", scaled(frame.to_numpy().astype(float)), 5)


CALLS = ("age", "duration", "campaign", "euribor3m", "cons.conf.idx")


def bank() -> ClusterData:
    """41,188 calls of a bank to its customers, five numeric columns."""
    frame = pl.read_csv(file("bank/bank_additional_full.csv.gz"))
    return ClusterData("bank-num", scaled(frame.select(CALLS).to_numpy().astype(float)), 4)


def survey(name: str, place: str, k: int) -> Callable[[], ClusterData]:
    """The answers of a survey as points: every column is a number, as the file has it."""

    def loaded() -> ClusterData:
        return ClusterData(name, scaled(pl.read_csv(file(place)).to_numpy().astype(float)), k)

    return loaded


def digits() -> ClusterData:
    """1,797 digits of 8 x 8 grey pixels, as scikit-learn has them."""
    from sklearn.datasets import load_digits

    pixels = np.asarray(load_digits().data, dtype=np.float64)
    return ClusterData("digits", pixels / 8 - 1, 10)


@dataclass(frozen=True)
class Synthetic:
    """Gaussian clusters, made up: of sizes 1:2:...:k with some outliers, or of equal sizes and far apart.

    The published sets come from a program for R that places clusters by their degree of separation. Here
    every cluster has a random covariance, and all are pushed apart until the nearest two are separated so
    much along the line between them, where 95 % of each lie: (gap) / (gap and both intervals).
    """

    k: int
    d: int
    even: bool = False
    n: int = 10_000

    def __call__(self) -> ClusterData:
        rng = np.random.default_rng([self.k, self.d, self.even])
        wanted = 0.34 if self.even else rng.uniform(0.16, 0.26)
        turns = [np.linalg.qr(rng.normal(size=(self.d, self.d)))[0] for _ in range(self.k)]
        shapes = [turn * np.sqrt(rng.uniform(1, 10, self.d)) for turn in turns]
        centres = rng.normal(size=(self.k, self.d))
        factor = 1.0
        while self._separation(factor * centres, shapes) < wanted:
            factor *= 1.05
        shares = np.ones(self.k) if self.even else np.arange(1.0, self.k + 1)
        sizes = rng.multinomial(self.n, shares / shares.sum())
        drawn = [
            factor * centre + rng.normal(size=(size, self.d)) @ shape.T
            for centre, shape, size in zip(centres, shapes, sizes, strict=True)
        ]
        points = np.concatenate(drawn)
        if not self.even:
            low, high = points.min(axis=0), points.max(axis=0)
            points = np.concatenate([points, rng.uniform(low, high, (int(rng.integers(101)), self.d))])
        return ClusterData(self.name, scaled(points), self.k)

    @property
    def name(self) -> str:
        return f"{'even' if self.even else 'synthe'}-{self.k}-{self.d}"

    def _separation(self, centres: Reals, shapes: list[Reals]) -> float:
        """The least degree of separation of two clusters, along the line between their centres."""
        least = np.inf
        for one in range(self.k):
            for two in range(one):
                line = centres[one] - centres[two]
                length = float(np.linalg.norm(line))
                reach = [
                    1.96 * float(np.linalg.norm(shapes[each].T @ (line / length))) for each in (one, two)
                ]
                least = min(least, (length - sum(reach)) / (length + sum(reach)))
        return least


REAL = {
    "s1": s1,
    "adult-num": adult_numeric,
    "gowalla-visits": gowalla_visits,
    "roads": roads,
    "taxi": taxi,
    "bank-num": bank,
}
MADE = {
    each.name: each for each in (Synthetic(4, 2), Synthetic(6, 4), Synthetic(5, 8), Synthetic(5, 3, True))
}
LARGE = 50_000
WIDE: dict[str, Callable[[], ClusterData]] = {
    "acs-points": survey("acs-points", "acs/acs.csv.gz", 5),
    "nltcs-points": survey("nltcs-points", "nltcs/nltcs.csv.gz", 5),
    "br2000-points": survey("br2000-points", "br2000/br2000.csv.gz", 5),
    "digits": digits,
    "synthe-8-20": Synthetic(8, 20, n=LARGE),
    "synthe-6-10": Synthetic(6, 10, n=LARGE),
    "even-6-16": Synthetic(6, 16, True, n=LARGE),
    "even-5-40": Synthetic(5, 40, True, n=LARGE),
}
"""With more than six dimensions."""
GRID_OF_SHAPES = {each.name: each for each in (Synthetic(k, d) for k in (2, 4, 7, 10) for d in (2, 4, 7, 10))}
LOADERS.update({**GRID_OF_SHAPES, **REAL, **MADE, **WIDE})


@dataclass(frozen=True)
class Clustered:
    """A method of Penstock with the dataset's number of clusters, from other public starts in every run."""

    method: type[Any]
    given: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = True

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        start = {"draw": seed % (1 << 31)} if self.drawn else {}
        chosen = self.method(k=dataset.k, **self.given, **start)
        return chosen.fit(dataset.sealed, Budget(epsilon, randomness=Randomness.seeded(seed)))


@dataclass(frozen=True)
class Parts:
    """A grid of (n epsilon/theta)^(2d/(2+d)) cells with a share of the budget, and one round with the rest.

    The number of points is taken as public here: it is the same for whatever is compared.
    """

    theta: float = 10.0
    share: str = "1"

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Found:
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        n, d = dataset.points.shape
        share = Fraction(self.share)
        first = budget.rest("cells") if share == 1 else budget.part("cells", share)
        wanted = (n * float(first.epsilon) / self.theta) ** (2 * d / (2 + d))
        sides = (side(wanted, d, MOST_CELLS),) * d
        counts = noise.counts(dataset.sealed.histogram(sides), pay=first)
        cells = weighted(GridSynopsis(sides, counts, 0.0), "signed")
        found = cluster(cells, packed_starts(dataset.k, d, STARTS, seed % (1 << 31)))[0]
        if share == 1:
            return found
        box = UnitBox.of(dataset.schema)
        made = noisy_round(
            dataset.sealed, box, found.centres, budget.rest("round"), split="optimal", sparse="clip"
        )
        return Found(made.centres, made.sizes, 0.0)


@dataclass(frozen=True)
class WithoutNoise:
    """Lloyd's algorithm on the points themselves: not private, and there only to be compared with."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        return dataset.best


@dataclass(frozen=True)
class Nicv:
    """The mean squared distance of a point to the nearest centre, in the cube."""

    def __call__(self, dataset: Any, outcome: Any, seed: int) -> float:
        centres = outcome.centres if isinstance(outcome, Found) else outcome.box.units(outcome.centres)
        return nicv(dataset.points, centres)
