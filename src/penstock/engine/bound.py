"""Bounding users: keep a random sample of at most m records of each user.

The guarantee for a user needs a bound on what one user can change. The sample of a user depends
on that user's records and on fresh random bits only, so adding or removing one user changes the
kept records by that user's own, at most m of them.

Who a record belongs to is read like every other text: blanks around a name do not make another
person, and a sign for a missing value names nobody. Such a record is refused, for it would belong
to no one or, worse, to one crowd of strangers.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError
from penstock.schema.values import BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl


def fresh_key() -> bytes:
    """A new random key from the operating system."""
    return secrets.token_bytes(32)


def sample_per_user(users: NDArray[np.integer], at_most: int, order_key: bytes) -> NDArray[np.intp]:
    """Positions of the kept records, ascending: at most `at_most` of each user, chosen uniformly.

    `users` are any integers that identify the user of each record. Every record draws a random word
    from `order_key`, and each user keeps the records with the `at_most` smallest of their own words.

    >>> len(sample_per_user(np.array([7, 7, 7, 8]), 2, b"key"))
    3
    """
    words = np.frombuffer(hashlib.shake_256(order_key).digest(8 * len(users)), dtype="<u8")
    grouped = np.lexsort((words, users))
    if len(grouped) == 0:
        return grouped
    sorted_users = users[grouped]
    starts = np.flatnonzero(np.r_[True, sorted_users[1:] != sorted_users[:-1]])
    place = np.arange(len(grouped)) - np.repeat(starts, np.diff(np.r_[starts, len(grouped)]))
    return np.sort(grouped[place < at_most])


def numbered_users(name: str, users: pl.Series, markers: Sequence[str] = ()) -> NDArray[np.uint32]:
    """An arbitrary number for each user; DataError when a record has none.

    `markers` are the texts that stand for a missing value; the empty text always does.
    """
    import polars as pl

    if isinstance(users.dtype, pl.Categorical | pl.Enum):
        users = users.cast(pl.String)
    missing = users.is_null()
    if users.dtype == pl.String:
        users = users.str.strip_chars(BLANKS)
        missing = missing | users.is_in(_signs(markers)).fill_null(False)
    elif users.dtype.is_float():
        missing = missing | users.is_nan().fill_null(False)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise _nobodys(name, f"the record in row {row + 1} names no user")
    return users.rank("dense").to_numpy().astype(np.uint32)


def keep_some_per_user(table: ir.Table, user: str, at_most: int, order_key: bytes) -> ir.Table:
    """The same inside a database: rank each user's records by a keyed hash, or at random.

    A hash covers the key, the user, all values of the record, and a running number among the
    user's records with the same values. So it depends on that user's records only, and which of
    several equal records is kept makes no difference. Where a database cannot hash, its random
    numbers rank the records; the result must then be stored before it is used.
    """
    import ibis
    import ibis.expr.operations as ops

    if table.get_backend().has_operation(ops.Hash):
        same = ibis.row_number().over(group_by=list(table.columns))
        table = table.mutate(penstock_same=same)
        text: Any = ibis.literal(hashlib.sha256(order_key).hexdigest())
        for name in table.columns:
            text = text + ibis.literal("|") + table[name].cast("string").fill_null("")
        drawn = table.mutate(penstock_drawn=text.hash())
        order = [drawn[name] for name in drawn.columns if name != user]
        order = [order[-1], *order[:-1]]
    else:
        drawn = table.mutate(penstock_same=ibis.literal(0), penstock_drawn=ibis.random())
        order = [drawn["penstock_drawn"]]
    place = ibis.row_number().over(group_by=drawn[user], order_by=order)
    placed = drawn.mutate(penstock_place=place)
    kept = placed.filter(placed["penstock_place"] < at_most)
    return kept.drop(user, "penstock_same", "penstock_drawn", "penstock_place")


def user_in_database(column: ir.Value) -> ir.Value:
    """Whose record it is: text without the blanks around it."""
    return column.strip() if column.type().is_string() else column


def refuse_nobody(table: ir.Table, user: str, name: str, markers: Sequence[str] = ()) -> None:
    """DataError when a record in a database has no user; see `numbered_users`."""
    import ibis.expr.operations as ops

    column = table[user]
    missing: Any = column.isnull()
    if column.type().is_string():
        missing = missing | column.isin(_signs(markers))
    elif column.type().is_floating() and table.get_backend().has_operation(ops.IsNan):
        missing = missing | column.isnan()
    count = int(table.filter(missing).count().to_pyarrow().as_py())
    if count:
        raise _nobodys(name, f"{count} records name no user")


def _signs(markers: Sequence[str]) -> list[str]:
    return sorted({"", *(marker.strip(BLANKS) for marker in markers)})


def _nobodys(name: str, what: str) -> DataError:
    return DataError(
        f"{name}: {what}, but the schema protects users by this column. "
        "Fill the column in, or remove these records."
    )
