"""Models that graphs are drawn from: moments, fits, samplers, and what a graph of blocks keeps."""

from __future__ import annotations

from itertools import combinations, product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.kinds.graph.known import graph

from penstock.errors import UsageError
from penstock.kinds.graph import counting
from penstock.kinds.graph.models import degree_triangle, kronecker
from penstock.kinds.graph.models.degree_triangle import Closeness
from penstock.kinds.graph.models.kronecker import FEATURES, Initiator, draw, fit, levels_of, pairs_in
from penstock.kinds.graph.ordering import AscendingDegrees
from penstock.kinds.graph.simple import SimpleGraph

WORKED = {
    ((0.9, 0.5, 0.2), 2): (1.6, 0.8525, 0.075625, 0.075625),
    ((0.9, 0.5, 0.2), 3): (3.965, 3.993, 0.25039438, 1.28195687),
    ((0.99, 0.45, 0.25), 3): (3.94686, 3.94000307, 0.24981974, 1.23461064),
    ((1.0, 1.0, 1.0), 3): (28, 168, 56, 280),
    ((0.99, 0.45, 0.25), 14): (21113.19, 263961.69, 376.66, 3391432.5),
    ((1.0, 0.4674, 0.2790), 13): (15325.75, 212058.27, 516.49, 2571218.7),
    ((1.0, 0.63, 0.0), 13): (20061.75, 1002811.3, 4422.72, 64925269),
}


def probabilities(initiator: Initiator, levels: int) -> np.ndarray:
    found = np.ones((1, 1))
    for _ in range(levels):
        found = np.kron(found, [[initiator.a, initiator.b], [initiator.b, initiator.c]])
    return found


@pytest.mark.parametrize(("entries", "levels"), WORKED)
def test_expected_counts(entries: tuple[float, float, float], levels: int) -> None:
    found = Initiator(*entries).expected(levels)
    for name, value in zip(FEATURES, WORKED[entries, levels], strict=True):
        assert found[name] == pytest.approx(value, rel=2e-5)


def test_expected_counts_by_listing_all_graphs_of_four_nodes() -> None:
    initiator = Initiator(0.9, 0.5, 0.2)
    chances = probabilities(initiator, 2)
    pairs = list(combinations(range(4), 2))
    total = dict.fromkeys(FEATURES, 0.0)
    for present in product((0, 1), repeat=6):
        weight = np.prod([chances[p] if x else 1 - chances[p] for p, x in zip(pairs, present, strict=True)])
        degrees = [sum(x for p, x in zip(pairs, present, strict=True) if node in p) for node in range(4)]
        linked = {p for p, x in zip(pairs, present, strict=True) if x}
        total["edge"] += weight * len(linked)
        total["2-star"] += weight * sum(comb(d, 2) for d in degrees)
        total["3-star"] += weight * sum(comb(d, 3) for d in degrees)
        triples = combinations(range(4), 3)
        total["triangle"] += weight * sum(set(combinations(three, 2)) <= linked for three in triples)
    assert initiator.expected(2) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("levels", range(1, 8))
def test_expected_counts_by_sums_over_the_matrix(levels: int) -> None:
    initiator = Initiator(0.97, 0.52, 0.31)
    p = probabilities(initiator, levels)
    np.fill_diagonal(p, 0)
    one, two, three = p.sum(axis=1), (p**2).sum(axis=1), (p**3).sum(axis=1)
    found = initiator.expected(levels)
    assert found["edge"] == pytest.approx(one.sum() / 2)
    assert found["2-star"] == pytest.approx(((one**2 - two) / 2).sum(), rel=1e-8, abs=1e-12)
    assert found["triangle"] == pytest.approx(np.trace(p @ p @ p) / 6, rel=1e-8, abs=1e-12)
    assert found["3-star"] == pytest.approx(
        ((one**3 - 3 * one * two + 2 * three) / 6).sum(), rel=1e-8, abs=1e-12
    )


