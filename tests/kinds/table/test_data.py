from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.errors import DataError, SchemaError, UsageError
from penstock.kinds.table.data import Table
from penstock.privacy.seals.sealed import FAILURE, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Schema

TEXT = """
fields:
  - {name: a, constraints: {enum: [x, y]}}
  - {name: b, constraints: {enum: [p, q, r]}}
"""
ROWS = list(product("xy", "pqr"))


def table_of(rows: list[tuple[str, str]], extra: str = "") -> Table:
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    return Table.open(frame, Schema.from_yaml(TEXT + extra))


def distance(first: Table, second: Table, marginal: tuple[str, ...]) -> tuple[int, int, int]:
    moved = open_seal(first.counts([marginal])[0]) - open_seal(second.counts([marginal])[0])
    return int(np.abs(moved).sum()), int(np.abs(moved).max()), int((moved**2).sum())


@pytest.mark.parametrize("marginal", [("a",), ("b",), ("a", "b")])
def test_one_record_added_moves_counts_by_no_more_than_their_sensitivity(marginal: tuple[str, ...]) -> None:
    base = [("x", "p"), ("y", "r")]
    declared = table_of(base).counts([marginal])[0].sensitivity
    for row in ROWS:
        l1, linf, l2 = distance(table_of([*base, row]), table_of(base), marginal)
        assert (l1, linf, l2) == (declared.l1, declared.linf, declared.l2_squared)


@pytest.mark.parametrize("marginal", [("a",), ("b",), ("a", "b")])
def test_one_record_replaced_moves_counts_by_no_more_than_their_sensitivity(
    marginal: tuple[str, ...],
) -> None:
    public = "relation: replace\nsize: 2\n"
    worst = 0
    declared = table_of([("x", "p"), ("y", "r")], public).counts([marginal])[0].sensitivity
    for row, other in product(ROWS, ROWS):
        l1, linf, l2 = distance(
            table_of([("x", "p"), row], public), table_of([("x", "p"), other], public), marginal
        )
        assert l1 <= declared.l1
        assert linf <= declared.linf
        assert l2 <= declared.l2_squared
        worst = max(worst, l1)
    assert worst == declared.l1  # the bound is attained, so it is not merely generous


def test_a_user_moves_counts_by_at_most_the_declared_number_of_records() -> None:
    schema = Schema.from_yaml(TEXT + "unit: {protects: user, column: who, at_most: 2}\n")
    rows = [("u1", "x", "p"), ("u2", "y", "q")]
    greedy = [("u3", "x", "p")] * 9

    def counted(data: list[tuple[str, str, str]]) -> np.ndarray:
        table = Table.open(pl.DataFrame(data, schema=["who", "a", "b"], orient="row"), schema)
        return open_seal(table.counts([("a", "b")])[0])

    assert np.abs(counted(rows + greedy) - counted(rows)).sum() == 2
    assert Table.open(pl.DataFrame(rows, schema=["who", "a", "b"], orient="row"), schema).counts([("a",)])[
        0
    ].sensitivity == Sensitivity.of(2, l2_squared=4, monotone=True)


def test_replace_without_a_public_size_is_refused() -> None:
    with pytest.raises(SchemaError, match="size"):
        table_of(ROWS, "relation: replace\n")


def test_a_wrong_public_size_is_refused() -> None:
    with pytest.raises(DataError, match="public size of 7"):
        table_of(ROWS, "relation: replace\nsize: 7\n")


def test_replace_with_several_records_per_user_is_refused() -> None:
    unit = "unit: {protects: user, column: who, at_most: 2}\n"
    schema = Schema.from_yaml(TEXT + "relation: replace\nsize: 1\n" + unit)
    rows = pl.DataFrame([("u", "x", "p")], schema=["who", "a", "b"], orient="row")
    with pytest.raises(SchemaError, match="at_most"):
        Table.open(rows, schema)


def test_a_claim_without_a_reason_is_refused() -> None:
    with pytest.raises(UsageError, match="reason"):
        table_of(ROWS).derive([("a",)], lambda tables: tables[0], Sensitivity.of(1), shape=(2,), because="")


def test_rules_that_leave_nothing_possible_are_refused_before_any_charge() -> None:
    with pytest.raises(SchemaError, match="no row possible"):
        table_of(ROWS, "impossible: [a = x, a = y]\n")


def test_a_derived_vector_that_fails_says_nothing_of_the_records() -> None:
    def failing(tables: list[Any]) -> Any:
        raise ValueError(str(tables[0]))

    for function in (failing, lambda tables: tables[0][:1], lambda tables: tables[0].astype(float)):
        with pytest.raises(UsageError) as caught:
            table_of(ROWS).derive([("a",)], function, Sensitivity.of(1), shape=(2,), because="a test of it")
        assert str(caught.value) == FAILURE
        assert caught.value.__context__ is None
