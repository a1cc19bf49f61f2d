"""Records somewhere: what every source of them promises, and little things that several sources share.

A source knows its column names, which are public, and hands out the records as a Polars frame or
as an Ibis table; both are raw. Text files keep every column as text so that the schema decides what
a value means; typed sources keep their types. Columns that nobody asks for are never read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from penstock.engine.connection import Duck, explained, first_line
from penstock.errors import DataError
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

ACCEPTED = (
    "a CSV file (.csv, .csv.gz, .tsv), a Parquet or Arrow file, a folder or pattern of such files, a Delta "
    "or Iceberg table, a pandas or Polars frame, an Arrow table, an Ibis table, or a database URL with a "
    "table name"
)

PACKED = 6
"""How much longer a packed file is as text, roughly: only to choose an engine."""

WHOLE = 1 << 26
"""Files up to so many bytes, as text, are read at once where some of their records are wanted."""


class Source(ABC):
    """Records somewhere, with public column names."""

    label: str
    names: tuple[str, ...]
    confirmed: bool = True
    """Whether the names are surely names: declared in a database, or confirmed by the custodian."""
    textual: bool = False
    """Whether the source is text in files, which may lack a header."""
    piecewise: bool = False
    """Whether records are coded in pieces on their way into a database, not inside it."""

    @abstractmethod
    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Raw: these columns (None: all) of all records, in their order."""

    @abstractmethod
    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        """Raw: these columns (None: all) as an Ibis table, by default in DuckDB and read lazily."""

    def required(self, names: Iterable[str | None]) -> list[str]:
        """The columns that somebody names, each once; DataError names one that the data lack."""
        needed = list(dict.fromkeys(name for name in names if name))
        for name in needed:
            if name not in self.names:
                raise DataError(
                    f"{name}: the data has no such column{nearest(name, self.names)}. "
                    "Correct the name in the schema."
                )
        return needed

    def plain(self, names: Sequence[str]) -> pl.DataFrame:
        """Raw: the same, in types that the source declares and that no value decided.

        Text files hold text, and the types of Parquet, Arrow, Polars and databases stand in a header.
        """
        return self.frame(names)

    def cells(self, names: Sequence[str]) -> pl.DataFrame:
        """Raw: these columns for data with one value in a cell, where a list is just an odd value."""
        return self.frame(names)

    def sampled(self, names: Sequence[str], most: int, seed: int = 0) -> tuple[pl.DataFrame, int]:
        """Raw: these columns of at most about `most` records, and of how many; for the custodian's eyes.

        Where there are more, they are drawn at random: by a database itself, of long files piece by piece.
        """
        from penstock.engine.sampling import drawn

        with explained(self.failure):
            pieces = iter(() if self.length <= WHOLE else self.pieces(names))
            first = next(pieces, None)
            # a file in which no record stands has no piece, however long it is
            return drawn([self.cells(names)] if first is None else chain([first], pieces), most, seed)

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Raw: these columns, some records at a time and in their order."""
        yield self.frame(names)

    def first(self, count: int) -> pl.DataFrame:
        """Raw: all columns of the first records, for a look before reading them all."""
        return self.frame().head(count)

    @property
    def length(self) -> int:
        """About how many bytes the records are as text; 0 for what is in memory already."""
        return 0

    @property
    def remote(self) -> bool:
        """Whether the records are in a database, where counting is best done."""
        return False

    @property
    def spoken(self) -> tuple[str, ...]:
        """The names that somebody gave or a file held; a number that pandas counted on its own is none."""
        return self.names

    @property
    @abstractmethod
    def empty(self) -> bool:
        """Raw: whether there is no record at all; for the custodian's terminal, since it is not public."""

    def on_spark(self) -> Source:
        """The same records, read by Spark where it runs."""
        raise DataError(
            f"{self.label}: Spark reads Parquet files and its own tables, so that every engine sees the same "
            "values. Write the records as Parquet, or use another engine."
        )

    def failure(self, problem: Exception) -> DataError:
        """What to tell the user when reading the records failed in some engine."""
        return DataError(f"{self.label}: the records cannot be read ({first_line(problem)}). Check them.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label}: {len(self.names)} columns)"


def in_polars(table: Any) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def scanned(dataset: Any, names: Sequence[str]) -> Iterator[Any]:
    """Record batches in the order of the files; few are read ahead, since each is some megabytes."""
    return iter(dataset.scanner(columns=list(names), batch_readahead=4, fragment_readahead=1).to_batches())


def refuse_equal_but_for_case(source: Source) -> None:
    seen: dict[str, str] = {}
    for name in source.names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise DataError(
                f"{source.label}: the columns '{other}' and '{name}' differ only in upper and lower case, "
                "which DuckDB does not tell apart. Rename one of them, or use the memory engine."
            )
