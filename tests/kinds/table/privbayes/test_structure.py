"""Network learning: candidates, worked probabilities, and its privacy by exact enumeration."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, log

import numpy as np
import pytest
from tests.kinds.table.tables import binary_rows, mixed_rows, paid, schema_of, table_of
from tests.privacy.mechanisms.choice_law import probabilities

from penstock.kinds.table.network.encoding import encode_as, encoded
from penstock.kinds.table.network.parents import Pair, Parent
from penstock.kinds.table.privbayes import structure
from penstock.kinds.table.privbayes.scores import ScoreName
from penstock.kinds.table.privbayes.sensitivity import of_scores
from penstock.kinds.table.privbayes.structure import (
    SealedScores,
    binary_candidates,
    general_candidates,
    learn,
    shape,
)
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.seals.sensitivity import Sensitivity

BITS = encode_as("vanilla", [("a", 2), ("b", 2), ("c", 2)]).variables


@pytest.mark.parametrize(("d", "k", "total"), [(16, 1, 680), (16, 2, 2395), (5, 2, 19), (16, 6, 24375)])
def test_numbers_of_candidates(d: int, k: int, total: int) -> None:
    variables = encode_as("vanilla", [(f"x{i}", 2) for i in range(d)]).variables
    candidates = binary_candidates(variables, k)
    found = sum(len(candidates(list(range(i)))) for i in range(1, d))
    assert found == total == comb(d + 1, k + 2) + sum(d - i for i in range(1, k))


def test_general_candidates_never_exceed_the_cells_and_fall_back_to_no_parents() -> None:
    variables = encode_as("vanilla", [("a", 4), ("b", 6), ("c", 3), ("d", 50)]).variables
    candidates = general_candidates(variables, 24)
    pairs = candidates([0, 1])
    assert {pair for pair in pairs if pair.child == 3} == {Pair(3)}  # 50 values: not useful even alone
    for pair in pairs:
        assert not pair.parents or np.prod(shape(variables, pair)) <= 24
    assert Pair(2, (Parent(0),)) in pairs
    assert Pair(2, (Parent(1),)) in pairs
    tiny = general_candidates(variables, 5)
    assert tiny([0, 1]) == [Pair(2), Pair(3)]


@pytest.mark.parametrize(
    ("score", "expected", "tolerance"), [("I", 0.548118, 2e-3), ("F", 0.679179, 1e-6), ("R", 0.557438, 1e-6)]
)
def test_first_choice_of_the_worked_dataset(score: str, expected: float, tolerance: float) -> None:
    rows = np.array([[int(c) for c in r] for r in ("000", "001", "000", "011", "111", "110", "111", "101")])
    known = SealedScores(table_of(rows, schema_of([2, 2, 2], replace=8)), BITS, score, "published")  # type: ignore[arg-type]
    options = binary_candidates(BITS, 1)([0])
    sealed = known.of(options)
    chances = probabilities(
        open_seal(sealed), Fraction(3, 2), spread=sealed.sensitivity.spread, method="exponential"
    )
    assert chances[options.index(Pair(1, (Parent(0),)))] == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("at_once", [1, 60, 1 << 24])
@pytest.mark.parametrize("score", ["I", "R"])
def test_scores_carry_the_sensitivity_of_the_shapes_asked_for(
    score: ScoreName, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Binary tables move less than others, so a shape taken for another's would understate a change."""
    monkeypatch.setattr(structure, "MOST_AT_ONCE", at_once)
    sizes = [2, 3, 4, 2, 5]
    variables = encode_as("vanilla", list(zip("abcde", sizes, strict=True))).variables
    table = table_of(mixed_rows(300, sizes), schema_of(sizes, replace=300))
    known = SealedScores(table, variables, score)
    wide = [Pair(1, (Parent(2),)), Pair(4, (Parent(2),))]
    narrow = [Pair(0, (Parent(1), Parent(2))), Pair(3, (Parent(4),)), Pair(2, (Parent(0),))]
    for pairs in (narrow, wide, narrow[::-1], [*wide, *narrow], [narrow[0], narrow[0], wide[1]], wide[::-1]):
        sealed = known.of(pairs)
        shapes = [shape(variables, pair) for pair in pairs]
        assert sealed.sensitivity == of_scores(score, shapes, table.relation, n=300)
        alone = [open_seal(SealedScores(table, variables, score).of([pair]))[0] for pair in pairs]
        assert open_seal(sealed).tolist() == alone


# Privacy of the whole network, computed and not sampled (spec 13.4) ---------------------------------

Spread = Callable[[Sensitivity], Fraction]


def honest(sensitivity: Sensitivity) -> Fraction:
    return sensitivity.spread


def network_law(
    rows: np.ndarray,
    score: str,
    k: int,
    *,
    replace: bool,
    bound: str,
    method: choice.Method,
    spread: Spread = honest,
    rounds: int = 2,
) -> dict[tuple[Pair, ...], float]:
    """The exact probability of every network over three bits at epsilon1 = 1."""
    table = table_of(rows, schema_of([2, 2, 2], replace=len(rows) if replace else None))
    known = SealedScores(table, BITS, score, bound)  # type: ignore[arg-type]
    candidates = binary_candidates(BITS, k)
    law = {(Pair(first),): 1 / 3 for first in range(3)}
    for _ in range(2):
        grown = {}
        for pairs, chance in law.items():
            options = candidates([pair.child for pair in pairs])
            if len(options) == 1:
                grown[*pairs, options[0]] = chance
                continue
            sealed = known.of(options)
            shares = probabilities(
                open_seal(sealed), Fraction(1, rounds), spread=spread(sealed.sensitivity), method=method
            )
            for option, share in zip(options, shares, strict=True):
                grown[*pairs, option] = chance * share
        law = grown
    assert sum(law.values()) == pytest.approx(1)
    return law


