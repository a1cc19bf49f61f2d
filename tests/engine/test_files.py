"""Many files are one source: folders, patterns, hive partitions, Arrow files and tables of a data lake."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.engine import read
from penstock.errors import DataError

Rows = list[tuple[Any, ...]]
Write = Callable[[pl.DataFrame, Path], object]

WRITERS: dict[str, Write] = {
    ".csv": lambda frame, path: frame.write_csv(path),
    ".csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.write_csv().encode())),
    ".tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".arrow": lambda frame, path: frame.write_ipc(path, compat_level=pl.CompatLevel.oldest()),
    ".feather": lambda frame, path: frame.write_ipc(path, compat_level=pl.CompatLevel.oldest()),
}


def put(ending: str, path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[ending](pl.DataFrame(columns), path)
    return path


def every_way(source: Any, names: list[str] | None = None) -> list[Rows]:
    """The records as a frame, in pieces, and through DuckDB; sorted, since DuckDB keeps no order."""
    opened = read(source)
    asked = names or list(opened.names)
    whole = opened.frame(asked)
    found = [
        whole,
        pl.concat([whole.clear(), *opened.pieces(asked)]),
        pl.DataFrame(pl.from_arrow(opened.table(asked).to_pyarrow())),
    ]
    assert [frame.columns for frame in found] == [asked] * 3
    assert found[0].rows() == found[1].rows()
    return [sorted(frame.rows(), key=str) for frame in found]


@pytest.mark.parametrize("ending", WRITERS)
def test_a_folder_or_a_pattern_of_files_is_one_source(tmp_path: Path, ending: str) -> None:
    for number in range(3):
        put(ending, tmp_path / f"{number}{ending}", a=[f"{number}", "x"], b=["u", None])
    expected = sorted([(f"{number}", "u") for number in range(3)] + [("x", None)] * 3, key=str)
    for source in (tmp_path, tmp_path / f"*{ending}", f"{tmp_path}/[012]{ending}"):
        assert every_way(source) == [expected] * 3
        assert read(source).first(1).rows() == [("0", "u")]
        assert not read(source).empty


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_folders_named_key_and_value_add_columns_of_text(tmp_path: Path, ending: str) -> None:
    for year, place in (("2019", "New%20York"), ("2020", "__HIVE_DEFAULT_PARTITION__")):
        put(ending, tmp_path / f"year={year}" / f"place={place}" / f"part{ending}", a=[year[-1]])
    expected = [("2019", "New York", "9"), ("2020", None, "0")]
    for source in (tmp_path, f"{tmp_path}/year=*/*/*{ending}", f"{tmp_path}/*/place=*/part{ending}"):
        assert set(read(source).names) == {"a", "year", "place"}
        assert every_way(source, ["year", "place", "a"]) == [expected] * 3
        assert every_way(source, ["year"]) == [[("2019",), ("2020",)]] * 3
    assert read(f"{tmp_path}/year=2019/place=*/*{ending}").names == ("a", "place")


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_name_with_the_signs_of_a_pattern_is_read_once_and_reads_no_other_file(
    tmp_path: Path, ending: str
) -> None:
    for number, name in enumerate(("p1", "p[1]", "p?", "p*", "p{1,2}")):
        put(ending, tmp_path / f"{name}{ending}", a=[str(number)])
    assert every_way(tmp_path) == [[(str(number),) for number in range(5)]] * 3
    assert every_way(tmp_path / f"p[1]{ending}") == [[("1",)]] * 3
    assert every_way(tmp_path / f"p*{ending}") == [[("3",)]] * 3  # a file of this name comes first


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_odd_names_of_folders_give_every_engine_the_same_columns(tmp_path: Path, ending: str) -> None:
    root = tmp_path / "a=9"  # lies above the source: no column, and no other values for the file's own
    for number, name in enumerate(("x=y", "[x]", "x", "New%20York", "*")):
        put(ending, root / f"my%20key={name}" / f"1{ending}", a=[str(number)])
    texts = ("x=y", "[x]", "x", "New York", "*")
    assert every_way(root, ["a", "my key"]) == [[(str(n), text) for n, text in enumerate(texts)]] * 3


def test_spark_is_not_given_a_name_that_it_takes_for_a_pattern(tmp_path: Path) -> None:
    file = put(".parquet", tmp_path / "p[1].parquet", a=["1"])
    with pytest.raises(DataError, match="Rename the file or its folder"):
        read(file).on_spark()


def test_text_files_may_be_written_in_different_ways(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y;x\n4;3\n")
    (tmp_path / "c.csv").write_text("\n\nx,y\n5,6\n")
    (tmp_path / "d.csv").write_text("x,y\n")
    assert every_way(tmp_path) == [[("1", "2"), ("3", "4"), ("5", "6")]] * 3
    assert every_way(tmp_path / "d*.csv") == [[]] * 3
    assert read(tmp_path / "d*.csv").empty


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_only_columns_that_are_asked_for_must_agree(tmp_path: Path, ending: str) -> None:
    put(ending, tmp_path / f"1{ending}", a=["1"], b=[1], c=["c"])
    put(ending, tmp_path / f"2{ending}", a=["2"], b=[2.5], d=["d"])
    assert every_way(tmp_path, ["a"]) == [[("1",), ("2",)]] * 3
    for name, words in (("b", "'b' is Float64 here and Int64 in 1"), ("c", "'c' of 1.* is missing")):
        for look in (read(tmp_path).frame, read(tmp_path).table):
            with pytest.raises(DataError, match=words):
                look([name])


def refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        read(tmp_path)
    assert str(caught.value).count("\n") == 0


def test_what_does_not_belong_together_is_refused(tmp_path: Path) -> None:
    put(".csv", tmp_path / "drift" / "1.csv", a=[1])
    put(".csv", tmp_path / "drift" / "2.csv", b=[1])
    refused(tmp_path / "drift", r"2\.csv: its columns are not those of .*1\.csv")
    put(".csv", tmp_path / "mixed" / "1.csv", a=[1])
    put(".parquet", tmp_path / "mixed" / "2.parquet", a=[1])
    refused(tmp_path / "mixed", r"1\.csv is text and 2\.parquet is Parquet")
    put(".parquet", tmp_path / "keys" / "year=1" / "a.parquet", a=[1])
    put(".parquet", tmp_path / "keys" / "month=1" / "a.parquet", a=[1])
    refused(tmp_path / "keys", "its folders name other columns")
    put(".parquet", tmp_path / "twice" / "a=1" / "a.parquet", a=[1])
    refused(tmp_path / "twice", "a column 'a' that is there already")
    put(".csv", tmp_path / "notes" / "README.txt", a=[1])
    refused(tmp_path / "notes", "no file of records is there")
    (tmp_path / "bad.arrow").write_bytes(b"anything")
    refused(tmp_path / "bad.arrow", "not an Arrow file")
    put(".csv", tmp_path / "ragged" / "1.csv", a=[1], b=[2])
    (tmp_path / "ragged" / "2.csv").write_text("a,b\n1\n")
    with pytest.raises(DataError, match=r"2\.csv: row 1 \(line 2\) has 1 field, the header has 2"):
        read(tmp_path / "ragged").frame()


def test_notes_and_hidden_files_in_a_folder_are_no_records(tmp_path: Path) -> None:
    put(".csv", tmp_path / "1.csv", a=[1])
    for name in ("_SUCCESS", ".1.csv.crc", "_old.csv", "README.txt", "notes.md"):
        (tmp_path / name).write_text("anything")
    put(".csv", tmp_path / "_temporary" / "2.csv", a=[2])
    assert every_way(tmp_path) == [[("1",)]] * 3


def test_a_delta_table_is_read_as_its_log_says(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(tmp_path / "d"), pa.table({"a": ["old"]}))
    deltalake.write_deltalake(str(tmp_path / "d"), pa.table({"a": ["1", "2"]}), mode="overwrite")
    deltalake.write_deltalake(str(tmp_path / "d"), pa.table({"a": ["3"]}), mode="append")
    assert every_way(tmp_path / "d") == [[("1",), ("2",), ("3",)]] * 3
    assert read(tmp_path / "d").length > 0
    (tmp_path / "d" / "_delta_log" / "00000000000000000002.json").write_text("{")
    refused(tmp_path / "d", "the Delta table cannot be read")


def test_an_iceberg_table_is_read_as_its_metadata_say(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/w")
    catalog.create_namespace("n")
    first = pa.table({"a": ["1", "2"], "b": [1, 2]})
    table = catalog.create_table("n.people", first.schema, location=f"file://{tmp_path}/people")
    table.append(first)
    table.append(pa.table({"a": ["3"], "b": [3]}))
    table.delete("a = '2'")
    catalog.close()
    assert every_way(tmp_path / "people") == [[("1", 1), ("3", 3)]] * 3
    assert every_way(tmp_path / "people", ["b", "a"]) == [[(1, "1"), (3, "3")]] * 3
    assert read(tmp_path / "people").first(1).height == 1


@pytest.mark.parametrize(("folder", "package"), [("_delta_log", "deltalake"), ("metadata", "pyiceberg")])
def test_a_missing_reader_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, package: str
) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "00001-x.metadata.json").write_text("{}")
    monkeypatch.setitem(__import__("sys").modules, package, None)
    monkeypatch.setitem(__import__("sys").modules, f"{package}.table", None)
    refused(tmp_path, rf"{package}, which reads it, is not installed. Install it with .*penstock\[lake\]")
