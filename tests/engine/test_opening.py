"""Opening an engine: the right one is chosen, and everything wrong is said before anything is counted."""

from pathlib import Path
from typing import Any

import ibis
import numpy as np
import polars as pl
import pytest

import penstock.engine.opening as opening
from penstock.engine import Engine, IbisEngine, MemoryEngine, open_engine
from penstock.errors import DataError, UsageError
from penstock.schema import Schema

FACTS = Schema.from_yaml("""
fields:
- {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 50}}
- {name: sex, constraints: {enum: [f, m]}}
""")
ROWS = pl.DataFrame({"age": [3, 60, 61], "sex": ["f", "m", "m"], "secret": ["x", "y", "z"]})


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    ROWS.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def test_small_files_and_frames_are_counted_in_memory(csv: Path) -> None:
    assert isinstance(open_engine(csv, FACTS), MemoryEngine)
    assert isinstance(open_engine(ROWS.to_pandas(), FACTS), MemoryEngine)


def test_long_files_are_counted_in_duckdb(csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "IN_MEMORY_UP_TO", csv.stat().st_size - 1)
    assert isinstance(open_engine(csv, FACTS), IbisEngine)
    assert isinstance(open_engine(csv, FACTS, engine="memory"), MemoryEngine)
    assert isinstance(open_engine(ROWS, FACTS), MemoryEngine), "it is in memory already"


def test_database_tables_are_counted_where_they_are() -> None:
    backend = ibis.duckdb.connect()
    backend.con.register("people", ROWS.to_arrow())
    engine = open_engine(backend.table("people"), FACTS)
    assert isinstance(engine, IbisEngine)
    assert isinstance(engine, Engine)
    assert engine.counts([("age", "sex")])[0].tolist() == [1, 0, 0, 2]
    assert isinstance(open_engine(backend.table("people"), FACTS, engine="memory"), MemoryEngine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_columns_that_the_schema_does_not_name_are_never_read(csv: Path, engine: str) -> None:
    """A byte that is not UTF-8 in such a column does not matter, because nobody looks at it."""
    csv.write_bytes(b"age,sex,secret\n3,f,\xff\n")
    opened = open_engine(csv, FACTS, engine=engine)
    assert set(opened.sizes) == {"age", "sex"}
    assert opened.counts([("age", "sex")])[0].tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_column_that_is_not_there_is_named_with_its_neighbour(csv: Path, engine: str) -> None:
    csv.write_text("agee,sex\n3,f\n")
    with pytest.raises(DataError, match=r"age: the data has no such column \(did you mean 'agee'"):
        open_engine(csv, FACTS, engine=engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_user_column_that_is_not_there(csv: Path, engine: str) -> None:
    facts = FACTS.model_copy(update={"unit": type(FACTS.unit)(protects="user", column="secrets", at_most=1)})
    with pytest.raises(DataError, match=r"secrets: the data has no such column \(did you mean 'secret'"):
        open_engine(csv, facts, engine=engine)
    found = FACTS.model_copy(update={"unit": type(FACTS.unit)(protects="user", column="secret", at_most=1)})
    assert open_engine(csv, found, engine=engine).rows() == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"age,sex\n3,f\n4\n", r"row 2 \(line 3\) has 1 field"),
        (b"age,sex\n3,f\n4,\xe9\n", "line 3 holds the byte 0xe9"),
        (b"age,sex\n3,f\nold,m\n", "age: value 'old'.* is not a whole number"),
        (b"age,sex\n3,f\n100,m\n", "age: value '100'.* is outside the declared 0..99"),
        (b"age,sex\n3,f\nNaN,m\n", "age: value 'NaN'"),
        (b"age,sex\n3,x\n", "sex: value 'x'.* is not a declared category"),
        (b"age,sex\n3,\n", "sex: the value.* is missing"),
    ],
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_bad_records_are_answered_alike(csv: Path, engine: str, data: bytes, words: str) -> None:
    csv.write_bytes(data)
    with pytest.raises(DataError, match=words) as caught:
        open_engine(csv, FACTS, engine=engine)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_parquet_file_that_breaks_off_is_answered_by_duckdb_too(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    count = 100_000
    rng = np.random.default_rng(1)
    pl.DataFrame({"age": rng.integers(0, 99, count), "sex": rng.choice(["f", "m"], count)}).write_parquet(
        path, compression="zstd"
    )
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\0" * 2000 + whole[2004:])
    for engine in ("memory", "duckdb"):
        with pytest.raises(DataError, match=r"a\.parquet: the Parquet file cannot be read"):
            open_engine(path, FACTS, engine=engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("text", ["age,sex\n", "age,sex"])
def test_a_table_without_rows_is_a_table(csv: Path, engine: str, text: str) -> None:
    csv.write_text(text)
    opened = open_engine(csv, FACTS, engine=engine)
    assert opened.rows() == 0
    assert opened.counts([("age", "sex")])[0].tolist() == [0, 0, 0, 0]


def test_names_that_databases_confuse_are_kept_apart(tmp_path: Path) -> None:
    """Fields named like our own columns, like words of SQL, with quotes, and a user column called user."""
    names = ["user", "c1", "u", "select", 'a"b', "raw x", "x0", "penstock_same", "it's"]
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({name: rng.integers(0, 3, 50) for name in names})
    fields = "\n".join(
        f"- {{name: {name!r}, type: integer, constraints: {{minimum: 0, maximum: 2}}}}" for name in names[:-1]
    )
    facts = Schema.from_yaml(
        f"unit: {{protects: user, column: user, at_most: 100}}\nfields:\n{fields}\n"
        '- {name: "it\'s", type: integer, constraints: {minimum: 0, maximum: 2}}'
    )
    frame.write_parquet(tmp_path / "a.parquet")
    asked = [(a, b) for a in names for b in names if a != b]
    ours = open_engine(tmp_path / "a.parquet", facts, engine="duckdb").counts(asked)
    theirs = open_engine(frame, facts).counts(asked)
    assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_an_unknown_engine_is_refused(csv: Path) -> None:
    with pytest.raises(UsageError, match=r"engine: 'duck' is unknown \(did you mean 'duckdb'"):
        open_engine(csv, FACTS, engine="duck")


def test_limits_reach_duckdb(csv: Path, tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    engine: Any = open_engine(csv, FACTS, engine="duckdb", memory="200MiB", threads=1, spill=spill)
    assert len(list(spill.iterdir())) == 1
    assert engine.rows() == 3
    with pytest.raises(DataError, match="DuckDB does not accept these limits"):
        open_engine(csv, FACTS, engine="duckdb", memory="a lot")
