"""Whatever holds records is read alike, and what cannot be read is answered in two sentences."""

import csv
import gzip
import io
import os
import sqlite3
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine import read
from penstock.engine.connection import Duck
from penstock.engine.pandas_frame import NOT_PLAIN
from penstock.errors import DataError

ROWS = {"age": [31, None, 45], "sex": ["f", "m", "f"]}


def rows_of(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return frame.rows()


def in_duckdb(source: Any) -> list[tuple[Any, ...]]:
    table = read(source).table()
    return [tuple(row.values()) for row in table.to_pyarrow().to_pylist()]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame(ROWS)


def test_frames_of_every_make_give_the_same_records(frame: pl.DataFrame) -> None:
    makes = [frame, frame.lazy(), frame.to_arrow(), frame.to_arrow().to_batches()[0], frame.to_pandas()]
    for made in [*makes, ibis.memtable(frame)]:
        source = read(made)
        assert source.names == ("age", "sex"), type(made)
        assert rows_of(source.frame()) == [(31, "f"), (None, "m"), (45, "f")], type(made)
        assert rows_of(source.frame(["sex"])) == [("f",), ("m",), ("f",)], type(made)
        assert sorted(in_duckdb(made), key=str) == sorted(rows_of(frame), key=str), type(made)
    assert rows_of(read(read(frame)).frame()) == rows_of(frame)


def test_parquet_keeps_types_and_csv_keeps_text(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_csv(tmp_path / "a.csv")
    assert rows_of(read(tmp_path / "a.parquet").frame()) == [(31, "f"), (None, "m"), (45, "f")]
    assert rows_of(read(str(tmp_path / "a.csv")).frame()) == [("31", "f"), (None, "m"), ("45", "f")]
    assert sorted(in_duckdb(tmp_path / "a.parquet"), key=str) == sorted(rows_of(frame), key=str)
    assert set(in_duckdb(tmp_path / "a.csv")) == {("31", "f"), (None, "m"), ("45", "f")}


def test_a_packed_file_is_read_if_its_name_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    assert rows_of(read(path).frame()) == [("1", "2")]
    assert in_duckdb(path) == [("1", "2")]
    with pytest.raises(DataError, match=r"packed with gzip. Rename it: its name should end in .gz"):
        read(written(tmp_path / "a.csv", path.read_bytes()))
    with pytest.raises(DataError, match=r"not packed. Rename it: its name should not end in .gz"):
        read(written(tmp_path / "b.csv.gz", b"a,b\n1,2\n"))


def test_a_folder_or_a_pattern_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "part").mkdir(exist_ok=True)
        pl.DataFrame({"a": [number]}).write_parquet(tmp_path / "part" / f"{number}.parquet")
    written(tmp_path / "part" / "_metadata.parquet", b"not one of the parts")
    for source in (tmp_path / "part", tmp_path / "part" / "[012].parquet", f"{tmp_path}/part/?.parquet"):
        assert read(source).names == ("a",)
        assert rows_of(read(source).frame()) == [(0,), (1,), (2,)]
        assert sorted(in_duckdb(source)) == [(0,), (1,), (2,)]


def test_folders_named_key_and_value_add_a_column(tmp_path: Path) -> None:
    for year in ("2019", "2020"):
        (tmp_path / f"year={year}").mkdir()
        pl.DataFrame({"a": [int(year) % 7]}).write_parquet(tmp_path / f"year={year}" / "x.parquet")
    assert read(tmp_path).names == ("a", "year")
    assert rows_of(read(tmp_path).frame(["year", "a"])) == [("2019", 3), ("2020", 4)]
    table = read(tmp_path).table(["year", "a"])
    assert sorted(tuple(row.values()) for row in table.to_pyarrow().to_pylist()) == [("2019", 3), ("2020", 4)]


@pytest.mark.parametrize("name", ["d[1].csv", "it's.csv", "a b é.csv", "d*.csv"])
def test_a_file_name_is_taken_literally(tmp_path: Path, name: str) -> None:
    written(tmp_path / "d1.csv", b"a\n1\n")
    written(tmp_path / "d1d.csv", b"a\n1\n")
    path = written(tmp_path / name, b"a\n7\n")
    assert rows_of(read(path).frame()) == [("7",)]
    assert in_duckdb(path) == [("7",)]


def test_a_database_table_is_read_by_url(tmp_path: Path, frame: pl.DataFrame, monkeypatch: Any) -> None:
    with sqlite3.connect(tmp_path / "a.db") as connection:
        frame.to_pandas().to_sql("people", connection, index=False)
    connection.close()
    duck = ibis.duckdb.connect(tmp_path / "a.ddb")
    duck.con.register("given", frame.to_arrow())
    duck.raw_sql("CREATE TABLE people AS FROM given")
    duck.disconnect()
    monkeypatch.chdir(tmp_path)
    for url in (
        f"sqlite:///{tmp_path}/a.db",
        f"sqlite://{tmp_path}/a.db",
        "sqlite:///a.db",
        f"duckdb://{tmp_path}/a.ddb",
        "duckdb:///a.ddb",
    ):
        source = read(url, table="people")
        assert source.names == ("age", "sex")
        assert source.remote
        assert rows_of(source.frame()) == [(31, "f"), (None, "m"), (45, "f")]
    assert read("duckdb:///a.ddb", table="main.people").names == ("age", "sex")


# -- text files -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a,b\n1,2\n3,4\n", [("1", "2"), ("3", "4")]),
        (b"a,b\r\n1,2\r\n3,4", [("1", "2"), ("3", "4")]),
        (b"a,b\r1,2\r3,4\r", [("1", "2"), ("3", "4")]),
        (b"a,b\r\n1,2\n3,4\r\n", [("1", "2"), ("3", "4")]),
        (b"\xef\xbb\xbfa,b\n1,2\n", [("1", "2")]),
        (b"\n\na,b\n\n1,2\n\n", [("1", "2")]),
        (b"a,b\n", []),
        (b"a,b", []),
        (b"a,b\n\n\n", []),
        (b'"a",b\n"x,y","say ""no"""\n"two\nlines","\r\n"\n', [("x,y", 'say "no"'), ("two\nlines", "\r\n")]),
        (b'a,b\n,\n"",""\n " ", x\n', [(None, None), (None, None), (' " "', " x")]),
        (b"a;b\n1,5;2\n", [("1,5", "2")]),
        (b"a\tb\n1\t2\n", [("1", "2")]),
        (b"a|b\n1|2\n", [("1", "2")]),
        (b'"a\nx",b\n1,2\n', [("1", "2")]),
        (b"a,b\nNA,null\n", [("NA", "null")]),
        (b'a,b\n5" disk,#c\n', [('5" disk', "#c")]),
        ("a,b\né,日本\n".encode(), [("é", "日本")]),
    ],
)
def test_text_is_read_as_it_is_meant(tmp_path: Path, data: bytes, rows: list[tuple[Any, ...]]) -> None:
    path = written(tmp_path / "a.csv", data)
    assert rows_of(read(path).frame()) == rows
    assert sorted(in_duckdb(path), key=str) == sorted(rows, key=str)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.lists(st.text(alphabet="ab1 \",\n\réß日'#\\;", max_size=5), min_size=3, max_size=3), max_size=6
    ),
    ending=st.sampled_from(["\n", "\r\n"]),
    always=st.booleans(),
    last=st.booleans(),
)
def test_what_a_csv_writer_quotes_is_read_back(
    tmp_path: Path, rows: list[list[str]], ending: str, always: bool, last: bool
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=ending, quoting=csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL)
    writer.writerow(["x", "y", "z"])
    # A carriage return alone is not quoted by every version of the writer.
    rows = [[value.replace("\r", "\r\n") for value in row] for row in rows]
    writer.writerows(rows)
    whole = text.getvalue() if last else text.getvalue().removesuffix(ending)
    path = written(tmp_path / "a.csv", whole.encode())
    assert rows_of(read(path).frame()) == [tuple(value or None for value in row) for row in rows]


