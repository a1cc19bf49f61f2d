"""Sources: the many places records come from, read in one way.

Files, folders and tables of a data lake (`penstock.engine.places`), tables of a database, and whatever is in
memory already. What each of them promises is in `penstock.engine.records`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.connection import Duck, first_line, named_table
from penstock.engine.header import FIRST, Header, refuse_record, told
from penstock.engine.pandas_frame import plain, single, typed
from penstock.engine.places import from_path
from penstock.engine.records import ACCEPTED, Source, in_polars, refuse_equal_but_for_case
from penstock.engine.remote import DatabaseSource
from penstock.errors import DataError, without_password

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")


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
        return from_path(Path(source), header)
    return _from_object(source)


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
    raise DataError(f"Records cannot be read from {type(source).__name__!r}. Give {ACCEPTED}.")


class FrameSource(Source):
    """Records that are in memory already."""

    def __init__(self, frame: pl.DataFrame, label: str) -> None:
        self._frame, self.label, self.names = frame, label, tuple(frame.columns)

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return self._frame if names is None else self._frame.select(list(names))

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        refuse_equal_but_for_case(self)
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
        refuse_equal_but_for_case(self)
        return (duck or Duck()).registered(self.cells(names or self.names).to_arrow())

    @property
    def empty(self) -> bool:
        return len(self._frame) == 0

    def _columns(self, names: Sequence[str], convert: Callable[[Any, str], pl.Series]) -> pl.DataFrame:
        import polars as pl

        return pl.DataFrame([convert(self._frame.iloc[:, self.names.index(name)], name) for name in names])


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
        raise DataError(f"Records cannot be read from {type(table).__name__!r}. Give {ACCEPTED}.")
    _refuse_repeated("the Arrow table", table.column_names)
    return in_polars(table)


def _refuse_repeated(label: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise DataError(f"In {label} the column '{name}' occurs twice. Rename one of them.")
        seen.add(name)
