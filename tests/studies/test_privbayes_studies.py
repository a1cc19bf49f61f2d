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
from penstock.privacy.seals.sealed import open_seal
from privbayes_all import STUDIES
from privbayes_classifiers import Learned, Majority, Tuned, yes_or_no

EVERY = (*STUDIES, "privbayes_svm")


@pytest.mark.parametrize("name", EVERY)
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
    for name in EVERY:
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


@pytest.mark.parametrize("method", ["private-erm", "privlocal", "privgene"])
def test_classifiers_learn_when_noise_is_small(method: str) -> None:
    """b copies the parity of a; with a large budget hardly a mistake is left (half would be guessing)."""
    train = load("made-up train")
    errors = Misclassified()(train, Learned(method, {"loss": "huber"})(train, "400", 1), 0)
    assert errors is not None
    assert errors["copy"] < 0.15


def test_a_task_is_a_column_that_says_yes_or_no() -> None:
    train = load("made-up train")
    target, positive = train.tasks["copy"]
    (counts,) = yes_or_no(train, "copy").counts([(target,)])
    wanted = np.isin(train.codes[target], list(positive)).sum()
    assert open_seal(counts).tolist() == [train.rows - wanted, wanted]


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
