"""What databases would be asked that no test can connect to: the queries, compiled and compared.

`PENSTOCK_WRITE_SQL=1 pytest tests/engine/test_dialects.py` writes them anew; read what changed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import ibis
import pytest

from penstock.engine.bound import keep_some_per_user, user_in_database
from penstock.engine.coordinates import Coordinate, values_in_database
from penstock.engine.database import Database
from penstock.errors import DataError
from penstock.schema import Schema
from penstock.schema.database import coded

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = json.loads((ROOT / "docs" / "assets" / "backends.json").read_text(encoding="utf-8"))
FACTS = Schema.from_yaml("""
fields:
  - {name: job, constraints: {enum: [cook, "it's"]}, outside: other, missing: value}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 5}}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 1}, outside: clamp}
""")


def questions() -> dict[str, Any]:
    """Every shape of query that the engine asks: coding, counting, a lattice, users."""
    raw = ibis.table({"job": "string", "age": "int64", "income": "float64", "who": "string"}, name="people")
    inner = coded(raw, FACTS.codecs, {"user": "who", "raw": "income"})
    codes = inner.select(
        u=user_in_database(inner["user"]),
        c0=inner["job"].cast("int8"),
        c1=inner["age"].cast("int8"),
        x2=values_in_database(FACTS.codec("income"), inner["raw"], inner["income"]),
    )
    kept = ibis.table(codes.schema(), name="codes")
    key = kept["c0"].cast("int64") * 20 + kept["c1"]
    place = Coordinate(0.0, 1.0).positions_in_database(kept["x2"], 30)
    return {
        "codes": codes,
        "counts": kept.select(key=key).group_by("key").aggregate(records=lambda rows: rows.count()),
        "lattice": kept.filter(kept["x2"].notnull())
        .select(k0=place)
        .group_by("k0")
        .aggregate(records=lambda rows: rows.count()),
    }


@pytest.mark.parametrize("dialect", [each["ibis"] for each in BACKENDS["compiled"]])
def test_the_queries_for_a_database_that_is_not_here_are_the_ones_that_were_read(dialect: str) -> None:
    written = "\n\n".join(
        f"-- {name}\n{ibis.to_sql(question, dialect=dialect)}" for name, question in questions().items()
    )
    place = Path(__file__).parent / "dialects" / f"{dialect}.sql"
    if os.environ.get("PENSTOCK_WRITE_SQL"):
        place.write_text(written + "\n", encoding="utf-8")
    assert place.read_text(encoding="utf-8") == written + "\n"


def test_a_database_without_the_hash_is_refused_by_name() -> None:
    """Its users would keep other records than everywhere else."""

    class Nameless:
        name = "sundial"

        def has_operation(self, operation: Any) -> bool:
            return False

    with pytest.raises(DataError, match=r"no SHA-256 of sundial.*Copy the table to Parquet"):
        Database(Nameless()).digest(ibis.literal("text"))


def test_users_are_drawn_in_duckdb_as_the_plain_rule_says() -> None:
    table = ibis.memtable({"u": ["a"] * 5 + ["b"], "c0": [0, 1, 2, 3, 4, 5]})
    kept = keep_some_per_user(table, "u", 2, b"key").to_pyarrow()
    assert kept.num_rows == 3


def test_the_docs_name_every_database_with_the_day_of_its_last_run() -> None:
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text(encoding="utf-8")
    for each in (*BACKENDS["ran"], *BACKENDS["compiled"]):
        assert (ROOT / each["tests"]).exists()
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {each['name']} |")]
        assert each["date"] in line
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for each in BACKENDS["ran"]:
        assert each["extra"] is None or f"\n{each['extra']} = [" in project
