"""SQL can do nothing but read the one table that it is given."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import IO, Any

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.releases.every_form import one_of

from penstock.errors import QueryError
from penstock.releases import sql, sql_process, sql_worker
from penstock.releases.sql import Statement, by_sample

ENDLESS = "select levenshtein(repeat('a', 1000000), repeat('b', 1000000)) from release"
ROWS = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None]})

ATTACKS = [
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select * from read_blob('{file}')",
    "select * from '{file}'",
    "from '{file}'",
    'select * from "{file}"',
    "select * from release where a in (select 1 from '{file}')",
    "select (select max(content) from read_text('{file}'))",
    "with t as (select * from read_csv('{file}')) select * from t",
    "with t as materialized (from '{file}') select * from t, release",
    "select * from release union all select * from read_csv('{file}')",
    "select * from release, lateral (select * from glob('{file}*'))",
    "select * from release where exists (from parquet_scan('{file}'))",
    "select * from sniff_csv('{file}')",
    "select * from query('select 1')",
    "select * from query_table('release')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select * from duckdb_settings()",
    "select * from duckdb_secrets()",
    "select * from pragma_database_list()",
    "select * from information_schema.tables",
    "select * from system.information_schema.tables",
    "select * from pg_catalog.pg_tables",
    "select * from sqlite_master",
    "select * from temp.release",
    "select * from ROWS",
    "select current_setting('temp_directory')",
    "select getenv('HOME')",
    "select getvariable('x')",
    "copy release to '{file}'",
    "copy (select 1) to '{file}'",
    "export database '{file}'",
    "attach '{file}' as other",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset lock_configuration",
    "pragma database_list",
    "call duckdb_settings()",
    "create table t as select 1",
    "insert into release values (1, 'x')",
    "update release set a = 1",
    "delete from release",
    "drop table release",
    "select 1; select 2",
    "select 1; drop table release",
    "select 1; copy release to '{file}'",
    "explain analyze select 1",
    "prepare x as select 1",
    "describe release",
    "show tables",
    "summarize release",
    "with recursive t as (select 1 as n union all select n + 1 from t) select * from t",
    "select * from range(10)",
    "select * from release where a = $1",
    "select * from release where a = ?",
    "vacuum",
    "checkpoint",
    "",
    "  ;  ",
    "-- nothing",
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_reads_or_changes_anything_else_is_refused(attack: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("secret\nXq7vCanary\n")
    with pytest.raises(QueryError) as refused:
        Statement.read(attack.format(file=file)).run(ROWS)
    assert "Canary" not in str(refused.value)
    assert str(refused.value).count(". ") <= 1
    assert [each.name for each in tmp_path.iterdir()] == ["secret.csv"]
    assert file.read_text() == "secret\nXq7vCanary\n"


def test_the_database_itself_reads_no_files_and_keeps_its_configuration(tmp_path: Path) -> None:
    """Were a statement to slip through, DuckDB would still refuse: here nothing looks at the tree."""
    file = tmp_path / "secret.csv"
    file.write_text("secret\n1\n")
    for text in (
        f"select * from read_csv('{file}')",
        f"select * from '{file}'",
        f"copy (select 1) to '{tmp_path / 'out.csv'}'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        f"attach '{tmp_path / 'other.db'}'",
        "install httpfs",
        "select * from ROWS",
    ):
        with pytest.raises(duckdb.Error):
            sql_worker.run(text, ROWS.to_arrow())
    assert [each.name for each in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select count(*) as n from release", [{"n": 3}]),
        ("SELECT a FROM Release WHERE b IS NULL;", [{"a": 3}]),
        ("with t as (select a from release) select sum(a) as s from t -- all of them", [{"s": 6.0}]),
        ("select b, a from main.release r order by r.a desc limit 1", [{"b": None, "a": 3}]),
        ("select * from (values (1), (2)) v(x) where x > 1", [{"x": 2}]),
        ("select a from release intersect select 2", [{"a": 2}]),
        ("select 1.5::decimal(9, 2) as d", [{"d": 1.5}]),
    ],
)
def test_one_select_statement_is_run(text: str, rows: list[dict[str, object]]) -> None:
    assert Statement.read(text).run(ROWS).to_dicts() == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("selec 1", "no SQL that DuckDB understands"),
        ("select c from release", 'column "c" not found'),
        ("select cast(b as integer) from release", "Could not convert"),
        ("select * from people", "There is no table 'people'; the only one is 'release'"),
        ("x" * 20_000, "at most 10,000"),
        ("select 1" + "+1" * 800, "nested too deeply"),
        ("select interval 1 day", "cast them to text"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        Statement.read(text).run(ROWS)


def test_a_result_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "MOST_SHOWN", 5)
    with pytest.raises(QueryError, match="more than 5 rows"):
        Statement.read("select * from release a, release b").run(ROWS)


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted at once: a product of 10,000^4 rows would never end."""
    monkeypatch.setattr(sql, "SECONDS", 0.0)
    many = pl.DataFrame({"a": range(10_000)})
    with pytest.raises(QueryError, match="took longer"):
        Statement.read(
            "select sum(a.a * b.a + c.a * d.a) from release a, release b, release c, release d"
        ).run(many)


