"""Counting where the data is: in memory, in DuckDB, in any database that Ibis speaks to.

This room lies below the seal. Its results are raw, exact counts of the records. Only the data handle of a
kind (`data.py` in its room) asks for them, and seals what it gets at once; evaluations and drafts, which
are for the custodian's eyes, read the source.
"""

from typing import TYPE_CHECKING, Any

from penstock.engine.marginal import Column, Marginal
from penstock.engine.memory import MemoryEngine
from penstock.engine.opening import IN_MEMORY_UP_TO, open_engine, refuse_engine
from penstock.engine.protocol import Engine, Within
from penstock.engine.records import Source
from penstock.engine.source import read

if TYPE_CHECKING:
    from penstock.engine.ibis import IbisEngine

__all__ = [
    "IN_MEMORY_UP_TO",
    "Column",
    "Engine",
    "IbisEngine",
    "Marginal",
    "MemoryEngine",
    "Source",
    "Within",
    "open_engine",
    "read",
    "refuse_engine",
]


def __getattr__(name: str) -> Any:
    if name == "IbisEngine":
        from penstock.engine.ibis import IbisEngine

        return IbisEngine
    raise AttributeError(f"module 'penstock.engine' has no attribute {name!r}")
