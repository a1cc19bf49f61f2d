"""The methods that PrivTree is compared with: their worked examples, their receipts, their privacy."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kinds.points.trees import RIDES, SQUARE, clustered, rides, square

from penstock.errors import PenstockError, UsageError
from penstock.kinds.points.baselines import AdaptiveGrid, Dawa, Hierarchy, Privelet, SimpleTree
from penstock.kinds.points.baselines.adaptive_grid import (
    MOST_CELLS,
    agreed,
    coarse_side,
    fine_sides,
    patchwork,
)
from penstock.kinds.points.baselines.dawa import _cheapest, least_uneven
from penstock.kinds.points.baselines.greedy import greedy_hierarchy, level_weights, settle
from penstock.kinds.points.baselines.hierarchy import consistent
from penstock.kinds.points.baselines.hilbert import hilbert
from penstock.kinds.points.baselines.privelet import haar, inverse, transformed
from penstock.kinds.points.baselines.windows import Windows
from penstock.kinds.points.box import Box
from penstock.kinds.points.data import Points
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.releases import load
from penstock.schema import Relation, Schema

EVERY = {
    "adaptive-grid": AdaptiveGrid(),
    "hierarchy": Hierarchy(fan=4, height=2),
    "privelet": Privelet(bits=12),
    "simple-tree": SimpleTree(height=4),
    "dawa": Dawa(bits=8),
}


def fit(method: Any, n: int = 3000, epsilon: Any = 2, seed: int = 1, schema: Schema = SQUARE) -> Any:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    return method.fit(Points.open(square(clustered(n)), schema), budget)


@pytest.mark.parametrize("name", EVERY)
def test_every_method_pays_at_most_its_budget_and_counts_what_is_there(name: str) -> None:
    release = fit(EVERY[name], epsilon=Fraction(7, 3))
    assert release.receipt.epsilon <= Fraction(7, 3)
    if name != "simple-tree":  # which stops when no node is worth splitting
        assert release.receipt.epsilon == Fraction(7, 3)
    whole = release.count(Box((0, 0), (1, 1))).value
    # the noisiest of them adds up 4096 cells or 100 coarse ones; all stay within a tenth of the points
    assert whole == pytest.approx(3000, rel=0.1)
    half = release.count(Box((0, 0), (0.5, 1))).value + release.count(Box((0.5, 0), (1, 1))).value
    if name != "simple-tree":  # whose inner counts do not add up
        assert half == pytest.approx(whole)
    assert release.sample(50, seed=1).height == 50


@pytest.mark.parametrize("name", EVERY)
def test_every_release_is_saved_and_loaded(name: str, tmp_path: Path) -> None:
    release = fit(EVERY[name], n=300)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    box = Box((0.1, 0.3), (0.7, 0.95))
    assert again.count(box) == release.count(box)
    assert again.query("x < 0.3 or y > 0.6").value == pytest.approx(release.query("x < 0.3 or y > 0.6").value)


@pytest.mark.parametrize("name", EVERY)
def test_categories_are_refused_before_anything_is_spent(name: str) -> None:
    if name == "simple-tree":
        return
    budget = Budget(1, randomness=Randomness.seeded(1))
    with pytest.raises(PenstockError, match="means"):
        EVERY[name].fit(Points.open(rides(10), RIDES), budget)
    assert budget.left[0] == 1


def test_users_need_noise_for_all_their_points() -> None:
    schema = Schema.from_yaml("unit: {protects: user, column: person, at_most: 4}\n" + SQUARE.to_yaml())
    frame = square(clustered(80)).with_columns(person=np.arange(80) // 4)
    for name, method in EVERY.items():
        budget = Budget(1, randomness=Randomness.seeded(1))
        release = method.fit(Points.open(frame, schema), budget)
        moves = {Fraction(charge.sensitivity) for _, charge in release.receipt.charges()}
        assert all(each % 4 == 0 for each in moves), name


# --- adaptive grid ---


def test_adaptive_grid_inference_of_the_worked_example() -> None:
    # alpha 1/2, 3 x 3 parts, v = 100, the parts add up to 94: weight 0.9, v' = 99.4, each part + 0.6
    parts = np.linspace(5, 94 * 2 / 9 - 5, 9)
    assert parts.sum() == pytest.approx(94)
    better = agreed(np.array([100.0]), parts, np.array([3]), 0.5)
    assert better.sum() == pytest.approx(99.4)
    assert (better - parts).tolist() == pytest.approx([0.6] * 9)


def test_adaptive_grid_sides_follow_the_published_rules() -> None:
    assert coarse_side(1000, 0.1) == 10
    assert coarse_side(1_634_165, 0.8) == 91  # a quarter of ceil(361.57), rounded up
    assert fine_sides(np.array([-5.0, 0.0, 4.0, 1000.0]), 0.5).tolist() == [1, 1, 1, 10]


@pytest.mark.parametrize("side", [10, 100, 1000])
def test_an_adaptive_grid_has_a_bounded_number_of_cells_whatever_the_noise(side: int) -> None:
    """Noise of a budget of 1e-12 for users of a million points is all there is to see."""
    counts = np.linspace(-9e18, 9e18, side**2)
    inner = fine_sides(counts, 1e-12)
    assert MOST_CELLS / 2 < (inner**2).sum() <= MOST_CELLS
    assert np.all(np.diff(inner) >= 0)
    assert np.all(inner >= 1)


def test_a_patchwork_counts_every_point_in_its_cell() -> None:
    points = clustered(2000)
    inner = np.random.default_rng(0).integers(1, 5, 36)
    sealed = Points.open(square(points), SQUARE).patchwork(6, inner)
    counts = open_seal(sealed)
    assert sealed.sensitivity.l1 == 1
    from penstock.kinds.points.space import Space

    partition = patchwork(Space.of(SQUARE, deepest=0), 6, inner)
    low, high = partition.low[partition.leaves] / 2**30, partition.high[partition.leaves] / 2**30
    for cell in range(0, len(counts), 7):
        inside = ((points >= low[cell]) & (points < high[cell])).all(axis=1).sum()
        assert counts[cell] == inside
    assert np.prod(high - low, axis=1).sum() == pytest.approx(1)


# --- hierarchy ---


def test_hierarchy_has_the_published_numbers_of_cells() -> None:
    assert 6**12 == 2_176_782_336 == (6**3) ** 4
    assert 64**3 == 512**2 == (Hierarchy().fan ** Hierarchy().height) ** 2


def test_hierarchy_estimates_are_the_least_squares_solution() -> None:
    rng = np.random.default_rng(2)
    measured = [rng.normal(size=(2,)), rng.normal(size=(4,)), rng.normal(size=(8,))]
    rows = np.concatenate([np.kron(np.eye(2), np.ones(4)), np.kron(np.eye(4), np.ones(2)), np.eye(8)])
    expected, *_ = np.linalg.lstsq(rows, np.concatenate(measured), rcond=None)
    assert consistent(measured, 2).tolist() == pytest.approx(expected.tolist())


def test_hierarchy_estimates_in_two_dimensions_are_least_squares_too() -> None:
    rng = np.random.default_rng(3)
    measured = [rng.normal(size=(2, 2)), rng.normal(size=(4, 4))]
    coarse = np.kron(np.kron(np.eye(2), np.ones(2)), np.kron(np.eye(2), np.ones(2)))
    rows = np.concatenate([coarse, np.eye(16)])
    expected, *_ = np.linalg.lstsq(rows, np.concatenate([each.ravel() for each in measured]), rcond=None)
    assert consistent(measured, 2).ravel().tolist() == pytest.approx(expected.tolist())


def test_a_hierarchy_too_large_for_memory_is_refused() -> None:
    with pytest.raises(UsageError, match="smaller fan or height"):
        fit(Hierarchy(fan=64, height=3))


# --- Privelet ---


def test_haar_transform_of_the_worked_example() -> None:
    assert haar(np.array([1, 2, 3, 4]), [0]).tolist() == [10, -4, -1, -1]
    counts = np.random.default_rng(0).integers(0, 9, (8, 4, 2))
    for axes in ([0], [1, 2], [0, 1, 2]):
        assert inverse(haar(counts, axes).astype(float), axes).tolist() == counts.tolist()


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
def test_a_point_changes_as_many_coefficients_as_the_noise_is_for(axes: list[int]) -> None:
    counts = np.zeros((8, 4), dtype=np.int64)
    moves = np.prod([1 + int(log(counts.shape[axis], 2)) for axis in axes])
    for cell in product(range(8), range(4)):
        more = counts.copy()
        more[cell] += 1
        change = np.abs(haar(more, axes) - haar(counts, axes))
        assert change.sum() == moves
        assert change.max() == 1


def test_short_axes_stay_untransformed() -> None:
    # 1024 > 11^2 * 12 / 2 = 726; 32 <= 6^2 * 7 / 2 = 126
    assert transformed(1024)
    assert not transformed(32)
    release = fit(Privelet(bits=10))
    assert release.deviation is not None  # plain noise on every cell
    assert fit(Privelet(bits=10, hybrid=False)).deviation is None


# --- SimpleTree ---


def test_simple_tree_pays_for_every_level() -> None:
    release = fit(SimpleTree(height=5), epsilon=5)
    levels = [charge.epsilon for _, charge in release.receipt.charges()]
    assert set(levels) == {Fraction(1)}
    assert len(levels) <= 5
    assert release.partition.shape.depth <= 4
    assert release.parameters["theta"] == pytest.approx(
        2 * 2**0.5
    )  # two deviations of Laplace noise of scale 1


def test_simple_tree_answers_from_the_topmost_node_inside_the_box() -> None:
    release = fit(SimpleTree(height=4))
    assert release.count(Box((0, 0), (1, 1))).value == release.nodes[0]
    assert release.query("x >= 0").value == pytest.approx(release.nodes[0])
    box = release.count(Box((0, 0), (0.5, 0.8)))
    assert release.query("x < 0.5 and y < 0.8").value == pytest.approx(box.value)
    leaves = fit(SimpleTree(height=4, inner=False))
    assert leaves.count(Box((0, 0), (1, 1))).value == leaves.counts.sum()


# --- DAWA ---


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 4), (2, 4), (3, 2), (4, 2)])
def test_the_hilbert_curve_visits_neighbours(dimensions: int, bits: int) -> None:
    axes = [np.arange(1 << bits)] * dimensions
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimensions)
    place = hilbert(cells, bits)
    assert sorted(place.tolist()) == list(range(len(cells)))
    assert (np.abs(np.diff(cells[np.argsort(place)], axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("length", [1, 2, 16, 32, 128])
def test_deviations_of_windows_are_exact(length: int) -> None:
    values = np.random.default_rng(length).integers(0, 40, 150) ** 2
    found = Windows(values).deviations(length)
    expected = [
        np.abs(length * values[s : s + length] - values[s : s + length].sum()).sum()
        for s in range(len(values) - length + 1)
    ]
    assert found.tolist() == expected


PARTITIONS = ((0, 1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2), (0, 2), (0,))
"""The first cells of the stretches of all partitions of four cells into lengths 1, 2 and 4."""


def law(counts: tuple[int, ...], epsilon: float, price: float, *, reference: bool = False) -> np.ndarray:
    """The exact probabilities of all partitions of four cells, by adding up all noise on single cells.

    Given the noise of the first and of the last cell, the left half, the right half, the middle pair
    and the whole are independent. Everything is counted in quarters.
    """
    reach = 15.0
    one, two, four = (
        (None if reference else 2 / epsilon), *(
            (2 - 1 / size - 1 / 4) / epsilon if reference else (4 - 2 / size) / epsilon for size in (2, 4)
        )
    )  # fmt: skip
    values = np.array(counts)

    def dev(a: int, b: int) -> float:
        return float(np.abs(values[a:b] - values[a:b].mean()).sum())

    def noise(scale: float | None, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Multiples of `step` quarters and their probabilities."""
        if scale is None:
            return np.array([0]), np.array([1.0])
        most = int(reach * scale * 4 / step)
        steps = np.arange(-most, most + 1)
        weight = np.exp(-np.abs(steps) * step / 4 / scale)
        return steps * step, weight / weight.sum()

    singles, chance = noise(one, 4)
    pair, pair_chance = noise(two, 2)
    whole, whole_chance = noise(four, 1)
    cost = {(a, b): round(4 * (dev(a, b) + price)) for a in range(4) for b in (a + 1, a + 2, 4) if a < b <= 4}
    low, size = -500, 1400
    total = np.zeros(6)

    def place(offset: int, at: np.ndarray, weights: np.ndarray) -> np.ndarray:
        table = np.zeros(size)
        np.add.at(table, at + offset - low, weights)
        return table

    for (z0, p0), (z3, p3) in product(zip(singles, chance, strict=True), repeat=2):
        left = [place(cost[0, 1] + cost[1, 2] + z0, singles, chance), place(cost[0, 2], pair, pair_chance)]
        right = [place(cost[2, 3] + cost[3, 4] + z3, singles, chance), place(cost[2, 4], pair, pair_chance)]
        rest = [
            place(cost[0, 1] + cost[1, 3] + cost[3, 4] + z0 + z3, pair, pair_chance),
            place(cost[0, 4], whole, whole_chance),
        ]
        halves = np.zeros((2, 2, 2 * size - 1))
        for i, j in product(range(2), repeat=2):
            mine = left[i] * _above(left[1 - i], strict=i == 1)
            other = right[j] * _above(right[1 - j], strict=j == 1)
            halves[i, j] = _convolved(mine, other)
        both = [
            halves[i, j][-low : size - low] for i, j in product(range(2), repeat=2)
        ]  # back on the same axis
        beyond = [_above(each, strict=False) for each in rest]
        for number, share in zip((0, 3, 1, 4), both, strict=True):
            total[number] += p0 * p3 * float(np.sum(share * beyond[0] * beyond[1]))
        halved = np.sum(both, axis=0)
        total[2] += p0 * p3 * float(np.sum(rest[0] * _above(halved, strict=True) * beyond[1]))
        total[5] += (
            p0 * p3 * float(np.sum(rest[1] * _above(halved, strict=True) * _above(rest[0], strict=True)))
        )
    return total


