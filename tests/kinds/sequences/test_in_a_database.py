"""Sequences inside a database are counted as in memory, and what has no certain order there is refused.

DuckDB stands for Spark and PostgreSQL, whose own tests release from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.engine.connection import Duck
from penstock.engine.remote import DatabaseSource
from penstock.errors import DataError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.database import SequencesInDatabase
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.reading import needed_columns, read_sequences
from penstock.schema import Schema

OWNER = "unit: {protects: user, column: who, at_most: 2}\n"
SYMBOLS = ["a", "b", "c d", *(f"s{number}" for number in range(9))]

MERGED = ", merged: {c d: ['?'], s8: [u1, u2]}"


def schema(layout: str, *, top: str = "", times: str = "", field: str = ", outside: other") -> Schema:
    symbols = ", ".join(f"'{symbol}'" for symbol in SYMBOLS)
    return Schema.from_yaml(
        f"kind: sequences\n{top}sequence: {{{layout}, symbol: s, longest: 6}}\nfields:\n"
        f"  - {{name: s, constraints: {{enum: [{symbols}]}}{field}}}\n{times}"
    )


def in_duckdb(frame: pl.DataFrame, facts: Schema) -> SequencesInDatabase:
    source = DatabaseSource(Duck().copied(frame.to_arrow(), "given"), "given")
    needed = needed_columns(source, facts, SequenceLayout.of(facts))
    return SequencesInDatabase(source, facts, needed, b"key")


def drawn(many: int) -> list[list[str]]:
    rng = np.random.default_rng(1)
    chances = [0.3, 0.2, 0.2] + [0.3 / 10] * 10
    return [rng.choice([*SYMBOLS, "?"], rng.integers(0, 9), p=chances).tolist() for _ in range(many)]


def events(many: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "v": rng.integers(0, 60, many).astype(str),
            "s": rng.choice([*SYMBOLS[:4], "?"], many),
            "at": rng.permutation(many),
            "who": rng.integers(0, 10, many),
        }
    )


TIMES = (
    "  - {name: at, type: integer, constraints: {minimum: 20, maximum: 360}, bins: {width: 50}, "
    "outside: clamp}\n"
)
CASES = {
    "text, cut at blanks": (
        schema("separator: ';'", top=OWNER),
        lambda: pl.DataFrame(
            {"s": [";".join(row) for row in drawn(150)], "who": [k % 40 for k in range(150)]}
        ),
    ),
    "lists": (schema("first: []"), lambda: pl.DataFrame({"s": drawn(150)}, schema={"s": pl.List(pl.String)})),
    "events of several visits": (schema("user: v, time: at", top=OWNER, times=TIMES), events),
    "events, times undeclared": (
        schema("user: v, time: at"),
        lambda: events().with_columns(pl.from_epoch("at").alias("at")),
    ),
    "merged symbols": (
        schema("separator: ';'", field=MERGED),
        lambda: pl.DataFrame({"s": [";".join(row) for row in drawn(150)]}),
    ),
    "events of merged symbols": (schema("user: v, time: at", times=TIMES, field=MERGED), events),
}


@pytest.mark.parametrize("case", CASES)
def test_a_database_counts_sequences_as_memory_does(case: str) -> None:
    facts, made = CASES[case]
    frame = made()
    memory, database = read_sequences(frame, facts, order_key=b"key"), in_duckdb(frame, facts)
    size, clock = facts.attribute("s").size, Clock.of(facts)
    assert memory.size == database.size > 0
    rng = np.random.default_rng(3)
    for longest in (6, 3):
        for one, two in zip(memory.length_counts(longest), database.length_counts(longest), strict=True):
            assert np.array_equal(one, two)
        ours: list[Any] = [database.cut(size, longest).contexts(), database.cut(size, longest).grams()]
        theirs: list[Any] = [memory.cut(size, longest).contexts(), memory.cut(size, longest).grams()]
        for depth in range(4):
            for one, two in zip(ours, theirs, strict=True):
                assert np.array_equal(one.histograms, two.histograms)
            most = np.argsort(-theirs[0].histograms.sum(axis=1), kind="stable")[:9]
            split = np.sort(most[(most % (size + 1) != size) | (depth == 0)])
            cells = np.flatnonzero(rng.random(theirs[1].size * (size + 1)) < (1 if depth == 0 else 0.02))
            ours = [ours[0].children(split), ours[1].extended(cells)]
            theirs = [theirs[0].children(split), theirs[1].extended(cells)]
        if clock is not None:
            assert np.array_equal(memory.starts(clock), database.starts(clock))
            assert memory.gaps(clock, size, longest).sum() > 0
            assert np.array_equal(memory.gaps(clock, size, longest), database.gaps(clock, size, longest))


@pytest.mark.parametrize(
    ("facts", "change", "words"),
    [
        (schema("user: v"), {}, "v: the rows of a database stand in no order"),
        (
            schema("user: v, time: at"),
            {"at": pl.col("at").cast(pl.String)},
            "at: the times are string values",
        ),
        (schema("user: v, time: at"), {"at": pl.lit(7)}, "at: .* events have the same time as another one"),
        (schema("user: v, time: at", times=TIMES), {"at": pl.lit(None, pl.Int64)}, "400 times are missing"),
        (schema("user: v, time: at", field=""), {}, r"s: value '\?' .* values are like that"),
        (schema("user: v, time: at"), {"v": pl.lit(" ")}, "v: .* records name no user"),
        (schema("user: v, time: at", top=OWNER), {"who": pl.lit(None, pl.Int64)}, "who: .* name no user"),
    ],
)
def test_what_has_no_order_no_value_or_no_owner_is_refused(
    facts: Schema, change: dict[str, pl.Expr], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        in_duckdb(events().with_columns(**change), facts)


def test_equal_events_at_one_time_have_any_order() -> None:
    twice = pl.concat([events(), events()])
    facts = schema("user: v, time: at")
    assert np.array_equal(
        in_duckdb(twice, facts).length_counts(6)[1], read_sequences(twice, facts).length_counts(6)[1]
    )


def test_columns_of_the_data_may_be_called_like_ours() -> None:
    frame = pl.DataFrame({"row": ["a b", "b", ""], "place": [1, 2, 2]})
    facts = Schema.from_yaml(
        "kind: sequences\nunit: {protects: user, column: place, at_most: 2}\n"
        "sequence: {symbol: row, longest: 6}\n"
        "fields:\n  - {name: row, constraints: {enum: [a, b]}}\n"
    )
    assert in_duckdb(frame, facts).length_counts(6)[0].tolist() == [0, 1, 2]
