"""Coordinates as values that people read."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kinds.points.box import as_frame
from penstock.schema import Schema


@pytest.mark.parametrize(
    ("low", "high", "decimals"), [(-180.0, 180.0, 5), (-74.1, -73.9, 8), (0.0, 5e9, 0), (2.0, 2.0, 15)]
)
def test_coordinates_have_few_digits_and_stay_inside(low: float, high: float, decimals: int) -> None:
    schema = Schema.model_validate(
        {
            "kind": "points",
            "fields": [{"name": "x", "type": "number", "constraints": {"minimum": low, "maximum": high}}],
        }
    )
    drawn = low + (high - low) * np.random.default_rng(0).random((2000, 1))
    drawn[0], drawn[1] = low, high
    values = as_frame(schema, drawn)["x"].to_numpy()
    assert np.array_equal(np.round(values, decimals), values)
    assert values.min() == low
    assert values.max() == high
    assert np.abs(values - drawn[:, 0]).max() <= 1e-7 * max(high - low, 1e-9)
