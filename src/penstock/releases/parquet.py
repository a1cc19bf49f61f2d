"""Model tables from Parquet bytes that nobody vouches for.

A few kilobytes of Parquet can stand for terabytes: equal cells are counted, not repeated, and text
is kept once. So cells are counted before they are read, and text is measured while still packed.
Everything is validated, and stripped of whatever the file says about itself, before Polars sees it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import ReleaseError
from penstock.releases.disk import AGAIN, DISTRUST

if TYPE_CHECKING:
    import polars as pl

MOST_CELLS = 400_000_000
FEW_CELLS = 20_000_000
CELLS_IN_A_BYTE = 100
"""A table of more than a few cells is noisy somewhere, and noise cannot be packed more tightly than this."""

LARGEST_TEXT = 4 << 30


def read_table(data: bytes, where: str) -> pl.DataFrame:
    """The table in a Parquet file: plain columns of a believable size, or a ReleaseError."""
    import polars as pl
    import pyarrow as pa

    try:
        frame = pl.from_arrow(_plain(data, where))
    except (
        pa.ArrowException,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        ArithmeticError,
        MemoryError,
    ):
        raise ReleaseError(f"{where} is not a readable Parquet table. {AGAIN}") from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def _plain(data: bytes, where: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(data))
    # Equal rows without end fit into a few bytes: what a file announces is compared with what it is.
    believable = min(MOST_CELLS, max(FEW_CELLS, CELLS_IN_A_BYTE * len(data)))
    if not 0 <= _cells(file.metadata) <= believable:
        rows = file.metadata.num_rows
        raise ReleaseError(f"{where} announces {rows:,} rows, more than a model may have. {DISTRUST}")
    kinds = {}
    for column in file.schema_arrow:
        kind = _plain_type(column.type)
        if kind is None or column.name in kinds:
            found = str(column.type)[:80]
            raise ReleaseError(f"{where} has a column of type {found}, which no model has. {AGAIN}")
        kinds[column.name] = kind
    texts = [name for name, kind in kinds.items() if pa.types.is_large_string(kind)]
    # In this thread alone: a thread of Arrow's pool that is the last to hold Python's bytes would ask for the
    # interpreter to let them go, and where that is just ending, the whole process is aborted.
    table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts).read(use_threads=False)
    table.validate(full=True)
    if sum(_text_size(table[name]) for name in texts) > LARGEST_TEXT:
        raise ReleaseError(f"{where} unpacks to more text than a model may have. {DISTRUST}")
    columns = [table[name].cast(kind) for name, kind in kinds.items()]
    return pa.Table.from_arrays(columns, names=list(kinds))


def _cells(metadata: Any) -> int:
    """The number of values that a Parquet file announces, those inside lists too."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    inside = sum(group.column(i).num_values for group in groups for i in range(group.num_columns))
    return int(max(inside, metadata.num_rows * max(1, metadata.num_columns)))


def _plain_type(dtype: Any) -> Any:
    """The type to read a column as; None for types that no model has."""
    import pyarrow as pa
    import pyarrow.types as pt

    if pt.is_string(dtype) or pt.is_large_string(dtype) or pt.is_string_view(dtype):
        return pa.large_string()
    if pt.is_list(dtype) or pt.is_large_list(dtype):
        inner = _plain_type(dtype.value_type)
        return None if inner is None else pa.large_list(inner)
    if pt.is_timestamp(dtype):
        return pa.timestamp(dtype.unit)
    kept = (pt.is_integer, pt.is_floating, pt.is_boolean, pt.is_date)
    return dtype if any(check(dtype) for check in kept) else None


def _text_size(column: Any) -> int:
    """The bytes of text that a dictionary-coded column stands for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        coded = pa.types.is_dictionary(chunk.type)
        lengths = pc.binary_length(chunk.dictionary if coded else chunk)
        if coded:
            lengths = lengths.take(chunk.indices)
        total += pc.sum(lengths.cast(pa.int64())).as_py() or 0
    return total
