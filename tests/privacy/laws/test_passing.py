"""Cells that pass a threshold under noise: the shortcut for empty cells has the law of noise on every cell.

Statistical tests are seeded, and were chosen to fail by chance with a probability of less than 1e-6.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, exp, sqrt

import numpy as np
import pytest
from scipy import stats

from penstock.privacy.laws.passing import FEW_CELLS, Passed, Passing, SparseCounts, log_tail
from penstock.privacy.randomness.binomial import binomial
from penstock.privacy.randomness.generator import Randomness

FAR = 5.0  # standard deviations: a normal variable is further away with probability 5.7e-7


def table(counts: dict[int, int], size: int) -> SparseCounts:
    cells = np.array(sorted(counts), dtype=np.int64)
    return SparseCounts(cells, np.array([counts[cell] for cell in sorted(counts)], dtype=np.int64), size)


def tail(rate: float, least: int) -> float:
    a = exp(-rate)
    return a**least / (1 + a) if least >= 1 else 1 - a ** (1 - least) / (1 + a)


@pytest.mark.parametrize("least", [-30, -1, 0, 1, 2, 5, 40])
@pytest.mark.parametrize("rate", [Fraction(3, 10), Fraction(2), Fraction(1, 50)])
def test_the_tail_of_discrete_laplace_noise(rate: Fraction, least: int) -> None:
    assert exp(log_tail(rate, least)) == pytest.approx(tail(float(rate), least), rel=1e-12)


def test_the_tail_of_the_worked_example() -> None:
    assert exp(log_tail(Fraction(3, 10), 5)) == pytest.approx(0.128175, abs=5e-7)


@pytest.mark.parametrize("told", [False, True])
def test_probabilities_add_up_to_one(told: bool) -> None:
    """All outputs of a table of three cells; noisy counts up to 60 above the threshold are all but 1e-12."""
    law = Passing(table({1: 4}, 3), Fraction(1), 2, told)
    values = range(2, 62) if told else [None]
    total = 0.0
    for many in range(4):
        for cells in combinations(range(3), many):
            place = np.array(cells, dtype=np.int64)
            if not told:
                total += exp(law.log_probability(Passed(place, None)))
                continue
            single = [sum(exp(law.log_probability(_only(cell, value))) for value in values) for cell in cells]
            nothing = exp(
                law.log_probability(Passed(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
            )
            total += nothing * np.prod([each / nothing for each in single])
    assert total == pytest.approx(1, abs=1e-9)


def _only(cell: int, value: int | None) -> Passed:
    return Passed(np.array([cell]), np.array([value]))


def test_the_number_of_empty_cells_that_pass_has_the_moments_of_the_worked_example() -> None:
    """Ten members, nothing occurs, p = 0.105528: mean 107.95 and variance 96.56 over 4,000 draws."""
    a, runs = 0.105528, 4000
    source = Randomness.seeded(5)

    def bracket(bits: int) -> tuple[int, int]:
        low = (1 << bits) * 105_528 // 1_000_000
        return low, low + 1

    drawn = np.array([binomial(1023, bracket, source) for _ in range(runs)])
    mean, variance = 1023 * a, 1023 * a * (1 - a)
    assert (round(mean, 2), round(variance, 2)) == (107.96, 96.56)
    assert abs(drawn.mean() - mean) < FAR * sqrt(variance / runs)
    assert abs(drawn.var() - variance) < FAR * variance * sqrt(2 / runs)


@pytest.mark.parametrize("trials", [1, 2, 7])
def test_small_binomial_numbers_have_their_probabilities(trials: int) -> None:
    source, runs = Randomness.seeded(trials), 20_000
    third = [
        binomial(trials, lambda bits: ((1 << bits) // 3, (1 << bits) // 3 + 1), source) for _ in range(runs)
    ]
    expected = [comb(trials, k) * 2 ** (trials - k) / 3**trials for k in range(trials + 1)]
    found = np.bincount(third, minlength=trials + 1)
    assert stats.chisquare(found, np.array(expected) * runs).pvalue > 1e-6


def test_no_coin_shows_no_heads() -> None:
    assert binomial(0, lambda bits: (0, 1), Randomness.seeded(1)) == 0
    with pytest.raises(ValueError, match="at least 0 coins"):
        binomial(-1, lambda bits: (0, 1), Randomness.seeded(1))


@pytest.mark.parametrize("told", [False, True])
def test_the_shortcut_has_the_law_of_noise_on_every_cell(told: bool) -> None:
    """How many pass, of 40 cells of which three occur: 4,000 draws against the cell-by-cell law."""
    counts, size, rate, least, runs = {3: 9, 17: 2, 39: 30}, 40, Fraction(1, 2), 6, 4000
    assert size > FEW_CELLS
    law, source = Passing(table(counts, size), rate, least, told), Randomness.seeded(11)
    drawn = [law.draw(source) for _ in range(runs)]
    passes = np.zeros(size)
    for one in drawn:
        assert (np.diff(one.cells) > 0).all()
        passes[one.cells] += 1
        if told:
            assert one.counts is not None
            assert (one.counts >= least).all()
    for cell in range(size):
        p = tail(0.5, least - counts.get(cell, 0))
        assert abs(passes[cell] - runs * p) < 5.6 * sqrt(runs * p * (1 - p)) + 1, (
            cell
        )  # 40 cells: 1e-6 in all
    together = np.array([len(one.cells) for one in drawn])
    chances = [tail(0.5, least - counts.get(cell, 0)) for cell in range(size)]
    assert abs(together.mean() - sum(chances)) < FAR * sqrt(sum(p * (1 - p) for p in chances) / runs)


def test_what_empty_cells_have_above_the_threshold_has_no_memory() -> None:
    rate, least = Fraction(1, 3), 7
    law, source = Passing(table({}, 1000), rate, least, True), Randomness.seeded(3)
    above = np.concatenate([np.asarray(law.draw(source).counts, dtype=np.int64) for _ in range(200)]) - least
    a = exp(-1 / 3)
    mean, deviation = a / (1 - a), sqrt(a) / (1 - a)
    assert len(above) > 5000
    assert abs(above.mean() - mean) < FAR * deviation / sqrt(len(above))


def test_empty_cells_that_pass_are_chosen_uniformly() -> None:
    """Among the 990 cells that do not occur: a chi-square over 33 groups of 30."""
    counts = dict.fromkeys(range(0, 1000, 100), 1)
    law, source = Passing(table(counts, 1000), Fraction(1), 4, False), Randomness.seeded(8)
    passes = np.zeros(1000)
    for _ in range(1500):
        passes[law.draw(source).cells] += 1
    absent = np.delete(passes, list(counts))
    assert stats.chisquare(absent.reshape(33, 30).sum(axis=1)).pvalue > 1e-6


def test_a_threshold_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        Passing(table({}, 3), Fraction(1), 0, True)


def test_counts_far_beyond_64_bits_are_drawn() -> None:
    law = Passing(table({0: 5}, 50), Fraction(1, 10**30), 10**31, True)
    found = law.draw(Randomness.seeded(1))
    assert found.counts is not None
    assert all(int(count) >= 10**31 for count in found.counts)
