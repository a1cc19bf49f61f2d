"""Edges: reading them from files, databases, NetworkX graphs and SciPy matrices. Raw, and below the seal.

Whatever the data holds becomes a simple graph: edges in both directions or repeated are one, an edge from a
node to itself is none, and columns beside the two ends are not read.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl

from penstock.engine.delimited import GZIP
from penstock.engine.header import Header
from penstock.engine.source import FrameSource, Source, read
from penstock.engine.tokens import coded
from penstock.errors import DataError
from penstock.kinds.graph.layout import EdgeLayout, first_number, nodes_of
from penstock.kinds.graph.simple import Numbers, SimpleGraph
from penstock.schema import Schema
from penstock.schema.fact import nearest

_TWO = r"^\s*(\S+)\s+(\S+)"
_MARKS = "#%"
_SEPARATORS = "\t,;|"
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_SNIFFED = 1 << 16


def read_edges(source: Any, schema: Schema, *, table: str | None = None, header: Header = None) -> Source:
    """The edges of whatever the user has, in two columns."""
    layout = EdgeLayout.of(schema)
    if isinstance(source, Source):
        return source
    module = type(source).__module__.partition(".")[0]
    if module == "networkx" and hasattr(source, "edges"):
        return _from_networkx(source, schema)
    if module == "scipy" and hasattr(source, "tocoo"):
        return _from_matrix(source, schema)
    is_file = isinstance(source, str | os.PathLike) and not _URL.match(os.fspath(source))
    if not layout.header and is_file and table is None:
        return read_lines(source, layout.ends)
    return read(source, table=table, header=header)


def open_graph(source: Any, schema: Schema, *, table: str | None = None) -> SimpleGraph:
    """Raw: the graph of a source on the declared nodes; what the schema refuses stops here."""
    layout, n = EdgeLayout.of(schema), nodes_of(schema)
    records = read_edges(source, schema, table=table)
    for name in layout.ends:
        if name not in records.names:
            hint = nearest(name, records.names)
            raise DataError(
                f"{name}: the data has no such column{hint}. Correct 'edges' in the schema, or say 'header: "
                "false' there if the file has no names above its columns."
            )
    frame = records.frame(layout.ends)
    for name in layout.ends:
        if frame[name].null_count():
            row = int(frame[name].is_null().arg_max() or 0) + 1
            raise DataError(
                f"{name}: row {row} has no node here. An edge has two ends; fix or remove the row."
            )
    if layout.labels(schema) is not None:
        ends = _listed(frame, schema)
    elif layout.nodes is None:
        ends = _numbered(frame, schema, n)
    else:
        ends = _relabelled(frame, n)
    return SimpleGraph.of(n, ends[0], ends[1])


def _listed(frame: pl.DataFrame, schema: Schema) -> list[Numbers]:
    """Names that the schema lists, as their places in the list."""
    codec = schema.codec(schema.fields[0].name)
    size, ends = len(schema.fields[0].labels), []
    for name in frame.columns:
        codes = coded(frame[name], codec, lambda place: place).astype(np.int64)
        if codes.size and int(codes.max()) >= size:
            row = int(np.argmax(codes >= size)) + 1
            raise DataError(f"{name}: row {row} names no node of the schema. Correct the row or the list.")
        ends.append(codes)
    return ends


def _numbered(frame: pl.DataFrame, schema: Schema, n: int) -> list[Numbers]:
    """Whole numbers between the declared bounds."""
    first = first_number(schema)
    ends = []
    for name in frame.columns:
        numbers = _whole(frame[name])
        if numbers is None or numbers.null_count():
            row = 1 if numbers is None else int(numbers.is_null().arg_max() or 0) + 1
            raise DataError(
                f"{name}: '{frame[name][row - 1]}' in row {row} is not a whole number, and the schema "
                "declares "
                f"nodes {first} to {first + n - 1}. Fix the row, or list the names of the nodes in the "
                "schema."
            )
        codes = numbers.to_numpy() - first
        outside = (codes < 0) | (codes >= n)
        if outside.any():
            row = int(np.argmax(outside)) + 1
            raise DataError(
                f"{name}: there is no node {frame[name][row - 1]} (row {row}); the schema declares nodes "
                f"{first} to {first + n - 1}. Correct the row or the bounds."
            )
        ends.append(codes.astype(np.int64))
    return ends


def _relabelled(frame: pl.DataFrame, n: int) -> list[Numbers]:
    """Whatever nodes are called, numbered; there may not be more of them than declared."""
    columns = [_whole(frame[name]) for name in frame.columns]
    if all(column is not None and not column.null_count() for column in columns):
        for name, column in zip(frame.columns, columns, strict=True):
            assert column is not None
            if bool((column < 0).any()):
                row = int((column < 0).arg_max() or 0) + 1
                raise DataError(
                    f"{name}: node {column[row - 1]} in row {row} is negative. Number nodes from 0 on; "
                    "remove "
                    "rows in which a number stands for a missing node."
                )
        every = np.concatenate([cast(pl.Series, column).to_numpy() for column in columns])
        different, codes = np.unique(every, return_inverse=True)
        found = different.size
    else:
        texts = pl.concat([frame[name].cast(pl.String).rename("node") for name in frame.columns])
        codes = texts.rank("dense").to_numpy().astype(np.int64) - 1
        found = int(codes.max(initial=-1)) + 1
    if found > n:
        raise DataError(
            f"The edges name more than the {n} nodes that the schema declares. Correct 'nodes': the public "
            "number of all nodes, those without an edge included. Nothing was spent."
        )
    codes = codes.astype(np.int64)
    return [codes[: frame.height], codes[frame.height :]]


def _whole(column: pl.Series) -> pl.Series | None:
    """The column as whole numbers, missing where a value is none; None for a type that never is."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False)
    if column.dtype == pl.String:
        return column.str.strip_chars().cast(pl.Int64, strict=False)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        return whole.set(whole.cast(column.dtype) != column, None)
    return None


