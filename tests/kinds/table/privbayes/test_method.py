"""The method as a whole: budgets, edge cases, refusals, and the reference figures on real data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.kinds.table.tables import (
    binary_rows,
    distance,
    mixed_rows,
    paid,
    real,
    real_schema,
    schema_of,
    table_of,
)

from penstock.errors import BudgetError, UsageError
from penstock.kinds.table.data import Table
from penstock.kinds.table.privbayes.method import PrivBayes
from penstock.schema import Schema


def test_the_default_is_the_published_algorithm_with_proven_bounds() -> None:
    table = table_of(mixed_rows(300, [3, 4]), schema_of([3, 4]))
    default, plain = PrivBayes().fit(table, paid(1, 3)), PrivBayes(preset="plain").fit(table, paid(1, 3))
    assert default.parameters["preset"] == "plain"
    assert default.method == "privbayes"
    assert default.model().json == plain.model().json


def test_size_is_paid_for_only_where_it_is_not_public() -> None:
    rows = binary_rows(900, 5)

    def labels(schema: Schema) -> list[str]:
        charges = PrivBayes(preset="plain").fit(table_of(rows, schema), paid(1)).receipt.charges()
        return [charge.label for _, charge in charges]

    assert "number of records" in labels(schema_of([2] * 5))
    assert "number of records" not in labels(schema_of([2] * 5, size=900))
    assert "number of records" not in labels(schema_of([2] * 5, replace=900))


@pytest.mark.parametrize(
    ("epsilon", "degree", "choices", "marginals"), [(Fraction(1, 2), 2, 5, 4), (Fraction(1, 50), 0, 0, 6)]
)
def test_degree_zero_spends_everything_on_counts(
    epsilon: Fraction, degree: int, choices: int, marginals: int
) -> None:
    schema = schema_of([2] * 6, replace=800)
    release = PrivBayes(preset="journal").fit(table_of(binary_rows(800, 6), schema), paid(epsilon))
    assert release.parameters["degree"] == degree
    charges = [charge for _, charge in release.receipt.charges()]
    chosen = [c.epsilon for c in charges if c.mechanism == "exponential"]
    counted = [c.epsilon for c in charges if c.mechanism != "exponential"]
    assert len(chosen) == choices
    assert len(counted) == marginals
    assert sum(counted) == (epsilon if degree == 0 else Fraction(7, 10) * epsilon)
    if chosen:
        assert set(chosen) == {Fraction(3, 10) * epsilon / 5}


def test_noise_and_choices_have_the_published_scales() -> None:
    """Spec 13.6, NLTCS at epsilon 1/10: noise .018541 in a probability, Delta .023176 of the choices by F."""
    n = 21574
    schema = schema_of([2] * 16, replace=n)
    release = PrivBayes(preset="journal").fit(table_of(binary_rows(n, 16), schema), paid("1/10"))
    charges = [charge for _, charge in release.receipt.charges()]
    counted = [charge for charge in charges if charge.mechanism == "discrete Laplace"]
    assert len(counted) == 14
    for charge in counted:
        assert float(Fraction(charge.detail.removeprefix("scale "))) / n == pytest.approx(0.018541, abs=1e-6)
    chosen = [charge for charge in charges if charge.mechanism == "exponential"]
    assert len(chosen) == 15
    for charge in chosen:
        reach = Fraction(charge.sensitivity.removeprefix("range "))  # of 2 n F, twice its sensitivity
        assert float(reach / 2 / charge.epsilon) / (2 * n) == pytest.approx(0.023176, abs=1e-6)


def test_general_networks_count_all_marginals_or_skip_those_within_others() -> None:
    schema = schema_of([3, 3, 3], replace=5000)
    table = table_of(mixed_rows(5000, [3, 3, 3]), schema)
    published = PrivBayes(preset="journal").fit(table, paid(2, 1))
    ours = PrivBayes(preset="journal", reuse=True).fit(table, paid(2, 1))
    assert len(published.measured) == 3
    assert [p.parents for p in published.network.pairs] == [p.parents for p in ours.network.pairs]
    assert len(ours.measured) < 3
    assert ours.measured[-1].deviation < published.measured[-1].deviation


def test_full_degree_needs_no_choice() -> None:
    schema = schema_of([2, 2, 2])
    release = PrivBayes(preset="plain", degree=2).fit(table_of(binary_rows(300, 3), schema), paid(1))
    assert len(release.measured) == 1
    assert release.measured[0].counts.shape == (2, 2, 2)
    assert all(charge.mechanism == "discrete Laplace" for _, charge in release.receipt.charges())


def test_tables_without_choices_to_make() -> None:
    alone = PrivBayes().fit(table_of(mixed_rows(200, [4]), schema_of([4])), paid(1))
    assert [charge.label for _, charge in alone.receipt.charges()] == ["number of records", "a"]
    constants = PrivBayes(preset="plain").fit(table_of(np.zeros((50, 2)), schema_of([1, 1])), paid(5))
    assert 40 < constants.total < 60  # scale 1/5: off by 10 with probability e^-50
    assert constants.sample(3, seed=0).to_numpy().tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ({"preset": "journl"}, "preset must be"),
        ({"preset": "plain", "beta": 1}, "beta must be"),
        ({"preset": "plain", "theta": 0}, "theta must be"),
        ({"preset": "plain", "score": "F"}, "Score F needs attributes of two values"),
        ({"preset": "plain", "score": "I"}, "choose score R or F"),
        ({"preset": "plain", "score": "Q"}, "score must be one of"),
        ({"preset": "plain", "encoding": "unary"}, "encoding must be"),
        ({"preset": "plain", "degree": 2}, "degree belongs to binary networks"),
        ({"preset": "plain", "encoding": "binary", "degree": 9}, "degree must lie between 0 and 3"),
        ({"preset": "plain", "encoding": "binary", "max_degree": -1}, "max_degree must be a whole"),
        ({"preset": "plain", "choice": "best"}, "choice must be one of"),
        ({"preset": ["plain"]}, "preset must be"),
        ({"preset": "adaptive"}, "use the method confluence"),
        ({"preset": "adaptiv"}, "preset must be one of plain, journal, thesis"),
        ({"preset": "plain", "reuse": "no"}, "reuse must be true or false"),
        ({"preset": "plain", "encoding": "gray", "degree": "2"}, "degree must be a whole number"),
        ({"preset": "plain", "encoding": "gray", "max_degree": 1.5}, "max_degree must be a whole number"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_spent(kind: dict[str, Any], message: str) -> None:
    budget = paid(1)
    with pytest.raises((UsageError, BudgetError), match=message):
        PrivBayes(**kind).fit(table_of(mixed_rows(50, [3, 4]), schema_of([3, 4])), budget)
    assert budget.receipt().epsilon == 0


ADAPTIVE = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 255}, bins: {adaptive: true, most: 17}}
  - {name: income, type: integer, constraints: {minimum: 0, maximum: 255}, bins: {adaptive: true, most: 17}}
"""


