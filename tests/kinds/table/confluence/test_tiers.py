"""What a run pays with: parts that add up, prices that are the best, and a release that spends a delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from tests.kinds.table.tables import mixed_rows, schema_of, table_of

import penstock
from penstock.kinds.table.confluence.knobs import KNOBS, Knobs
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.confluence.packing import shares
from penstock.kinds.table.confluence.tiers import PureTier, RhoTier, Tier
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Concentrated
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sensitivity import Sensitivity

ONE = Sensitivity.of(1)


def both() -> tuple[Tier, Tier]:
    return PureTier(Budget(1)), RhoTier(Budget(1, "1e-6").concentrated("release"))


def test_without_a_delta_there_is_no_rho() -> None:
    pure = PureTier(Budget(1))
    assert pure.least_noisy([4.0] * 1000, ONE) is pure


@pytest.mark.parametrize("epsilon", ["0.01", "1", "10"])
@pytest.mark.parametrize("tables", [1, 5, 12, 14, 40, 1000])
def test_a_delta_never_adds_noise(epsilon: str, tables: int) -> None:
    """Few tables are cheaper in epsilon, many in rho: whichever is taken has the less noise of both."""
    areas = [4.0] * tables
    without = PureTier(Budget(epsilon)).total(tables * 4**0.5, ONE)
    taken = PureTier(Budget(epsilon, "1e-6")).least_noisy(areas, ONE)
    weight = tables * 4**taken.power
    assert taken.total(weight, ONE) <= without
    if tables in (1, 5, 1000):
        assert isinstance(taken, RhoTier) == (tables == 1000)


def test_what_buys_no_rho_is_spent_as_epsilon() -> None:
    little = PureTier(Budget("1e-12", "1e-300"))
    assert little.least_noisy([4.0] * 1000, ONE) is little


@pytest.mark.parametrize("which", [0, 1])
def test_parts_are_shares_of_the_start_and_the_rest_is_what_they_leave(which: int) -> None:
    mine = both()[which]
    first, second = mine.part("a", Fraction(1, 10)), mine.part("b", Fraction(1, 2))
    rest = mine.rest("c")
    amounts = [part.left if which else part.left[0] for part in (first, second, rest)]
    assert [amount / sum(amounts) for amount in amounts] == [Fraction(1, 10), Fraction(1, 2), Fraction(2, 5)]
    assert mine.left == 0


@pytest.mark.parametrize("which", [0, 1])
def test_no_other_division_among_tables_has_less_noise(which: int) -> None:
    """The sum of areas times noise, over a grid of divisions of the budget among three tables."""
    areas = np.array([4.0, 30.0, 200.0])
    mine = both()[which]
    weights = areas**mine.power
    best = sum(
        area * mine.noise(ONE, share) for area, share in zip(areas, shares(weights.tolist()), strict=True)
    )
    assert best == pytest.approx(mine.total(float(weights.sum()), ONE), rel=1e-4)
    for a, b in product(np.linspace(0.02, 0.9, 23), repeat=2):
        if a + b < 0.99:
            other = sum(
                area * mine.noise(ONE, share) for area, share in zip(areas, (a, b, 1 - a - b), strict=True)
            )
            assert other >= best * (1 - 1e-9)


def test_choices_are_paid_by_the_difference_that_they_must_tell_apart() -> None:
    """Epsilon pays in proportion to that difference, rho to its square: 8 rho is the square of a range."""
    pure, rho = both()
    share = Fraction(1, 10)
    assert pure.most(ONE, share, bearable=500.0) == pytest.approx(500 * 0.1 / float(ONE.spread))
    assert rho.most(ONE, share, bearable=500.0) == pytest.approx(4 * rho.most(ONE, share, bearable=250.0))
    assert pure.most(ONE, share, bearable=500.0) == pytest.approx(2 * pure.most(ONE, share, bearable=250.0))
    for tier in (pure, rho):  # a share that pays for ten choices pays for one of each tenth
        ten = tier.resolution(ONE, share / 10)
        assert tier.most(ONE, share, bearable=ten) == pytest.approx(10)


MANY = [6, 5, 4, 7, 3] * 4


def release(delta: str, sizes: Sequence[int] = MANY, knobs: Knobs = KNOBS) -> NetworkRelease:
    table = table_of(mixed_rows(20000, sizes), schema_of(sizes))
    return fit_with(knobs, table, Budget(1, delta, randomness=Randomness.seeded(5)))


def test_a_release_with_a_delta_divides_one_rho_exactly() -> None:
    """Three numbers are paid in epsilon; the rest of it, and all of delta, buy the rho of everything else."""
    made = release("1e-9")
    assert (made.receipt.epsilon, made.receipt.delta) == (1, Fraction(1, 10**9))
    *numbers, group = made.receipt.paid.parts
    assert isinstance(group, Concentrated)
    assert [part.label for part in numbers] == [
        "number of records",
        "dependence",
        "dependence of all pairs",
    ]
    assert (group.epsilon, group.delta) == (Fraction(24, 25), Fraction(1, 10**9))  # 1, 2, 1 hundredths
    assert sum(portion.rho for portion in group.parts) == group.rho
    kinds = {portion.mechanism for portion in group.parts}
    assert kinds <= {"discrete Gaussian", "exponential"}
    assert "approximate" in made.receipt.guarantee


def test_a_release_of_few_columns_spends_epsilon_and_is_charged_the_delta_all_the_same() -> None:
    made = release("1e-9", [6, 5, 4])
    assert (made.receipt.epsilon, made.receipt.delta) == (1, Fraction(1, 10**9))
    assert not any("Gaussian" in charge.mechanism for _, charge in made.receipt.charges())
    assert [one.deviation for one in made.measured] == [
        one.deviation for one in release("0", [6, 5, 4]).measured
    ]


def test_without_a_delta_nothing_changes_about_a_pure_release() -> None:
    made = release("0")
    assert made.receipt.delta == 0
    assert not any("Gaussian" in charge.mechanism for _, charge in made.receipt.charges())


def links(delta: str, knobs: Knobs = KNOBS, seed: int = 5) -> NetworkRelease:
    """Of a chain of fourteen columns, each of which repeats the one before it in half of the records."""
    rng = np.random.default_rng(1)
    columns = [rng.integers(6, size=20000)]
    for _ in range(13):
        columns.append(np.where(rng.random(20000) < 1 / 2, columns[-1], rng.integers(6, size=20000)))
    table = table_of(np.stack(columns, axis=1), schema_of([6] * 14))
    return fit_with(knobs, table, Budget(1, delta, randomness=Randomness.seeded(seed)))


def test_under_rho_a_chain_is_counted_by_its_links_and_not_by_what_they_pass_on() -> None:
    """Columns at a distance of two have half the gap of neighbours, and are worth counting for that alone."""
    pairs = [
        sum(links("1e-6", knobs, seed).parameters["pairs"] for seed in range(3))
        for knobs in (replace(KNOBS, plane=1e9), replace(KNOBS, sparse=0.0, plane=1e9))
    ]
    assert pairs[0] < pairs[1]
    after = links("1e-6", replace(KNOBS, plane=1e9))
    group = after.receipt.paid.parts[-1]
    assert isinstance(group, Concentrated)
    labels = [portion.label for portion in group.parts]
    assert sum(label.startswith("second choice") for label in labels) >= 1
    assert sum(portion.rho for portion in group.parts) == group.rho
    chosen = {frozenset(part.variable for part in view.parts) for view in after.measured}
    assert all(any({one, one + 1} <= view for view in chosen) for one in range(13))


def test_under_epsilon_nothing_is_counted_before_all_is_chosen() -> None:
    labels = [charge.label for _, charge in links("0").receipt.charges()]
    assert not any(label.startswith("second choice") for label in labels)


def test_views_chosen_for_rho_are_chosen_by_the_exponential_mechanism() -> None:
    made = links("1e-6", replace(KNOBS, plane=1e9))
    group = made.receipt.paid.parts[-1]
    assert isinstance(group, Concentrated)
    choices = [portion for portion in group.parts if portion.label.startswith("choice")]
    assert choices
    assert {portion.mechanism for portion in choices} == {"exponential"}


def test_error_bars_of_gaussian_counts_cover_the_truth() -> None:
    """Each bar covers with 95 % (deviations are below 3, so a little more); 200 bars, at least 170 of them: a
    binomial(200, 0.95) is below with probability 2e-7.
    """
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 4, size=(400, 26))  # smaller columns would be counted together, for epsilon
    table = table_of(rows, schema_of([4] * 26))
    truth, covered = int((rows[:, 0] == 1).sum()), 0
    for seed in range(200):
        made = Confluence().fit(table, Budget(1, "1e-6", randomness=Randomness.seeded(seed)))
        assert all(one.gaussian for one in made.measured)
        answer = made.query("a = 1")
        assert answer.error is not None
        covered += abs(answer.value - truth) <= answer.error
    assert covered >= 170


def test_a_saved_release_still_knows_its_noise(tmp_path: object) -> None:
    made = release("1e-9")
    folder = made.save(f"{tmp_path}/release")
    again = penstock.load(folder)
    assert [one.gaussian for one in again.measured] == [True] * len(made.measured)
    first = made.query("a = 1")
    assert again.query("a = 1") == first


def test_gaussian_noise_of_many_tables_is_smaller_than_laplace_noise_of_as_many() -> None:
    """The reason for a delta: a hundred columns of four codes, a budget of 1."""
    pure, concentrated = both()
    noises = [each.total(100 * 4**each.power, ONE) / (100 * 4) for each in (pure, concentrated)]
    assert noises[0] == pytest.approx(100)
    assert noises[1] == pytest.approx(0.8 * sqrt(100 / (2 * 0.02435)), rel=0.01)
