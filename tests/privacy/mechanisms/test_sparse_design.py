"""How a sparse vector divides its budget: published values, exact sums, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.privacy.mechanisms.sparse_design import PRESETS, Allocation, Design


@pytest.mark.parametrize(
    ("c", "threshold", "queries", "variance", "even"),
    [(1, 0.3865, 0.6135, 34.643, 40), (5, 0.1773, 0.8227, 359.12, 808)],
)
def test_optimal_division_for_queries_that_move_both_ways(
    c: int, threshold: float, queries: float, variance: float, even: float
) -> None:
    best = Design.of(1, c)
    assert round(float(best.threshold), 4) == threshold
    assert round(float(best.queries), 4) == queries
    assert best.deviation**2 == pytest.approx(variance, rel=5e-5)
    assert Design.of(1, c, allocation="1:1").deviation ** 2 == pytest.approx(even)


@pytest.mark.parametrize(
    ("c", "deviations"),
    [
        (25, (41.74, 70.77, 47.48, 52.00)),
        (50, (78.67, 141.45, 94.45, 102.00)),
        (100, (151.38, 282.86, 188.65, 202.00)),
        (300, (438.54, 848.53, 565.71, 602.00)),
    ],
)
def test_deviations_of_every_division_for_monotone_queries(c: int, deviations: tuple[float, ...]) -> None:
    divisions: tuple[Allocation, ...] = ("optimal", "1:1", "1:3", "1:c")
    found = tuple(
        round(Design.of(1, c, allocation=division, monotone=True).deviation, 2) for division in divisions
    )
    assert found == pytest.approx(deviations, abs=0.011)


@given(
    epsilon=st.fractions("1/1000", 50),
    c=st.integers(1, 10**6),
    share=st.fractions(0, "999/1000"),
    allocation=st.sampled_from(["optimal", "1:1", "1:3", "1:c"]),
    monotone=st.booleans(),
    redraw=st.booleans(),
)
def test_the_three_budgets_add_up_exactly(
    epsilon: Fraction, c: int, share: Fraction, allocation: Allocation, monotone: bool, redraw: bool
) -> None:
    design = Design.of(
        epsilon, c, allocation=allocation, answers=share, monotone=monotone, redraw=redraw, sensitivity=2
    )
    assert design.epsilon == epsilon
    assert design.answers == epsilon * share
    assert design.threshold_scale == 2 * (c if redraw else 1) / design.threshold
    assert design.query_scale == (2 if monotone else 4) * c / design.queries
    assert (design.answer_scale is None) == (share == 0)


@given(c=st.integers(1, 2000), monotone=st.booleans(), redraw=st.booleans())
def test_no_other_division_has_less_noise_than_the_optimal_one(c: int, monotone: bool, redraw: bool) -> None:
    best = Design.of(1, c, monotone=monotone, redraw=redraw)
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        threshold = best.threshold * factor
        if threshold < 1:
            other = Design(c, threshold, 1 - threshold, monotone=monotone, redraw=redraw)
            assert other.deviation > best.deviation


def test_presets_are_the_published_algorithms() -> None:
    """Epsilon 1, c = 3, lambda 2. Threshold and query scales as printed: D/e1 and 2cD/e2, cD/e1 and 2cD/e1,
    lambda and t lambda, t lambda and t lambda."""

    def preset(name: str, c: int, **more: Any) -> Design:
        return Design.of(1, c, **{**PRESETS[name], **more})

    scales = {name: (preset(name, 3).threshold_scale, preset(name, 3).query_scale) for name in PRESETS}
    assert scales == {"standard": (2, 12), "dwork-roth": (6, 12), "corrected": (2, 6), "reduced": (6, 6)}
    assert preset("standard", 3) == Design.of(1, 3, allocation="1:1")
    # At c = 1 the reduced one is the corrected one, and dropping `monotone` doubles the query noise.
    assert preset("reduced", 1).query_scale == preset("corrected", 1).query_scale
    assert preset("corrected", 3, monotone=False) == preset("standard", 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"c": 0}, "whole number from 1"),
        ({"c": 2.5}, "whole number from 1"),
        ({"c": True}, "whole number from 1"),
        ({"c": 1, "allocation": "1:2"}, "allocation must be one of"),
        ({"c": 1, "answers": 1}, "below 1"),
        ({"c": 1, "answers": "-1/2"}, "below 1"),
        ({"c": 1, "sensitivity": 0}, "above 0"),
        ({"c": 1, "epsilon": 0}, "needs budget"),
    ],
)
def test_impossible_designs_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Design.of(**{"epsilon": 1, **options})  # type: ignore[arg-type]
