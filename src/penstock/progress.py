"""Progress of long work: silent in a library, a bar on the command line.

Only public numbers may be shown: the number of marginals or rounds, never a count of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Step = Callable[[int], None]
Display = Callable[[str, int | None], AbstractContextManager[Step]]


@contextmanager
def _silent(label: str, total: int | None) -> Iterator[Step]:
    yield lambda amount: None


_display: ContextVar[Display] = ContextVar("penstock_progress", default=_silent)


def progress(label: str, total: int | None = None) -> AbstractContextManager[Step]:
    """Announce a step of `total` parts; call the result with the number of parts just finished.

    >>> with progress("counting", total=3) as step:
    ...     step(3)
    """
    return _display.get()(label, total)


@contextmanager
def show(display: Display) -> Iterator[None]:
    """Send the progress of everything inside the block to `display`."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)
