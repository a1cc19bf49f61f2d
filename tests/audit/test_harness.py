"""The harness bounds epsilon from below, and is wrong no more often than it says."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, exp, log
from typing import Any

import numpy as np
import pytest
from scipy import stats

from penstock.audit.events import Event, learn, outputs_of, same_width
from penstock.audit.harness import (
    Bound,
    Status,
    bound_from_counts,
    clopper_pearson,
    confirm,
    examine,
    lower_bound,
)
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.errors import UsageError
from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness

LN3 = log(3)
Run = Callable[[Any, Randomness, int], Any]


def coin(answer: int, randomness: Randomness, n: int) -> Any:
    """Randomised response with ln 3: the truth three times out of four."""
    return np.where(samplers.bernoulli(Fraction(1, 4), n, randomness), 1 - answer, answer)


def target(run: Run, first: Any = 0, second: Any = 1, epsilon: str = "1", delta: str = "0") -> Target:
    claim = Promise(Fraction(epsilon), Fraction(delta))
    return Target("test", Kind.SHIPPED, claim, "for tests", [Pair(first, second)], run=run)


@pytest.mark.parametrize("tests", [1, 7, 30])
@pytest.mark.parametrize("failure", [0.05, 0.001])
def test_clopper_pearson_limits_are_wrong_at_most_as_often_as_stated(tests: int, failure: float) -> None:
    limits = [clopper_pearson(hits, tests, failure) for hits in range(tests + 1)]
    for p in np.linspace(0.01, 0.99, 33):
        chance = [comb(tests, hits) * p**hits * (1 - p) ** (tests - hits) for hits in range(tests + 1)]
        too_high = sum(share for share, (low, _) in zip(chance, limits, strict=True) if low > p)
        too_low = sum(share for share, (_, high) in zip(chance, limits, strict=True) if high < p)
        assert too_high <= failure + 1e-12
        assert too_low <= failure + 1e-12


def test_bound_is_the_logarithm_of_the_two_limits() -> None:
    low, _ = clopper_pearson(80, 100, 0.005)
    _, high = clopper_pearson(10, 100, 0.005)
    assert bound_from_counts(80, 10, 100, delta=0.1, failure=0.01) == pytest.approx(log((low - 0.1) / high))
    assert bound_from_counts(10, 80, 100, delta=0, failure=0.01) == 0.0
    assert bound_from_counts(5, 0, 100, delta=0.5, failure=0.01) == 0.0


def test_bounds_on_randomised_response_exceed_the_truth_no_more_often_than_stated() -> None:
    """150 independent bounds at confidence 0.9; the number of wrong ones is at most Binomial(150, 0.1).

    The threshold below is its quantile at 1 - 1e-6, the probability that this test fails by chance.
    """
    wrong = 0
    for seed in range(150):
        found = lower_bound(target(coin), 400, 0.9, Randomness.seeded(seed))
        wrong += found.epsilon > LN3
    assert wrong <= stats.binom.ppf(1 - 1e-6, 150, 0.1)


def test_bound_on_randomised_response_is_close_to_the_truth_with_many_trials() -> None:
    """Above ln 3 with probability at most 1e-6; below ln 3 - 0.05 would be a deviation of 4.6 sigma more."""
    found = lower_bound(target(coin), 200_000, randomness=Randomness.seeded(1))
    assert LN3 - 0.05 < found.epsilon <= LN3
    assert found.tests == 100_000


def test_claim_is_refuted_only_when_the_bound_exceeds_it() -> None:
    """ln 3 = 1.0986: a claim of 1 is false and found out, a claim of 1.1 is true. Fails with 1e-6."""
    assert examine(target(coin, epsilon="1"), 200_000).status is Status.REFUTED
    assert examine(target(coin, epsilon="11/10"), 200_000).status is Status.HOLDS


@pytest.mark.parametrize("epsilon", ["1/2", "9/10", "1", "11/10", "2"])
def test_a_verdict_without_all_outputs_is_that_of_all_outputs(epsilon: str) -> None:
    """Against any claim and with any seed; what is not drawn could not have changed it."""
    verdicts, spared = set(), 0
    for seed in range(12):
        claim = target(coin, epsilon=epsilon)
        every, some = (examine(claim, 1_000, seed=seed, verdict_only=only) for only in (False, True))
        assert some.status is every.status
        if some.status is Status.REFUTED:
            assert some.bounds == every.bounds
        assert some.bound.epsilon <= every.bound.epsilon
        assert some.bound.tests <= every.bound.tests == 500
        spared += every.bound.tests - some.bound.tests
        verdicts.add(some.status)
    assert verdicts == {Status.REFUTED if epsilon == "1/2" else Status.HOLDS}
    assert (spared > 0) == (epsilon != "1/2")


def test_equal_inputs_show_nothing() -> None:
    """Both outputs have one law, so the bound is above zero with probability at most 1e-6."""
    found = lower_bound(target(coin, 1, 1), 5_000)
    assert found.epsilon == 0.0


def leak_sometimes(secret: int, randomness: Randomness, n: int) -> Any:
    """The secret with probability 1/10, otherwise nothing: (0, 1/10)-DP and no better."""
    shown = samplers.bernoulli(Fraction(1, 10), n, randomness)
    return np.where(shown, secret, -1)


@pytest.mark.parametrize(("delta", "status"), [("1/10", Status.HOLDS), ("1/20", Status.REFUTED)])
def test_delta_is_taken_off_before_the_ratio(delta: str, status: Status) -> None:
    """Fails with probability at most 1e-6 where the claim is true; the other has 20 sigma to spare."""
    assert examine(target(leak_sometimes, delta=delta), 20_000).status is status


def test_both_directions_are_tried() -> None:
    """An output that only the second input can produce."""

    def run(secret: int, randomness: Randomness, n: int) -> Any:
        return secret * samplers.bernoulli(Fraction(1, 2), n, randomness)

    forward, backward = lower_bound(target(run, 1, 0), 2_000), lower_bound(target(run, 0, 1), 2_000)
    assert (forward.likelier, backward.likelier) == ("first", "second")
    assert min(forward.epsilon, backward.epsilon) > 3


def test_length_of_an_output_is_seen() -> None:
    def run(rows: int, randomness: Randomness, n: int) -> list[list[int]]:
        return [[7] * rows for _ in range(n)]

    assert lower_bound(target(run, 2, 3), 1_000).epsilon > 3


def test_rare_long_outputs_do_not_disturb_the_others() -> None:
    """One output in 150 is longer, whatever the input: a batch without one must not be read differently.

    60 bounds, each above zero with probability at most 1e-8.
    """

    def run(secret: int, randomness: Randomness, n: int) -> list[list[int]]:
        longer = samplers.bernoulli(Fraction(1, 150), n, randomness)
        values = samplers.uniform(3, 2 * n, randomness).reshape(n, 2).tolist()
        return [[*row, 9] if more else row for row, more in zip(values, longer, strict=True)]

    for seed in range(60):
        found = lower_bound(target(run), 200, 1 - 1e-8, Randomness.seeded(seed))
        assert found.epsilon == 0.0


def test_event_answers_for_one_output_whatever_stands_beside_it() -> None:
    rng = np.random.default_rng(0)
    narrow, wide = outputs_of(rng.integers(4, size=(400, 3))), outputs_of(2 + rng.integers(4, size=(400, 5)))
    found = learn(narrow, wide)
    assert found is not None
    alone = found.event.holds(narrow[:50])
    beside = found.event.holds(same_width(narrow[:50], outputs_of(np.zeros((2, 9))))[0])
    assert np.array_equal(alone, beside)


def test_outputs_that_never_vary_show_nothing() -> None:
    same = outputs_of(np.ones((200, 3)))
    assert learn(same, same) is None
    assert lower_bound(target(lambda secret, randomness, n: np.ones((n, 3))), 500).epsilon == 0.0


def test_noise_that_cancels_between_coordinates_is_found() -> None:
    """Each coordinate alone is very noisy; their difference tells everything."""

    def run(secret: int, randomness: Randomness, n: int) -> Any:
        noise = samplers.discrete_laplace(Fraction(50), n, randomness)
        return np.column_stack([noise + secret, noise])

    assert lower_bound(target(run), 2_000).epsilon > 3


def test_difference_in_spread_is_found_by_likelihood_ratio_sets() -> None:
    """Same mean, different variance: no threshold shows it well, a set of cells does."""

    def run(scale: int, randomness: Randomness, n: int) -> Any:
        return samplers.discrete_laplace(Fraction(scale), n, randomness)

    found = lower_bound(target(run, 1, 8), 20_000)
    assert found.epsilon > 1.5


def test_known_weak_spot_can_be_given_as_an_event() -> None:
    def run(secret: int, randomness: Randomness, n: int) -> Any:
        bits = samplers.bernoulli(Fraction(1, 2), 9 * n, randomness).reshape(n, 9)
        return np.hstack([bits, (bits.all(axis=1) & (secret == 1))[:, None]])

    spot = Event("ten ones", lambda outputs: np.asarray((outputs == 1).all(axis=1)))
    given = Target("spot", Kind.BROKEN, Promise(Fraction(1)), "", [Pair(0, 1)], run=run, events=[spot])
    assert spot.count(np.ones((3, 10))) == 3
    found = lower_bound(given, 120_000)
    assert found.epsilon > 1


def test_reported_bound_uses_fresh_outputs_only() -> None:
    """An event that fits the learning samples by chance gets no credit on others."""
    rng = np.random.default_rng(3)
    noise = [outputs_of(rng.normal(size=(400, 60))) for _ in range(4)]
    found = learn(noise[0], noise[1], z=0.1)
    assert found is not None
    assert found.promise > 0
    tests = len(noise[2])
    fresh = confirm(found, Pair(0, 1), [(noise[2], noise[3])], tests, delta=0.0, failure=1e-6)
    assert fresh.epsilon == 0.0


def test_runs_repeat_with_the_same_seed() -> None:
    def bound(seed: int) -> Bound:
        return lower_bound(target(coin), 2_000, randomness=Randomness.seeded(seed))

    assert bound(5) == bound(5)
    assert bound(5).hits != bound(6).hits


@pytest.mark.parametrize("trials", [0, 39])
def test_too_few_trials_are_refused(trials: int) -> None:
    with pytest.raises(UsageError, match="at least 40"):
        lower_bound(target(coin), trials)


def test_confidence_of_one_is_refused() -> None:
    with pytest.raises(UsageError, match="strictly between"):
        lower_bound(target(coin), 100, 1.0)


def test_target_needs_pairs_and_a_way_to_examine_it() -> None:
    with pytest.raises(UsageError, match="no pair"):
        Target("empty", Kind.SHIPPED, Promise(Fraction(1)), "", [], run=coin)
    with pytest.raises(UsageError, match="neither be run nor enumerated"):
        Target("inert", Kind.SHIPPED, Promise(Fraction(1)), "", [Pair(0, 1)])


def test_runner_that_returns_too_few_outputs_is_refused() -> None:
    with pytest.raises(UsageError, match="as many outputs"):
        lower_bound(target(lambda secret, randomness, n: np.zeros(n - 1)), 100)


def test_exact_loss_given_by_a_formula_is_a_bound_without_doubt() -> None:
    given = Target(
        "formula",
        Kind.BROKEN,
        Promise(Fraction(1)),
        "",
        [Pair(0, 1), Pair(0, 3)],
        loss=lambda first, second: abs(second - first) * 0.7,
    )
    verdict = examine(given, 100)
    assert verdict.status is Status.REFUTED
    assert (verdict.bound.epsilon, verdict.bound.pair.second) == (pytest.approx(2.1), 3)
    assert (verdict.failure, verdict.how) == (0.0, "exact")


def test_event_counts_what_holds() -> None:
    assert Event("positive", lambda outputs: outputs[:, 0] > 0).count(np.array([[1.0], [-1.0], [2.0]])) == 2


def test_mixture_cannot_be_refuted_beyond_its_true_loss() -> None:
    """A known law with three outputs: the true loss is ln 2, and any bound above it is a 1e-6 event."""

    def run(secret: int, randomness: Randomness, n: int) -> Any:
        draws = samplers.uniform(10, n, randomness)
        cuts = [[4, 8], [2, 6]][secret]  # probabilities 4/10, 4/10, 2/10 and 2/10, 4/10, 4/10
        return np.searchsorted(cuts, draws, side="right")

    found = lower_bound(target(run), 100_000)
    assert log(2) - 0.1 < found.epsilon <= log(2)
    assert exp(found.epsilon) <= 2


def test_outputs_in_which_nothing_varies_show_nothing() -> None:
    """Several columns, all the same in every run: there is no discriminant to be learned from."""
    same = np.tile([1.0, 2.0, 3.0], (80, 1))
    found = learn(same, same.copy(), delta=0.0, z=3.0, tests=80)
    assert found is None or found.promise <= 0
