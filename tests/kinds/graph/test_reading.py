"""Edges from every source, what is made simple, and what is refused in one sentence."""

from __future__ import annotations

import gzip
import os
import sqlite3
from pathlib import Path
from typing import cast

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.kinds.graph.known import DATA, networkx_graph

import penstock
from penstock.engine.records import Source
from penstock.engine.remote import DatabaseSource
from penstock.errors import DataError, PenstockError, SchemaError, UsageError
from penstock.kinds.graph import reading
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.layout import nodes_of
from penstock.kinds.graph.reading import open_graph
from penstock.schema import Schema

SIX = Schema.from_yaml("{kind: graph, edges: {nodes: 6}}")
PLAIN = Schema.from_yaml("{kind: graph, edges: {nodes: 6, header: false}}")
NAMED = Schema.from_yaml("""
kind: graph
edges: {from: a, to: b}
fields: [{name: person, constraints: {enum: [ann, bob, cy, dan]}}]
""")
NUMBERED = Schema.from_yaml(
    "{kind: graph, edges: {}, fields: [{name: node, type: integer, constraints: {minimum: 10, maximum: 14}}]}"
)


def shape(source: object, schema: Schema, table: str | None = None) -> tuple[int, int, list[int]]:
    found = open_graph(source, schema, table=table)
    return found.n, found.m, found.degrees.tolist()


def test_what_is_not_simple_is_made_simple() -> None:
    rows = pl.DataFrame({"from": [1, 2, 1, 3, 3], "to": [2, 1, 2, 3, 2], "weight": [1, 2, 3, 4, 5]})
    assert shape(rows, SIX) == (6, 2, [2, 1, 1, 0, 0, 0])