def _from_networkx(graph: Any, schema: Schema) -> Source:
    n = nodes_of(schema)
    if graph.number_of_nodes() > n:
        raise DataError(
            f"The NetworkX graph has more than the {n} nodes that the schema declares. Correct 'nodes'."
        )
    layout = EdgeLayout.of(schema)
    pairs = [(edge[0], edge[1]) for edge in graph.edges()]
    columns = {
        name: pl.Series(name, [str(pair[end]) for pair in pairs], dtype=pl.String)
        for end, name in enumerate(layout.ends)
    }
    return FrameSource(pl.DataFrame(columns), "the NetworkX graph")


def _from_matrix(matrix: Any, schema: Schema) -> Source:
    n, layout = nodes_of(schema), EdgeLayout.of(schema)
    if matrix.shape != (n, n):
        raise DataError(
            f"The matrix has the shape {' x '.join(map(str, matrix.shape))}, and the schema declares {n} "
            "nodes. "
            "Give a square matrix with a row for each node."
        )
    entries = matrix.tocoo()
    kept = entries.data != 0
    labels = layout.labels(schema)
    ends = []
    for name, places in zip(layout.ends, (entries.row[kept], entries.col[kept]), strict=True):
        if labels is not None:
            ends.append(pl.Series(name, np.array(labels, dtype=object)[places].tolist(), dtype=pl.String))
        else:
            ends.append(pl.Series(name, places.astype(np.int64) + first_number(schema)))
    return FrameSource(pl.DataFrame(ends), "the SciPy matrix")


# Text without a header -------------------------------------------------------------------------------


def read_lines(source: Any, columns: tuple[str, str]) -> Source:
    """A text file whose lines are edges: two ends, separated by blanks, tabs, commas, semicolons or bars."""
    path = Path(source)
    try:
        mark, separator = _sniffed(path)
        frame = _parsed(path, mark, separator)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file. Check the path.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: the file is not UTF-8. Save it as UTF-8.") from None
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError) as problem:
        reason = str(problem).splitlines()[0].rstrip(".")
        raise DataError(f"{path}: the file cannot be read ({reason}). Check the file.") from None
    frame = frame.rename(dict(zip(frame.columns, columns, strict=True)))
    lacking = frame.select(pl.any_horizontal(pl.all().is_null() | (pl.all() == ""))).to_series()
    if bool(lacking.any()):
        raise _bad_line(path, separator)
    return FrameSource(frame, str(path))


def begins_with_an_edge(source: Any) -> bool:
    """Whether a text file begins with a comment or with two whole numbers, and so has no names on top."""
    path = Path(source)
    if _URL.match(os.fspath(source)) or not path.is_file():
        return False
    try:
        with _opened(path) as stream:
            beginning = stream.read(_SNIFFED).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return False
    first = next((line.strip() for line in beginning.splitlines() if line.strip()), "")
    cells = re.split(r"[\s,;|]+", first)
    return first[:1] in tuple(_MARKS) or all(cell.isdecimal() for cell in [*cells, ""][:2])


def _sniffed(path: Path) -> tuple[str, str | None]:
    """The sign of comments and the separator (None: blanks), from the first line that is an edge."""
    with _opened(path) as stream:
        beginning = stream.read(_SNIFFED).decode("utf-8-sig", errors="ignore")
    mark = _MARKS[0]
    for line in beginning.splitlines():
        text = line.strip()
        if text[:1] and text[0] in _MARKS:
            mark = text[0]
        elif text:
            return mark, next((sign for sign in _SEPARATORS if sign in text), None)
    return mark, None


def _parsed(path: Path, mark: str, separator: str | None) -> pl.DataFrame:
    with _opened(path) as stream:
        raw = stream.read()
    raw.decode("utf-8-sig")
    if next(_edge_lines(raw, mark), None) is None:
        return pl.DataFrame(schema={"0": pl.String, "1": pl.String})
    options: dict[str, Any] = {
        "has_header": False,
        "comment_prefix": mark,
        "infer_schema": False,
        "quote_char": None,
        "truncate_ragged_lines": True,
    }
    if separator is not None:
        found = pl.read_csv(raw, separator=separator, **options)
        if found.width < 2:
            found = found.with_columns(pl.lit(None, dtype=pl.String).alias("none"))
        return found.select(pl.nth(0, 1).str.strip_chars())
    lines = pl.read_csv(raw, separator="\x1f", **options).to_series()
    lines = lines.filter(lines.str.strip_chars() != "")
    return lines.str.extract_groups(_TWO).struct.unnest()


def _edge_lines(raw: bytes, mark: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(raw.decode("utf-8-sig").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith(mark):
            yield number, line


def _bad_line(path: Path, separator: str | None) -> DataError:
    """The first line that is no edge, found by going through the file slowly."""
    mark, _ = _sniffed(path)
    with _opened(path) as stream:
        raw = stream.read()
    for number, line in _edge_lines(raw, mark):
        if len([cell for cell in line.split(separator)[:2] if cell.strip()]) < 2:
            return DataError(f"{path}: line {number} is no edge: it needs two nodes. Fix or remove the line.")
    return DataError(f"{path}: a line is no edge: it needs two nodes. Check the file.")


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")
