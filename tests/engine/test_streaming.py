"""Records in pieces: none is lost, what belongs together stays together, and lines are lines."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.engine import lines, streaming
from penstock.engine.lines import LineSource
from penstock.engine.source import read
from penstock.engine.streaming import streamed
from penstock.errors import DataError


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "pandas"])
def test_pieces_are_all_records_and_bring_together_what_belongs_together(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "ROWS", 2048)  # DuckDB makes no smaller piece
    rng = np.random.default_rng(1)
    names = np.array(["p", " p", "q\t", "q", "r"])[rng.integers(5, size=9000)]
    frame = pl.DataFrame({"who": names, "row": [str(row) for row in range(9000)], "other": "x"})
    path = tmp_path / f"records.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    source = read({"frame": frame, "pandas": frame.to_pandas()}.get(kind, path))
    pieces = list(streamed(source, ["who", "row"], together=["who"]))
    assert len(pieces) > 3
    found = pl.concat(pieces)
    assert found.columns == ["who", "row"]
    assert found.sort("row").equals(frame.select("who", "row").sort("row"))
    who = found["who"].str.strip_chars(" \t").to_list()
    assert sum(one != two for one, two in pairwise(who)) == 2


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("text", ["", "a\n", "a\r\n\r\nb", "a\n\n", "\ufeffa\rb\u2028\x0b\n\x85c"])
def test_blocks_of_a_file_are_its_lines(
    text: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever a block ends: nothing but a line feed ends a line."""
    path = tmp_path / "sets.dat"
    raw = text.encode()
    path.write_bytes(gzip.compress(raw) if packed else raw)
    whole = raw.decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n")
    expected = whole.split("\n") if text else []
    for block in (1, 2, 3, 1 << 20):
        monkeypatch.setattr(lines, "_BLOCK", block)
        source = LineSource(path, "set")
        assert source.frame()["set"].to_list() == expected
        assert source.empty == (not expected)
        (pieces,) = [list(streamed(source, ["set"]))]
        assert sorted(line for piece in pieces for line in piece["set"].to_list()) == sorted(expected)


def test_what_is_wrong_with_a_file_of_lines_is_said_with_every_engine(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        LineSource(tmp_path / "none.dat", "set")
    with pytest.raises(DataError, match="cannot be read"):
        LineSource(tmp_path, "set")
    bad = tmp_path / "latin.dat"
    bad.write_bytes(b"ale\nb\xfcn\n")
    torn = tmp_path / "torn.gz"
    torn.write_bytes(gzip.compress(b"ale\n" * 9999)[:-9])
    for path, words in ((bad, "not UTF-8: look at line 2"), (torn, "cannot be read")):
        source = LineSource(path, "set")
        with pytest.raises(DataError, match=words):
            source.frame()
        with pytest.raises(DataError, match=words):
            list(streamed(source, ["set"]))
