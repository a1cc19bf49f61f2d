"""How much work something is, counted instead of timed: the same on every machine, busy or not."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType


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
