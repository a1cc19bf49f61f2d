"""PostgreSQL: the same releases as in memory, in few statements, with no more than the right to read."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from studies.servers import PostgresServer
from tests.engine import fetching
from tests.engine.fetching import assert_only_tables_are_fetched, wide
from tests.test_one_release_on_every_engine import POINTS, TABLE, files, records

import penstock
from penstock.engine import Within, open_engine
from penstock.engine.ibis import IbisEngine
from penstock.engine.stored import database_of
from penstock.errors import DataError, PenstockError, PenstockWarning
from penstock.schema import Schema

USERS = f"unit: {{protects: user, column: who, at_most: 2}}\n{TABLE}"
TOWNS = ['it\'s "{7}, \\ ☃"', *(f"town {number}" for number in range(1, 60))]
WIDE = f"""
fields:
  - {{name: job, constraints: {{enum: [cook, nurse, clerk]}}, outside: other}}
  - {{name: town, constraints: {{enum: {json.dumps(TOWNS)}}}}}
  - {{name: age, type: integer, constraints: {{minimum: 0, maximum: 99}}, missing: value}}
  - {{name: income, type: number, constraints: {{minimum: 0, maximum: 5000}}, bins: {{adaptive: true}},
     outside: clamp}}
"""


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    frame = pl.read_parquet(records(tmp_path_factory.mktemp("people") / "people.parquet"))
    rng = np.random.default_rng(2)
    return frame.with_columns(
        pl.Series("who", rng.integers(0, 30, frame.height).astype(float)),
        pl.Series("town", rng.choice(TOWNS, frame.height).tolist()),
    )


@pytest.mark.parametrize(
    ("method", "schema"),
    [
        ("independent", USERS),
        ("confluence", WIDE),
        ("privbayes", TABLE),
        ("privtree", POINTS),
        ("uniform-grid", f"unit: {{protects: user, column: who, at_most: 2}}\n{POINTS.lstrip()}"),
    ],
)
def test_a_release_from_postgresql_is_the_one_from_memory(
    postgres: PostgresServer, people: pl.DataFrame, tmp_path: Path, method: str, schema: str
) -> None:
    facts = Schema.from_yaml(schema)
    postgres.hold("people", people)
    for source, table in ((people, None), (postgres.url, "people")):
        out = tmp_path / ("memory" if table is None else "postgres") / "release"
        penstock.release(source, facts, table=table, epsilon="1/2", method=method, seed=8, out=out)
    assert files(tmp_path / "memory" / "release") == files(tmp_path / "postgres" / "release")


TWENTY = ", ".join(f"p{page}" for page in range(20))
PAGES = f"fields:\n  - {{name: page, constraints: {{enum: [{TWENTY}]}}}}\n"
VISITS = f"kind: sequences\nsequence: {{symbol: page, user: visit, time: at, longest: 9}}\n{PAGES}"
BASKETS = f"kind: itemsets\nitems: {{item: page, transaction: visit, largest: 4}}\n{PAGES}"
OWNED = "unit: {protects: user, column: who, at_most: 2}\n"
LISTS = [
    ("privtree-sequences", OWNED + VISITS, {}, 24),
    ("n-gram", VISITS, {}, 10),
    ("top-strings", VISITS, {"many": 6}, 12),
    ("sluice", BASKETS, {}, 16),
    ("diffpart", BASKETS, {"fan_out": 4}, 16),
    ("privtree-sets", OWNED + BASKETS, {}, 36),
    ("top-sets", OWNED + BASKETS, {"k": 5, "longest": 2}, 14),
    ("select-items", OWNED + BASKETS, {"c": 3}, 10),
]


@pytest.fixture(scope="module")
def visits() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    pages = np.minimum(rng.geometric(0.3, 600) - 1, 19)
    return pl.DataFrame(
        {
            "visit": [f"v{number}" for number in rng.integers(0, 80, 600)],
            "at": rng.permutation(600),
            "page": [f"p{page}" for page in pages.tolist()],
            "who": rng.integers(0, 30, 600),
        }
    )


@pytest.mark.parametrize(("method", "schema", "parameters", "most"), LISTS, ids=[case[0] for case in LISTS])
def test_sequences_and_item_sets_are_counted_in_postgresql(
    postgres: PostgresServer,
    visits: pl.DataFrame,
    method: str,
    schema: str,
    parameters: dict[str, Any],
    most: int,
) -> None:
    """Every question is one COPY of counts; records are never fetched."""
    facts = Schema.from_yaml(schema)
    postgres.hold("visits", visits)
    asked: dict[str, Any] = {"epsilon": 9, "method": method, "seed": 8, "parameters": parameters}
    made = penstock.release(visits, facts, **asked)
    since = len(postgres.log())
    other = penstock.release(postgres.url, facts, table="visits", **asked)
    statements = postgres.statements(since)
    assert made.model().json == other.model().json
    assert made.model().tables.keys() == other.model().tables.keys()
    assert all(table.equals(other.model().tables[name]) for name, table in made.model().tables.items())
    assert 1 <= statements.count("COPY") <= most
    assert statements.count("DECLARE") <= 1  # which looks whether there is a record at all


def test_all_marginals_of_a_request_take_one_statement_and_a_level_of_a_tree_one(
    postgres: PostgresServer, people: pl.DataFrame
) -> None:
    facts = Schema.from_yaml(WIDE)
    engine = open_engine(postgres.table(people), facts)
    names = list(facts.names)
    asked = [(one, two) for one in names for two in names if one < two]
    since = len(postgres.log())
    found = engine.counts([*asked, tuple(names[:3])])
    assert postgres.statements(since) == ["COPY"]
    reference = open_engine(people, facts).counts([*asked, tuple(names[:3])])
    assert all(np.array_equal(one, two) for one, two in zip(found, reference, strict=True))
    points = Schema.from_yaml(POINTS)
    rng = np.random.default_rng(1)
    cells = np.unique(rng.integers(0, 1 << 20, (5000, 2)), axis=0)
    within = Within(["age", "income"], [20, 20], cells)
    level = open_engine(postgres.table(people), points, coordinates=True)
    since = len(postgres.log())
    ours = level.lattice(["age", "income"], 21, within)
    assert postgres.statements(since) == ["COPY"]
    theirs = open_engine(people, points, coordinates=True).lattice(["age", "income"], 21, within)
    assert np.array_equal(ours[0], theirs[0])
    assert np.array_equal(ours[1], theirs[1])


def test_several_tables_in_one_pass_are_those_that_are_counted_one_by_one(
    postgres: PostgresServer, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = Schema.from_yaml(WIDE)
    engine = open_engine(postgres.table(people), facts)
    assert isinstance(engine, IbisEngine)
    kind = type(database_of(engine._table))
    monkeypatch.setattr(kind, "cells", 700)
    asked = [("job", "town"), ("town", "age"), ("job", "age"), ("income",), ("age", "job", "town"), ()]
    since = len(postgres.log())
    found = engine.counts(asked)
    assert postgres.statements(since) == ["COPY"]
    assert "GROUPING SETS" in postgres.log()[since:]
    reference = open_engine(people, facts).counts(asked)
    assert all(np.array_equal(one, two) for one, two in zip(found, reference, strict=True))


def test_tables_that_would_leave_the_cache_together_are_counted_one_after_the_other(
    postgres: PostgresServer, people: pl.DataFrame
) -> None:
    facts = Schema.from_yaml(WIDE)
    engine = open_engine(postgres.table(people), facts)
    assert isinstance(engine, IbisEngine)
    database_of(engine._table).room = 400
    asked = [("job", "town"), ("town", "income"), ("job", "age")]
    since = len(postgres.log())
    found = engine.counts(asked)
    assert postgres.statements(since) == ["COPY"] * 3
    reference = open_engine(people, facts).counts(asked)
    assert all(np.array_equal(one, two) for one, two in zip(found, reference, strict=True))


def test_very_many_marginals_are_counted_in_the_database(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a role that may keep the codes, and for one that may only read."""
    postgres.hold("wide", wide())
    for url in (postgres.url, reader(postgres, "wide")):
        engine = open_engine(url, fetching.WIDE, table="wide")
        assert_only_tables_are_fetched(engine, monkeypatch)
        del engine
        gc.collect()


