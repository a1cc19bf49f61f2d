"""Text files whose lines are the records, without columns and without a line of names."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from penstock.engine.connection import Duck
from penstock.engine.delimited import GZIP, binary
from penstock.engine.records import PACKED, Source
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

_BLOCK = 1 << 23


class LineSource(Source):
    """The lines of a file as a column of text, read a block at a time.

    A line ends with a line feed, perhaps with a carriage return before it, and with nothing else: other signs
    that Python takes for the end of a line could make many records of somebody's one.
    """

    textual = True

    def __init__(self, path: Path, name: str) -> None:
        self.label, self.names, self._path = str(path), (name,), path
        try:
            with path.open("rb") as stream:
                packed = stream.read(2) == GZIP
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such file. Check the path.") from None
        except OSError as problem:
            raise self._unreadable(problem) from None
        self._length = path.stat().st_size * (PACKED if packed else 1)

    @property
    def length(self) -> int:
        return self._length

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        import polars as pl

        nothing = pl.DataFrame(schema={self.names[0]: pl.String})
        return pl.concat([nothing, *self.blocks()])

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        return self.blocks()

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        import pyarrow as pa

        columns = pa.schema([(self.names[0], pa.large_string())])
        batches = (batch for block in self.blocks() for batch in block.to_arrow().cast(columns).to_batches())
        return (duck or Duck()).registered(pa.RecordBatchReader.from_batches(columns, batches))

    @property
    def empty(self) -> bool:
        return next(self.blocks(), None) is None

    def failure(self, problem: Exception) -> DataError:
        try:
            for _ in self.blocks():
                pass
        except DataError as found:
            return found
        return super().failure(problem)

    def blocks(self) -> Iterator[pl.DataFrame]:
        """Raw: the lines, some megabytes at a time."""
        import polars as pl

        lines = 0
        try:
            with binary(self._path) as stream:
                for number, raw in enumerate(_whole_lines(stream)):
                    text = raw.decode("utf-8" if number else "utf-8-sig").replace("\r\n", "\n")
                    if text:
                        listed = pl.Series(self.names[0], [text.removesuffix("\n")]).str.split("\n")
                        yield listed.explode().to_frame()
                    lines += raw.count(b"\n")
        except UnicodeDecodeError as problem:
            at = lines + raw[: problem.start].count(b"\n") + 1
            raise DataError(
                f"{self._path}: the file is not UTF-8: look at line {at}. Save it as UTF-8."
            ) from None
        except (OSError, EOFError, zlib.error) as problem:
            raise self._unreadable(problem) from None

    def _unreadable(self, problem: Exception) -> DataError:
        return DataError(f"{self._path}: the file cannot be read ({problem}). Check the file.")


def _whole_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file in blocks that end where a line does."""
    rest = b""
    while block := stream.read(_BLOCK):
        done, feed, rest = (rest + block).rpartition(b"\n")
        if feed:
            yield done + feed
    if rest:
        yield rest
