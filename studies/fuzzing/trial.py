"""Inputs tried: each is accepted or refused with one sentence; a crash, a hang, a flood of memory is a find.

A worker tries a stretch of inputs in its own process. The parent watches it: whatever kills the process, or
keeps it from its next input, is put down to the input it was at, and the rest is tried by a new one.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median
from time import monotonic, process_time
from typing import Any

from fuzzing.loaders import LOADERS, Loader
from penstock.errors import PenstockError

LONGEST_SENTENCE = 1200
PATIENCE = 60.0
"""CPU seconds that a worker may take for one input before it is ended; a busy machine is no finding."""
LONGEST_WAIT = 3600.0
"""Seconds after which a worker that does nothing at all is ended."""
GLANCE = 5.0
"""Seconds between two looks at a worker."""
SLOW = 10.0
"""CPU seconds after which an input that did end counts as a hang all the same."""
STRETCH = 5_000
MEMORY = 2048
"""MiB by which one input may raise the peak of its process."""


@dataclass(frozen=True)
class Find:
    """An input that was not answered as it should be."""

    loader: str
    number: int
    what: str
    data: bytes


@dataclass
class Tally:
    """What became of the inputs of one loader."""

    accepted: int = 0
    refused: int = 0
    crashes: int = 0
    hangs: int = 0
    slowest: float = 0.0
    medians: list[float] = field(default_factory=list)
    peak: int = 0
    finds: list[Find] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        return self.accepted + self.refused + self.crashes + self.hangs

    def to_dict(self) -> dict[str, Any]:
        finds = [{**vars(find), "data": find.data.hex()} for find in self.finds]
        return {**vars(self), "finds": finds}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Tally:
        finds = [Find(**{**find, "data": bytes.fromhex(find["data"])}) for find in stored["finds"]]
        return cls(**{**stored, "finds": finds})

    def add(self, other: Tally) -> None:
        self.accepted += other.accepted
        self.refused += other.refused
        self.crashes += other.crashes
        self.hangs += other.hangs
        self.slowest = max(self.slowest, other.slowest)
        self.medians += other.medians
        self.peak = max(self.peak, other.peak)
        self.finds += other.finds


def made(loader: Loader, seed: int, number: int) -> bytes:
    """The input of this number: the same on every machine."""
    return loader.input(Random(f"{seed}/{loader.name}/{number}"))


def wrong_with(message: str) -> str | None:
    """What keeps an answer from being one clear sentence; None where nothing does.

    >>> wrong_with("age: the data has no such column. Correct the name."), wrong_with("boom\\nat line 3")
    (None, 'more than one line')
    """
    if len(message.splitlines()) != 1:
        return "more than one line" if message else "no words"
    if len(message) > LONGEST_SENTENCE:
        return f"{len(message)} characters"
    if not message.rstrip("'\")”").endswith((".", "?")):
        return "no full stop"
    return None


def attempt(loader: Loader, data: bytes) -> tuple[bool, str | None]:
    """Whether an input was accepted, and what was wrong with how it was answered."""
    try:
        loader.attempt(data)
    except PenstockError as problem:
        reason = wrong_with(str(problem))
        return False, None if reason is None else f"answer of {reason}: {str(problem)[:300]!r}"
    except Exception as problem:
        return False, f"{type(problem).__name__}: {str(problem)[:300]!r}"
    except BaseException as problem:  # a panic of Rust is no Exception
        if isinstance(problem, KeyboardInterrupt | SystemExit):
            raise
        return False, f"{type(problem).__name__}: {str(problem)[:300]!r}"
    return True, None


def try_all(name: str, seed: int, numbers: range, at: Any = None) -> Tally:
    """Try the inputs of these numbers in this process; `at` is told which one is next."""
    tally, times = Tally(), []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = LOADERS[name](Path(folder))
        peak = _peak()
        for number in numbers:
            data = made(loader, seed, number)
            if at is not None:
                at.value = number
            started = process_time()
            accepted, wrong = attempt(loader, data)
            took = process_time() - started
            times.append(took)
            grown, peak = _peak() - peak, _peak()
            if wrong is None and grown > MEMORY:
                wrong = f"{grown} MiB of memory"
            if wrong is not None:
                tally.crashes += 1
                tally.finds.append(Find(name, number, wrong, data))
            elif took > SLOW:
                tally.hangs += 1
                tally.finds.append(Find(name, number, f"{took:.0f} CPU seconds", data))
            elif accepted:
                tally.accepted += 1
            else:
                tally.refused += 1
    tally.slowest, tally.medians, tally.peak = max(times, default=0.0), [median(times)] if times else [], peak
    return tally


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _work(name: str, seed: int, numbers: range, at: Any, out: Connection) -> None:
    out.send(try_all(name, seed, numbers, at))
    out.close()


def watched(name: str, seed: int, numbers: range) -> Iterator[tuple[int, Tally]]:
    """Try the inputs in processes of their own, stretch by stretch; up to where, and what became of them."""
    context = multiprocessing.get_context("spawn")
    begin = numbers.start
    while begin < numbers.stop:
        stretch = range(begin, min(begin + STRETCH, numbers.stop))
        at = context.Value("q", begin - 1)
        receiving, sending = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(name, seed, stretch, at, sending))
        process.start()
        sending.close()
        _watch(process.pid or 0, at, receiving, process.kill)
        try:
            tally, end = receiving.recv(), stretch.stop
        except EOFError:
            process.join()
            tally, end = _ended(name, seed, begin, at.value, process.exitcode), max(at.value, begin) + 1
        process.join()
        begin = end
        yield end, tally


def _watch(pid: int, at: Any, receiving: Connection, end: Callable[[], None]) -> None:
    """Wait for a worker's results, or end it where one input takes all its time."""
    last, since, began = at.value, _cpu(pid), monotonic()
    while not receiving.poll(GLANCE):
        if at.value != last:
            last, since, began = at.value, _cpu(pid), monotonic()
        elif _cpu(pid) - since > PATIENCE or monotonic() - began > LONGEST_WAIT:
            end()
            return


def _cpu(pid: int) -> float:
    """The CPU seconds of a process so far; 0 where the system does not tell, or the process is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _ended(name: str, seed: int, begin: int, number: int, code: int | None) -> Tally:
    """A worker that did not come back: what it was at is a find, and what it had done is done again."""
    number = max(number, begin)
    tally = try_all(name, seed, range(begin, number))
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        data = made(LOADERS[name](Path(folder)), seed, number)
    if code == -9:
        tally.hangs += 1
    else:
        tally.crashes += 1
    tally.finds.append(Find(name, number, f"the process ended with {code}", data))
    return tally
