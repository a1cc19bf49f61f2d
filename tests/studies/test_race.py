"""The race's own machinery: what is measured of a process, and what the table says."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from race import approximate, peers, run, scores
from race.run import Run, watched
from race.table import Standing, in_short, table

LARGE = "x = bytearray(200_000_000)"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_time_and_memory_of_a_process_are_what_the_system_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock, wait = iter((10.0, 14.0)), os.wait4

    def waited(process: int, options: int) -> tuple[int, int, SimpleNamespace]:
        return *wait(process, options)[:2], SimpleNamespace(ru_utime=1.5, ru_stime=0.25)

    monkeypatch.setattr(run.time, "perf_counter", lambda: next(clock))
    monkeypatch.setattr(run.os, "wait4", waited)
    wall, cpu, memory, failure = watched(python(LARGE), tmp_path / "log", 600, tmp_path)
    assert (wall, cpu, failure) == (4.0, 1.75, "")
    assert 190 < memory < 400


def test_children_of_a_process_count_too(tmp_path: Path) -> None:
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {LARGE!r}])"
    *_, memory, failure = watched(python(outer), tmp_path / "log", 600, tmp_path)
    assert failure == ""
    assert 190 < memory < 400


class WhenReady(threading.Thread):
    """A timer that goes off when the process says that it is under way, however long that takes."""

    told: Path

    def __init__(self, limit: float, stop: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.stop = stop

    def run(self) -> None:
        self.told.read_text()  # a pipe: waits for the other end
        self.stop()

    def cancel(self) -> None:
        """It has gone off already, or the process has failed and never will."""


@pytest.fixture
def timers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All timers are such ones."""
    WhenReady.told = tmp_path / "ready"
    os.mkfifo(WhenReady.told)
    monkeypatch.setattr(run.threading, "Timer", WhenReady)


@pytest.mark.usefixtures("timers")
def test_a_peer_that_takes_too_long_is_stopped_and_said_so(tmp_path: Path) -> None:
    work = f"{LARGE}\nopen('ready', 'w').close()\nwhile True: pass"
    *_, memory, failure = watched(python(work), tmp_path / "log", 3, tmp_path)
    assert failure == "not finished after 3 s"
    assert 190 < memory < 400


def test_the_last_words_of_a_peer_that_fails_are_kept(tmp_path: Path) -> None:
    *_, failure = watched(python("raise ValueError('no such domain')"), tmp_path / "log", 600, tmp_path)
    assert failure == "ValueError: no such domain"


def test_every_peer_has_a_driver_and_a_guarantee() -> None:
    folder = Path(peers.__file__).parent / "drivers"
    for peer in peers.PEERS:
        assert (folder / peer.driver).is_file()
        assert len(peer.guarantee) > 20


def test_the_table_shows_means_failures_bounds_and_guarantees() -> None:
    good = {"2-way": 0.01, "3-way": 0.02, "accuracy": 0.8}
    runs = [
        Run("t", "1", "Penstock confluence", "", 2.0, 1.0, 200, "", good),
        Run("t", "1", "Penstock confluence", "", 2.0, 3.0, 200, "", {**good, "2-way": 0.03}),
        Run("t", "1", "mbi MST", "", 50.0, 40.0, 800, "", {**good, "3-way": 0.1}),
        Run("t", "1", "dpmm MST", "", 900.0, 850.0, 900, "not finished after 900 s"),
    ]
    text = table("t", "1", runs, {"original, resampled": good})
    lines = {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
    ours = [cell.strip() for cell in lines["Penstock confluence"].split("|")[2:-1]]
    assert ours == ["pure ε", "", "2", "2.0", "2.0", "1.0", "200", ".0200", ".0200", ".8000"]
    assert "20.0" in lines["mbi MST"]  # 40 s against our 2
    assert "original, resampled" in lines
    assert "dpmm MST: not finished after 900 s; it had used 850 CPU seconds." in text
    assert "Penstock confluence: 20 times less CPU than the fastest other, mbi MST." in text
    assert (
        "mbi MST, (ε, δ), is closer in 2-way marginals than Penstock confluence: .0100 against .0200." in text
    )
    assert "Nobody else is closer in 3-way marginals than Penstock confluence." in text
    assert "Nobody else teaches a classifier better than Penstock confluence." in text
    goals = in_short({"nltcs": Standing(runs)})
    assert "**holds** (20 times for the slowest of ours)" in goals[0]
    assert "**holds** (.0200)" in goals[1]
    slow = Run("t", "1", "Penstock privbayes, plain", "", 9.0, 9.0, 200, "", good)
    assert "**does not hold** (4 times" in in_short({"nltcs": Standing([*runs, slow])})[0]


def test_guarantees_in_short_say_what_holds() -> None:
    short = {peer.name: peer.short for peer in peers.PEERS}
    assert set(short.values()) == {"pure ε", "(ε, δ)", "none"}
    assert short["OpenDP AIM"] == "pure ε"
    assert short["mbi MST"] == "(ε, δ)"
    assert short["dpmm PrivBayes"] == short["DataSynthesizer PrivBayes"] == "none"


def test_of_each_peer_the_last_race_is_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run, "STORE", tmp_path / "race.jsonl")
    assert run.runs("t", "1") == []
    for peer, begun, cpu in (
        ("mbi MST", "2026-01-01", 1.0),
        ("mbi MST", "2026-01-02", 2.0),
        ("dpmm MST", "2026-01-01", 4.0),
        ("mbi MST", "2026-01-02", 3.0),
    ):
        run.keep(Run("t", "1", peer, begun, 1.0, cpu, 1, "failed"))
    run.keep(Run("t", "0.1", "dpmm MST", "2026-01-03", 1.0, 5.0, 1))
    assert [found.cpu for found in run.runs("t", "1")] == [2.0, 4.0, 3.0]  # of each the last it ran in