def _above(table: np.ndarray, *, strict: bool) -> np.ndarray:
    """The probability of a cost at least (strictly: beyond) each place."""
    tail = np.cumsum(table[::-1])[::-1]
    return np.append(tail[1:], 0.0) if strict else tail


def _convolved(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    from scipy.signal import fftconvolve

    return np.maximum(fftconvolve(first, second), 0.0)


NEIGHBOURS = (
    ((0, 0, 0, 0), (0, 0, 1, 0)),
    ((2, 2, 2, 2), (2, 3, 2, 2)),
    ((20, 25, 10, 10), (21, 25, 10, 10)),
    ((0, 5, 0, 5), (0, 5, 0, 6)),
)


@pytest.mark.parametrize(("first", "second"), NEIGHBOURS)
def test_exact_probabilities_of_partitions_differ_by_at_most_epsilon(first: Any, second: Any) -> None:
    epsilon = 4.0
    one, two = law(first, epsilon, 0.5), law(second, epsilon, 0.5)
    assert one.sum() == pytest.approx(1, abs=1e-3)  # ties between sums aside
    kept = (one > 1e-9) | (two > 1e-9)
    assert np.abs(np.log(one[kept] / two[kept])).max() <= epsilon


def test_without_noise_on_single_cells_the_partition_gives_a_point_away() -> None:
    """The code in circulation: Pr[all singletons] on (0, 0, 1, 0) against (0, 0, 0, 0), epsilon 1."""
    one = law((0, 0, 1, 0), 1.0, 0.25, reference=True)[0]
    two = law((0, 0, 0, 0), 1.0, 0.25, reference=True)[0]
    assert log(one / two) > 1.5


def test_drawn_partitions_have_the_exact_probabilities() -> None:
    epsilon, counts, runs = 4, (20, 25, 10, 10), 1500
    expected = law(counts, epsilon, 0.5)
    sealed = Sealed(
        np.array(counts), Sensitivity.of(1), Relation.ADD_REMOVE, because="a point lies in one cell"
    )
    source, found = Randomness.seeded(5), np.zeros(6)
    for _ in range(runs):
        starts = least_uneven(sealed, Budget(epsilon, randomness=source), length=4, price=Fraction(1, 2))
        found[PARTITIONS.index(tuple(starts.tolist()))] += 1
    # six binomial counts, beyond 6 standard deviations: below 2e-8 together; plus a margin for ties
    assert (np.abs(found - runs * expected) <= 6 * np.sqrt(runs * expected) + 0.005 * runs).all()


def test_the_cheapest_partition_is_the_cheapest() -> None:
    rng = np.random.default_rng(1)
    costs = [rng.integers(0, 50, 8 - size + 1).tolist() for size in (1, 2, 4, 8)]
    starts = _cheapest(costs, [1, 2, 4, 8], 8)

    def price(firsts: list[int]) -> float:
        ends = [*firsts[1:], 8]
        return sum(costs[(b - a).bit_length() - 1][a] for a, b in zip(firsts, ends, strict=True))

    def every(begin: int) -> Any:
        if begin == 8:
            yield []
        for size in (1, 2, 4, 8):
            if begin + size <= 8:
                yield from ([begin, *rest] for rest in every(begin + size))

    assert price(starts.tolist()) == min(price(each) for each in every(0))


def test_even_data_are_merged_and_uneven_ones_are_not() -> None:
    even = Sealed(
        np.full(64, 1000), Sensitivity.of(1), Relation.ADD_REMOVE, because="a point lies in one cell"
    )
    uneven = Sealed(
        np.arange(64) % 2 * 1000, Sensitivity.of(1), Relation.ADD_REMOVE, because="a point lies in one cell"
    )
    price = Fraction(1)
    merged = least_uneven(even, Budget(50, randomness=Randomness.seeded(1)), length=64, price=price)
    apart = least_uneven(uneven, Budget(50, randomness=Randomness.seeded(1)), length=64, price=price)
    assert len(merged) < 5
    assert len(apart) == 64


def test_level_weights_favour_what_the_questions_need() -> None:
    leaves = level_weights(np.eye(16))
    total = level_weights(np.ones((1, 16)))
    assert sum(leaves) == sum(total) == 1
    assert leaves[-1] > Fraction(9, 10)
    assert total[0] > Fraction(9, 10)
    ranges = np.array(
        [[float(a <= i < b) for i in range(64)] for a in range(0, 60, 7) for b in range(a + 5, 64, 9)]
    )
    assert Fraction(1, 2) < level_weights(ranges)[-1] < 1  # short and long ones: not the leaves alone


def test_weights_of_greedy_levels_lower_the_error_they_are_meant_to_lower() -> None:
    rng = np.random.default_rng(0)
    ends = np.sort(rng.integers(0, 257, (80, 2)), axis=1)
    questions = ((np.arange(256) >= ends[:, :1]) & (np.arange(256) < ends[:, 1:])).astype(float)

    def error(weights: list[Fraction]) -> float:
        rows = np.concatenate(
            [float(w) * np.kron(np.eye(1 << level), np.ones(256 >> level)) for level, w in enumerate(weights)]
        )
        return float(np.sum(questions * np.linalg.solve(rows.T @ rows, questions.T).T))

    flat = [Fraction(0)] * 8 + [Fraction(1)]
    even = [Fraction(1, 9)] * 9
    assert error(level_weights(questions)) < 0.8 * min(error(flat), error(even))


def test_settled_leaves_are_the_weighted_least_squares_solution() -> None:
    rng = np.random.default_rng(6)
    measured = [(rng.normal(size=1), 3.0), None, (rng.normal(size=4), 0.5), (rng.normal(size=8), 2.0)]
    rows, values = [], []
    for level, each in enumerate(measured):
        if each is not None:
            rows.append(np.kron(np.eye(1 << level), np.ones(8 >> level)) / each[1] ** 0.5)
            values.append(each[0] / each[1] ** 0.5)
    expected, *_ = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)
    assert settle(measured).tolist() == pytest.approx(expected.tolist())


