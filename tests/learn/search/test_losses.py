"""Losses on a lattice: close to what they are named after, and never steeper than they say."""

from __future__ import annotations

from math import exp, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.learn.search.losses import HUBER, LOGISTIC, SQUARED, STEP_BITS, Loss
from penstock.learn.search.vectors import COARSER, LIMIT, MOST_RECORDS, coarser

ONE = 1 << STEP_BITS
LOSSES = pytest.mark.parametrize("loss", [LOGISTIC, HUBER, SQUARED], ids=lambda loss: loss.name)


def at(loss: Loss, *numbers: float) -> list[float]:
    steps = np.array([round(number * ONE) for number in numbers], dtype=np.int64)
    return [float(value) / loss.one for value in loss.of(steps)]


def test_they_are_what_they_are_named_after() -> None:
    places = [-9.0, -2.0, -0.3, 0.0, 0.7, 1.0, 3.1, 15.0]
    wanted = [log1p(exp(-abs(z))) + max(0.0, -z) for z in places]
    assert at(LOGISTIC, *places) == pytest.approx(wanted, abs=1e-4)
    assert at(HUBER, -40.0, -1.0, 0.0, 0.5, 1.0, 1.5, 40.0) == pytest.approx(
        [41.0, 2.0, 1.0, 0.5, 0.125, 0.0, 0.0], abs=1e-4
    )
    assert at(SQUARED, -1.0, -0.5, 0.0, 0.25, 1.0) == pytest.approx([1, 0.25, 0, 0.0625, 1], abs=1e-4)
    assert at(SQUARED, 3.0)[0] == pytest.approx(1 + 2 * 127 / 128 * 2, abs=1e-3)  # in proportion beyond 1


@LOSSES
@given(one=st.integers(-LIMIT, LIMIT), two=st.integers(-LIMIT, LIMIT))
def test_no_two_arguments_differ_by_more_than_the_steepest_slope(loss: Loss, one: int, two: int) -> None:
    first, second = (int(value) for value in loss.of(np.array([one, two])))
    assert min(first, second) >= 0
    assert abs(first - second) <= loss.steepest * abs(one - two)
    assert max(first, second) <= loss.most(LIMIT)
    cut = abs((first >> COARSER) - (second >> COARSER))  # what is added up
    assert cut <= coarser(loss.steepest * abs(one - two))


@LOSSES
def test_sums_of_the_losses_of_all_records_fit_into_64_bits(loss: Loss) -> None:
    assert coarser(loss.most(LIMIT)) * MOST_RECORDS < 2**63
    assert abs(loss.steepest / (loss.one >> STEP_BITS) - (2 if loss is SQUARED else 1)) < 0.02
