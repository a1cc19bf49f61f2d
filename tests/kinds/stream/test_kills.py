"""A kill -9 at any moment: what was counted stays, what was paid is written, and no id is on the disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.kinds.stream.killed import CANARY, ID

from penstock.errors import ReleaseError
from penstock.privacy.ledger.ledger import Ledger
from penstock.stream import DistinctCounter, load

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked to be killed")


KILLS = 16
"""For each thing that is done to a stream."""


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """What is left of streams whose process was killed, by what it did; the first of each was not killed."""
    home = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-m", "tests.kinds.stream.killed", str(home), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, list[Path]] = {}
    for line in map(json.loads, done.stdout.splitlines()):
        assert line["killed"] == (line["work"] in found)
        found.setdefault(line["work"], []).append(Path(line["folder"]))
    return found


def changes(kills: list[Path], name: str) -> list[np.ndarray]:
    """Which numbers of a file a process that was killed had changed; all others are as they were."""
    start = np.load(kills[0].parent / "start" / name)
    whole = np.load(kills[0] / name)
    found = []
    for folder in kills:
        left = np.load(folder / name)
        assert bool(((left == start) | (left == whole)).all()), folder
        found.append(left != start)
    return found


def test_the_kills_are_many_and_fall_into_everything_that_is_done(kills: dict[str, list[Path]]) -> None:
    assert len(kills) == 7
    assert all(len(folders) == KILLS + 1 for folders in kills.values())


def test_no_id_is_left_on_the_disk(kills: dict[str, list[Path]]) -> None:
    files = [file for folder in kills["feeding"] for file in folder.rglob("*") if file.is_file()]
    assert len(files) >= 2 * len(kills["feeding"])
    assert not any(CANARY in file.read_bytes() for file in files)


def test_a_feeding_that_was_killed_has_counted_all_or_some_of_what_it_read(
    kills: dict[str, list[Path]],
) -> None:
    """Every counter is what it was, or what it would have become; the next process feeds on."""
    counted = changes(kills["feeding"], "s/counters.npy")
    assert not counted[1].any()
    assert bool((counted[-1] == counted[0]).all())
    for folder in kills["feeding"]:
        with load(folder / "s") as living:
            living.update([1])
    changes(kills["weighing"], "w/counters.npy")
    assert {int(np.load(folder / "w" / "weight.npy")[0]) for folder in kills["weighing"]} == {0, 150}


def test_an_answer_is_paid_before_it_is_drawn(kills: dict[str, list[Path]]) -> None:
    paid = []
    for folder in kills["asking"]:
        living = load(folder / "s", writing=False)
        spent = living.receipt.epsilon
        assert spent == 2 + (1 if living.book.paid[1:] else 0)
        assert len(living.history) <= spent - 2
        paid.append(spent)
    assert set(paid) == {2, 3}
    account = Ledger.open(str(kills["asking"][0].parent / "ledger.db")).account("a")
    redrawn = [load(folder / "s", writing=False).receipt.epsilon for folder in kills["redrawing"]]
    assert set(redrawn) == {2, 4}
    booked = sum((entry.epsilon for entry in account.entries()), Fraction(0))
    assert booked >= 2 + sum(each - 2 for each in [*paid, *redrawn])


def test_a_step_that_was_killed_is_told_once_or_not_at_all(kills: dict[str, list[Path]]) -> None:
    told = set()
    for folder in kills["stepping"]:
        with load(folder / "c") as living:
            steps = len(living.history)
            living.step()
            assert len(living.history) == steps + 1
            told.add(steps)
    assert told == {0, 1}


def test_a_stream_is_opened_whole_or_not_at_all(kills: dict[str, list[Path]]) -> None:
    """The next that is opened there sweeps what was left."""
    there = set()
    for folder in kills["opening"]:
        exists = (folder / "new").exists()
        there.add(exists)
        living = load(folder / "new") if exists else DistinctCounter(ID, epsilon=2, folder=folder / "new")
        assert living.receipt.epsilon == 1
        living.release()
        DistinctCounter(ID, epsilon=2, folder=folder / "other").release()
        assert sorted(path.name for path in folder.iterdir()) == ["new", "other"]
    assert there == {False, True}


def test_a_closing_that_was_killed_is_finished_by_whoever_loads_the_stream(
    kills: dict[str, list[Path]],
) -> None:
    closed = set()
    for folder in kills["closing"]:
        counters = np.load(kills["closing"][0].parent / "start" / "s" / "counters.npy")
        living = load(folder / "s")
        closed.add(living.book.closed is not None)
        if living.book.closed is None:
            assert np.array_equal(np.load(folder / "s" / "counters.npy"), counters)
        else:
            assert not (folder / "s" / "counters.npy").exists()
            with pytest.raises(ReleaseError, match="was closed"):
                living.answer()
    assert closed == {False, True}


def test_a_process_is_really_killed() -> None:
    """The trace kills itself with SIGKILL, before the line that it was told."""
    code = (
        "import sys; from tests.kinds.stream.killed import *;"
        "sys.settrace(Counting(3)); opening(Path('nowhere/at/all'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == -signal.SIGKILL
