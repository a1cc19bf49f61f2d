"""Choices: exact probabilities, the privacy loss worked out over all small inputs, and what is refused.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.effort import work_of
from tests.privacy.goodness import fits
from tests.privacy.mechanisms.choice_law import probabilities

from penstock.errors import BudgetError, DataError, UsageError
from penstock.privacy.budgets.accounting import range_of
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.mechanisms.choice import Method, Steps
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

METHODS: tuple[Method, ...] = ("permute-and-flip", "exponential")


def sealed(scores: Any, per_candidate: Fraction | int = 1, **more: Any) -> Sealed[NDArray[Any]]:
    array = np.asarray(scores)
    return Sealed(
        array,
        Sensitivity.scores(per_candidate, array.size, **more),
        Relation.ADD_REMOVE,
        because="each test says how far a score moves",
    )


def frequencies(
    scores: Sealed[NDArray[Any]], epsilon: object, runs: int = 2500, **more: Any
) -> NDArray[np.int64]:
    source = Randomness.seeded(5)
    picks = [choice.best(scores, Budget(epsilon, randomness=source), **more) for _ in range(runs)]  # type: ignore[arg-type]
    return np.bincount(picks, minlength=8)


# --- the public formula ---


def by_definition(heads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Permute-and-flip as its authors state it: all orders, and in each the first head."""
    law = np.zeros(heads.size)
    orders = list(permutations(range(heads.size)))
    for order in orders:
        unseen = 1.0
        for candidate in order:
            law[candidate] += unseen * heads[candidate] / len(orders)
            unseen *= 1 - heads[candidate]
    return law


@pytest.mark.parametrize("scores", [[3], [0, 0], [5, 3], [4, 4, 1], [0, 1, 2, 3], [9, 2, 9, 7, 5]])
def test_permute_and_flip_probabilities_are_those_of_its_definition(scores: list[int]) -> None:
    heads = np.exp(-(max(scores) - np.array(scores)) * 0.35)
    computed = probabilities(scores, "0.7", spread=2)
    assert np.allclose(computed, by_definition(heads), atol=1e-13)
    assert computed.sum() == pytest.approx(1, abs=1e-13)


def test_exponential_probabilities_are_proportional_to_base_times_exp() -> None:
    computed = probabilities([3, 1, 0], 2, spread=2, method="exponential", base=[1, 5, 2])
    weights = np.exp([3, 1, 0]) * [1, 5, 2]
    assert np.allclose(computed, weights / weights.sum())


# --- privacy loss, worked out exactly over small inputs ---


def worst_loss(
    tables: Iterable[tuple[int, ...]], changes: list[tuple[int, ...]], spread: int, method: Method
) -> float:
    loss = 0.0
    for scores in tables:
        law = probabilities(scores, 1, spread=spread, method=method)
        for change in changes:
            moved = probabilities(np.add(scores, change), 1, spread=spread, method=method)
            loss = max(loss, float(np.abs(np.log(law / moved)).max()))
    return loss


SUBSETS = list(product((0, 1), repeat=3))
COUNTS = list(product(range(5), repeat=3))


def test_worked_losses_of_the_exponential_mechanism() -> None:
    """Counts 0 ... 4 of three items, one transaction with any subset of them, epsilon 1."""
    assert worst_loss(COUNTS, SUBSETS, 2, "exponential") == pytest.approx(0.475, abs=5e-4)
    assert worst_loss(COUNTS, SUBSETS, 1, "exponential") == pytest.approx(0.994, abs=5e-4)


def test_the_monotonic_scale_on_a_score_that_is_not_monotone_breaks_the_promise() -> None:
    assert worst_loss([(0, 0)], [(1, -1)], 1, "exponential") == pytest.approx(1.434, abs=5e-4)
    assert worst_loss([(0, 0)], [(1, -1)], 2, "exponential") < 1


