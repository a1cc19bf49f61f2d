"""Counting where the data is: in memory, in DuckDB, in any database that Ibis speaks to.

This room lies below the seal. Its results are raw, exact counts of the records; only
`penstock.privacy` may import it, and seals what it gets at once.
"""

from penstock.engine.memory import MemoryEngine
from penstock.engine.protocol import Engine
from penstock.engine.view import Marginal, View

__all__ = ["Engine", "Marginal", "MemoryEngine", "View"]
