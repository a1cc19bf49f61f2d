"""Enumerated losses are the true ones: checked against all events, closed forms and the shipped code."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from math import exp, fsum, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.privacy.mechanisms.choice_law import probabilities

from penstock.audit import exact, mechanisms
from penstock.audit.events import outputs_of
from penstock.audit.exact import Distribution, independent, loss, pure_loss, worst
from penstock.audit.neighbours import Pair, databases, neighbours, small_pairs
from penstock.audit.target import Target
from penstock.errors import UsageError
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation

ENUMERATED = [target for target in mechanisms.targets() if target.distribution is not None]

weights = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


def law(shares: list[int]) -> Distribution:
    return Distribution.of({place: share / sum(shares) for place, share in enumerate(shares)})


def excess(first: Distribution, second: Distribution, epsilon: float) -> float:
    """The smallest delta that makes (epsilon, delta) true for these two inputs, in this direction."""
    return fsum(
        max(0.0, exp(value) - exp(epsilon) * second.probability(outcome))
        for outcome, value in first.logs.items()
    )


@settings(max_examples=60, deadline=None)
@given(weights, weights, st.sampled_from([0.0, 0.05, 0.3]))
def test_loss_is_the_smallest_epsilon_that_no_event_contradicts(
    one: list[int], two: list[int], delta: float
) -> None:
    first, second = law(one), law(two)
    epsilon = loss(first, second, delta)

    def contradicted(trial: float) -> bool:
        events = chain.from_iterable(combinations(range(4), size) for size in range(1, 5))
        for event in events:
            p = sum(first.probability(place) for place in event)
            q = sum(second.probability(place) for place in event)
            if max(p - exp(trial) * q, q - exp(trial) * p) > delta + 1e-9:
                return True
        return False

    if epsilon == inf:
        assert contradicted(20.0)
    else:
        assert not contradicted(epsilon)
        assert epsilon == 0 or contradicted(epsilon - 1e-6)


def test_excess_at_the_loss_is_delta() -> None:
    first, second = law([1, 2, 3, 4]), law([4, 3, 2, 1])
    epsilon = loss(first, second, 0.1)
    assert max(excess(first, second, epsilon), excess(second, first, epsilon)) == pytest.approx(0.1)


def test_outcome_that_only_one_input_can_produce_is_an_infinite_loss() -> None:
    assert pure_loss(law([1, 1, 0, 0]), law([1, 1, 1, 0])) == inf


def test_probabilities_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(UsageError, match="not to 1"):
        Distribution.of({0: 0.5, 1: 0.4})


def test_post_processing_never_raises_the_loss() -> None:
    first, second = law([1, 2, 3, 4]), law([4, 3, 2, 1])
    coarse = [each.through(lambda place: place // 2) for each in (first, second)]
    assert pure_loss(*coarse) <= pure_loss(first, second)


def test_independent_outputs_add_their_losses() -> None:
    first, second = law([3, 1, 0, 0]), law([1, 3, 0, 0])
    assert pure_loss(independent([first, first]), independent([second, second])) == pytest.approx(2 * log(3))


@pytest.mark.parametrize("scale", [0.5, 1.0, 7.3])
@pytest.mark.parametrize("apart", [1, 2])
def test_discrete_laplace_loses_exactly_the_distance_over_the_scale(scale: float, apart: int) -> None:
    one = exact.discrete_laplace(3, scale, (-2, 9))
    two = exact.discrete_laplace(3 + apart, scale, (-2, 9))
    assert pure_loss(one, two) == pytest.approx(apart / scale)


def test_clamped_tails_hold_what_was_cut_off() -> None:
    wide, narrow = (exact.discrete_laplace(0, 2.0, (-reach, reach)) for reach in (60, 2))
    assert narrow.probability(2) == pytest.approx(sum(wide.probability(z) for z in range(2, 61)))


@pytest.mark.parametrize("scores", [[0.0], [1.0, 0.0], [3, 2, 2, 0], [5, 5, 5], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("method", ["exponential", "permute-and-flip"])
def test_two_ways_to_compute_a_choice_agree(scores: list[float], method: str) -> None:
    """Ours walks over sets of candidates, the shipped one integrates a polynomial."""
    mine = {"exponential": exact.exponential, "permute-and-flip": exact.permute_and_flip}[method](scores, 0.7)
    theirs = probabilities(scores, "7/10", spread=1, method=method)  # type: ignore[arg-type]  # parametrised
    assert [mine.probability(place) for place in range(len(scores))] == pytest.approx(theirs.tolist())


def test_discrete_gaussian_has_the_stated_delta() -> None:
    """The tail sums of P(z) - e^eps Q(z), written out."""
    one, two = exact.discrete_gaussian(0, 9.0), exact.discrete_gaussian(1, 9.0)
    direct = sum(max(0.0, one.probability(z) - exp(0.2) * two.probability(z)) for z in range(-60, 60))
    assert excess(one, two, 0.2) == pytest.approx(direct)
    assert loss(one, two, direct) == pytest.approx(0.2)


@pytest.mark.parametrize("given_target", ENUMERATED, ids=lambda target: target.name)
def test_shipped_code_draws_from_the_enumerated_law(given_target: Target) -> None:
    """Chi-square with 30,000 (noise) or 2,000 (choices) runs; fails by chance with probability 1e-7 each."""
    assert given_target.distribution is not None
    assert given_target.run is not None
    runs = 30_000 if given_target.effort == 1 else 2_000
    records = given_target.pairs[-1].second
    expected = given_target.distribution(records)
    outputs = outputs_of(given_target.run(records, Randomness.seeded(11), runs)).astype(int)
    low, high = _window(expected)
    seen = [tuple(row) if len(row) > 1 else int(row[0]) for row in np.clip(outputs, low, high).tolist()]
    cells = sorted(expected.logs, key=expected.probability, reverse=True)
    common = [cell for cell in cells if expected.probability(cell) * runs >= 20]
    shares = [expected.probability(cell) for cell in common]
    counts = [seen.count(cell) for cell in common]
    if sum(shares) < 1 - 1e-12:
        shares.append(1 - sum(shares))
        counts.append(runs - sum(counts))
    assert stats.chisquare(counts, np.array(shares) * runs).pvalue > 1e-7


def _window(law_of: Distribution) -> tuple[int, int]:
    flat = [number for cell in law_of.logs for number in (cell if isinstance(cell, tuple) else (cell,))]
    return min(flat), max(flat)


def test_databases_and_neighbours_are_complete() -> None:
    assert len(list(databases((0, 1, 2), 2))) == 1 + 3 + 6
    added = list(neighbours((0, 1), 2, Relation.ADD_REMOVE))
    assert len(added) == 3 * 2
    assert all(len(pair.second) == len(pair.first) + 1 for pair in added)
    replaced = list(neighbours((0, 1, 2), 2, Relation.REPLACE, smallest=2))
    assert all(len(pair.first) == len(pair.second) == 2 for pair in replaced)
    assert len(replaced) == 3 * 3


def test_many_pairs_are_sampled_by_a_fixed_seed() -> None:
    few = small_pairs(range(6), 4, Relation.ADD_REMOVE, most=20)
    assert len(few) == 20
    assert few == small_pairs(range(6), 4, Relation.ADD_REMOVE, most=20)


def test_worst_pair_is_found_by_brute_force() -> None:
    """Sensitivity grows with the record's value, so adding the largest record is worst."""
    found, pair = worst(
        lambda records: exact.discrete_laplace(sum(records), 2.0, (-1, 9)),
        neighbours((0, 1, 3), 2, Relation.ADD_REMOVE),
    )
    assert found == pytest.approx(1.5)
    assert sum(pair.second) - sum(pair.first) == 3


def test_worst_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one pair"):
        worst(lambda records: law([1, 1, 1, 1]), [])


def test_window_that_does_not_hold_the_value_is_refused() -> None:
    with pytest.raises(UsageError, match="must hold"):
        exact.discrete_laplace(5, 1.0, (0, 5))


def test_pair_can_be_named() -> None:
    assert Pair(1, 2, "a lone record").words == "a lone record"
    assert Fraction(1) == mechanisms.ONE
