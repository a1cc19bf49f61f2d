"""What belongs to a process goes with it: locks that say that it lives, and what it left when it was killed.

A hidden file or folder of a running process is locked for as long as the process lives, however it ends,
and its name carries a mark of this machine. Whoever finds one with our mark whose lock is free may remove it.
On a disk that several machines share, the others' are left alone: not every network drive shows their locks.
On Windows, which has no such locks, nothing is ever swept.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

ENDINGS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that ask a process to end: Ctrl-C, `kill`, and a terminal that was closed."""


@cache
def machine() -> str:
    """Eight letters that tell this machine from others that may write to the same disk."""
    words = [socket.gethostname()]
    with suppress(OSError):
        words.append(Path("/etc/machine-id").read_text(encoding="ascii", errors="replace"))
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:8]


def marked() -> str:
    """A name that nobody else has, with the mark of this machine."""
    return machine() + secrets.token_hex(6)


MARKED = "[0-9a-f]{20}"
"""What `marked` gives, as a regular expression."""


def hold(path: Path) -> int | None:
    """Lock a file or folder until the descriptor is closed or the process ends.

    None while another process, or another part of this one, holds it, and when it is gone.
    """
    if sys.platform == "win32":
        return os.open(os.devnull, os.O_RDONLY)
    import fcntl

    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever held it may have removed it between our opening and our locking.
        if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            return descriptor
    except (FileNotFoundError, BlockingIOError):
        pass
    except BaseException:
        if descriptor >= 0:
            os.close(descriptor)
        raise
    if descriptor >= 0:
        os.close(descriptor)
    return None


def made_and_held(make: Callable[[], Path]) -> tuple[Path, int]:
    """Make something of this process's own and lock it; anew, when a sweeper came between the two."""
    while True:
        path = make()
        held = hold(path)
        if held is not None:
            return path, held


def sweep(folder: Path, name: str, *, spare: Callable[[Path], bool] = lambda path: False) -> None:
    """Remove what dead processes of this machine and user left in a folder under names like this one.

    `name` is a regular expression for what stands before the mark. What `spare` names stays.
    """
    if sys.platform == "win32":
        return
    pattern = re.compile(rf"(?s:{name}){machine()}[0-9a-f]{{12}}\Z")
    with suppress(OSError):
        for path in [each for each in folder.iterdir() if pattern.match(each.name)]:
            with suppress(OSError):
                if path.is_symlink() or path.lstat().st_uid != os.geteuid() or spare(path):
                    continue
                held = hold(path)
                if held is not None:
                    try:
                        remove(path)
                    finally:
                        os.close(held)


def remove(path: Path) -> None:
    """Remove a file or a folder with all that is in it, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


_at_work: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def can_be_stopped(worker: T, stop: Callable[[T], None]) -> None:
    """Note how to stop something that works for long outside of Python, for as long as it exists."""
    _at_work[worker] = stop


def stop_work() -> None:
    """Stop whatever works outside of Python, such as an embedded database; from any thread."""
    for worker, stop in list(_at_work.items()):
        stop(worker)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Put off the signals that would end the process until the block is done; keep the block short.

    Only the main thread hears signals, so elsewhere there is nothing to put off.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    before = {ending: signal.getsignal(ending) for ending in ENDINGS}
    ours = {ending: handler for ending, handler in before.items() if handler is not None}
    try:
        for ending in ours:
            signal.signal(ending, note)
        yield
    finally:
        for ending, handler in ours.items():
            signal.signal(ending, handler)
        if arrived:
            signal.raise_signal(arrived[0])
