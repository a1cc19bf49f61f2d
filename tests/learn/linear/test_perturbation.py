"""Noise in the objective and on its minimum: exact densities, published constants, mistakes refuted."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, floor, log
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from penstock.kinds.table.data import Table
from penstock.kinds.table.rows import CodedRows
from penstock.learn.linear import minimum, ridges, whole_slopes
from penstock.learn.linear.features import AT_ONCE, MOST_FEATURES, STEPS, Problem
from penstock.learn.linear.losses import (
    KNOT_BITS,
    KNOTS,
    VALUE_BITS,
    Huber,
    Logistic,
    Loss,
    LossName,
    loss_of,
)
from penstock.learn.linear.minimum import TOLERANCE, Objective, distance
from penstock.learn.linear.output import OutputPerturbation
from penstock.learn.linear.perturbation import (
    FOR_DISTANCE,
    Calibration,
    PerturbedMinimum,
    minimum_sensitivity,
    off_by,
)
from penstock.learn.linear.private_erm import SMALLEST_RIDGE, PrivateERM
from penstock.learn.linear.ridges import right_answers, whole_weights
from penstock.learn.linear.whole_slopes import Point, whole_slope
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema

Reals = NDArray[np.float64]
SCHEMA = Schema.from_yaml("""
target: y
fields:
  - {name: a, type: boolean}
  - {name: b, type: number, constraints: {minimum: -1, maximum: 1}, bins: {count: 8}}
  - {name: y, type: boolean}
