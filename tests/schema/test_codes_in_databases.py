"""The same codes everywhere: memory is the reference, DuckDB and SQLite must agree value by value."""

from datetime import date, datetime

import ibis
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.schema import Field, Schema
from penstock.schema.codec import Codec
from penstock.schema.database import coded

NASTY_NUMBERS = [
    "", " ", " 12 ", "12", "12.0", "12.5", "1e3", "1E+3", "1e-3", "nan", "NaN", "inf", "-inf", "Infinity",
    "-0.0", "0", "+5", "5.", ".5", ".", "-", "+", "1_000", "1,000", "0x10", "1e400", "-1e400", "1e-400",
    "0.1", "0.30000000000000004", "0.3", "100", "100.0000001", "99.99999999999999", "-1", "NA", "?", "-999",
    "١٢", "12\n", "\t7", "1e", "e5", "--5", "1e5.5", "00012", "9007199254740993", "1 2", None,
]  # fmt: skip
NASTY_DATES = [
    "2020-01-01", " 2020-02-29 ", "2021-02-29", "1900-02-29", "2000-02-29", "2020-04-31", "2020-13-01",
    "2020-00-10", "2020-01-00",
    "2020-1-1", "20200101", "2020-01-01T00:00:00", "2020-12-31", "2021-01-01", "2019-12-31",
    "2020-06-15T12:30", "2020-06-15 12:30:59", "2020-06-15T12:30:59.999Z", "2020-06-15T12:30Z",
    "2020-06-15T24:00", "2020-06-15T12:60", "2020-06-15T12:30:60", "2020-06-15T12", "", "NA", "?",
    "yesterday", "2020-06-15T12:30+02:00", "2020-06-15T14:31:00+02:00", "2020-06-15 07:00:58.7-0530",
    "2020-06-15T23:30:59,25+11", "2020-01-01T00:00+00:01", "2019-12-31T23:59-00:01", "2020-06-15T12:30+24:00",
    "2020-06-15T12:30+2:00", "2020-06-15T12:30+02:60", "2020-06-15T12:30Z+02:00", "2020-06-15+02:00",
    "2020-12-31T14:00:00+02:00", "2020-12-31T14:00:01+02:00", "2024-02-29T23:00-02:00",
    "2020-06-15T12:30 +02:00", "20200615T123000Z", "20200615T1430+0200", "20200615T070058.7-0530",
    "20200230T1200", "20200615T12", "20200615", "20200615 1230", "20200615T125960Z", "20200615T12:30",
    "20201231T140001,5+02", "20200615T1230Z", "20200615T12300Z",
    "2020-06-15T14:30:59.123456789+02:00", "2020-12-31 06:30:00.12345678-0530",
    "2020-12-31T23:59:59", "2020-12-31T12:00:00", "2020-12-31T12:00:00.5", "2020-12-31T12:00:01", None,
]  # fmt: skip
NASTY_WORDS = [
    "a",
    "A",
    " b ",
    "b",
    "c d",
    "c  d",
    "it's",
    '"q"',
    "other",
    "",
    "NA",
    "?",
    "é",
    "x" * 40,
    "1",
    None,
]
NASTY_TRUTHS = ["true", "TRUE", " false", "0", "1", "1.0", "yes", "T", "", "?", None]

