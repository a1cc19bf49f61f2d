"""How much of the machine reading and counting may use: memory, processors, disk.

What is said holds within a block (`limited`); otherwise the environment says it: PENSTOCK_MEMORY (such as
4GiB), PENSTOCK_THREADS, and PENSTOCK_SPILL (a folder, or 'none').
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from penstock.errors import UsageError

Spill = str | Path | Literal[False] | None

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?)?\s*$", re.IGNORECASE)
_LEAST = 1 << 30
_IN_DUCKDB = 2  # DuckDB may have this part of the memory: the rest is for what is around it
_IN_MEMORY = 8  # records as text are this much smaller than what reading and coding them takes


def size(text: str) -> int:
    """The bytes that a size such as 4GiB means.

    >>> size("4GiB"), size("1.5 GB"), size("2048m")
    (4294967296, 1500000000, 2048000000)
    """
    found = _SIZE.match(text)
    if found is None:
        raise UsageError(f"memory: '{text}' is not a size. Write a number and a unit, such as 4GiB.")
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower()) if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


@dataclass(frozen=True)
class Limits:
    """At most so much memory (bytes) and so many processors; and where records may be written meanwhile.

    None leaves the choice to us, or to the environment. `spill` is a folder for what does not fit into
    memory, such as one on an encrypted disk; False: nowhere, and what does not fit is refused.
    """

    memory: int | None = None
    threads: int | None = None
    spill: Spill = None

    def __post_init__(self) -> None:
        if self.memory is not None and self.memory < _LEAST:
            raise UsageError("memory: at least 1GiB is needed, for Python and its libraries take half of it.")
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads: at least one is needed, not {self.threads}.")

    @classmethod
    def of(cls, memory: str | None, threads: int | None, spill: Spill = None) -> Limits:
        """The same with memory as a text such as 4GiB."""
        return cls(None if memory is None else size(memory), threads, spill)

    @property
    def duckdb(self) -> str:
        """What DuckDB may use of the memory, as it wants it written."""
        return "1GiB" if self.memory is None else f"{self.memory // _IN_DUCKDB // (1 << 20)}MiB"

    def in_memory(self, usual: int) -> int:
        """Up to how many bytes of text records are held in memory, where `usual` would do."""
        return usual if self.memory is None else min(usual, self.memory // _IN_MEMORY)


_said: ContextVar[Limits] = ContextVar("penstock_limits", default=Limits())  # noqa: B039  # it is frozen


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Hold everything within the block to these limits."""
    token = _said.set(limits)
    try:
        with _processors(limits.threads):
            yield
    finally:
        _said.reset(token)


@contextmanager
def _processors(count: int | None) -> Iterator[None]:
    """Let Arrow and the libraries of linear algebra use so many; Polars is told when it starts, or never."""
    if count is None:
        yield
        return
    import pyarrow as pa
    from threadpoolctl import threadpool_limits

    before = pa.cpu_count()
    pa.set_cpu_count(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        pa.set_cpu_count(before)


def current() -> Limits:
    """What the block around says, completed by the environment."""
    said = _said.get()
    memory, threads, spill = (os.environ.get(f"PENSTOCK_{name}") for name in ("MEMORY", "THREADS", "SPILL"))
    if threads and not threads.isdigit():
        raise UsageError(f"PENSTOCK_THREADS: '{threads}' is not a number of processors.")
    return Limits(
        memory=said.memory if said.memory is not None or not memory else size(memory),
        threads=said.threads if said.threads is not None or not threads else int(threads),
        spill=said.spill if said.spill is not None else _place(spill),
    )


def _place(named: str | None) -> Spill:
    return False if named is not None and named.lower() == "none" else named or None