@pytest.mark.parametrize(
    "text",
    [
        "# SNAP\n# Nodes: 3\n1\t2\n2\t1\n2\t3\n3\t3\n",
        "% a comment\n1 2\n\n2   3 0.5\n",
        "1,2\r\n2,3\r\n",
        "1;2\n2;3",
        "x|y\ny|z\n",
        "\ufeff1 2\n2 3\n",
        "1 2\r2 3\r",
        "# one sign\n% another\n  # and indented\n1\t2\n% between\n2\t3\n",
        "\n\n1\t 2\t7\n2 \t3\n\n",
        "1,2\n2 3\n3;2\n1|2\n2\t1\n",
        '"1","2"\n"2", 3\n',
        '"1" "2" 5\n"3" 2\n',
        "1 2 {}\n2 3 {'weight': 1, 'since': 2}\n",
        "Ann Lee,Bob\nBob,Cy Lee\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_text_without_names_above_its_columns(tmp_path: Path, text: str, packed: bool) -> None:
    path = tmp_path / ("edges.txt.gz" if packed else "edges.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert shape(path, PLAIN) == (6, 2, [2, 1, 1, 0, 0, 0])


EDGE = st.text('01ab \t,;|"{}#%', max_size=12)


@given(st.lists(EDGE, min_size=1, max_size=4), st.lists(EDGE, max_size=4))
def test_every_line_is_read_by_itself(before: list[str], after: list[str]) -> None:
    """Whatever it holds: what lines are read as together, each is read as alone."""

    def ends(lines: list[str]) -> list[tuple[str | None, ...]]:
        return reading._parsed("\n".join(lines).encode()).rows()

    assert ends(before + after) == [end for line in before + after for end in ends([line])]


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ('"Lee, Ann",Bob', ("Lee, Ann", "Bob")),
        ('"a ""b""" c', ('a "b"', "c")),
        ("Ann Lee, Bob,7", ("Ann Lee", "Bob")),
        ("a,b\tc", ("a,b", "c")),
        ('5" a, 6" b', ('5" a', '6" b')),
        ("1 2 {'weight': 1, 'since': 2}", ("1", "2")),
        ("{1,2},{3}", ("{1", "2}")),
    ],
)
def test_the_two_ends_of_a_line(line: str, ends: tuple[str, str]) -> None:
    assert reading._parsed(line.encode()).rows() == [ends]


def test_files_tables_and_objects_give_the_same_graph(tmp_path: Path) -> None:
    known = networkx_graph("karate")
    rows = pl.DataFrame(list(known.edges()), schema=["from", "to"], orient="row")
    rows.write_csv(tmp_path / "k.csv")
    rows.write_csv(tmp_path / "k.tsv", separator="\t")
    rows.write_parquet(tmp_path / "k.parquet")
    with sqlite3.connect(tmp_path / "k.db") as base:
        base.execute('create table links ("from" int, "to" int)')
        base.executemany("insert into links values (?, ?)", rows.rows())
    base.close()
    schema = Schema.from_yaml("{kind: graph, edges: {nodes: 34}}")
    expected = shape(rows, schema)
    assert expected[:2] == (34, 78)
    for source in (
        tmp_path / "k.csv",
        tmp_path / "k.tsv",
        tmp_path / "k.parquet",
        rows.to_pandas(),
        known,
        nx.to_scipy_sparse_array(known),
    ):
        assert shape(source, schema) == expected
    plain = Schema.from_yaml("{kind: graph, edges: {nodes: 34, header: false}}")
    assert shape(tmp_path / "k.parquet", plain) == expected  # whose columns always have names
    assert shape(f"sqlite:///{tmp_path / 'k.db'}", schema, table="links") == expected


@pytest.mark.parametrize(
    "address", ["spark:///data/edges.parquet", "sc://someone:secret@cluster:15002", "Spark://"]
)
def test_spark_is_refused_for_graphs_before_it_is_started_and_before_anything_is_spent(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `--engine spark` is: the edges would come into memory, where Spark is for those that do not fit."""

    def started(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("penstock.engine.connection._connected", started)
    schema = Schema.from_yaml("{kind: graph, edges: {nodes: 34}}")
    with pytest.raises(
        DataError, match=r"graphs are not counted on Spark.*Write the edges to a file"
    ) as caught:
        penstock.release(address, schema, epsilon=1, table="links", out=tmp_path / "out")
    assert "secret" not in str(caught.value)
    with pytest.raises(DataError, match="graphs are not counted on Spark"):
        reading._refuse_too_many(cast(Source, OnSpark()))
    assert not list(tmp_path.iterdir())


class OnSpark:
    """A table of Spark that somebody hands over from Python."""

    label = "the Ibis table"
    name = "pyspark"

    def table(self) -> OnSpark:
        return self

    def get_backend(self) -> OnSpark:
        return self


def test_a_table_of_more_edges_than_memory_is_meant_for_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlite3.connect(tmp_path / "k.db") as base:
        base.execute('create table links ("from" int, "to" int)')
        base.executemany("insert into links values (?, ?)", [(0, 1), (1, 2), (2, 3)])
    base.close()
    schema, url = Schema.from_yaml("{kind: graph, edges: {nodes: 34}}"), f"sqlite:///{tmp_path / 'k.db'}"
    assert shape(url, schema, table="links")[1] == 3
    monkeypatch.setattr(reading, "MOST_EDGES", 2)
    monkeypatch.setattr(DatabaseSource, "frame", lambda *_: pytest.fail("the edges were read"))
    with pytest.raises(DataError, match="has 3 rows, and a graph is held in memory, which takes at most 2"):
        penstock.release(url, schema, epsilon=1, table="links")


def test_nodes_are_never_read_off_the_edges() -> None:
    rows = pl.DataFrame({"from": ["a"], "to": ["b"]})
    assert shape(rows, SIX)[0] == 6
    with pytest.raises(SchemaError, match="which nodes there are"):
        Graph.open(rows, Schema.from_yaml("{kind: graph, fields: [{name: node, type: boolean}]}"))
    for text in ("{kind: graph}", "{kind: graph, edges: {from: a, to: b}}"):
        with pytest.raises(SchemaError, match="which nodes there are"):
            Schema.from_yaml(text)


def test_a_word_among_numbers_changes_nothing_about_the_others() -> None:
    """'01' is the node 1 whether or not there is a name in the column: else one edge would move many."""
    numbers = pl.DataFrame({"from": ["1", "01", " 2"], "to": ["3", "3", "003"]})
    words = pl.concat([numbers, pl.DataFrame({"from": ["x"], "to": ["y"]})])
    assert shape(numbers, SIX) == (6, 2, [2, 1, 1, 0, 0, 0])
    assert shape(words, SIX) == (6, 3, [2, 1, 1, 1, 1, 0])
    mixed = pl.DataFrame({"from": [1, 2], "to": ["01", "1"]})
    assert shape(mixed, SIX)[1] == 1


def test_named_and_numbered_nodes() -> None:
    rows = pl.DataFrame({"a": ["ann", "bob"], "b": ["bob", "dan"]})
    assert shape(rows, NAMED) == (4, 2, [2, 1, 1, 0])
    numbers = pl.DataFrame({"from": [10, 11], "to": ["14", "10"]})
    assert shape(numbers, NUMBERED) == (5, 2, [2, 1, 1, 0, 0])
    assert shape(sp.csr_array(np.eye(4, k=1)), NAMED) == (4, 3, [2, 2, 1, 1])


@pytest.mark.parametrize(
    ("rows", "schema", "words"),
    [
        ({"a": ["ann"], "b": ["eve"]}, NAMED, "'eve' in row 1 is no node of the schema"),
        ({"a": ["ann", "bob"], "b": ["cy", "NA"]}, NAMED, "'NA' in row 2 is no node of the schema"),
        ({"from": [10], "to": [15]}, NUMBERED, "there is no node 15"),
        ({"from": ["10"], "to": ["x"]}, NUMBERED, "'x' in row 1 is not a whole number"),
        ({"from": [1, -1], "to": [2, 3]}, SIX, "negative"),
        ({"from": [1, None], "to": [2, 3]}, SIX, "row 2 has no node"),
        ({"from": [1.0, float("nan")], "to": [2, 3]}, SIX, "row 2 has no node"),
        ({"from": [[1], [2]], "to": [2, 3]}, SIX, "no names or numbers"),
        ({"from": [b"1", b"2"], "to": [2, 3]}, SIX, "no names or numbers"),
        ({"from": list(range(4)), "to": list(range(4, 8))}, SIX, "more than the 6 nodes"),
        ({"source": [1], "to": [2]}, SIX, "no such column"),
    ],
)
def test_edges_that_do_not_fit_are_refused(rows: dict[str, list[object]], schema: Schema, words: str) -> None:
    with pytest.raises(DataError, match=words) as caught:
        Graph.open(pl.DataFrame(rows), schema)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["1 2\n3\n", "1\t2\n\t3\n", "1,2\n3,\n", "5\n"])
def test_a_line_that_is_no_edge_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=r"line \d is no edge"):
        Graph.open(path, PLAIN)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Graph.open(tmp_path / "none.txt", PLAIN)
    with pytest.raises(DataError, match="no file of records is there"):
        Graph.open(tmp_path, PLAIN)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(DataError, match="a pipe or a device"):
        Graph.open(tmp_path / "pipe.txt", PLAIN)
    (tmp_path / "bytes.txt").write_bytes(b"1 \xff\n")
    with pytest.raises(DataError, match="UTF-8"):
        Graph.open(tmp_path / "bytes.txt", PLAIN)
    (tmp_path / "half.txt.gz").write_bytes(gzip.compress(b"1 2\n" * 100)[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        Graph.open(tmp_path / "half.txt.gz", PLAIN)
    (tmp_path / "comments.txt").write_text("# nothing\n", encoding="utf-8")
    assert shape(tmp_path / "comments.txt", PLAIN) == (6, 0, [0] * 6)


def test_matrices_and_networkx_graphs_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="7 x 7"):
        Graph.open(sp.csr_array(np.eye(7)), SIX)
    with pytest.raises(DataError, match="more than the 6 nodes"):
        Graph.open(nx.path_graph(7), SIX)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{kind: graph, edges: {nodes: 0}}", "nodes is 0"),
        ("{kind: graph, edges: {nodes: 2000000000}}", "from 1 to 100000000"),
        ("{kind: graph, edges: {from: a, to: a, nodes: 3}}", "Name two columns"),
        ("{kind: graph, edges: {nodes: 3}, unit: {protects: edge, at_most: 0}}", "at_most"),
        ("{kind: graph, edges: {nodes: 3}, unit: {protects: record}}", "edge"),
        ("{kind: graph, edges: {nods: 3}}", "did you mean 'nodes'"),
    ],
)
def test_schemas_that_cannot_be_meant(text: str, words: str) -> None:
    with pytest.raises(PenstockError, match=words):
        Schema.from_yaml(text)


def test_a_field_must_agree_with_the_number_of_nodes() -> None:
    twice = NAMED.model_dump(by_alias=True, exclude_defaults=True)
    twice["edges"]["nodes"] = 5
    with pytest.raises(SchemaError, match="names 4 nodes"):
        nodes_of(Schema.model_validate(twice))


def test_schemas_of_graphs_are_written_and_read_again() -> None:
    for schema in (SIX, PLAIN, NAMED, NUMBERED):
        assert Schema.from_yaml(schema.to_yaml()) == schema


def test_a_draft_proposes_the_nodes_it_saw_for_review(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("# edges\n0\t1\n1\t2\n", encoding="utf-8")
    proposal = penstock.draft(path, kind="graph")
    assert nodes_of(proposal) == 3
    assert proposal.to_review() == ["node", "unit"]
    with pytest.raises(SchemaError, match="not yet reviewed"):
        penstock.release(path, proposal, epsilon=1)
    with pytest.raises(UsageError, match="private"):
        penstock.draft(path, kind="graph", epsilon=1)
    rows = pl.DataFrame({"src": [1, 2], "dst": [2, 3]})
    unseen = penstock.draft(rows, kind="graph", headers_only=True)
    assert nodes_of(unseen) == 1
    assert unseen.to_review() == ["node", "unit"]


@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("ca-GrQc", 5242, 14484), ("ca-HepTh", 9877, 25973), ("as20000102", 6474, 12572)],
)
def test_published_graphs(name: str, nodes: int, edges: int) -> None:
    path = DATA / f"{name}.txt.gz"
    if not path.exists():
        pytest.skip("the public graphs are not here")
    schema = Schema.from_yaml(f"{{kind: graph, edges: {{nodes: {nodes}, header: false}}}}")
    assert shape(path, schema)[:2] == (nodes, edges)
