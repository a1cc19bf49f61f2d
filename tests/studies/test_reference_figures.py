"""The reference figures of the baselines on NLTCS, where the data is there: within ten percent."""

from __future__ import annotations

from typing import Any

import pytest

from frame import MissingDataError, load
from frame.tabular import Fit, MeanDistance
from penstock.tabular.baselines import MWEM, Contingency, FourierMarginals, LaplaceMarginals, Uniform
from penstock.tabular.privbayes.encoding import encoded
from privbayes_methods import best_known_quality, greedy


@pytest.fixture(scope="module")
def nltcs() -> Any:
    try:
        return load("nltcs")
    except MissingDataError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(
    ("method", "epsilon", "way", "expected", "seeds"),
    [
        (Uniform(), "1", 3, 0.4381, 1),
        (Uniform(), "1", 4, 0.5227, 1),
        (LaplaceMarginals(3), "0.4", 3, 0.313, 1),
        (LaplaceMarginals(4), "1.6", 4, 0.404, 1),
        (FourierMarginals(3), "0.8", 3, 0.109, 5),
        (FourierMarginals(4), "0.8", 4, 0.351, 3),
        (Contingency("clamp-first"), "0.4", 3, 0.389, 2),
        (Contingency("clamp-first"), "1.6", 4, 0.345, 2),
        (Contingency("project-first"), "0.4", 3, 0.088, 10),
        (Contingency("project-first"), "0.8", 4, 0.059, 4),
        (MWEM(3), "0.4", 3, 0.352, 2),
        (MWEM(3, output="last"), "1.6", 3, 0.134, 2),
    ],
    ids=str,
)
def test_baselines_meet_the_reference(
    nltcs: Any, method: Any, epsilon: str, way: int, expected: float, seeds: int
) -> None:
    """Seeded, so it cannot fail by chance; the spread of a mean is below a third of the tolerance."""
    found = []
    for seed in range(seeds):
        distance = MeanDistance(way)(nltcs, Fit(method, rows=False)(nltcs, epsilon, seed), seed)
        assert distance is not None
        found.append(distance)
    assert sum(found) / seeds == pytest.approx(expected, rel=0.10)


@pytest.mark.parametrize(
    ("epsilon", "low", "high"), [("0.05", 3.6339, 3.6339), ("0.1", 4.2735, 4.3416), ("0.2", 4.5546, 4.5866)]
)
def test_greedy_networks_without_noise_have_the_known_quality(
    nltcs: Any, epsilon: str, low: float, high: float
) -> None:
    """Degrees 1, 2 and 3; the smallest and the largest sum of mutual informations over all 16 starts."""
    from fractions import Fraction

    from privbayes_methods import informations

    encoding = encoded("vanilla", nltcs.schema.attributes)
    sums = []
    for start in range(16):
        pairs = greedy(nltcs, encoding, epsilon, start, Fraction(3, 10), Fraction(4))
        sums.append(sum(informations(nltcs, encoding, pairs)))
    assert min(sums) == pytest.approx(low, abs=1e-4)
    assert max(sums) == pytest.approx(high, abs=1e-4)
    assert best_known_quality("nltcs") == pytest.approx(5.0675, abs=1e-4)
