"""The tables behind the ledger, and the transactions that keep them true.

SQLite. Every write begins with BEGIN IMMEDIATE, so it holds the only write lock before it reads what
was spent; others wait up to a minute. The journal is the classic rollback journal and not the
write-ahead log: the ledger stays one file that can be copied whole, works on a network drive, and needs
no shared memory. `synchronous = EXTRA` also syncs the folder after the journal is removed, which is
the moment a rollback journal commits; with `FULL` a power cut right after could bring the journal
back and undo an acknowledged entry.

Other databases. Every write begins with an update of the account's row, which the database lets only
one transaction hold, and then reads what was committed before (READ COMMITTED); PostgreSQL is told to
wait until the commit is on disk.

Versions. A ledger of version 1 kept no units. It is read as it is; the first write to it adds the columns and
raises the number in the same transaction. What was entered before stays without a unit.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from fractions import Fraction
from os import PathLike, fspath
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    ForeignKey,
    Integer,
    MetaData,
    Select,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    null,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from penstock.errors import LedgerError, without_password
from penstock.privacy.ledger.entries import Balance, LedgerEntry, Limit, Status
from penstock.privacy.unit import Entity, Relation, Unit

FORMAT, VERSION = "penstock ledger", 2
PATIENCE = 60  # seconds to wait for other processes

_tables = MetaData()
_format = Table(
    "penstock_book",
    _tables,
    Column("format", String(40), primary_key=True),
    Column("version", Integer, nullable=False),
)
_accounts = Table(
    "penstock_accounts",
    _tables,
    Column("name", String(100), primary_key=True),
    Column("turn", Integer, nullable=False),  # updated first by every write: the lock of the account
)
_limits = Table(
    "penstock_limits",
    _tables,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("account", ForeignKey(_accounts.c.name), nullable=False, index=True),
    Column("time", String(40), nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("relation", String(20), nullable=False),
    Column("unit", Text),  # whom the account is about; null: what an earlier limit or the first entry says
    Column("holds_at_most", Integer),  # of the unit before, when the limit moved the account to another
)
_entries = Table(
    "penstock_entries",
    _tables,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("name", String(140), nullable=False, unique=True),
    Column("account", ForeignKey(_accounts.c.name), nullable=False, index=True),
    Column("time", String(40), nullable=False),
    Column("label", Text, nullable=False),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("relation", String(20), nullable=False),
    Column("status", String(20), nullable=False),
    Column("release", Text, nullable=False),
    Column("unit", Text),  # null: from before ledgers kept it
    Column("bound", Integer),
    Column("holds_at_most", Integer),  # null: 1
)
_SINCE_2 = (
    _limits.c.unit,
    _limits.c.holds_at_most,
    _entries.c.unit,
    _entries.c.bound,
    _entries.c.holds_at_most,
)


class Rows:
    """The ledger's rows inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._old = connection.execute(select(_format.c.version)).scalar_one() < VERSION

    def upgrade(self) -> None:
        """Bring a ledger of an earlier version to this one; alone, since a write has begun."""
        self._connection.execute(update(_format).values(version=_format.c.version))  # the lock, on a server
        if self._connection.execute(select(_format.c.version)).scalar_one() < VERSION:
            dialect = self._connection.dialect
            quoted = dialect.identifier_preparer.quote
            for column in _SINCE_2:
                kind = column.type.compile(dialect)
                self._connection.exec_driver_sql(
                    f"ALTER TABLE {quoted(column.table.name)} ADD COLUMN {quoted(column.name)} {kind}"
                )
            self._connection.execute(update(_format).values(version=VERSION))
        self._old = False

    def _all(self, table: Table) -> Select[Any]:
        """Every column of a table; one that an old ledger lacks is null."""
        return select(
            *(null().label(c.name) if self._old and c in _SINCE_2 else c for c in table.c)
        ).select_from(table)

    def names(self) -> list[str]:
        """The names of all accounts, sorted."""
        return sorted(self._connection.execute(select(_accounts.c.name)).scalars())

    def refuse_unknown(self, name: str) -> None:
        """Raise LedgerError when there is no account of this name."""
        if self._connection.execute(select(_accounts.c.name).where(_accounts.c.name == name)).first() is None:
            known = self.names()
            near = get_close_matches(name, known, n=1)
            listed = (
                f"did you mean '{near[0]}'?" if near else f"there is {', '.join(known[:5])}." if known else ""
            )
            raise LedgerError(
                f"The ledger has no account '{name}'; "
                + (listed or f"open it with 'penstock ledger limit ... {name} --epsilon E'.")
                + " Nothing was spent."
            )

    def lock(self, name: str) -> None:
        """Wait for the account; until this transaction ends nobody else changes it."""
        mine = update(_accounts).where(_accounts.c.name == name).values(turn=_accounts.c.turn + 1)
        if self._connection.execute(mine).rowcount != 1:
            self.refuse_unknown(name)

    def open_account(self, name: str) -> None:
        """Make the account when there is none, and lock it."""
        known = select(_accounts.c.name).where(_accounts.c.name == name)
        if self._connection.execute(known).first() is None:
            self._connection.execute(insert(_accounts).values(name=name, turn=0))
        self.lock(name)

    def set_limit(self, name: str, limit: Limit, time: str) -> None:
        """Append a limit; the newest counts, the older ones stay on record."""
        self._connection.execute(
            insert(_limits).values(
                account=name,
                time=time,
                epsilon=str(limit.epsilon),
                delta=str(limit.delta),
                relation=limit.relation.value,
                unit=None if limit.unit is None else limit.unit.name,
                holds_at_most=limit.holds_at_most,
            )
        )

    def balance(self, name: str) -> Balance:
        """The account's newest limit, the newest unit that one named, and the sum of what counts."""
        self.refuse_unknown(name)
        newest = self._all(_limits).where(_limits.c.account == name).order_by(_limits.c.number.desc())
        rows = self._connection.execute(newest).all()
        if not rows:
            raise LedgerError(f"Account '{name}' has no limit; set one with 'penstock ledger limit'.")
        with _damage():
            limit = _amount(rows[0].epsilon), _amount(rows[0].delta)
            said = next((Entity.named(row.unit) for row in rows if row.unit is not None), None)
            return Balance.of(name, limit, Relation(rows[0].relation), said, self.entries(name))

    def entries(self, name: str) -> list[LedgerEntry]:
        """Every entry of the account, oldest first."""
        lines = self._all(_entries).where(_entries.c.account == name).order_by(_entries.c.number)
        with _damage():
            return [_entry(row) for row in self._connection.execute(lines)]

    def enter(self, entry: LedgerEntry) -> None:
        """Append an entry."""
        values: dict[str, Any] = {name: str(value) for name, value in vars(entry).items()}
        unit = entry.unit
        values["unit"] = None if unit is None else unit.entity.name
        values["bound"] = None if unit is None else unit.at_most
        values["holds_at_most"] = entry.holds_at_most
        self._connection.execute(insert(_entries).values(values))

    def regroup(self, account: str, holds_at_most: Mapping[str, int]) -> None:
        """The account moves to another unit: one of these has a part in so many of each entry's, by name."""
        for name, held in holds_at_most.items():
            own = (_entries.c.account == account) & (_entries.c.name == name)
            self._connection.execute(update(_entries).where(own).values(holds_at_most=held))

    def close(self, account: str, name: str, status: Status, release: str) -> None:
        """A reserved entry becomes complete or returned, once."""
        reserved = (
            (_entries.c.account == account) & (_entries.c.name == name) & (_entries.c.status == "reserved")
        )
        closed = update(_entries).where(reserved).values(status=status, release=release)
        if self._connection.execute(closed).rowcount != 1:
            raise LedgerError(f"Account '{account}' has no open reservation '{name}'.")


