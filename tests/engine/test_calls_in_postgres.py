"""Calls in PostgreSQL: the release of memory, and callers stay there."""

from __future__ import annotations

from typing import Any

import pytest
from studies.servers import PostgresServer
from tests.engine.fetching import watched
from tests.engine.test_postgres import reader
from tests.kinds.calls.town import SCHEMA, commuters

import penstock

CALLS: list[tuple[str, dict[str, Any], int]] = [
    ("dp-where", {"depth": 3}, 14),
    ("dp-where-published", {"side": 8, "commute_side": 1, "most_mean": 9, "most_deviation": 9}, 15),
]


@pytest.mark.parametrize(("method", "parameters", "most"), CALLS, ids=[case[0] for case in CALLS])
def test_calls_are_counted_in_postgresql_and_no_result_has_a_line_for_a_caller(
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    parameters: dict[str, Any],
    most: int,
) -> None:
    questions = watched(monkeypatch)
    rows = commuters(500)
    table = postgres.hold(f"calls of {method}", rows)
    asked: dict[str, Any] = {"epsilon": 9, "method": method, "seed": 8, "parameters": parameters}
    made = penstock.release(rows, SCHEMA, engine="memory", **asked)
    since = len(postgres.log())
    other = penstock.release(postgres.url, SCHEMA, table=table, **asked)
    statements = postgres.statements(since)
    assert made.model().json == other.model().json
    assert all(table.equals(other.model().tables[name]) for name, table in made.model().tables.items())
    lengths = [max(tables) for tables in questions]
    assert len(lengths) == statements.count("COPY") <= most
    assert statements.count("DECLARE") <= 1  # which looks whether there is a record at all
    assert max(lengths) <= 24 * 64  # of calls by the hour and cell; all else is shorter than the callers
    assert sorted(lengths)[-2] < 450


def test_a_role_that_may_only_read_is_enough_for_calls(postgres: PostgresServer) -> None:
    rows = commuters(60)
    table = postgres.hold("read_calls", rows)
    asked: dict[str, Any] = {"epsilon": 9, "method": "dp-where", "seed": 8, "parameters": {"depth": 2}}
    made = penstock.release(rows, SCHEMA, engine="memory", **asked)
    url, since = reader(postgres, table), len(postgres.log())
    other = penstock.release(url, SCHEMA, table=table, **asked)
    assert made.model().json == other.model().json
    assert all(each.equals(other.model().tables[name]) for name, each in made.model().tables.items())
    assert not {"CREATE", "INSERT"} & set(postgres.statements(since))
