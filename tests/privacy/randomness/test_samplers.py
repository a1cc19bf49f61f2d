"""Samplers: exactly the stated laws.

Two kinds of proof. Scripted bits drive a sampler to both sides of each of its cut points, at 64 bits and
beyond, which pins every probability down exactly; cut points are recomputed here by another route (decimal
arithmetic). Chi-square tests then check whole distributions, each failing with probability 1e-6 when right.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.privacy.goodness import alike, fits, window

from penstock.privacy.randomness import inversion, samplers
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.inversion import Inversion, digit, exp_bracket, exp_floor, leading

DIGITS = Context(prec=150, Emin=-(10**9), Emax=10**9)
MANY = 120_000


class Scripted(Randomness):
    """Hands out given bytes, then zeros; fails loudly when asked for more than a test wrote down."""

    def __init__(self, script: bytes, *, then_zeros: bool = False) -> None:
        super().__init__(b"scripted")
        self._script = bytearray(script)
        self._then_zeros = then_zeros

    def take(self, count: int) -> bytearray:
        taken, self._script = self._script[:count], self._script[count:]
        if len(taken) < count:
            assert self._then_zeros, "more bits were asked for than were scripted"
            taken += bytearray(count - len(taken))
        return taken


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


def decimal_exp(x: Fraction) -> Decimal:
    return DIGITS.exp(DIGITS.divide(Decimal(-x.numerator), Decimal(x.denominator)))


def decimal_floor(value: Decimal, bits: int) -> int:
    return int(DIGITS.multiply(Decimal(2**bits), value))


# --- the exponential function in integers ---

fractions = st.builds(Fraction, st.integers(1, 10**20), st.integers(1, 10**20)).filter(lambda x: x < 300)


@given(fractions, st.sampled_from([1, 8, 64, 128, 200]))
@settings(max_examples=300, deadline=None)
def test_exp_floor_is_the_exact_floor(x: Fraction, bits: int) -> None:
    assert exp_floor(x, bits) == decimal_floor(decimal_exp(x), bits)


@given(fractions, st.sampled_from([8, 64, 128]))
@settings(max_examples=200, deadline=None)
def test_exp_bracket_encloses_and_is_narrow(x: Fraction, bits: int) -> None:
    low, high = exp_bracket(x, bits)
    assert low <= decimal_floor(decimal_exp(x), bits) < high <= low + 3


def test_exp_floor_at_the_ends() -> None:
    assert exp_floor(Fraction(0), 64) == 1 << 64
    assert exp_floor(Fraction(10**30), 64) == 0
    assert exp_floor(Fraction(1, 10**40), 64) == (1 << 64) - 1
    with pytest.raises(ValueError, match="x >= 0"):
        exp_floor(Fraction(-1), 64)


# --- inversion: every cut point, from both sides ---


def survival_geometric(x: Fraction, _: int, k: int) -> Decimal:
    return decimal_exp(x * (k + 1))


def survival_digit(x: Fraction, size: int, k: int) -> Decimal:
    tail = decimal_exp(x * size)
    return DIGITS.divide(DIGITS.subtract(decimal_exp(x * (k + 1)), tail), DIGITS.subtract(Decimal(1), tail))


CASES = [
    (leading, Fraction(1), 21, survival_geometric, 21),
    (leading, Fraction(3, 7), 40, survival_geometric, 40),
    (leading, Fraction(50), 2, survival_geometric, 2),
    (leading, Fraction(1, 256), 5121, survival_geometric, 5121),
    (digit, Fraction(1, 10), 16, survival_digit, 15),
    (digit, Fraction(1, 10**6), 4096, survival_digit, 4095),
    (digit, Fraction(1, 10**25), 16, survival_digit, 15),
]


@pytest.mark.parametrize(("make", "x", "size", "survival", "cuts"), CASES)
def test_every_cut_point_decides_exactly(
    make: Callable[[Fraction, int], Inversion],
    x: Fraction,
    size: int,
    survival: Callable[[Fraction, int, int], Decimal],
    cuts: int,
) -> None:
    """u just below cut k gives a draw above k, u just above it a draw of at most k, at 64 and at 128 bits."""
    table = make(x, size)
    tested = range(cuts) if cuts < 100 else [0, 1, 2, 17, cuts // 2, cuts - 2, cuts - 1]
    for k in tested:
        cut = survival(x, size, k)
        at64, at128 = decimal_floor(cut, 64), decimal_floor(cut, 128)
        assert at128 >> 64 == at64
        if at64:
            assert table.draw(Scripted(words(at64 - 1)), 1)[0] > k
            assert table.draw(Scripted(words(at64 + 1)), 1)[0] <= k
        rest = at128 & (2**64 - 1)
        if 0 < rest < 2**64 - 1:
            # The first word equals the cut's: the second one decides.
            assert table.draw(Scripted(words(at64, rest - 1), then_zeros=True), 1)[0] > k
            assert table.draw(Scripted(words(at64, rest + 1), then_zeros=True), 1)[0] <= k


def test_the_look_up_table_agrees_with_the_plain_comparison() -> None:
    """The 16-bit table, on the first and last word of every one of its cells."""
    table = leading(Fraction(1, 9), 181)
    table.draw(Randomness.seeded(1), inversion.FEW)  # builds it
    starts = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    for ends in (starts, starts | np.uint64((1 << 48) - 1)):
        plain = [int(value) for value in table._settle(ends, Randomness.seeded(2))]
        first = table._first
        assert first is not None
        assert all(looked in (-1, value) for looked, value in zip(first.tolist(), plain, strict=True))
    assert 0 < int((first == -1).sum()) <= 181


def test_settled_after_looking_up_uses_the_first_sixteen_bits() -> None:
    """A draw that shares its 16 bits with a cut is decided by these 16 bits followed by 48 new ones."""
    table = leading(Fraction(1, 9), 181)
    table.draw(Randomness.seeded(1), inversion.FEW)
    cut = exp_floor(Fraction(1, 9), 64)  # of k = 0
    start, rest = cut >> 48, cut & ((1 << 48) - 1)
    count = inversion.FEW
    for offset, expected in ((-1, True), (1, False)):
        script = start.to_bytes(2, "little") * count + words(*[(rest + offset) << 16 | 0xABCD] * count)
        assert np.all((table.draw(Scripted(script), count) > 0) == expected)


def test_a_seeded_draw_does_not_depend_on_what_ran_before() -> None:
    rate = Fraction(1, 1234)
    for cached in (digit, leading):
        cached.cache_clear()
    fresh = (
        samplers.geometric(rate, 50, Randomness.seeded(5)),
        samplers.geometric(rate, MANY, Randomness.seeded(5)),
    )
    again = (
        samplers.geometric(rate, 50, Randomness.seeded(5)),
        samplers.geometric(rate, MANY, Randomness.seeded(5)),
    )
    assert np.array_equal(fresh[0], again[0])
    assert np.array_equal(fresh[1], again[1])


def test_a_probability_of_one_or_zero_needs_no_luck() -> None:
    source = Randomness.seeded(1)
    assert samplers.bernoulli(Fraction(1), 5000, source).all()
    assert not samplers.bernoulli(Fraction(0), 5000, source).any()


# --- coins ---


@pytest.mark.parametrize(
    "p", [Fraction(1, 2), Fraction(1, 3), Fraction(999, 1000), Fraction(1, 10**30), Fraction(2**70, 3**50)]
)
def test_bernoulli_of_a_rational(p: Fraction) -> None:
    heads = samplers.bernoulli(p, MANY, Randomness.seeded(21)).sum()
    assert fits([heads, MANY - heads], [float(p), 1 - float(p)])
    cut = (p.numerator << 64) // p.denominator
    assert not samplers.bernoulli(p, 1, Scripted(words(min(cut + 1, 2**64 - 1))))[0]
    if cut:
        assert samplers.bernoulli(p, 1, Scripted(words(cut - 1)))[0]


@pytest.mark.parametrize(
    "x", [Fraction(1, 1000), Fraction(1), Fraction(7, 2), Fraction(50), Fraction(3**50, 2**78)]
)
def test_bernoulli_of_exp(x: Fraction) -> None:
    heads = samplers.bernoulli_exp_each(np.ones(MANY, np.int64), x, Randomness.seeded(22)).sum()
    assert fits([heads, MANY - heads], [exp(-x), 1 - exp(-x)])


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 5000), Fraction(10**20 + 1, 10**24)])
@pytest.mark.parametrize("count", [900, MANY])
def test_bernoulli_of_exp_for_each_multiple(rate: Fraction, count: int) -> None:
    multiples = np.arange(count) % 6 * int(max(1, 1 / (2 * rate)))
    heads = samplers.bernoulli_exp_each(multiples, rate, Randomness.seeded(23))
    for k in np.unique(multiples):
        group = heads[multiples == k]
        p = exp(-rate * int(k))
        assert fits([group.sum(), group.size - group.sum()], [p, 1 - p])


def test_coins_compare_unsigned_multiples_beyond_the_signed_range_rightly() -> None:
    far = np.array([0, 2**63 + 5, 2**64 - 1], dtype=np.uint64)
    assert samplers.bernoulli_exp_each(far, Fraction(1, 2), Randomness.seeded(3)).tolist() == [
        True,
        False,
        False,
    ]
    assert samplers.bernoulli_exp_each(far, Fraction(0), Randomness.seeded(3)).all()


# --- uniform integers, orders, weights ---


@pytest.mark.parametrize("bound", [3, 5, 6, 7, 1000, 65537, 2**31 + 1, 2**32 - 1, 2**32])
def test_uniform_keeps_as_many_words_for_every_value(bound: int) -> None:
    """Words w with w * bound in [v 2**32, (v+1) 2**32) give v; where there is one more, the first is dropped.

    So every value keeps floor(2**32 / bound) words, which is what makes the draw exactly uniform.
    """

    def outcome(word: int) -> int | None:
        fallback = (1 << 32) - 1  # a word that is always kept and gives the largest value
        source = Scripted(word.to_bytes(4, "little") + fallback.to_bytes(4, "little"))
        value = int(samplers.uniform(bound, 1, source)[0])
        return None if len(source._script) == 0 else value

    for v in {0, 1, 2, bound // 2, bound - 2, bound - 1}:
        first, after = -(-(v << 32) // bound), -(-((v + 1) << 32) // bound)
        kept = after - first - (outcome(first) is None)
        assert kept == 2**32 // bound
        assert outcome(after - 1) in (v, None)
        if after - first > 1:
            assert outcome(first + 1) == v


@pytest.mark.parametrize("bound", [1, 2, 10, 1000, 2**33 + 7, 2**62, 2**63 + 11, 10**30])
def test_uniform_fills_its_range_evenly(bound: int) -> None:
    draws = samplers.uniform(bound, 5000, Randomness.seeded(31))
    assert all(0 <= int(value) < bound for value in draws)
    cells = 10 if bound >= 10 else bound
    counts = np.bincount([int(value) * cells // bound for value in draws], minlength=cells)
    assert fits(counts, np.full(cells, 1 / cells))


def test_uniform_refuses_an_empty_range() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        samplers.uniform(0, 3, Randomness.seeded(1))


def test_all_orders_are_equally_likely() -> None:
    source = Randomness.seeded(32)
    orders = [tuple(samplers.permutation(4, source).tolist()) for _ in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    assert len(counts) == 24
    assert fits(counts, np.full(24, 1 / 24))


def test_equal_keys_are_drawn_again_for_an_order() -> None:
    source = Scripted(words(7, 7, 1) + words(3, 1, 2))
    assert samplers.permutation(3, source).tolist() == [1, 2, 0]


@pytest.mark.parametrize("factor", [1, 2**61, 10**30])
def test_integer_weights_are_proportions(factor: int) -> None:
    weights = np.array([value * factor for value in (5, 0, 1, 4)], dtype=object if factor > 1 else np.int64)
    alike, source = np.zeros(4, dtype=np.uint64), Randomness.seeded(33)
    drawn = [samplers.tilted(alike, Fraction(0), weights, source) for _ in range(4000)]
    assert fits(np.bincount(drawn, minlength=4), [0.5, 0, 0.1, 0.4])


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1]])
def test_weights_without_a_meaning_are_refused(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="weights"):
        samplers.tilted(
            np.zeros(len(weights), dtype=np.uint64), Fraction(0), np.array(weights), Randomness.seeded(1)
        )


# --- geometric, discrete Laplace, discrete Gaussian ---


def laplace_law(scale: float, low: int, high: int) -> NDArray[np.float64]:
    a = np.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(low, high + 1))


def gaussian_law(sigma: float, low: int, high: int) -> NDArray[np.float64]:
    reach = int(12 * sigma) + 10
    total = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma**2)).sum()
    return np.exp(-(np.arange(low, high + 1.0) ** 2) / (2 * sigma**2)) / total


@pytest.mark.parametrize("count", [2000, MANY])
@pytest.mark.parametrize(
    "rate", [Fraction(1), Fraction(1, 7), Fraction(5, 2), Fraction(1, 300), Fraction(10**25, 10**26 + 1)]
)
def test_geometric_law(rate: Fraction, count: int) -> None:
    """Few draws use small digits, many draws large ones; both have the law."""
    draws = samplers.geometric(rate, count, Randomness.seeded(41))
    top = int(5 / rate) + 2
    law = np.exp(-float(rate) * np.arange(top + 1)) * -np.expm1(-float(rate))
    assert fits(window(draws, 0, top), law)


def test_geometric_digits_multiply_back_to_the_law() -> None:
    """P(G = g) as leading digit times digits equals (1 - a) a**g, to 100 decimals."""
    rate, base = Fraction(1, 10**5), 16
    rates = [rate * base**place for place in range(5)]
    for g in (0, 1, 17, 70_000, 345_678):
        product, left = Decimal(1), g
        for place in range(4):
            d, left = left % base, left // base
            above = survival_digit(rates[place], base, d - 1) if d else Decimal(1)
            beyond = survival_digit(rates[place], base, d) if d < base - 1 else Decimal(0)
            product = DIGITS.multiply(product, DIGITS.subtract(above, beyond))
        ends = decimal_exp(rates[4] * left), decimal_exp(rates[4] * (left + 1))
        product = DIGITS.multiply(product, DIGITS.subtract(*ends))
        direct = DIGITS.subtract(decimal_exp(rate * g), decimal_exp(rate * (g + 1)))
        assert abs(DIGITS.subtract(DIGITS.divide(product, direct), Decimal(1))) < Decimal(10) ** -100


def test_who_falls_off_the_table_goes_on_from_its_end() -> None:
    # A tiny word is below every cut: beyond the cap of 21. The next one gives 0, so the draw is exactly 21.
    assert samplers.geometric(Fraction(1), 1, Scripted(words(1) + words(2**64 - 1))).tolist() == [21]


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(17, 5), Fraction(40)])
@pytest.mark.parametrize("count", [2000, MANY])
def test_discrete_laplace_law(scale: Fraction, count: int) -> None:
    draws = samplers.discrete_laplace(scale, count, Randomness.seeded(42))
    reach = int(6 * scale) + 1
    assert fits(window(draws, -reach, reach), laplace_law(float(scale), -reach, reach))


def test_a_halved_scale_is_noticed() -> None:
    """The mutant: the very same check refuses noise of half the scale, and of a scale 3 % too small."""
    for wrong in (Fraction(2), Fraction(97, 25)):
        draws = samplers.discrete_laplace(wrong, MANY, Randomness.seeded(42))
        assert not fits(window(draws, -24, 24), laplace_law(4, -24, 24))


@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(20), Fraction(1000), Fraction(10**6), Fraction(10**12 + 1, 3)]
)
def test_discrete_laplace_moments(scale: Fraction) -> None:
    """Variance 2a/(1-a)**2 and E|Z| = 2a/(1-a**2) with a = exp(-1/scale), each within 5.5 standard errors.

    |Z| has at most 4.5 times the standard deviation of an exponential in its tails at this size, so a normal
    bound of 5.5 (4e-8 two-sided) leaves ample room below a failure probability of 1e-6.
    """
    z = samplers.discrete_laplace(scale, MANY, Randomness.seeded(43)).astype(np.float64)
    a, one_less = exp(-1 / scale), -np.expm1(-1 / float(scale))
    for values, mean in ((z**2, 2 * a / one_less**2), (np.abs(z), 2 * a / (one_less * (1 + a))), (z, 0.0)):
        assert abs(values.mean() - mean) < 5.5 * values.std() / np.sqrt(MANY)


def test_tiny_and_huge_scales_work() -> None:
    assert not samplers.discrete_laplace(Fraction(1, 50), MANY, Randomness.seeded(44)).any()  # exp(-50) each
    huge = samplers.discrete_laplace(Fraction(10**40), 50, Randomness.seeded(44))
    assert huge.dtype == object
    assert 10**39 < np.median(np.abs(huge)) < 10**41
    assert samplers.discrete_laplace(Fraction(10**6), 0, Randomness.seeded(44)).size == 0


@pytest.mark.parametrize(
    "sigma_squared",
    [Fraction(1, 5), Fraction(1), Fraction(7, 3), Fraction(100), Fraction(10**20 + 1, 10**17)],
)
@pytest.mark.parametrize("count", [2000, 60_000])
def test_discrete_gaussian_law(sigma_squared: Fraction, count: int) -> None:
    draws = samplers.discrete_gaussian(sigma_squared, count, Randomness.seeded(45))
    sigma = float(sigma_squared) ** 0.5
    reach = int(4 * sigma) + 1
    assert fits(window(draws, -reach, reach), gaussian_law(sigma, -reach, reach))
    assert not fits(window(draws, -reach, reach), gaussian_law(sigma * 1.2 + 0.02, -reach, reach))


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 10**8), Fraction(10**12), Fraction(10**30)])
def test_discrete_gaussian_far_from_one(sigma_squared: Fraction) -> None:
    """The mean square is sigma squared, or 0 for a tiny one (chi-square of 3000 degrees, err below 1e-6)."""
    draws = samplers.discrete_gaussian(sigma_squared, 3000, Randomness.seeded(46)).astype(np.float64)
    ratio = (draws**2).mean() / float(sigma_squared)
    assert ratio == 0 if sigma_squared < 1 else 0.87 < ratio < 1.14


@pytest.mark.parametrize(
    "sampler", [samplers.geometric, samplers.discrete_laplace, samplers.discrete_gaussian]
)
def test_a_scale_of_zero_is_refused(sampler: Callable[[Fraction, int, Randomness], object]) -> None:
    with pytest.raises(ValueError, match="greater than 0"):
        sampler(Fraction(0), 1, Randomness.seeded(1))


# --- against OpenDP ---


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(500)])
def test_discrete_laplace_is_what_opendp_draws(scale: Fraction) -> None:
    """Two-sample chi-square; OpenDP cannot be seeded: fails with probability 1e-6 when all is right."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    count = 15_000
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    theirs = np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * count))
    assert alike(samplers.discrete_laplace(scale, count, Randomness.seeded(51)), theirs)
    assert not alike(samplers.discrete_laplace(scale / 2, count, Randomness.seeded(51)), theirs)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3), Fraction(500)])
