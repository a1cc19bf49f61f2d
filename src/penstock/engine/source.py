"""Sources: the many places records come from, read in one way.

A source knows its column names, which are public, and hands out the records as a Polars frame or
as an Ibis table; both are raw. Text files keep every column as text so that the schema decides what
a value means; typed sources keep their types. Columns that nobody asks for are never read.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.connection import Duck, first_line, lost, named_table, on_spark
from penstock.engine.delimited import GZIP, Delimited
from penstock.engine.header import FIRST, Header, refuse_record, told
from penstock.engine.pandas_frame import plain, single, typed
from penstock.errors import DataError, without_password

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET = (".parquet", ".pq")
_ACCEPTED = (
    "a CSV file (.csv, .csv.gz, .tsv), a Parquet file or folder, a pandas or Polars frame, an Arrow table, "
    "an Ibis table, or a database URL with a table name"
)
# How much longer a packed file is as text, roughly: only to choose an engine.
PACKED = 6


class Source(ABC):
    """Records somewhere, with public column names."""

    label: str
    names: tuple[str, ...]
    confirmed: bool = True
    """Whether the names are surely names: declared in a database, or confirmed by the custodian."""
    textual: bool = False
    """Whether the source is a text file, which may lack a header."""

    @abstractmethod
    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Raw: these columns (None: all) of all records, in their order."""

    @abstractmethod
    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        """Raw: these columns (None: all) as an Ibis table, by default in DuckDB and read lazily."""

    def plain(self, names: Sequence[str]) -> pl.DataFrame:
        """Raw: the same, in types that the source declares and that no value decided.

        Text files hold text, and the types of Parquet, Arrow, Polars and databases stand in a header.
        """
        return self.frame(names)

    def cells(self, names: Sequence[str]) -> pl.DataFrame:
        """Raw: these columns for data with one value in a cell, where a list is just an odd value."""
        return self.frame(names)

    def sampled(self, names: Sequence[str], most: int) -> tuple[pl.DataFrame, int]:
        """Raw: these columns of about `most` records, and of how many; for the custodian's eyes.

        All of them, except where they are in a database and more: that draws them by itself.
        """
        frame = self.cells(names)
        return frame, frame.height

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


def read(source: Any, *, table: str | None = None, header: Header = None) -> Source:
    """A source from whatever the user has; DataError says what is wrong with it and what to do.

    `header` says where the names of a text file's columns are (`penstock.engine.header`). Names that look
    like a record are refused unless it is "first".

    >>> import polars as pl
    >>> read(pl.DataFrame({"age": [31, 45], "sex": ["f", "m"]})).names
    ('age', 'sex')
    """
    if isinstance(source, Source):
        return source
    says = told(header)
    found = _opened(source, table, says)
    if says is not None and says != FIRST and not found.textual:
        raise DataError(
            f"{found.label}: names are given with --header or --no-header to text files only, and this has "
            "its own. Leave the option out."
        )
    found.confirmed = says is not None or found.remote
    if not found.confirmed and not found.textual:
        refuse_record(found.label, found.spoken, text=False)
    return found


def _opened(source: Any, table: str | None, header: Header) -> Source:
    if isinstance(source, str) and _URL.match(source):
        return DatabaseSource(named_table(source, table), without_password(source))
    if table is not None:
        raise DataError(f"A table name ('{table}') goes with a database URL. Leave it out for other data.")
    if isinstance(source, str | os.PathLike):
        if not os.fspath(source):  # as a path it would mean whatever lies in the current folder
            raise DataError("The name of the file is empty. Give the file with the records.")
        return _from_path(Path(source), header)
    return _from_object(source)


