"""Records that DuckDB writes to disk: where, for whom, and until when."""

from __future__ import annotations

import gc
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.engine import compact
from penstock.engine.connection import Duck, stopped
from penstock.engine.ibis import IbisEngine
from penstock.engine.limits import Limits, limited
from penstock.engine.opening import open_engine
from penstock.errors import DataError
from penstock.lifetime import marked, stop_work
from penstock.schema import Schema

SCHEMA = """
unit: {protects: user, column: who, at_most: 2}
fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}]
"""

_SPILLING = """
import os, signal, sys, threading
from penstock.cli import signals
def with_the_test():  # whatever becomes of the test, its query does not go on without it
    sys.stdin.read()
    os._exit(1)
threading.Thread(target=with_the_test, daemon=True).start()
for name in ("SIGTERM", "SIGHUP", "SIGINT"):  # whoever runs the tests may ignore them, as nohup does
    signal.signal(getattr(signal, name), signal.default_int_handler)
from penstock.engine.connection import Duck
with signals.listening() as heard:
    try:
        duck = Duck("16MiB", threads=1, spill=sys.argv[1])
        con = duck.backend.con
        con.execute("CREATE TEMP TABLE t AS SELECT 'patient ' || i AS who FROM range(2000000) r(i)")
        print("spilled", flush=True)
        con.execute("SELECT sum(hash(a.i * b.i)) FROM range(1000000) a(i), range(1000000) b(i)").fetchall()
    except BaseException as problem:
        assert heard.number is not None
sys.exit(0 if heard.number is None else 128 + heard.number)
"""


def spilled(folder: Path) -> int:
    """Bytes of records that can be read in the folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signals on this system")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"])
def test_spilled_records_do_not_survive_the_process_or_the_next_one(tmp_path: Path, name: str) -> None:
    """The second query would take days: the signal stops the database itself."""
    with subprocess.Popen(
        [sys.executable, "-c", _SPILLING, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "spilled\n"
            (place,) = tmp_path.iterdir()
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
            assert spilled(tmp_path) > 1 << 20
            process.send_signal(getattr(signal, name))
            number = int(getattr(signal, name))
            assert process.wait(300) == (-number if name == "SIGKILL" else 128 + number)
        finally:
            process.kill()  # a test that fails must not wait for a query of days
    if name == "SIGKILL":
        assert spilled(tmp_path) > 1 << 20
        Duck(spill=tmp_path)
    assert spilled(tmp_path) == 0
    assert not place.exists()


def test_what_does_not_fit_is_refused_where_nothing_may_be_spilled(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text(
        "who,age\n" + "".join(f"patient {i},{i % 90}\n" for i in range(200_000)), encoding="utf-8"
    )
    with (
        pytest.raises(DataError, match="must not be written to disk") as caught,
        limited(Limits(spill=False)),
    ):
        open_engine(file, Schema.from_yaml(SCHEMA), engine="duckdb", memory="20MiB", threads=1)
    assert "patient" not in str(caught.value)
    assert "Nothing was spent." in str(caught.value)


@pytest.mark.parametrize("way", ["block", "environment", "argument"])
def test_spilling_can_be_forbidden_and_sent_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "encrypted"
    place.mkdir()

    def duck(to: Path | None) -> Duck:
        if way == "argument":
            return Duck(spill=False if to is None else to)
        if way == "environment":
            monkeypatch.setenv("PENSTOCK_SPILL", "none" if to is None else str(to))
            return Duck()
        with limited(Limits(spill=False if to is None else to)):
            return Duck()

    none = duck(None)
    assert none.backend.con.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)
    assert list(tmp_path.iterdir()) == [place]
    some = duck(place)
    (folder,) = place.iterdir()
    assert some.backend.con.execute("SELECT current_setting('temp_directory')").fetchone() == (str(folder),)


def test_limits_that_duckdb_refuses_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not accept these limits"):
        Duck("a lot", spill=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_is_not_taken_for_damaged_records(tmp_path: Path) -> None:
    duck = Duck(spill=tmp_path)
    stop_work()  # nothing is running: nothing happens
    assert duck.backend.con.execute("SELECT 1").fetchone() == (1,)
    assert stopped(RuntimeError("Query interrupted"))
    assert not stopped(RuntimeError("Query interrupted records"))


def test_folders_of_other_processes_are_not_touched(tmp_path: Path) -> None:
    first = Duck(spill=tmp_path)
    leftover = tmp_path / f"penstock-spill-{marked()}"
    leftover.mkdir()
    (leftover / "duckdb_temp").write_text("patient 1")
    Duck(spill=tmp_path)
    assert not leftover.exists()
    assert first.backend.con.execute("SELECT 1").fetchone() == (1,)
    assert len(list(tmp_path.iterdir())) >= 1


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB may write one megabyte, and has to write more while it counts for a release."""
    import polars as pl

    import penstock
    from penstock.engine import connection, opening
    from penstock.privacy.ledger.ledger import Ledger

    rows = 400_000
    frame = pl.DataFrame({"who": [f"patient {number:020}" for number in range(rows)], "age": [40] * rows})
    frame.write_parquet(tmp_path / "people.parquet")

    class Small(connection.Duck):
        def __init__(self, *given: object) -> None:
            super().__init__("24MiB", 1, tmp_path)
            self.backend.con.execute("SET max_temp_directory_size = '1MiB'")

    monkeypatch.setattr(opening, "Duck", Small)
    ledger = Ledger.create(tmp_path / "ledger.db")
    ledger.set_limit("people", 5, unit="user:who")
    with pytest.raises(DataError, match=r"The disk is full where DuckDB writes records"):
        penstock.release(
            tmp_path / "people.parquet",
            Schema.from_yaml(SCHEMA),
            epsilon=1,
            engine="duckdb",
            ledger=ledger,
            account="people",
            out=tmp_path / "release",
        )
    assert not (tmp_path / "release").exists()
    assert ledger.account("people").balance().spent[0] == 0
    assert not list(tmp_path.glob("penstock-spill-*/*"))


