"""Folders that appear whole or not at all, and files that are read without trusting them.

Writing: everything goes into a hidden sibling of the destination, is forced to disk, and takes its
final name in one rename. A crash leaves at most a hidden `.name.partial-…`, which the next writer in the
same folder removes, unless it holds a model that was paid for (`penstock.releases.kept`); it is locked
while its writer lives. Single files are written the same way.

Reading: only plain file names directly inside the folder, only regular files, never through a
symbolic link, never more bytes than announced.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from penstock.errors import ReleaseError
from penstock.lifetime import hold, machine, made_and_held, marked, remove, sweep
from penstock.releases.kept import is_kept, marker, meant_for
from penstock.releases.paths import absolute

AGAIN = "Get the release again from its publisher."
DISTRUST = "Do not trust this release."

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")
ROOM = 8 << 20
"""Bytes that must be free for a release whose model nobody knows: its report alone has five million."""

_CHUNK = 1 << 20
_TRIES, _PAUSE = 10, 0.02  # seconds


def check_destination(folder: str | Path, *, overwrite: bool = False, room: int = ROOM) -> Path:
    """Make sure that a release of `room` bytes can be written here, before anything is spent on it.

    Really creates and removes a hidden folder there: permission bits alone do not tell whether a file
    system is read-only or full. The name itself is only asked for: a process that is killed in between must
    not leave an empty folder that looks like a release.
    """
    target = _target(folder)
    taken = os.path.lexists(target)
    if taken:
        if not overwrite:
            raise ReleaseError(
                f"'{folder}' exists already; choose another output folder or remove it first. "
                "Nothing was spent."
            )
        _refuse_unless_release(target, folder)
    try:
        made = _make_parents(target.parent)
        probe = _sibling(target, "probe")
        probe.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # whoever sweeps may be quicker
            probe.rmdir()
        with suppress(FileNotFoundError):
            os.lstat(target)
        for parent in made:
            parent.rmdir()
        free = shutil.disk_usage(made[-1].parent if made else target.parent).free
    except OSError as problem:
        raise ReleaseError(
            f"'{folder}' cannot be written: {reason(problem)}. Choose another output folder. "
            "Nothing was spent."
        ) from None
    if free < room:
        raise ReleaseError(
            f"'{folder}' cannot be written: {free >> 20} MB are free on its disk, and this release may need "
            f"{-(-room >> 20)}. Make room, or choose another output folder. Nothing was spent."
        )
    return target


@contextmanager
def reserved(folder: str | Path, *, room: int = ROOM) -> Iterator[None]:
    """Check a destination and hold it while a release is paid for and made: of two, one is refused unpaid.

    A hidden file beside the destination is locked for as long as this process lives; one that a killed
    process left behind holds nobody up. On Windows, which has no such locks, the check is all there is.
    """
    target = _target(folder)
    place = _reservation(target)
    made: list[Path] = []
    try:
        try:
            made = _make_parents(target.parent)
            held = _held(place)
        except OSError as problem:
            raise ReleaseError(
                f"'{folder}' cannot be written: {reason(problem)}. Choose another output folder. "
                "Nothing was spent."
            ) from None
        if held is None:
            raise ReleaseError(
                f"'{folder}' is being written by another release; choose another output folder. "
                "Nothing was spent."
            )
        try:
            # Only whoever holds the place tries it out: a folder made for a trial would be in the way of
            # another's that is finished, and removing one could remove that.
            _refuse_paid_twice(target, folder)
            check_destination(folder, room=room)
            yield
        finally:
            place.unlink(missing_ok=True)
            os.close(held)
    finally:
        for parent in made:
            with suppress(OSError):  # not empty: the release is in it
                parent.rmdir()


def forget_reservation(target: Path) -> None:
    """Remove the mark of a process that held a destination and was killed."""
    _forget(_reservation(target))


def _forget(place: Path) -> None:
    with suppress(OSError):
        if place.is_symlink() or place.read_text(encoding="ascii", errors="replace") not in ("", machine()):
            return  # of another machine, whose locks a shared disk may not show
        held = hold(place)
        if held is not None:
            place.unlink(missing_ok=True)
            os.close(held)


def _reservation(target: Path) -> Path:
    return target.parent / _hidden(target, "reserved").removesuffix("-")


def _held(place: Path) -> int | None:
    """A lock on a file that is made for it; None while another process, or another thread, holds it."""
    tries = 0
    while tries < _TRIES:
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        held = hold(place)
        if held is not None:
            place.write_text(machine(), encoding="ascii")
            return held
        # Whoever sweeps holds it for a moment too; and its holder may have removed it just now.
        tries += place.exists()
        sleep(_PAUSE)
    return None


def _refuse_paid_twice(target: Path, folder: str | Path) -> None:
    if meant_for(target):
        raise ReleaseError(
            f"A release to '{folder}' was paid for and interrupted, and its model is kept; finish it with "
            f"'penstock recover {folder}', or drop it with '--discard'. Nothing was spent."
        )


@contextmanager
def whole_folder(folder: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder to fill, which takes its final name when the block ends without an error.

    When the block fails, it goes, unless the block said with `kept.keep` that it holds a paid model.
    """
    target = _target(folder)
    if os.path.lexists(target) and not overwrite:
        raise ReleaseError(f"'{folder}' exists already; choose another output folder or remove it first.")
    begun = False
    try:
        with hidden_folder(target) as partial:
            begun = True
            yield partial
            force_to_disk(partial)
            _take_place(partial, target, folder, overwrite=overwrite)
            target.chmod(0o777 & ~_mask())  # not before: until it has its place it is its owner's alone
            marker(partial).unlink(missing_ok=True)
    except OSError as problem:
        remedy = "" if begun else " Choose another output folder."
        how = "could not" if begun else "cannot"
        raise ReleaseError(f"'{folder}' {how} be written: {reason(problem)}.{remedy}") from None


