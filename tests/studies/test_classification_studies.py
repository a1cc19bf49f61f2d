"""The studies of classifiers: what reads the records says so, and methods are compared on the same folds."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.learn.classification.test_privpfc import SCHEMA, people

import classification
import classification_default
import classification_dimensions
import classification_quality
import classification_race
import classification_speed
from classification import ChosenWithoutNoise, GrownWithoutNoise, on_the_same_folds
from frame.data import Dataset
from frame.folds import Fold
from frame.results import Key, Results, Summary


@pytest.fixture(scope="module")
def fold() -> Fold:
    """Made-up people, of which a sixth is held out."""
    frame = people(1200).select(pl.all().cast(pl.String))
    whole = Dataset("people", SCHEMA, dict(SCHEMA.encode(frame)), {})
    return Fold(whole.part(np.arange(1000), "train"), whole.part(np.arange(1000, 1200), "test"), "rich")


@pytest.mark.parametrize("ablation", [ChosenWithoutNoise, GrownWithoutNoise])
def test_an_ablation_refuses_to_be_called_private_and_still_classifies(
    ablation: type[ChosenWithoutNoise] | type[GrownWithoutNoise], fold: Fold
) -> None:
    with pytest.raises(ValueError, match="not private"):
        ablation(private=True)
    made = ablation()(fold, "5", 1)
    assert {"school", "age"} <= set(made.features)
    found = classification.Errors()(fold, made, 1)
    assert max(found["tree"], found["histogram"]) < 0.25


def results(values: dict[Key, float]) -> Results:
    known = {key: Summary(value, 0.0, 1) for key, value in values.items()}
    return Results(classification.study(), known, {})


def test_methods_are_compared_on_the_folds_that_all_were_run_on() -> None:
    measured: dict[Key, float] = {
        ("adult-income-0", "privpfc", "1", "error tree"): 0.2,
        ("adult-income-1", "privpfc", "1", "error tree"): 0.1,
        ("adult-income-1", "diffgen", "1", "error tree"): 0.15,
    }
    found = on_the_same_folds(results(measured), "adult-income", ("privpfc", "diffgen"), "1")
    assert found is not None
    assert [one.mean for one in found] == [0.1, 0.15]
    assert on_the_same_folds(results(measured), "adult-income", ("privpfc", "pph"), "1") is None
    assert classification.best_of_trees(results(measured)).holds
    measured["adult-income-1", "diffgen", "1", "error tree"] = 0.05
    assert classification.best_of_trees(results(measured)).holds is False


def test_what_is_not_measured_is_neither_true_nor_false() -> None:
    nothing = results({})
    every = (
        *classification.STATEMENTS,
        *classification_default.STATEMENTS,
        *classification_dimensions.STATEMENTS,
    )
    assert {one.verdict(nothing).holds for one in every} == {None}


def test_seconds_and_scores_are_judged_by_their_limits() -> None:
    seconds: dict[str, float] = {"memory|reading": 0.1, "duckdb|reading": 0.5}
    for epsilon in classification_speed.EPSILONS:
        seconds |= {f"memory|{epsilon}": 0.9, f"duckdb|{epsilon}": 0.9}
        seconds |= {f"privbayes|{epsilon}": 2.0, f"pph|{epsilon}": 0.2, f"diffgen|{epsilon}": 0.1}
    assert [one.verdict.holds for one in classification_speed.sentences(seconds)] == [True, True]
    assert [
        one.verdict.holds
        for one in classification_speed.sentences({**seconds, "memory|1": 1.1, "pph|1": 9.0})
    ] == [False, False]
    (good,) = classification_quality.sentences({"a|1": 0.99, "b|1": 0.94})
    (bad,) = classification_quality.sentences({"a|1": 0.99, "b|1": 0.9})
    assert (good.verdict.holds, bad.verdict.holds) == (True, False)


def test_the_race_prints_means_with_the_relation_of_each() -> None:
    known = {
        "accuracy": {
            name: {epsilon: [0.8, 0.9] for epsilon in classification_race.EPSILONS}
            for name in (classification_race.OURS, classification_race.THEIRS)
        },
        "no privacy": [0.85, 0.85],
    }
    shown = classification_race.table(known)
    assert "| diffprivlib | one record replaced, n public | 0.8500 ± 0.0707 |" in shown