PUBLISHED = {
    "GrQc": ((14484, 229867, 48260, 2482738), 13, (1.0, 0.4674, 0.2790)),
    "HepTh": ((25973, 299356, 28339, 2098335), 14, (1.0, 0.4012, 0.3789)),
    "AS20": ((12572, 2059364, 6584, 674974421), 13, (1.0, 0.6320, 0.0)),
    "karate": ((78, 528, 45, 1764), 6, (1.0, 0.6522, 0.0784)),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_fit_reproduces_published_parameters(name: str) -> None:
    counts, levels, entries = PUBLISHED[name]
    found, far = fit({f: float(c) for f, c in zip(FEATURES, counts, strict=True)}, levels)
    assert (found.a, found.b, found.c) == pytest.approx(entries, abs=5.1e-5)
    if name == "karate":
        assert far == pytest.approx(0.22591, abs=5e-6)


@pytest.mark.parametrize("distance", ["squared", "absolute"])
@pytest.mark.parametrize("norm", ["F", "F2", "E", "E2"])
def test_every_objective_finds_the_model_that_made_the_counts(
    distance: kronecker.Distance, norm: kronecker.Norm
) -> None:
    wanted = Initiator(0.95, 0.5, 0.2)
    found, far = fit(wanted.expected(10), 10, distance=distance, norm=norm)
    assert far < 1e-4
    assert (found.a, found.b, found.c) == pytest.approx((0.95, 0.5, 0.2), abs=2e-3)


def test_counts_of_zero_or_less_are_left_out() -> None:
    wanted = Initiator(0.95, 0.5, 0.2).expected(10)
    found, _ = fit({**wanted, "triangle": -40.0}, 10)
    assert (found.a, found.b, found.c) == pytest.approx((0.95, 0.5, 0.2), abs=5e-3)
    for nothing in (dict.fromkeys(FEATURES, 0.0), {**wanted, "edge": -1.0}):
        assert fit(nothing, 10)[0] == Initiator(0.0, 0.0, 0.0)
    assert fit(wanted, 0)[0] == Initiator(0.0, 0.0, 0.0)
    only = fit({"edge": 100.0, "2-star": 0.0, "triangle": 0.0, "3-star": -5.0}, 6)[0]
    assert only.expected(6)["edge"] == pytest.approx(100, rel=1e-3)


@pytest.mark.parametrize("levels", range(1, 12))
def test_classes_hold_every_pair_once(levels: int) -> None:
    shapes = [(i, j, levels - i - j) for j in range(1, levels + 1) for i in range(levels - j + 1)]
    assert sum(pairs_in(shape) for shape in shapes) == 2**levels * (2**levels - 1) // 2
    if levels <= 5:
        listed = np.concatenate([kronecker._every(shape) for shape in shapes])
        assert np.unique(listed).size == 2**levels * (2**levels - 1) // 2


def test_every_pair_of_four_nodes_has_its_probability() -> None:
    """Chi-square over 6 coins; fails by chance with probability 1e-6."""
    initiator, rng, draws = Initiator(0.9, 0.5, 0.2), np.random.default_rng(5), 20_000
    seen = np.zeros((4, 4))
    for _ in range(draws):
        ones, others = draw(initiator, 2, rng)
        seen[ones, others] += 1
    wanted = probabilities(initiator, 2)
    upper = np.triu_indices(4, k=1)
    z = (seen[upper] - draws * wanted[upper]) / np.sqrt(draws * wanted[upper] * (1 - wanted[upper]))
    assert stats.chi2.sf(float((z**2).sum()), 6) > 1e-6


def test_drawn_graphs_have_the_expected_counts() -> None:
    """Means of 300 graphs within six standard errors: 2e-9 by chance for each of four normal means."""
    initiator, rng = Initiator(0.99, 0.55, 0.3), np.random.default_rng(8)
    found = []
    for _ in range(300):
        made = SimpleGraph.of(64, *draw(initiator, 6, rng))
        found.append([made.m, counting.stars(made, 2), counting.triangles(made), counting.stars(made, 3)])
    values = np.array(found, dtype=float)
    errors = values.std(axis=0, ddof=1) / np.sqrt(300)
    wanted = list(initiator.expected(6).values())
    assert np.all(np.abs(values.mean(axis=0) - wanted) < 6 * errors)


def test_ends_of_the_range() -> None:
    rng = np.random.default_rng(1)
    assert draw(Initiator(1.0, 1.0, 1.0), 4, rng)[0].size == 120
    assert draw(Initiator(0.0, 0.0, 0.0), 9, rng)[0].size == 0
    assert draw(Initiator(1.0, 1.0, 1.0), 0, rng)[0].size == 0
    assert [levels_of(n) for n in (1, 2, 3, 4, 5)] == [0, 1, 2, 2, 3]
    with pytest.raises(UsageError):
        Initiator(1.2, 0.0, 0.0)


# Blocks ----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.floats(0, 1), st.integers(0, 99))
def test_any_degrees_can_be_drawn(degrees: list[int], closeness: float, seed: int) -> None:
    """Simple graphs come out, and no node has more links than it should."""
    wanted = np.sort(np.minimum(np.array(degrees, dtype=np.int64), len(degrees) - 1))
    ones, others = degree_triangle.draw(wanted, Closeness(closeness), np.random.default_rng(seed))
    assert np.all(ones < others)
    keys = ones * len(degrees) + others
    assert np.unique(keys).size == keys.size
    found = np.bincount(np.concatenate([ones, others]), minlength=len(degrees))
    assert np.all(found <= wanted)


def test_links_inside_blocks_are_independent_coins() -> None:
    """Sparse, half full, nearly full and full blocks: every set of links is as frequent as coins make it.

    Exact binomial tests of the 8, 64 and 1,024 sets of links of blocks of 3, 4 and 5 nodes, six chances each;
    together they fail by chance with probability 1e-6 at most.
    """
    chances, many = (0.0, 0.08, 0.5, 0.8, 0.97, 1.0), 12_000
    kinds = [(size, chance) for size in (3, 4, 5) for chance in chances]
    sizes = np.repeat([size for size, _ in kinds], many)
    order = np.random.default_rng(7).permutation(sizes.size)  # neighbouring blocks are of all kinds
    sizes, kind = sizes[order], np.repeat(np.arange(len(kinds)), many)[order]
    blocks = degree_triangle.Blocks(np.cumsum(sizes) - sizes, sizes)
    drawn = degree_triangle._inside(blocks, np.array([c for _, c in kinds])[kind], np.random.default_rng(8))
    block = np.searchsorted(blocks.begins, drawn[0], side="right") - 1
    low, high = (ends - blocks.begins[block] for ends in drawn)
    assert np.all((low >= 0) & (low < high) & (high < sizes[block]))
    masks = np.bincount(block, weights=2.0 ** (high * (high - 1) // 2 + low), minlength=sizes.size)
    tests = sum(2 ** (size * (size - 1) // 2) for size, _ in kinds)
    for place, (size, chance) in enumerate(kinds):
        pairs = size * (size - 1) // 2
        seen = np.bincount(masks[kind == place].astype(np.int64), minlength=2**pairs)
        links = np.array([mask.bit_count() for mask in range(2**pairs)])
        law = stats.binom(many, chance**links * (1 - chance) ** (pairs - links))
        assert np.all(np.minimum(law.cdf(seen), law.sf(seen - 1)) > 0.5e-6 / tests)


def test_graphs_of_blocks_keep_their_degrees() -> None:
    """Also where blocks are nearly cliques: only an odd end, if there is one, finds no partner."""
    degrees = np.sort(np.random.default_rng(3).zipf(2.0, size=3000).clip(1, 120)).astype(np.int64)
    for step in (0.2, 1.0, 2.0, 2.9):
        rng = np.random.default_rng(4)
        ones, others = degree_triangle.draw(degrees, degree_triangle._at(step), rng)
        found = np.bincount(np.concatenate([ones, others]), minlength=degrees.size)
        assert np.all(found <= degrees)
        assert int((degrees - found).sum()) == degrees.sum() % 2


def test_a_seed_draws_the_same_graph_again() -> None:
    degrees = np.sort(np.random.default_rng(5).integers(0, 30, size=400))
    for step in (0.3, 2.5):
        first, again, other = (
            degree_triangle.draw(degrees, degree_triangle._at(step), np.random.default_rng(seed))
            for seed in (1, 1, 2)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)


def test_karate_keeps_its_degrees_and_about_its_triangles() -> None:
    degrees = np.sort(graph("karate").degrees)
    closeness = degree_triangle.fitted(degrees, 45)
    found = []
    for seed in range(20):
        made = SimpleGraph.of(34, *degree_triangle.draw(degrees, closeness, np.random.default_rng(seed)))
        assert made.m >= 77
        found.append(counting.triangles(made))
    assert 35 < np.mean(found) < 65


def test_more_closeness_makes_more_triangles() -> None:
    degrees = np.sort(np.random.default_rng(2).zipf(2.2, size=800).clip(1, 80)).astype(np.int64)
    found = []
    for step in (0.0, 0.5, 1.0, 3.0):
        drawn = [
            degree_triangle.draw(degrees, degree_triangle._at(step), np.random.default_rng(seed))
            for seed in range(8)
        ]
        found.append(sum(counting.triangles(SimpleGraph.of(800, *ends)) for ends in drawn))
    assert found == sorted(found)
    assert found[-1] > 1.5 * found[0]


# Degrees in order ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noisy", "ordered"),
    [
        ([9, 14, 10], [9, 12, 12]),
        ([14, 9, 10, 15], [11, 11, 11, 15]),
        ([9, 10, 14], [9, 10, 14]),
        ([-3, -1, 2], [-3, -1, 2]),
    ],
)
def test_the_nearest_ascending_sequence(noisy: list[int], ordered: list[int]) -> None:
    found = AscendingDegrees.nearest(np.array(noisy))
    assert found.values.tolist() == ordered
    assert found.possible.tolist() == [min(max(0, value), len(noisy) - 1) for value in ordered]


@given(st.lists(st.integers(-50, 80), min_size=1, max_size=80))
def test_ascending_degrees_are_possible_and_keep_totals(noisy: list[int]) -> None:
    found = AscendingDegrees.nearest(np.array(noisy))
    assert int(found.totals.sum()) == sum(noisy)
    assert np.all(np.diff(found.values) >= -1e-9)
    whole = found.whole
    assert np.all(np.diff(whole) >= 0)
    assert whole.size == len(noisy)
    assert int(whole.min()) >= 0
    assert int(whole.max()) <= len(noisy) - 1
