"""Made-up records for the study of engines: the same file whenever and wherever it is written.

Tables and points are those of `scale_counts`. Sequences, item sets and calls come from hashes of the number
of each row, so that neither the threads of DuckDB nor a run before decide what they are. A size is the number
of rows: ten events make a sequence, five rows a set, a hundred calls a caller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.schema import Schema
from scale_counts import schema as table_schema
from scale_counts import write as write_table

SYMBOLS, ITEMS, GROUP, DAYS = 20, 100, 10, 25


@dataclass(frozen=True)
class Records:
    """Records of one kind: how they are written, what is public about them, and who reads them."""

    name: str
    write: Callable[[Path, int], None]
    schemas: dict[str, Callable[[], Schema]]
    """For every method the public facts that it is given."""

    def path(self, folder: Path, rows: int) -> Path:
        """The file of so many rows, written where it is not there yet."""
        path = folder / f"{self.name}{rows}.parquet"
        if not path.exists():
            self.write(path, rows)
        return path


def drawn(of: str, which: int) -> str:
    """A whole number that follows from another, and from which of its numbers it is."""
    return f"hash(1000 * ({of}) + {which})"


def chance(of: str, which: int) -> str:
    """The same from 0 to 1."""
    return f"(({drawn(of, which)} >> 11)::DOUBLE / 9007199254740992)"


def written(path: Path, rows: int, columns: dict[str, str], inner: str) -> None:
    """Columns of every row number `i` and what the inner ones say of it, as a Parquet file."""
    import duckdb

    asked = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    with duckdb.connect(config={"memory_limit": "1GiB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(
            f"COPY (SELECT {asked} FROM (SELECT i, {inner} FROM range({rows}) t(i))) "
            f"TO '{path}' (FORMAT parquet)"
        )


def sequences(path: Path, rows: int) -> None:
    """Ten events of everybody, most of them as far from the one before as the last one was."""
    usual = f"({drawn('who', 1)} % {SYMBOLS} + turn * ({drawn('who', 2)} % 3)) % {SYMBOLS}"
    other = f"floor({SYMBOLS} * pow({chance('i', 3)}, 2))"
    what = f"'s' || (CASE WHEN {chance('i', 4)} < .7 THEN {usual} ELSE {other} END)::INT"
    written(path, rows, {"who": "who", "turn": "turn", "what": what}, "i // 10 AS who, i % 10 AS turn")


def sequences_schema() -> Schema:
    symbols = ", ".join(f"s{number}" for number in range(SYMBOLS))
    return Schema.from_yaml(
        "kind: sequences\n"
        "sequence: {user: who, time: turn, symbol: what, longest: 10}\n"
        f"fields:\n- {{name: what, constraints: {{enum: [{symbols}]}}}}\n"
    )


def itemsets(path: Path, rows: int) -> None:
    """Five rows a set, half of them of items that belong together; what is twice in a set is in it."""
    near = f"{GROUP} * ({drawn('basket', 5)} % {ITEMS // GROUP}) + {drawn('i', 6)} % {GROUP}"
    far = f"floor({ITEMS} * pow({chance('i', 7)}, 3))"
    item = f"'i' || (CASE WHEN {chance('i', 8)} < .5 THEN {near} ELSE {far} END)::INT"
    written(path, rows, {"basket": "basket", "item": item}, "i // 5 AS basket")


def itemsets_schema() -> Schema:
    items = ", ".join(f"i{number}" for number in range(ITEMS))
    return Schema.from_yaml(
        "kind: itemsets\n"
        "items: {transaction: basket, item: item}\n"
        f"fields:\n- {{name: item, constraints: {{enum: [{items}]}}}}\n"
    )


def calls(path: Path, rows: int) -> None:
    """A hundred calls of everybody on some days, from home at night and mostly from work in the afternoon.

    Homes are closer together in the middle of the box, and work is near home for most.
    """
    clock = f"floor(86400 * (1 - pow({chance('i', 12)}, 1.5)))::BIGINT"
    day = f"{drawn('i', 13)} % {DAYS}"
    inner = [f"i // 100 AS phone, {clock} AS clock, {day} AS day"]
    for axis, low, salt in (("lat", 40, 20), ("lon", -75, 30)):
        salts = range(salt, salt + 4)
        middle = f"({chance('i // 100', salts[0])} + {chance('i // 100', salts[1])}) / 2"
        way = f".4 * pow({chance('i // 100', salts[2])} - .5, 3)"
        inner.append(f"{low} + 2 * {middle} AS home_{axis}, {low} + 2 * ({middle} + {way}) AS work_{axis}")
        inner.append(f".02 * ({chance('i', salts[3])} - .5) AS off_{axis}")
    working = f"clock BETWEEN 32400 AND 64800 AND {chance('i', 14)} < .8"
    columns = {
        "phone": "'p' || phone",
        "time": "TIMESTAMP '2011-04-01' + to_seconds(86400 * day + clock)",
    }
    for axis, low in (("lat", 40), ("lon", -75)):
        place = f"CASE WHEN {working} THEN work_{axis} ELSE home_{axis} END + off_{axis}"
        columns[axis] = f"greatest({low}, least({low + 2}, {place}))"
    written(path, rows, columns, ", ".join(inner))


def calls_schema() -> Schema:
    return Schema.from_yaml(
        "kind: calls\n"
        "calls: {caller: phone, time: time, latitude: lat, longitude: lon}\n"
        "fields:\n"
        f'- {{name: time, type: datetime, constraints: {{minimum: 2011-04-01, maximum: "2011-04-{DAYS}'
        'T23:59:59"}}\n'
        "- {name: lat, type: number, constraints: {minimum: 40, maximum: 42}}\n"
        "- {name: lon, type: number, constraints: {minimum: -75, maximum: -73}}\n"
    )


def points_schema() -> Schema:
    axes = [f"- {{name: real{i}, type: number, constraints: {{minimum: 0, maximum: 1}}}}" for i in range(2)]
    return Schema.from_yaml("kind: points\nfields:\n" + "\n".join(axes))


RECORDS = (
    Records(
        "",
        write_table,
        {
            "independent": table_schema,
            "confluence": table_schema,
            "privbayes": table_schema,
            "privtree": points_schema,
        },
    ),
    Records("sequences", sequences, {"privtree-sequences": sequences_schema, "n-gram": sequences_schema}),
    Records("itemsets", itemsets, {"sluice": itemsets_schema, "diffpart": itemsets_schema}),
    Records("calls", calls, {"dp-where": calls_schema}),
)
METHODS = {method: records for records in RECORDS for method in records.schemas}
