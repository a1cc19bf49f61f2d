"""Noise on smooth and noisy local sensitivities: published values, exact laws, and margins that hold."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, expm1, log, pi, tanh

import numpy as np
import pytest
from scipy import stats
from tests.kinds.graph.known import graph

from penstock.errors import BudgetError, UsageError
from penstock.kinds.graph.audits.ladders import graph_of, neighbouring
from penstock.kinds.graph.patterns import Triangle
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import OnRungs, Rungs, SmoothCauchy, SmoothLaplace
from penstock.privacy.mechanisms import ladder, smooth
from penstock.privacy.mechanisms.noisy_local import Local, margin_below, noisy_local
from penstock.privacy.mechanisms.smooth import (
    cauchy_parameters,
    laplace_beta,
    one_change,
    smooth_sensitivity,
)
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

DRAWS = 20_000


def sealed(value: Rungs | Local, changes: int = 1) -> Sealed[object]:
    return Sealed(
        value, Sensitivity.of(changes), Relation.ADD_REMOVE, because="made up for a test of the noise"
    )


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("figure", {"1/10": 2.222455, "1/2": 1.213061, "1": 1.0}),
        ("karate", {"1/100": 23.470303, "1/10": 10.0, "1/2": 10.0}),
        ("petersen", {"1/100": 7.238699, "1/10": 3.351600, "1/2": 1.213061}),
    ],
)
def test_published_smooth_sensitivities(where: str, values: dict[str, float]) -> None:
    rungs = Triangle().rungs(graph(where))
    for beta, value in values.items():
        assert float(smooth_sensitivity(rungs, Fraction(beta))) == pytest.approx(value, abs=6e-7)


def test_smoothness_between_all_neighbours_of_five_nodes() -> None:
    beta, most = Fraction(3, 10), 0.0
    for pair in neighbouring():
        one, two = (
            smooth_sensitivity(Triangle().rungs(graph_of(links)), beta) for links in (pair.first, pair.second)
        )
        most = max(most, abs(log(one / two)))
    assert most == pytest.approx(0.3, abs=1e-12)  # attained, and exceeded by less than what is paid for


def test_beta_pays_for_every_epsilon() -> None:
    for epsilon in ("1/100", "1", "8"):
        for delta in ("1/10", "1/1000000", "1e-60"):
            beta = laplace_beta(Fraction(epsilon), Fraction(delta))
            tail = log(2) - log(Fraction(delta))
            assert expm1(float(beta)) * tail == pytest.approx(float(Fraction(epsilon)) / 2, rel=1e-6)
            assert expm1(float(beta)) * tail <= float(Fraction(epsilon)) / 2
    with pytest.raises(UsageError, match="too small"):
        laplace_beta(Fraction(1, 10**40), Fraction(1, 10))


def test_both_calibrations() -> None:
    assert cauchy_parameters(Fraction(6), "published") == (1, 1)
    alpha, beta = cauchy_parameters(Fraction(1), "tight")
    assert alpha + beta * Fraction(43, 42) <= 1
    with pytest.raises(UsageError, match="calibration"):
        cauchy_parameters(Fraction(1), "loose")  # type: ignore[arg-type]


def test_the_price_of_rescaling_whole_cauchy_noise() -> None:
    """h(s) = 2 pi s / sinh(2 pi s) stays below 1/42 from s = 1 on."""
    assert 2 * pi / np.sinh(2 * pi) < 1 / 42
    scales = np.linspace(1, 40, 4000)
    assert np.all(np.diff(2 * pi * scales / np.sinh(2 * pi * scales)) < 0)


def test_changes_together() -> None:
    share, slack = one_change(Fraction(1), Fraction(1, 100), Fraction(4))
    assert share == Fraction(1, 4)
    assert float(slack) * sum(exp(i / 4) for i in range(4)) <= 0.01
    assert one_change(Fraction(1), Fraction(1, 100), Fraction(1)) == (1, Fraction(1, 100))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(12)])
def test_whole_cauchy_noise_has_its_law(scale: Fraction) -> None:
    """Chi-square; fails by chance with probability 1e-6."""
    source, s = Randomness.seeded(5), float(scale)
    drawn = Counter(source.draw(SmoothCauchy(3, scale, ())) for _ in range(DRAWS))
    near = range(3 - 12, 3 + 13)
    chances = [s * tanh(pi * s) / (pi * (s * s + (z - 3) ** 2)) for z in near]
    law = SmoothCauchy(3, scale, ())
    assert [exp(float(law.log_probability(z))) for z in near] == pytest.approx(chances)
    seen = [drawn[z] for z in near]
    expected = [DRAWS * chance for chance in chances]
    assert stats.chisquare([*seen, DRAWS - sum(seen)], [*expected, DRAWS - sum(expected)]).pvalue > 1e-6


def test_laws_add_up_to_one() -> None:
    rungs = Rungs(2, np.array([0, 3, 3]), 5)
    for law in (OnRungs(rungs, Fraction(1, 2)), SmoothLaplace(2, Fraction(5, 2), ())):
        total = sum(exp(float(law.log_probability(y))) for y in range(-300, 300))
        assert total == pytest.approx(1, abs=1e-9)
    law = OnRungs(rungs, Fraction(1, 2))
    for y in range(-30, 30):
        assert float(law.log_probability(y)) == pytest.approx(ladder.law(rungs, 0.5, y))


def test_nothing_is_noisy_where_nothing_can_move() -> None:
    still = Rungs(0, np.zeros(0, dtype=np.int64), 0)
    assert smooth.cauchy(sealed(still), Budget(1)) == 0
    assert smooth.laplace(sealed(still), Budget(1, "1/100")) == 0
    assert ladder.ladder(sealed(still), Budget(1)) == 0


def test_what_is_not_paid_is_refused() -> None:
    rungs = sealed(Rungs(0, np.array([1]), 2))
    with pytest.raises(BudgetError, match="no delta"):
        smooth.laplace(rungs, Budget(1))
    with pytest.raises(BudgetError, match="needs an epsilon and a delta"):
        noisy_local(sealed(Local(1, 1, 1)), lambda a: a, Budget(1))
    spent = Budget(1)
    spent.rest("all")
    for mechanism in (smooth.cauchy, ladder.ladder):
        with pytest.raises(BudgetError, match="Nothing is left"):
            mechanism(rungs, spent)


def test_margins_fall_short_with_the_stated_probability() -> None:
    for scale in (Fraction(1, 2), Fraction(3), Fraction(50)):
        for failing in (Fraction(1, 10), Fraction(1, 10**9)):
            t, a = margin_below(scale, failing), exp(-1 / float(scale))
            assert a ** (t + 1) / (1 + a) <= float(failing)
            assert t == 0 or a**t / (1 + a) > float(failing)
    assert margin_below(Fraction(0), Fraction(1, 2)) == 0


def test_noisy_local_noise_is_centred_on_the_value() -> None:
    """The median of 400 draws lies near the truth; a fair coin of 400 is off by 100 with probability
    1e-23."""
    source = Randomness.seeded(2)
    found = [
        noisy_local(sealed(Local(1000, 4, 3)), lambda a: 4 * a, Budget(3, "1/100", randomness=source))
        for _ in range(400)
    ]
    assert 100 < sum(value > 1000 for value in found) < 300
