"""Samples of long files: drawn evenly, the same for the same seed, and never read whole."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import penstock
from penstock import Schema
from penstock.engine import opening, read, records
from penstock.engine.files import ParquetSource, TextSource
from penstock.engine.part import part_of
from penstock.engine.sampling import drawn
from penstock.errors import DataError


def pieces(frame: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    return (frame[begin : begin + size] for begin in range(0, frame.height, size))


def test_every_record_is_drawn_as_often_as_any_other() -> None:
    """A sum of 2,000 draws of 10 in 40: 500 for each, with a deviation of 19.4; 6.5 of them are 1 in 10^8."""
    frame = pl.DataFrame({"number": np.arange(40)})
    times = np.zeros(40)
    for seed in range(2000):
        found, of = drawn(pieces(frame, 7), 10, seed)
        assert (found.height, of) == (10, 40)
        times[found["number"].to_numpy()] += 1
    assert np.abs(times - 500).max() < 6.5 * 19.4


def test_pieces_of_any_size_give_the_same_sample_in_the_order_of_the_records() -> None:
    frame = pl.DataFrame({"number": np.arange(5000), "text": [f"person {each}" for each in range(5000)]})
    whole, of = drawn([frame], 300, 4)
    assert of == 5000
    assert whole["number"].is_sorted()
    for size in (1, 299, 4096):
        assert drawn(pieces(frame, size), 300, 4)[0].equals(whole)
    assert not drawn([frame], 300, 5)[0].equals(whole)


def test_few_records_are_all_taken_with_their_types() -> None:
    frame = pl.DataFrame(
        {"a": ["x", None], "b": [1, 2], "c": [[1], []], "d": pl.Series(["u", "v"], dtype=pl.Enum(["u", "v"]))}
    )
    assert drawn([frame], 2, 0)[0].equals(frame)
    assert drawn(pieces(frame, 1), 1, 0)[0].schema == frame.schema


def long_file(folder: Path, ending: str, rows: int = 3000) -> Path:
    path = folder / f"people.{ending}"
    frame = pl.DataFrame(
        {"who": [f"p{each % 500}" for each in range(rows)], "age": np.arange(rows) % 90, "left": "out"}
    )
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path, row_group_size=700)
    return path


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_long_files_are_never_read_whole(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = long_file(tmp_path, ending)
    short, of = read(path).sampled(["who", "age"], 100, 3)
    assert (short.height, of) == (100, 3000)

    def refused(self: records.Source, names: Sequence[str] | None = None) -> pl.DataFrame:
        raise AssertionError("all records at once")

    monkeypatch.setattr(records, "WHOLE", 0)
    for kind in (TextSource, ParquetSource):
        monkeypatch.setattr(kind, "frame", refused)
    found, of = read(path).sampled(["who", "age"], 100, 3)
    assert of == 3000
    assert found.equals(short), "drawn in pieces as from all at once"


def test_a_fault_of_a_long_file_is_told_with_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "WHOLE", 0)
    path = tmp_path / "people.csv"
    path.write_text("who,age\na,1\nb\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2 \(line 3\) has 1 field, the header has 2"):
        read(path).sampled(["who"], 10)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_part_of_the_records_holds_all_of_somebody_or_nothing(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quarter of 500 people: 125, with a deviation below 10; 60 more or less are 1 in 10^8."""
    source = read(long_file(tmp_path, ending))
    whole, part = part_of(source, ["who", "age"], ["who"], 1)
    assert whole is source
    assert part is None
    monkeypatch.setattr(opening, "IN_MEMORY_UP_TO", source.length // 4)
    some, part = part_of(source, ["who", "age"], ["who"], 1)
    assert part is not None
    people = some.frame().group_by("who").len()
    assert set(people["len"]) == {6}
    assert abs(people.height - 125) < 60
    assert part == (people["len"].sum(), 3000)
    single, _ = part_of(source, ["who", "age"], [], 1)
    assert set(single.frame().group_by("who").len()["len"]) > {1, 2}, "records on their own"


EMPTY = Schema.from_yaml("fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 9}}]")


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_long_file_without_any_record_is_told_in_a_sentence(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "WHOLE", -1)
    monkeypatch.setattr(opening, "IN_MEMORY_UP_TO", -1)
    path, frame = tmp_path / f"nobody.{ending}", pl.DataFrame({"age": []}, schema={"age": pl.Int64})
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[ending](path)
    assert read(path).sampled(["age"], 5)[0].columns == ["age"]
    with pytest.raises(DataError, match=r"^The data has no records to draft from\. Use .*\.$"):
        penstock.draft(path)
    made = penstock.release(pl.DataFrame({"age": [1, 2, 3]}), EMPTY, epsilon=1, seed=1)
    with pytest.raises(DataError, match=r"^The data to compare with has no records\.$"):
        penstock.evaluate(made, path)