FIELDS = {
    "few integers": "type: integer, constraints: {minimum: 0, maximum: 20}",
    "many integers": "type: integer, constraints: {minimum: -7, maximum: 1000}, bins: {count: 13}",
    "listed integers": "type: integer, constraints: {enum: [12, 5, 1000]}",
    "ranked integers": "type: integer, constraints: {enum: [0, 5, 12, 1000]}, categoriesOrdered: true",
    "spiked integers": "type: integer, constraints: {minimum: 0, maximum: 1000}, spikes: [0, 12, 1000]",
    "spiked numbers": "type: number, constraints: {minimum: 0, maximum: 100}, spikes: [0, 12, 0.3, 100]",
    "numbers": "type: number, constraints: {minimum: 0, maximum: 1}, bins: {count: 10}",
    "wide numbers": "type: number, constraints: {minimum: -1e3, maximum: 100}, bins: {width: 33.3}",
    "one number": "type: number, constraints: {minimum: 12, maximum: 12}",
    "edged numbers": "type: number, bins: {edges: [0, 0.1, 0.30000000000000004, 5, 100]}",
    "dates": "type: date, constraints: {minimum: 2020-01-01, maximum: 2020-12-31}",
    "few dates": "type: date, constraints: {minimum: 2020-02-20, maximum: 2020-03-05}",
    "listed dates": "type: date, constraints: {enum: [2020-02-29, 2020-12-31]}",
    "datetimes": "type: datetime, bins: {edges: [2020-01-01, 2020-06-15T12:30:59, 2020-12-31T12:00]}",
    "words": "constraints: {enum: [a, ' b', c d, it's, '\"q\"', é, '1']}",
    "words and other": "constraints: {enum: [a, b, other]}",
    "merged words": "constraints: {enum: [all, a, ' b']}, merged: {all: [c d, it's, é, '1'], a: [A]}",
    "merged integers": "type: integer, constraints: {enum: [12, 9]}, merged: {9: [5, 1000], '12': [0]}",
    "merged dates": "type: date, constraints: {enum: [2020-02-29]}, merged: {2020-02-29: [2020-12-31]}",
    "truths": "type: boolean",
}
RULES = ["", ", missing: value", ", outside: other, missing: value", ", outside: clamp"]


def codec_of(declaration: str, rules: str = "") -> Codec:
    text = f"missingValues: ['', NA, '?', '-999', nan]\nfields:\n- {{name: x, {declaration}{rules}}}"
    return Schema.from_yaml(text).codec("x")


def codecs_of(*types: str) -> dict[str, Codec]:
    """Every declared field of these types under every set of rules that it allows."""
    found = {}
    for name, declaration in FIELDS.items():
        for rules in RULES:
            if "clamp" in rules and name in (
                "words",
                "words and other",
                "truths",
                "listed integers",
                "listed dates",
                "merged words",
                "merged integers",
                "merged dates",
            ):
                continue
            codec = codec_of(declaration, rules)
            if codec.field.type in types:
                found[name + rules] = codec
    return found


def in_database(backend: str, codecs: dict[str, Codec], column: pl.Series) -> dict[str, list[int]]:
    frame = pl.DataFrame({"row": np.arange(len(column)), "x": column})
    connection = ibis.duckdb.connect() if backend == "duckdb" else ibis.sqlite.connect()
    try:
        if backend == "duckdb":
            connection.con.register("t", frame.to_arrow())
        else:
            kinds = {"String": "TEXT", "Float64": "REAL", "Boolean": "BOOLEAN"}
            connection.con.execute(
                f"CREATE TABLE t (row INTEGER, x {kinds.get(str(column.dtype), 'INTEGER')})"
            )
            connection.con.executemany("INSERT INTO t VALUES (?, ?)", frame.rows())
        table = connection.table("t")
        wide = table.select(row=table.row, **dict.fromkeys(codecs, table.x))
        found = coded(wide, codecs, keep={"row": "row"}).order_by("row").to_polars()
    finally:
        connection.disconnect()
    return {name: found[name].to_list() for name in codecs}


def in_memory(codecs: dict[str, Codec], column: pl.Series) -> dict[str, list[int]]:
    return {name: codec.locate(column).tolist() for name, codec in codecs.items()}


TEXTS = {
    "numbers": (("integer", "number"), NASTY_NUMBERS),
    "calendar": (("date", "datetime"), NASTY_DATES),
    "words": (("string",), NASTY_WORDS),
    "truths": (("boolean",), NASTY_TRUTHS),
}


@pytest.mark.parametrize("backend", ["duckdb", "sqlite"])
@pytest.mark.parametrize("name", TEXTS)
def test_text_gets_the_same_codes_in_memory_and_in_a_database(name: str, backend: str) -> None:
    types, texts = TEXTS[name]
    codecs, column = codecs_of(*types), pl.Series("x", texts, dtype=pl.String)
    assert in_database(backend, codecs, column) == in_memory(codecs, column)


