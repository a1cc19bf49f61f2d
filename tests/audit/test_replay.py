"""Mechanisms, recorded on one value and replayed on another: neighbours lose what was paid, others more.

Losses are exact, so there is no failure probability. Seeds only choose which outputs are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock.audit.replay import losses
from penstock.audit.transcript import Departure, Recording, Replaying, Transcript
from penstock.drafting.bounds import Occurring, frequent
from penstock.kinds.points.baselines.dawa import least_uneven
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise, response
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import SparseVector, above_threshold
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Run = Callable[[Any, Budget], Any]


def sealed(values: Any, **moves: Any) -> Sealed[Any]:
    moved = Sensitivity.of(**moves) if moves else Sensitivity.scores(1, len(values), monotone=True)
    return Sealed(np.asarray(values), moved, Relation.ADD_REMOVE, because="made up for a test of replays")


def played(run: Run, first: Any, second: Any, seed: int) -> tuple[Any, list[str]]:
    """What a run on the first value loses when its outputs are replayed on the second."""
    recorded, replayed = Transcript(), Transcript()
    once = run(first, Budget(1, Fraction(1, 1000), randomness=Recording(Randomness.seeded(seed), recorded)))
    again = run(second, Budget(1, Fraction(1, 1000), randomness=Replaying(recorded, replayed)))
    assert repr(once) == repr(again)
    assert len(replayed.draws) == len(recorded.draws)
    return losses(recorded, replayed)


def asked_one_by_one(values: Any, pay: Budget) -> list[bool]:
    svt = SparseVector.paid(pay, c=2, because="a record moves one query by one", answers="1/4", redraw=True)
    told = []
    for value in values:
        if not svt.exhausted:
            one = Sealed(int(value), Sensitivity.of(1), Relation.ADD_REMOVE, because="made up for a test")
            told.append(svt.ask(one, threshold=3).above)
    return told


def median(values: Any, pay: Budget) -> int:
    edges = np.array([0, *sorted(int(value) for value in values), 9])
    scores = -np.abs(2 * np.arange(len(values) + 1) - len(values))
    moves = Sensitivity.scores(1, 9)
    steps = Sealed(choice.Steps(edges, scores), moves, Relation.ADD_REMOVE, because="made up for a test")
    return choice.point(steps, 0, 9, pay)


def named(values: Any, pay: Budget) -> list[str]:
    counts = {f"v{place}": int(count) for place, count in enumerate(values) if count}
    found = Occurring(tuple(counts), np.array(list(counts.values()), dtype=np.int64))
    return frequent(
        Sealed(found, Sensitivity.of(1), Relation.ADD_REMOVE, because="made up for a test of replays"), pay
    )


def told(values: Any, pay: Budget) -> list[int]:
    answers = Sealed(
        np.asarray(values) % 3, Sensitivity.of(1), Relation.REPLACE, because="made up for a test of replays"
    )
    return response.randomise(answers, 3, pay).tolist()


ONE_COUNT: dict[str, Run] = {
    "counts": lambda values, pay: noise.counts(sealed(values, l1=1), pay).tolist(),
    "gaussian": lambda values, pay: noise.gaussian(sealed(values, l1=1), pay).tolist(),
    "laplace_real": lambda values, pay: noise.laplace_real(
        sealed(np.asarray(values) / 2.0, l1=Fraction(1, 2)), pay
    ).tolist(),
    "dawa": lambda values, pay: least_uneven(sealed(values, l1=1), pay, length=4, price=Fraction(1)).tolist(),
    "named": named,
    "told": told,
    "splits": lambda values, pay: Splitter.paid(pay, fan_out=2).split(sealed(values, l1=1), 0).tolist(),
}
SCORES: dict[str, Run] = {
    "permute-and-flip": lambda values, pay: choice.best(sealed(values), pay),
    "exponential": lambda values, pay: choice.best(sealed(values), pay, method="exponential"),
    "one-shot": lambda values, pay: choice.best_several(sealed(values), 2, pay),
    "one after another": lambda values, pay: choice.best_several(
        sealed(values), 2, pay, method="exponential"
    ),
    "flip after flip": lambda values, pay: choice.best_several(
        sealed(values), 2, pay, method="permute-and-flip"
    ),
    "sparse vector": lambda values, pay: above_threshold(
        sealed(values), pay, c=2, threshold=3
    ).above.tolist(),
    "numbers": lambda values, pay: above_threshold(
        sealed(values), pay, c=2, threshold=3, answers="1/3"
    ).values.tolist(),
    "one by one": asked_one_by_one,
    "retraversal": lambda values, pay: retraverse(sealed(values), pay, c=2, threshold=3, passes=3),
}
START = (2, 0, 5, 3)


@pytest.mark.parametrize("name", ONE_COUNT)
def test_one_unit_in_one_cell_loses_what_was_paid_and_more_units_more(name: str) -> None:
    run = ONE_COUNT[name]
    near = [(2, 0, 5, 4), (2, 1, 5, 3), (1, 0, 5, 3)]
    for seed in range(4):
        for other in near:
            for first, second in ((START, other), (other, START)):
                assert played(run, first, second, seed)[1] == []
    far = [(9, 0, 5, 3), (2, 8, 5, 3), (2, 0, 5, 30)] if name != "told" else [(1, 2, 1, 1)]
    assert any(played(run, START, other, seed)[1] for other in far for seed in range(20))


@pytest.mark.parametrize("name", SCORES)
def test_scores_that_all_move_by_one_lose_what_was_paid_and_by_more_more(name: str) -> None:
    run = SCORES[name]
    near = [(3, 1, 6, 4), (2, 1, 5, 3), (3, 0, 5, 4), (2, 1, 6, 4)]
    for seed in range(4):
        for other in near:
            for first, second in ((START, other), (other, START)):
                assert played(run, first, second, seed)[1] == []
    far = [(2, 90, 5, 3), (90, 0, 5, 3), (0, 90, 0, 90)]
    assert any(
        played(run, first, second, seed)[1]
        for far_one in far
        for first, second in ((START, far_one), (far_one, START))
        for seed in range(20)
    )


def test_a_point_of_a_domain_is_as_likely_as_its_piece() -> None:
    values = [1, 4, 4, 7]
    for seed in range(6):
        for other in ([1, 4, 7], [1, 4, 4, 7, 8], [0, 1, 4, 4, 7]):
            assert played(median, values, other, seed)[1] == []
    assert any(played(median, [1] * 4 + [3] * 4, [6] * 4 + [8] * 4, seed)[1] for seed in range(6))


def test_a_rare_name_may_lose_everything_and_a_frequent_one_not() -> None:
    """One unit alone is named with a chance below delta; many that the other lacks are named for sure."""
    found = [played(named, (40, 30), (40, 0), seed)[1] for seed in range(3)]
    assert all(problems and "lost inf" in problems[0] for problems in found)


def halves(values: Any, pay: Budget) -> list[list[int]]:
    """Two halves of a histogram, each paid for by itself."""
    parts = pay.apart(["left", "right"], because="a record falls into one cell, and so into one half")
    counted = [np.asarray(values)[:2], np.asarray(values)[2:]]
    return [
        noise.counts(sealed(half, l1=1), part).tolist() for half, part in zip(counted, parts, strict=True)
    ]


def twice(values: Any, pay: Budget) -> list[list[int]]:
    """The same cells in both parts, which is no parting."""
    parts = pay.apart(["one", "two"], because="made up, and wrong")
    return [noise.counts(sealed(values, l1=1), part).tolist() for part in parts]


def test_disjoint_parts_together_lose_what_one_of_them_paid() -> None:
    def lost(run: Run, seed: int) -> Fraction:
        found, _ = played(run, START, (2, 0, 5, 4), seed)
        assert [paid for _, paid, _ in found] == [1, 1]
        return sum((abs(loss.exact) for _, _, loss in found), Fraction(0))

    assert {lost(halves, seed) for seed in range(6)} == {Fraction(1)}
    assert all(lost(twice, seed) == 2 for seed in range(6))


def test_what_is_paid_in_rho_is_compared_in_rho() -> None:
    (charge, paid, found), *_ = played(ONE_COUNT["gaussian"], START, (2, 0, 5, 4), 1)[0]
    assert found.exact == paid == charge.rho


def test_a_splitter_paid_for_less_is_found_out() -> None:
    with pytest.raises(Departure):
        played(lambda values, pay: pay.randomness.below(3), START, START, 1)
