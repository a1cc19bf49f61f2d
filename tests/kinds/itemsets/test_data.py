"""Reading item sets: two layouts, presence instead of multiplicity, and what is refused."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock.drafting.proposal import draft
from penstock.engine import streaming
from penstock.errors import DataError, SchemaError
from penstock.kinds.itemsets import reading
from penstock.kinds.itemsets.incidence import Incidence
from penstock.kinds.itemsets.reading import read_itemsets
from penstock.schema import Schema

ITEMS = """
kind: itemsets
items: {item: product%s}
%sfields:
  - {name: product, constraints: {enum: [ale, bun, cod]}%s}
"""


def schema(columns: str = "", top: str = "", field: str = "") -> Schema:
    return Schema.from_yaml(ITEMS % (columns, top, field))


def holders(found: Incidence) -> list[int]:
    return found.holders(3).tolist()


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (["ale bun", "ale", "", "cod  ale\tale"], ""),
        (["ale;bun", "ale", None, "cod;ale;ale"], ', separator: ";"'),
        ([["ale", "bun"], ["ale"], [], ["cod", "ale", "ale"]], ""),
    ],
    ids=["blanks", "separator", "lists"],
)
def test_a_row_is_a_set_and_an_item_counts_once_in_it(rows: list[object], columns: str) -> None:
    found = read_itemsets(pl.DataFrame({"product": rows}), schema(columns))
    assert found.size == 4
    assert holders(found) == [3, 1, 1]


def test_rows_of_one_transaction_are_one_set() -> None:
    rows = {"product": ["ale", "bun", "ale", "ale", "cod"], "basket": ["x", "x", "x", "y", "y"]}
    found = read_itemsets(pl.DataFrame(rows), schema(", transaction: basket"))
    assert found.size == 2
    assert holders(found) == [2, 1, 1]


def test_users_are_counted_once_for_an_item_and_keep_some_of_their_sets() -> None:
    unit = "unit: {protects: user, column: who, at_most: %d}\n"
    rows = pl.DataFrame({"product": ["ale bun", "ale", "cod", "ale"], "who": ["p", "p", "p", "q"]})
    assert holders(read_itemsets(rows, schema(top=unit % 9))) == [2, 1, 1]
    kept = {
        tuple(holders(read_itemsets(rows, schema(top=unit % 1), order_key=bytes([k])))) for k in range(40)
    }
    # p keeps one of three sets: q's ale is always there. Each happens but for probability 1e-6.
    assert kept == {(2, 1, 0), (2, 0, 0), (1, 0, 1)}


def test_two_users_baskets_of_the_same_number_are_two_baskets() -> None:
    rows = pl.DataFrame({"product": ["ale", "bun"], "basket": [1, 1], "who": ["p", "q"]})
    found = read_itemsets(
        rows, schema(", transaction: basket", "unit: {protects: user, column: who, at_most: 1}\n")
    )
    assert found.size == 2
    assert holders(found) == [1, 1, 0]


def test_long_sets_keep_a_random_part() -> None:
    rows = pl.DataFrame({"product": ["ale bun cod"] * 300})
    found = read_itemsets(rows, schema(", largest: 2"), order_key=b"1")
    assert found.sizes.tolist() == [2] * 300
    assert all(150 < count < 250 for count in holders(found))  # 200 each, 7 standard deviations
    assert holders(found) != holders(read_itemsets(rows, schema(", largest: 2"), order_key=b"2"))


@pytest.mark.parametrize("packed", [False, True])
def test_lines_without_a_header(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "retail.dat"
    text = b"ale bun\n\ncod\r\nale ale\n"
    path.write_bytes(gzip.compress(text) if packed else text)
    found = read_itemsets(path, schema(", header: false"))
    assert found.size == 4
    assert holders(found) == [2, 1, 1]


def test_one_line_is_one_set_whatever_signs_it_holds(tmp_path: Path) -> None:
    """Else somebody could bring many sets in a line, and the bound on a unit would not hold."""
    path = tmp_path / "retail.dat"
    path.write_text("ale\u2028ale\x0bale\x0cale\x85ale\nbun\n", encoding="utf-8", newline="")
    found = read_itemsets(path, schema(", header: false", field=", outside: other"))
    assert found.size == 2


def test_what_the_universe_does_not_hold_is_refused_or_other() -> None:
    rows = pl.DataFrame({"product": ["ale", "ale gin"]})
    with pytest.raises(DataError, match=r"product: value 'gin' in row 2 is not a declared category"):
        read_itemsets(rows, schema())
    lax = read_itemsets(rows, schema(field=", outside: other"))
    assert (lax.size, holders(lax)) == (2, [2, 0, 0])


def test_mistakes_are_named(tmp_path: Path) -> None:
    rows = pl.DataFrame({"products": ["ale"]})
    with pytest.raises(
        DataError, match=r"product: the data has no such column \(did you mean 'products'\?\)"
    ):
        read_itemsets(rows, schema())
    with pytest.raises(DataError, match="basket: the data has no such column"):
        read_itemsets(rows.rename({"products": "product"}), schema(", transaction: basket"))
    with pytest.raises(DataError, match="no such file"):
        read_itemsets(tmp_path / "none.dat", schema(", header: false"))
    bad = tmp_path / "latin.dat"
    bad.write_bytes(b"ale\nb\xfcn\n")
    with pytest.raises(DataError, match="not UTF-8: look at line 2"):
        read_itemsets(bad, schema(", header: false"))
    with pytest.raises(SchemaError, match="does not say which columns make an item set"):
        read_itemsets(rows, Schema.from_yaml("kind: itemsets\nfields: [{name: a, type: boolean}]"))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (", largest: 0", "at least 1 item"),
        (", separator: ''", "remove it"),
        (", separator: ';', transaction: basket", "remove it"),
        (", header: false, transaction: basket", "need their names"),
        (", size: 3", "unknown key 'size'"),
    ],
)
def test_impossible_layouts_are_refused(columns: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(columns)
    with pytest.raises(
        SchemaError, match=r"items: the item 'produce' is not a field \(did you mean 'product'\?\)"
    ):
        Schema.from_yaml("kind: itemsets\nitems: {item: produce}\nfields: [{name: product, type: boolean}]")
    with pytest.raises(SchemaError, match="items: this block belongs to data of kind 'itemsets'"):
        Schema.from_yaml("items: {item: product}\nfields: [{name: product, type: boolean}]")


def test_a_universe_may_lie_in_a_file_beside_the_schema(tmp_path: Path) -> None:
    (tmp_path / "universe.txt").write_text("ale\n\n bun \ncod\n", encoding="utf-8")
    path = tmp_path / "s.yaml"
    path.write_text(ITEMS.replace("[ale, bun, cod]", "universe.txt") % ("", "", ""), encoding="utf-8")
    assert Schema.load(path) == schema()
    path.write_text(ITEMS.replace("[ale, bun, cod]", "missing.txt") % ("", "", ""), encoding="utf-8")
    with pytest.raises(
        SchemaError, match=r"product: the enum is 'missing.txt', and beside the schema there is no"
    ):
        Schema.load(path)
    path.write_text(ITEMS.replace("[ale, bun, cod]", "../universe.txt") % ("", "", ""), encoding="utf-8")
    with pytest.raises(SchemaError, match="is not beside the schema"):
        Schema.load(path)


def test_a_draft_says_what_is_missing() -> None:
    text = draft(
        pl.DataFrame({"product": ["ale", "bun"] * 9, "basket": range(18)}), kind="itemsets"
    ).to_yaml()
    assert "# Say which columns make an item set: items: {item: ..., transaction: ...}" in text


@pytest.mark.parametrize("layout", ["rows", "users"])
def test_one_more_unit_changes_no_other_units_sets_and_items(layout: str) -> None:
    """The key is known; the new unit stands first, and holds what others hold, too."""
    rng = np.random.default_rng(6)
    letters = "abcdefgh"
    baskets = [" ".join(rng.choice(list(letters), 6, replace=False)) for _ in range(60)] * 2
    unit = "unit: {protects: user, column: who, at_most: 2}" if layout == "users" else ""
    facts = Schema.from_yaml(f"""