class LedgerDatabase:
    """A database that holds a ledger."""

    def __init__(self, engine: Engine, place: str) -> None:
        self._engine = engine
        self.place = place

    @classmethod
    def open(cls, url: str | PathLike[str]) -> LedgerDatabase:
        """The ledger at this place, verified to be one that this version can keep."""
        file = _file(url)
        if file is not None and not file.is_file():
            raise LedgerError(
                f"There is no ledger at '{file}'; make one with 'penstock ledger init {file}', or correct "
                "the name. Nothing was spent."
            )
        database = cls._at(url)
        with database._told(), database._engine.connect() as connection:
            if not inspect(connection).has_table(_format.name):
                raise LedgerError(database._not_a_ledger())
            found = connection.execute(select(_format)).first()
        if found is None or found.format != FORMAT or not isinstance(found.version, int):
            raise LedgerError(database._not_a_ledger())
        if found.version > VERSION:
            raise LedgerError(
                f"The ledger at '{database.place}' was written by a newer Penstock (ledger version "
                f"{found.version}, this one keeps {VERSION}); update Penstock."
            )
        return database

    @classmethod
    def create(cls, url: str | PathLike[str]) -> None:
        """A new, empty ledger at this place."""
        file = _file(url)
        if file is not None:
            if file.exists() and (not file.is_file() or file.stat().st_size > 0):
                cls._refuse_other_file(file)
                raise LedgerError(
                    f"There is a ledger at '{file}' already; see it with 'penstock ledger show {file}'."
                )
            try:
                # The owner's alone from the first byte; SQLite gives its journal the same permissions.
                os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
                file.chmod(0o600)
            except OSError as problem:
                raise LedgerError(f"No ledger can be made at '{file}': {problem.strerror}.") from None
        database = cls._at(url)
        with database._told(), database._transaction(write=True) as connection:
            if inspect(connection).has_table(_format.name):
                raise LedgerError(f"There is a ledger at '{database.place}' already.")
            _tables.create_all(connection)
            connection.execute(insert(_format).values(format=FORMAT, version=VERSION))

    @classmethod
    def _refuse_other_file(cls, file: Path) -> None:
        try:
            cls.open(file)
        except LedgerError:
            raise LedgerError(f"'{file}' exists and is not a ledger; choose another name.") from None

    @classmethod
    def _at(cls, url: str | PathLike[str]) -> LedgerDatabase:
        file = _file(url)
        if file is not None:
            return cls(_sqlite(file), str(file))
        place = _url(url)
        shown = without_password(fspath(url))
        try:
            engine = create_engine(place, poolclass=NullPool, isolation_level="READ COMMITTED")
        except (NoSuchModuleError, ModuleNotFoundError) as problem:
            reason = without_password(str(problem))
            raise LedgerError(
                f"The ledger at '{shown}' needs a database driver that is not installed ({reason}); for "
                "PostgreSQL install penstock[postgres] and write postgresql+psycopg://..."
            ) from None
        except (ArgumentError, ValueError, TypeError):  # such as two drivers, or an option that is none
            raise _not_an_address() from None
        return cls(engine, shown)

    @contextmanager
    def reading(self) -> Iterator[Rows]:
        """A look at the ledger that waits for nobody."""
        with self._told(), self._transaction(write=False) as connection:
            yield Rows(connection)

    @contextmanager
    def writing(self) -> Iterator[Rows]:
        """All or nothing, one after the other, and on disk when it ends without an error."""
        with self._told(), self._transaction(write=True) as connection:
            rows = Rows(connection)
            rows.upgrade()
            yield rows

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[Connection]:
        with self._engine.connect().execution_options(penstock_write=write) as connection, connection.begin():
            if write and connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SET LOCAL synchronous_commit TO ON")
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Database errors as one sentence with a remedy."""
        try:
            yield
        except IntegrityError:
            raise LedgerError(
                f"The ledger at '{self.place}' was changed by somebody else at the same moment; try "
                "again. Nothing was spent."
            ) from None
        except SQLAlchemyError as problem:
            # Not "from problem": what a driver says can quote the address with its password.
            raise LedgerError(self._sentence(problem)) from None

    def _sentence(self, problem: SQLAlchemyError) -> str:
        original = problem.orig if isinstance(problem, DBAPIError) else None
        code = getattr(original, "sqlite_errorcode", None)
        if code is None:
            address = self._engine.url.render_as_string(hide_password=False)
            first = without_password(str(original or problem), address).strip().partition("\n")[0]
            return (
                f"The ledger at '{self.place}' cannot be used: {first:.200}. Nothing was drawn; an entry "
                "that was written counts as spent."
            )
        why = {
            sqlite3.SQLITE_NOTADB: self._not_a_ledger(),
            sqlite3.SQLITE_CORRUPT: f"The ledger at '{self.place}' is damaged; restore it from a backup.",
            sqlite3.SQLITE_READONLY: f"The ledger at '{self.place}' is read-only; make the file and its "
            "folder writable for you. Nothing was spent.",
            sqlite3.SQLITE_CANTOPEN: f"The ledger at '{self.place}' cannot be opened; check that you may "
            "read and write the file and its folder. Nothing was spent.",
            sqlite3.SQLITE_BUSY: f"The ledger at '{self.place}' has been in use by another process for "
            f"{PATIENCE} seconds; try again later. Nothing was spent.",
            sqlite3.SQLITE_FULL: f"The disk of the ledger at '{self.place}' is full. Nothing was spent.",
        }
        return why.get(
            code & 0xFF, f"The ledger at '{self.place}' cannot be used: {original}. Nothing was drawn."
        )

    def _not_a_ledger(self) -> str:
        return f"'{self.place}' is not a Penstock ledger; name the right one, or make a new one beside it."


def _file(url: str | PathLike[str]) -> Path | None:
    """The file of an SQLite ledger, or None when it is in another database."""
    if isinstance(url, PathLike) or "://" not in url:
        return _named(fspath(url))
    place = _url(url)
    if place.get_backend_name() != "sqlite":
        return None
    if not place.database or place.database == ":memory:" or place.query:
        raise LedgerError(
            "A ledger must outlive the program; name a file, as in 'ledger.db' or 'sqlite:///ledger.db'."
        )
    return _named(place.database)


def _named(name: str) -> Path:
    """The file of this name, which may not be there yet; LedgerError where none can be."""
    place = Path(name).absolute()
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise LedgerError(f"No ledger can be at '{name:.100}' ({reason}); correct its name.") from None
    return place


def _url(url: str | PathLike[str]) -> URL:
    try:
        return make_url(fspath(url))
    except (ArgumentError, ValueError):
        raise _not_an_address() from None


def _not_an_address() -> LedgerError:
    return LedgerError(
        "The ledger's address is neither a file name nor an SQLAlchemy URL such as "
        "postgresql+psycopg://host/database."
    )


def _sqlite(file: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        # mode=rw: opening never makes a file, and transactions are begun by ourselves alone
        connection = sqlite3.connect(
            f"file:{quote(str(file))}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None
        )
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        write = connection.get_execution_options().get("penstock_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _entry(row: Any) -> LedgerEntry:
    if row.status not in get_args(Status):
        raise ValueError(row.status)
    return LedgerEntry(
        row.name,
        row.account,
        row.time,
        row.label,
        _amount(row.epsilon),
        _amount(row.delta),
        Relation(row.relation),
        row.status,
        row.release,
        _unit(row.unit, row.bound),
        _held(row.holds_at_most),
    )


def _unit(name: str | None, bound: int | None) -> Unit | None:
    if name is None:
        return None
    entity = Entity.named(name)
    return Unit.model_validate({"protects": entity.protects, "column": entity.column, "at_most": bound})


def _held(count: int | None) -> int:
    if count is None:
        return 1
    if count < 1:
        raise ValueError(count)
    return count


def _amount(text: str) -> Fraction:
    if not re.fullmatch(r"[0-9]+(/[0-9]+)?", text):
        raise ValueError(text)
    return Fraction(text)


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, ZeroDivisionError) as problem:
        raise LedgerError(
            f"The ledger is damaged: it holds an amount or word that Penstock never writes ({problem}). "
            "Restore it from a backup. Nothing was spent."
        ) from None
