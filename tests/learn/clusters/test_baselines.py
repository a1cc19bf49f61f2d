"""GkM and PGkM: rounds, blocks and noise as their papers say, with the corrected amounts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from penstock.kinds.points.data import REACH, STEPS, Points
from penstock.learn.clusters.baselines.gupt import GuptKMeans
from penstock.learn.clusters.baselines.privgene import PrivGeneKMeans
from penstock.privacy.budgets.budget import Budget, Receipt
from penstock.privacy.mechanisms import choice
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema


def cube(size: int | None = None) -> Schema:
    fields = [
        {"name": name, "type": "number", "constraints": {"minimum": -1, "maximum": 1}} for name in ("x", "y")
    ]
    return Schema.model_validate({"kind": "points", "fields": fields, "size": size})


def points(n: int = 200, size: int | None = None) -> Points:
    rows = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return Points.open(pl.DataFrame(rows, schema=["x", "y"]), cube(size))


def paid(epsilon: str) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(4))


def charges(receipt: Receipt) -> list[tuple[str, Fraction]]:
    return [(charge.label, charge.epsilon) for _, charge in receipt.charges()]


@pytest.mark.parametrize(
    ("size", "epsilon", "rounds"), [(107_091, "1", 13), (5_000, "1", 8), (107_091, "1/10", 8)]
)
def test_rounds_of_breeding_follow_from_the_number_of_points(size: int, epsilon: str, rounds: int) -> None:
    """n epsilon / 8000, and eight at least; each has an equal part."""
    release = PrivGeneKMeans(k=1).fit(points(20, size), paid(epsilon))
    assert release.parameters["rounds"] == rounds
    assert charges(release.receipt) == [
        (f"round {number + 1}", Fraction(epsilon) / rounds) for number in range(rounds)
    ]


def test_a_number_that_nobody_declared_is_paid_for_first() -> None:
    for method in (PrivGeneKMeans(k=1), GuptKMeans(k=1)):
        first, *rest = charges(method.fit(points(50), paid("1")).receipt)
        assert first == ("number of records", Fraction(1, 100))
        assert sum(amount for _, amount in rest) == Fraction(99, 100)


def test_ten_sets_are_chosen_in_a_round_and_the_last_round_chooses_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 200 each; with a round's part for all ten, so that each choice has a tenth of it."""
    several: list[tuple[int, Fraction, int]] = []
    one: list[Fraction] = []
    best_several, best = choice.best_several, choice.best

    def noted(scores, many, pay, **how):  # type: ignore[no-untyped-def]
        several.append((many, pay.epsilon, len(open_seal(scores))))
        return best_several(scores, many, pay, **how)

    def noted_last(scores, pay, **how):  # type: ignore[no-untyped-def]
        one.append(pay.epsilon)
        return best(scores, pay, **how)

    monkeypatch.setattr(choice, "best_several", noted)
    monkeypatch.setattr(choice, "best", noted_last)
    PrivGeneKMeans(k=2, rounds=4).fit(points(), paid("1"))
    assert several == [(10, Fraction(1, 4), 200)] * 3
    assert one == [Fraction(1, 4)]


def test_the_furthest_point_moves_a_score_by_the_squared_diagonal_and_no_further() -> None:
    """4 d r^2 for the cube from -1 to 1, on the lattice of the distances."""
    corner = np.array([[[-1024, -1024]], [[1024, 1024]]])
    empty = Points.open(pl.DataFrame({"x": [], "y": []}, schema={"x": pl.Float64, "y": pl.Float64}), cube())
    far = Points.open(pl.DataFrame({"x": [1.0], "y": [1.0]}), cube())
    moved = open_seal(far.distances(corner)) - open_seal(empty.distances(corner))
    stated = far.distances(corner).sensitivity
    assert stated.linf == stated.spread == 4 * 2 * 1024**2  # one direction: the range is the largest change
    assert -stated.linf <= moved[0] < -0.99 * stated.linf
    assert moved[1] > -10


def test_the_noise_of_a_mean_over_blocks_is_that_of_the_worked_example() -> None:
    """n = 16,281 and k = d = 2 make 48 blocks; the whole range, epsilon 1/10: a scale of 3.33 in the cube."""
    release = GuptKMeans(k=2).fit(points(200, 16_281), paid("1/10"))
    assert release.parameters["blocks"] == 48
    means = [charge for _, charge in release.receipt.charges() if charge.label == "mean"]
    told = [charge.detail.removeprefix("discrete Laplace, ").removeprefix("scale ") for charge in means]
    scales = [float(Fraction(each.partition(" ")[0].replace(",", ""))) / (48 * STEPS) for each in told]
    assert max(scales) == pytest.approx(2 * 2 * 4 / (48 * 0.1), abs=1e-3)
    assert {charge.epsilon for charge in means} == {Fraction(1, 80)}
    assert np.abs(release.centres).max() <= 1


def test_ranges_from_noisy_quartiles_end_with_the_box() -> None:
    """With much budget quartiles are near each other, and noise is that of a narrower range."""
    crowd = np.random.default_rng(1).normal([0.5, -0.25], 0.05, (4000, 2))
    whole = Points.open(pl.DataFrame(crowd, schema=["x", "y"]), cube(4000))
    release = GuptKMeans(k=1).fit(whole, paid("100"))
    assert release.centres.ravel() == pytest.approx([0.5, -0.25], abs=0.05)
    means = [charge for _, charge in release.receipt.charges() if charge.label == "mean"]
    told = [charge.detail.removeprefix("discrete Laplace, ").removeprefix("scale ") for charge in means]
    scales = [Fraction(each.partition(" ")[0].replace(",", "")) for each in told]
    assert max(scales) * 25 < Fraction(2 * REACH, 4)  # a mean has epsilon 25, and the box would be 2 REACH