TYPED = """
fields:
  - {name: job, constraints: {enum: [cook, nurse, none]}, outside: other, missing: value}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 5}, missing: value}
  - {name: born, type: date, constraints: {minimum: 1990-01-01, maximum: 1999-12-31}}
missingValues: ["", NA, "-9"]
"""


def test_texts_are_coded_as_in_memory_with_or_without_blanks_around_them(postgres: PostgresServer) -> None:
    """So are signs for missing values. A column of dates, which have to be read first, stands beside them."""
    frame = pl.DataFrame(
        {
            "job": ["cook", " cook", "nurse\t", "NA", " NA ", "", "  ", "none", "NONE", "co ok", None, "-9"],
            "age": [0, 99, None, -9, 4, 5, 94, 95, 7, 7, 7, 7],
            "born": [f"199{digit}-01-01" for digit in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1)],
        }
    )
    facts = Schema.from_yaml(TYPED)
    asked = [("job",), ("age",), ("born",), ("job", "age")]
    ours = open_engine(postgres.table(frame), facts).counts(asked)
    theirs = open_engine(frame, facts).counts(asked)
    assert all(np.array_equal(one, two) for one, two in zip(ours, theirs, strict=True))


def test_what_the_schema_refuses_is_refused_whichever_column_of_a_record_it_is_in(
    postgres: PostgresServer,
) -> None:
    good = {name: [0, 1, 2, 1] for name in fetching.NAMES}
    for name in (fetching.NAMES[0], fetching.NAMES[11], fetching.NAMES[-1]):
        bad = pl.DataFrame({**good, name: [0, 7, 1, 7]})
        words = rf"{name}: value 7.*not a declared category.*\(2 records have such a value\.\)"
        with pytest.raises(DataError, match=words):
            open_engine(postgres.table(bad), fetching.WIDE)
    assert open_engine(postgres.table(pl.DataFrame(good)), fetching.WIDE).rows() == 4