@contextmanager
def hidden_folder(target: Path) -> Iterator[Path]:
    """A hidden folder beside the target, its owner's alone, which goes when the block fails.

    Not when it holds a paid model. It is locked for as long as the block runs. What dead processes left
    here is removed first.
    """
    _make_parents(target.parent)
    sweep(target.parent, r"\..*\.(?:partial|probe)-", spare=is_kept)
    for place in target.parent.glob(".*.reserved"):
        _forget(place)
    partial, lock = made_and_held(lambda: _made(_sibling(target, "partial")))
    try:
        yield partial
    except BaseException:
        if not is_kept(partial):
            remove(partial)
        raise
    finally:
        os.close(lock)


@contextmanager
def whole_file(path: str | Path, *, mode: int = 0o666) -> Iterator[Path]:
    """A hidden file to fill, which takes its final name when the block ends without an error.

    `mode` are its permissions, as far as the process's mask allows them.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        yield target  # a pipe or a device has no sibling to be exchanged with
        return
    sweep(target.parent, rf"{re.escape(_hidden(target, 'partial'))}")

    def make() -> Path:
        place = _sibling(target, "partial")
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        return place

    partial, lock = made_and_held(make)
    try:
        yield partial
        _fsync(partial)
        os.replace(partial, target)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
    finally:
        os.close(lock)


def read(folder: Path, name: str, *, at_most: int) -> bytes:
    """The bytes of a regular file of the folder, if there are not more than `at_most`."""
    with _opened(folder, name) as (descriptor, size):
        if size > at_most:
            raise ReleaseError(
                f"'{folder / name}' has {size:,} bytes where a release has at most {at_most:,}. {DISTRUST}"
            )
        # Asking for `at_most` would allocate it, gigabytes where a model has kilobytes.
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(size)


def is_release(folder: Path) -> bool:
    """Whether a folder looks like a release; nothing in it is read."""
    return (folder / "datapackage.json").is_file() and (folder / "receipt.json").is_file()


def fingerprint(folder: Path, name: str) -> tuple[int, str]:
    """Size and SHA-256 of a file of the folder, read in pieces."""
    with _opened(folder, name) as (descriptor, _):
        digest, size = hashlib.sha256(), 0
        while piece := os.read(descriptor, _CHUNK):
            digest.update(piece)
            size += len(piece)
        return size, digest.hexdigest()


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[tuple[int, int]]:
    if not PLAIN_NAME.match(name):
        raise ReleaseError(
            f"The release in '{folder}' names the file {name[:80]!r}, which is not a plain name. {DISTRUST}"
        )
    path = folder / name
    # O_NONBLOCK: a pipe planted in the folder must not hang the reader.
    flags = os.O_RDONLY
    for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    try:
        if path.is_symlink():
            raise ReleaseError(f"'{path}' is a symbolic link, which no release contains. {DISTRUST}")
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise ReleaseError(f"The release in '{folder}' lacks {name}. {AGAIN}") from None
    except (OSError, ValueError) as problem:
        raise ReleaseError(f"'{path}' cannot be read: {reason(problem)}.") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ReleaseError(f"'{path}' is not a regular file. {DISTRUST}")
        yield descriptor, status.st_size
    except OSError as problem:
        raise ReleaseError(f"'{path}' cannot be read: {reason(problem)}.") from None
    finally:
        os.close(descriptor)


def _target(folder: str | Path) -> Path:
    text = os.fspath(folder)
    if not text or "\0" in text:
        raise ReleaseError("The output folder needs a name. Nothing was spent.")
    target = absolute(text)
    if not target.name:
        raise ReleaseError(f"'{folder}' cannot be an output folder; name a new folder. Nothing was spent.")
    return target


def _sibling(target: Path, purpose: str) -> Path:
    return target.parent / f"{_hidden(target, purpose)}{marked()}"


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def _mask() -> int:
    """What the process takes away from the permissions of what it makes; there is no way to only ask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _hidden(target: Path, purpose: str) -> str:
    # Long names are cut so that a legal destination never has an illegal sibling.
    name = os.fsencode(target.name)[:120].decode("utf-8", "ignore")
    return f".{name}.{purpose}-"


