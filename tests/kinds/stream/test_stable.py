"""The stable sketch: its scale factor, its estimates, and deletes that doubles would get wrong."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from penstock.kinds.stream.stable import StableSketch, logarithms, scale_factor


@pytest.mark.parametrize(
    ("p", "stated"),
    [(2, 0.908), (1, 1.0), (0.5, 1.132), (0.2, 1.294), (0.1, 1.363), (0.05, 1.402), (0.01, 1.435)],
)
def test_the_scale_factor_is_that_of_the_table(p: float, stated: float) -> None:
    """A median of 400,000 samples: its standard error is below .003 for each of these."""
    assert scale_factor(p) == pytest.approx(stated, abs=0.015)


def test_the_scale_factor_has_its_limit() -> None:
    assert scale_factor(0.001) == pytest.approx(1 / log(2), abs=0.01)


def test_cauchy_and_normal_are_stable_laws() -> None:
    """p = 1: tan of the angle, exactly; p = 2: a normal number of variance 2."""
    angles = np.linspace(-1.5, 1.5, 7)[[0, 1, 2, 4, 5, 6]]
    weights = np.full(angles.size, 0.7)
    assert logarithms(1.0, angles, weights) == pytest.approx(np.log(np.abs(np.tan(angles))))
    assert logarithms(2.0, angles, weights) == pytest.approx(
        np.log(np.abs(2 * np.sin(angles) * np.sqrt(0.7)))
    )


def test_deletes_are_exact_where_doubles_forget() -> None:
    """What was put in and taken out leaves nothing; 990 of 1,000 deleted leaves about ten, not a hundred."""
    few, many = (StableSketch(p=0.05, rows=60, key=3) for _ in range(2))
    few.feed((name, 1) for name in range(290, 300))
    many.feed((name, 1) for name in range(300))
    many.feed((name, -1) for name in range(290))
    assert many.sums == few.sums
    assert 5 < many.estimate() < 20
    doubles = np.zeros(60)
    for change, names in ((1.0, range(300)), (-1.0, range(290))):
        for name in names:
            doubles += change * np.array([float(each) for each in many.row(name)])
    assert not np.array_equal(doubles, [float(each) for each in few.sums])


def test_an_empty_sketch_counts_nothing() -> None:
    sketch = StableSketch(p=0.1, rows=9, key=1)
    assert sketch.estimate() == 0
    sketch.update(4, 3)
    sketch.update(4, -3)
    assert sketch.estimate() == 0