def test_queries_over_many_records_are_compiled_and_count_the_same(
    postgres: PostgresServer, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.engine import postgres as module

    facts = Schema.from_yaml(WIDE)
    asked = [("job", "town"), ("age",)]
    reference = open_engine(people, facts).counts(asked)
    for least, compiled in ((10_000, "off"), (0, "on")):
        monkeypatch.setattr(module, "_WORTH_COMPILING", least)
        table = postgres.table(people)
        engine = open_engine(table, facts)
        assert table.get_backend().con.execute("SHOW jit").fetchone() == (compiled,)
        assert all(np.array_equal(one, two) for one, two in zip(engine.counts(asked), reference, strict=True))


def reader(server: PostgresServer, table: str = "people") -> str:
    """The URL of a role that may read one table and nothing else: not even make a temporary one."""
    server.execute(
        "DROP OWNED BY reader" if "CREATE ROLE reader" in server.log() else "SELECT 1",
        "DROP ROLE IF EXISTS reader",
        "REVOKE ALL ON DATABASE postgres FROM PUBLIC",
        "CREATE ROLE reader LOGIN",
        "ALTER ROLE reader SET default_transaction_read_only = on",
        "GRANT CONNECT ON DATABASE postgres TO reader",
        f"GRANT SELECT ON {table} TO reader",
    )
    return server.url.replace("postgres@", "reader@")


def test_a_role_that_may_only_read_is_enough(
    postgres: PostgresServer, people: pl.DataFrame, visits: pl.DataFrame
) -> None:
    given = {"people": people, "visits": visits}
    for name, method, schema in (
        ("people", "independent", USERS),
        ("people", "confluence", WIDE),
        ("people", "privtree", POINTS),
        ("visits", "privtree-sequences", OWNED + VISITS),
        ("visits", "diffpart", BASKETS),
    ):
        facts = Schema.from_yaml(schema)
        postgres.hold(name, given[name])
        url = reader(postgres, name)
        made = penstock.release(given[name], facts, epsilon=1, method=method, seed=8)
        since = len(postgres.log())
        other = penstock.release(url, facts, table=name, epsilon=1, method=method, seed=8)
        assert made.model().json == other.model().json
        assert {name: table.rows() for name, table in made.model().tables.items()} == {
            name: table.rows() for name, table in other.model().tables.items()
        }
        assert not {"CREATE", "INSERT"} & set(postgres.statements(since))


def test_whoever_writes_meanwhile_changes_nothing(postgres: PostgresServer, people: pl.DataFrame) -> None:
    """With a temporary table, and without one: one snapshot answers everything."""
    facts = Schema.from_yaml(TABLE)
    names = [(name,) for name in facts.names]
    postgres.hold("people", people)
    for url in (postgres.url, reader(postgres)):
        engine = open_engine(url, facts, table="people")
        expected = open_engine(people, facts).counts(names)
        postgres.execute("INSERT INTO people SELECT * FROM people", "DELETE FROM people WHERE job = 'clerk'")
        assert all(np.array_equal(one, two) for one, two in zip(engine.counts(names), expected, strict=True))
        del engine
        gc.collect()
        postgres.hold("people", people)
        postgres.execute("GRANT SELECT ON people TO reader")


def test_a_connection_that_was_handed_over_is_left_as_it_was(
    postgres: PostgresServer, people: pl.DataFrame
) -> None:
    table = postgres.table(people)
    connection = table.get_backend().con
    before = connection.execute("SHOW jit").fetchone()
    engine = open_engine(table, Schema.from_yaml(TABLE))
    assert engine.rows() == people.height
    del engine
    gc.collect()
    assert connection.info.transaction_status.name == "IDLE"
    assert connection.execute("SHOW jit").fetchone() == before
    left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'penstock%'"
    assert connection.execute(left).fetchone() == (0,)


def test_a_transaction_that_was_handed_over_must_see_one_snapshot(
    postgres: PostgresServer, people: pl.DataFrame
) -> None:
    table = postgres.table(people)
    connection = table.get_backend().con
    for level, accepted in (("READ COMMITTED", False), ("REPEATABLE READ", True)):
        connection.execute(f"BEGIN ISOLATION LEVEL {level}")
        if accepted:
            assert open_engine(table, Schema.from_yaml(TABLE)).rows() == people.height
        else:
            with pytest.raises(DataError, match="sees what others write meanwhile"):
                open_engine(table, Schema.from_yaml(TABLE))
        gc.collect()
        assert connection.info.transaction_status.name == "INTRANS"
        connection.execute("ROLLBACK")


Harm = Callable[[PostgresServer], None]


def broken_off(server: PostgresServer) -> None:
    server.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    )


