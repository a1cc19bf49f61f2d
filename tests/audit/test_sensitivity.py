"""What sealed values say about themselves holds for all small neighbouring inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.audit.neighbours import Pair, neighbours
from penstock.audit.sensitivity import moves
from penstock.errors import UsageError
from penstock.kinds.points.data import Points
from penstock.kinds.table.data import Table
from penstock.privacy.seals.sealed import Sealed, join
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation, Schema

FIELDS = """
fields:
  - {name: a, constraints: {enum: [u, v, w]}}
  - {name: b, constraints: {enum: [s, t]}}
"""
RECORDS = [("u", "s"), ("v", "t"), ("w", "s")]
SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""


def measured(relation: Relation, ask: Callable[[Table], Sealed[Any]]) -> Callable[[Any], Sealed[Any]]:
    def measure(records: tuple[tuple[str, str], ...]) -> Sealed[Any]:
        size = f"size: {len(records)}\n" if relation is Relation.REPLACE else ""
        schema = Schema.from_yaml(f"relation: {relation.value}\n{size}{FIELDS}")
        frame = pl.DataFrame(list(records), schema=["a", "b"], orient="row")
        return ask(Table.open(frame, schema))

    return measure


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("marginal", [("a",), ("b", "a")])
def test_counts_of_tables_move_exactly_as_stated(relation: Relation, marginal: tuple[str, ...]) -> None:
    pairs = neighbours(RECORDS, 3, relation, smallest=1)
    seen = moves(measured(relation, lambda table: table.counts([marginal])[0]), pairs)
    assert seen.contradictions == []
    assert (seen.l1, seen.linf) == (float(seen.stated.l1), float(seen.stated.linf))


@pytest.mark.parametrize("relation", list(Relation))
def test_joined_counts_and_sizes_move_no_more_than_stated(relation: Relation) -> None:
    pairs = list(neighbours(RECORDS, 3, relation, smallest=1))
    together = measured(relation, lambda table: join(table.counts([("a",), ("b",), ("a", "b")])))
    assert moves(together, pairs).contradictions == []
    assert moves(measured(relation, lambda table: table.size()), pairs).contradictions == []


def test_histograms_of_points_move_exactly_as_stated() -> None:
    def measure(records: tuple[tuple[float, float], ...]) -> Sealed[Any]:
        frame = pl.DataFrame(list(records), schema=["x", "y"], orient="row")
        return Points.open(frame, Schema.from_yaml(SQUARE)).histogram([2, 3])

    corners = [(0.0, 0.0), (0.5, 0.34), (1.0, 1.0)]
    seen = moves(measure, neighbours(corners, 3, Relation.ADD_REMOVE, smallest=1))
    assert seen.contradictions == []
    assert seen.l1 == 1


def test_histograms_of_bounded_users_move_no_more_than_the_bound() -> None:
    schema = Schema.from_yaml("""
unit: {protects: user, column: who, at_most: 2}
fields:
  - {name: a, constraints: {enum: [u, v, w]}}
""")

    def measure(records: tuple[tuple[str, int], ...]) -> Sealed[Any]:
        frame = pl.DataFrame(list(records), schema=["a", "who"], orient="row")
        return Table.open(frame, schema).counts([("a",)])[0]

    others = (("u", 1), ("v", 2))
    pairs = [Pair(others, (*others, *(("w", 3),) * many)) for many in (1, 2, 3, 7)]
    seen = moves(measure, pairs)
    assert seen.contradictions == []
    assert seen.l1 == 2


def test_understated_sensitivities_are_refuted_with_a_witness() -> None:
    def measure(records: tuple[int, ...]) -> Sealed[Any]:
        value = np.array([sum(records), -sum(records)])
        return Sealed(
            value,
            Sensitivity.of(1, monotone=True),
            Relation.ADD_REMOVE,
            because="it does not hold: both coordinates move by the record",
        )

    seen = moves(measure, neighbours((0, 3), 2, Relation.ADD_REMOVE))
    assert (seen.l1, seen.linf, seen.l2_squared, seen.spread) == (6, 3, 18, 6)
    assert len(seen.contradictions) == 5
    assert "l1 is at least 6, not 1, on () | (3,)" in seen.contradictions


def test_sensitivity_that_follows_the_records_is_refused() -> None:
    def measure(records: tuple[int, ...]) -> Sealed[Any]:
        return Sealed(
            np.array([sum(records)]),
            Sensitivity.of(max(records, default=1)),
            Relation.ADD_REMOVE,
            because="it does not hold: it follows the records",
        )

    with pytest.raises(UsageError, match="depends on the records"):
        moves(measure, neighbours((1, 3), 2, Relation.ADD_REMOVE))


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one pair"):
        moves(
            lambda records: Sealed(
                np.zeros(1), Sensitivity.of(1), Relation.ADD_REMOVE, because="it is a constant"
            ),
            [],
        )
