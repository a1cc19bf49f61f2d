"""Columns of a database that take different texts for the same, which no coding of texts survives.

By the collation of a column 'Oslo' and 'OSLO' may be equal. A record would then have the codes of several
categories, and be counted for each of them where these are looked up in a list: more than once, which its
sensitivity says cannot be. So such columns are refused before anything is spent. What is looked at are the
definitions of tables, which are no records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from penstock.errors import DataError

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from penstock.engine.database import Database


def declared(definitions: Iterable[str], names: Sequence[str]) -> list[str]:
    """Of these columns those that a statement which makes a table gives a collation other than by bytes.

    >>> declared(['CREATE TABLE t (town TEXT COLLATE NOCASE, "the job" TEXT)'], ["town", "the job"])
    ['town']
    """
    every = " ".join(definitions)
    return [
        name
        for name in names
        if re.search(rf"(?i)(?<!\w){re.escape(name)}[\"`\]]?\s[^,]*?\bCOLLATE\s+(?!\"?BINARY\b)", every)
    ]


def refuse_folding(database: Database, table: ir.Table) -> None:
    """A sentence on columns of texts that are not told apart by every sign."""
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    found = database.folding(texts) if texts else []
    if found:
        raise DataError(
            f"The database takes different texts of the column '{found[0]}' for the same (its collation), so "
            "that a record would be counted for several categories. Hand over a copy of the table with texts "
            "that are compared by their bytes, or a Parquet file of it. Nothing was spent."
        )
