"""The study of promises about time, with a clock that the test winds up itself."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from promises import Promise, promises


def promise(seconds: float) -> Promise:
    """Work and yardstick both take one tick."""
    ticks = count()
    return Promise("count", seconds, lambda: None, "nothing", lambda: None, clock=lambda: float(next(ticks)))


def test_a_promise_is_kept_below_its_seconds_and_broken_at_them() -> None:
    row, kept = promise(1.5).row()
    assert kept
    assert row == ["count", "1.50", "1.000", "holds", "nothing", "1.000", "1.0"]
    row, kept = promise(1.0).row()
    assert not kept
    assert row[3] == "does not hold"


def test_every_promise_has_a_yardstick_of_its_own_kind(tmp_path: Path) -> None:
    found = promises(tmp_path)
    assert len({one.what for one in found}) == len(found) >= 4
    for one in found:
        assert one.yardstick
        assert one.seconds <= 1