_FILLED = """
import os, sys
from pathlib import Path
import penstock
from penstock.engine import connection, opening
from penstock.errors import DataError
from penstock.schema import Schema
people, disk, schema = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
class Small(connection.Duck):
    def __init__(self, *given):
        super().__init__("24MiB", 1, disk)
        with (disk / "another").open("wb", buffering=0) as other:  # somebody else takes the room
            try:
                while other.write(b"x" * 65536):
                    pass
            except OSError:
                pass
opening.Duck = Small
try:
    penstock.release(people, Schema.from_yaml(schema), epsilon=1, engine="duckdb", out=people.parent / "out")
except DataError as problem:
    print(problem, "because", problem.__cause__)
print([file.name for file in disk.glob("penstock-spill-*/*")], (people.parent / "out").exists())
"""


def test_a_disk_that_fills_meanwhile_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    """A file system of 32 MiB of its own, on which another file takes all room while DuckDB counts."""
    import polars as pl

    apart = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    disk, rows = tmp_path / "disk", 400_000
    disk.mkdir()
    mounted = f"mount -t tmpfs -o size=32m tmpfs '{disk}'"
    try:
        subprocess.run([*apart, mounted], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system of one's own can be made here (unshare, mount)")
    frame = pl.DataFrame({"who": [f"patient {number:020}" for number in range(rows)], "age": [40] * rows})
    frame.write_parquet(tmp_path / "people.parquet")
    command = f'{mounted} && exec "$0" "$@"'
    given = [sys.executable, "-c", _FILLED, str(tmp_path / "people.parquet"), str(disk), SCHEMA]
    done = subprocess.run([*apart, command, *given], capture_output=True, text=True, check=True)
    told, left = done.stdout.strip().rsplit("\n", 1)
    assert told.startswith("The disk is full where DuckDB writes records")
    assert "No space left on device" in told or "failed to offload" in told
    assert left == "[] False"


CODES = Schema.from_yaml(
    "fields:\n" + "\n".join(f"- {{name: c{n}, constraints: {{enum: [a, b, c]}}}}" for n in range(8))
)
EVERY = [(f"c{n}",) for n in range(8)] + [("c0", "c7")]


def letters(folder: Path, kind: str) -> Path:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({f"c{n}": rng.choice(["a", "b", "c"], 60_000) for n in range(8)})
    path = folder / f"letters.{kind}"
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    return path


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_codes_that_fill_the_memory_are_packed_into_a_file_and_counted_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary tables of DuckDB are not compressed: pushed out and read back, they take twice the time."""
    monkeypatch.setattr(compact, "_PART", 1 << 12)  # what takes a quarter of a megabyte of the gibibyte
    path, place = letters(tmp_path, kind), tmp_path / "spill"
    place.mkdir()
    engine = open_engine(path, CODES, engine="duckdb", spill=place)
    assert isinstance(engine, IbisEngine)
    (folder,) = place.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (file,) = folder.glob("*.duckdb")
    assert 0 < file.stat().st_size < 8 * 60_000  # a byte for each value, where two bits would do
    reference = open_engine(path, CODES, engine="memory")
    for ours, theirs in zip(engine.counts(EVERY), reference.counts(EVERY), strict=True):
        assert ours.tolist() == theirs.tolist()
    backend = engine._database.backend
    asked = "SELECT count(*) FROM duckdb_tables()"
    assert backend.con.execute(asked).fetchall() == [(1,)]
    del engine, ours, theirs
    gc.collect()
    assert backend.con.execute(asked).fetchall() == [(0,)]
    del backend
    gc.collect()
    assert not folder.exists()


@pytest.mark.parametrize("part", [2, 1 << 12])
def test_codes_that_fit_or_must_not_be_written_stay_where_they_are(
    part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "_PART", part)
    path, place = letters(tmp_path, "parquet"), tmp_path / "spill"
    place.mkdir()
    with limited(Limits(spill=False if part > 2 else place)):
        engine = open_engine(path, CODES, engine="duckdb")
    assert sum(int(count) for count in engine.counts([("c0",)])[0]) == 60_000
    assert not list(place.rglob("*.duckdb"))
