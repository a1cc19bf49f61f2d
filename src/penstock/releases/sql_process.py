"""The process that SQL statements run in, from outside: started, asked, and ended when it takes too long."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from penstock.errors import QueryError
from penstock.lifetime import can_be_stopped
from penstock.releases import sql_worker
from penstock.releases.sql_worker import received, sent

_TOLD = {
    "PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HOME",
    "USERPROFILE", "APPDATA", "SYSTEMROOT", "WINDIR", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "TZ",
}  # fmt: skip
_LOOK = 0.1
"""Seconds until we look for Ctrl-C: a library may have set that reading goes on after it, unheard."""
_idle: list[_Worker] = []
_taking = threading.Lock()


def answered(text: str, rows: Any, seconds: float) -> Any:
    """What a statement says about a table of rows, both as tables of Arrow; QueryError where it fails.

    It runs in a process of its own. After so many seconds that is killed, since there are functions that
    DuckDB does not interrupt. One that has answered is kept for the next statement.
    """
    worker = _taken()
    try:
        facts, found = worker.asked(text, rows, seconds)
    except BaseException:
        worker.end()
        raise
    _kept(worker)
    if "problem" not in facts:
        return found
    if facts["of"] == "room":
        raise QueryError("The SQL needs more memory than it may have; ask for less.")
    raise QueryError(f"DuckDB cannot answer this: {first_line(facts['problem'])}.")


def first_line(problem: object) -> str:
    """The first line of a message, without its full stop."""
    text = str(problem).strip().splitlines()
    return (text[0] if text else "no reason was given").rstrip(". ")


def _environment() -> dict[str, str]:
    """What the process is told of ours: where programs and modules are, and no passwords or keys."""
    return {name: value for name, value in os.environ.items() if name.upper() in _TOLD}


class _Worker:
    """A running process, and the one that started it: a fork of that must not talk to it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", sql_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for us, not for it
            env=_environment(),
        )
        self._owner = os.getpid()
        can_be_stopped(self, lambda worker: worker._process.kill())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def ours(self) -> bool:
        return self._owner == os.getpid()

    def asked(self, text: str, rows: Any, seconds: float) -> tuple[dict[str, Any], Any]:
        process, late = self._process, threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        watch = threading.Timer(seconds, kill)
        watch.daemon = True
        watch.start()
        with ThreadPoolExecutor(1) as talking:
            told = talking.submit(self._replied, text, rows)
            try:
                while not told.done():
                    wait([told], timeout=_LOOK)
            except BaseException:
                process.kill()  # or the thread would go on listening to it
                raise
            finally:
                watch.cancel()
        reply = told.result()
        if reply is not None:
            return reply
        if late.is_set():
            raise QueryError(f"The SQL took longer than {seconds:.0f} seconds; ask for less.")
        raise QueryError(
            "The SQL ended the process that it ran in, perhaps for lack of memory; ask for less."
        )

    def _replied(self, text: str, rows: Any) -> tuple[dict[str, Any], Any] | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            sent(self._process.stdin, {"text": text}, rows)
            return received(self._process.stdout)
        except OSError:  # it has gone; how that is told differs between systems
            return None

    def end(self) -> None:
        """Kill it, unless it belongs to the process that this one was forked from."""
        if self.ours:
            self._process.kill()
            self._process.communicate()


def _taken() -> _Worker:
    with _taking:
        while _idle:
            worker = _idle.pop()
            if worker.ours and worker.alive:
                return worker
            worker.end()
    return _Worker()


@atexit.register
def _ended() -> None:
    while _idle:
        _idle.pop().end()


def _kept(worker: _Worker) -> None:
    with _taking:
        if not _idle:
            _idle.append(worker)
            return
    worker.end()