def restarted(server: PostgresServer) -> None:
    server.stop()
    server.start()


@pytest.mark.parametrize("harm", [broken_off, restarted])
def test_a_server_that_is_lost_in_the_middle_publishes_nothing_and_what_was_spent_is_booked(
    postgres: PostgresServer,
    people: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Harm,
) -> None:
    from penstock.engine import ibis
    from penstock.privacy.ledger.ledger import Ledger

    postgres.hold("people", people)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.set_limit("people", 5, unit="record")
    asked: list[int] = []
    plain = ibis.IbisEngine.counts

    def counts(engine: Any, marginals: Any) -> Any:
        asked.append(len(marginals))
        if len(asked) == 2:  # the first was answered, and noise was drawn for it
            harm(postgres)
        return plain(engine, marginals)

    monkeypatch.setattr(ibis.IbisEngine, "counts", counts)
    with pytest.raises(PenstockError, match=r"the connection to the database was lost.*budget is spent"):
        penstock.release(
            postgres.url,
            Schema.from_yaml(WIDE),
            table="people",
            epsilon=1,
            ledger=ledger,
            account="people",
            out=tmp_path / "release",
        )
    assert len(asked) == 2
    assert not (tmp_path / "release").exists()
    assert ledger.account("people").balance().spent[0] == 1
    made = penstock.release(postgres.url, Schema.from_yaml(WIDE), table="people", epsilon=1)
    assert made.publishable


def test_a_server_that_is_lost_before_anything_is_asked_costs_nothing(
    postgres: PostgresServer, people: pl.DataFrame
) -> None:
    table = postgres.table(people)
    broken_off(postgres)
    with pytest.raises(DataError, match="the connection to the database was lost"):
        open_engine(table, Schema.from_yaml(TABLE))


