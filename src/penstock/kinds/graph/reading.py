"""Edges: reading them from files, databases, NetworkX graphs and SciPy matrices. Raw, and below the seal.

Whatever the data holds becomes a simple graph: edges in both directions or repeated are one, an edge from a
node to itself is none, and columns beside the two ends are not read.
"""

from __future__ import annotations

import codecs
import gzip
import os
import re
import zlib
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl

from penstock.engine.connection import explained
from penstock.engine.delimited import GZIP
from penstock.engine.header import Header
from penstock.engine.records import Source
from penstock.engine.source import FrameSource, read
from penstock.errors import DataError, without_password
from penstock.kinds.graph.layout import EdgeLayout, first_number, nodes_of
from penstock.kinds.graph.simple import Numbers, SimpleGraph
from penstock.schema import Schema
from penstock.schema.codec import REFUSED
from penstock.schema.fact import nearest

_QUOTED = r'(^|[\s,;|])"(?:[^"]|"")*"'
_FACTS = r"^(\S+\s+\S+)\s+\{.*\}$"  # what NetworkX writes behind an edge
_NEVER = "\x1f"
_MARKS = "#%"
_SEPARATORS = "\t,;|"
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_SPARK = re.compile(r"^(spark|sc)://", re.IGNORECASE)
_NOT_ON_SPARK = (
    "{}: graphs are not counted on Spark, because triangles and cliques need the common neighbours of any "
    "two nodes at hand. Write the edges to a file, and give that."
)
_SNIFFED = 1 << 16
_PARQUET = b"PAR1"

MOST_EDGES = 100_000_000
"""Rows of a table in a database that are read as edges: some gibibytes of numbers."""


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
    if not layout.header and table is None and _is_text(source):
        return read_lines(source, layout.ends)
    if isinstance(source, str) and _SPARK.match(source):  # before a session is begun for it
        raise DataError(_NOT_ON_SPARK.format(without_password(source)))
    found = read(source, table=table, header=header)
    if found.remote:
        _refuse_too_many(found)
    return found


def _refuse_too_many(records: Source) -> None:
    """Edges of a database come into memory: what is built for more than that is refused, and so is Spark."""
    table = records.table()
    if table.get_backend().name == "pyspark":
        raise DataError(_NOT_ON_SPARK.format(records.label))
    with explained(records.failure):
        rows = int(table.count().to_pyarrow().as_py())
    if rows > MOST_EDGES:
        raise DataError(
            f"{records.label}: the table has {rows:,} rows, and a graph is held in memory, which takes at "
            f"most {MOST_EDGES:,} from a database. Give a view of fewer edges."
        )


def _is_text(source: Any) -> bool:
    """Whether this is a file that may hold lines; what is none is read, or refused, as for any kind."""
    if not isinstance(source, str | os.PathLike) or _URL.match(os.fspath(source)):
        return False
    try:
        path = Path(source)
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return stream.read(len(_PARQUET)) != _PARQUET
    except (OSError, ValueError):
        return False


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
    for column in frame:
        if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
            raise DataError(
                f"{column.name}: the column holds no names or numbers of nodes. Give one in each row."
            )
        missing = column.is_nan() | column.is_null() if column.dtype.is_float() else column.is_null()
        if bool(missing.any()):
            row = int(missing.arg_max() or 0) + 1
            raise DataError(
                f"{column.name}: row {row} has no node here. An edge has two ends; fix or remove the row."
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
    for column in frame:
        names = column.unique()
        places = codec.locate(names).astype(np.int64)
        strange = (places == REFUSED) | (places >= size)
        if strange.any():
            row = int(column.is_in(names.filter(pl.Series(strange)).implode()).arg_max() or 0)
            raise DataError(
                f"{column.name}: '{column[row]}' in row {row + 1} is no node of the schema. Correct the "
                "row, or add the node to the list if it is public."
            )
        ends.append(column.replace_strict(names, pl.Series(places), return_dtype=pl.Int64).to_numpy())
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
    """Whatever nodes are called, numbered; there may not be more of them than declared.

    Every name is understood by itself: were '01' the node 1 in columns of numbers only, one record with a
    word in it would change who the others are.
    """
    names = []
    for column in frame:
        whole = _whole(column)
        if whole is not None and bool((whole < 0).any()):
            row = int((whole < 0).arg_max() or 0) + 1
            raise DataError(
                f"{column.name}: node {whole[row - 1]} in row {row} is negative. Number nodes from 0 on; "
                "remove rows in which a number stands for a missing node."
            )
        names.append(_named(column, whole))
    if all(name.dtype == pl.Int64 for name in names):
        every = pl.concat([name.rename("node") for name in names])
    else:
        every = pl.concat([name.cast(pl.String).rename("node") for name in names])
    codes = every.rank("dense").to_numpy().astype(np.int64) - 1
    if int(codes.max(initial=-1)) >= n:
        raise DataError(
            f"The edges name more than the {n} nodes that the schema declares. Correct 'nodes': the public "
            "number of all nodes, those without an edge included. Nothing was spent."
        )
    return [codes[: frame.height], codes[frame.height :]]


def _named(column: pl.Series, whole: pl.Series | None) -> pl.Series:
    """A column of names; whole numbers are written in one way, as numbers where there is nothing else."""
    if whole is None:
        return column.cast(pl.String)
    if not whole.null_count():
        return whole
    texts = column.cast(pl.String).str.strip_chars()
    return texts.zip_with(whole.is_null(), whole.cast(pl.String))


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
    """A text file whose lines are edges: two ends, separated by a tab, a comma, a semicolon, a bar or blanks.

    Of these the first that a line holds outside quotes separates its ends; other lines have no say in it.
    Empty lines and those that begin with # or % are none, and what follows the two ends is not read.
    """
    path = Path(source)
    try:
        with _opened(path) as stream:
            raw = stream.read()
        raw.decode("utf-8-sig")
        frame = _parsed(raw)
    except UnicodeDecodeError:
        raise DataError(f"{path}: the file is not UTF-8. Save it as UTF-8.") from None
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError) as problem:
        reason = str(problem).splitlines()[0].rstrip(".")
        raise DataError(f"{path}: the file cannot be read ({reason}). Check the file.") from None
    if bool(_lacking(frame).any()):
        raise _bad_line(path, raw)
    return FrameSource(frame.rename(dict(zip(frame.columns, columns, strict=True))), str(path))


