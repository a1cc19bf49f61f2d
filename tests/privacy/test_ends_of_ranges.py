"""At the ends of all declared ranges nothing wraps around, nothing is rounded, and sensitivities hold.

A score that wraps at 64 bits can move by almost 2**64 when one unit comes, whatever its sensitivity says; a
sum of doubles stops moving by whole numbers at 2**53. So every input here is at an end of what is accepted:
counts near 2**63, shares with long decimals, epsilons from 1e-12 to 100, sensitivities from 1 to 10**12.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from penstock.audit import exact
from penstock.drafting.bounds import threshold
from penstock.engine.marginal import Columns
from penstock.engine.tally import Rows
from penstock.errors import PenstockError, UsageError
from penstock.kinds.points.baselines.dawa import least_uneven
from penstock.kinds.points.data import _tally
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.ngram import NGram
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences
from penstock.kinds.sequences.symbols import Symbols
from penstock.kinds.table.audits.gaps import Step
from penstock.kinds.table.baselines.mwem import MWEM, Weights
from penstock.kinds.table.privbayes.knapsack import fullest
from penstock.kinds.table.privbayes.scores import score
from penstock.kinds.table.privbayes.sensitivity import MOST_RECORDS_OF_R, largest_change
from penstock.privacy.budgets.budget import LARGEST_EPSILON, SMALLEST_EPSILON, Budget
from penstock.privacy.mechanisms import choice, noise, response
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import above_threshold
from penstock.privacy.mechanisms.splitting import STEPS, Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.logarithms import Between
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.schema import Schema

EPSILONS = (SMALLEST_EPSILON, Fraction(1, 3), Fraction(LARGEST_EPSILON))
ENDS = (0, 1, 2**31, 2**53, 2**53 + 1, 2**61, 2**62 + 1, 2**63 - 2)
SHARES = tuple(Fraction(text) for text in ("19/20", "0.3333333333333333", "0.9999999999999999", "1e-30"))


def budget(epsilon: Fraction, delta: Fraction | int = 0) -> Budget:
    return Budget(epsilon, delta, randomness=Randomness.seeded(1))


def sealed(values: Any, moves: int = 1) -> Sealed[Any]:
    moved = Sensitivity.of(moves * max(1, np.size(values)), linf=moves)
    return Sealed(np.asarray(values), moved, Relation.ADD_REMOVE, because="made up")


def visits(lengths: list[int], longest: int, unit: str = "") -> Sequences:
    schema = Schema.from_yaml(f"""
kind: sequences
{unit}
sequence: {{symbol: s, longest: {longest}}}
fields:
  - {{name: s, constraints: {{enum: [A, B]}}}}