TYPED = {
    "floats": [0.0, -0.0, 0.1, 0.2, 0.3, 0.30000000000000004, 0.9999999999999999, 1.0, 5.0, 12.0, 12.5,
               float("inf"), float("-inf"), 1e308, -999.0, 1000.0, None],
    "nans": [float("nan"), 0.5, None],
    "integers": [0, 1, 5, 12, 20, 21, -7, -8, 1000, 1001, -999, 2**53 + 1, None],
    "booleans": [True, False, None],
    "dates": [date(2020, 1, 1), date(2020, 2, 29), date(2020, 12, 31), date(2021, 1, 1), None],
    "datetimes": [datetime(2020, 1, 1), datetime(2020, 12, 31, 12), datetime(2020, 12, 31, 12, 0, 1),
                  datetime(2020, 6, 1, 23, 59, 59, 999_999), datetime(1969, 12, 31, 23, 59, 59), None],
}  # fmt: skip
FITTING = {
    "floats": ("integer", "number", "string", "boolean"),
    "nans": ("integer", "number", "string", "boolean"),
    "integers": ("integer", "number", "string", "boolean"),
    "booleans": ("boolean", "string"),
    "dates": ("date", "datetime", "string"),
    "datetimes": ("date", "datetime", "string"),
}
# SQLite keeps NaN as NULL and has no calendar types
PLACES = [("duckdb", name) for name in TYPED] + [
    ("sqlite", name) for name in ("floats", "integers", "booleans")
]


@pytest.mark.parametrize(("backend", "name"), PLACES)
def test_typed_columns_get_the_same_codes_in_memory_and_in_a_database(backend: str, name: str) -> None:
    codecs, column = codecs_of(*FITTING[name]), pl.Series("x", TYPED[name])
    assert in_database(backend, codecs, column) == in_memory(codecs, column)


@pytest.mark.parametrize("name", TYPED)
def test_a_column_of_the_wrong_type_is_refused_alike_in_memory_and_in_a_database(name: str) -> None:
    column = pl.Series("x", TYPED[name])
    others = {"string", "integer", "number", "boolean", "date", "datetime"} - set(FITTING[name])
    for codec in codecs_of(*others).values():
        with pytest.raises(DataError, match="Correct the type in the schema"):
            codec.locate(column)
        with pytest.raises(DataError, match="Correct the type in the schema"):
            codec.expression(ibis.memtable(column.to_frame()).x)


def test_one_column_can_be_coded_on_its_own() -> None:
    codec = codec_of(FIELDS["few dates"], ", outside: other, missing: value")
    column = pl.Series("x", NASTY_DATES, dtype=pl.String)
    connection = ibis.duckdb.connect()
    connection.con.register("t", pl.DataFrame({"row": np.arange(len(column)), "x": column}).to_arrow())
    table = connection.table("t")
    found = table.select(table.row, code=codec.expression(table.x)).order_by("row").to_polars()
    connection.disconnect()
    assert found["code"].to_list() == codec.locate(column).tolist()


@settings(max_examples=5, deadline=None)
@given(st.sets(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=3), min_size=40, max_size=80))
def test_long_lists_of_categories_are_told_apart_by_their_bytes(words: set[str]) -> None:
    known = sorted({word.strip(" ") for word in words} - {"", "NA", "?", "nan", "-999"})
    column = pl.Series("x", [*words, "ZZ", "zz", "\U0010ffff", "e", "é", "", None])
    for rules in ({}, {"outside": "other", "missing": "value"}):
        codec = Codec(Field(name="x", constraints={"enum": known[::2]}, **rules), ("", "NA"))
        for backend in ("duckdb", "sqlite"):
            assert in_database(backend, {"x": codec}, column) == in_memory({"x": codec}, column)


edge = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 3))


@settings(max_examples=8, deadline=None)
@given(st.lists(edge, min_size=2, max_size=30, unique=True), st.lists(st.floats(-2e6, 2e6), max_size=30))
def test_bins_with_any_edges_agree_in_duckdb(edges: list[float], numbers: list[float]) -> None:
    listed = ", ".join(map(repr, sorted(edges)))
    codec = codec_of(f"type: number, bins: {{edges: [{listed}]}}, outside: clamp")
    probes = numbers + [
        e for edge in edges for e in (edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf))
    ]
    floats = pl.Series("x", probes, dtype=pl.Float64)
    texts = pl.Series("x", [repr(float(probe)) for probe in probes])
    expected = codec.locate(floats).tolist()
    assert codec.locate(texts).tolist() == expected
    assert in_database("duckdb", {"x": codec}, floats)["x"] == expected
    assert in_database("duckdb", {"x": codec}, texts)["x"] == expected