@pytest.mark.parametrize("parameter", ["degree", "max_degree"])
def test_bins_that_come_out_fewer_than_allowed_are_no_reason_to_refuse_once_they_are_paid_for(
    parameter: str,
) -> None:
    schema = Schema.from_yaml(ADAPTIVE)
    PrivBayes(encoding="gray", **{parameter: 9}).check(schema)  # seventeen bins each: ten bits at most
    with pytest.raises(UsageError, match=f"{parameter} must lie between 0 and 9"):
        PrivBayes(encoding="gray", **{parameter: 10}).check(schema)
    rows = pl.DataFrame({"age": [7] * 40, "income": [7] * 40})
    budget = paid("1/10")
    release = PrivBayes(encoding="gray", **{parameter: 9}).fit(*Table.open(rows, schema).prepared(budget))
    assert release.parameters["degree"] < 9
    assert release.receipt.epsilon == Fraction(1, 10)


def test_networks_with_more_candidates_than_fit_into_memory_are_refused_or_left_out() -> None:
    schema = schema_of([2] * 40, size=10**9)
    table = table_of(binary_rows(50, 40), schema)
    budget = paid(1)
    with pytest.raises(UsageError, match="has 1,121,099,660 candidates"):
        PrivBayes(preset="plain", degree=8).fit(table, budget)
    assert budget.receipt().epsilon == 0
    assert PrivBayes(preset="plain", max_degree=39).check(schema) is None
    general = PrivBayes(preset="plain").fit(
        table_of(mixed_rows(50, [5] * 30), schema_of([5] * 30, size=10**9)), paid(1)
    )
    assert general.parameters["cells"] < 10**6  # far below what a billion records could fill


def test_many_candidates_are_counted_in_batches_with_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.kinds.table.privbayes import structure

    table = table_of(mixed_rows(400, [3, 4, 2, 3]), schema_of([3, 4, 2, 3]))
    at_once = PrivBayes(preset="plain").fit(table, paid(5, 2)).model()
    monkeypatch.setattr(structure, "MOST_AT_ONCE", 13)
    in_batches = PrivBayes(preset="plain").fit(table, paid(5, 2)).model()
    assert at_once.json == in_batches.json


def test_mistakes_are_found_before_adaptive_bins_are_paid_for(tmp_path: Any) -> None:
    import polars as pl

    import penstock

    field = {
        "name": "age",
        "type": "integer",
        "constraints": {"minimum": 0, "maximum": 99},
        "bins": {"adaptive": True, "count": 100},
    }
    schema = Schema.model_validate({"fields": [field]})
    ledger = penstock.Ledger.create(tmp_path / "book.db")
    ledger.set_limit("people", 10)
    with pytest.raises(UsageError, match="beta must be"):
        penstock.release(
            pl.DataFrame({"age": [30, 40]}),
            schema,
            epsilon=1,
            method="privbayes",
            parameters={"preset": "plain", "beta": 1},
            ledger=ledger,
            account="people",
        )
    assert ledger.account("people").entries() == []


# Real data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "score", "degree", "mean", "deviation"),
    [
        ("0.05", "F", 1, 0.2100, 0.020),
        ("0.1", "F", 2, 0.1401, 0.014),
        ("0.2", "R", 3, 0.0948, 0.011),
        ("0.4", "R", 5, 0.0699, 0.007),
    ],
)
def test_reference_figures_of_nltcs(
    epsilon: str, score: Any, degree: int, mean: float, deviation: float
) -> None:
    """Spec 11.1 (20 runs): within 3 standard errors of both sides plus 5 %; ours may be better."""
    frame, sizes = real("nltcs")
    schema = real_schema(sizes, relation="replace", size=frame.height)
    table = Table.open(frame, schema)
    rows = frame.to_numpy().astype(np.int64)
    runs = 3
    found = []
    for seed in range(runs):
        release = PrivBayes(preset="journal", score=score).fit(table, paid(epsilon, seed))
        assert release.parameters["degree"] == degree
        found.append(distance(release, rows, list(sizes.values()), 3, seed))
    slack = 3 * deviation * np.sqrt(1 / runs + 1 / 20)
    assert float(np.mean(found)) <= mean * 1.05 + slack
    assert float(np.mean(found)) >= mean * 0.85 - slack
