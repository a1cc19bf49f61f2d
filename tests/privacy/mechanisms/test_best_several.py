"""Several choices at once: exact laws, the loss enumerated, one-shot never worse, and a million candidates.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.effort import work_of
from tests.privacy.goodness import fits

from penstock.audit import exact
from penstock.audit.exact import Distribution, pure_loss
from penstock.audit.top import one_shot, peeled
from penstock.errors import UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.choice import SeveralMethod, best_several
from penstock.privacy.randomness import without_replacement
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.without_replacement import largest_noisy, tilted_several
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

METHODS: tuple[SeveralMethod, ...] = ("one-shot", "exponential", "permute-and-flip")
RATE = Fraction(7, 10)


def gaps_of(scores: list[int]) -> NDArray[np.uint64]:
    return np.array([max(scores) - score for score in scores], dtype=np.uint64)


def sealed(scores: Any, **more: Any) -> Sealed[NDArray[Any]]:
    array = np.asarray(scores)
    return Sealed(
        array,
        Sensitivity.scores(1, array.size, **more),
        Relation.ADD_REMOVE,
        because="a record moves each score by at most one",
    )


def follows(drawn: list[tuple[int, ...]], law: Distribution) -> bool:
    seen = Counter(drawn)
    outcomes = sorted(law.logs)  # type: ignore[type-var]
    assert set(seen) <= set(outcomes)
    return fits([seen[outcome] for outcome in outcomes], [law.probability(outcome) for outcome in outcomes])


# --- the samplers ---


@pytest.mark.parametrize(("scores", "many"), [([3, 2, 1, 0], 2), ([4, 4, 1], 2), ([0, 9, 9, 3, 8], 3)])
def test_noise_once_follows_its_enumerated_law(scores: list[int], many: int) -> None:
    source = Randomness.seeded(1)
    drawn = [tuple(largest_noisy(gaps_of(scores), RATE, many, source)) for _ in range(4000)]
    assert follows(drawn, one_shot(scores, 0.7, many))
    assert not follows(drawn, one_shot(scores, 1.0, many))


@pytest.mark.parametrize(("scores", "many"), [([3, 2, 1, 0], 2), ([4, 4, 1], 3), ([0, 9, 9, 3, 8], 2)])
def test_choices_one_after_another_follow_the_exponential_mechanism(scores: list[int], many: int) -> None:
    source = Randomness.seeded(2)
    drawn = [tuple(tilted_several(gaps_of(scores), RATE, many, source)) for _ in range(2500)]
    assert follows(drawn, peeled(exact.exponential, scores, 0.7, many))
    assert not follows(drawn, peeled(exact.exponential, scores, 1.1, many))


def test_published_probabilities_of_ordered_pairs() -> None:
    law = peeled(exact.exponential, [3, 2, 1, 0], 0.7, 2)
    published = {(0, 1): 0.3075, (0, 2): 0.1527, (1, 0): 0.1944, (2, 0): 0.0816, (3, 2): 0.0093}
    assert {pair: round(law.probability(pair), 4) for pair in published} == published


def test_the_envelope_is_exact_beyond_its_table_and_when_made_anew() -> None:
    """A candidate far beyond the table (weight e**-21) is still drawn once the near ones are taken, and in
    steep scores every choice needs a new envelope: all orders that are likely come out."""
    source = Randomness.seeded(3)
    assert tilted_several(np.array([0, 30, 60, 90], dtype=np.uint64), Fraction(1), 4, source) == [0, 1, 2, 3]
    far = np.array([0] + [25] * 5000, dtype=np.uint64)  # together e**-16.5: the second choice is uniform
    seconds = [tilted_several(far, Fraction(1), 2, source)[1] for _ in range(2000)]
    assert fits(np.bincount(np.array(seconds) % 10, minlength=10), np.full(10, 0.1))


@pytest.mark.parametrize("draw", [largest_noisy, tilted_several])
def test_gaps_beyond_64_bits_and_equal_scores(draw: Any) -> None:
    source = Randomness.seeded(4)
    huge = np.array([2**70, 0, 2**64 - 1], dtype=object)
    assert draw(huge, Fraction(1), 3, source) == [1, 2, 0]
    assert draw(np.array([2**64 - 1, 0], dtype=np.uint64), Fraction(1), 2, source) == [1, 0]
    equal = [tuple(draw(np.zeros(3, dtype=np.uint64), Fraction(1), 2, source)) for _ in range(1500)]
    assert fits(list(Counter(equal).values()), np.full(6, 1 / 6))


# --- privacy, by enumeration ---


def worst(method: SeveralMethod, changes: list[tuple[int, ...]], rate: float) -> float:
    def law(scores: tuple[int, ...]) -> Distribution:
        if method == "one-shot":
            return one_shot(scores, rate, 2)
        once = exact.exponential if method == "exponential" else exact.permute_and_flip
        return peeled(once, scores, rate, 2)

    tables = list(product(range(3), repeat=3))
    return max(
        pure_loss(law(scores), law(tuple(np.add(scores, change).tolist())))
        for scores in tables
        for change in changes
    )


@pytest.mark.parametrize("method", METHODS)
def test_two_choices_at_once_cost_no_more_than_epsilon(method: SeveralMethod) -> None:
    """Epsilon 1 for c = 2: the rate is 1/(2R), R = 1 for counts that move together and else 2."""
    together = list(product((0, 1), repeat=3))
    either = list(product((-1, 0, 1), repeat=3))
    assert worst(method, together, 1 / 2) <= 1 + 1e-9
    assert worst(method, either, 1 / 4) <= 1 + 1e-9
    assert worst(method, either, 1 / 2) > 1.2  # the price for counts does not hold for other scores
    assert worst(method, together, 1.0) > 1.5  # nor does the price of a single choice


def test_one_shot_is_tight_and_for_one_choice_it_is_permute_and_flip() -> None:
    assert worst("one-shot", list(product((0, 1), repeat=3)), 1 / 2) == pytest.approx(1, abs=1e-9)
    for scores in product(range(4), repeat=3):
        once, flipped = one_shot(scores, 0.4, 1), exact.permute_and_flip(scores, 0.4)
        assert all(
            once.probability((i,)) == pytest.approx(flipped.probability(i), abs=1e-12) for i in range(3)
        )


def test_one_shot_is_never_worse_than_choosing_one_after_another() -> None:
    """Expected sum of the chosen scores, for all tables of four scores."""

    def gain(law: Distribution, scores: tuple[int, ...]) -> float:
        return sum(law.probability(chosen) * sum(scores[i] for i in chosen) for chosen in law.logs)  # type: ignore[attr-defined]

    gained = 0.0
    for scores in product((0, 1, 3), repeat=4):
        for many, rate in ((2, 0.4), (3, 1.0)):
            once = gain(one_shot(scores, rate, many), scores)
            for law in (exact.exponential, exact.permute_and_flip):
                after = gain(peeled(law, scores, rate, many), scores)
                assert once >= after - 1e-12
                gained = max(gained, once - after)
    assert gained > 0.1


# --- through the front door ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("monotone", [True, False])
def test_best_several_follows_the_law_of_its_price(method: SeveralMethod, monotone: bool) -> None:
    """Epsilon 3 for two choices is a rate of 3/2 for each, divided by R."""
    source, scores = Randomness.seeded(5), [4, 3, 1, 0]
    drawn = [
        tuple(best_several(sealed(scores, monotone=monotone), 2, Budget(3, randomness=source), method=method))
        for _ in range(800)
    ]
    rate = 1.5 if monotone else 0.75
    once = exact.exponential if method == "exponential" else exact.permute_and_flip
    law = one_shot(scores, rate, 2) if method == "one-shot" else peeled(once, scores, rate, 2)
    assert follows(drawn, law)


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_cannot_move_are_ranked_exactly(method: SeveralMethod) -> None:
    still = Sealed(
        np.array([5, 9, 7, 1]), Sensitivity.scores(0, 4), Relation.ADD_REMOVE, because="they are constants"
    )
    assert best_several(still, 3, Budget("1/1000"), method=method) == [1, 2, 0]


@pytest.mark.parametrize("method", METHODS)
def test_the_charge_is_one_and_nothing_is_spent_on_an_impossible_choice(method: SeveralMethod) -> None:
    whole = Budget("7/10")
    for many in (0, 4, 2.0, True, np.int64(2)):
        with pytest.raises(UsageError, match="Nothing was spent"):
            best_several(sealed([1, 2, 3]), many, whole, method=method)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'one-shot' or"):
        best_several(sealed([1, 2, 3]), 2, whole, method="gumbel")  # type: ignore[arg-type]
    assert whole.left[0] == Fraction(7, 10)
    best_several(sealed([1.5, 2.5, 3.5]), 3, whole, method=method)
    (charge,) = whole.receipt().paid.parts
    assert charge.cost == (Fraction(7, 10), 0)
    assert "3 of 3 candidates" in charge.detail  # type: ignore[union-attr]


@pytest.mark.parametrize("method", ["one-shot", "exponential"])
@pytest.mark.parametrize("shape", ["zipf", "all different"])
def test_a_hundred_of_a_million_candidates_cost_little_more_than_one(
    method: SeveralMethod, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a step for each candidate, nor a look at all of them for each choice.

    `studies/selection_speed.py` says how fast it is.
    """
    size, many, looked_at = 1_000_000, 100, []

    class Counted(without_replacement._Envelope):
        def __init__(self, pool: without_replacement._Pool, rate: Fraction) -> None:
            super().__init__(pool, rate)
            looked_at.append(pool.gaps.size - self._first)

    monkeypatch.setattr(without_replacement, "_Envelope", Counted)
    ranks = np.arange(1, size + 1)
    scores = sealed(size // ranks if shape == "zipf" else ranks, monotone=True)
    source, runs = Randomness.seeded(6), []
    work = work_of(
        lambda: runs.append(best_several(scores, many, Budget(1, randomness=source), method=method))
    )
    assert all(len(set(chosen)) == many for chosen in runs)
    if method == "one-shot":
        assert work.steps < 10_000
        assert work.drawn < 4 * size  # a coin of 16 bits for everybody, and a little more for a few
    else:
        assert work.steps < 500 * many
        assert work.drawn < 100 * many
        assert sum(looked_at) < 3 * size * len(runs)