def begins_with_an_edge(source: Any) -> bool:
    """Whether a text file begins with a comment or with two whole numbers, and so has no names on top."""
    if not _is_text(source):
        return False
    try:
        with _opened(Path(source)) as stream:
            beginning = stream.read(_SNIFFED).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return False
    first = next((line.strip() for line in beginning.splitlines() if line.strip()), "")
    cells = re.split(r"[\s,;|]+", first)
    return first[:1] in tuple(_MARKS) or all(cell.isdecimal() for cell in [*cells, ""][:2])


def _parsed(raw: bytes) -> pl.DataFrame:
    """Both ends of every edge; missing or empty where a line is none."""
    if not raw.removeprefix(codecs.BOM_UTF8).strip():
        return _ends(pl.Series(dtype=pl.String))
    read = pl.read_csv(
        _unix(raw),
        separator=_NEVER,
        has_header=False,
        infer_schema=False,
        quote_char=None,
        truncate_ragged_lines=True,
    )
    lines = read.to_series().drop_nulls()
    return _ends(lines.filter(_written(lines)))


def _unix(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in raw else raw


def _written(lines: pl.Series) -> pl.Series:
    """Which lines are neither empty nor comments."""
    begun = lines.str.strip_chars_start()
    return (begun != "") & ~begun.str.slice(0, 1).is_in(list(_MARKS))


def _ends(lines: pl.Series) -> pl.DataFrame:
    """Both ends of every line.

    Each line is understood by itself: were one to say how others are read, it would change their edges, too.
    What no line holds is not looked for in each of them; that saves time and changes nothing.
    """

    def hold(sign: str) -> bool:
        return bool(lines.str.contains(sign, literal=True).any())

    lines = lines.str.strip_chars()
    if hold("{"):
        lines = lines.str.replace(_FACTS, "$1")
    line = pl.col("line")
    bare = line.str.replace_all(_QUOTED, "$1") if hold('"') else line
    cells = line.str.extract_groups(_cells(r"\s", r"\s+"))
    for sign in reversed(_SEPARATORS):
        if hold(sign):
            cut = re.escape(sign)
            here = line.str.extract_groups(_cells(cut, rf"\s*{cut}\s*"))
            cells = pl.when(bare.str.contains(sign, literal=True)).then(here).otherwise(cells)
    found = pl.DataFrame({"line": lines}).select(cells.alias("cells")).unnest("cells")
    ends = {}
    for name, quoted, plain in (("0", "1", "2"), ("1", "3", "4")):
        within = pl.col(quoted).str.replace_all('""', '"', literal=True)
        ends[name] = pl.coalesce(within, pl.col(plain)).str.strip_chars()
    return found.select(**ends)


def _cells(sign: str, between: str) -> str:
    """How a line begins with two cells, each quoted or without the sign that separates them."""
    cell = rf'(?:"((?:[^"]|"")*)"|([^{sign}]*))'
    return rf"^{cell}{between}{cell}\s*(?:{sign}|$)"


def _bad_line(path: Path, raw: bytes) -> DataError:
    """The first line that is no edge, found by going through the file slowly."""
    texts = _unix(raw).decode("utf-8-sig").split("\n")
    lines = pl.Series([text.partition(_NEVER)[0] for text in texts])
    numbers = pl.Series(range(1, len(lines) + 1)).filter(_written(lines))
    number = numbers.filter(_lacking(_ends(lines.filter(_written(lines)))))[0]
    return DataError(f"{path}: line {number} is no edge: it needs two nodes. Fix or remove the line.")


def _lacking(ends: pl.DataFrame) -> pl.Series:
    """Where an end is missing."""
    return ends.select(pl.any_horizontal(pl.all().is_null() | (pl.all() == ""))).to_series()


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")
