"""Parameters that make no sense are refused in a sentence, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import learn
from penstock.errors import UsageError
from penstock.privacy.ledger.ledger import Ledger

X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
NUMBERS: dict[str, Any] = {"bounds": (-1, 1), "response_bounds": (-1, 1)}
LABELS: dict[str, Any] = {"bounds": (-1, 1), "classes": (0, 1)}


@pytest.mark.parametrize(
    ("estimator", "given", "said"),
    [
        (learn.PrivateLinearRegression, {**NUMBERS, "bounds": 5}, "bounds must be two numbers, .* not 5"),
        (
            learn.PrivateLinearRegression,
            {**NUMBERS, "bounds": "ab"},
            "bounds must be two numbers, .* not 'ab'",
        ),
        (
            learn.PrivateLinearRegression,
            {**NUMBERS, "response_bounds": 5},
            "response_bounds must be two numbers",
        ),
        (
            learn.PrivateLinearRegression,
            {**NUMBERS, "response_bounds": [(0, 1), (0, 1)]},
            "response_bounds has 2 pairs, and 1 would be",
        ),
        (learn.PrivateLinearRegression, {**NUMBERS, "random_state": "a"}, "random_state must be .* not 'a'"),
        (learn.PrivateKMeans, {"bounds": (-1, 1), "random_state": 1.5}, "random_state must be .* not 1.5"),
        (learn.PrivateLogisticRegression, {**LABELS, "method": "x"}, "functional-mechanism, not 'x'"),
        (learn.PrivateLinearSVM, {**LABELS, "method": "x"}, "output-perturbation, not 'x'"),
        (learn.PrivateLogisticRegression, {**LABELS, "classes": (7, 8)}, "the label [01], which nobody"),
        (learn.PrivateGibbs, {"predictors": [len], "loss": 3}, "loss must be a function"),
    ],
)
def test_it_is_said_and_nothing_is_spent(estimator: Any, given: Any, said: str, tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.set_limit("people", 6)
    model = estimator(**given, ledger=ledger, account="people")
    numbers = "response_bounds" in given
    with pytest.raises(UsageError, match=said) as caught:
        model.fit(X, X[:, 0] if numbers else (X[:, 0] > 0).astype(int))
    assert "Nothing was spent." in str(caught.value)
    assert ledger.account("people").entries() == []