def test_the_order_of_a_long_file_is_kept(tmp_path: Path) -> None:
    """Row numbers in messages depend on it; the file spans several blocks."""
    count = 400_000
    pl.DataFrame({"n": range(count), "t": ["x" * 40] * count}).write_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").stat().st_size > 2 * (1 << 23)
    assert read(tmp_path / "a.csv").frame(["n"])["n"].cast(pl.Int64).to_list() == list(range(count))


def test_an_unnamed_column_is_named_by_its_position(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.csv", b",b, c \n0,1,2\n")).names == ("column_1", "b", "c")


# -- what cannot be read ----------------------------------------------------------------------

BAD_TEXT = {
    "empty": (b"", "the file is empty"),
    "blank": (b"\n \n", "the file is empty"),
    "short row": (b"a,b,c\n1,2,3\n\n4,5\n", r"row 2 \(line 4\) has 2 fields, the header has 3"),
    "long row": (b"a,b\n1,2\n3,4,5\n", r"row 2 \(line 3\) has 3 fields, the header has 2"),
    "one field": (b'a,b\n"x\ny",2\n3\n', r"row 2 \(line 4\) has 1 field, the header has 2"),
    "repeated column": (b"a,b,a\n1,2,3\n", "columns 1 and 3 have the same name"),
    "Latin-1 value": (b"a,b\n1,2\nx,caf\xe9\n", "line 3 holds the byte 0xe9 at position 13"),
    "Latin-1 header": (b"a,caf\xe9\n1,2\n", "line 1 holds the byte 0xe9 at position 5"),
    "cut character": (b"a,b\n1,\xe6\x97", "not UTF-8"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_a_bad_text_file_is_answered_with_its_place(tmp_path: Path, case: str) -> None:
    data, words = BAD_TEXT[case]
    path = written(tmp_path / "bad.csv", data)
    with pytest.raises(DataError, match=words) as caught:
        read(path).frame()
    assert_clear(caught.value, "bad.csv")


def test_a_ragged_row_far_into_a_packed_file_is_found(tmp_path: Path) -> None:
    rows = b"1,2\n" * 300_000 + b"1,2,3\n" + b"1,2\n" * 10
    path = written(tmp_path / "bad.csv.gz", gzip.compress(b"a,b\n" + rows, 1))
    with pytest.raises(DataError, match=r"row 300001 \(line 300002\) has 3 fields"):
        read(path).frame(["a"])


def test_a_bad_byte_far_into_a_file_is_found(tmp_path: Path) -> None:
    line = "日本,x\n".encode()
    count = (1 << 23) // len(line) + 5  # beyond one block, with a character across its border
    path = written(tmp_path / "bad.csv", b"a,b\n" + line * count + b"\xff,2\n")
    position = 4 + len(line) * count
    with pytest.raises(DataError, match=f"line {count + 2} holds the byte 0xff at position {position}"):
        read(path).frame()


def test_a_truncated_packed_file_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(9000).hex().encode())[:-900]
    with pytest.raises(DataError) as caught:
        read(written(tmp_path / "bad.csv.gz", packed)).frame()
    assert_clear(caught.value, "bad.csv.gz")


def test_files_that_are_not_tables(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    cases: list[tuple[Any, str]] = [
        (tmp_path / "gone.csv", "no such file"),
        (tmp_path / "nothing", "no file of records"),
        (f"{tmp_path}/*.pq", "no file of records"),
        (written(tmp_path / "a.xlsx", b"PK\x03\x04"), "unknown type of file"),
        (written(tmp_path / "b.parquet", b"a,b\n1,2\n"), "not a Parquet file"),
        (written(tmp_path / "c.parquet", b""), "is empty"),
        (written(tmp_path / "d.parquet", whole[:-20]), "cannot be read"),
    ]
    for source, words in cases:
        with pytest.raises(DataError, match=words) as caught:
            read(source).frame()
        assert_clear(caught.value, Path(source).name)


def test_a_file_that_may_not_be_opened(tmp_path: Path, monkeypatch: Any) -> None:
    path = written(tmp_path / "a.csv", b"a\n1\n")

    def closed(self: Path, *args: Any, **kwargs: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", closed)
    with pytest.raises(DataError, match=r"cannot be opened \(Permission denied\)"):
        read(path)


def test_repeated_columns_of_frames(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(DataError, match="'a' occurs twice"):
        read(twice)
    with pytest.raises(DataError, match="'a' occurs twice"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    pyarrow.parquet.write_table(twice, tmp_path / "a.parquet")
    with pytest.raises(DataError, match="occurs twice"):
        read(tmp_path / "a.parquet")


def test_columns_that_differ_in_case_are_read_in_memory_and_refused_in_duckdb(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", b"a,A\n1,2\n")
    assert rows_of(read(path).frame()) == [("1", "2")]
    with pytest.raises(DataError, match="'a' and 'A' differ only in upper and lower case"):
        read(path).table()


def test_objects_that_hold_no_records() -> None:
    for thing in (42, {"a": [1]}, [1, 2], None, pl.Series([1]), pa.array([1])):
        with pytest.raises(DataError, match="Records cannot be read from"):
            read(thing)
    with pytest.raises(DataError, match="column 'a' mixes kinds of values"):
        read(pd.DataFrame({"a": [1, "x", ["y"]]})).frame()
    with pytest.raises(DataError, match="cannot be computed"):
        read(pl.LazyFrame({"a": [1]}).select("b"))


def test_objects_in_a_pandas_frame_are_read_one_by_one() -> None:
    """What a value means never depends on the others: an inferred type would change everybody's codes."""
    values = [1, 2.0, 2.5, "x", None, True, date(2020, 1, 2), 10**30, {"key": 1}, b"y", float("nan")]
    texts = ["1", "2", "2.5", "x", None, "True", "2020-01-02", str(10**30)]
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    assert read(frame).frame()["a"].to_list() == [*texts, NOT_PLAIN, NOT_PLAIN, None]
    assert read(frame[:1]).frame()["a"].to_list() == ["1"]
    lists = pd.DataFrame({"a": pd.Series([["x", "y"], None], dtype=object)})
    assert read(lists).frame()["a"].to_list() == [["x", "y"], None]
    assert read(lists).plain(["a"])["a"].to_list() == [NOT_PLAIN, None]


def test_a_blank_line_is_a_record_where_there_is_one_column(tmp_path: Path) -> None:
    one = written(tmp_path / "one.csv", b"\nsex\nf\n\nm\r\n\n")
    assert rows_of(read(one).frame()) == [("f",), (None,), ("m",), (None,)]
    assert sorted(in_duckdb(one), key=str) == [("f",), ("m",), (None,), (None,)]
    assert not read(written(tmp_path / "blank.csv", b"sex\n\n")).empty
    assert rows_of(read(tmp_path / "blank.csv").frame()) == [(None,)]
    assert read(written(tmp_path / "none.csv", b"sex\n")).empty
    two = written(tmp_path / "two.csv", b"sex,age\nf,1\n\nm,2\n\n")
    assert rows_of(read(two).frame()) == [("f", "1"), ("m", "2")]


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    """Nobody ever writes into this one, so that opening it would never end."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DataError, match="a pipe or a device"):
        read(tmp_path / "pipe.csv")


@pytest.mark.parametrize("name", ["a" * 5000 + ".csv", "a\0b.csv"], ids=["long", "nul"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(DataError) as caught:
        read(name)
    assert len(str(caught.value)) < 250


def test_databases_that_are_not_there(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "a.db").execute("CREATE TABLE people (a)").connection.close()
    cases = [
        (f"sqlite:///{tmp_path}/gone.db", "people", "no such database file"),
        (f"sqlite:///{tmp_path}/a.db", None, r"a table is missing. Name one of its tables \(people\)"),
        (f"sqlite:///{tmp_path}/a.db", "peopel", "no table 'peopel' \\(did you mean 'people'"),
        ("nosuchbase://host/x", "t", "no driver for 'nosuchbase'|cannot be opened"),
        (f"duckdb://{written(tmp_path / 'bad.ddb', b'rubbish' * 99)}", "t", "cannot be opened"),
    ]
    for url, table, words in cases:
        with pytest.raises(DataError, match=words) as caught:
            read(url, table=table)
        assert_clear(caught.value, url.rpartition("/")[2])
    assert not (tmp_path / "gone.db").exists(), "looking for a database must not make one"


def test_a_password_is_never_shown() -> None:
    with pytest.raises(DataError) as caught:
        read("nosuchbase://ann:secret@host/base", table="t")
    assert "secret" not in str(caught.value)
    assert "ann@host" in str(caught.value)


def test_a_table_name_needs_a_database(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="goes with a database URL"):
        read(written(tmp_path / "a.csv", b"a\n1\n"), table="people")


def test_duckdb_keeps_its_limits_and_cleans_up(tmp_path: Path) -> None:
    duck = Duck("300MiB", threads=1, spill=tmp_path)
    settings = dict(duck.backend.con.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["memory_limit"].startswith("300")
    assert settings["threads"] == "1"
    (folder,) = tmp_path.iterdir()
    assert settings["temp_directory"] == str(folder)
    assert folder.stat().st_mode & 0o077 == 0
    del duck
    import gc

    gc.collect()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(DataError, match="DuckDB does not accept"):
        Duck("much")
    with pytest.raises(DataError, match="no folder can be made there"):
        Duck(spill=tmp_path / "gone")


def assert_clear(problem: DataError, name: str) -> None:
    """One sentence what, one what to do, and the name of the thing."""
    message = str(problem)
    assert name in message
    assert message.endswith((".", ")", "8."))
    assert message.count(". ") >= 1
    assert "\n" not in message
    assert len(message) < 500


def test_reading_a_csv_file_does_not_load_pandas(tmp_path: Path) -> None:
    """Loading it takes longer than reading a small file; nothing here needs it."""
    (tmp_path / "people.csv").write_text("age,sex\n31,f\n45,m\n", encoding="utf-8")
    code = (
        "import sys; from penstock.engine import read\n"
        "assert read('people.csv').frame(['sex', 'age']).rows() == [('f', '31'), ('m', '45')]\n"
        "assert not {'pandas', 'pyarrow.dataset'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_zero_byte_in_the_header_is_told(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(b"age\0,sex\n31,f\n")
    with pytest.raises(DataError, match="column 1 holds a zero byte"):
        read(tmp_path / "people.csv")
