"""What is said of memory, processors and disk reaches whoever reads and counts."""

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.connection import Duck
from penstock.engine.limits import Limits, current, limited, size
from penstock.engine.opening import IN_MEMORY_UP_TO, in_memory
from penstock.engine.source import read
from penstock.errors import UsageError


def told(duck: Duck, setting: str) -> object:
    found = duck.backend.con.execute(f"SELECT current_setting('{setting}')").fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize("way", ["block", "environment"])
def test_limits_reach_duckdb_whichever_way_they_are_said(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    if way == "environment":
        monkeypatch.setenv("PENSTOCK_MEMORY", "3GiB")
        monkeypatch.setenv("PENSTOCK_THREADS", "1")
        duck = Duck(spill=False)
    else:
        with limited(Limits.of("3GiB", 1)):
            duck = Duck(spill=False)
    assert told(duck, "memory_limit") == "1.5 GiB"
    assert told(duck, "threads") == 1


def test_a_block_goes_before_the_environment_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_MEMORY", "3GiB")
    monkeypatch.setenv("PENSTOCK_SPILL", "none")
    before = pa.cpu_count()
    with limited(Limits.of("2GiB", 1)):
        assert current() == Limits(2 << 30, 1, False)
        assert pa.cpu_count() == 1
    assert current() == Limits(3 << 30, None, False)
    assert pa.cpu_count() == before


def test_little_memory_sends_shorter_files_to_duckdb(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    with file.open("wb") as stream:
        stream.write(b"a\n")
        stream.truncate((1 << 30) // 8 + 1)  # a hole in the file: it takes no room
    records = read(file)
    assert records.length < IN_MEMORY_UP_TO
    assert in_memory("auto", records)
    with limited(Limits.of("1GiB", None)):
        assert not in_memory("auto", records)
        assert in_memory("memory", records)
    with limited(Limits.of("2GiB", None)):
        assert in_memory("auto", records)


@pytest.mark.parametrize("text", ["much", "-1GiB", "4 gibibytes", "", "GiB", "1e9"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a size. Write a number and a unit, such as 4GiB"):
        size(text)


def test_limits_that_nothing_could_run_in_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 1GiB"):
        Limits.of("100MiB", None)
    with pytest.raises(UsageError, match="at least one is needed, not 0"):
        Limits.of(None, 0)


def test_an_environment_that_says_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_THREADS", "all")
    with pytest.raises(UsageError, match="PENSTOCK_THREADS: 'all' is not a number"):
        current()


@given(st.integers(1, 10**6), st.sampled_from(["", "k", "M", "g", "T"]), st.sampled_from(["", "i"]))
def test_a_size_is_a_number_of_bytes(number: int, unit: str, binary: str) -> None:
    base = 1024 if binary and unit else 1000
    written = f"{number}{unit}{binary if unit else ''}{'B' if unit else ''}"
    assert size(written) == number * base ** " kmgt".index(unit.lower() or " ")
