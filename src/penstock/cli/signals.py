"""Being asked to end: everything that was begun is cleaned up, on `kill` and a closed terminal as on Ctrl-C.

Python hears signals between two of its own instructions, and a database can count for minutes in one. So a
thread listens too, and interrupts the databases at once.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType

_ENDINGS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


_AGAIN = 0.05  # seconds until the databases are interrupted again


@dataclass
class Heard:
    """The signal that asked this process to end, once the main thread has heard one."""

    number: int | None = None
    _event: threading.Event = field(default_factory=threading.Event)


@contextmanager
def listening() -> Iterator[Heard]:
    """Turn every signal that asks to end into an interruption inside the block, and remember which it was.

    A signal that whoever started us ignores stays ignored (nohup). Outside of the main thread, where
    no signal is heard, nothing changes.
    """
    heard = Heard()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def end(number: int, frame: FrameType | None) -> None:
        heard.number = number
        heard._event.set()
        raise KeyboardInterrupt

    wanted = [each for each in _ENDINGS if signal.getsignal(each) not in (signal.SIG_IGN, None)]
    before = {each: signal.signal(each, end) for each in wanted}
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    listener = threading.Thread(target=_interrupt_databases, args=(reader, heard._event), daemon=True)
    listener.start()
    try:
        yield heard
    finally:
        heard._event.set()
        signal.set_wakeup_fd(woken)
        for each, handler in before.items():
            signal.signal(each, handler)
        os.close(writer)
        listener.join()
        os.close(reader)


def _interrupt_databases(reader: int, heard: threading.Event) -> None:
    """For every signal, until the other end is closed.

    Again and again until the main thread has heard it: an interruption that comes before a query has really
    begun is forgotten by the database.
    """
    while numbers := os.read(reader, 64):
        while set(numbers) & set(_ENDINGS) and not heard.wait(_AGAIN):
            from penstock.lifetime import stop_work  # not before: most commands are done without it

            with suppress(Exception):  # whatever happens to the database, the main thread ends the work
                stop_work()