""")
LOSSES = ("logistic", "huber")


def table(records: list[tuple[bool, float, bool]], relation: str = "add-remove") -> Table:
    facts = SCHEMA.model_dump(by_alias=True, exclude_defaults=True) | {"relation": relation}
    if relation == "replace":
        facts["size"] = len(records)
    types = {"a": pl.Boolean, "b": pl.Float64, "y": pl.Boolean}
    return Table.open(pl.DataFrame(records, schema=types, orient="row"), Schema.model_validate(facts))


def some(seed: int, number: int) -> list[tuple[bool, float, bool]]:
    rng = np.random.default_rng(seed)
    return [(bool(rng.integers(2)), float(rng.uniform(-1, 1)), bool(rng.integers(2))) for _ in range(number)]


# One dimension, where densities are plain numbers ----------------------------------------------------------


def log_density(w: Reals, signs: Reals, loss: Loss, ridge: float, rate: float) -> Reals:
    """Of the minimum of the objective for records whose features times their signs are these numbers."""
    margins = w[:, None] * signs
    tilt = -(loss.slopes(margins) * signs).sum(axis=1) - ridge * w
    bent = (loss.curvatures(margins) * signs**2).sum(axis=1) + ridge
    return np.asarray(-rate * np.abs(tilt) + np.log(bent) + log(rate / 2))


def worst(signs: list[float], others: list[float], loss: Loss, ridge: float, rate: float) -> float:
    places = np.linspace(-20, 20, 4001)
    one, two = (log_density(places, np.array(each), loss, ridge, rate) for each in (signs, others))
    return float(np.abs(one - two).max())


@pytest.mark.parametrize(
    ("epsilon", "number", "mean_ridge", "wrong", "right"),
    [(1.0, 2, 0.05, 1.073, 0.338), (0.5, 5, 0.05, 0.641, 0.179), (0.2, 20, 0.01, 0.769, 0.074)],
)
def test_the_version_without_the_determinant_loses_more_than_epsilon_and_ours_does_not(
    epsilon: float, number: int, mean_ridge: float, wrong: float, right: float
) -> None:
    """The three settings of the specification: one record replaced by any other, beside equal ones."""
    loss, ridge, values = Logistic(), number * mean_ridge, (-1.0, -0.5, 0.0, 0.5, 1.0)
    pairs = [
        ([one, *[rest] * (number - 1)], [two, *[rest] * (number - 1)])
        for one, two, rest in product(values, values, (-1.0, 0.0, 1.0))
        if one < two
    ]
    published = max(worst(*pair, loss, ridge, epsilon / 2) for pair in pairs)
    assert published == pytest.approx(wrong, abs=0.002)
    assert published > epsilon
    rows = table(some(1, number), "replace").coded_rows()
    features = Problem.of(SCHEMA, "y").features
    for determinant in ("tight", "published"):
        known = Calibration.of(
            Fraction(str(epsilon)), Fraction(str(ridge)), loss.curvature_bound, features, rows, determinant
        )
        rate = float(known.rate * features.sum_bound)  # of one feature that is 1
        ours = max(worst(*pair, loss, float(known.ridge), rate) for pair in pairs)
        assert ours <= epsilon
    whole = Fraction(str(epsilon)) / (1 - FOR_DISTANCE)
    steps = Calibration.of(whole, Fraction(str(ridge)), loss.curvature_bound, _full(), rows, "published")
    paid = max(worst(*pair, loss, float(steps.ridge), float(steps.rate)) for pair in pairs)
    assert paid == pytest.approx(right, abs=0.002)


@pytest.mark.parametrize(
    ("epsilon", "ridge", "left", "raised"),
    [
        ("1", 40, 0.987539, 0.0),
        ("0.1", 40, 0.087539, 0.0),
        ("0.1", "0.04", 0.05, 40_000 * 2.458880e-4),
    ],
)
def test_the_published_steps_give_the_published_numbers(
    epsilon: str, ridge: Any, left: float, raised: float
) -> None:
    """40,000 records, c = 1/4 and q = 1; a share of epsilon for the distance is taken off first."""
    rows, features = table(some(1, 3), "replace").coded_rows(), _full()
    whole = Fraction(epsilon) / (1 - FOR_DISTANCE)
    known = Calibration.of(whole, Fraction(str(ridge)), Fraction(1, 4), features, rows, "published")
    assert float(known.rate * 2 * features.sum_bound) == pytest.approx(left, abs=1e-6)
    assert float(known.ridge - Fraction(str(ridge))) == pytest.approx(raised, rel=1e-6, abs=1e-12)


def _full() -> Any:
    """Features of length exactly 1."""

    class Full:
        longest, sum_bound, number = Fraction(1), Fraction(1), 1

    return Full()


@pytest.mark.parametrize("name", LOSSES)
def test_the_density_of_a_minimum_adds_up_to_one(name: Any) -> None:
    places = np.linspace(-400, 400, 400_001)
    density = np.exp(log_density(places, np.array([1.0, 1.0, -1.0]), loss_of(name), 0.5, 0.4))
    assert density.sum() * (places[1] - places[0]) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_output_is_more_than_epsilon_less_likely_on_a_neighbour(name: Any, relation: str) -> None:
    """The law's own probabilities at its own outputs, and far from them."""
    problem = Problem.of(SCHEMA, "y")
    loss, epsilon, worst_seen = loss_of(name), Fraction(1), 0.0
    for seed in range(12):
        records = some(seed, 6)
        other = records[:-1] if relation == "add-remove" else [*records[:-1], (True, 1.0, seed % 2 == 0)]
        laws = []
        for each in (records, other):
            rows = table(each, relation).coded_rows()
            known = Calibration.of(epsilon, Fraction(1, 2), loss.curvature_bound, problem.features, rows)
            examples = problem.examples(open_seal(rows))
            laws.append(PerturbedMinimum(examples, 0, loss, known, known.rate, known.scale))
        assert laws[0].public == laws[1].public
        drawn = laws[0].draw(Randomness.seeded(seed))
        for factor in (1, 10, -7):
            losses = float(laws[0].loss(drawn * factor, laws[1]))
            worst_seen = max(worst_seen, abs(losses))
    assert 0.4 < worst_seen <= 1