def test_drafts_and_evaluations_of_large_tables_look_at_what_the_database_draws(
    postgres: PostgresServer, people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 400 records about a hundred: 30 and 200 are further away than one in a million runs gets."""
    from penstock.drafting import proposal
    from penstock.kinds.table import evaluation

    monkeypatch.setattr(proposal, "MOST_READ", 100)
    monkeypatch.setattr(evaluation, "MOST_COMPARED", 100)
    postgres.hold("people", people)
    drafted = penstock.draft(postgres.url, table="people").to_yaml()
    assert "of the 400 records, drawn at random." in drafted
    facts = Schema.from_yaml(TABLE)
    made = penstock.release(people, facts, epsilon=1, method="independent", seed=8)
    found = penstock.evaluate(made, postgres.url, table="people", learning=False)
    assert found.details["records"]["of"] == 400
    assert 30 < found.details["records"]["compared"] < 200


def test_uuids_and_types_that_somebody_made_are_read_as_texts(postgres: PostgresServer) -> None:
    """Users are UUIDs and symbols of a type of listed names, as databases like to have them."""
    postgres.execute(
        "CREATE TYPE page AS ENUM ('a', 'b')",
        "CREATE TABLE typed (s page, who uuid, at bigint)",
        "INSERT INTO typed SELECT (ARRAY['a', 'b'])[1 + i * i / 3 % 2]::page, "
        "lpad((i % 40)::text, 32, '0')::uuid, i FROM generate_series(1, 200) AS i",
    )
    facts = Schema.from_yaml(
        f"kind: sequences\n{OWNED}sequence: {{symbol: s, longest: 3}}\n"
        "fields:\n  - {name: s, constraints: {enum: [a, b]}}\n"
    )
    models = [
        penstock.release(
            postgres.url, facts, table="typed", epsilon=100, method="n-gram", engine=engine, seed=8
        ).model()
        for engine in ("memory", "auto")
    ]
    assert models[0].json == models[1].json
    assert all(table.equals(models[1].tables[name]) for name, table in models[0].tables.items())
    assert penstock.draft(postgres.url, table="typed").names == ("s", "who", "at")


def test_decimals_name_users_only_where_their_places_are_declared(postgres: PostgresServer) -> None:
    """Of others PostgreSQL writes 1.5 and 1.50 for equal numbers, and Arrow nine places for each."""
    facts = Schema.from_yaml(
        f"{OWNED}fields:\n  - {{name: s, type: integer, constraints: {{enum: [0, 1, 2]}}}}\n"
    )
    postgres.execute(
        "CREATE TABLE decimals AS SELECT (i * i % 3)::bigint AS s, "
        "((i % 120) * 0.5)::numeric(9, 2) AS who FROM generate_series(1, 900) AS i"
    )
    ours, theirs = (
        open_engine(postgres.url, facts, table="decimals", engine=engine, order_key=b"key").counts([("s",)])[
            0
        ]
        for engine in ("auto", "memory")
    )
    assert np.array_equal(ours, theirs)
    gc.collect()
    postgres.execute("ALTER TABLE decimals ALTER COLUMN who TYPE numeric")
    with pytest.raises(DataError, match=r"decimals nobody declared.*Nothing was spent"):
        open_engine(postgres.url, facts, table="decimals")


def test_an_empty_table_has_nothing_to_compare_with(postgres: PostgresServer) -> None:
    facts = Schema.from_yaml(VISITS)
    empty = pl.DataFrame(schema={"page": pl.String, "visit": pl.Int64, "at": pl.Int64})
    with pytest.warns(PenstockWarning, match="no records"):
        made = penstock.release(empty, facts, epsilon=1, method="n-gram", seed=8)
    with pytest.raises(DataError, match="no sequences"):
        penstock.evaluate(made, postgres.table(empty), learning=False)


def test_a_collation_that_is_not_by_bytes_is_refused(postgres: PostgresServer) -> None:
    """'Oslo' would be equal to 'OSLO', and a record be counted for both of a long list of towns."""
    postgres.execute(
        "CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "CREATE TABLE folded (hamlet text COLLATE alike)",
        "INSERT INTO folded VALUES ('Oslo'), ('OSLO')",
    )
    schema = Schema.model_validate(
        {"fields": [{"name": "hamlet", "constraints": {"enum": ["Oslo", "OSLO", *map(str, range(40))]}}]}
    )
    with pytest.raises(DataError, match=r"'hamlet' for the same \(its collation\)"):
        penstock.release(postgres.url, schema, table="folded", epsilon=1, method="independent", seed=1)
    postgres.execute("DROP TABLE folded", "DROP COLLATION alike")


def test_more_columns_are_coded_than_a_query_has_room_for_three_times(postgres: PostgresServer) -> None:
    """A value, whether it is missing and whether it can be read: of 600 columns too many for one list."""
    names = [f"b{number}" for number in range(600)]
    rng = np.random.default_rng(4)
    flags = pl.DataFrame({name: rng.random(8) < 0.5 for name in names})
    rows = flags.with_columns(pl.Series("town", rng.choice(["x", "7"], 8).tolist()))
    fields = [{"name": name, "type": "boolean", "missing": "value"} for name in names]
    facts = Schema.model_validate(
        {"fields": [*fields, {"name": "town", "constraints": {"enum": ["x", *map(str, range(40))]}}]}
    )
    asked = [("b0", "b599"), ("b300",), ("town",)]
    found = open_engine(postgres.table(rows), facts).counts(asked)
    wanted = open_engine(rows, facts).counts(asked)
    assert all(np.array_equal(one, two) for one, two in zip(found, wanted, strict=True))


def test_a_refused_number_is_shown_whatever_it_is(postgres: PostgresServer) -> None:
    postgres.execute("CREATE TABLE sums (paid numeric)", "INSERT INTO sums VALUES ('NaN'), (3)")
    schema = Schema.from_yaml("fields: [{name: paid, type: integer, constraints: {enum: [1, 2, 3]}}]")
    with pytest.raises(DataError, match=r"paid.*NaN"):
        penstock.release(postgres.url, schema, table="sums", epsilon=1, method="independent", seed=1)
    postgres.execute("DROP TABLE sums")
