"""Files of records: text, Parquet or Arrow, one of them or many in a folder, as one source.

Files of one source hold the same columns: a column that is asked for and is not in every file, with the same
type, is refused, whichever engine counts. A folder named key=value adds the column key, as text. Text is
read by one parser for every engine (`penstock.engine.delimited`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from penstock.engine.connection import Duck, batches, first_line, on_spark
from penstock.engine.delimited import Delimited
from penstock.engine.header import Header
from penstock.engine.records import PACKED, Source, in_polars, refuse_equal_but_for_case, scanned
from penstock.engine.remote import DatabaseSource
from penstock.errors import DataError
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl

_NOTHING = "__HIVE_DEFAULT_PARTITION__"  # how Hive and Spark write a folder for records without a value
_PATTERN = "*?[]{}\\"
TEXT, PARQUET, ARROW = "text", "Parquet", "Arrow"
ENDINGS = {
    TEXT: (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".txt", ".txt.gz"),
    PARQUET: (".parquet", ".pq"),
    ARROW: (".arrow", ".feather", ".ipc"),
}


@dataclass(frozen=True)
class Part:
    """One of the files of a source, with the columns that its folders add."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()

    @classmethod
    def below(cls, root: Path, path: Path) -> Part:
        """The file with the columns of the folders between `root` and it.

        >>> Part.below(Path("people"), Path("people/year=2024/place=New%20York/1.parquet")).keys
        (('year', '2024'), ('place', 'New York'))
        """
        pairs = (part.partition("=") for part in path.relative_to(root).parts[:-1])
        return cls(
            path,
            tuple(
                (unquote(key), None if text == _NOTHING else unquote(text))
                for key, equals, text in pairs
                if equals
            ),
        )

    @property
    def wild(self) -> bool:
        """Whether a reader that knows patterns would take its name for one, and read other files: a record
        that is read twice is protected half as well."""
        return any(sign in str(self.path) for sign in _PATTERN)

    @property
    def misread(self) -> bool:
        """Whether DuckDB sees other columns in its folders: it decodes no name, takes only one equals sign,
        and also looks at the folders above those of the source."""
        named = [part.partition("=") for part in self.path.parts if "=" in part]
        return bool(self.keys) and (
            len(named) != len(self.keys) or any("%" in name or "=" in text for name, _, text in named)
        )


class FileSource(Source):
    """Some files with the same columns."""

    def __init__(self, label: str, parts: Sequence[Part], held: Sequence[str]) -> None:
        keys = tuple(name for name, _ in parts[0].keys)
        for name in keys:
            if name in held or keys.count(name) > 1:
                raise DataError(
                    f"{label}: the folders give a column '{name}' that is there already. Rename the folders."
                )
        self.label, self.names, self._parts, self._held = label, (*held, *keys), parts, tuple(held)

    @property
    def length(self) -> int:
        return sum(part.path.stat().st_size * _growth(part.path) for part in self._parts)

    def table(self, names: Sequence[str] | None = None, *, duck: Duck | None = None) -> ir.Table:
        refuse_equal_but_for_case(self)
        asked = self._asked(names)
        try:
            table = self._counted_in(duck or Duck(), asked)
        except DataError:
            raise
        except Exception as problem:
            raise self.failure(problem) from None
        return table.select(*asked)

    def _asked(self, names: Sequence[str] | None) -> list[str]:
        for name in names or ():
            if name not in self.names:
                raise DataError(
                    f"{self.label}: there is no column '{name}'{nearest(name, self.names)}. Check the "
                    "schema, or give other records."
                )
        return list(self.names if names is None else names)

    @abstractmethod
    def _counted_in(self, duck: Duck, names: Sequence[str]) -> ir.Table:
        """All columns, or at least those named, as a table that is read when it is asked something."""

    def _dataset(self, kind: Any, parts: Sequence[Part], columns: Any) -> Any:
        """The files as one Arrow dataset, with the columns of their folders."""
        import pyarrow as pa
        import pyarrow.dataset
        import pyarrow.fs

        here = pyarrow.fs.LocalFileSystem()
        keys = [(name, pa.string()) for name, _ in self._parts[0].keys]
        whole = pa.schema([*columns, *(pa.field(name, kind_of) for name, kind_of in keys)])
        fragments = []
        for part in parts:
            guarantee = None
            for name, text in part.keys:
                field = pyarrow.dataset.field(name)
                known = field.is_null() if text is None else field == text
                guarantee = known if guarantee is None else guarantee & known
            fragments.append(kind.make_fragment(str(part.path), here, guarantee))
        return pyarrow.dataset.FileSystemDataset(fragments, whole, kind, here)