def _from_path(path: Path, header: Header) -> Source:
    try:
        path.exists()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path!s:.100}: this is not the name of a file ({reason}). Check it.") from None
    if any(mark in str(path) for mark in "*?[") and not path.exists():
        found = sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
        return _from_parquet(path, path.parent, [one for one in found if one.is_file()])
    if path.is_dir():
        found = sorted(one for kind in _PARQUET for one in path.rglob(f"*{kind}"))
        hidden = [one for one in found if one.name.startswith(("_", "."))]
        return _from_parquet(path, path, [one for one in found if one not in hidden])
    if not path.exists():
        raise DataError(f"{path}: there is no such file. Check the path.")
    if not path.is_file():
        # A pipe can be read only once, and reading one that nobody writes to would never end.
        raise DataError(f"{path}: this is a pipe or a device, not a file. Save the records in a file first.")
    try:
        with path.open("rb") as stream:
            magic = stream.read(4)
    except OSError as problem:
        raise DataError(f"{path}: the file cannot be opened ({problem.strerror}). Check it.") from None
    if not magic:
        raise DataError(f"{path}: the file is empty. Give a file with a header row of column names.")
    if magic == b"PAR1":
        return ParquetSource(str(path), [path], path.parent)
    name = path.name.lower()
    if name.endswith(_PARQUET):
        raise DataError(f"{path}: this is not a Parquet file. Check the file, or write it anew.")
    if name.endswith(_TEXT):
        packed = magic[:2] == GZIP
        if packed != name.endswith(".gz"):
            says, remedy = ("packed with gzip", "end in .gz") if packed else ("not packed", "not end in .gz")
            raise DataError(f"{path}: the file is {says}. Rename it: its name should {remedy}.")
        return TextSource(path, packed=packed, header=header)
    raise DataError(f"{path}: unknown type of file. Give {_ACCEPTED}.")


def _from_parquet(path: Path, root: Path, files: list[Path]) -> Source:
    if not files:
        raise DataError(f"{path}: no Parquet file is there. Give a folder or pattern with .parquet files.")
    return ParquetSource(str(path), files, root)


def _from_object(source: Any) -> Source:
    module = type(source).__module__.partition(".")[0]
    if module == "ibis" and hasattr(source, "get_backend"):
        return DatabaseSource(source, "the Ibis table")
    if module == "polars" and hasattr(source, "lazy"):
        return FrameSource(_collected(source), "the Polars frame")
    if module == "pandas" and hasattr(source, "columns"):
        return PandasSource(source)
    if module == "pyarrow" and hasattr(source, "schema"):
        return FrameSource(_from_arrow(source), "the Arrow table")
    raise DataError(f"Records cannot be read from {type(source).__name__!r}. Give {_ACCEPTED}.")


class TextSource(Source):
    """A delimited text file, every column as text."""

    textual = True

    def __init__(self, path: Path, *, packed: bool = False, header: Header = None) -> None:
        self._file = Delimited.open(path, header)
        self.label, self.names = str(path), self._file.names
        self._length = path.stat().st_size * (PACKED if packed else 1)

    @property
    def length(self) -> int:
        return self._length

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return _polars(self._file.read(self.names if names is None else names))

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        _refuse_equal_but_for_case(self)
        table = (duck or Duck()).registered(self._file.dataset())
        return table.select(*(self.names if names is None else names))

    def first(self, count: int) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame(self._file.first(count), dict.fromkeys(self.names, pl.String), orient="row")

    def failure(self, problem: Exception) -> DataError:
        return self._file.diagnosis(problem)

    @property
    def empty(self) -> bool:
        return self._file.empty


class ParquetSource(Source):
    """One or many Parquet files; folders named key=value add the column key, as text."""

    def __init__(self, label: str, files: Sequence[Path], root: Path) -> None:
        import polars as pl

        self.label, self._files = label, [str(file) for file in files]
        keys = {part.partition("=")[0] for part in files[0].relative_to(root).parts[:-1] if "=" in part}
        self._hive = bool(keys)
        try:
            self._scan = pl.scan_parquet(
                self._files,
                glob=False,
                hive_partitioning=self._hive,
                hive_schema=dict.fromkeys(sorted(keys), pl.String) if keys else None,
            )
            self.names = tuple(self._scan.collect_schema().names())
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    @property
    def length(self) -> int:
        return sum(Path(file).stat().st_size for file in self._files) * PACKED

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        import polars as pl

        try:
            return self._scan.select(self.names if names is None else list(names)).collect()
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    def on_spark(self) -> Source:
        return DatabaseSource(
            on_spark([str(Path(file).absolute()) for file in self._files], self.label), self.label
        )

    def first(self, count: int) -> pl.DataFrame:
        import polars as pl

        try:
            return self._scan.head(count).collect()
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        _refuse_equal_but_for_case(self)
        try:
            table = (duck or Duck()).parquet(self._files, hive=self._hive)
        except Exception as problem:
            raise self.failure(problem) from None
        return table.select(*(self.names if names is None else names))

    @property
    def empty(self) -> bool:
        import polars as pl

        try:
            return bool(self._scan.select(pl.len()).collect().item() == 0)
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    def failure(self, problem: Exception) -> DataError:
        reason = first_line(problem)
        if "duplicate" in reason or "more than one occurrence" in reason:
            return DataError(f"{self.label}: a column name occurs twice. Rename one of them.")
        return DataError(f"{self.label}: the Parquet file cannot be read ({reason}). Write it anew.")