def test_a_function_that_duckdb_never_interrupts_is_stopped_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call on one value, which looks for no sign to stop: the end of its process is the end of it."""
    endless = Statement.read(ENDLESS)
    with monkeypatch.context() as patched:
        patched.setattr(sql, "SECONDS", 0.5)
        with pytest.raises(QueryError, match="took longer"):
            endless.run(ROWS)
    assert Statement.read("select count(*) as n from release").run(ROWS)["n"].item() == 3


def test_a_statement_whose_process_dies_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    Statement.read("select 1").run(ROWS)
    (idle,) = sql_process._idle
    monkeypatch.setattr(sql_process, "sent", lambda *_: idle._process.kill())
    with pytest.raises(QueryError, match="ended the process"):
        Statement.read("select 1").run(ROWS)
    assert sql_process._idle == []


@pytest.mark.skipif(not hasattr(signal, "siginterrupt"), reason="needs the signals of POSIX")
def test_ctrl_c_ends_a_statement_even_where_reading_goes_on_after_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Polars has it once it was asked something: its handler of signals lets calls be resumed."""

    def interrupted(pipe: IO[bytes]) -> tuple[dict[str, Any], Any] | None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return sql_worker.received(pipe)

    killers: list[threading.Thread] = []
    kill = subprocess.Popen.kill

    def killed(process: subprocess.Popen[bytes]) -> None:
        killers.append(threading.current_thread())
        kill(process)

    monkeypatch.setattr(sql_process, "received", interrupted)
    monkeypatch.setattr(subprocess.Popen, "kill", killed)
    monkeypatch.setattr(sql, "SECONDS", 300.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.siginterrupt(signal.SIGINT, False)
    try:
        with pytest.raises(KeyboardInterrupt):
            Statement.read(ENDLESS).run(ROWS)
    finally:
        signal.signal(signal.SIGINT, before)
    assert killers[0] is threading.main_thread(), "nobody heard Ctrl-C before the time was over"
    assert sql_process._idle == []


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux to see an environment")
def test_the_process_is_told_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "a secret")
    worker = sql_process._Worker()
    try:
        facts, found = worker.asked("select count(*) as n from release", ROWS.to_arrow(), 60)
        assert (facts.get("problem"), found.to_pylist()) == (None, [{"n": ROWS.height}])
        # only now: a process that was started but has not begun shows an empty environment
        told = Path(f"/proc/{worker._process.pid}/environ").read_bytes()
        assert b"PATH=" in told
        assert b"a secret" not in told
    finally:
        worker.end()


def test_a_limit_does_not_hide_how_far_drawing_moves_a_number() -> None:
    """Groups that are on top in few of the samples would else seem hardly to move."""
    groups = pl.DataFrame({"g": list(range(40)) * 30})

    def draw(rows: int, seed: int) -> pl.DataFrame:
        value = np.random.default_rng(seed).normal(size=groups.height)
        return groups.with_columns(v=pl.Series(value)).head(rows)

    text = "select g, avg(v) as m from release group by g"
    every = by_sample(Statement.read(text), draw, 1200, None, "because it is tried")
    first = by_sample(Statement.read(f"{text} order by m desc limit 5"), draw, 1200, None, "so")
    known = {row["g"]: error["m"] for row, error in zip(every.rows.to_dicts(), every.errors, strict=True)}
    assert len(first.errors) == 5
    assert [error["m"] for error in first.errors] == pytest.approx([known[g] for g in first.rows["g"]])


def test_a_group_that_not_every_sample_has_gets_no_error() -> None:
    def draw(rows: int, seed: int) -> pl.DataFrame:
        return pl.DataFrame({"g": [1, 1, 2 + seed], "v": [float(seed), 1.0, 2.0]}).head(rows)

    found = by_sample(Statement.read("select g, sum(v) as s from release group by g"), draw, 3, None, "so")
    assert {row["g"]: set(error) for row, error in zip(found.rows.to_dicts(), found.errors, strict=True)} == {
        1: {"s"},
        2: set(),
    }
    assert any("not every sample has" in caveat for caveat in found.caveats)


@pytest.mark.parametrize("form", ["tree", "suffix-tree", "network", "uniform"])
def test_releases_of_several_kinds_can_be_asked_in_sql(form: str) -> None:
    made = one_of(form)
    found = made.sql("select count(*) as n from release")
    assert found.rests_on in ("model", "sample")
    assert found.rows["n"].item() >= 0
    assert json.loads(json.dumps(found.to_dict()))["rests_on"] == found.rests_on
    assert "<table>" in found._repr_html_()
    assert str(found).splitlines()[0].strip() == "n"


def test_what_json_does_not_know_is_null() -> None:
    found = one_of("network").sql(
        "select 1e0 / 0 as i, 'nan'::double as n, date '2020-01-01' as d, ['nan'::double, 1] as l, "
        "{'a': 'inf'::double} as s from release limit 1"
    )
    row = json.loads(json.dumps(found.to_dict(), allow_nan=False, default=str))["rows"][0]
    assert row == {"i": None, "n": None, "d": "2020-01-01", "l": [None, 1.0], "s": {"a": None}}
