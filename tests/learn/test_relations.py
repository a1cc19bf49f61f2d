"""Learners under both relations: the receipt says which one holds and what a record moves under it, and the
ledger converts or refuses."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

import penstock
from penstock import catalogue
from penstock.errors import LedgerError
from penstock.learn import PrivateGaussianRegression, PrivateGibbs, SampleAndAggregate
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.unit import Relation
from penstock.releases.release import Release
from penstock.schema import Schema

LEARNERS = [info for info in catalogue.methods("table") if info.answer in ("classifier", "predictor")]
TWICE = [info for info in LEARNERS if len(info.relations) == 2]
FIELDS = """
fields:
  - {name: rooms, type: integer, constraints: {minimum: 0, maximum: 4}, bins: {count: 5}}
  - {name: large, constraints: {enum: ['yes', 'no']}}
  - {name: rent, type: number, constraints: {minimum: 0, maximum: 8}, bins: {count: 8}}
"""
ROWS = pl.DataFrame({"rooms": [0, 4, 2] * 4, "large": ["no", "yes", "no"] * 4, "rent": [0.5, 7.5, 4.0] * 4})
NUMBERS = ("regression", "posterior-regression")
X, Y = np.linspace(-1, 1, 60)[:, None], np.linspace(-1, 1, 60)


def described(relation: str) -> Schema:
    size = f"size: {ROWS.height}\n" if relation == "replace" else ""
    return Schema.from_yaml(f"relation: {relation}\n{size}{FIELDS}")


def released(method: str, relation: str, **book: Any) -> Release:
    parameters: dict[str, Any] = {"target": "rent" if method in NUMBERS else "large"}
    return penstock.release(
        ROWS, described(relation), epsilon=1, method=method, parameters=parameters, seed=1, **book
    )


def moved(release: Release) -> Fraction:
    """By how much a unit moves what is learned from first, as the charge states it."""
    charges = [charge for _, charge in release.receipt.charges() if "number" not in charge.label]
    return Fraction(charges[0].sensitivity.split()[-1])


@pytest.mark.parametrize("info", LEARNERS, ids=lambda info: info.name)
def test_the_receipt_names_the_relation_under_which_all_of_epsilon_was_spent(
    info: catalogue.MethodInfo,
) -> None:
    words = {"add-remove": "one unit added or removed", "replace": "one unit replaced"}
    for relation in info.relations:
        receipt = released(info.name, relation).receipt
        assert receipt.relation is Relation(relation)
        assert receipt.epsilon == 1
        assert words[relation] in receipt.guarantee
        assert receipt.to_dict()["relation"] == relation


IN_STEPS = "output-perturbation"
"""What it states is in steps of a lattice that is itself twice as coarse where a record is replaced."""


@pytest.mark.parametrize(
    "info", [info for info in TWICE if info.name != IN_STEPS], ids=lambda info: info.name
)
def test_what_a_record_moves_is_stated_for_the_relation_that_holds(info: catalogue.MethodInfo) -> None:
    """A record in another's place does what both would do; a thousandth is for what was rounded up."""
    added, swapped = (moved(released(info.name, relation)) for relation in ("add-remove", "replace"))
    assert 0.999 * 2 * added <= swapped <= 1.001 * 2 * added


@pytest.mark.parametrize("info", LEARNERS, ids=lambda info: info.name)
def test_an_account_for_replaced_records_is_debited_twice_what_added_ones_cost(
    info: catalogue.MethodInfo, tmp_path: Path
) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.set_limit("homes", 10, 0, Relation.REPLACE)
    released(info.name, "add-remove", ledger=ledger, account="homes")
    assert ledger.account("homes").balance().spent[0] == 2
    (entry,) = ledger.account("homes").entries()
    assert (entry.relation, entry.epsilon) == (Relation.ADD_REMOVE, 1)


@pytest.mark.parametrize("info", TWICE, ids=lambda info: info.name)
def test_a_release_for_replaced_records_enters_no_account_for_added_ones(
    info: catalogue.MethodInfo, tmp_path: Path
) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.set_limit("homes", 10)
    with pytest.raises(LedgerError, match=r"Nothing was spent\.$"):
        released(info.name, "replace", ledger=ledger, account="homes")
    assert ledger.account("homes").entries() == []


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_estimators_that_are_no_methods_say_it_on_their_receipts(relation: Any, tmp_path: Path) -> None:
    ledger = Ledger.create(f"sqlite:///{tmp_path / 'book.db'}")
    ledger.set_limit("rows", 10, "1e-3", Relation.REPLACE)
    paid: dict[str, Any] = {"ledger": ledger, "account": "rows", "random_state": 1}
    borders = [lambda rows, at=at: rows[:, 0] > at for at in (-0.5, 0.0, 0.5)]  # type: ignore[misc]
    gibbs = PrivateGibbs(borders, relation=relation, **paid).fit(X, Y > 0)
    blocks = SampleAndAggregate(LinearRegression(), blocks=5, relation=relation, **paid).fit(X, Y)
    assert gibbs.receipt_.relation is blocks.receipt_.relation is Relation(relation)
    assert gibbs.receipt_.epsilon == blocks.receipt_.epsilon == 1
    assert ledger.account("rows").balance().spent[0] == (4 if relation == "add-remove" else 2)


def test_draws_without_bounds_are_for_replaced_rows_and_say_so() -> None:
    model = PrivateGaussianRegression(delta="1e-6", bounds=(-1, 1), response_bounds=(-1, 1), random_state=1)
    receipt = model.fit(X, Y).release_.receipt
    assert receipt.relation is Relation.REPLACE
    assert (receipt.epsilon, receipt.delta) == (1, Fraction(1, 10**6))