class FrameSource(Source):
    """Records that are in memory already."""

    def __init__(self, frame: pl.DataFrame, label: str) -> None:
        self._frame, self.label, self.names = frame, label, tuple(frame.columns)

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return self._frame if names is None else self._frame.select(list(names))

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        _refuse_equal_but_for_case(self)
        return (duck or Duck()).registered(self.frame(names).to_arrow())

    @property
    def empty(self) -> bool:
        return self._frame.is_empty()


class PandasSource(Source):
    """A pandas frame, whose types pandas may have read off the values."""

    label = "the pandas frame"

    def __init__(self, frame: Any) -> None:
        self._frame, self.names = frame, tuple(str(name) for name in frame.columns)
        _refuse_repeated(self.label, self.names)

    @property
    def spoken(self) -> tuple[str, ...]:
        return tuple(name for name in self._frame.columns if isinstance(name, str))

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return self._columns(self.names if names is None else names, typed)

    def plain(self, names: Sequence[str]) -> pl.DataFrame:
        return self._columns(names, plain)

    def cells(self, names: Sequence[str]) -> pl.DataFrame:
        return self._columns(names, single)

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        _refuse_equal_but_for_case(self)
        return (duck or Duck()).registered(self.cells(names or self.names).to_arrow())

    @property
    def empty(self) -> bool:
        return len(self._frame) == 0

    def _columns(self, names: Sequence[str], convert: Callable[[Any, str], pl.Series]) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame([convert(self._frame.iloc[:, self.names.index(name)], name) for name in names])


class DatabaseSource(Source):
    """A table in a database, reached through Ibis."""

    def __init__(self, table: ir.Table, label: str) -> None:
        self._table, self.label, self.names = table, label, tuple(table.columns)

    @property
    def remote(self) -> bool:
        return True

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        try:
            return _polars(self.table(names).to_pyarrow())
        except Exception as problem:
            raise self.failure(problem) from None

    def sampled(self, names: Sequence[str], most: int) -> tuple[pl.DataFrame, int]:
        import ibis

        try:
            table = self.table(names)
            rows = int(table.count().to_pyarrow().as_py())
            if rows > most:
                table = table.filter(ibis.random() < most / rows)
            return _polars(table.to_pyarrow()), rows
        except Exception as problem:
            raise self.failure(problem) from None

    def failure(self, problem: Exception) -> DataError:
        if lost(problem):
            return DataError(
                f"{self.label}: the connection to the database was lost ({first_line(problem)}). Check the "
                "server, and begin anew."
            )
        return super().failure(problem)

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        return self._table if names is None else self._table.select(*names)

    @property
    def empty(self) -> bool:
        try:
            return bool(self._table.select(self.names[0]).limit(1).to_pyarrow().num_rows == 0)
        except Exception as problem:
            raise self.failure(problem) from None


def _collected(frame: Any) -> pl.DataFrame:
    import polars as pl

    try:
        collected: pl.DataFrame = frame.lazy().collect()
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(
            f"The Polars frame cannot be computed ({first_line(problem)}). Collect it and look."
        ) from None
    return collected


def _from_arrow(table: Any) -> pl.DataFrame:
    import pyarrow as pa

    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise DataError(f"Records cannot be read from {type(table).__name__!r}. Give {_ACCEPTED}.")
    _refuse_repeated("the Arrow table", table.column_names)
    return _polars(table)


def _polars(table: Any) -> pl.DataFrame:
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _refuse_repeated(label: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"In {label} the column '{name}' occurs twice. Rename one of them.")
        seen.add(name)


def _refuse_equal_but_for_case(source: Source) -> None:
    seen: dict[str, str] = {}
    for name in source.names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise DataError(
                f"{source.label}: the columns '{other}' and '{name}' differ only in upper and lower case, "
                "which DuckDB does not tell apart. Rename one of them, or use the memory engine."
            )