class TextSource(FileSource):
    """Delimited text, every column as text."""

    textual = True
    piecewise = True

    def __init__(self, label: str, parts: Sequence[Part], header: Header = None) -> None:
        self._files = [Delimited.open(part.path, header) for part in parts]
        first = self._files[0]
        for file in self._files[1:]:
            if sorted(file.names) != sorted(first.names):  # names are not quoted: they may be values
                raise DataError(
                    f"{file.path}: its columns are not those of {first.path}. Files of one source have the "
                    "same columns; correct this one, or leave it out."
                )
        super().__init__(label, parts, first.names)

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        import pyarrow as pa

        asked = self._asked(names)
        held = [name for name in asked if name in self._held]
        tables = []
        for file, part in zip(self._files, self._parts, strict=True):
            table = file.read(held)
            if part.keys and not held:  # without a column a table does not know how many rows it has
                table = file.read([file.names[0]])
            for name, text in part.keys:
                if name in asked:
                    table = table.append_column(name, pa.repeat(pa.scalar(text, pa.string()), len(table)))
            tables.append(table.select(asked))
        return in_polars(pa.concat_tables(tables))

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        for dataset in self._datasets():
            yield from (in_polars(batch) for batch in scanned(dataset, names))

    def _counted_in(self, duck: Duck, names: Sequence[str]) -> ir.Table:
        import pyarrow.dataset

        found = self._datasets()
        return duck.registered(found[0] if len(found) == 1 else pyarrow.dataset.dataset(found))

    def _datasets(self) -> list[Any]:
        """Files that are written alike are one dataset."""
        import pyarrow as pa

        alike: dict[Any, list[tuple[Delimited, Part]]] = {}
        for file, part in zip(self._files, self._parts, strict=True):
            alike.setdefault(file.written, []).append((file, part))
        columns = [pa.field(name, pa.string()) for name in self._held]
        return [
            self._dataset(group[0][0].format(), [part for file, part in group if not file.empty], columns)
            for group in alike.values()
        ]

    def first(self, count: int) -> pl.DataFrame:
        import polars as pl

        file = self._files[0]
        frame = pl.DataFrame(file.first(count), dict.fromkeys(file.names, pl.String), orient="row")
        added = [pl.lit(text, pl.String).alias(name) for name, text in self._parts[0].keys]
        frame = frame.with_columns(added)
        # not "select", which would take a name such as * for a pattern of names
        return pl.DataFrame([frame.get_column(name) for name in self.names])

    def failure(self, problem: Exception) -> DataError:
        for file in self._files:
            found = file.fault()
            if found is not None:
                return found
        return self._files[0].unexplained(problem)

    @property
    def empty(self) -> bool:
        return all(file.empty for file in self._files)


