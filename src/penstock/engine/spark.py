"""Spark: results kept in its cache, lists handed over as Arrow, counts collected as Arrow.

A session is one that somebody handed over, within an Ibis connection, or one that is begun here: of this
machine, or of the cluster that Spark's own settings name.
"""

from __future__ import annotations

import atexit
import os
import re
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.database import Numbers, SeveralTables, fresh_name, whole
from penstock.engine.limits import Limits, current
from penstock.engine.spilling import SpillFolder
from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir


class Spark(SeveralTables):
    """A Spark session."""

    lists = True

    def __init__(self, backend: Any) -> None:
        super().__init__(backend)
        self._session = backend._session
        self._listed: list[str] = []
        weakref.finalize(self, _forgotten, self._session, self._listed).atexit = False

    def kept(self, expression: ir.Table, *, joined: bool = True) -> ir.Table:
        """In Spark's cache, on the machines where it was computed; there are no temporary tables.

        The first question fills it.
        """
        return self._viewed(self._session.sql(self.backend.compile(expression)).cache())

    def dropped(self, name: str) -> None:
        # By its name: Spark Connect would look for the tables that it was made of, and they may be gone.
        self._session.catalog.uncacheTable(name)
        self._session.catalog.dropTempView(name)

    def listed(self, columns: Mapping[str, Any]) -> ir.Table:
        """A view of its own: what Ibis holds in memory is registered only when Ibis itself asks for it."""
        import pyarrow as pa

        found = self._viewed(self._session.createDataFrame(pa.table(dict(columns))))
        self._listed.append(found.get_name())
        return found

    def numbers(self, expression: ir.Table) -> dict[str, Numbers]:
        return self.answered(self.backend.compile(expression), list(expression.columns))

    def answered(self, query: str, names: Sequence[str]) -> dict[str, Numbers]:
        result = self._session.sql(query).toArrow()
        return {name: whole(result[name]) for name in names}

    def numbered(self, table: ir.Table, name: str) -> ir.Table:
        """By the number of each piece of the records and the place there: a running number would need all of
        them on one machine."""
        import ibis

        @ibis.udf.scalar.builtin(signature=((), "int64"))  # type: ignore[untyped-decorator]  # untyped library
        def monotonically_increasing_id() -> Any:
            """A function of Spark, as the next one is."""

        return table.mutate(**{name: monotonically_increasing_id()})

    def counted_up(self, last: Any) -> Any:
        import ibis

        @ibis.udf.scalar.builtin(signature=(("int64", "int64"), "array<int64>"))  # type: ignore[untyped-decorator]
        def sequence(first: Any, last: Any) -> Any:
            """The numbers."""

        return sequence(ibis.literal(1, type="int64"), last.cast("int64"))

    def split(self, text: Any, separator: str) -> Any:
        """Spark takes the separator for a pattern."""
        return text.split(re.escape(separator))

    def joined(self, texts: Any, order: Any, where: Any) -> Any:
        """Sorted when all of a group are together: Ibis knows no ordered aggregation of Spark."""
        import ibis

        pairs: Any = ibis.struct({"at": order, "text": texts}).collect(where=where)
        return pairs.sort().map(lambda pair: pair["text"]).join("")

    def folding(self, names: Sequence[str]) -> list[str]:
        return []  # it compares texts by their bytes

    def looked_up(self, column: Any, lookup: NDArray[np.intp]) -> Any:
        """An element of an array: comparisons would make more code than Java compiles."""
        import ibis

        array: Any = ibis.literal(lookup.tolist(), type="array<int32>")
        return array[column.cast("int32")].cast("int64")

    def _viewed(self, frame: Any) -> ir.Table:
        name = fresh_name()
        frame.createOrReplaceTempView(name)
        found: ir.Table = self.backend.table(name)
        return found


def _forgotten(session: Any, names: Sequence[str]) -> None:
    """Remove the lists that were handed over."""
    with suppress(Exception):  # the session may have ended
        for name in names:
            session.catalog.dropTempView(name)


def connected(remote: str | None = None) -> Any:
    """An Ibis connection to Spark: to a Spark Connect server, or to whatever Spark's own settings name, or
    else to this machine's cores.

    DataError says what is missing.
    """
    try:
        import ibis
        from pyspark.sql import SparkSession
    except ImportError:
        raise DataError(
            "Spark is not installed. Install it with pip install 'penstock[spark]'; it needs Java 17."
        ) from None
    builder = SparkSession.builder.appName("penstock")
    if remote is not None:
        builder = builder.remote(remote)
    elif SparkSession.getActiveSession() is None and not _elsewhere():
        _refuse_without_java()
        for name, value in _locally(current()).items():
            builder = builder.config(name, value)
    return ibis.pyspark.connect(builder.getOrCreate())


def _locally(limits: Limits) -> dict[str, str]:
    """The settings of a Spark on this machine, within the limits.

    Whatever records it sends from one step to the next it writes to disk in clear, and readable by everybody:
    so into a folder that is its owner's alone, and goes with this process.
    """
    if limits.spill is False:
        raise DataError(
            "Spark writes records to disk between its steps, and they must not be. Allow it with '--spill "
            "FOLDER', on an encrypted disk perhaps, or use another engine."
        )
    folder = SpillFolder(limits.spill)
    atexit.register(folder.remove)
    found = {**_LOCALLY, "spark.local.dir": str(folder.path)}
    found["spark.master"] = f"local[{limits.threads or '*'}]"
    if limits.memory is not None:
        found["spark.driver.memory"] = f"{limits.memory // 2 >> 20}m"  # the rest is Python's, and Java's own
    return found


_LOCALLY = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Of one machine: more pieces than cores are only more work.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Java interprets longer methods instead of compiling them; Spark then cuts them into shorter ones.
    "spark.sql.codegen.hugeMethodLimit": "8000",
}


def _elsewhere() -> bool:
    """Whether Spark's own settings say where it runs."""
    return any(name in os.environ for name in ("SPARK_REMOTE", "SPARK_MASTER", "SPARK_CONF_DIR", "MASTER"))


def _refuse_without_java() -> None:
    from shutil import which

    home = os.environ.get("JAVA_HOME")
    if which("java") is None and not (home and os.path.exists(os.path.join(home, "bin", "java"))):
        raise DataError(
            "Spark needs Java 17, and no Java is found. Install one (on Debian openjdk-17-jre-headless), or "
            "set JAVA_HOME."
        )
