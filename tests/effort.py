"""How much work something is, counted instead of timed: the same on every machine, busy or not."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest.mock import patch

from penstock.privacy.randomness.generator import Randomness


def calls(work: Callable[[], object]) -> int:
    """How many functions are called on the way, in Python and from Python.

    Work that is done by arrays and columns takes as many calls for ten rows as for ten million; a loop over
    rows or values takes more of them the more there are.
    """
    seen = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python and NumPy hold on the way, beyond what they held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@dataclass(frozen=True)
class Work:
    """Lines of Python that ran (each turn of a loop is at least one), and random bytes that were drawn."""

    steps: int
    drawn: int


def work_of(run: Callable[[], Any]) -> Work:
    """What a second run takes: tables that are made once and kept are not part of it."""
    run()
    steps = drawn = 0
    take = Randomness.take

    def counted(self: Randomness, count: int) -> bytearray:
        nonlocal drawn
        drawn += count
        return take(self, count)

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return step

    before = sys.gettrace()
    with patch.object(Randomness, "take", counted):
        sys.settrace(step)
        try:
            run()
        finally:
            sys.settrace(before)
    return Work(steps, drawn)
