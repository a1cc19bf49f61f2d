"""Tables of a data lake: Delta and Iceberg, each a folder of Parquet files with a log of what is in it.

The log is read by the library that keeps the format (`pip install 'penstock[lake]'`), never guessed at: files
that the log no longer names are not read, and records it marks as deleted stay deleted. The table is read as
it is when it is opened; what others write meanwhile is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.connection import Duck, first_line
from penstock.engine.records import PACKED, Source, in_polars, refuse_equal_but_for_case, scanned
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

_VERSION = re.compile(r"^v?(\d+)(-.*)?\.metadata\.json$")


def lake(folder: Path) -> Source | None:
    """The Delta or Iceberg table in a folder; None where there is neither."""
    if (folder / "_delta_log").is_dir():
        return DeltaSource(folder)
    versions = [
        (int(found[1]), path)
        for path in (folder / "metadata").glob("*.metadata.json")
        if (found := _VERSION.match(path.name))
    ]
    return IcebergSource(folder, max(versions)[1]) if versions else None


class DeltaSource(Source):
    """A Delta table, as its newest version is when it is opened."""

    def __init__(self, folder: Path) -> None:
        self.label = str(folder)
        try:
            from deltalake import DeltaTable
        except ImportError:
            raise _lacking(folder, "Delta", "deltalake") from None
        try:
            table = DeltaTable(str(folder))
            self._files = table.file_uris()
            self._dataset = table.to_pyarrow_dataset()
        except Exception as problem:
            raise self.failure(problem) from None
        self.names = tuple(self._dataset.schema.names)

    @property
    def length(self) -> int:
        return PACKED * sum(Path(file.removeprefix("file://")).stat().st_size for file in self._files)

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        try:
            return in_polars(self._dataset.to_table(columns=list(self.names if names is None else names)))
        except Exception as problem:
            raise self.failure(problem) from None

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from (in_polars(batch) for batch in scanned(self._dataset, names))

    def first(self, count: int) -> pl.DataFrame:
        return in_polars(self._dataset.head(count))

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        refuse_equal_but_for_case(self)
        return (duck or Duck()).registered(self._dataset).select(*(self.names if names is None else names))

    @property
    def empty(self) -> bool:
        return self.first(1).is_empty()

    def failure(self, problem: Exception) -> DataError:
        return _unreadable(self.label, "Delta", problem)


class IcebergSource(Source):
    """An Iceberg table, as its newest metadata are when it is opened."""

    piecewise = True

    def __init__(self, folder: Path, metadata: Path) -> None:
        self.label = str(folder)
        try:
            from pyiceberg.table import StaticTable
        except ImportError:
            raise _lacking(folder, "Iceberg", "pyiceberg") from None
        try:
            self._table = StaticTable.from_metadata(str(metadata))
            self.names = tuple(field.name for field in self._table.schema().fields)
            files = [task.file for task in self._table.scan().plan_files()]
            self._length = PACKED * sum(int(file.file_size_in_bytes) for file in files)
        except Exception as problem:
            raise self.failure(problem) from None

    @property
    def length(self) -> int:
        return self._length

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return self._read(list(self.names if names is None else names))

    def first(self, count: int) -> pl.DataFrame:
        return self._read(list(self.names), limit=count)

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for batch in self._batches(names):
            yield in_polars(batch).select(names)

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        refuse_equal_but_for_case(self)
        asked = self.names if names is None else names
        return (duck or Duck()).registered(self._batches(asked)).select(*asked)

    @property
    def empty(self) -> bool:
        return self.first(1).is_empty()

    def failure(self, problem: Exception) -> DataError:
        return _unreadable(self.label, "Iceberg", problem)

    def _read(self, names: list[str], limit: int | None = None) -> pl.DataFrame:
        try:
            found = self._table.scan(selected_fields=tuple(names), limit=limit).to_arrow()
        except Exception as problem:
            raise self.failure(problem) from None
        return in_polars(found.select(names))

    def _batches(self, names: Sequence[str]) -> Any:
        return self._table.scan(selected_fields=tuple(names)).to_arrow_batch_reader()


def _lacking(folder: Path, format: str, package: str) -> DataError:
    return DataError(
        f"{folder}: this is a table in the {format} format, and {package}, which reads it, is not installed. "
        "Install it with pip install 'penstock[lake]'."
    )


def _unreadable(label: str, format: str, problem: Exception) -> DataError:
    return DataError(
        f"{label}: the {format} table cannot be read ({first_line(problem)}). Check it with the tool that "
        "wrote it."
    )
