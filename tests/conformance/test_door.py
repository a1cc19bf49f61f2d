"""One more unit, in any type of source, changes no other unit's codes and no public decision.

Types are inferred, rows ordered, users' records sampled and engines chosen when records are opened. All of it
happens before anything is paid for, so none of it may depend on them. A replay shows it: if one more unit
changed the codes of another, a histogram would move by more than its sensitivity and lose more than was
paid, exactly; and a public decision that changed would show in what is published or asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from penstock import catalogue
from penstock.audit.hostile import Ground, both_ways, trial
from penstock.audit.neighbours import Pair
from penstock.audit.replay import Replays
from penstock.audit.replays import grounds, usable
from penstock.audit.targets import every_audit
from penstock.catalogue import KindInfo, MethodInfo
from penstock.privacy.unit import Relation

Source = Callable[[pl.DataFrame, Path], tuple[Any, str | None]]


def file_for(frame: pl.DataFrame, place: Path, suffix: str) -> Path:
    """A file of these records alone: what was opened before is still read when others are written."""
    content = f"{frame.schema} {frame.rows()}".encode()
    return place / f"{hashlib.sha256(content).hexdigest()}.{suffix}"


def csv(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    path = file_for(frame, place, "csv")
    frame.write_csv(path, quote_style="non_numeric")
    return path, None


def parquet(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    path = file_for(frame, place, "parquet")
    frame.write_parquet(path)
    return path, None


def pandas(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    """As people have them: a column of integers becomes one of doubles as soon as a value is missing."""
    return __import__("pandas").DataFrame(frame.to_dict(as_series=False), columns=frame.columns), None


def polars(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    return frame, None


def lazily(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    return frame.lazy(), None


def database(frame: pl.DataFrame, place: Path) -> tuple[Any, str | None]:
    path = file_for(frame, place, "duckdb")
    if not path.exists():  # grounds may have the same records under other schemas
        with duckdb.connect(str(path)) as connection:
            connection.register("given", frame.to_arrow())
            connection.execute("CREATE TABLE records AS SELECT * FROM given")
    return f"duckdb:///{path}", "records"


def plainest(kind: str) -> MethodInfo:
    """The first method of a kind: records are opened before any method sees them, so one tells as much as
    another, and a plain one that counts every value tells it soonest."""
    return catalogue.methods(kind)[0]


SOURCES: tuple[Source, ...] = (csv, parquet, pandas, polars, lazily, database)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
@pytest.mark.parametrize("kind", catalogue.kinds(), ids=lambda kind: kind.name)
def test_one_more_unit_changes_nothing_but_itself(kind: KindInfo, source: Source, tmp_path: Path) -> None:
    info = plainest(kind.name)
    every = every_audit()
    accepted = {setting.ground.label: setting for setting in usable(info, every)[::-1]}
    tried = 0
    for ground in grounds(info, every):
        setting = accepted.get(ground.label)
        if setting is None or setting.relation is not Relation.ADD_REMOVE:
            continue
        made = replace(setting.trial(info.name), engine="auto", source=lambda frame: source(frame, tmp_path))
        pairs = list(ground.pairs(Relation.ADD_REMOVE))
        for number, pair in enumerate(pairs[:: max(1, len(pairs) // 3)]):
            found, _ = both_ways(made, ground, Relation.ADD_REMOVE, pair, number)
            assert not found.problems, found.problems[0]
            tried += found.number
    assert tried > 0


SIGNS = (" ", ", ", "; ", " | ", "\t")


def test_one_more_line_changes_no_other_edge(tmp_path: Path) -> None:
    """Every line of an edge list has signs of its own between its ends, and none says how others are read."""

    def lines(frame: pl.DataFrame) -> tuple[Any, str | None]:
        rows = [SIGNS[sum(map(ord, one + two)) % len(SIGNS)].join((one, two)) for one, two in frame.rows()]
        path = file_for(frame, tmp_path, "txt")
        path.write_text("\n".join(rows), encoding="utf-8")
        return path, None

    edges = (("a", "b"), ("b", "c"), ("a", "c"), ("a", "d"), ("b", "d"), ("c", "d"), ("d", "d"))
    ground = Ground("lines", "{kind: graph, edges: {nodes: 9, header: false}}", edges, ("from", "to"))
    made = replace(trial(ground, "degree-sequence", Relation.ADD_REMOVE, 0), source=lines)
    found = Replays()
    for number, pair in enumerate(ground.pairs(Relation.ADD_REMOVE)):
        found = found + both_ways(made, ground, Relation.ADD_REMOVE, pair, number)[0]
    assert not found.problems, found.problems[0]
    assert found.number > 20


AGES = """
unit: {protects: user, column: person, at_most: 2}
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 4}, outside: other,
     missing: value}
  - {name: code, constraints: {enum: ['1', '2', '03']}, outside: other, missing: value}
"""
ODD = (("1.5", "1"), ("", "03"), ("1e30", "2"), ("about 40", "3.0"), ("2020-01-01", "x"), ("17", ""))


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("source", [csv, parquet, pandas, polars, database], ids=lambda one: one.__name__)
def test_one_odd_value_changes_no_type_of_the_others(
    source: Source, odd: tuple[str, str], tmp_path: Path
) -> None:
    """A real number, a text, nothing or a date among whole numbers: the others stay what they were."""
    method = plainest("table").name
    ground = Ground("ages as text", AGES, (("17", "1"), ("42", "2"), ("99", "03"), odd))
    usual = tuple(((record,) * 2) for record in ground.records[:3]) * 2
    made = replace(
        trial(ground, method, Relation.ADD_REMOVE, 0), source=lambda frame: source(frame, tmp_path)
    )
    found = Replays()
    for pair in ground.pairs(Relation.ADD_REMOVE):
        if odd in [record for unit in pair.second for record in unit]:
            crowd = replace(pair, first=(*usual, *pair.first), second=(*usual, *pair.second))
            found = found + both_ways(made, ground, Relation.ADD_REMOVE, crowd, 1)[0]
    assert not found.problems, found.problems[0]
    assert found.number > 0


OBJECTS: tuple[object, ...] = ([1, 2], {"key": 1}, 1 + 2j, b"1", np.array([1]), object())


@pytest.mark.parametrize(
    ("odd", "engine"),
    [*((each, "memory") for each in OBJECTS), (OBJECTS[0], "duckdb")],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_one_odd_object_in_a_pandas_frame_is_an_odd_value(odd: object, engine: str) -> None:
    """And no reason to refuse the release, nor to read the others differently."""
    method = plainest("table").name
    ground = Ground("ages as numbers", AGES, ((17, 1), (42, 2), (99, 3), (-1, 2)))

    def source(frame: pl.DataFrame) -> tuple[Any, str | None]:
        made = frame.to_pandas()
        made["age"] = type(made)({"age": [odd if value == -1 else value for value in made["age"]]})["age"]
        return made, None

    made = replace(trial(ground, method, Relation.ADD_REMOVE, 0), engine=engine, source=source)
    crowd = tuple(((record,) * 2) for record in ground.records[:3])
    strange = (((-1, 2),),)
    found = Replays()
    for rest in ((), crowd):
        found = found + both_ways(made, ground, Relation.ADD_REMOVE, Pair(rest, (*rest, *strange)), 1)[0]
    assert not found.problems, found.problems[0]
    assert found.number == 4
    assert found.share > 0.1
