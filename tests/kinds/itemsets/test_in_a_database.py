"""Item sets inside a database are counted as in memory, part by part, and refused where they must be.

DuckDB stands for Spark and PostgreSQL, whose own tests release from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock import release
from penstock.engine import open_engine
from penstock.engine.connection import Duck
from penstock.engine.database import DuckDB
from penstock.engine.remote import DatabaseSource
from penstock.errors import DataError
from penstock.kinds.itemsets.database import SetsInDatabase
from penstock.kinds.itemsets.item_tree import ItemTree, Operation
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.reading import _needed, read_itemsets
from penstock.schema import Schema

ITEMS = 12
WORDS = [f"i{number}" for number in range(ITEMS)]
MERGED = ", merged: {i3: ['?'], i4: [i20, i21]}"
USER = "unit: {protects: user, column: who, at_most: %d}\n"


def schema(layout: str, top: str = "", field: str = ", outside: other") -> Schema:
    return Schema.from_yaml(
        f"kind: itemsets\n{top}items: {{item: s{layout}}}\nfields:\n"
        f"  - {{name: s, constraints: {{enum: [{', '.join(WORDS)}]}}{field}}}\n"
    )


def drawn(many: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    sets = [rng.choice([*WORDS, "?"], rng.integers(0, 9)).tolist() for _ in range(many)]
    numbers = [number % 97 for number in range(many)]
    return pl.DataFrame({"b": numbers, "s": sets, "who": rng.integers(0, 60, many) % 40})


def as_text() -> pl.DataFrame:
    return drawn().with_columns(pl.col("s").list.join(" "))


def as_rows() -> pl.DataFrame:
    rows = drawn().explode("s").drop_nulls()
    return rows.with_columns(pl.col("who") % 3).sample(fraction=1.0, shuffle=True, seed=1)


def in_duckdb(frame: pl.DataFrame, facts: Schema) -> SetsInDatabase:
    source = DatabaseSource(Duck().copied(frame.to_arrow(), "given"), "given")
    return SetsInDatabase(source, facts, _needed(source, facts, ItemSetLayout.of(facts)), b"key")


CASES = {
    "texts": (schema(""), as_text),
    "lists, shortened": (schema(", largest: 3"), drawn),
    "texts of users, shortened": (schema(", largest: 3", USER % 2), as_text),
    "rows": (schema(", transaction: b"), as_rows),
    "rows of users, shortened": (schema(", transaction: b, largest: 5", USER % 20), as_rows),
    "merged items": (schema("", field=MERGED), as_text),
    "rows of merged items, shortened": (schema(", transaction: b, largest: 3", field=MERGED), as_rows),
}


@pytest.mark.parametrize("case", CASES)
def test_a_database_counts_item_sets_as_memory_does(case: str) -> None:
    facts, made = CASES[case]
    frame = made()
    memory, database = read_itemsets(frame, facts, order_key=b"key"), in_duckdb(frame, facts)
    assert (memory.size, memory.lacking) == (database.size, database.lacking)
    questions: list[Any] = [
        lambda sets: sets.holders(ITEMS),
        lambda sets: sets.supports(ITEMS),
        lambda sets: sets.shares(ITEMS, 2, 4096),
        lambda sets: sets.cells(ITEMS),
        lambda sets: np.concatenate(sets.size_counts()),
        lambda sets: sets.lattice([1, 4, 5, 9, 11], ITEMS, 4),
        lambda sets: sets.lattice(list(range(ITEMS)), ITEMS, 2),
    ]
    for question in questions:
        assert question(memory).any()
        assert np.array_equal(question(memory), question(database))
    owner = facts.unit.column
    table = Schema.from_yaml("fields:\n  - {name: ten, type: boolean}\n  - {name: one, type: boolean}\n")
    rows = [sets.columns([10, 1], ITEMS, ["ten", "one"], owner) for sets in (memory, database)]
    counts = [open_engine(each, table).counts([("ten", "one")])[0].tolist() for each in rows]
    assert counts[0] == counts[1]
    assert sum(counts[0]) == memory.size


@pytest.mark.parametrize("case", ["texts", "rows of users, shortened"])
def test_a_database_divides_parts_as_memory_does(case: str) -> None:
    facts, made = CASES[case]
    memory, database = read_itemsets(made(), facts, order_key=b"key"), in_duckdb(made(), facts)
    tree = ItemTree.of([5, 3, *(item for item in range(ITEMS) if item not in (5, 3))], 3)
    theirs, ours = memory.parts(tree), database.parts(tree)
    wave: list[tuple[Any, ...]] = [((tree.root,), theirs.everything(), ours.everything())]
    divided = 0
    while wave:
        operations = []
        for cut, _, part in wave:
            heights = tree.heights[list(cut)]
            group = [node for node, height in zip(cut, heights, strict=True) if height == heights.max()][-1]
            operations.append(Operation(tree, cut, group))
            ours.expect(part, operations[-1])
        following = []
        for (_, there, here), operation in zip(wave, operations, strict=True):
            one, two = theirs.divided(there, operation), ours.divided(here, operation)
            assert all(
                np.array_equal(first, second) for first, second in zip(one.runs, two.runs, strict=True)
            )
            divided += 1
            for choice in [*one.runs[0].tolist()[:5], 1]:  # the last of which may be empty
                below = operation.cut_of(choice)
                assert theirs.size_of(one.of(choice)) == ours.size_of(two.of(choice))
                if any(node >= tree.size for node in below):
                    following.append((below, one.of(choice), two.of(choice)))
        wave = following[:40]
    assert divided > 50


@pytest.mark.parametrize(
    ("facts", "change", "words"),
    [
        (schema(", transaction: b", field=""), {}, r"s: value '\?' .* values are like that"),
        (schema(", transaction: b"), {"b": pl.lit(None, pl.Int64)}, "b: .* records name no"),
        (schema(", transaction: b", USER % 2), {"who": pl.lit(" ")}, "who: .* records name no user"),
        (
            schema(", transaction: b", USER % 2),
            {"who": pl.col("b") / 7},
            "who: users are told apart by numbers",
        ),
    ],
)
def test_refused_items_and_records_of_no_set_or_nobody(
    facts: Schema, change: dict[str, pl.Expr], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        in_duckdb(as_rows().with_columns(**change), facts)


@pytest.mark.parametrize("method", ["diffpart", "privtree-sets"])
def test_a_database_keeps_the_sets_and_the_tables_of_two_waves_however_many_there_are(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wave before is dropped when the next is there: on Spark each takes memory of the cluster."""
    live: set[str] = set()
    most: list[int] = []
    kept, dropped = DuckDB.kept, DuckDB.dropped

    def counted(database: DuckDB, *given: Any, **named: Any) -> Any:
        found = kept(database, *given, **named)
        live.add(found.get_name())
        most.append(len(live))
        return found

    def gone(database: DuckDB, name: str) -> None:
        live.discard(name)
        dropped(database, name)

    monkeypatch.setattr(DuckDB, "lists", True)
    monkeypatch.setattr(DuckDB, "kept", counted)
    monkeypatch.setattr(DuckDB, "dropped", gone)
    frame, facts = as_text(), schema("")
    table = Duck().copied(frame.to_arrow(), "given")
    inside = release(table, facts, epsilon=100, method=method, parameters={"fan_out": 2}, seed=1)
    assert len(most) > 6
    assert max(most) <= 3
    outside = release(frame, facts, epsilon=100, method=method, parameters={"fan_out": 2}, seed=1)
    assert inside.model().json == outside.model().json
    for name, rows in outside.model().tables.items():
        assert inside.model().tables[name].equals(rows)