def test_the_greedy_hierarchy_pays_all_of_its_budget_and_is_near_the_truth() -> None:
    counts = np.arange(11) * 100
    sealed = Sealed(counts, Sensitivity.of(1), Relation.ADD_REMOVE, because="a point lies in one cell")
    budget = Budget(5, randomness=Randomness.seeded(3))
    estimates = greedy_hierarchy(sealed, np.eye(11), budget, 11)
    assert budget.receipt().epsilon == 5
    # noise of scale 1/4 or so at the leaves: 40 is beyond e^-100
    assert np.abs(estimates - counts).max() < 40


def test_a_workload_of_another_dimension_is_refused_before_anything_is_spent() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    method = Dawa(bits=4, workload=(np.zeros((3, 3)), np.ones((3, 3))))
    with pytest.raises(UsageError, match="dimensions"):
        method.fit(Points.open(square(clustered(10)), SQUARE), budget)
    assert budget.left[0] == 1


def test_a_workload_is_used_whole_or_where_it_is_too_long_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.kinds.points.baselines import dawa

    seen: list[Any] = []

    def noted(sealed: Any, questions: Any, pay: Budget, length: int) -> Any:
        seen.append(questions)
        return greedy_hierarchy(sealed, questions, pay, length)

    monkeypatch.setattr(dawa, "greedy_hierarchy", noted)
    low = np.column_stack([np.linspace(0, 0.5, 300), np.zeros(300)])
    fit(Dawa(bits=6, workload=(low, low + 0.5)), n=200)
    assert len(seen[0]) == 300
    monkeypatch.setattr(dawa, "MOST_SHARES", 3 * seen[0].shape[1])
    fit(Dawa(bits=6, workload=(low, low + 0.5)), n=200)
    assert np.array_equal(seen[1], seen[0][[0, 150, 299]])
    with pytest.raises(UsageError, match="at least one box"):
        fit(Dawa(bits=6, workload=(low[:0], low[:0])), n=5)


def test_every_baseline_is_reached_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name, with the parameters of its class, like any method; the plain list does not recommend them."""
    from penstock import catalogue
    from penstock.cli import run
    from penstock.contracts.plug import method_class

    baselines = catalogue.methods("points", role="baseline")
    assert {info.name for info in baselines if info.where.startswith("penstock.kinds.")} == set(EVERY)
    for name, method in EVERY.items():
        assert method_class(catalogue.method(name)) is type(method)
    square(clustered(400)).write_csv(tmp_path / "points.csv")
    SQUARE.save(tmp_path / "points.yaml")
    words = ["--schema", str(tmp_path / "points.yaml"), "--epsilon", "3", "--method", "hierarchy"]
    words += ["--param", "fan=2", "--param", "height=2", "--seed", "1", "--out", str(tmp_path / "release")]
    assert run(["release", str(tmp_path / "points.csv"), *words]) == 0
    assert load(tmp_path / "release").parameters == {"fan": 2, "height": 2}
    capsys.readouterr()
    assert run(["methods", "--baselines"]) == 0
    shown = capsys.readouterr().out
    assert all(info.name in shown for info in catalogue.methods())
    assert run(["methods"]) == 0
    assert "privelet" not in capsys.readouterr().out
