"""What a database hands over to this process: watched, for tables of which every record is different."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.engine import Engine, open_engine
from penstock.engine.database import Database, DuckDB
from penstock.engine.postgres import Postgres
from penstock.engine.spark import Spark
from penstock.schema import Schema

NAMES = [f"a{number}" for number in range(24)]
RECORDS = 400
PAIRS = list(itertools.combinations(NAMES, 2))
TRIPLES = list(itertools.combinations(NAMES[:13], 3))
TOGETHER = 32
WIDE = Schema.model_validate(
    {"fields": [{"name": name, "type": "integer", "constraints": {"enum": [0, 1, 2]}} for name in NAMES]}
)


def wide() -> pl.DataFrame:
    """So many columns that hardly two records could be equal, and none are."""
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({name: rng.integers(0, 3, RECORDS) for name in NAMES})
    assert frame.n_unique() == RECORDS
    return frame


def watched(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """For every question from now on the lines of each table that its answer holds."""
    found: list[list[int]] = []

    def watch(kind: type[Database], name: str) -> None:
        plain: Callable[..., Any] = getattr(kind, name)

        def asked(database: Database, *given: Any) -> Any:
            answer = plain(database, *given)
            if "which" in answer:
                found.append(np.bincount(answer["which"]).tolist())
            else:
                found.append([len(next(iter(answer.values())))])
            return answer

        monkeypatch.setattr(kind, name, asked)

    for kind, name in (
        (Database, "numbers"),
        (DuckDB, "answered"),
        (Postgres, "answered"),
        (Spark, "answered"),
    ):
        watch(kind, name)
    return found


def assert_only_tables_are_fetched(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The counts of memory, in a bounded number of questions, of which none is answered by a line for every
    record, nor by more lines than half of them."""
    for asked in (PAIRS, TRIPLES):
        with monkeypatch.context() as watching:
            questions = watched(watching)
            counts = engine.counts(asked)
        wanted = open_engine(wide(), WIDE, engine="memory").counts(asked)
        assert all(np.array_equal(one, two) for one, two in zip(counts, wanted, strict=True))
        assert 1 <= len(questions) <= ceil(len(asked) / TOGETHER)
        assert max(lines for tables in questions for lines in tables) <= RECORDS // 2
