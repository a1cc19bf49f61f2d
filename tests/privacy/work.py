"""How much work something is, counted and not timed: a busy machine changes nothing about it.

Vectorised code takes a number of Python steps that hardly depends on how many numbers it works on, and as
many random bytes as its draws need. A loop over the numbers, or a draw too many for each, shows at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any
from unittest.mock import patch

from penstock.privacy.randomness.generator import Randomness


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
