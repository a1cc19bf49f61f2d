"""PrivateKMeans keeps scikit-learn's manners, and privacy's."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from penstock.errors import LedgerError, PenstockWarning, UsageError
from penstock.learn import PrivateKMeans
from penstock.privacy.ledger.ledger import Ledger
from penstock.releases import load
from penstock.schema import Schema

EXCEPTIONS: dict[str, str] = {}
"""Checks of scikit-learn that privacy makes impossible, each with its reason: none so far."""


def two(n: int = 2000) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(0)
    return rng.normal(np.repeat([[-5.0, 1.0], [5.0, 0.0]], n // 2, axis=0), 0.5)


@pytest.mark.filterwarnings("ignore::penstock.errors.PenstockWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_finds_nothing_wrong() -> None:
    """Noise is drawn with seeds here: scikit-learn gives every estimator a random_state."""
    found = check_estimator(PrivateKMeans(), on_fail=None, on_skip=None)
    failed = {each["check_name"] for each in found if each["status"] == "failed"}
    assert failed == set(EXCEPTIONS)
    assert sum(each["status"] == "passed" for each in found) > 40


def test_it_finds_the_clusters_and_is_a_release() -> None:
    model = PrivateKMeans(n_clusters=2, bounds=(-10, 10), random_state=1)
    labels = model.fit_predict(two())
    assert sorted(model.cluster_centers_[:, 0]) == pytest.approx([-5, 5], abs=0.5)
    assert len(set(labels[:1000])) == len(set(labels[1000:])) == 1
    assert (model.predict(two()) == model.labels_).all()
    assert model.transform(two()).shape == (2000, 2)
    assert -0.1 < model.score(two()) < 0
    assert model.release_.receipt.epsilon == 1
    assert not model.release_.publishable
    assert PrivateKMeans(n_clusters=2, bounds=(-10, 10)).fit(two()).release_.publishable


def test_the_release_can_be_saved_and_used_without_the_estimator(tmp_path: Path) -> None:
    frame = pd.DataFrame(two(), columns=["u", "v"])
    model = PrivateKMeans(n_clusters=2, bounds={"v": (-3, 3), "u": (-10, 10)}, random_state=1).fit(frame)
    opened = load(model.release_.save(tmp_path / "clusters"))
    found = opened.predict(pl.DataFrame({"v": frame["v"], "u": frame["u"]}))  # type: ignore[attr-defined]
    assert found["cluster"].to_list() == model.labels_.tolist()


def test_bounds_are_never_read_off_the_data() -> None:
    with pytest.warns(PenstockWarning, match="between -1 and 1"):
        model = PrivateKMeans(n_clusters=2, random_state=0).fit(1000 * two())
    assert np.abs(model.cluster_centers_).max() <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", PenstockWarning)
        PrivateKMeans(n_clusters=2, bounds=[(-10, 10), (-3, 3)], random_state=0).fit(two())


@pytest.mark.parametrize(
    "bounds",
    [(1, 0), (0, float("inf")), [(0, 1)], "wide", {"x0": (0, 1)}, [(0, 1), (0, "one")], [(0, 1, 2)] * 2],
)
def test_impossible_bounds_are_refused(bounds: object) -> None:
    with pytest.raises(UsageError, match="bounds"):
        PrivateKMeans(n_clusters=2, bounds=bounds).fit(two())  # type: ignore[arg-type]


def test_a_schema_says_whose_presence_is_protected() -> None:
    schema = Schema.from_yaml("""
kind: points
unit: {protects: user, column: who, at_most: 5}
fields:
  - {name: u, type: number, constraints: {minimum: -10, maximum: 10}}
  - {name: v, type: number, constraints: {minimum: -10, maximum: 10}}
""")
    frame = pd.DataFrame(two(), columns=["u", "v"]).assign(who=np.arange(2000) // 5)
    model = PrivateKMeans(n_clusters=2, schema=schema, epsilon=2, random_state=1).fit(frame)
    assert model.release_.receipt.unit.at_most == 5
    assert model.predict(frame).shape == (2000,)


def test_a_ledger_keeps_the_book_of_every_fit(tmp_path: Path) -> None:
    book = tmp_path / "ledger.db"
    Ledger.create(book)
    Ledger.open(book).set_limit("data", 2)
    model = PrivateKMeans(n_clusters=2, epsilon=1, bounds=(-10, 10), ledger=book, account="data")
    model.fit(two())
    model.fit(two())
    assert Ledger.open(book).account("data").balance().left[0] == 0
    with pytest.raises(LedgerError, match="Nothing was spent"):
        model.fit(two())
    with pytest.raises(UsageError, match="'account' is missing"):
        clone(model).set_params(account=None).fit(two())


def test_distances_have_names_and_come_in_the_container_that_is_asked_for() -> None:
    frame = pd.DataFrame(two(), columns=["u", "v"])
    model = PrivateKMeans(n_clusters=2, bounds=(-10, 10), random_state=0).set_output(transform="pandas")
    assert model.fit_transform(frame).columns.tolist() == ["privatekmeans0", "privatekmeans1"]
    assert model.get_feature_names_out().tolist() == ["privatekmeans0", "privatekmeans1"]


def test_a_search_over_parameters_fits_anew_for_every_candidate_and_pays_for_each(tmp_path: Path) -> None:
    """Two candidates on two halves, and the better one on all rows: five times epsilon."""
    book = tmp_path / "ledger.db"
    Ledger.create(book)
    Ledger.open(book).set_limit("data", 5)
    model = PrivateKMeans(bounds=(-10, 10), ledger=str(book), account="data")
    halves = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(model, {"n_clusters": [1, 2]}, cv=halves).fit(two())
    assert search.best_params_ == {"n_clusters": 2}
    assert Ledger.open(book).account("data").balance().left[0] == 0
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(two()) == search.predict(two())).all()


def test_it_works_in_a_pipeline() -> None:
    scaled = make_pipeline(
        FunctionTransformer(lambda rows: rows / 10),
        PrivateKMeans(n_clusters=2, bounds=(-1, 1), random_state=0),
    )
    assert len(set(scaled.fit(two()).predict(two()))) == 2
