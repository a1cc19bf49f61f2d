"""Where a living release is kept: a folder with its book, its counters and its page, each safe to be seized.

There is one copy of the counters. While a stream is fed they are the file itself, mapped into memory: whoever
seizes memory and disk together finds them once, and no older copy whose difference would tell what was fed in
between. That is why there are no checkpoints that are written beside the old ones: two states of different
times are two looks, and pan-privacy is about one. When a process is killed at any moment, the system keeps
what it has written; only a batch that was being added may be added in part. Raw ids are never written.

The disk itself may lag behind memory until the system writes to it: `written` waits for that.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Counters
from penstock.errors import ReleaseError
from penstock.kinds.stream.book import Book
from penstock.lifetime import hold
from penstock.releases.disk import read, reason, reserved, whole_file, whole_folder
from penstock.releases.paths import absolute

BOOK, COUNTERS, WEIGHT, PAGE = "stream.json", "counters.npy", "weight.npy", "report.html"
_LONGEST_BOOK = 256 << 20


@contextmanager
def place_for(folder: str | Path, room: int) -> Iterator[None]:
    """Make sure that a stream can be kept here, before anything is paid for it."""
    with reserved(folder, room=room + (8 << 20)):
        yield


def unweighed() -> NDArray[np.int64]:
    """The weight of an empty stream."""
    return np.zeros(1, dtype=np.int64)


def create(folder: str | Path, book: Book, counters: Counters, weight: NDArray[np.int64] | None) -> Path:
    """Write a new stream; it appears whole or not at all."""
    with whole_folder(folder) as partial:
        np.save(partial / COUNTERS, counters, allow_pickle=False)
        if weight is not None:
            np.save(partial / WEIGHT, weight, allow_pickle=False)
        _text(partial / BOOK, book.model_dump_json(indent=1))
    target = absolute(folder)
    target.chmod(0o700)
    return target


def load_book(folder: str | Path) -> Book:
    """The book of a stream."""
    target = absolute(folder)
    if not (target / BOOK).exists():
        raise ReleaseError(f"'{folder}' is no stream; begin one with 'penstock stream open {folder}'.")
    return Book.read(read(target, BOOK, at_most=_LONGEST_BOOK), str(folder))


def keep_book(folder: Path, book: Book) -> None:
    """Replace the book in one step, durably."""
    try:
        with whole_file(folder / BOOK, mode=0o600) as partial:
            _text(partial, book.model_dump_json(indent=1))
        _synced(folder)
    except OSError as problem:
        raise ReleaseError(f"'{folder}' could not be written: {reason(problem)}.") from None


def wrong(path: Path) -> str:
    """What is said of numbers that cannot be those of a stream."""
    return f"'{path}' does not hold the numbers that the stream's book describes."


def numbers_of(folder: str | Path, name: str, like: Counters, *, writing: bool) -> Any:
    """The numbers of a file themselves, mapped; refused where they are not what the book says."""
    path = absolute(folder) / name
    try:
        if not stat.S_ISREG(path.lstat().st_mode):  # a link, or a pipe that would hang us
            raise ReleaseError(wrong(path))
        found = np.lib.format.open_memmap(path, mode="r+" if writing else "r")
    except FileNotFoundError:
        raise ReleaseError(f"'{folder}' has no counters: it is closed.") from None
    except (OSError, ValueError, OverflowError):
        raise ReleaseError(wrong(path)) from None
    # in another order they would be copied to be fed, and the copy would be forgotten
    if found.shape != like.shape or found.dtype != like.dtype or not found.flags.c_contiguous:
        raise ReleaseError(wrong(path))
    return found


def written(*numbers: Any) -> None:
    """Wait until the disk holds what memory holds."""
    for each in numbers:
        if isinstance(each, np.memmap):
            each.flush()


def erase(folder: Path) -> None:
    """Overwrite the counters and remove them; nothing can be fed or asked any more."""
    for path in (folder / WEIGHT, folder / COUNTERS):
        with suppress(FileNotFoundError):
            with open(path, "r+b") as file:
                size = os.fstat(file.fileno()).st_size
                for start in range(0, size, 1 << 20):
                    file.write(bytes(min(1 << 20, size - start)))
                file.flush()
                os.fsync(file.fileno())
            path.unlink()


class Lock:
    """The right to change the counters, for as long as it exists."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)


def lock(folder: Path) -> Lock:
    """The right to change the counters; one process at a time has it."""
    descriptor = hold(folder / COUNTERS)
    if descriptor is None:
        raise ReleaseError(
            f"'{folder}' is being fed by another process, or is closed; a stream is fed by one at a time."
        )
    return Lock(descriptor)


@contextmanager
def held(path: Path, busy: str) -> Iterator[None]:
    """Lock a file or folder of a stream for this block; ReleaseError while another process has it."""
    lock = hold(path)
    if lock is None:
        raise ReleaseError(busy)
    try:
        yield
    finally:
        os.close(lock)


def _text(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")


def _synced(folder: Path) -> None:
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
