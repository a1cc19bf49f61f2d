"""Columns that take different texts for the same are refused; merged codes never make a key too long."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest
from tests.engine.fetching import watched

from penstock import Budget
from penstock.engine.ibis import IbisEngine
from penstock.engine.memory import MemoryEngine
from penstock.engine.merged import MergedEngine
from penstock.errors import DataError
from penstock.schema import Schema

MANY = Schema.model_validate(
    {"fields": [{"name": "town", "constraints": {"enum": ["a", "A", *map(str, range(40))]}}]}
)


def filled(backend: Any, kind: str) -> Any:
    backend.raw_sql(f"CREATE TABLE people (town {kind}, job TEXT)")
    backend.raw_sql("INSERT INTO people VALUES ('a', 'x'), ('A', 'y')")
    return backend.table("people")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_collation_that_takes_texts_for_the_same_is_refused(engine: str) -> None:
    """A record that is equal to two of a long list of categories was counted twice."""
    with pytest.raises(DataError, match=r"'town' for the same \(its collation\)"):
        IbisEngine(filled(getattr(ibis, engine).connect(), "TEXT COLLATE NOCASE"), MANY)
    counts = IbisEngine(filled(getattr(ibis, engine).connect(), "TEXT"), MANY).counts([("town",)])[0]
    assert counts[:3].tolist() == [1, 1, 0]


def test_a_default_collation_is_refused_as_that_of_a_column() -> None:
    backend = ibis.duckdb.connect()
    table = filled(backend, "TEXT")
    backend.raw_sql("SET default_collation = 'nocase'")
    with pytest.raises(DataError, match="collation"):
        IbisEngine(table, MANY)


def test_nothing_is_spent_when_a_collation_is_refused() -> None:
    from penstock.kinds.table.data import Table
    from penstock.kinds.table.independent import Independent

    budget = Budget(1)
    with pytest.raises(DataError, match="collation"):
        Independent().fit(Table.open(filled(ibis.duckdb.connect(), "TEXT COLLATE NOCASE"), MANY), budget)
    assert budget.left[0] == 1


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_lookups_of_many_runs_make_no_key_too_long_and_no_line_for_each_record(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten columns of 300 codes, of which every other one is merged: 2**10 cells, not 300**10."""
    rng = np.random.default_rng(0)
    names = [f"c{number}" for number in range(10)]
    columns = {name: rng.integers(0, 300, 4000) for name in names}
    field = {"type": "integer", "constraints": {"minimum": 0, "maximum": 299}, "bins": {"count": 300}}
    schema = Schema.model_validate({"fields": [{"name": name, **field} for name in names]})
    frame = pl.DataFrame(columns)
    if engine == "duckdb":
        frame.write_parquet(tmp_path / "people.parquet")
        table = ibis.duckdb.connect().read_parquet(tmp_path / "people.parquet")
    else:
        with sqlite3.connect(tmp_path / "people.db") as file:
            file.execute(f"CREATE TABLE people ({', '.join(f'{name} INTEGER' for name in names)})")
            file.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(names))})", frame.rows())
        table = ibis.sqlite.connect(tmp_path / "people.db").table("people")
    made = IbisEngine(table, schema)
    questions = watched(monkeypatch)
    lookup = {name: np.arange(300) % 2 for name in names}
    ours = MergedEngine(made, lookup).counts([tuple(names), ("c0", "c1", "c2", "c3")])
    theirs = MergedEngine(MemoryEngine(columns, dict.fromkeys(names, 300)), lookup).counts(
        [tuple(names), ("c0", "c1", "c2", "c3")]
    )
    assert all(np.array_equal(one, two) for one, two in zip(ours, theirs, strict=True))
    assert questions
    assert max(lines for tables in questions for lines in tables) <= 1 << 10
