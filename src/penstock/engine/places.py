"""What lies behind a path: one file, a folder or pattern of files, or a table of a data lake."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.engine.delimited import GZIP
from penstock.engine.files import (
    ARROW,
    ENDINGS,
    PARQUET,
    TEXT,
    ArrowSource,
    ParquetSource,
    Part,
    TextSource,
    promised,
)
from penstock.engine.header import Header
from penstock.engine.lakes import lake
from penstock.engine.records import ACCEPTED, Source
from penstock.errors import DataError

_WILD = "*?["
_MAGIC = {b"PAR1": PARQUET, b"ARRO": ARROW}
_STRAY = (".txt", ".txt.gz")  # more often a note to the reader than records, where nobody named the file


def from_path(path: Path, header: Header) -> Source:
    """The source behind a path: a file, a folder, a pattern, or the folder of a Delta or Iceberg table."""
    try:
        path.exists()
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path!s:.100}: this is not the name of a file ({reason}). Check it.") from None
    if any(mark in str(path) for mark in _WILD) and not path.exists():
        root = _fixed(path)
        found = root.glob(str(path.relative_to(root)))
        return _together(path, root, [each for each in found if each.is_file() and promised(each)], header)
    if path.is_dir():
        return lake(path) or _together(path, path, list(_files_below(path)), header)
    if not path.exists():
        raise DataError(f"{path}: there is no such file. Check the path.")
    return _opened(str(path), [Part(path)], _checked(path), header)


def _fixed(pattern: Path) -> Path:
    """The folders of a pattern above its first wildcard."""
    plain = []
    for part in pattern.parts[:-1]:
        if any(mark in part for mark in _WILD):
            break
        plain.append(part)
    return Path(*plain)


def _files_below(folder: Path) -> Iterator[Path]:
    """Files that look like records; what begins with a dot or an underscore is a tool's own."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in names:
            path = Path(place) / name
            if promised(path) and not name.startswith((".", "_")) and not name.lower().endswith(_STRAY):
                yield path


def _together(path: Path, root: Path, files: list[Path], header: Header) -> Source:
    if not files:
        known = ", ".join(ending for endings in ENDINGS.values() for ending in endings[:1])
        raise DataError(
            f"{path}: no file of records is there. Give a folder or pattern with files that end in {known}."
        )
    files.sort()
    kinds: dict[str, Path] = {}
    for file in files:
        kinds.setdefault(promised(file), file)
    if len(kinds) > 1:
        one, two = list(kinds)[:2]
        raise DataError(
            f"{path}: {kinds[one].name} is {one} and {kinds[two].name} is {two}. Give a pattern that names "
            f"files of one type, such as '{path if path.is_dir() else root}/*{files[0].suffix}'."
        )
    for file in files:
        _checked(file)
    parts = [Part.below(root, file) for file in files]
    keys = [name for name, _ in parts[0].keys]
    for part in parts:
        if [name for name, _ in part.keys] != keys:
            raise DataError(
                f"{part.path}: its folders name other columns than those of {parts[0].path}. Files of one "
                "source lie in folders that are named alike, such as year=2024."
            )
    return _opened(str(path), parts, next(iter(kinds)), header)


def _opened(label: str, parts: Sequence[Part], kind: str, header: Header) -> Source:
    if kind == TEXT:
        return TextSource(label, parts, header)
    return ParquetSource(label, parts) if kind == PARQUET else ArrowSource(label, parts)


def _checked(path: Path) -> str:
    """What kind of file it is, by its first bytes and its name; DataError where they disagree."""
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
    if magic in _MAGIC:
        return _MAGIC[magic]
    kind, name = promised(path), path.name.lower()
    if kind == ARROW:
        raise DataError(f"{path}: this is not an Arrow file, or is an Arrow stream. Write it as a file.")
    if kind == PARQUET:
        raise DataError(f"{path}: this is not a Parquet file. Check the file, or write it anew.")
    if kind == TEXT:
        packed = magic[:2] == GZIP
        if packed != name.endswith(".gz"):
            says, remedy = ("packed with gzip", "end in .gz") if packed else ("not packed", "not end in .gz")
            raise DataError(f"{path}: the file is {says}. Rename it: its name should {remedy}.")
        return TEXT
    raise DataError(f"{path}: unknown type of file. Give {ACCEPTED}.")