class ColumnarSource(FileSource):
    """Files that declare their columns and the types of them."""

    kind = ""

    def __init__(self, label: str, parts: Sequence[Part]) -> None:
        self.label = label
        self._columns = self._declared(parts[0].path)
        super().__init__(label, parts, tuple(self._columns))

    @abstractmethod
    def _scan(self, path: Path) -> pl.LazyFrame:
        """One file, read lazily."""

    def frame(self, names: Sequence[str] | None = None) -> pl.DataFrame:
        return self._collected(lambda records: records, self.names if names is None else names)

    def pieces(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        yield from (in_polars(batch) for batch in batches(self.table(names, duck=Duck(ordered=True))))

    def first(self, count: int) -> pl.DataFrame:
        return self._collected(lambda records: records.head(count), self.names)

    @property
    def empty(self) -> bool:
        return self.first(1).is_empty()

    def _collected(
        self, reduced: Callable[[pl.LazyFrame], pl.LazyFrame], names: Sequence[str]
    ) -> pl.DataFrame:
        import polars as pl

        asked = self._asked(names)
        self._refuse_drift(asked)
        # all columns of one file need no selection, which would take a name such as * for a pattern
        alone = len(self._parts) == 1 and asked == list(self._held)
        try:
            if alone:
                return reduced(self._scan(self._parts[0].path)).collect()
            return reduced(
                pl.concat(
                    self._scan(part.path)
                    .with_columns(pl.lit(text, pl.String).alias(name) for name, text in part.keys)
                    .select(asked)
                    for part in self._parts
                )
            ).collect()
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    def _declared(self, path: Path) -> dict[str, pl.DataType]:
        """The columns of one file, by its own header."""
        import polars as pl

        try:
            return dict(self._scan(path).collect_schema())
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise self.failure(problem) from None

    def _refuse_drift(self, names: Sequence[str]) -> None:
        """Columns that are asked for are in every file, and of one type."""
        for part in self._parts[1:]:
            columns = self._declared(part.path)
            for name in names:
                if name not in self._columns:
                    continue
                if name not in columns:
                    raise DataError(
                        f"{part.path}: the column '{name}' of {self._parts[0].path.name} is missing. Files "
                        "of one source have the same columns; correct this one, or leave it out."
                    )
                if columns[name] != self._columns[name]:
                    raise DataError(
                        f"{part.path}: the column '{name}' is {columns[name]} here and {self._columns[name]} "
                        f"in {self._parts[0].path.name}. Write both with one type."
                    )

    def failure(self, problem: Exception) -> DataError:
        reason = first_line(problem)
        if "duplicate" in reason or "more than one occurrence" in reason:
            return DataError(f"{self.label}: a column name occurs twice. Rename one of them.")
        return DataError(f"{self.label}: the {self.kind} file cannot be read ({reason}). Write it anew.")


class ParquetSource(ColumnarSource):
    """Parquet files."""

    kind = PARQUET

    def _scan(self, path: Path) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_parquet(path, glob=False, hive_partitioning=False)

    def on_spark(self) -> Source:
        for part in self._parts:
            if part.wild:
                raise DataError(
                    f"{part.path}: Spark takes the signs * ? [ {{ in a name for a pattern of other files. "
                    "Rename the file or its folder, or count in DuckDB."
                )
        files = [str(part.path.absolute()) for part in self._parts]
        keys = self._parts[0].keys
        root = files[0].partition(f"/{quote(keys[0][0])}=")[0] if keys else None
        return DatabaseSource(on_spark(files, self.label, root), self.label)

    def _counted_in(self, duck: Duck, names: Sequence[str]) -> ir.Table:
        self._refuse_drift(names)
        if any(part.wild or part.misread for part in self._parts):
            import pyarrow.dataset
            import pyarrow.parquet

            columns = pyarrow.parquet.read_schema(self._parts[0].path)
            return duck.registered(self._dataset(pyarrow.dataset.ParquetFileFormat(), self._parts, columns))
        return duck.parquet([str(part.path) for part in self._parts], hive=bool(self._parts[0].keys))


class ArrowSource(ColumnarSource):
    """Arrow files, also called Feather."""

    kind = ARROW

    def _scan(self, path: Path) -> pl.LazyFrame:
        import polars as pl

        return pl.scan_ipc(path, glob=False, hive_partitioning=False)

    def _counted_in(self, duck: Duck, names: Sequence[str]) -> ir.Table:
        import pyarrow.dataset

        self._refuse_drift(names)
        first = pyarrow.dataset.dataset(str(self._parts[0].path), format="ipc")
        return duck.registered(self._dataset(pyarrow.dataset.IpcFileFormat(), self._parts, first.schema))


def promised(path: Path) -> str:
    """What kind of file a name promises; empty where it promises none."""
    name = path.name.lower()
    return next((kind for kind, endings in ENDINGS.items() if name.endswith(endings)), "")


def _growth(path: Path) -> int:
    """How much longer the records are as text than the file is."""
    return 1 if promised(path) == TEXT and path.suffix.lower() != ".gz" else PACKED