@pytest.mark.parametrize("method", METHODS)
def test_the_stated_range_keeps_the_loss_within_epsilon(method: Method) -> None:
    either = list(product((-1, 0, 1), repeat=3))
    assert worst_loss(COUNTS, SUBSETS, 1, method) <= 1 + 1e-9  # monotonic: R = linf
    assert worst_loss(COUNTS, either, 2, method) <= 1 + 1e-9  # general: R = 2 linf
    apart = [change for change in either if max(change) - min(change) <= 1]
    assert worst_loss(COUNTS, apart, 1, method) <= 1 + 1e-9  # bounded range
    # And the range is needed: anything smaller is refuted by some input.
    assert worst_loss(COUNTS, either, 1, method) > 1.5


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism() -> None:
    for scores in COUNTS:
        losses = [
            max(scores) - probabilities(scores, 1, spread=2, method=m) @ np.array(scores) for m in METHODS
        ]
        assert losses[0] <= losses[1] + 1e-12


# --- draws follow the formula ---

SCORES = [5, 3, 0, 4, 4, -20, 2, 1]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("more", "spread"),
    [({}, 2), ({"monotone": True}, 1), ({"spread": Fraction(1, 2)}, Fraction(1, 2))],
    ids=["general", "monotonic", "bounded range"],
)
def test_choices_follow_the_exact_probabilities(
    method: Method, more: dict[str, Any], spread: Fraction
) -> None:
    drawn = frequencies(sealed(SCORES, **more), 1, method=method)
    assert fits(drawn, probabilities(SCORES, 1, spread=spread, method=method))
    # The mutant that takes half the range is told apart by the same check.
    assert not fits(drawn, probabilities(SCORES, 1, spread=Fraction(spread) / 2, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_real_scores_pay_two_lattice_steps(method: Method) -> None:
    """Step 1/2 and linf 1: R is 2 + 2 * 1/2 = 3."""
    drawn = frequencies(
        sealed(np.array(SCORES, dtype=float) + 0.1), 2, method=method, granularity=Fraction(1, 2)
    )
    assert fits(drawn, probabilities(SCORES, 2, spread=3, method=method))
    whole = Budget(1)
    choice.best(sealed(np.array([1.0, 2.0])), whole, method=method, granularity=Fraction(1, 2))
    assert whole.receipt().paid.parts[0].sensitivity == "range 3"


def test_by_default_rounding_real_scores_costs_less_than_a_thousandth() -> None:
    for moves in (Fraction(1), Fraction(1, 3), Fraction(10**9), Fraction(3, 10**7)):
        plan = choice._plan(sealed([0.0, 1.0], moves), "exponential", None, None, ("exponential",))
        assert plan.step is not None
        assert 2 * moves < plan.spread * plan.step <= 2 * moves * (1 + Fraction(1, 1000))


def test_a_base_weighs_the_candidates_of_the_exponential_mechanism() -> None:
    base = [1, 0, 7, 2, 2, 10**12, 0, 1]
    drawn = frequencies(sealed(SCORES), 2, method="exponential", base=base)
    assert fits(drawn, probabilities(SCORES, 2, spread=2, method="exponential", base=base))


@pytest.mark.parametrize("method", METHODS)
def test_scores_at_the_ends_of_64_bits_do_not_wrap(method: Method) -> None:
    extreme = np.array([-(2**63), 2**63 - 1, 0])
    assert frequencies(sealed(extreme), 1, runs=50, method=method)[1] == 50
    reals = np.array([-1e300, 1e300, 0.0])
    assert frequencies(sealed(reals), 1, runs=20, method=method)[1] == 20


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_cannot_move_are_compared_exactly(method: Method) -> None:
    drawn = frequencies(sealed([1, 3, 3, 2], 0), 1, runs=2000, method=method)
    assert fits(drawn, [0, 0.5, 0.5, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("method", METHODS)
def test_huge_and_tiny_epsilon(method: Method) -> None:
    assert frequencies(sealed(SCORES), 100, runs=100, method=method)[0] == 100
    assert fits(frequencies(sealed(SCORES), "1e-9", method=method), np.full(8, 1 / 8))


@pytest.mark.parametrize("method", METHODS)
def test_a_million_candidates_take_few_steps_and_few_random_bytes(method: Method) -> None:
    """A loop over candidates would be a million steps. `studies/selection_speed.py` says how fast it is."""
    scores, source, picks = sealed(np.arange(1_000_000) % 99_991), Randomness.seeded(9), []
    work = work_of(lambda: picks.append(choice.best(scores, Budget(10, randomness=source), method=method)))
    assert work.steps < 10_000
    # Permute-and-flip flips a coin for everybody, 16 bits each; the exponential mechanism draws one place.
    assert work.drawn < (4_000_000 if method == "permute-and-flip" else 1000)
    # 60 points below the best costs a factor exp(-300), which a million candidates cannot make up for.
    assert all(pick % 99_991 > 99_991 - 60 for pick in picks)


# --- several, and points of a domain ---


@pytest.mark.parametrize("method", METHODS)
def test_several_choices_are_different_and_follow_the_law(method: Method) -> None:
    scores = [2, 1, 0]
    source = Randomness.seeded(6)
    pairs = [
        tuple(choice.best_several(sealed(scores), 2, Budget(4, randomness=source), method=method))
        for _ in range(1500)
    ]
    law = {}
    for first in range(3):
        left = [c for c in range(3) if c != first]
        p_first = probabilities(scores, 2, spread=2, method=method)[first]
        second = probabilities([scores[c] for c in left], 2, spread=2, method=method)
        law.update({(first, c): p_first * p for c, p in zip(left, second, strict=True)})
    assert fits([pairs.count(pair) for pair in law], list(law.values()))


def test_several_choices_are_one_charge_of_the_whole_budget() -> None:
    whole = Budget("7/10")
    chosen = choice.best_several(sealed(SCORES), 3, whole)
    assert len(set(chosen)) == 3
    (charge,) = whole.receipt().paid.parts
    assert charge.cost == (Fraction(7, 10), 0)


def test_all_candidates_can_be_chosen_and_no_more() -> None:
    assert sorted(choice.best_several(sealed([1, 2, 3]), 3, Budget(1))) == [0, 1, 2]
    for many, base in ((4, None), (0, None), (2, [0, 1, 0])):
        whole = Budget(1)
        with pytest.raises(UsageError, match="Nothing was spent"):
            choice.best_several(sealed([1, 2, 3]), many, whole, method="exponential", base=base)
        assert whole.left[0] == 1


def sealed_steps(edges: list[int], scores: list[int]) -> Sealed[Steps]:
    return Sealed(
        Steps(np.array(edges), np.array(scores)),
        Sensitivity.scores(1, 2),
        Relation.ADD_REMOVE,
        because="a record moves each score by one",
    )


def test_points_follow_the_exponential_mechanism_over_all_of_them() -> None:
    steps = sealed_steps(
        [10, 12, 12, 15, 16], [0, 100, 2, 3]
    )  # the second piece is empty: its score is nobody's
    source = Randomness.seeded(7)
    drawn = [choice.point(steps, 10, 16, Budget(2, randomness=source)) - 10 for _ in range(2000)]
    law = probabilities([0, 0, 2, 2, 2, 3], 2, spread=2, method="exponential")
    assert fits(np.bincount(drawn, minlength=6), law)


def test_a_fine_domain_costs_no_more_and_finds_a_short_good_piece() -> None:
    steps = sealed_steps([0, 2**40, 2**40 + 1000, 2**60], [0, 100, 0])
    source = Randomness.seeded(8)
    drawn = [choice.point(steps, 0, 2**60, Budget(2, randomness=source)) for _ in range(20)]
    assert all(2**40 <= point < 2**40 + 1000 for point in drawn)  # the odds against are below 2**60 / e**100


def test_points_refuse_a_domain_that_does_not_fit() -> None:
    whole = Budget(1)
    with pytest.raises(UsageError, match="Nothing was spent"):
        choice.point(sealed_steps([0, 1], [5]), 3, 3, whole)
    assert whole.left[0] == 1
    for edges, scores in (([0, 5, 4, 10], [1, 2, 3]), ([1, 10], [1]), ([0, 10], [1, 2])):
        with pytest.raises(UsageError, match="cover exactly"):
            choice.point(sealed_steps(edges, scores), 0, 10, Budget(1))


# --- what is refused ---


def test_arguments_are_checked_before_anything_is_spent() -> None:
    whole = Budget(1)
    attempts: list[tuple[Any, dict[str, Any]]] = [
        ([], {}),
        ([[1, 2]], {}),
        (["a"], {}),
        ([1, 2], {"base": [1, 1]}),
        ([1, 2], {"method": "gumbel"}),
        ([1, 2], {"method": "exponential", "base": [1]}),
        ([1, 2], {"method": "exponential", "base": [0, 0]}),
        ([1, 2], {"method": "exponential", "base": [-1, 2]}),
        ([1, 2], {"method": "exponential", "base": [0.5, 2]}),
        ([1.0, 2.0], {"granularity": 0.3}),
    ]
    for scores, more in attempts:
        with pytest.raises(UsageError):
            choice.best(sealed(scores), whole, **more)
    assert whole.left[0] == 1


def test_a_spent_budget_cannot_choose() -> None:
    whole = Budget(1)
    choice.best(sealed([1, 2]), whole)
    with pytest.raises(BudgetError, match="Nothing is left"):
        choice.best(sealed([1, 2]), whole)


def test_scores_that_are_not_finite_are_refused() -> None:
    with pytest.raises(DataError, match="finite"):
        choice.best(sealed([1.0, np.nan]), Budget(1))


@pytest.mark.parametrize("method", METHODS)
def test_real_scores_that_only_move_together_still_pay_for_their_rounding(method: Method) -> None:
    """Steps of 2**-20: 0.4 and 0.6 of a step round apart, moved by 0.2 they round to the same.

    Without noise the first candidate would be chosen never and half of the time. With R of two steps it
    is chosen at least a quarter of the time either way: never in 200 runs with probability below 1e-24.
    """
    moved = Sensitivity.scores(1, 2, monotone=True, spread=0)
    for shift in (0.0, 0.2):
        values = (np.array([0.4, 0.6]) + shift) / 2**20
        scores: Sealed[NDArray[Any]] = Sealed(
            values, moved, Relation.ADD_REMOVE, because="all scores move alike"
        )
        assert frequencies(scores, 1, 200, method=method)[0] > 0
    still = Sealed(
        np.array([0.4, 0.6]), Sensitivity.scores(0, 2), Relation.ADD_REMOVE, because="they are constants"
    )
    assert frequencies(still, 1, 20, method=method)[1] == 20


# Paid in rho ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 8), Fraction(2)])
def test_a_choice_paid_in_rho_has_no_renyi_divergence_above_it(rho: Fraction) -> None:
    """Scores that move apart by all they may, at many orders; and by what was paid for, not by far less."""
    epsilon = range_of(rho)
    worst = 0.0
    for moves in ([1, 0], [1, -1], [1, -1, 0, 1], [0, 0, 1, -1, -1]):
        spread = max(moves) - min(moves)
        for scores in ([0] * len(moves), list(range(len(moves)))):
            rate = float(epsilon) / spread
            logs = [np.array(each, dtype=float) * rate for each in (scores, np.add(scores, moves))]
            one, two = (each - np.logaddexp.reduce(each) for each in logs)
            for order in (1.01, 1.5, 2.0, 4.0, 16.0, 64.0):
                divergence = np.logaddexp.reduce(order * one - (order - 1) * two) / (order - 1)
                assert divergence <= order * float(rho) * (1 + 1e-9)
                worst = max(worst, float(divergence) / (order * float(rho)))
    assert worst > 0.7


def test_a_choice_is_a_portion_of_the_rho_that_paid_for_it_and_no_permute_and_flip() -> None:
    scores = sealed([1, 0])
    budget = Budget(1, "1e-6", randomness=Randomness.seeded(0))
    rho = budget.concentrated()
    part = rho.part("choice", Fraction(1, 2))
    assert choice.best(scores, part, method="exponential") in (0, 1)
    (group,) = budget.receipt().paid.parts
    assert [portion.rho for portion in group.parts] == [rho.rho / 2]
    with pytest.raises(UsageError, match="paid in rho"):
        choice.best(scores, rho.rest("more"), method="permute-and-flip")


def test_the_range_that_a_rho_buys_never_costs_more() -> None:
    for rho in (Fraction(0), Fraction(1, 10**30), Fraction(1, 3), Fraction(7), Fraction(10**12 + 1, 7)):
        epsilon = range_of(rho)
        assert epsilon**2 / 8 <= rho
        assert (epsilon + Fraction(1, 10**18)) ** 2 / 8 > rho