def datasets(n: int) -> dict[tuple[int, ...], np.ndarray]:
    """All datasets of n rows over three bits, by their sorted cells."""
    cells = np.array([[(c >> 2) & 1, (c >> 1) & 1, c & 1] for c in range(8)])
    return {
        chosen: cells[list(chosen)].reshape(n, 3) for chosen in combinations_with_replacement(range(8), n)
    }


def loss(first: dict[tuple[Pair, ...], float], second: dict[tuple[Pair, ...], float]) -> float:
    return max(abs(log(first[network] / second[network])) for network in first)


def worst_replacing(n: int, score: str, k: int, bound: str = "published", **kind: object) -> float:
    laws = {
        cells: network_law(rows, score, k, replace=True, bound=bound, method="exponential", **kind)  # type: ignore[arg-type]
        for cells, rows in datasets(n).items()
    }
    return max(
        loss(law, laws[tuple(sorted((*cells[:i], new, *cells[i + 1 :])))])
        for cells, law in laws.items()
        for i in range(n)
        for new in range(8)
    )


@pytest.mark.parametrize(
    ("n", "k", "score", "bound", "expected"),
    [
        (3, 1, "I", "published", 0.3828),
        (3, 1, "F", "published", 0.3828),
        (3, 1, "R", "published", 0.1374),
        (3, 1, "R", "tight", 0.3828),
        (3, 2, "I", "published", 0.2500),
        (3, 2, "F", "published", 0.2500),
        (3, 2, "R", "published", 0.0909),
        (3, 2, "R", "tight", 0.2500),
        (4, 1, "I", "published", 0.3828),
        (4, 1, "F", "published", 0.5619),
        (4, 1, "R", "published", 0.1621),
        (4, 1, "R", "tight", 0.3828),
    ],
)
def test_network_learning_is_private_by_exact_enumeration(
    n: int, k: int, score: str, bound: str, expected: float
) -> None:
    assert worst_replacing(n, score, k, bound) == pytest.approx(expected, abs=3e-4 if score != "I" else 3e-3)


@pytest.mark.parametrize(
    "mutant",
    [
        {"spread": lambda s: s.spread / 2},  # the exponent of the mechanism doubled
        {"spread": lambda s: s.linf / 2},  # sensitivity halved and the factor 2 of the mechanism forgotten
        {"rounds": 1},  # epsilon1 not divided over the rounds
    ],
)
def test_broken_networks_are_refuted_by_the_same_enumeration(mutant: dict[str, object]) -> None:
    assert worst_replacing(3, "F", 1, **mutant) > 0.3828 + 0.1


@pytest.mark.parametrize("method", ["permute-and-flip", "exponential"])
@pytest.mark.parametrize("score", ["F", "R"])
def test_adding_a_record_costs_at_most_epsilon(score: str, method: choice.Method) -> None:
    worst = 0.0
    laws: dict[tuple[int, ...], dict[tuple[Pair, ...], float]] = {}
    for n in (2, 3):
        for cells, rows in datasets(n).items():
            laws[cells] = network_law(rows, score, 1, replace=False, bound="tight", method=method)
            for i in range(n if n == 3 else 0):
                worst = max(worst, loss(laws[cells], laws[(*cells[:i], *cells[i + 1 :])]))
    assert 0.1 < worst <= 1


# Whole runs ------------------------------------------------------------------------------------------


def test_parents_come_first_and_every_round_is_paid_for() -> None:
    schema = schema_of([2] * 6)
    budget = paid(1)
    variables = encoded("vanilla", schema.attributes).variables
    known = SealedScores(table_of(binary_rows(500, 6), schema), variables, "R")
    pairs = learn(known, binary_candidates(variables, 2), budget, Fraction(3, 50), "permute-and-flip")
    there: list[int] = []
    for place, pair in enumerate(pairs):
        assert {parent.variable for parent in pair.parents} <= set(there)
        assert len(pair.parents) == min(2, place)
        there.append(pair.child)
    assert sorted(there) == list(range(6))
    receipt = budget.receipt()
    assert receipt.epsilon == Fraction(3, 10)
    assert sum(1 for _ in receipt.charges()) == 5


def test_rounds_without_a_choice_are_free() -> None:
    schema = schema_of([9, 9, 9])
    budget = paid(1)
    variables = encoded("vanilla", schema.attributes).variables
    known = SealedScores(table_of(mixed_rows(50, [9, 9, 9]), schema), variables, "R")
    pairs = learn(known, general_candidates(variables, 20), budget, Fraction(1, 10), "permute-and-flip")
    assert all(not pair.parents for pair in pairs)
    assert budget.receipt().epsilon == 0


def test_strong_dependencies_are_found_with_much_budget() -> None:
    schema = schema_of([2] * 5)
    variables = encoded("vanilla", schema.attributes).variables
    known = SealedScores(table_of(binary_rows(20000, 5), schema), variables, "R")
    pairs = learn(known, binary_candidates(variables, 1), paid(50), Fraction(1, 4), "permute-and-flip")
    edges = {frozenset((pair.child, pair.parents[0].variable)) for pair in pairs[1:]}
    assert edges == {frozenset((i, i + 1)) for i in range(4)}  # the chain that made the rows


def test_generalised_parents_are_candidates() -> None:
    schema = schema_of([16, 16, 3], ordered=True)
    variables = encoded("hierarchical", schema.attributes).variables
    options = general_candidates(variables, 24)([0, 1])
    assert {(pair.child, *pair.parents) for pair in options} == {
        (2, Parent(0, 1)),
        (2, Parent(1, 1)),
        (2, Parent(0, 2), Parent(1, 3)),
        (2, Parent(0, 3), Parent(1, 2)),
    }