def test_discrete_gaussian_is_what_opendp_draws(sigma: Fraction) -> None:
    """Two-sample chi-square; OpenDP cannot be seeded: fails with probability 1e-6 when all is right."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    count = 15_000
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=int)
    theirs = np.array(dp.m.make_gaussian(*space, scale=float(sigma))([0] * count))
    assert alike(samplers.discrete_gaussian(sigma**2, count, Randomness.seeded(52)), theirs)
    assert not alike(samplers.discrete_gaussian(sigma**2 / 4, count, Randomness.seeded(52)), theirs)


# --- tilted: the exponential mechanism's draw ---


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), fractions, st.sampled_from([30, 31, 90]))
@settings(max_examples=150, deadline=None)
def test_cells_are_a_close_upper_bound(gaps: list[int], rate: Fraction, bits: int) -> None:
    cells = samplers.tilted_cells(np.array(gaps, dtype=np.uint64), rate, bits)
    for gap, bound in zip(gaps, cells.tolist(), strict=True):
        x = rate * gap
        true = exp_floor(x, bits)
        assert true <= bound - (x > 0)
        if rate > Fraction(1, 2**50):
            assert bound <= true + 40


def test_cells_are_the_same_for_few_and_for_many() -> None:
    gaps = np.arange(inversion.FEW, dtype=np.uint64)
    rate = Fraction(1, 500)
    many, few = samplers.tilted_cells(gaps, rate, 30), samplers.tilted_cells(gaps[:1000], rate, 30)
    assert np.all(np.abs(many[:1000] - few) <= 4)


def test_a_point_is_compared_with_exp_exactly() -> None:
    x = Fraction(1, 3)
    at30, at94 = exp_floor(x, 30), exp_floor(x, 94)
    rest = at94 & (2**64 - 1)
    assert samplers.under_exp(at30 - 1, 30, x, Scripted(b""))
    assert not samplers.under_exp(at30 + 1, 30, x, Scripted(b""))
    assert samplers.under_exp(at30, 30, x, Scripted(words(rest - 1)))
    assert not samplers.under_exp(at30, 30, x, Scripted(words(rest + 1)))


@pytest.mark.parametrize(
    ("weights", "rate"),
    [
        (None, Fraction(1, 2)),
        ([3, 0, 10, 1], Fraction(1, 3)),
        ([1, 10**12, 10**20, 10**24], Fraction(20)),
    ],
)
def test_tilted_law(weights: list[int] | None, rate: Fraction) -> None:
    gaps = np.array([0, 1, 2, 3], dtype=np.uint64)
    each = None if weights is None else np.array(weights, dtype=object)
    source = Randomness.seeded(61)
    drawn = [samplers.tilted(gaps, rate, each, source) for _ in range(6000)]
    law = np.exp(-float(rate) * np.arange(4)) * (1 if weights is None else np.array(weights, dtype=float))
    assert fits(np.bincount(drawn, minlength=4), law / law.sum())


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 1000)])
def test_the_tail_of_a_geometric_variable_has_no_end(rate: Fraction) -> None:
    """Noise that ends with its table has a largest value, and an output beyond it gives a neighbour away.

    That happens to one draw in half a billion, which no statistical test sees; so the bits are made up.
    """

    class Unlikely(Randomness):
        zeros = 0

        def take(self, count: int) -> bytearray:
            lucky, self.zeros = min(count, self.zeros), max(0, self.zeros - count)
            return bytearray(lucky) + bytearray(b"\xff" * (count - lucky))

    def drawn(zeros: int) -> int:
        source = Unlikely(None)
        source.zeros = 8 * zeros
        return int(samplers.geometric(rate, 1, source)[0])

    first = drawn(1)
    assert first * rate >= 20
    assert [drawn(zeros) for zeros in range(4)] == [0, first, 2 * first, 3 * first]
