"""Planes, packing, levels by mass and maximum entropy: the public machinery of confluence."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.table.confluence.arrangement import Arrangement
from penstock.kinds.table.confluence.assembly import Assembly
from penstock.kinds.table.confluence.coarsening import levels_by_mass
from penstock.kinds.table.confluence.entropy import Constraint, fitted, minimised
from penstock.kinds.table.confluence.knobs import KNOBS
from penstock.kinds.table.confluence.limits import Limits
from penstock.kinds.table.confluence.packing import View, covering, packed, price, shares, view_of
from penstock.kinds.table.confluence.planes import ORDERS, lines, most_points
from penstock.kinds.table.confluence.tiers import PureTier, RhoTier, Tier
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.parents import Parent
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema

# Planes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_whole_plane_has_every_pair_on_exactly_one_line(order: int) -> None:
    found = lines(order * order)
    assert len(found) == order * order + order
    assert all(len(line) == order for line in found)
    pairs = [pair for line in found for pair in combinations(line, 2)]
    assert len(pairs) == len(set(pairs)) == comb(order * order, 2)


@pytest.mark.parametrize("points", [2, 3, 7, 10, 15, 23, 30, 64])
def test_part_of_a_plane_still_has_every_pair_once(points: int) -> None:
    pairs = [pair for line in lines(points) for pair in combinations(line, 2)]
    assert len(pairs) == len(set(pairs)) == comb(points, 2)


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_a_whole_space_has_every_pair_on_exactly_one_line(order: int) -> None:
    found = lines(order**3, 3)
    assert len(found) == order**2 * (order**2 + order + 1)
    assert all(len(line) == order for line in found)
    pairs = [pair for line in found for pair in combinations(line, 2)]
    assert len(pairs) == len(set(pairs)) == comb(order**3, 2)


@pytest.mark.parametrize("points", [5, 20, 65, 100, 200])
def test_part_of_a_space_still_has_every_pair_once(points: int) -> None:
    pairs = [pair for line in lines(points, 3) for pair in combinations(line, 2)]
    assert len(pairs) == len(set(pairs)) == comb(points, 2)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_there_is_room_for_so_many_points_and_no_more(dimensions: int) -> None:
    assert lines(1, dimensions) == []
    with pytest.raises(ValueError, match=f"in {dimensions} dimensions"):
        lines(most_points(dimensions) + 1, dimensions)


def test_of_many_yes_no_columns_the_lines_of_a_space_cost_least() -> None:
    """A third of the noise of pairs one by one; 64 columns fit into a plane."""
    prices = {}
    for columns in (64, 100):
        arranged = Arrangement(PureTier(Budget(1)), Sensitivity.of(1), 10_000, KNOBS, [(2,)] * columns)
        views = arranged.pairs([0] * columns)
        pairs = [pair for view in views for pair in view.pairs]
        assert len(pairs) == len(set(pairs)) == comb(columns, 2)
        one_by_one = 2 * comb(columns, 2)
        prices[columns] = max(len(view.parts) for view in views), (price(views) / one_by_one) ** 2
    assert prices[64] == (8, pytest.approx(0.286, abs=0.001))
    assert prices[100] == (5, pytest.approx(0.321, abs=0.001))


def test_a_plane_is_cheaper_than_pair_by_pair() -> None:
    sizes = [(2,)] * 16
    plane = covering(lines(16), dict.fromkeys(range(16), 0), sizes)
    alone = [view_of((Parent(a), Parent(b)), sizes) for a, b in combinations(range(16), 2)]
    assert price(plane) == pytest.approx(20 * sqrt(4 * 6 * 2))
    assert price(alone) == pytest.approx(120 * 2)


def test_how_large_gaps_must_be_for_all_pairs_to_be_counted() -> None:
    """Less where all depend as much as a tree does, where columns are many, and where choices are few."""

    def patience(
        columns: int, size: int, dense: float, choices: int = 50, tier: Tier | None = None, **knobs: float
    ) -> float:
        sizes = [(size,)] * columns
        chosen = replace(KNOBS, **knobs)
        tier = tier or PureTier(Budget(1))
        arranged = Arrangement(tier, Sensitivity.of(1), 10_000, chosen, sizes)
        levels = [0] * columns
        return arranged.patience(arranged.pairs(levels), levels, dense, choices)

    assert patience(12, 12, 0.5) == pytest.approx(0.05 * 11 / 0.25)
    assert patience(12, 12, 1.0) < patience(12, 12, 0.5) < patience(12, 12, 0.25) == 5.0
    assert patience(12, 12, 0.01) == 5.0  # at most, however sparse
    assert patience(16, 2, 0.01) == 1.0  # a table of four columns tells more than its six pairs
    assert patience(300, 2, 0.5, choices=1000) == patience(100, 2, 0.5, choices=1000)
    assert patience(100, 2, 0.5, choices=1000) == pytest.approx(patience(16, 2, 0.5) * 16 / 100)
    assert patience(12, 12, 0.5, choices=0) == pytest.approx(0.25 * patience(12, 12, 0.5))
    # nearly all of 66 pairs could be chosen: 5 times, but not where dependence is dense, where one table
    # holds several pairs, where few columns may have all their triples counted, or under rho
    assert patience(12, 12, 0.4, choices=60) == pytest.approx(5 * patience(12, 12, 0.4, choices=59))
    assert patience(12, 12, 0.5, choices=60) == patience(12, 12, 0.5, choices=59)
    assert patience(16, 2, 0.4, choices=120) == patience(16, 2, 0.4, choices=16)
    assert patience(9, 12, 0.4, choices=36) == pytest.approx(5 * patience(9, 12, 0.4, choices=30))
    assert patience(8, 12, 0.4, choices=28) == patience(8, 12, 0.4, choices=20)
    rho = RhoTier(Budget(1, Fraction(1, 10**9)).concentrated("release"))
    under_rho = KNOBS.under_rho * patience(12, 12, 0.4, choices=59)
    assert patience(12, 12, 0.4, choices=60, tier=rho) == pytest.approx(under_rho)


@pytest.mark.parametrize("every", [True, False])
def test_what_pairs_leave_to_triples(every: bool) -> None:
    """Nothing where pairs are noisy; a tenth beside all pairs; as much as leaves chosen ones clear enough."""

    def spared(n: int) -> Fraction:
        arranged = Arrangement(PureTier(Budget(1)), Sensitivity.of(1), n, KNOBS, [(5,)] * 6)
        pairs = [view_of((Parent(number), Parent(number + 1)), arranged.sizes) for number in range(5)]
        share = arranged.spared(pairs, every=every)
        # five tables share the rest: the noise of a cell is 5 / (1 - share), that of all tables is this
        noise, chance = 5 * 5 / (1 - share) * 25, 5 * 0.8 * sqrt(25 * n)
        limit = KNOBS.calm if every else KNOBS.quiet
        assert share in (0, Fraction(1, 10)) if every else share == 0 or Fraction(3, 20) <= share <= 1 / 2
        assert share == 0 or noise <= limit * chance
        assert every or not 0 < share < 1 / 2 or 25 * 25 / (1 - share - Fraction(1, 20)) > limit * chance
        return share

    found = [spared(n) for n in (1_000, 4_000, 6_000, 20_000, 100_000)]
    assert found == sorted(found)
    assert found[0] == 0 < found[-1]
    assert len(set(found)) == (2 if every else 4)


def test_columns_that_are_counted_beside_pairs_take_their_part_of_what_is_left() -> None:
    """Nine columns beside one pair: these leave it 4 parts of 22, and that is what its noise comes from."""
    sizes = [(4,)] * 10
    pair = view_of((Parent(0), Parent(1)), sizes)
    columns = [view_of((Parent(number),), sizes) for number in range(9)]

    def spared(n: int, *views: View) -> Fraction:
        arranged = Arrangement(PureTier(Budget(1)), Sensitivity.of(1), n, KNOBS, sizes)
        return arranged.spared(views, every=False)

    assert spared(1_000, pair) == Fraction(1, 2)
    assert spared(1_000, pair, *columns) == 0  # 22 / 4 * 16 of noise against .48 * sqrt(16 * 1000) = 61
    assert spared(20_000, pair, *columns) == Fraction(1, 2)  # twice that, 176, against 272


def test_triples_are_looked_at_that_no_table_holds_in_at_most_32_groups() -> None:
    sizes = [(64, 32, 16), (32, 16), (20, 16), (4, 2)]
    arranged = Arrangement(PureTier(Budget(1)), Sensitivity.of(1), 1_000, KNOBS, sizes)
    held = View((Parent(0, 2), Parent(1, 1), Parent(2, 1)), (), sizes)
    pair = view_of((Parent(1), Parent(3)), sizes)
    levels, triples = arranged.untold([held, pair], [0, 0, 0, 0])
    assert levels == [1, 0, 0, 0]
    assert triples == [(0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert arranged.untold([], [2, 1, 0, 1])[0] == [2, 1, 0, 1]  # no finer than pairs were


def test_a_pair_is_told_by_the_views_that_see_it_and_else_by_what_others_pass_on() -> None:
    x, y = variable(2), variable(2)
    other = np.array([[9.0, 1.0], [1.0, 9.0]])
    pair = Measured((Parent(0), Parent(1)), np.array([[4, 6], [6, 4]]), 0.1)
    seen = Assembly((x, y), [pair], public_total=20.0)
    np.testing.assert_allclose(seen.paired(Parent(0), Parent(1), other), pair.counts, atol=0.1)
    single = [Measured((Parent(number),), np.array([10, 10]), 0.1) for number in (0, 1)]
    unseen = Assembly((x, y), single, public_total=20.0)
    assert unseen.paired(Parent(0), Parent(1), other) is other
    np.testing.assert_allclose(unseen.paired(Parent(0), Parent(1)), np.full((2, 2), 5.0), atol=0.1)


# Packing ---------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, 9), min_size=3, max_size=7), st.data())
def test_packing_keeps_every_pair_and_never_raises_the_price(sizes: list[int], data: st.DataObject) -> None:
    levels = [(size, 2) if size > 2 else (2,) for size in sizes]
    every = list(combinations(range(len(sizes)), 2))
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    pairs = [
        tuple(Parent(v, data.draw(st.integers(0, len(levels[v]) - 1))) for v in couple) for couple in chosen
    ]
    views = packed(pairs, levels, most=200)
    assert sorted(pair for view in views for pair in view.pairs) == sorted(pairs)
    for view in views:
        finest = dict(view.parts)
        assert all(finest[variable] <= level for pair in view.pairs for variable, level in pair)
        assert view.cells <= 200 or len(view.pairs) == 1
    assert price(views) <= price([view_of(pair, levels) for pair in pairs]) + 1e-9


def test_pairs_of_one_clique_share_a_table() -> None:
    sizes = [(2,)] * 4
    views = packed([(Parent(a), Parent(b)) for a, b in combinations(range(4), 2)], sizes)
    assert [view.parts for view in views] == [tuple(Parent(i) for i in range(4))]


def test_three_pairs_of_three_columns_share_a_table_where_two_would_not() -> None:
    """Of columns of eight codes: two pairs in one table cost 1.2 times what they cost apart, three .97."""
    sizes = [(8,)] * 5
    triangle, tail = [(0, 1), (1, 2), (0, 2)], [(2, 3), (3, 4)]
    views = packed([(Parent(a), Parent(b)) for a, b in (*tail, *triangle)], sizes)
    assert sorted(tuple(part.variable for part in view.parts) for view in views) == [
        (0, 1, 2),
        (2, 3),
        (3, 4),
    ]
    large = [(12,)] * 3  # 1.07 times
    assert len(packed([(Parent(a), Parent(b)) for a, b in triangle], large, most=10_000)) == 3


def test_the_pairs_that_come_first_make_the_first_triangles() -> None:
    order = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)]  # two triangles share the pair of 0 and 1
    views = packed([(Parent(a), Parent(b)) for a, b in order], [(8,)] * 4)
    assert (Parent(0), Parent(1), Parent(2)) in [view.parts for view in views]


@given(st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=30))
def test_shares_of_a_budget_add_up_exactly(weights: list[float]) -> None:
    found = shares(weights)
    assert sum(found) == 1
    assert all(share > 0 for share in found)


def test_shares_make_the_expected_noise_smallest() -> None:
    sizes = [(2,), (9,), (30,)]
    views = [view_of((Parent(a), Parent(b)), sizes) for a, b in combinations(range(3), 2)]

    def noise(parts: list[float]) -> float:
        return sum(view.weight**2 / part for view, part in zip(views, parts, strict=True))

    ours = noise([float(share) for share in shares([view.weight for view in views])])
    assert ours == pytest.approx(price(views) ** 2, rel=1e-4)
    assert ours < noise([1 / 3] * 3)


# Levels by mass --------------------------------------------------------------------------------------

SCHEMA = Schema.from_yaml("""
fields:
- {name: age, type: integer, constraints: {minimum: 0, maximum: 19}, bins: {width: 1}}
- name: job
  taxonomy: {service: [clerk, cook, nurse], other: [farmer, none], rare: [poet, actor]}
