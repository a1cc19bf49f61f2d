"""Small schemas, data and trees for the tests of this room."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from penstock.kinds.points.data import Points
from penstock.kinds.points.partition import Partition
from penstock.kinds.points.privtree import PrivTree
from penstock.kinds.points.space import Space
from penstock.kinds.points.tree import TreeRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import grow
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

SQUARE = Schema.from_yaml("""
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
""")

RIDES = Schema.from_yaml("""
kind: points
fields:
  - {name: lat, type: number, constraints: {minimum: 40, maximum: 41}}
  - {name: lon, type: number, constraints: {minimum: -180, maximum: 180}}
  - name: means
    constraints: {enum: [bus, tram, foot, bike]}
    taxonomy: {public: [bus, tram], private: [foot, bike]}
  - {name: hour, type: integer, constraints: {minimum: 0, maximum: 23}}
""")


def clustered(n: int, seed: int = 7) -> np.ndarray:
    """Points in clusters of very different sizes on the unit square."""
    rng = np.random.default_rng(seed)
    centres, weights = rng.random((60, 2)), rng.pareto(1.0, 60) + 0.05
    widths = 10 ** rng.uniform(-3.5, -1.5, 60)
    chosen = rng.choice(60, n, p=weights / weights.sum())
    return (centres[chosen] + rng.normal(size=(n, 2)) * widths[chosen][:, None]) % 1


def square(points: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})


def rides(n: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "lat": 40 + rng.random(n) ** 3,
            "lon": np.clip(rng.normal(-74, 3, n), -180, 180),
            "means": rng.choice(["bus", "tram", "foot", "bike"], n, p=[0.5, 0.1, 0.1, 0.3]).tolist(),
            "hour": rng.integers(0, 24, n),
        }
    )


def fit(
    frame: pl.DataFrame, schema: Schema = SQUARE, epsilon: Any = 1, seed: int = 3, **options: Any
) -> TreeRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    return PrivTree(**options).fit(Points.open(frame, schema), budget)


def noise_free(
    frame: pl.DataFrame, schema: Schema, epsilon: Any = 1, together: int | None = None, seed: int = 0
) -> TreeRelease:
    """A private shape with exact counts, to tell the geometry from the noise."""
    points, space = Points.open(frame, schema), Space.of(schema, together=together)
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    growth = grow(points.top(space), Splitter.paid(budget, fan_out=space.fan_out), deepest=space.deepest)
    return TreeRelease(
        method="privtree",
        schema=schema,
        receipt=budget.receipt(),
        partition=Partition.grown(space, growth.shape.fans > 0),
        counts=open_seal(points.leaf_counts(growth)),
        deviation=1.0,
        together=together,
    )