def _make_parents(parent: Path) -> list[Path]:
    """Create missing parents; the new ones, innermost first."""
    missing: list[Path] = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    for step in reversed(missing):
        step.mkdir()
    return missing


def _refuse_unless_release(target: Path, folder: str | Path) -> None:
    if target.is_symlink() or not is_release(target):
        raise ReleaseError(
            f"'{folder}' is not a release folder and will not be overwritten; choose another output folder."
        )


def force_to_disk(folder: Path) -> None:
    """Make sure that a power cut takes nothing of a folder."""
    for path in sorted(folder.iterdir()):
        _fsync(path)
    _fsync(folder)


def _fsync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open a folder to flush it
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_place(partial: Path, target: Path, folder: str | Path, *, overwrite: bool) -> None:
    if not os.path.lexists(target):
        os.rename(partial, target)
    elif not overwrite:
        raise ReleaseError(
            f"'{folder}' appeared while the release was being written; choose another output folder."
        )
    else:
        _refuse_unless_release(target, folder)
        _exchange(partial, target)
    _fsync(target.parent)


def _exchange(partial: Path, target: Path) -> None:
    """Put the new folder in the place of the old one; the old one goes only after that."""
    old = _sibling(target, "old")
    try:
        os.rename(target, old)
        os.rename(partial, target)
    except BaseException:
        if old.exists() and not target.exists():
            os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def reason(problem: BaseException) -> str:
    """Why the system refused, in its own words; Polars appends the number and the hidden name."""
    text = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
    return (text.partition(" (os error")[0] or type(problem).__name__).rstrip(".")
