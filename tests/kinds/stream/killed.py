"""A process of its own that is killed with SIGKILL, again and again, each time a few lines of code later.

Run as a program: `python -m tests.kinds.stream.killed FOLDER 16`. It forks a child for each kill; a child
works on a copy of the same stream, and counts the lines of Penstock's code that it executes; before a certain
one it kills itself, so that neither clocks nor chance choose the moment. What is left is told in JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from penstock.kinds.stream.feeding import feed
from penstock.privacy.ledger.ledger import Ledger
from penstock.schema import Schema
from penstock.stream import ContinualCounter, DistinctCounter, IncidenceCounter, load

CANARY = b"canary-of-the-stream"
LINES = b"".join(CANARY + b"-%d\n" % number for number in range(40))
ROOMS = (f"penstock{os.sep}kinds{os.sep}stream", f"penstock{os.sep}releases{os.sep}disk")
ID = Schema.from_yaml("{kind: stream, relation: replace, stream: {ids: 1000, most: 9}}")
EVENT = Schema.from_yaml("{kind: stream, unit: {protects: event}, stream: {ids: 1000, most: 9}}")


def feeding(folder: Path) -> None:
    """Lines through a pipe, in two halves."""
    reading, writing = os.pipe()
    os.write(writing, LINES[: len(LINES) // 2])
    os.write(writing, LINES[len(LINES) // 2 :])
    os.close(writing)
    with load(folder / "s") as living:
        feed(living, reading)


def weighing(folder: Path) -> None:
    with load(folder / "w") as living:
        living.update(np.arange(50), 3)


def asking(folder: Path) -> None:
    load(folder / "s", writing=False).answer()


def stepping(folder: Path) -> None:
    with load(folder / "c") as living:
        living.update(np.arange(50))
        living.step()


def redrawing(folder: Path) -> None:
    with load(folder / "s") as living:
        living.rerandomise()


def opening(folder: Path) -> None:
    DistinctCounter(ID, epsilon=2, width=8, folder=folder / "new")


def closing(folder: Path) -> None:
    with load(folder / "s") as living:
        living.close()


NEEDED: dict[Callable[[Path], None], tuple[str, ...]] = {
    feeding: ("s",),
    weighing: ("w",),
    asking: ("s",),
    stepping: ("c",),
    redrawing: ("s",),
    opening: (),
    closing: ("s",),
}
"""All that is done to streams, and the stream that it is done to."""


class Counting:
    """A trace that counts lines, and kills this process before the line with a certain number."""

    def __init__(self, at: int | None) -> None:
        self.lines, self.at = 0, at

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not any(room in frame.f_code.co_filename for room in ROOMS):
            return None
        if event == "line":
            if self.lines == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            self.lines += 1
        return self


def worked(work: Callable[[Path], None], folder: Path, at: int | None) -> int | None:
    """How many lines a child has worked; None where it was killed before line `at`."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        counting = Counting(at)
        sys.settrace(counting)
        work(folder)
        sys.settrace(None)
        os.write(writing, b"%d" % counting.lines)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as told:
        lines = told.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return None
    return int(lines)


def main(home: Path, number: int) -> None:
    """So many kills over all lines of each work, evenly; and one work that is not killed."""
    start = home / "start"
    start.mkdir()
    booked = {"ledger": str(home / "ledger.db"), "account": "a"}
    Ledger.create(str(home / "ledger.db")).set_limit("a", epsilon=1000, relation="replace", unit="id")
    DistinctCounter(ID, epsilon=4, answers=2, width=8, folder=start / "s", seed=1, **booked).release()
    IncidenceCounter(ID, epsilon=2, weigh=True, folder=start / "w", seed=1).release()
    ContinualCounter(EVENT, epsilon=2, steps=4, folder=start / "c", seed=1).release()
    for work, needed in NEEDED.items():
        whole: int | None = None
        for turn in range(number + 1):
            at = None if whole is None else whole * (turn - 1) // (number - 1) - (turn == number)
            folder = home / f"{work.__name__}-{turn}"
            folder.mkdir()
            for name in needed:
                shutil.copytree(start / name, folder / name)
            lines = worked(work, folder, at)
            if whole is None:
                assert lines is not None
                whole = lines
            print(json.dumps({"work": work.__name__, "killed": lines is None, "folder": str(folder)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