kind: itemsets
{unit}
items: {{item: basket, largest: 2}}
fields:
  - {{name: basket, constraints: {{enum: [{", ".join(letters)}]}}}}
""")

    def kept(rows: list[tuple[str, str]]) -> Counter[tuple[int, ...]]:
        found = read_itemsets(
            pl.DataFrame(rows, schema=["who", "basket"], orient="row"), facts, order_key=b"k"
        )
        sets = [tuple(found.items[found.sets == number].tolist()) for number in range(found.size)]
        return Counter(sets)

    rows = [(f"user {number % 25}", basket) for number, basket in enumerate(baskets)]
    before, after = kept(rows), kept([("aaa", baskets[0]), *rows])
    assert before <= after
    assert after.total() - before.total() == 1


PEOPLE = "unit: {protects: user, column: who, at_most: 2}\n"


@pytest.mark.parametrize(
    ("file", "columns", "unit"),
    [
        ("lines", "", ""),
        ("lines", ", largest: 2", ""),
        ("parquet", "", ""),
        ("csv", ", largest: 2", PEOPLE),
        ("csv", ", transaction: basket", ""),
        ("parquet", ", transaction: basket", PEOPLE),
    ],
    ids=lambda each: each.strip(",\n") or "plain",
)
def test_memory_and_duckdb_hold_the_same_sets(
    file: str, columns: str, unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In pieces of 2,048 rows, through which sets and users go on; the order of rows makes no difference."""
    monkeypatch.setattr(streaming, "ROWS", 2048)
    rng = np.random.default_rng(5)
    words = np.array(["ale", "bun", "cod", "gin"])
    baskets = [" ".join(words[rng.integers(4, size=size)]) for size in rng.integers(0, 5, 6000)]
    if "transaction" in columns:
        baskets = words[rng.integers(4, size=6000)].tolist()
    frame = pl.DataFrame(
        {
            "product": baskets,
            "basket": np.char.add(np.array(["", " "])[rng.integers(2, size=6000)], "b 1"),
            "who": rng.integers(700, size=6000),
        }
    ).with_columns(basket=pl.col("basket") + pl.Series(rng.integers(900, size=6000)).cast(pl.String))
    path = tmp_path / f"records.{file}"
    if file == "lines":
        path.write_text("\n".join(baskets), encoding="utf-8")
        columns += ", header: false"
    else:
        frame.write_csv(path) if file == "csv" else frame.write_parquet(path)
    facts = schema(columns, unit, ", outside: other")
    found = [
        read_itemsets(source, facts, engine=engine, order_key=b"k")
        for source, engine in ((path, "memory"), (path, "duckdb"), (frame[::-1], "memory"))
        if file != "lines" or source is path
    ]
    first, *others = [
        Counter(tuple(items.tolist()) for items in np.split(one.items, one.begins[1:])) for one in found
    ]
    assert all(other == first for other in others)
    assert len({one.size for one in found}) == 1
    assert len({tuple(holders(one)) for one in found}) == 1
    assert {one.items.dtype for one in found} == {np.dtype(np.uint8)}


