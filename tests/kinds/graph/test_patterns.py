"""Ladders of patterns: the worked examples, every graph of up to six nodes, and the forgotten case."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from math import comb, exp

import numpy as np
import pytest
from scipy import stats
from tests.kinds.graph import brute
from tests.kinds.graph.known import GRAPHS, graph

from penstock.audit.replay import NONE, Tampering
from penstock.errors import UsageError
from penstock.kinds.graph import counting
from penstock.kinds.graph.audits import FOUR, ONE_MORE, features
from penstock.kinds.graph.audits.ladders import (
    GADGETS,
    LadderLoss,
    RungMove,
    different_graphs,
    gadget,
    graph_of,
    neighbouring,
    published,
)
from penstock.kinds.graph.compiled import closed
from penstock.kinds.graph.patterns import CustomPattern, KTriangle, Triangle, pattern
from penstock.kinds.graph.simple import SimpleGraph
from penstock.privacy.laws.rungs import OnRungs, Rungs
from penstock.privacy.mechanisms import ladder
from penstock.privacy.randomness.generator import Randomness

COUNTS = {
    "triangle": brute.clique(3),
    "2-star": brute.star(2),
    "3-star": brute.star(3),
    "4-star": brute.star(4),
    "4-clique": brute.clique(4),
    "5-clique": brute.clique(5),
    "2-triangle": brute.k_triangle(2),
    "3-triangle": brute.k_triangle(3),
}
EXACT = ("triangle", "2-star", "3-star", "4-star")

WORKED = {
    ("figure", "triangle"): (0, [1, 2, 2], 3),
    ("figure", "2-star"): (2, [3, 4, 5], 6),
    ("figure", "3-star"): (0, [1, 3, 4], 6),
    ("karate", "triangle"): (45, [10, 11, 12, 13, 14, 15, 16, 17, 17, 18], 32),
    ("karate", "2-star"): (528, [33, 34, 35], 64),
    ("karate", "3-star"): (1764, [256, 273, 291, 310, 330, 351], 992),
    ("karate", "4-clique"): (11, [6, 16, 27, 39, 52, 66], 496),
    ("karate", "5-clique"): (2, [4, 49, 104, 170, 248, 339], 4960),
    ("karate", "2-triangle"): (151, [57, 97, 141, 189, 241, 297], 2480),
    ("karate", "3-triangle"): (198, [123], 34720),
    ("K5", "triangle"): (10, [], 3),
    ("K5", "2-star"): (30, [], 6),
    ("K5", "3-star"): (20, [], 6),
    ("K5", "4-clique"): (5, [], 3),
    ("K5", "5-clique"): (1, [], 1),
    ("K5", "2-triangle"): (30, [], 15),
    ("petersen", "triangle"): (0, [1, 2, 3, 4, 5, 5, 6, 6, 7, 7], 8),
    ("petersen", "4-clique"): (0, [0, 1, 3, 6, 10, 15], 28),
    ("petersen", "2-triangle"): (0, [0, 4, 12, 24, 40, 60], 140),
    ("petersen", "3-star"): (10, [6, 9, 13, 18, 24, 31], 56),
}


@pytest.mark.parametrize(("where", "name"), WORKED, ids=str)
def test_worked_examples(where: str, name: str) -> None:
    count, widths, limit = WORKED[where, name]
    rungs = pattern(name).rungs(graph(where))
    assert (rungs.value, rungs.limit) == (count, limit)
    assert rungs.widths[: len(widths)].tolist() == widths
    if not widths:
        assert rungs.widths.size == 0


def test_the_triangle_ladder_of_karate_reaches_its_limit_at_31() -> None:
    assert Triangle().rungs(graph("karate")).widths.size == 31


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5])
def test_counts_and_ladders_of_every_graph(name: str, nodes: int) -> None:
    """Counts are right; I_0 is the local sensitivity; I_t bounds it within t edits, and is it where
    claimed."""
    counts = brute.all_counts(COUNTS[name], nodes)
    truth = brute.sensitivities(counts, nodes, 2 * nodes)
    shape = pattern(name)
    widths = np.empty((counts.size, 2 * nodes + 1), dtype=np.int64)
    for number in range(counts.size):
        rungs = shape.rungs(graph_of(brute.links_of(number, nodes), nodes))
        assert rungs.value == counts[number]
        widths[number] = [rungs.width(t) for t in range(2 * nodes + 1)]
    assert shape.limit(nodes) == int(truth[0].max(initial=0))
    assert np.array_equal(widths[:, 0], truth[0])
    for t in range(2 * nodes + 1):
        assert np.all(widths[:, t] >= truth[t])
        if name in EXACT:
            assert np.array_equal(widths[:, t], truth[t])
    if nodes > 1:
        flips = brute._flips(nodes)
        for t in range(2 * nodes):
            assert np.all(widths[flips, t] <= widths[:, t + 1][:, None])


@pytest.mark.parametrize("name", COUNTS)
def test_ladders_of_every_graph_of_six_nodes(name: str) -> None:
    """All 32,768 of them: each has the ladder of its shape, of which there are 156."""
    nodes, most, shape = 6, 9, pattern(name)  # 9 edits and more: every ladder is at its limit
    shapes, of_graph = _shapes(nodes)
    assert len(shapes) == 156
    rungs = [shape.rungs(graph_of(links, nodes)) for links in shapes]
    counts = brute.all_counts(COUNTS[name], nodes)
    assert np.array_equal(np.array([each.value for each in rungs])[of_graph], counts)
    truth = brute.sensitivities(counts, nodes, most)
    widths = np.array([[each.width(t) for t in range(most + 1)] for each in rungs])[of_graph]
    assert np.array_equal(widths[:, 0], truth[0])
    for t in range(most + 1):
        assert np.all(widths[:, t] >= truth[t])
        if name in EXACT:
            assert np.array_equal(widths[:, t], truth[t])
    flips = brute._flips(nodes)
    for t in range(most):
        assert np.all(widths[flips, t] <= widths[:, t + 1][:, None])


@cache
def _shapes(nodes: int) -> tuple[list[tuple[tuple[int, int], ...]], np.ndarray]:
    """One graph of every shape, and for every graph the number of its shape: found by renaming nodes."""
    pairs = list(combinations(range(nodes), 2))
    place = {pair: number for number, pair in enumerate(pairs)}
    renamed = np.array(
        [
            [1 << place[min(order[i], order[j]), max(order[i], order[j])] for i, j in pairs]
            for order in permutations(range(nodes))
        ]
    )
    found, of_graph = [], np.full(1 << len(pairs), -1)
    for number in range(of_graph.size):
        if of_graph[number] < 0:
            linked = np.array([number >> place & 1 for place in range(len(pairs))])
            of_graph[renamed @ linked] = len(found)
            found.append(brute.links_of(number, nodes))
    return found, of_graph


def test_frontiers_agree_with_all_pairs_on_random_graphs() -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        n = int(rng.integers(2, 40))
        ends = rng.integers(n, size=(int(rng.integers(0, 4 * n)), 2))
        found = SimpleGraph.of(n, ends[:, 0], ends[:, 1])
        dense = found.adjacency.toarray()
        common, degrees = dense @ dense, dense.sum(axis=1)
        pairs = [(i, j) for i in range(n) for j in range(i)]
        triangle = Triangle().rungs(found)
        star = pattern("3-star").rungs(found)
        full = n - 2
        for t in range(0, 2 * n, 3):
            best, most = 0, 0
            for i, j in pairs:
                a, x = int(common[i, j]), int(dense[i, j])
                b = int(degrees[i] + degrees[j]) - 2 * a - 2 * x
                best = max(best, min(a + (t + min(t, b)) // 2, full))
                high, low = sorted((int(degrees[i]) - x, int(degrees[j]) - x), reverse=True)
                rest = max(0, t - (full - high))
                most = max(most, comb(min(high + t, full), 2) + comb(min(low + rest, full), 2))
            assert triangle.width(t) == best
            assert star.width(t) == most


def test_triangles_are_the_same_by_loops_and_by_products() -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 9, 60):
        ends = rng.integers(n, size=(4 * n, 2))
        found = SimpleGraph.of(n, ends[:, 0], ends[:, 1])
        dense = found.adjacency.toarray()
        expected = int(np.trace(dense @ dense @ dense)) // 6
        below = found.below
        assert counting.triangles_by_products(below) == expected
        assert closed(below.indptr, below.indices) == expected  # as it is, or compiled
        assert counting.triangles(found) == expected


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
@pytest.mark.parametrize(
    ("name", "worst"),
    [
        ("triangle", (0.3947, 1.3119)),
        ("2-star", (0.4284, 1.3418)),
        ("3-star", (0.4387, 1.4634)),
        ("4-clique", (0.4018, 1.3969)),
        ("2-triangle", (0.4746, 1.6983)),
    ],
)
def test_the_worst_loss_over_all_neighbours_of_five_nodes(
    name: str, worst: tuple[float, float], epsilon: str
) -> None:
    loss = LadderLoss(pattern(name), Fraction(epsilon))
    found = max(loss(pair.first, pair.second) for pair in neighbouring())
    assert found <= float(Fraction(epsilon))
    assert found == pytest.approx(worst[epsilon == "2"], abs=6e-5)


@pytest.mark.parametrize("k", GADGETS)
def test_the_published_bound_for_k_triangles_is_too_small(k: int) -> None:
    extra, nodes = GADGETS[k]
    pair = gadget(extra)
    before, after = (graph_of(links, nodes) for links in (pair.first, pair.second))
    assert published(k)(after).width(0) > published(k)(before).width(1)
    assert KTriangle(k).rungs(after).width(0) <= KTriangle(k).rungs(before).width(1)
    assert RungMove(published(k), nodes)(pair.first, pair.second) == 2
    assert RungMove(KTriangle(k).rungs, nodes)(pair.first, pair.second) == 1


def test_the_gadgets_have_the_published_numbers() -> None:
    pair = gadget(2)
    before, after = (graph_of(links, 12) for links in (pair.first, pair.second))
    assert (before.m, counting.most_common(before)) == (20, 2)
    assert [counting.k_triangle_move(each, 3, 3) for each in (before, after)] == [4, 12]
    assert [counting.k_triangle_move(each, 4, 3) for each in (before, after)] == [0, 4]


@pytest.mark.parametrize("where", ["figure", "petersen"])
def test_draws_follow_the_law(where: str) -> None:
    """Chi-square over the outputs near the value; fails by chance with probability 1e-6 each."""
    rungs = pattern("triangle" if where == "figure" else "4-clique").rungs(graph(where))
    rate, source = Fraction(1, 2), Randomness.seeded(11)
    drawn = Counter(source.draw(OnRungs(rungs, rate)) for _ in range(40_000))
    near = range(rungs.value - 14, rungs.value + 15)
    chances = [exp(ladder.law(rungs, rate, output)) for output in near]
    assert min(chances) * 40_000 > 20
    seen = [drawn[output] for output in near]
    expected = [40_000 * chance for chance in chances]
    seen.append(40_000 - sum(seen))
    expected.append(40_000 - sum(expected))
    assert stats.chisquare(seen, expected).pvalue > 1e-6


def test_the_law_of_the_published_figure() -> None:
    rungs = Triangle().rungs(graph("figure"))
    found = [round(exp(ladder.law(rungs, 0.5, output)), 6) for output in (0, 1, -2, 3, 5, 8, 11, 12)]
    assert found == [0.150584, 0.091334, 0.055397, 0.055397, 0.0336, 0.020379, 0.012361, 0.007497]


@pytest.mark.parametrize(
    ("epsilon", "exact", "median"), [(0.5, 0.010652, 41), (1.0, 0.027402, 17), (2.0, 0.075095, 8)]
)
def test_the_triangle_ladder_of_karate(epsilon: float, exact: float, median: int) -> None:
    rungs = Triangle().rungs(graph("karate"))
    assert exp(ladder.law(rungs, epsilon / 2, 45)) == pytest.approx(exact, abs=1e-6)
    assert ladder.margin(rungs, epsilon / 2, 0.5) == median


def test_margins_are_quantiles_of_the_law() -> None:
    for rungs in (
        Rungs(3, np.array([0, 0, 4]), 9),
        Triangle().rungs(graph("karate")),
        Rungs(0, np.array([], int), 5),
    ):
        for confidence in (0.3, 0.9, 0.99):
            m = ladder.margin(rungs, 0.25, confidence)
            within = sum(exp(ladder.law(rungs, 0.25, rungs.value + y)) for y in range(-m, m + 1))
            beside = within - 2 * exp(ladder.law(rungs, 0.25, rungs.value + m)) if m else 0
            assert within >= confidence - 1e-9
            assert beside <= confidence + 1e-9


def test_outputs_far_beyond_the_known_rungs_are_reached() -> None:
    rungs, source = Rungs(0, np.array([1]), 2), Randomness.seeded(3)
    drawn = [abs(source.draw(OnRungs(rungs, Fraction(1, 20)))) for _ in range(200)]
    assert max(drawn) > rungs.reach(10)


def test_a_pattern_that_does_not_fit_has_count_zero_and_no_noise() -> None:
    for name in ("triangle", "4-clique", "3-star", "2-triangle"):
        rungs = pattern(name).rungs(graph_of(((0, 1),), 2))
        assert (rungs.value, rungs.limit) == (0, 0)
        assert Randomness.seeded(1).draw(OnRungs(rungs, Fraction(1, 2))) == 0


def test_special_graphs() -> None:
    star = SimpleGraph.of(11, np.zeros(10, dtype=np.int64), np.arange(1, 11))
    assert (counting.triangles(star), counting.stars(star, 3), counting.most_common(star)) == (0, 120, 1)
    empty = SimpleGraph.of(6, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert [pattern(name).rungs(empty).value for name in COUNTS] == [0] * len(COUNTS)
    hub = SimpleGraph.of(20_001, np.zeros(20_000, dtype=np.int64), np.arange(1, 20_001))
    assert counting.stars(hub, 9) == comb(20_000, 9)  # far beyond 64 bits
    assert pattern("9-star").rungs(hub).limit == 2 * comb(19_999, 8)
    full = graph_of(tuple((i, j) for i in range(60) for j in range(i)), 60)
    assert counting.cliques(full, 30) == comb(60, 30)
    assert counting.clique_move(full, 30) == comb(58, 28)
    assert counting.k_triangle_move(full, 25, 58) == comb(58, 25) + 2 * 58 * comb(57, 24)


@pytest.mark.parametrize("name", ["1-star", "2-clique", "0-triangle", "square", "triangles", "-3-star", ""])
def test_patterns_that_make_no_sense_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="counts: "):
        pattern(name)


def test_a_custom_ladder_reproduces_the_cliques() -> None:
    mine = CustomPattern(
        "tetrahedron",
        count_of=lambda graph: counting.cliques(graph, 4),
        move_of=lambda graph: counting.clique_move(graph, 4),
        measure=counting.most_common,
        growth=lambda a: a,
        limit_of=lambda n: comb(max(0, n - 2), 2),
        because="one edit adds one common neighbour, which is linked to at most all others",
    )
    for where in GRAPHS:
        own, shipped = mine.rungs(graph(where)), pattern("4-clique").rungs(graph(where))
        assert (own.value, own.limit, own.widths.tolist()) == (
            shipped.value,
            shipped.limit,
            shipped.widths.tolist(),
        )


def test_a_choice_of_counts_by_their_true_values_is_told_apart() -> None:
    assert not features.compared(FOUR, ONE_MORE[0], NONE).problems
    found = features.compared(FOUR, ONE_MORE[0], Tampering(release=features.by_true_counts))
    assert "What is published differs: model." in " ".join(found.problems)


def test_every_shape_is_there() -> None:
    assert [len(different_graphs(nodes)) for nodes in (1, 2, 3, 4, 5)] == [1, 2, 4, 11, 34]


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_no_graph_holds_more_of_a_pattern_than_the_complete_one(name: str, n: int) -> None:
    complete = graph_of(tuple(combinations(range(n), 2)), n)
    assert pattern(name).most(n) == pattern(name).count(complete)
