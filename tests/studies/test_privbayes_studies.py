"""The PrivBayes studies: their classifiers, and statements that are never decided without numbers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from frame import MissingDataError, load, run
from frame.statements import checked, statement_table
from frame.table import account, report
from frame.tabular import Misclassified, Original, best_c, examples
from privbayes_all import STUDIES
from privbayes_classifiers import Majority, PrivateERM, PrivGene, Tuned, objective_budget


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_without_results_decides_nothing(name: str, tmp_path: Path) -> None:
    try:
        results = run(import_module(name).study(), seconds=-1, folder=tmp_path)
        verdicts = {statement.text: statement.verdict(results) for statement in results.study.statements}
    except MissingDataError as missing:
        pytest.skip(str(missing))
    assert verdicts
    assert {text for text, verdict in verdicts.items() if verdict.holds is not None} == set()
    assert "not measured" in report(results)
    assert "Statement" not in account(results, "privbayes")
    assert statement_table(checked(results)).count("**not measured**") == len(results.study.statements)


def test_cells_of_all_studies_are_known_to_them() -> None:
    """What a study leaves out or repeats less often is named as the study names it."""
    for name in STUDIES:
        try:
            study = import_module(name).study()
        except MissingDataError as missing:
            pytest.skip(str(missing))
        for dataset, method, epsilon in study.skip:
            assert dataset in study.datasets
            assert method in study.methods
            assert epsilon in study.budgets
        for key in study.fewer:
            dataset, *rest = (key,) if isinstance(key, str) else key
            assert dataset in study.datasets
            assert all(part in study.methods or part in study.budgets for part in rest)


def test_objective_perturbation_splits_epsilon_as_known() -> None:
    """Specification 8.2, C = 1: at 0.8 half is left and n times the extra ridge is 3.517; at 1.6 .2137 is."""
    ridge, left, more = objective_budget(0.8, 1000)
    assert (ridge, left) == (0.001, pytest.approx(0.4))
    assert 1000 * more == pytest.approx(3.517, abs=5e-4)
    assert objective_budget(1.6, 1000)[1:] == (pytest.approx(0.2137, abs=5e-5), 0.0)


@pytest.mark.parametrize(
    "method", [PrivateERM(), PrivateERM(single=True), PrivateERM(tuned=True), PrivGene()]
)
def test_classifiers_learn_when_noise_is_small(method: PrivateERM | PrivGene) -> None:
    """b copies the parity of a; with a huge budget hardly a mistake is left (half would be guessing)."""
    train = load("made-up train")
    errors = Misclassified()(train, method(train, "4000", 1), 0)
    assert errors is not None
    assert errors["copy"] < 0.15


def test_classifiers_are_noise_when_the_budget_is_tiny() -> None:
    train = load("made-up train")
    weights = [PrivateERM()(train, "0.0001", seed).answers["copy"] for seed in (1, 2)]
    assert not np.allclose(weights[0], weights[1], rtol=0.5)


def test_majority_gives_one_answer() -> None:
    train = load("made-up train")
    said = Majority()(train, "100", 1).predict("copy", train.codes)
    _, labels = examples(train, "copy", train.codes)
    assert set(said) == {labels.mean() > 0.5}


def test_rows_that_tune_c_are_also_tried_without() -> None:
    train = load("made-up train")
    errors = Misclassified()(train, Tuned(Original())(train, "1", 0), 0)
    assert errors == {"copy": 0.0, "copy with C = 1": 0.0}
    assert best_c(*examples(train, "copy", train.codes)) == pytest.approx(1.0)
