"""Laws say how likely their outputs are: all of them together 1, and each as often as it is drawn.

The probabilities are compared with 1 to eighty digits: whatever a formula gets wrong, it gets wrong by more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import permutations, product
from math import exp, isclose, log
from typing import Any

import numpy as np
import pytest

from penstock.audit import exact, top
from penstock.privacy.laws.additive import GaussianAround, LaplaceAround
from penstock.privacy.laws.choices import PermuteAndFlip, PointOf, PointOfEach, Tilted
from penstock.privacy.laws.coins import Splits, Told
from penstock.privacy.laws.comparisons import Comparison, HiddenThreshold
from penstock.privacy.laws.naming import Named
from penstock.privacy.laws.public import AnyBelow, AnyOrder
from penstock.privacy.laws.tops import LargestNoisy, OneAfterAnother
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import NEVER, ZERO, Between, Log

RATES = (Fraction(1, 3), Fraction(5, 2), Fraction(1, 10**9))
GAPS = ([0], [0, 0, 0], [0, 1, 3], [2, 0, 2, 7], [0, 5, 1, 1, 0])
EIGHTY = Fraction(1, 10**80)


def chance(law: Law[Any], output: Any) -> Between:
    """The probability of an output, not its logarithm."""
    found = law.log_probability(output)
    if found is NEVER:
        return ZERO
    low, high = (Between.exp(found.exact + Fraction(bound)) for bound in (found.low, found.high))
    return Between(low.low, high.high)


def together(chances: Iterable[Between]) -> Between:
    total = ZERO
    for one in chances:
        total = total + one
    return total


def assert_one(total: Between, missing: Fraction = Fraction(0)) -> None:
    assert Fraction(total.low) <= 1
    assert Fraction(total.high) >= 1 - missing
    assert Fraction(total.high) - Fraction(total.low) < EIGHTY + missing


FINITE: list[tuple[Law[Any], list[Any]]] = [
    *((Tilted(np.array(gaps), rate), list(range(len(gaps)))) for gaps in GAPS for rate in (*RATES, None)),
    *(
        (Tilted(np.array(gaps), rate, np.arange(1, len(gaps) + 1)), list(range(len(gaps))))
        for gaps in GAPS
        for rate in RATES
    ),
    *(
        (PermuteAndFlip(np.array(gaps), rate), list(range(len(gaps))))
        for gaps in GAPS
        for rate in (*RATES, None)
    ),
    *(
        (kind(np.array(gaps), rate, many), [list(some) for some in permutations(range(len(gaps)), many)])
        for kind in (LargestNoisy, OneAfterAnother)
        for gaps in GAPS
        for rate in RATES
        for many in range(1, len(gaps) + 1)
    ),
    *(
        (LargestNoisy(np.array(gaps), None, 2), [list(some) for some in permutations(range(len(gaps)), 2)])
        for gaps in GAPS[1:]
    ),
    (PointOf(np.array([-3, 0, 0, 4]), np.array([1, 0, 2]), Fraction(1, 2)), list(range(-3, 4))),
    (
        PointOfEach(
            (
                PointOf(np.array([0, 1, 3]), np.array([1, 0]), Fraction(1, 2)),
                PointOf(np.array([0, 2, 3]), np.array([0, 3]), Fraction(1, 2)),
            )
        ),
        list(product(range(3), repeat=2)),
    ),
    (
        Splits(np.array([-1 << 31, 0, 5, 7 << 32]), Fraction(1, 1 << 32)),
        [np.array(some) for some in product((False, True), repeat=4)],
    ),
    (
        Told(np.array([0, 2, 1]), 3, Fraction(4, 3)),
        [np.array(some) for some in product(range(3), repeat=3)],
    ),
    (AnyBelow(7), list(range(7))),
    (AnyOrder(4), list(permutations(range(4)))),
]


@pytest.mark.parametrize(("law", "outputs"), FINITE, ids=lambda value: type(value).__name__)
def test_the_outputs_of_a_law_have_probability_one_together(law: Law[Any], outputs: list[Any]) -> None:
    assert_one(together(chance(law, output) for output in outputs))


@pytest.mark.parametrize("law_of", [LaplaceAround, GaussianAround])
@pytest.mark.parametrize("size", [Fraction(1, 5), Fraction(1), Fraction(7, 2)])
def test_noise_has_probability_one_together(law_of: Callable[..., Law[Any]], size: Fraction) -> None:
    law = law_of(np.array([3]), size)
    assert_one(together(chance(law, np.array([3 + z])) for z in range(-900, 901)), Fraction(1, 10**80))
    both = law_of(np.array([3, -2]), size)
    pair = chance(law, np.array([5])) * chance(law_of(np.array([-2]), size), np.array([-2]))
    found = chance(both, np.array([5, -2]))
    assert abs(Fraction(found.low) - Fraction(pair.low)) < EIGHTY


def test_names_have_probability_one_together() -> None:
    law = Named(("a", "b"), np.array([2, 5]), Fraction(1, 2), 4)
    outputs = [{}, *({"a": n} for n in range(4, 70)), *({"b": n} for n in range(4, 70))]
    outputs += [{"a": n, "b": m} for n in range(4, 70) for m in range(4, 70)]
    assert_one(together(chance(law, output) for output in outputs), Fraction(1, 10**50))
    assert law.log_probability({"c": 9}) is NEVER


class Answers(Comparison):
    """Comparisons to be asked for their probabilities only."""

    def draw(self, source: Randomness) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("redraw", [False, True])
@pytest.mark.parametrize("values", [[0], [3, -2], [5, 5, -40], [1, 0, 2, -1]])
def test_answers_of_a_sparse_vector_have_probability_one_together(values: list[int], redraw: bool) -> None:
    noise = HiddenThreshold(Fraction(7, 3), Fraction(5), redraw)
    law = Answers(np.array(values), np.ones(len(values), dtype=np.int64), noise, len(values))
    outputs = [np.array(some) for some in product((False, True), repeat=len(values))]
    assert_one(together(chance(law, output) for output in outputs))


def test_answers_of_a_sparse_vector_are_those_of_a_plain_sum_over_the_threshold() -> None:
    """The series in closed form against adding up term by term, in doubles."""
    noise = HiddenThreshold(Fraction(7, 3), Fraction(5))
    values, limits, answers = [1, -4, 6], [2, 2, 0], [False, True, True]
    law = Answers(np.array(values), np.array(limits), noise, 3)
    a, b = exp(-1 / 5), exp(-3 / 7)

    def reaches(k: int) -> float:
        return a**k / (1 + a) if k >= 0 else 1 - a ** (1 - k) / (1 + a)

    total = 0.0
    for rho in range(-400, 401):
        share = (1 - b) / (1 + b) * b ** abs(rho)
        for value, limit, above in zip(values, limits, answers, strict=True):
            yes = reaches(limit - value + rho)
            share *= yes if above else 1 - yes
        total += share
    assert isclose(float(law.log_probability(np.array(answers))), log(total), rel_tol=1e-12)


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(5, 2)])
def test_choices_agree_with_the_enumerations_of_the_audit(gaps: list[int], rate: Fraction) -> None:
    """Two roads to the same numbers: here a formula, there all orders, one by one."""
    scores = [-gap for gap in gaps]
    flipped = exact.permute_and_flip(scores, float(rate))
    for one in range(len(gaps)):
        found = float(PermuteAndFlip(np.array(gaps), rate).log_probability(one))
        assert isclose(found, log(flipped.probability(one)), rel_tol=1e-9, abs_tol=1e-9)
    for many in range(1, len(gaps) + 1):
        enumerated = top.one_shot(scores, float(rate), many)
        law = LargestNoisy(np.array(gaps), rate, many)
        for some in permutations(range(len(gaps)), many):
            expected = enumerated.probability(some)
            found = float(law.log_probability(list(some)))
            assert isclose(found, log(expected), rel_tol=1e-8, abs_tol=1e-8)


def test_a_logarithm_is_exact_where_it_can_be() -> None:
    one, two = LaplaceAround(np.array([3]), Fraction(7)), LaplaceAround(np.array([4]), Fraction(7))
    loss = one.loss(np.array([0]), two)
    assert loss.exact == Fraction(1, 7)
    assert loss.width < EIGHTY
    assert not loss.exceeds(Fraction(1, 7))
    assert loss.exceeds(Fraction(1, 7) - Fraction(1, 10**80))


def test_what_cannot_happen_exceeds_every_limit() -> None:
    assert (Log() - NEVER).exceeds(Fraction(10**9))
    assert not NEVER.exceeds(Fraction(-(10**9)))
    assert float(Log() - NEVER) == float("inf")
