"""Spark on this machine: the same releases, a bounded number of jobs, and nothing but counts collected.

One Java machine serves all of these tests; where there is no Java, or no Spark, they are skipped. Java here
compiles quickly and not well: what it runs is the same, and most of it runs once.
"""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from tests.engine.fetching import WIDE, assert_only_tables_are_fetched, watched, wide
from tests.engine.test_postgres import BASKETS, OWNED, VISITS
from tests.kinds.calls.town import SCHEMA, commuters
from tests.test_one_release_on_every_engine import POINTS, TABLE

import penstock
from penstock.engine import IbisEngine, Within, open_engine
from penstock.engine.database import Numbers
from penstock.engine.limits import Limits
from penstock.engine.spark import Spark, _locally
from penstock.engine.strings import cut_up
from penstock.errors import DataError
from penstock.schema import Schema

# The sockets by which Spark hands over results are closed when they are collected.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
ROOT = Path(__file__).resolve().parents[2]
USERS = "unit: {protects: user, column: who, at_most: 2}\n"
GROUP = "penstock tests"
QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PAIRS = BASKETS.replace("largest: 4", "largest: 2")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="Spark is not installed (penstock[spark])")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Spark needs Java, and there is none (Debian: openjdk-17-jre-headless)")
    from penstock.engine.spark import connected

    with pytest.MonkeyPatch.context() as patch:  # also for the commands that start a Spark of their own
        patch.setenv("JAVA_TOOL_OPTIONS", f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {QUICKLY}".strip())
        backend = connected()
        context = backend._session.sparkContext
        context.setJobGroup(GROUP, GROUP)
        yield backend
        backend._session.stop()


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(3)
    ages = pl.Series("age", rng.integers(0, 100, 400)).cast(pl.String)
    frame = pl.DataFrame(
        {
            "job": rng.choice(["cook", " nurse", "clerk", "spy"], 400),
            "age": ages.set(pl.Series(rng.random(400) < 0.1), None),
            "income": rng.normal(2000, 1500, 400),
            "who": rng.integers(0, 30, 400).astype(float),
        }
    )
    path = tmp_path_factory.mktemp("spark") / "people.parquet"
    frame.write_parquet(path)
    return path


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The queries whose results come back."""
    found: list[str] = []
    plain = Spark.answered

    def answered(database: Spark, query: str, names: Sequence[str]) -> dict[str, Numbers]:
        found.append(query)
        return plain(database, query, names)

    monkeypatch.setattr(Spark, "answered", answered)
    return found


def jobs(backend: Any) -> int:
    return len(backend._session.sparkContext.statusTracker().getJobIdsForGroup(GROUP))


# Jobs that a method may take on top of reading the file's footer: two for a question (its shuffle and its
# result), two for filling the cache, one for handing over a list.
BOUNDS = [
    ("independent", TABLE, 10),
    ("independent", USERS + TABLE, 16),
    ("confluence", TABLE, 16),
    ("privbayes", TABLE, 24),
    ("privtree", POINTS, 16),
    ("uniform-grid", USERS + POINTS.lstrip(), 16),
]


@pytest.mark.parametrize(("method", "schema", "most"), BOUNDS)
def test_spark_gives_the_release_of_memory_in_a_bounded_number_of_jobs(
    spark: Any, people: Path, collected: list[str], method: str, schema: str, most: int
) -> None:
    facts = Schema.from_yaml(schema)
    before = jobs(spark)
    made = penstock.release(f"spark://{people}", facts, epsilon="1/2", method=method, seed=8)
    assert jobs(spark) - before <= most
    assert all(re.search(r"COUNT\(|SUM\(", query) for query in collected)
    expected = penstock.release(people, facts, epsilon="1/2", method=method, seed=8, engine="memory")
    assert made.model().json == expected.model().json
    for name, table in expected.model().tables.items():
        assert table.equals(made.model().tables[name])


# The same for lists: so many jobs, and so many more for each level of a tree, wave of parts that are divided
# together, length, string or size. How many of these there are is public, or found afterwards (None).
LISTS: list[tuple[str, str, dict[str, Any], int, int, int | None]] = [
    ("privtree-sequences", OWNED + VISITS, {}, 20, 3, None),
    ("n-gram", VISITS, {"longest_gram": 3}, 12, 3, 3),
    ("top-strings", VISITS, {"many": 3}, 10, 2, 3),
    ("sluice", BASKETS, {}, 24, 0, 0),
    ("diffpart", PAIRS, {"fan_out": 4}, 10, 5, None),
    ("privtree-sets", PAIRS, {"fan_out": 4}, 10, 5, None),
    ("top-sets", BASKETS, {"k": 3, "longest": 2}, 16, 3, 2),
    ("select-items", OWNED + BASKETS, {"c": 3}, 16, 0, 0),
]


# Of calls: so many jobs, and so many more for each round of 2-means.
CALLS: list[tuple[str, dict[str, Any], int, int, int]] = [
    ("dp-where", {"depth": 3, "rounds": 2}, 36, 2, 2),
    (
        "dp-where-published",
        {"side": 8, "commute_side": 1, "most_mean": 9, "most_deviation": 9, "rounds": 2},
        36,
        2,
        2,
    ),
]


@pytest.mark.parametrize("case", CALLS, ids=[case[0] for case in CALLS])
def test_spark_counts_calls_and_no_result_has_a_line_for_a_caller(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: tuple[Any, ...]
) -> None:
    method, parameters, most, each, rounds = case
    questions = watched(monkeypatch)
    commuters(500).write_parquet(tmp_path / "calls.parquet")
    asked: dict[str, Any] = {"epsilon": 9, "method": method, "seed": 8, "parameters": parameters}
    before = jobs(spark)
    made = penstock.release(f"spark://{tmp_path}/calls.parquet", SCHEMA, **asked)
    taken = jobs(spark) - before
    expected = penstock.release(tmp_path / "calls.parquet", SCHEMA, engine="memory", **asked)
    assert made.model().json == expected.model().json
    assert all(table.equals(made.model().tables[name]) for name, table in expected.model().tables.items())
    assert taken <= most + each * rounds
    lengths = [max(tables) for tables in questions]
    assert 5 < len(lengths) < 25
    assert max(lengths) <= 24 * 64  # of calls by the hour and cell; all else is shorter than the callers
    assert sorted(lengths)[-2] < 450


def test_spark_is_handed_a_long_list_of_items_for_as_long_as_it_needs_it(spark: Any, visits: Path) -> None:
    """More categories than are compared one by one."""
    pages = ", ".join(f"p{number}" for number in range(300))
    for schema, method, parameters in ((BASKETS, "select-items", {"c": 3}), (VISITS, "n-gram", {})):
        facts = Schema.from_yaml(re.sub(r"enum: \[[^\]]*\]", f"enum: [{pages}]", schema))
        assert len(facts.field("page").labels) == 300
        asked: dict[str, Any] = {"epsilon": 60, "method": method, "seed": 8, "parameters": parameters}
        made = penstock.release(spark.read_parquet(str(visits)), facts, **asked)
        expected = penstock.release(visits, facts, engine="memory", **asked)
        assert made.model().json == expected.model().json


def test_the_guide_says_how_many_jobs_a_method_takes() -> None:
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text(encoding="utf-8")
    table = page.split("| method | jobs at most |", 1)[1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| (.+) \| (\d+)(?:, and (\d+) for each .*)? \|$", table, re.MULTILINE)
    said = [
        (method, int(most), int(each or 0))
        for names, most, each in rows
        for method in re.findall("`([^`]+)`", names)
    ]
    held = [(method, most, 0) for method, _, most in BOUNDS]
    held += [(method, most, each) for method, _, _, most, each, _ in LISTS]
    held += [(method, most, each) for method, _, most, each, _ in CALLS]
    assert sorted(said) == sorted(held)


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    pages = np.minimum(rng.geometric(0.3, 300) - 1, 19)
    frame = pl.DataFrame(
        {
            "visit": [f"v{number}" for number in rng.integers(0, 60, 300)],
            "at": rng.permutation(300),
            "page": [f"p{page}" for page in pages.tolist()],
            "who": rng.integers(0, 25, 300),
        }
    )
    path = tmp_path_factory.mktemp("spark") / "visits.parquet"
    frame.write_parquet(path)
    return path


@pytest.mark.parametrize("case", LISTS, ids=[case[0] for case in LISTS])
def test_spark_counts_sequences_and_item_sets_in_a_bounded_number_of_jobs(
    spark: Any, visits: Path, collected: list[str], case: tuple[Any, ...]
) -> None:
    method, schema, parameters, most, each, steps = case
    facts = Schema.from_yaml(schema)
    asked: dict[str, Any] = {"epsilon": 60, "method": method, "seed": 8, "parameters": parameters}
    before = jobs(spark)
    made = penstock.release(f"spark://{visits}", facts, **asked)
    taken = jobs(spark) - before
    assert all(re.search(r"COUNT\(|SUM\(", query) for query in collected)
    expected = penstock.release(visits, facts, engine="memory", **asked)
    assert made.model().json == expected.model().json
    assert all(table.equals(made.model().tables[name]) for name, table in expected.model().tables.items())
    if steps is None:
        waves = sum("`mask`" in query for query in collected)
        steps = made.shape.depth if method == "privtree-sequences" else waves
        assert steps
    assert taken <= most + each * steps


def test_every_question_of_an_engine_is_answered_as_in_memory(spark: Any, people: Path) -> None:
    table = Schema.from_yaml(TABLE)
    given = spark.read_parquet(str(people))  # a connection that somebody hands over
    ours, theirs = open_engine(given, table), open_engine(people, table)
    asked = [("job", "age"), ("age", "income"), (), ("income",), ("job", "age", "income")]
    assert all(
        np.array_equal(one, two) for one, two in zip(ours.counts(asked), theirs.counts(asked), strict=True)
    )
    assert all(
        np.array_equal(one, two)
        for one, two in zip(ours.distinct(["age", "job"]), theirs.distinct(["age", "job"]), strict=True)
    )
    points = Schema.from_yaml(POINTS)
    ours = open_engine(people, points, engine="spark", coordinates=True)
    theirs = open_engine(people, points, coordinates=True)
    names = ["age", "income"]
    within = Within(names, [2, 3], np.array([[0, 1], [3, 7], [2, 2]]))
    centres = np.random.default_rng(1).integers(0, 1 << 9, (20, 2))
    for question in (
        lambda engine: engine.lattice(names, 30),
        lambda engine: engine.lattice(names, 12, within),
        lambda engine: [engine.grid(names, 20, [5, 7])],
        lambda engine: engine.nearest(names, 8, centres),
        lambda engine: engine.moments(names, 10),
    ):
        for one, two in zip(question(ours), question(theirs), strict=True):
            assert np.array_equal(one, two)


def test_very_many_marginals_are_counted_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide().write_parquet(tmp_path / "wide.parquet")
    engine = open_engine(tmp_path / "wide.parquet", WIDE, engine="spark")
    assert_only_tables_are_fetched(engine, monkeypatch)


def test_the_cache_goes_with_the_engine(spark: Any, people: Path) -> None:
    """And with nothing else: what it was made of is dropped before."""
    engine = open_engine(spark.read_parquet(str(people)), Schema.from_yaml(USERS + TABLE))
    assert isinstance(engine, IbisEngine)
    gc.collect()
    name = engine._stored.table.get_name()
    assert spark._session.catalog.isCached(name)
    kept = spark._session.sparkContext._jsc.getPersistentRDDs().size()
    del engine
    gc.collect()
    assert name not in [table.name for table in spark._session.catalog.listTables()]
    assert spark._session.sparkContext._jsc.getPersistentRDDs().size() == kept - 1


def test_spark_cuts_texts_at_the_very_sign(spark: Any) -> None:
    """A separator is no pattern, and a list without values stays a row."""
    given = pa.array(["a|b.c", " x||y ", "", None])
    database = Spark(spark)
    found = cut_up(database.listed({"s": given}), "s", "|", {}).to_polars().sort("row", "place")
    assert found["token"].to_list() == ["a", "b.c", "x", "", "y", None, None]
    assert found["place"].to_list() == [0, 1, 0, 1, 2, None, None]


CONNECTED = """
import json, sys
import ibis, penstock
from pyspark.sql import SparkSession

server, people, visits, table, baskets = sys.argv[1:]
spark = ibis.pyspark.connect(SparkSession.builder.remote(server).getOrCreate())
for path, schema, method in ((people, table, "independent"), (visits, baskets, "top-sets")):
    facts = penstock.Schema.from_yaml(schema)
    release = penstock.release(spark.read_parquet(path), facts, epsilon=1, method=method, seed=8)
    print(json.dumps(release.model().json, sort_keys=True))
"""


def test_a_spark_connect_connection_gives_the_same_releases(spark: Any, people: Path, visits: Path) -> None:
    """The Java machine of these tests also serves Connect; its client needs a process of its own."""
    pytest.importorskip("grpc", reason="Spark Connect needs gRPC (penstock[spark])")
    pytest.importorskip("grpc_status", reason="Spark Connect needs gRPC (penstock[spark])")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = spark._session.sparkContext
    settings = context._jsc.sc().conf()
    settings.set("spark.connect.grpc.binding.address", "127.0.0.1")
    settings.set("spark.connect.grpc.binding.port", str(port))
    service = context._jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(context._jsc.sc())
    schemas = (USERS + TABLE, OWNED + BASKETS)
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED, f"sc://127.0.0.1:{port}", str(people), str(visits), *schemas],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr, done.stderr
    expected = [
        penstock.release(path, Schema.from_yaml(schema), epsilon=1, method=method, seed=8).model().json
        for path, schema, method in zip((people, visits), schemas, ("independent", "top-sets"), strict=True)
    ]
    assert [json.loads(line) for line in done.stdout.splitlines()] == json.loads(json.dumps(expected))


def test_what_spark_does_not_read_alike_is_refused(people: Path, tmp_path: Path) -> None:
    pl.read_parquet(people).write_csv(tmp_path / "people.csv")
    with pytest.raises(DataError, match="Spark reads Parquet files and its own tables"):
        open_engine(tmp_path / "people.csv", Schema.from_yaml(TABLE), engine="spark")


def test_a_missing_java_is_named(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.engine import spark as module

    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(DataError, match="Spark needs Java 17"):
        module._refuse_without_java()


def test_a_spark_on_this_machine_keeps_the_limits_and_writes_into_its_owners_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What goes from step to step is written to disk, where Spark lets everybody read it."""
    removed: list[Any] = []
    monkeypatch.setattr("penstock.engine.spark.atexit.register", removed.append)
    found = _locally(Limits(memory=4 << 30, threads=3, spill=tmp_path))
    assert (found["spark.master"], found["spark.driver.memory"]) == ("local[3]", "2048m")
    folder = Path(found["spark.local.dir"])
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    removed[0]()
    assert not folder.exists()
    with pytest.raises(DataError, match="Spark writes records to disk"):
        _locally(Limits(spill=False))


def test_the_commands_of_the_tutorial_run(spark: Any, tmp_path: Path) -> None:
    """Each as it is printed, in a process of its own where it is a command."""
    page = (ROOT / "docs" / "guide" / "cluster.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(console|python)\n(.*?)```", page, re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = 0
    for language, text in blocks:
        if language == "python":
            exec(compile(text.replace("/data/", f"{tmp_path}/"), "cluster.md", "exec"), {})
            ran += 1
            continue
        for line in text.splitlines():
            assert line.startswith("$ "), line
            done = subprocess.run(
                ["bash", "-c", line[2:].replace("/data/", f"{tmp_path}/")],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            ran += 1
    assert ran == 4
    same = [(tmp_path / name / "model.json").read_bytes() for name in ("laptop", "spark")]
    assert same[0] == same[1]
