"""Where bicycle rides begin in a town that does not exist: points with a river, a bridge and suburbs."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl

WIDTH, HEIGHT = 20.0, 14.0
_CENTRES = (  # x, y, spread, share
    (7.2, 8.6, 0.9, 30),
    (11.0, 6.2, 1.2, 20),
    (4.0, 4.1, 0.7, 9),
    (14.8, 10.7, 0.8, 10),
    (17.0, 3.3, 0.6, 6),
    (2.6, 11.6, 0.5, 4),
)


def rides(records: int = 20_000) -> pl.DataFrame:
    """The start of each ride, in kilometres from the south-west corner of the map.

    >>> rides(3).columns
    ['x_km', 'y_km']
    """
    import polars as pl

    rng = np.random.default_rng(20_250_501)
    shares = np.array([centre[3] for centre in _CENTRES], float)
    which = rng.choice(len(_CENTRES), records, p=shares / shares.sum())
    place = np.array([centre[:2] for centre in _CENTRES])[which]
    spread = np.array([centre[2] for centre in _CENTRES])[which]
    points = place + rng.normal(size=(records, 2)) * spread[:, None]

    along = rng.random(records) * WIDTH
    promenade = np.column_stack(
        [along, _river(along) + 0.25 * rng.choice([-1, 1], records) + rng.normal(0, 0.08, records)]
    )
    points = np.where((rng.random(records) < 0.24)[:, None], promenade, points)
    wet = np.abs(points[:, 1] - _river(points[:, 0])) < 0.14
    points[wet, 1] += 0.3
    anywhere = rng.random((records, 2)) * (WIDTH, HEIGHT)
    points = np.where((rng.random(records) < 0.05)[:, None], anywhere, points)
    points = np.clip(points, 0, (WIDTH, HEIGHT))
    return pl.DataFrame({"x_km": np.round(points[:, 0], 4), "y_km": np.round(points[:, 1], 4)})


def rides_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("rides.schema.yaml").read_text(encoding="utf-8")


def _river(x: np.ndarray) -> np.ndarray:
    bend: np.ndarray = 7.2 + 1.5 * np.sin(x / 3.1) + 0.4 * np.sin(x * 1.3)
    return bend
