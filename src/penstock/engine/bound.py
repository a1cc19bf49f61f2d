"""Bounding users: keep a random sample of at most m records of each user.

The guarantee for a user needs a bound on what one user can change. The sample of a user depends
on that user's name and records and on a random key only, so adding or removing one user changes the
kept records by that user's own, at most m of them, even for somebody who knows the key.

Who a record belongs to is read like every other text: blanks around a name do not make another
person, and a sign for a missing value names nobody. Such a record is refused, for it would belong
to no one or, worse, to one crowd of strangers.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine.stored import database_of
from penstock.errors import DataError
from penstock.schema.values import BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import polars as pl


def fresh_key() -> bytes:
    """A new random key from the operating system."""
    return secrets.token_bytes(32)


def sample_per_user(
    users: NDArray[np.integer],
    at_most: int,
    order_key: bytes,
    *,
    names: Sequence[str] | pl.Series | None = None,
    order: Sequence[NDArray[Any]] = (),
) -> NDArray[np.intp]:
    """Positions of the kept records, ascending: at most `at_most` of each user, chosen uniformly.

    `users` are integers that identify the user of each record, and `names` what each of them is called
    (None: the number itself). The records of a user are counted in the order of their values in `order`, or
    else as they stand. A record's random word is a hash of `order_key`, its user's name and that count, and
    each user keeps the records with the `at_most` smallest of their own words. So one more user changes
    nobody else's sample, and a database keeps the same records.

    >>> len(sample_per_user(np.array([7, 7, 7, 8]), 2, b"key"))
    3
    """
    grouped = np.lexsort([*reversed(order), users])
    if len(grouped) == 0:
        return grouped
    ranked = users[grouped]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    ends = np.r_[starts[1:], len(grouped)]
    kept = np.ones(len(grouped), dtype=np.bool_)
    for place in np.flatnonzero(ends - starts > at_most).tolist():
        start, end = int(starts[place]), int(ends[place])
        number = int(ranked[start])
        words = _words(order_key, str(number) if names is None else names[number], end - start)
        kept[start:end] = False
        kept[start + np.array(sorted(range(end - start), key=words.__getitem__)[:at_most])] = True
    return np.sort(grouped[kept])


def _words(order_key: bytes, name: str, count: int) -> list[bytes]:
    """The random words of so many records of a user, as `keep_some_per_user` draws them."""
    begun = hashlib.sha256(f"{_hexadecimal(order_key)}|{name}|".encode())
    words = []
    for index in range(count):
        word = begun.copy()
        word.update(b"%d" % index)
        words.append(word.digest())
    return words


def _hexadecimal(order_key: bytes) -> str:
    """A key of any length as text that can stand in a query."""
    return hashlib.sha256(order_key).hexdigest()


@dataclass(frozen=True, eq=False)
class Users:
    """Whose each record is: a number from 0, and what each number is called."""

    numbers: NDArray[np.uint32]
    _written: pl.Series

    @cached_property
    def names(self) -> list[str]:
        """What each number is called; the name does not depend on who else there is."""
        import polars as pl

        return self._written.unique().sort().cast(pl.String).to_list()


def numbered_users(name: str, users: pl.Series, markers: Sequence[str] = ()) -> Users:
    """An arbitrary number for each user, and their names; DataError when a record has none.

    `markers` are the texts that stand for a missing value; the empty text always does.
    """
    written = identified(name, users, markers)
    return Users(written.rank("dense").to_numpy().astype(np.uint32) - np.uint32(1), written)


def identified(
    name: str, users: pl.Series, markers: Sequence[str] = (), *, counted: bool = True, before: int = 0
) -> pl.Series:
    """Whose each record is, text without the blanks around it; DataError when a record is nobody's.

    The message has the row of the record where rows are `counted` as they stand in the data, `before` others.
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
        users = users.set((users == 0).fill_null(False), 0.0)  # there are two zeros, which are equal
    if missing.any():
        row = int(missing.arg_max() or 0)
        what = f"the record in row {before + row + 1} names" if counted else "some record names"
        raise _nobodys(name, f"{what} no user")
    return users


