"""What estimators are handed over: how one record is read never depends on another one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

import penstock.learn
from penstock.errors import UsageError
from penstock.learn import (
    PrivateGibbs,
    PrivateKMeans,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateOneVsRest,
    PrivPfCClassifier,
    SampleAndAggregate,
)
from penstock.learn.estimators import described_frame
from penstock.learn.gibbs.handed import ONE, Answered, by_themselves
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

SIZES = "{name: size, constraints: {enum: ['1', '2', 'true']}, missing: value, outside: other}"
LABELS = f"target: large\nfields:\n  - {SIZES}\n  - {{name: large, constraints: {{enum: ['yes', 'no']}}}}\n"
RENTS = f"""
target: rent
fields:
  - {SIZES}
  - {{name: rent, type: number, constraints: {{minimum: 0, maximum: 9}}, bins: {{count: 9}}}}
"""
USERS = "unit: {protects: user, column: person, at_most: 2}\n"


def column(values: list[Any], as_frame: bool) -> Any:
    """A column of Python objects, as an array or as a pandas frame."""
    made = np.empty((len(values), 1), dtype=object)
    made[:, 0] = values
    return pd.DataFrame(made, columns=["size"]) if as_frame else made


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("crowd", [True, 1, 2.0, "1", "true"])
@pytest.mark.parametrize("stranger", [7, 2.5, "red", True, None])
def test_an_object_of_another_type_does_not_change_how_the_others_are_read(
    crowd: Any, stranger: Any, as_frame: bool
) -> None:
    codec = Schema.from_yaml(LABELS).codec("size")
    alone = codec.locate(described_frame(column([crowd] * 9, as_frame), ["size"])["size"])
    for before, after in ((0, 1), (1, 0)):
        together = [stranger] * before + [crowd] * 9 + [stranger] * after
        seen = codec.locate(described_frame(column(together, as_frame), ["size"])["size"])
        assert seen[before : before + 9].tolist() == alone.tolist()


@pytest.mark.parametrize(
    ("crowd", "stranger", "listed"), [(0.0, -0.0, False), (1, True, True), (1, 0.5, True), (1, "1", True)]
)
def test_a_true_answer_of_another_type_moves_a_sum_by_one_at_most(
    crowd: Any, stranger: Any, listed: bool
) -> None:
    """The loss tells apart what Python calls equal."""

    def sums(given: list[Any]) -> int:
        truth = by_themselves(given if listed else np.array(given))
        rows = np.zeros((len(truth), 1))
        sealed = Answered(rows, truth, Relation.ADD_REMOVE).right(
            [lambda rows: np.array([crowd], dtype=object)], lambda told, true: float(repr(told) != repr(true))
        )
        return int(open_seal(sealed)[0])

    for together in ([stranger] + [crowd] * 20, [crowd] * 20 + [stranger]):
        assert 0 <= sums(together) - sums([crowd] * 20) <= ONE


def test_equal_values_that_a_loss_tells_apart_are_judged_apart() -> None:
    truth = np.array([True, *[1] * 20], dtype=object)
    sealed = Answered(np.zeros((21, 1)), truth, Relation.ADD_REMOVE).right(
        [lambda rows: [1]], lambda told, true: float(repr(told) != repr(true))
    )
    assert open_seal(sealed).tolist() == [20 * ONE]


class Widths(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """Learns how wide the text of its labels is stored."""

    def fit(self, rows: Any, labels: Any) -> Widths:
        self.coef_ = np.array([labels.dtype.itemsize / 100])
        return self


def test_a_long_label_elsewhere_does_not_change_what_a_block_is_given() -> None:
    classes = ("a", "b", "a long label")
    rows = np.random.default_rng(0).uniform(-1, 1, (400, 1))
    found = []
    for labels in (["a", "b"] * 200, ["a", "b"] * 199 + ["a long label", "b"]):
        model = SampleAndAggregate(Widths(), attributes=("coef_",), classes=classes, blocks=40, epsilon=50)
        found.append(float(model.set_params(random_state=1).fit(rows, labels).coef_[0]))
    assert found[0] == found[1]
    assert found[0] == pytest.approx(np.array(classes).dtype.itemsize / 100, abs=0.1)


def test_missing_values_of_a_pandas_frame_are_missing() -> None:
    frame, labels = pd.DataFrame({"size": ["1", None] * 200}), ["yes", "no"] * 200
    model = PrivPfCClassifier(schema=Schema.from_yaml(LABELS), epsilon=5, random_state=1).fit(frame, labels)
    assert model.predict(pd.DataFrame({"size": [None, "1"]})).tolist() == ["no", "yes"]


@pytest.mark.parametrize("model", [PrivPfCClassifier, PrivateLogisticRegression, PrivateLinearRegression])
def test_users_are_protected_where_the_schema_says_so(model: Any) -> None:
    numbers = model is PrivateLinearRegression
    frame = pl.DataFrame({"size": ["1", "2"] * 30, "person": [row // 3 for row in range(60)]})
    answers: list[Any] = [1.0, 8.0] * 30 if numbers else ["yes", "no"] * 30
    schema = Schema.from_yaml(USERS + (RENTS if numbers else LABELS))
    fitted = model(schema=schema, random_state=1).fit(frame, answers)
    assert fitted.release_.receipt.unit.at_most == 2
    assert len(fitted.predict(frame.drop("person"))) == 60


@pytest.mark.parametrize(
    ("model", "rows", "answers", "words"),
    [
        (
            PrivPfCClassifier(schema=Schema.from_yaml(LABELS)),
            pd.DataFrame({"x": ["1"]}),
            ["yes"],
            "no column",
        ),
        (PrivPfCClassifier(schema="schema.yaml"), pd.DataFrame({"size": ["1"]}), ["yes"], "be a Schema"),
        (PrivateLinearRegression(schema="schema.yaml"), pd.DataFrame({"size": ["1"]}), [1.0], "be a Schema"),
        (PrivateKMeans(schema="schema.yaml"), np.zeros((3, 1)), None, "be a Schema"),
        (
            PrivateKMeans(schema=Schema.from_yaml(LABELS)),
            pd.DataFrame({"size": [1]}),
            None,
            "no column 'large'",
        ),
    ],
)
def test_a_frame_or_a_schema_that_does_not_fit_is_refused_in_a_sentence(
    model: Any, rows: Any, answers: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        model.fit(rows, answers)


@pytest.mark.parametrize("many", [0, 1, 5])
def test_rows_and_answers_are_as_many(many: int) -> None:
    frame = pd.DataFrame({"size": ["1"] * 4})
    for model, answer in (
        (PrivPfCClassifier(schema=Schema.from_yaml(LABELS)), "yes"),
        (PrivateLinearRegression(schema=Schema.from_yaml(RENTS)), 1.0),
    ):
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.fit(frame, [answer] * many)


def test_estimators_are_listed_and_say_when_they_are_not_fitted() -> None:
    assert set(penstock.learn.__all__) <= set(dir(penstock.learn))
    with pytest.raises(NotFittedError):
        PrivateOneVsRest(PrivPfCClassifier(), classes=(0, 1)).predict([[0.0]])
    with pytest.raises(NotFittedError):
        PrivateGibbs([lambda rows: rows]).predict([[0.0]])
