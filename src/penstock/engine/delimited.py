"""Text files of records: what is in them, and what is wrong with them.

One parser (Arrow's) reads a CSV file for every engine, so all of them see the same values. Every
column stays text: the schema decides what a value means. Quoting follows RFC 4180; a byte order
mark and any line ending are accepted, an empty field is a missing value. A blank line is a record without a
value where there is one column, and is skipped where there are several.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from penstock.engine.header import FIRST, NONE, Header, refuse_record
from penstock.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset

GZIP = b"\x1f\x8b"
_SEPARATORS = ",;\t|"
_HEADER_LIMIT = 1 << 20
_BLOCK = 1 << 23


@dataclass(frozen=True)
class Delimited:
    """A delimited text file whose header has been read or given; the header's names are public."""

    path: Path
    names: tuple[str, ...]
    separator: str
    skipped: int
    """The lines before the first record."""
    headed: bool
    """Whether the last of them hold the names."""
    empty: bool
    """Whether there is no record. Only for reading: emptiness is not public."""

    @classmethod
    def open(cls, path: Path, header: Header = None) -> Delimited:
        """Read the header, or take it as it is given; DataError for a file that cannot be a table.

        None refuses a first row that looks like a record; see `penstock.engine.header`.
        """
        beginning = _beginning(path)
        if beginning[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError(f"{path}: the file is encoded as UTF-16. Save it as UTF-8.")
        # Only the header has to be readable here: a column that nobody reads may hold what it likes.
        text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(beginning)
        text = text.removeprefix("\ufeff")
        if not text.strip():
            raise DataError(f"{path}: the file is empty. Give a file with a header row of column names.")
        lines = io.StringIO(text, newline="")
        blank = 0
        while not (first := lines.readline()).strip():
            blank += 1
        separator = next((mark for mark in _SEPARATORS if mark in first), ",")
        reader = csv.reader(_then(first, lines), delimiter=separator)
        try:
            row = next(reader)
        except csv.Error as problem:
            raise DataError(f"{path}: the header cannot be read ({problem}). Fix the first row.") from None
        if header is not None and header != FIRST:
            names = _given(path, header, len(row))
            return cls(path, names, separator, skipped=blank, headed=False, empty=False)
        stray = re.search("[\udc80-\udcff]", "".join(row))
        if stray:
            byte = ord(stray.group()) - 0xDC00
            start = beginning.index(bytes([byte]))
            raise _undecodable(path, beginning[:start].count(b"\n") + 1, start, byte)
        if header is None:  # before anything is said about the names, which may be somebody's values
            refuse_record(str(path), [name for name in row if name.strip()], text=True)
        names, rest = _names(path, row), lines.read()
        empty = len(beginning) < _HEADER_LIMIT and not (rest if len(names) == 1 else rest.strip("\r\n"))
        return cls(path, names, separator, skipped=blank + reader.line_num, headed=True, empty=empty)

    def first(self, count: int) -> list[list[str]]:
        """Raw: the values of the first records, as far as they can be read; for a look before reading all."""
        text = _beginning(self.path).decode("utf-8", "replace").removeprefix("\ufeff")
        lines = io.StringIO(text, newline="")
        for _ in range(self.skipped):
            lines.readline()
        found: list[list[str]] = []
        with suppress(csv.Error):
            for row in csv.reader(lines, delimiter=self.separator):
                if len(row) == len(self.names):
                    found.append(row)
                if len(found) == count:
                    break
        return found

    @property
    def written(self) -> tuple[object, ...]:
        """What the parser must know: files in which it is the same are read alike."""
        return self.names, self.separator, self.skipped

    def format(self) -> pyarrow.dataset.CsvFileFormat:
        """How the file is written, for an Arrow dataset of text columns."""
        import pyarrow.dataset

        return pyarrow.dataset.CsvFileFormat(**self._options())

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns in the order asked for; DataError says what is wrong with the file and where."""
        import pyarrow as pa
        import pyarrow.csv

        if self.empty or not names:
            return pa.schema([(name, pa.string()) for name in names]).empty_table()
        try:
            # The parser of the dataset without the dataset, whose import costs a third of a second.
            return pyarrow.csv.read_csv(str(self.path), **self._options(names))
        except (pa.ArrowException, OSError) as problem:
            raise self.diagnosis(problem) from None

    def _options(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """How the parser is to read the file; no names: all columns."""
        import pyarrow as pa
        import pyarrow.csv

        return {
            "read_options": pyarrow.csv.ReadOptions(
                column_names=list(self.names), skip_rows=self.skipped, block_size=_BLOCK
            ),
            "parse_options": pyarrow.csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=True, ignore_empty_lines=len(self.names) > 1
            ),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in self.names},
                include_columns=list(names),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[""],
            ),
        }

    def diagnosis(self, problem: Exception) -> DataError:
        """The first thing wrong with the file, found by going through it slowly."""
        return self.fault() or self.unexplained(problem)

    def fault(self) -> DataError | None:
        """What is wrong with the file, as far as one can tell; None where nothing is found."""
        try:
            return self._undecodable() or self._ragged()
        except (OSError, EOFError) as failure:
            return DataError(f"{self.path}: the file cannot be read ({failure}). Check the file.")

    def _undecodable(self) -> DataError | None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        done, lines = 0, 0
        with binary(self.path) as stream:
            while block := stream.read(_BLOCK):
                pending = len(decoder.getstate()[0])
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as found:
                    start = found.start - pending
                    lines += block[: max(start, 0)].count(b"\n")
                    return _undecodable(self.path, lines + 1, done + start, found.object[found.start])
                done += len(block)
                lines += block.count(b"\n")
        if decoder.getstate()[0]:
            return _undecodable(self.path, lines + 1, done - 1, decoder.getstate()[0][0])
        return None

    def _ragged(self) -> DataError | None:
        wanted = len(self.names)
        with binary(self.path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as text:
            reader = csv.reader(text, delimiter=self.separator)
            number = -1 if self.headed else 0  # the header is row 0
            try:
                for row in reader:
                    if not row and (wanted > 1 or reader.line_num <= self.skipped):
                        continue
                    number += 1
                    if row and len(row) != wanted:
                        return DataError(
                            f"{self.path}: row {number} (line {reader.line_num}) has {len(row)} "
                            f"field{'s' * (len(row) > 1)}, the {'header' if self.headed else 'first row'} "
                            f"has {wanted}. "
                            f"Fix the row; a value that contains '{self.separator}' needs quotes."
                        )
            except csv.Error as found:
                return DataError(
                    f"{self.path}: row {number + 1} (line {reader.line_num}) cannot be read ({found}). "
                    "Fix the row; a quoted value may lack its closing quote."
                )
        return None

    def unexplained(self, problem: Exception) -> DataError:
        """What to say when nothing is found."""
        return DataError(
            f"{self.path}: the file cannot be read as CSV ({type(problem).__name__}). "
            "Check that quotes are closed and that no row is longer than 8 MiB."
        )


def _beginning(path: Path) -> bytes:
    try:
        with binary(path) as stream:
            return stream.read(_HEADER_LIMIT)
    except (OSError, EOFError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise DataError(f"{path}: the file cannot be read ({reason}). Check the file.") from None


def binary(path: Path) -> IO[bytes]:
    with path.open("rb") as stream:
        packed = stream.read(2) == GZIP
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


def _then(first: str, rest: io.StringIO) -> Iterator[str]:
    yield first
    yield from rest


def _given(path: Path, header: str | Sequence[str], width: int) -> tuple[str, ...]:
    """Names for a file that has none."""
    if header == NONE:
        return tuple(f"column_{number}" for number in range(1, width + 1))
    names = _names(path, header)
    if len(names) != width:
        raise DataError(
            f"{path}: the file has {width} columns, and {len(names)} names are given. Name every column."
        )
    return names


def _names(path: Path, header: Sequence[str]) -> tuple[str, ...]:
    # Spreadsheets and pandas leave the name of an index column out; the position names it.
    names = [name.strip() or f"column_{number}" for number, name in enumerate(header, start=1)]
    for number, name in enumerate(names):
        if "\0" in name:
            raise DataError(
                f"{path}: the name of column {number + 1} holds a zero byte, so this is no text file. "
                "Save it as CSV in UTF-8."
            )
        if name in names[:number]:
            raise DataError(
                f"{path}: columns {names.index(name) + 1} and {number + 1} have the same name. Rename one of "
                "them; if the file has no header, say --no-header."
            )
    return tuple(names)


def _undecodable(path: Path, line: int, position: int, byte: int) -> DataError:
    return DataError(
        f"{path}: the file is not UTF-8: line {line} holds the byte 0x{byte:02x} at position {position}. "
        "Save it as UTF-8 (for Latin-1: iconv -f latin1 -t utf-8)."
    )