- {name: town, constraints: {enum: [a, b, c, d, e, f, g]}}
""")


@given(st.sampled_from(["age", "job", "town"]), st.data())
def test_levels_are_nested_and_shrink(name: str, data: st.DataObject) -> None:
    attribute = SCHEMA.attribute(name)
    mass = np.array(data.draw(st.lists(st.floats(0, 1), min_size=attribute.size, max_size=attribute.size)))
    levels = levels_by_mass(attribute, mass)
    assert levels[0].groups == tuple(range(attribute.size))
    for finer, coarser in pairwise(levels):
        assert coarser.size < finer.size
        assert set(coarser.groups) == set(range(coarser.size))
        assert len(set(zip(finer.groups, coarser.groups, strict=True))) == finer.size
        if attribute.ordered:
            assert list(coarser.groups) == sorted(coarser.groups)
    assert levels[-1].size == 2


def test_empty_codes_are_merged_first() -> None:
    mass = np.array([0.9, 0.0, 0.0, 0.05, 0.05, 0.0, 0.0])
    levels = levels_by_mass(SCHEMA.attribute("town"), mass, (4, 3, 2))
    assert levels[1].groups == (0, 1, 1, 2, 3, 1, 1)
    assert levels[-1].groups[0] not in levels[-1].groups[1:]


def test_branches_of_a_taxonomy_are_merged_before_strangers() -> None:
    levels = levels_by_mass(SCHEMA.attribute("job"), np.full(7, 1 / 7), (3, 2))
    groups = levels[1].groups
    assert len(set(groups[:3])) == len(set(groups[3:5])) == len(set(groups[5:])) == 1


# Maximum entropy -------------------------------------------------------------------------------------


def test_two_overlapping_pairs_give_conditional_independence() -> None:
    """A - B - C: among all tables with these pairs the one of maximum entropy is P(a|b) P(b) P(c|b)."""
    rng = np.random.default_rng(0)
    ab, c_given_b = rng.random((3, 2)), rng.random((2, 4))
    ab /= ab.sum()
    c_given_b /= c_given_b.sum(axis=1, keepdims=True)
    truth = ab[:, :, None] * c_given_b[None]
    codes = np.indices((3, 2, 4)).reshape(3, -1)
    pairs = [
        Constraint(codes[0] * 2 + codes[1], 1e4 * ab.ravel(), 1e-3),
        Constraint(codes[1] * 4 + codes[2], 1e4 * truth.sum(axis=0).ravel(), 1e-3),
    ]
    found = fitted(np.ones(24), pairs, 1e4, steps=300).reshape(3, 2, 4)
    assert np.abs(found - truth).max() < 1e-4


def test_untrusted_counts_leave_the_base_as_it_is() -> None:
    base = np.array([0.1, 0.2, 0.3, 0.4])
    noisy = Constraint(np.arange(4), np.array([25.0, 25, 25, 25]), 1e9)
    assert fitted(base, [noisy], 100.0) == pytest.approx(base, abs=1e-4)
    assert fitted(base, [], 100.0) == pytest.approx(base)
    assert fitted(base, [noisy], 0.0) == pytest.approx(base)


def test_negative_counts_are_no_problem() -> None:
    found = fitted(np.ones(3), [Constraint(np.arange(3), np.array([120.0, 10, -30]), 1.0)], 100.0)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)
    assert found[2] < 0.01


def test_minimised_finds_the_minimum_of_a_bent_bowl() -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((8, 8))
    bowl, goal = matrix @ matrix.T + 0.1 * np.eye(8), rng.random(8)

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        y = x - goal
        return float(0.5 * y @ bowl @ y + np.cosh(y).sum()), bowl @ y + np.sinh(y)

    assert minimised(function, np.zeros(8), 200) == pytest.approx(goal, abs=1e-4)


# Assembly --------------------------------------------------------------------------------------------


def variable(size: int, *levels: tuple[int, ...]) -> Variable:
    groupings = (Grouping(tuple(range(size)), size), *(Grouping(each, max(each) + 1) for each in levels))
    return Variable(f"v{size}", f"v{size}", size, None, groupings)


def test_one_way_shares_are_the_least_squares_of_all_views() -> None:
    rng = np.random.default_rng(3)
    x, y = variable(6, (0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 1, 1)), variable(2)
    views = [
        Measured((Parent(0),), rng.integers(50, 150, 6), 20.0),
        Measured((Parent(1),), rng.integers(250, 350, 2), 5.0),
        Measured((Parent(0, 1), Parent(1)), rng.integers(50, 150, (3, 2)), 3.0),
        Measured((Parent(0, 2), Parent(1)), rng.integers(100, 200, (2, 2)), 4.0),
    ]
    known = Assembly((x, y), views, limits=Limits(repair="project"))
    rows, targets, weights = [], [], []
    for view in views:
        for part, axis in ((p, i) for i, p in enumerate(view.parts) if p.variable == 0):
            sums = view.counts.sum(axis=tuple(i for i in range(view.counts.ndim) if i != axis))
            groups = x.levels[part.level].lookup
            for group, total in enumerate(sums):
                rows.append((groups == group).astype(float))
                targets.append(total)
                weights.append(1 / (view.deviation * sqrt(view.counts.size / len(sums))))
    scale = np.array(weights)[:, None]
    direct = np.linalg.lstsq(np.array(rows) * scale, np.array(targets) * scale[:, 0], rcond=None)[0]
    direct += (known.total - direct.sum()) / 6
    assert known.shares[0] * known.total == pytest.approx(direct)


def test_total_weighs_views_by_their_noise() -> None:
    views = [Measured((Parent(0),), np.array([10, 10]), 1.0), Measured((Parent(0),), np.array([20, 20]), 2.0)]
    assert Assembly((variable(2),), views).total == pytest.approx((20 * 4 + 40 * 1) / 5)
    assert Assembly((variable(2),), views, public_total=33.0).total == 33.0


def test_exact_pairs_make_a_network_that_repeats_them() -> None:
    """A chain of three attributes, all pairs counted almost without noise."""
    from penstock.kinds.table.network.inference import marginal

    rng = np.random.default_rng(4)
    a = rng.random(4) + 0.2
    a /= a.sum()
    b_given_a, c_given_b = rng.random((4, 3)) ** 2 + 0.02, rng.random((3, 5)) ** 2 + 0.02
    b_given_a /= b_given_a.sum(axis=1, keepdims=True)
    c_given_b /= c_given_b.sum(axis=1, keepdims=True)
    joint = a[:, None, None] * b_given_a[:, :, None] * c_given_b[None]
    sizes, total = (4, 3, 5), 1_000_000
    variables = tuple(Variable(f"v{i}", f"v{i}", size) for i, size in enumerate(sizes))
    views = []
    for kept in [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]:
        drop = tuple(i for i in range(3) if i not in kept)
        counts = np.rint(total * joint.sum(axis=drop)).astype(np.int64)
        views.append(Measured(tuple(Parent(i) for i in kept), counts, 0.5))
    network = Assembly(variables, views).network()
    for one, two in ((0, 1), (1, 2), (0, 2)):
        drop = ({0, 1, 2} - {one, two}).pop()
        assert np.abs(marginal(network, (one, two)) - joint.sum(axis=drop)).max() < 2e-3


def test_families_have_the_columns_that_all_views_tell_and_of_a_view_what_it_says_beyond_them() -> None:
    """A pair with noise has a tenth of the records in the wrong row, and a pair without knows better."""
    variables = tuple(Variable(name, name, 2) for name in "abc")
    sure = Measured((Parent(0), Parent(2)), np.array([[600, 0], [0, 400]]), 1.0)
    askew = Measured((Parent(0), Parent(1)), np.array([[650, 50], [-50, 350]]), 40.0)
    network = Assembly(variables, [sure, askew]).network()
    [(pair, table)] = [
        (pair, table)
        for pair, table in zip(network.pairs, network.tables, strict=True)
        if {pair.child, *(parent.variable for parent in pair.parents)} == {0, 1}
    ]
    assert pair.child == 1
    assert table[0, 1] < 0.03  # by the view alone 50 of 700
    assert table[1, 1] > 0.95


def test_ties_within_noise_or_chance_are_not_followed() -> None:
    """A thousand records that fall by chance into four equal cells are often 20 off, and never 100."""
    counts, lucky = np.array([[300, 200], [200, 300]]), np.array([[260, 240], [240, 260]])
    sure = [
        Measured((Parent(0),), np.array([500, 500]), 1.0),
        Measured((Parent(1),), np.array([500, 500]), 1.0),
    ]
    variables = (variable(2), Variable("other", "other", 2))
    doubtful = Assembly(variables, [*sure, Measured((Parent(0), Parent(1)), counts, 90.0)])
    certain = Assembly(variables, [*sure, Measured((Parent(0), Parent(1)), counts, 1.0)])
    by_chance = Assembly(variables, [*sure, Measured((Parent(0), Parent(1)), lucky, 1.0)])
    assert doubtful.network().edges == []
    assert by_chance.network().edges == []
    assert len(certain.network().edges) == 1