""")
    codes = np.zeros(sum(lengths), dtype=np.uint8)
    return Sequences(Symbols(codes, np.array(lengths, dtype=np.int64)), schema)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("n", [0, 1, 1383, 1384, 3000])
def test_one_more_sequence_moves_no_score_of_a_length_by_more_than_its_sensitivity(
    share: Fraction, n: int
) -> None:
    lengths = [number % 7 for number in range(n)]
    before = visits(lengths, 9).lengths(share)
    for more in (0, 3, 8, 9):
        after = visits([*lengths, more], 9).lengths(share)
        gaps = [abs(int(a) - int(b)) for a, b in zip(open_seal(before), open_seal(after), strict=True)]
        assert max(gaps) <= before.sensitivity.linf


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_length_is_chosen_from_exact_scores(share: Fraction, epsilon: Fraction) -> None:
    scores = visits([number % 7 for number in range(2000)], 9).lengths(share)
    chosen = choice.best(scores, budget(epsilon))
    assert 0 <= chosen < 9
    if epsilon == LARGEST_EPSILON and share.denominator < 10**17:
        quantile = sorted(number % 7 for number in range(2000))[int(share * 2000)]
        # at epsilon 100 a length that is off by 285 sequences has a chance below exp(-14000)
        assert chosen == quantile  # index l - 1 for length l, and the end counts as one


@pytest.mark.parametrize("quantile", ["1e-300", 1e-300, "0." + "3" * 40])
def test_a_quantile_without_end_is_refused_before_anything_is_spent(quantile: Any) -> None:
    pay = budget(Fraction(1))
    with pytest.raises(PenstockError, match=r"30 decimals.*Nothing was spent"):
        PrivTreeSequences(choose_longest=True, quantile=quantile).fit(visits([1, 2], 9), pay)
    assert not pay.receipt().paid.parts


@pytest.mark.parametrize("longest", [10**7, 10**8, 10**9])
def test_too_many_lengths_are_refused_before_anything_is_spent(longest: int) -> None:
    pay = budget(Fraction(1))
    with pytest.raises(UsageError, match=r"smaller 'longest'.*Nothing was spent"):
        PrivTreeSequences(choose_longest=True).fit(visits([1, 2], longest), pay)
    assert not pay.receipt().paid.parts


@pytest.mark.parametrize("longest", [1, 10**7, 10**9])
def test_strings_are_counted_at_the_smallest_epsilon_and_the_largest_lengths(longest: int) -> None:
    release = NGram().fit(visits([1, 2, 3], longest), budget(SMALLEST_EPSILON))
    assert all(np.isfinite(counts).all() for counts in release.histograms.values())


@pytest.mark.parametrize(("epsilon", "moves"), list(product(EPSILONS, (1, 10**12))))
def test_noise_is_the_same_on_neighbours_and_held_at_the_ends(epsilon: Fraction, moves: int) -> None:
    """With the same seed the noise is the same: exact sums differ by what the values differ by."""
    for end in ENDS:
        one, two = (noise.counts(sealed([value], moves), budget(epsilon))[0] for value in (end, end + 1))
        limit = 2**63 - 1
        assert int(two) - int(one) == (0 if limit in (one, two) and one == two else 1)
    for end in ENDS:
        one, two = (
            noise.gaussian(sealed([value], moves), budget(epsilon, Fraction(1, 10**6)))[0]
            for value in (end, end + 1)
        )
        assert int(two) - int(one) in (0, 1)


@pytest.mark.parametrize(("epsilon", "moves"), list(product(EPSILONS, (1, 10**12))))
def test_choices_see_differences_only(epsilon: Fraction, moves: int) -> None:
    """Scores that all grow alike give the same choice with the same seed, wherever they lie."""
    base = np.array([0, 1, 2, 5])
    for draw in CHOICES.values():
        expected = draw(sealed(base, moves), epsilon)
        for end in (2**53, 2**62, 2**63 - 6, -(2**63)):
            assert draw(sealed(base + np.int64(end), moves), epsilon) == expected
        for end in (2**64, -(10**40)):
            assert draw(sealed(base.astype(object) + end, moves), epsilon) == expected


CHOICES: dict[str, Callable[[Sealed[Any], Fraction], Any]] = {
    "permute-and-flip": lambda scores, epsilon: choice.best(scores, budget(epsilon)),
    "exponential": lambda scores, epsilon: choice.best(scores, budget(epsilon), method="exponential"),
    "one-shot": lambda scores, epsilon: choice.best_several(scores, 2, budget(epsilon)),
    "several": lambda scores, epsilon: choice.best_several(scores, 2, budget(epsilon), method="exponential"),
}


def test_a_point_of_a_domain_beyond_64_bits_is_refused_unpaid() -> None:
    low, high = -(2**63), 2**63 - 1
    steps = choice.Steps(np.array([low, 0, high]), np.array([0, 1]))
    scores = Sealed(steps, Sensitivity.scores(1, 2), Relation.ADD_REMOVE, because="made up")
    pay = budget(Fraction(1))
    with pytest.raises(UsageError, match="Nothing was spent"):
        choice.point(scores, low, high, pay)
    assert not pay.receipt().paid.parts
    edges = choice.Steps(np.array([0, 1, 2**63 - 1]), np.array([-(2**63), 2**63 - 1]))
    scores = Sealed(edges, Sensitivity.scores(1, 2), Relation.ADD_REMOVE, because="made up")
    assert 1 <= choice.point(scores, 0, 2**63 - 1, budget(Fraction(100))) < 2**63 - 1


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_sparse_vector_compares_exactly(epsilon: Fraction) -> None:
    for end in ENDS[:-1]:
        values = np.array([end, end + 1, end - 1])
        near = above_threshold(sealed(values), budget(epsilon), c=3, threshold=end).above
        base = above_threshold(sealed(values - end), budget(epsilon), c=3, threshold=0).above
        assert near.tolist() == base.tolist()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(100)])
def test_margins_of_split_decisions_are_exact(epsilon: Fraction) -> None:
    splitter = Splitter.paid(budget(epsilon), fan_out=4)
    inverse, slope = STEPS / splitter.lam, splitter.gamma * STEPS
    assert inverse.denominator == slope.denominator == 1
    for end, depth in product(ENDS, (0, 1, 10**6)):
        (margin,) = splitter._margins(np.array([end]), depth).tolist()
        assert margin == max(end * inverse - depth * slope, -slope)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_stretches_are_partitioned_at_every_epsilon(epsilon: Fraction) -> None:
    starts = least_uneven(sealed(np.arange(8), 10**9), budget(epsilon), length=8, price=1 / epsilon)
    assert starts[0] == 0


def test_scores_of_networks_stay_exact_up_to_the_most_records() -> None:
    n = MOST_RECORDS_OF_R
    for name, relation in (("F", Relation.REPLACE), ("R", Relation.REPLACE), ("F", Relation.ADD_REMOVE)):
        one, two = np.array([[[n // 2, 0], [0, n // 2]]]), np.array([[[n // 2, 1], [0, n // 2 - 1]]])
        if relation is Relation.ADD_REMOVE:
            two = one + np.array([[[0, 1], [0, 0]]])
        before, after = (int(score(name, table, relation)[0]) for table in (one, two))  # type: ignore[arg-type]
        assert abs(before - after) <= largest_change(name, relation, binary=True, n=n)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="64 bits"):
        largest_change("R", Relation.REPLACE, binary=True, n=n + 1)


def test_weighted_points_are_added_as_whole_numbers() -> None:
    cells, weights = np.array([0, 0, 1]), np.array([2**53, 1, 2**62 + 1])
    assert _tally(cells, weights, 2).tolist() == [2**53 + 1, 2**62 + 1]


@pytest.mark.parametrize(("epsilon", "moves"), list(product(EPSILONS, (1, 10**12))))
def test_real_numbers_are_put_on_their_lattice_exactly(epsilon: Fraction, moves: int) -> None:
    """With the same seed the noise is the same: results differ by what the values do, to the last double."""
    for end in (0.0, 0.5, 2.0**53, 2.0**61, 1e30, 1e300):
        near = float(np.nextafter(end, np.inf)) if end >= 2.0**53 else end + 1
        one, two = (
            noise.laplace_real(_real(value, moves), budget(epsilon), granularity=1) for value in (end, near)
        )
        assert np.isfinite([one, two]).all()
        rounding = 4 * max(np.spacing(abs(one)), np.spacing(abs(two)))
        assert abs((two - one) - (round(near) - round(end))) <= rounding


def _real(value: float, moves: int) -> Sealed[float]:
    return Sealed(value, Sensitivity.of(moves), Relation.ADD_REMOVE, because="made up for a test")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", [2, 3, 2**31, 2**62])
def test_answers_at_the_ends_are_told_within_the_ends(epsilon: Fraction, size: int) -> None:
    truth = np.array([0, 1, size - 1] * 20)
    told = response.report(truth, size, epsilon, Randomness.seeded(3))
    assert 0 <= told.min() <= told.max() < size
    if epsilon == LARGEST_EPSILON and size < 2**40:
        assert told.tolist() == truth.tolist()  # a lie has a chance below 60 * 2**31 exp(-100) < 1e-32


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_going_through_candidates_again_sees_differences_only(epsilon: Fraction) -> None:
    values = np.array([0, 3, -2, 7])
    expected = retraverse(sealed(values), budget(epsilon), c=2, threshold=2, passes=3)
    for end in (2**31, 2**53, 2**60):
        found = retraverse(sealed(values + end), budget(epsilon), c=2, threshold=end + 2, passes=3)
        assert found == expected


@pytest.mark.parametrize("far", [0, 2**31, 2**53, 2**62, -(2**62)])
def test_gaps_of_pairs_move_by_no_more_than_stated_wherever_expectations_lie(far: int) -> None:
    records = [(0, 1, 1), (1, 1, 0), (0, 0, 0)] * 3
    step = Step(3, expected=lambda _, one, two: np.array([[far, -far], [1, far]], dtype=np.int64))
    before = step.gaps(records)[1]
    for more in ((0, 0, 0), (1, 1, 1), (0, 1, 0)):
        after = step.gaps([*records, more])[1]
        gaps = [abs(int(a) - int(b)) for a, b in zip(open_seal(before), open_seal(after), strict=True)]
        assert max(gaps) <= before.sensitivity.linf


@pytest.mark.parametrize("n", [1.0, 2.0**31, 2.0**62, 1e18, 1e300])
def test_errors_of_a_distribution_move_by_no_more_than_stated_however_large_it_is(n: float) -> None:
    counts = np.array([0, 5, 2**40, 1])
    errors = [
        MWEM(way=1)._errors(sealed(values), Weights((2, 2), n), way=1)
        for values in (counts, counts + np.eye(4)[1].astype(int))
    ]
    gaps = np.abs(open_seal(errors[0]).astype(object) - open_seal(errors[1]).astype(object))
    assert max(gaps) <= errors[0].sensitivity.linf


@pytest.mark.parametrize("scale", [1, 2**20, 2**41])
def test_knapsacks_are_exact_up_to_their_declared_end(scale: int) -> None:
    """A thousand rows whose sums come near 2**53, against trying all subsets."""
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 9, (40, 4)) * scale
    gains = np.minimum(weights, rng.integers(1, 9, (40, 4)) * scale)
    room = rng.integers(0, 20, 40) * scale
    expected = [
        max(
            sum(gain for gain, taken in zip(gains[row].tolist(), some, strict=True) if taken)
            - max(
                0,
                sum(w for w, taken in zip(weights[row].tolist(), some, strict=True) if taken)
                - int(room[row]),
            )
            for some in product((0, 1), repeat=4)
        )
        for row in range(40)
    ]
    assert fullest(weights, gains, room).tolist() == expected


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "999999/1000000"])
@pytest.mark.parametrize("records", [1, 3, 10**6])
def test_the_least_count_of_a_named_value_covers_delta(epsilon: Fraction, delta: str, records: int) -> None:
    """a^T max(e^epsilon, m e^(epsilon/m)) / (1 + a) <= delta, to a hundred digits."""
    least, rate = threshold(epsilon, Fraction(delta), records), epsilon / records
    below = Between.of(1) + Between.exp(-rate)
    for many, each in ((1, epsilon), (records, rate)):
        assert Fraction((Between.of(many) * Between.exp(each - rate * least) / below).high) <= Fraction(delta)


def test_weighted_rows_are_added_up_exactly_beyond_doubles() -> None:
    columns = Columns({"a": 2})
    weights = np.array([2**53, 1, 2**60, 3])
    rows = Rows(columns, {0: np.array([0, 0, 1, 1])}, 4, weights)
    (counts,) = rows.tally([(0,)])
    assert counts.tolist() == [2**53 + 1, 2**60 + 3]


def test_the_laws_behind_audits_see_single_points_near_the_ends() -> None:
    near = exact.exponential([2**62, 2**62 + 1], 1.0)
    assert near.probability(0) == pytest.approx(exact.exponential([0, 1], 1.0).probability(0), rel=1e-12)
    splitter = Splitter.paid(budget(Fraction(1)), fan_out=2, theta=2**62)
    far, close = (splitter.log_chances(np.array([value]), 0)[0][0] for value in (2**62, 2**62 + 1))
    assert close > far