def test_duckdb_says_what_is_wrong_with_an_item_or_an_owner() -> None:
    rows = pl.DataFrame({"product": ["ale", "gin"], "who": ["p", " "], "basket": [1, None]})
    with pytest.raises(DataError, match="product: value 'gin' is not a declared category"):
        read_itemsets(rows, schema(), engine="duckdb")
    with pytest.raises(DataError, match="who: some record names no user"):
        read_itemsets(rows, schema(top=PEOPLE, field=", outside: other"), engine="duckdb")
    with pytest.raises(DataError, match="basket: some record names no user"):
        read_itemsets(rows, schema(", transaction: basket", field=", outside: other"), engine="duckdb")


def mixed_case(path: Path) -> str:
    """Six baskets of A and six of a, in a database that takes both names for equal where it sorts."""
    import duckdb

    with duckdb.connect(path) as database:
        database.execute("CREATE TABLE t (who VARCHAR COLLATE NOCASE, basket VARCHAR, product VARCHAR)")
        rows = [(who, str(number), "ale") for number in range(6) for who in "Aa"]
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return f"duckdb:///{path}"


@pytest.mark.parametrize("engine", ["duckdb", "memory"])
def test_a_collation_makes_no_further_users_and_no_further_sets(engine: str, tmp_path: Path) -> None:
    """Sorted by it the rows of A and a may alternate, and every run of them looks like a user of its own."""
    source = mixed_case(tmp_path / "sales.duckdb")
    unit = "unit: {protects: user, column: who, at_most: 1}\n"
    assert read_itemsets(source, schema(", transaction: basket", unit), table="t", engine=engine).size == 2
    assert read_itemsets(source, schema(", transaction: who"), table="t", engine=engine).size == 2


@pytest.mark.parametrize(
    ("columns", "top"),
    [
        (", transaction: who", ""),
        (", transaction: basket", "unit: {protects: user, column: who, at_most: 1}\n"),
        ("", "unit: {protects: user, column: who, at_most: 1}\n"),
    ],
)
def test_a_database_that_does_not_keep_names_together_is_refused(
    columns: str, top: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(who, str(number), "ale") for number in range(3) for who in "Aa"]
    torn = pl.DataFrame(rows, schema=["who", "basket", "product"], orient="row")
    monkeypatch.setattr(
        reading,
        "streamed",
        lambda records, names, together: iter([torn[:3].select(names), torn[3:].select(names)]),
    )
    with pytest.raises(DataError, match="does not keep the records of one name together"):
        read_itemsets(mixed_case(tmp_path / "x.duckdb"), schema(columns, top), table="t", engine="duckdb")
