"""Opening an engine: read a source, encode it by the schema, bound its users."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.catalogue import ENGINES, MEMORY
from penstock.engine.bound import fresh_key, numbered_users, sample_per_user
from penstock.engine.connection import Duck
from penstock.engine.limits import current
from penstock.engine.memory import MemoryEngine
from penstock.engine.protocol import Engine
from penstock.engine.records import Source
from penstock.engine.source import read
from penstock.errors import DataError, UsageError
from penstock.schema import Schema
from penstock.schema.fact import nearest

IN_MEMORY_UP_TO = 1 << 29
"""Files longer than this (as text, in bytes) are counted in DuckDB unless told otherwise."""

SPARK = ENGINES[-1]
AUTO = "auto"
"""The engine that is chosen by where the records are, and how many."""


def refuse_engine(engine: str, able: Sequence[str], what: str = "This") -> None:
    """Refuse an engine that is none, and one that cannot count what is asked for."""
    known = (AUTO, *ENGINES)
    if engine not in known:
        *others, last = known
        raise UsageError(
            f"engine: '{engine}' is unknown{nearest(engine, known)}. Choose {', '.join(others)} or {last}."
        )
    if engine != AUTO and engine not in able:
        words = " or ".join(f"'{each}'" for each in able)
        raise UsageError(
            f"{what} is counted in {' or '.join(able)}, not in {engine}; leave the engine out, or choose "
            f"{words}."
        )


def open_engine(
    source: Any,
    schema: Schema,
    *,
    table: str | None = None,
    engine: str = AUTO,
    order_key: bytes | None = None,
    coordinates: bool = False,
    memory: str | None = None,
    threads: int | None = None,
    spill: str | Path | None = None,
) -> Engine:
    """An engine over the records of a source, encoded by the schema; raw, to be sealed at once.

    `auto` counts frames and files up to `IN_MEMORY_UP_TO` in memory, longer files in DuckDB, and
    database tables where they are. `memory`, `threads` and `spill` limit DuckDB, and what is None is as
    `penstock.engine.limits` says. Columns that the
    schema does not name are never read. Every value is checked against the schema here, before
    any budget is touched. With `coordinates`, fields with bounds can also be asked for as positions on a
    lattice. With a user as the privacy unit each user keeps a random sample of at most
    `schema.unit.at_most` records; `order_key` makes the sample repeatable (None: fresh randomness).
    """
    refuse_engine(engine, ENGINES)
    records = placed(read(source, table=table), engine)
    schema.refuse_lacking_columns(list(records.names))
    needed = list(schema.names)
    user = schema.unit.column
    if user is not None and user not in needed:
        if user not in records.names:
            raise DataError(
                f"{user}: the data has no such column{nearest(user, records.names)}, but the schema's unit "
                "protects users by it. Correct the unit's column."
            )
        needed.append(user)
    key = order_key or fresh_key()
    if in_memory(engine, records):
        return _in_memory(records, schema, needed, key, coordinates)
    from penstock.engine.ibis import IbisEngine
    from penstock.engine.pieces import stored_in_pieces

    duck = None if records.remote else Duck(memory, threads, spill)
    opened = (
        schema.within(records.table(needed, duck=duck))
        if duck is None or not records.piecewise
        else stored_in_pieces(records, schema, needed, duck, coordinates=coordinates)
    )
    return IbisEngine(
        opened,
        schema,
        order_key=key,
        coordinates=coordinates,
        failure=records.failure,
    )


def placed(records: Source, engine: str) -> Source:
    """The records as the engine reads them: files by Spark itself, where it counts."""
    return records.on_spark() if engine == SPARK and not records.remote else records


def counts_lists(engine: str, records: Source) -> bool:
    """Whether sequences and item sets are counted where these records are."""
    if engine == MEMORY or not records.remote:
        return False
    from penstock.engine.stored import database_of

    return database_of(records.table()).lists


def in_memory(engine: str, records: Source) -> bool:
    """Whether records are counted in memory: told so, or because they are few and in no database."""
    return engine == MEMORY or (engine == AUTO and not records.remote and records.length <= most_held())


def most_held() -> int:
    """How many bytes of text are held in memory at once."""
    return current().in_memory(IN_MEMORY_UP_TO)


def _in_memory(
    records: Source, schema: Schema, needed: list[str], order_key: bytes, wanted: bool
) -> MemoryEngine:
    from penstock.engine.coordinates import Coordinate
    from penstock.engine.pieces import encoded

    frame, codes, values = encoded(records.cells(needed), schema, coordinates=wanted)
    user = schema.unit.column
    if user is not None:
        users = numbered_users(user, frame[user], schema.missing_values)
        order: list[Any] = []  # the columns that a database counts a user's records by
        for name in schema.sizes:
            order.append(codes[name])
            if name in values:
                order.append(values[name])
        kept = sample_per_user(users.numbers, schema.unit.records, order_key, names=users.names, order=order)
        codes = {name: column[kept] for name, column in codes.items()}
        values = {name: column[kept] for name, column in values.items()}
    coordinates = {name: (found, Coordinate.of(schema.codec(name))) for name, found in values.items()}
    return MemoryEngine(codes, schema.sizes, coordinates)
