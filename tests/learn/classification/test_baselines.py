"""DiffGen, PPH, private trees and the most frequent label: their scores, their budgets, what they predict."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.learn.classification.test_privpfc import NEW, SCHEMA, paid, people

import penstock
from penstock.audit.exact import exponential
from penstock.learn.classification.classifier import ClassifierRelease
from penstock.learn.classification.pph import RANGE, STEPS, bins_of, discerned
from penstock.learn.classification.tree_release import DecisionTreeRelease
from penstock.learn.classification.trees import Impurity, Purity
from penstock.privacy.mechanisms.chains import Chain
from penstock.schema import Schema


def made(method: str, epsilon: Any = 4, **parameters: Any) -> ClassifierRelease:
    release = penstock.release(
        people(), SCHEMA, epsilon=epsilon, method=method, parameters=parameters, seed=3
    )
    assert isinstance(release, ClassifierRelease)
    return release


@pytest.mark.parametrize("method", ["diffgen", "pph", "diffpid3", "diffpc45"])
def test_competitors_learn_what_there_is_with_plenty_of_budget(method: str, tmp_path: Path) -> None:
    release = made(method, 20)
    assert release.predict(NEW)["rich"].to_list() == ["very", "yes", "no"]
    again = penstock.load(release.save(tmp_path / "folder"))
    assert isinstance(again, ClassifierRelease)
    assert again.predict(NEW).equals(release.predict(NEW))


def test_the_most_frequent_label_is_everybodys() -> None:
    release = made("majority-label")
    truth = people()["rich"].value_counts(sort=True)
    assert set(release.predict(NEW)["rich"]) == {truth["rich"][0]}
    assert paid(release) == [4]


def test_diffgen_pays_half_for_its_steps_and_the_rest_for_the_counts() -> None:
    assert paid(made("diffgen", 1, steps=4)) == [Fraction(1, 8)] * 4 + [Fraction(1, 2)]


def test_diffgen_gives_what_it_cannot_use_to_the_counts() -> None:
    """Three of school, seven of age, one of eyes: eleven specialisations, and no more."""
    found = paid(made("diffgen", 1, steps=50))
    assert found == [Fraction(1, 100)] * 11 + [Fraction(89, 100)]


def brute(table: np.ndarray[Any, Any]) -> int:
    """Pairs of records with different labels that are in different cells, one by one."""
    records = [
        (cell, label) for cell, row in enumerate(table) for label, many in enumerate(row) for _ in range(many)
    ]
    return sum(a[0] != b[0] and a[1] != b[1] for place, a in enumerate(records) for b in records[:place])


def test_pairs_told_apart_are_counted_and_no_record_moves_them_further_than_stated() -> None:
    for flat in product(range(3), repeat=6):
        table = np.array(flat).reshape(3, 2)
        before = discerned(table)
        number = int(table.sum())
        assert before == (STEPS * brute(table) // number if number else 0)
        for place in range(6):
            more = table.copy()
            more.flat[place] += 1
            moved = discerned(more) - before
            assert -(RANGE - 1) * STEPS - 1 <= moved <= STEPS + 1


def test_bins_follow_leis_rule() -> None:
    assert bins_of(10_000, 2) == int((10_000 / np.sqrt(np.log(10_000))) ** 0.5)
    assert bins_of(2, 3) == 1


@pytest.mark.parametrize("measure", ["max", "gini", "gain"])
def test_no_record_moves_the_purity_of_a_question_further_than_stated(measure: Impurity) -> None:
    """Brute force over all tables of two answers and three labels with counts up to two."""
    purity = Purity(measure, 12)
    stated = purity.sensitivity(1, 4, 3)
    moves = []
    for flat in product(range(3), repeat=6):
        table = np.array(flat).reshape(2, 3)
        for place in range(6):
            more = table.copy()
            more.flat[place] += 1
            moves.append(purity.of(more) - purity.of(table))
    assert max(map(abs, moves)) <= stated.linf
    assert max(moves) - min(moves) <= stated.spread
    slack = 0 if measure == "max" else 3
    assert max(moves) <= slack or min(moves) >= 0


def test_large_counts_move_the_information_gain_by_nearly_its_bound_and_no_more() -> None:
    """log2(n+1) + 1/ln 2 for n records of another label; beyond the public number nothing moves."""
    many = 10**6
    purity = Purity("gain", many)
    moved = purity.of(np.array([[many, 1]])) - purity.of(np.array([[many, 0]]))
    stated = purity.sensitivity(1, 2, 2)
    assert -stated.linf <= moved < -0.93 * stated.linf
    assert purity.of(np.array([[many + 5, 7]])) == purity.of(np.array([[many, 7]]))
    assert purity.of(np.array([[4, 4], [0, 3]])) == -8 << 20
    assert purity.sensitivity(5, 2, 2).spread == 5 * stated.spread
    unbounded = Purity("gain").sensitivity(1, 2, 10)
    assert 35 << 20 < unbounded.linf < 38 << 20


def test_large_counts_move_the_gini_score_by_nearly_two_and_no_more() -> None:
    purity = Purity("gini")
    one, two = np.array([[10**6, 1]]), np.array([[10**6, 2]])
    moved = purity.of(two) - purity.of(one)
    assert -purity.sensitivity(1, 2, 2).linf <= moved < -1.99 * (1 << 20)


def test_a_tree_asks_once_for_each_column_and_every_row_comes_to_a_leaf() -> None:
    release = made("diffpid3", 20, depth=2)
    assert isinstance(release, DecisionTreeRelease)
    assert set(release.features) <= {"school", "age", "eyes"}
    leaves = release.part_of(SCHEMA.encode(people()), 3000)
    assert leaves.min() >= 0
    assert leaves.max() < len(release.counts)
    counted = np.bincount(leaves, minlength=len(release.counts))
    assert np.abs(counted - release.counts.sum(axis=1)).max() < 60


def test_a_choice_by_the_gain_keeps_its_promise_and_one_that_pays_for_gini_only_breaks_it() -> None:
    """One record of another label lowers the question that hides it, and not the one that tells it apart."""
    many = 10_000
    without = np.array([[many, 0]]), np.array([[many, 0], [0, 0]])
    joined = np.array([[many, 1]]), np.array([[many, 0], [0, 1]])
    gain = Purity("gain", many)
    before, after = ([gain.of(table) for table in tables] for tables in (without, joined))

    def loss(spread: Fraction) -> float:
        one, two = (exponential(scores, 1 / float(spread)) for scores in (before, after))
        return max(abs(log(one.probability(place) / two.probability(place))) for place in (0, 1))

    assert 0.5 < loss(Fraction(gain.sensitivity(1, 2, 2).spread)) <= 1
    assert loss(Fraction(Purity("gini").sensitivity(1, 2, 2).spread)) > 5


@pytest.mark.parametrize(
    ("method", "draws"),
    [("diffpid3", 2 * 2 + 2), ("diffpc45", (2 + 1) * 2 + 2)],  # one column of a range: age
)
def test_every_way_through_a_tree_spends_the_budget_in_equal_shares_and_the_rest_at_its_leaf(
    method: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two draws on every level, one more for each range that may be cut, and two at the end."""
    spent: list[tuple[Chain, Fraction]] = []
    paying = Chain._spend

    def noted(self: Chain, sealed: Any, amount: Fraction, *, spread: bool = False) -> Fraction:
        spent.append((self, amount))
        return paying(self, sealed, amount, spread=spread)

    monkeypatch.setattr(Chain, "_spend", noted)
    release = made(method, 3, depth=2)
    assert release.receipt.epsilon == 3
    assert paid(release) == [3]
    share = Fraction(3, draws)
    steps = [amount for _, amount in spent if amount == share]
    leaves = [(chain, amount) for chain, amount in spent if amount != share]
    assert len(leaves) >= 4  # school has four values
    assert all(chain.left == 0 for chain, _ in leaves)
    assert {amount % share for _, amount in leaves} == {0}
    assert min(amount for _, amount in leaves) >= 2 * share
    assert len(steps) >= 2