def test_means_that_were_kept_weigh_as_many_runs_as_they_are_of() -> None:
    def made(cpu: float, error: float, runs: int) -> Run:
        scores = {"2-way": 0.01, "3-way": error, "accuracy": 0.8}
        return Run("t", "1", "Penstock confluence", "2026-01-02T03:04:05", 2.0, cpu, 200, "", scores, runs)

    runs = [made(1.0, 0.02, 3), made(5.0, 0.06, 1)]
    line = table("t", "1", runs, {}).splitlines()[-1]
    cells = [cell.strip() for cell in line.split("|")[2:-1]]
    assert cells == ["pure ε", "2026-01-02", "4", "2.0", "2.0", "1.0", "200", ".0100", ".0300", ".8000"]


@pytest.mark.usefixtures("timers")
def test_a_limit_of_cpu_seconds_is_not_met_by_waiting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The timer goes off; the process has used too little to be stopped, then enough."""
    so_far = iter((1.0, 2.0, 5.0))
    monkeypatch.setattr(run, "used", lambda session: (next(so_far), 7.0))
    work = "import itertools\nfor _ in itertools.count(): open('ready', 'w').close()"
    _, cpu, memory, failure = watched(python(work), tmp_path / "log", 4, tmp_path, of_cpu=True)
    assert (cpu, memory, failure) == (5.0, 7.0, "not finished after 4 CPU s")


def test_original_rows_score_like_the_original(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(scores.TARGET, "made-up", "b")
    train = scores.load("made-up train")
    path = tmp_path / "rows.csv"
    pl.DataFrame({name: codes.astype("int64") for name, codes in train.codes.items()}).write_csv(path)
    assert scores.scored(path, "made-up") == {"2-way": 0.0, "3-way": 0.0, "accuracy": 1.0}
    bounds = scores.bounds("made-up", 4000)
    assert bounds["independent columns, no noise"]["2-way"] > 0.1
    assert bounds["original, resampled"]["2-way"] < 0.05


def test_our_driver_writes_rows_of_the_domain(tmp_path: Path) -> None:
    """The whole way of one peer, ours, on the made-up table."""
    from race.run import DRIVERS, write_inputs

    train: Any = scores.load("made-up train")
    write_inputs(train, tmp_path)
    out = tmp_path / "synthetic.csv"
    command = [
        sys.executable,
        str(DRIVERS / "penstock_driver.py"),
        *(str(tmp_path / name) for name in ("train.csv", "domain.json", "synthetic.csv")),
        *("--schema", str(tmp_path / "schema.yaml"), "--method", "independent"),
        *("--epsilon", "1", "--rows", "321"),
    ]
    *_, failure = watched(command, tmp_path / "log", 600, tmp_path)
    assert failure == ""
    frame = pl.read_csv(out)
    assert frame.height == 321
    assert json.loads((tmp_path / "domain.json").read_text()) == {"a": 4, "b": 2, "c": 2}
    assert frame["a"].max() == 3


def test_the_race_at_equal_deltas_tells_where_others_are_closer() -> None:
    def made(peer: str, epsilon: str, error: float, cpu: float) -> approximate.Run:
        return approximate.Run("nltcs", epsilon, peer, cpu, 100, "", {"Q2": error, "Q3": 2 * error})

    ours, other = approximate.OURS.name, "mbi MST"
    found = [
        made(ours, "1", 0.01, 1.0),
        made(ours, "1", 0.03, 3.0),
        made(other, "1", 0.04, 40.0),
        made(ours, "10", 0.02, 2.0),
        made(other, "10", 0.01, 10.0),
        approximate.Run("tree", "1", "dpmm AIM", 1200.0, 100, "not finished after 1200 s"),
    ]
    short = {line.split("|")[1].strip(): line for line in approximate.in_short(found).splitlines()}
    assert [cell.strip() for cell in short["mbi MST, 1"].split("|")[2:-1]] == [
        "1 of 1", ".5000", ".5000", ".0500", ".0500",
    ]  # fmt: skip
    assert "0 of 1" in short["mbi MST, 10"]
    made_page = approximate.page(found)
    assert "- nltcs, ε 10, mbi MST: .0100 / .0200, ours .0200 / .0400" in made_page.screen
    assert "nltcs, ε 1, mbi" not in made_page.screen
    assert "- dpmm AIM: not finished after 1200 s (tree ε 1)" in made_page.text()


def test_our_driver_reads_values_and_writes_codes_where_they_differ(tmp_path: Path) -> None:
    from race.run import DRIVERS, write_inputs

    table: Any = scores.load("made-up train")
    write_inputs(table, tmp_path)
    table.schema.decode(table.codes, np.random.default_rng(0)).write_csv(tmp_path / "values.csv")
    place = tmp_path / "log.txt"
    command = [
        sys.executable,
        str(DRIVERS / "penstock_driver.py"),
        *(str(tmp_path / name) for name in ("train.csv", "domain.json", "synthetic.csv")),
        *("--schema", str(tmp_path / "schema.yaml"), "--method", "confluence-delta"),
        *("--epsilon", "10", "--delta", "1e-9", "--rows", str(table.rows)),
    ]
    *_, failure = watched(command, place, 600, tmp_path)
    assert failure == ""
    assert approximate.scored(tmp_path / "synthetic.csv", table)["Q2"] < 0.05
