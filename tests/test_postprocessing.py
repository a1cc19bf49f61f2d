import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from penstock.postprocessing import clamped, onto_simplex, weighted_mean

vectors = arrays(np.float64, st.integers(1, 12), elements=st.floats(-100, 100))


@given(vectors, st.floats(0.5, 200))
def test_projection_is_feasible_and_nearest_among_random_feasible_points(
    values: np.ndarray, total: float
) -> None:
    nearest = onto_simplex(values, total)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(total, rel=1e-9)
    rng = np.random.default_rng(0)
    others = rng.dirichlet(np.ones(values.size), size=50) * total
    best = np.sum((nearest - values) ** 2)
    assert (np.sum((others - values) ** 2, axis=1) >= best - 1e-6 * (1 + best)).all()


@given(vectors)
def test_projection_leaves_a_feasible_vector_alone(values: np.ndarray) -> None:
    feasible = np.abs(values) + 1
    assert onto_simplex(feasible, float(feasible.sum())) == pytest.approx(feasible)


@given(vectors, st.floats(0.5, 200))
def test_clamping_keeps_the_total_and_never_goes_below_zero(values: np.ndarray, total: float) -> None:
    result = clamped(values, total)
    assert result.min() >= 0
    assert result.sum() == pytest.approx(total)


def test_all_negative_counts_clamp_to_the_uniform_distribution() -> None:
    assert clamped(np.array([-1.0, -5.0]), 4.0).tolist() == [2.0, 2.0]


def test_weighted_mean_has_the_least_variance() -> None:
    # weights 1/v: variance of the mean is 1 / (1/4 + 1/1) = 0.8, below both
    assert weighted_mean([0.0, 10.0], [4.0, 1.0]) == pytest.approx(8.0)


@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    total=st.sampled_from([1.0, 17.0, 1e6, 1e18]),
)
def test_the_sum_is_right_however_large_the_noise(values: list[int], total: float) -> None:
    """A small total beside huge counts, as a tiny budget gives them: nothing may be lost in rounding."""
    nearest = onto_simplex(np.array(values, dtype=np.int64), total)
    assert nearest.sum() == pytest.approx(total, rel=1e-12)
    assert nearest.min() >= 0