def steep(solver: Objective, point: Point) -> Fraction:
    return sum((each**2 for each in solver.exact_slope(point)), Fraction(0))


def by_hand(records: list[tuple[bool, float, bool]], weights: list[int], loss: Loss, point: Point) -> Any:
    """The slope of the loss over records that occur so often, in fractions, one record after another."""
    problem = Problem.of(SCHEMA, "y")
    examples = _examples(problem, records)
    begins, grows = loss.pulls
    found = [Fraction(0)] * len(point.numbers)
    ((_, steps),) = examples.parts()
    for row, sign, weight in zip(steps.tolist(), examples.signs(0).tolist(), weights, strict=True):
        x = [Fraction(int(each), STEPS) * int(sign) for each in row]
        margin = sum((one * two for one, two in zip(x, point.fractions, strict=True)), Fraction(0))
        piece = min(2 * KNOTS + 1, max(0, floor(margin * (1 << KNOT_BITS)) + KNOTS + 1))
        along = margin * (1 << KNOT_BITS) - (piece - KNOTS - 1)
        pull = (int(begins[piece]) + int(grows[piece]) * along) / (1 << VALUE_BITS)
        found = [one - weight * pull * each for one, each in zip(found, x, strict=True)]
    return found


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weights", [None, [1, 3, 2**15, 2**17 + 5, 2**60 + 1, 7]])
def test_slopes_in_whole_numbers_are_those_of_fractions(name: Any, weights: Any) -> None:
    """Small and large points, on coarse and fine lattices, with and without numbers of records."""
    problem, records, loss = Problem.of(SCHEMA, "y"), some(7, 6), loss_of(name)
    rows = open_seal(table(records).coded_rows())
    counted = CodedRows(rows.codes, None if weights is None else np.array(weights), rows.length)
    examples = problem.examples(counted)
    for bits, far, seed in product((24, 56), (1e-3, 1.0, 30.0, 1e9), range(2)):
        point = Point.near(np.random.default_rng(seed).normal(size=3) * far, bits)
        assert whole_slope(examples, examples.signs(0), loss, point) == by_hand(
            records, weights or [1] * 6, loss, point
        )


def test_what_is_told_has_the_slope_that_was_paid_for_however_the_search_in_doubles_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that ends after one step, or sends nonsense, costs time only; the broken copy that trusts it
    is further from the minimum than was paid for."""
    problem, rows = Problem.of(SCHEMA, "y"), open_seal(table(some(2, 40)).coded_rows())
    tilt = np.array([3.0, -2.0, 1.0])
    solver = Objective(problem.examples(rows), 0, Logistic(), Fraction(1, 2), tilt)
    assert steep(solver, solver.minimum()) <= TOLERANCE**2
    monkeypatch.setattr(minimum, "MOST_STEPS", 1)
    assert steep(solver, solver.minimum()) <= TOLERANCE**2
    unconverged = Point.near(solver.searched(), 56)
    assert steep(solver, unconverged) > 10**6 * TOLERANCE**2
    away = np.linalg.norm(unconverged.doubles - solver.minimum().doubles)
    assert away > 1000 * float(distance(Fraction(1, 2)))
    for lost in ([1e6, -1e6, 0.25], [np.nan, 0.0, np.inf]):
        monkeypatch.setattr(Objective, "searched", lambda self, lost=lost: np.array(lost))
        assert steep(solver, solver.minimum()) <= TOLERANCE**2


@pytest.mark.parametrize(("name", "told_apart"), [*product(LOSSES, (True, False))])
def test_a_search_is_short_for_the_smallest_ridge_and_more_records_than_anybody_has(
    name: LossName, told_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some 10^11 records, of which labels are told apart by one column or not at all: the proof allows for
    10^15 steps, and a handful is made, none of the last resort."""
    problem, rng, rows = Problem.of(SCHEMA, "y"), np.random.default_rng(3), 60
    codes = {"a": rng.integers(2, size=rows), "b": rng.integers(8, size=rows)}
    codes["y"] = (codes["b"] > 3).astype(np.int64) if told_apart else rng.integers(2, size=rows)
    examples = problem.examples(CodedRows(codes, rng.integers(1, 10**10, rows), rows))
    made: list[bool] = []
    nearer = Objective._nearer

    def watched(self: Objective, point: Point, slope: Any, before: Fraction) -> Any:
        found = nearer(self, point, slope, before)
        made.append(found[0].bits == point.bits)
        return found

    monkeypatch.setattr(Objective, "_nearer", watched)
    solver = Objective(examples, 0, loss_of(name), SMALLEST_RIDGE, np.zeros(3))
    assert steep(solver, solver.minimum()) <= TOLERANCE**2
    assert len(made) <= 10
    assert all(made)