def keep_some_per_user(table: ir.Table, user: str, at_most: int, order_key: bytes) -> ir.Table:
    """The same inside a database, which keeps the records that memory keeps.

    The records of a user are counted in the order of their values, so that which of several equal records is
    counted first makes no difference, and the hash covers the key, the user's name and the count.
    """
    import ibis

    values = [table[name] for name in table.columns if name != user]
    counted = table.mutate(penstock_count=ibis.row_number().over(group_by=table[user], order_by=values))
    return keep_some(counted, [user], called(counted[user]), at_most, order_key).drop("penstock_count")


def keep_some(table: ir.Table, groups: Sequence[str], name: Any, at_most: int, order_key: bytes) -> ir.Table:
    """At most so many records of each group, by the hashes of the key, what the group is called and the
    number of the record within it, which is in the column 'penstock_count'."""
    import ibis

    count = table["penstock_count"]
    text: Any = ibis.literal(f"{_hexadecimal(order_key)}|") + name + ibis.literal("|") + count.cast("string")
    drawn = table.mutate(penstock_drawn=database_of(table).digest(text))
    place = ibis.row_number().over(
        group_by=[drawn[group] for group in groups],
        order_by=[drawn["penstock_drawn"], drawn["penstock_count"]],
    )
    placed = drawn.mutate(penstock_place=place)
    kept = placed.filter(placed["penstock_place"] < at_most)
    return kept.drop("penstock_drawn", "penstock_place")


def called(user: ir.Value) -> ir.Value:
    """What a user is called, as memory writes it: a whole number among real ones with one decimal."""
    import ibis

    if not user.type().is_floating():
        return user.cast("string")
    return user.cast("int64").cast("string") + ibis.literal(".0")


def refuse_uncalled(table: ir.Table, user: str, name: str) -> None:
    """DataError where databases write the names of users in different ways, so that a seed would not give the
    same sample everywhere: for times, and for numbers that are not whole."""
    kind = table[user].type()
    whole = kind.is_integer() or kind.is_boolean()
    alike = whole or kind.is_string() or kind.is_uuid() or kind.is_date() or kind.is_floating()
    what = None if alike or kind.is_decimal() else "times, or by values of another odd type"
    if kind.is_decimal() and kind.scale is None:
        what = "decimal numbers whose decimals nobody declared"
    if kind.is_floating():
        import ibis

        column: Any = table[user]
        near: Any = ibis.ifelse(column.abs() < ibis.literal(1e15), column, ibis.literal(0.5))
        asked = table.filter(near != near.floor()).aggregate(records=lambda rows: rows.count())
        if int(database_of(table).numbers(asked)["records"][0]):
            what = "numbers that are not whole, or beyond 10 to the 15"
    if what is not None:
        raise DataError(
            f"{name}: users are told apart by {what}, which databases write in different ways, so that a "
            "seed would not choose the same records everywhere. Convert the column to text, or to whole "
            "numbers. Nothing was spent."
        )


def user_in_database(column: ir.Value) -> ir.Value:
    """Whose record it is: text without the blanks around it."""
    return column.strip() if column.type().is_string() else column


def refuse_nobody(table: ir.Table, user: str, name: str, markers: Sequence[str] = ()) -> None:
    """DataError when a record in a database has no user; see `numbered_users`."""
    asked = table.filter(nobodys(table[user], markers)).aggregate(records=lambda rows: rows.count())
    refuse_count(int(database_of(table).numbers(asked)["records"][0]), name)


def nobodys(user: ir.Value, markers: Sequence[str] = ()) -> Any:
    """Whether a record in a database has no user, where a column says whose it is."""
    import ibis.expr.operations as ops

    missing: Any = user.isnull()
    if user.type().is_string():
        missing = missing | user.isin(_signs(markers))
    elif user.type().is_floating() and user.get_backend().has_operation(ops.IsNan):
        missing = missing | user.isnan()
    return missing


def refuse_count(count: int, name: str) -> None:
    """DataError when so many records have no user, or no other name that they need."""
    if count:
        raise _nobodys(name, f"{count} records name no user")


def _signs(markers: Sequence[str]) -> list[str]:
    return sorted({"", *(marker.strip(BLANKS) for marker in markers)})


def _nobodys(name: str, what: str) -> DataError:
    return DataError(
        f"{name}: {what}, but the schema protects users by this column. "
        "Fill the column in, or remove these records."
    )
