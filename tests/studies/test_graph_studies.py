"""The studies of graphs: the recursive mechanism's sensitivities, and figures that follow from exact laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import log

import numpy as np
import pytest
from tests.kinds.graph.known import graph as known

from frame import MissingDataError
from graph_data import EXPECTED, FILES, graph
from graph_properties import COUNTED, SEEN, compared, measured
from graph_recursive import copies, local_effect, lower_bound, scale
from graphs import medians
from penstock.kinds.graph.patterns import pattern

FIVE = tuple(combinations(range(5), 2))


def test_the_bound_of_a_clique() -> None:
    assert len(copies(FIVE)) == 10
    assert lower_bound(FIVE, 3.0) == pytest.approx(10)
    assert lower_bound(FIVE, 1.0) == pytest.approx(10 / 3)


def test_sensitivities_on_random_graphs_of_five_nodes() -> None:
    """X moves by at most D, and ln Delta by at most beta, when an edge goes."""
    rng = np.random.default_rng(4)
    for _ in range(12):
        chosen = rng.permutation(10)[: int(rng.integers(4, 11))]
        links = tuple(FIVE[place] for place in chosen)
        for delta in (0.5, 1.7):
            gap = lower_bound(links, delta) - lower_bound(links[1:], delta)
            assert -1e-7 <= gap <= delta + 1e-7
        assert abs(log(scale(links, 0.3)) - log(scale(links[1:], 0.3))) <= 0.3 + 1e-9
        effects = [local_effect(links, many) for many in range(len(links) + 1)]
        assert np.all(np.diff(effects) >= -1e-7)


def test_medians_follow_from_the_laws() -> None:
    found = medians(pattern("triangle"), pattern("triangle").rungs(known("karate")), Fraction(1))
    assert found["ladder"] == 17
    assert found["laplace"] == pytest.approx(32 * log(2))
    assert found["smooth, published"] == pytest.approx(6 * 10, rel=0.05)


def test_a_published_graph_has_the_reference_figures() -> None:
    try:
        made = graph("GrQc")
    except MissingDataError:
        pytest.skip("the public graphs are not here")
    assert (made.n, made.m) == (FILES["GrQc"][1], 14484)
    for words in ("triangle", "3-star"):
        rungs = pattern(words).rungs(made)
        for method in ("ladder", "smooth, published", "laplace"):
            ours = medians(pattern(words), rungs, Fraction("0.1"))[method] / rungs.value
            assert ours == pytest.approx(EXPECTED[method, words, "GrQc"][1], rel=0.02)


def test_properties_are_compared_digit_by_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        graph("GrQc")
    except MissingDataError:
        pytest.skip("the public graphs are not here")
    for table in (COUNTED, SEEN, FILES):
        for name in set(table) - {"GrQc"}:
            monkeypatch.delitem(table, name)
    rows = compared(measured())
    assert len(rows) == 19
    assert all(theirs == ours for *_, theirs, ours in rows)