def test_sums_that_are_exact_in_doubles_have_room_for_every_record_and_feature() -> None:
    """A feature is at most 2**14, the pull of a loss 2**22, and a thousand features of length 1 have a sum of
    2**5: what is added up at once stays a whole number that doubles hold, or 64 bits."""
    features = MOST_FEATURES**0.5 * STEPS
    assert AT_ONCE * STEPS << VALUE_BITS <= 1 << 53
    assert features * 2**whole_slopes._LEAD < 2**53
    assert features * 2**whole_slopes.DIGIT < 2**53
    assert whole_slopes._HEAVY * STEPS * ((1 << whole_slopes.DIGIT) - 1) << VALUE_BITS < 1 << 63
    assert features * 2**ridges._BITS < 2**53
    for name in LOSSES:
        begins, grows = loss_of(name).pulls
        assert (begins.max(), begins.min(), begins[-1]) == (1 << VALUE_BITS, 0, 0)
        assert (grows <= 0).all()


def test_sure_steps_alone_end_at_the_minimum(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Newton's steps help nowhere, those along the slope do, by the proven factor each."""
    problem, rows = Problem.of(SCHEMA, "y"), open_seal(table(some(2, 6)).coded_rows())
    solver = Objective(problem.examples(rows), 0, Huber(), Fraction(2), np.array([3.0, -2.0, 1.0]))
    monkeypatch.setattr(minimum, "TRIED", 0)
    monkeypatch.setattr(Objective, "searched", lambda self: np.zeros(3))
    point = Point.near(np.zeros(3), 56)
    slope, shorter = solver.exact_slope(point), 1 - 3 * solver.ridge / (4 * solver.steepest)
    for _ in range(5):
        before = steep(solver, point)
        point, slope = solver._nearer(point, slope, before)
        assert steep(solver, point) <= shorter**2 * before
    assert steep(solver, solver.minimum()) <= TOLERANCE**2


@pytest.mark.parametrize("records", [10**8, 10**13, 2**60])
def test_the_slope_is_certain_for_any_number_of_records(records: int) -> None:
    """More than doubles can add up to the tolerance: as certain as for three, and one more moves little."""
    problem = Problem.of(SCHEMA, "y")
    rows = open_seal(table([(True, 1.0, True), (False, -1.0, False)]).coded_rows())
    ends = []
    for more in (0, 1):
        counted = CodedRows(rows.codes, np.array([records + more, records]), rows.length)
        solver = Objective(problem.examples(counted), 0, Logistic(), Fraction(5), np.zeros(3))
        ends.append(solver.minimum())
        assert steep(solver, ends[-1]) <= TOLERANCE**2
    assert np.linalg.norm(ends[0].doubles - ends[1].doubles) <= 1 / 5 + 2 * float(distance(Fraction(5)))


def test_minima_without_their_ridge_move_further_than_stated() -> None:
    """The sensitivity that is stated for a ridge of 8, and what a ridge that was forgotten does to it."""
    problem, loss = Problem.of(SCHEMA, "y"), Logistic()
    stated = (
        float(minimum_sensitivity(problem.features, Fraction(8), table(some(0, 3)).coded_rows()).l1) / 3**0.5
    )
    records = [(True, 1.0, True)] * 3
    moved = {}
    for ridge in (8.0, 0.01):
        ends = [
            Objective(_examples(problem, each), 0, loss, Fraction(ridge), np.zeros(3)).minimum().doubles
            for each in (records, [*records, (True, 1.0, False)])
        ]
        moved[ridge] = float(np.linalg.norm(ends[0] - ends[1]))
    assert moved[8.0] <= stated < moved[0.01]


def _examples(problem: Problem, records: list[tuple[bool, float, bool]]) -> Any:
    return problem.examples(open_seal(table(records).coded_rows()))


@pytest.mark.parametrize("name", LOSSES)
def test_minima_of_neighbours_are_no_further_apart_than_their_slopes_over_the_ridge(name: Any) -> None:
    """2 / (n Lambda) for one record replaced, half of it for one removed; random records, both losses."""
    problem, loss, ridge = Problem.of(SCHEMA, "y"), loss_of(name), Fraction(1, 4)
    bound = float(problem.features.longest) ** 0.5 / float(ridge) + 2 * float(distance(ridge))
    farthest = 0.0
    for seed in range(20):
        records = some(seed, 1 + seed % 7)
        minima = [
            Objective(_examples(problem, each), 0, loss, ridge, np.zeros(3)).minimum().doubles
            for each in (records, records[:-1], [*records[:-1], (False, -1.0, True)])
        ]
        farthest = max(farthest, float(np.linalg.norm(minima[0] - minima[1])))
        assert np.linalg.norm(minima[0] - minima[2]) <= 2 * bound
    assert bound / 4 < farthest <= bound


@pytest.mark.parametrize("name", LOSSES)
def test_the_minimum_is_as_near_as_stated_on_every_start(name: Any) -> None:
    """Against a minimum that was found to the last digit that doubles have, with large and small tilts."""
    problem, loss = Problem.of(SCHEMA, "y"), loss_of(name)
    for seed, ridge in product(range(4), (0.1, 5.0)):
        tilt = np.random.default_rng(seed).laplace(size=3) * 10.0**seed
        solver = Objective(_examples(problem, some(seed, 30)), 0, loss, Fraction(ridge), tilt)
        found = solver.minimum().doubles
        best = found
        for _ in range(20):
            margins = solver.margins(best)
            best = best - np.linalg.solve(solver.bend(margins), solver.slope(best, margins))
        assert np.linalg.norm(found - best) <= float(distance(Fraction(ridge)))


def test_slopes_and_curvatures_are_derivatives_within_their_bounds() -> None:
    margins = np.linspace(-4, 4, 801)
    for loss in (Logistic(), Huber(), Huber(Fraction(1, 10))):
        slopes = np.gradient(loss.values(margins), margins)
        assert np.allclose(slopes[1:-1], loss.slopes(margins)[1:-1], atol=6e-2)
        assert loss.slopes(margins).min() >= -1
        assert loss.slopes(margins).max() <= 0
        assert loss.curvatures(margins).max() <= float(loss.curvature_bound)


def test_the_little_noise_at_the_end_covers_the_distance() -> None:
    rows, features = table(some(1, 3)).coded_rows(), Problem.of(SCHEMA, "y").features
    known = Calibration.of(Fraction(1), Fraction(2), Fraction(1, 4), features, rows)
    apart = 2 * float(off_by(known.ridge, known.fine, 3)) * 3**0.5 / float(known.lattice) + 3
    assert apart / float(known.scale) <= float(FOR_DISTANCE)


def test_many_rows_are_solved_from_a_start_on_few_of_them() -> None:
    """The answer is as near to the minimum wherever it began; weights give the same as repeated rows."""
    problem, rng = Problem.of(SCHEMA, "y"), np.random.default_rng(0)
    codes = {"a": rng.integers(2, size=80_000), "b": rng.integers(8, size=80_000)}
    codes["y"] = (codes["a"] + (rng.random(80_000) < 0.2)) % 2
    solver = Objective(
        problem.examples(CodedRows(codes, None, 80_000)), 0, Logistic(), Fraction(1), np.array([5.0, 0, -9])
    )
    key = codes["a"] * 16 + codes["b"] * 2 + codes["y"]
    kinds, weights = np.unique(key, return_counts=True)
    few = CodedRows({"a": kinds // 16, "b": kinds // 2 % 8, "y": kinds % 2}, weights, len(kinds))
    other = Objective(problem.examples(few), 0, Logistic(), Fraction(1), solver.tilt)
    apart = np.linalg.norm(solver.minimum().doubles - other.minimum().doubles)
    assert apart <= 2 * float(distance(Fraction(1)))


# The method ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [PrivateERM(ridges=3), OutputPerturbation(ridges=3)])
def test_several_ridges_are_paid_for_and_chosen_privately(method: Any) -> None:
    budget = Budget(2, randomness=Randomness.seeded(3))
    release = method.fit(table(some(5, 400)), budget)
    labels = ["/".join((*above, charge.label)) for above, charge in release.receipt.charges()]
    assert len(labels) == 4
    assert release.receipt.epsilon == 2
    assert release.parameters["chosen"] in (0, 1, 2)


def test_whether_a_record_is_right_does_not_depend_on_those_beside_it() -> None:
    """Weights on which records lie exactly on the border: sums in doubles would fall to either side of it."""
    problem, rng = Problem.of(SCHEMA, "y"), np.random.default_rng(3)
    records = some(11, 70)
    found = [rng.normal(size=(3, 1)) * 10.0**scale for scale in (-300, -3, 0, 5, 200)]
    found += [np.array([[0.1], [0.1], [0.0]]), np.array([[1.0], [-1.0], [1e-30]]), np.zeros((3, 1))]
    together = open_seal(right_answers(table(records).coded_rows(), problem, found))
    alone = sum(open_seal(right_answers(table([one]).coded_rows(), problem, found)) for one in records)
    assert together.tolist() == alone.tolist()
    assert all(np.abs(whole_weights(each)).max() <= 2**30 for each in found)
    adds = right_answers(table(records).coded_rows(), problem, found).sensitivity
    assert (adds.linf, adds.monotone) == (1, True)
    swapped = right_answers(table(records, "replace").coded_rows(), problem, found).sensitivity
    assert not swapped.monotone


def test_a_choice_with_much_epsilon_takes_the_ridge_that_gets_most_records_right() -> None:
    """Of a sensible ridge and two that leave nothing but noise the first is chosen."""
    records = [(bool(row % 2), 0.5, bool(row % 2)) for row in range(300)]
    release = PrivateERM(ridge=1, ridges=8).fit(table(records), Budget(80, randomness=Randomness.seeded(1)))
    assert release.parameters["chosen"] < 4


def test_with_much_epsilon_it_is_the_model_without_noise() -> None:
    rng = np.random.default_rng(4)
    records = []
    for _ in range(3000):
        a, b = bool(rng.integers(2)), float(rng.uniform(-1, 1))
        records.append((a, b, bool(rng.random() < 1 / (1 + exp(-(2 * a - 1 + 3 * b))))))
    for loss in LOSSES:
        release = PrivateERM(loss=loss).fit(table(records), Budget(50, randomness=Randomness.seeded(1)))
        told = release.predict(pl.DataFrame({"a": [True, False], "b": [0.9, -0.9]}))["y"].to_list()
        assert told == [True, False]
        slope = release.effects_of("b")[:, 0]
        assert (np.diff(slope) > 0).all()
        if loss == "logistic":
            assert slope[-1] - slope[0] == pytest.approx(3 * 1.75, rel=0.2)