def test_a_part_is_asked_further_where_its_noisy_size_is_above_the_noise_of_its_sub_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """sqrt(2) t c / share: eight answers to the widest question, three labels, and a share of 1/6."""
    asked: list[tuple[int, Fraction]] = []
    passing = Chain.passing

    def noted(self: Chain, table: Any, least: int, amount: Fraction) -> Any:
        asked.append((least, amount))
        return passing(self, table, least, amount)

    monkeypatch.setattr(Chain, "passing", noted)
    for rows, divided in ((100, False), (3000, True)):  # noise of scale 6 makes up for 100 once in 10^7
        asked.clear()
        found = penstock.release(
            people(rows), SCHEMA, epsilon=1, method="diffpid3", parameters={"depth": 2}, seed=3
        )
        assert isinstance(found, DecisionTreeRelease)
        assert asked[0] == (204, Fraction(1, 6))
        assert (len(found.counts) > 1) is divided


@pytest.mark.parametrize("method", ["diffpid3", "diffpc45"])
@pytest.mark.parametrize("score", ["max", "gini", "gain"])
def test_every_score_finds_what_tells_the_labels_apart(method: str, score: str) -> None:
    facts = SCHEMA.model_dump(by_alias=True, exclude_defaults=True)
    known = Schema.model_validate({**facts, "size": 3000})
    release = penstock.release(
        people(), known, epsilon=50, method=method, parameters={"score": score, "depth": 3}, seed=3
    )
    assert isinstance(release, ClassifierRelease)
    assert release.predict(NEW)["rich"].to_list() == ["very", "yes", "no"]


def test_without_budget_a_tree_is_a_leaf() -> None:
    release = made("diffpc45", "1/1000")
    assert isinstance(release, DecisionTreeRelease)
    assert len(release.counts) == 1


def test_ranges_are_cut_in_two_and_sub_trees_that_do_not_pay_are_pruned() -> None:
    release = made("diffpc45", 50, depth=6)
    assert isinstance(release, DecisionTreeRelease)
    assert "age" in release.features
    assert len(release.counts) < 40
    answers = release.predict(people())["rich"]
    assert (answers == people()["rich"]).mean() > 0.85
