"""Selections compared with the truth: hand-made examples, and the report of the custodian."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import penstock
from penstock.learn.selection.evaluation import false_negative_rate, score_error_rate
from penstock.schema import Schema

SCORES = [10, 8, 6, 4, 2]
SCHEMA = Schema.from_yaml("""
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [a, b, c, d, e]}}
""")


def test_rates_by_hand() -> None:
    assert score_error_rate(SCORES, [0, 3], 2) == pytest.approx(1 - 7 / 9)
    assert score_error_rate(SCORES, [0], 2) == pytest.approx(1 - 5 / 9)  # an empty place scores nothing
    assert false_negative_rate(SCORES, [0, 3], 2) == 0.5
    assert false_negative_rate(SCORES, [1, 0], 2) == 0
    assert score_error_rate(SCORES, [], 3) == 1
    assert score_error_rate([0, 0], [1], 1) == 0


def test_of_equal_scores_any_is_as_good() -> None:
    assert false_negative_rate([5, 3, 3, 3, 1], [0, 3], 2) == 0
    assert false_negative_rate([5, 3, 3, 3, 1], [1, 2], 2) == 0.5  # 5 is missed, and one 3 is enough
    assert false_negative_rate([5, 3, 3, 3, 1], [0, 4], 2) == 0.5


def data() -> pl.DataFrame:
    return pl.DataFrame({"basket": ["a b c d e"] * 100 + ["a b c"] * 100 + ["a"] * 100})


def test_a_good_selection_stands_at_the_ceiling_and_a_blind_one_at_the_floor(tmp_path: Path) -> None:
    good = penstock.select(data(), SCHEMA, epsilon=50, c=3, counts="1/2", seed=1)
    found = penstock.evaluate(good, data())
    assert {score.name: (score.value, score.position) for score in found.scores} == {
        "false negatives": (0.0, 1.0),
        "score error": (0.0, 1.0),
    }
    assert found.details["largest error of a count"] < 20
    assert "What was selected" in found.save(tmp_path / "e.html").read_text(encoding="utf-8")
    blind = np.mean(
        [
            [
                score.position
                for score in penstock.evaluate(
                    penstock.select(data(), SCHEMA, epsilon="1e-6", c=2, seed=seed), data()
                ).scores
            ]
            for seed in range(60)
        ],
        axis=0,
    )
    # The position of a single blind draw has a standard deviation below 1; 60 of them, five deviations.
    assert np.all(np.abs(blind) < 0.65)


def test_thresholds_are_judged_by_what_was_missed_and_mistaken() -> None:
    found = penstock.select(data(), SCHEMA, epsilon=50, c=5, threshold=150, seed=1)
    scores = {score.name: score.value for score in penstock.evaluate(found, data()).scores}
    assert scores == {"missed": 0.0, "mistaken": 0.0}
    wrong = penstock.select(data(), SCHEMA, epsilon=50, c=5, threshold=150, seed=1)
    other = pl.DataFrame({"basket": ["d"] * 200 + ["a"] * 200})
    scores = {score.name: round(score.value, 3) for score in penstock.evaluate(wrong, other).scores}
    assert scores == {"missed": 0.5, "mistaken": 0.667}


def test_a_column_of_a_table_is_compared_too() -> None:
    schema = Schema.from_yaml(
        "fields: [{name: town, constraints: {enum: [Ayr, Bonn, Cork]}, missing: value}]"
    )
    frame = pl.DataFrame({"town": ["Ayr"] * 90 + ["Bonn"] * 50 + [None] * 300})
    found = penstock.evaluate(penstock.select(frame, schema, epsilon=50, c=1, seed=1), frame)
    assert found.score("false negatives").value == 0


def test_the_number_of_records_is_that_of_all_records() -> None:
    """Not the largest count: here a third of the baskets, and most towns, hold nothing that is counted."""
    baskets = pl.DataFrame({"basket": ["a b"] * 100 + ["c"] * 60 + [""] * 80})
    assert penstock.evaluate(penstock.select(baskets, SCHEMA, epsilon=50, c=1, seed=1), baskets).rows == 240
    schema = Schema.from_yaml("fields: [{name: town, constraints: {enum: [Ayr, Bonn]}, missing: value}]")
    towns = pl.DataFrame({"town": ["Ayr"] * 90 + ["Bonn"] * 50 + [None] * 300})
    chosen = penstock.select(towns, schema, epsilon=50, c=1, column="town", seed=1)
    assert penstock.evaluate(chosen, towns).rows == 440
