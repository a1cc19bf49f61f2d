"""How fast is PrivTree? Against sorting the same points, reading the same file, and larger than memory.

python studies/privtree_speed.py                    # everything, about ten minutes
python studies/privtree_speed.py --only duckdb      # one of memory, msnbc, duckdb, boxes, strings
python studies/privtree_speed.py --points 2e6       # fewer points

Seconds are processor seconds of this process, so that a busy machine does not decide; only DuckDB, which
has a process of its own and one thread, is timed by the clock.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from frame.points import skew2d
from frame.sequences import msnbc, speed
from frame.store import RESULTS
from penstock.engine import open_engine
from penstock.kinds.points.box import random_boxes
from penstock.kinds.points.data import Points
from penstock.kinds.points.privtree import PrivTree
from penstock.kinds.points.tree import TreeRelease
from penstock.kinds.sequences.release import MarkovRelease
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences
from penstock.privacy.budgets.budget import Budget
from penstock.releases import load
from penstock.schema import Schema

T = TypeVar("T")
Row = tuple[str, str, str, str]
VOLUMES = {"small": (0.0001, 0.001), "medium": (0.001, 0.01), "large": (0.01, 0.1)}


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def holds(good: bool) -> str:
    return "holds" if good else "does not hold"


def framed(count: int) -> pl.DataFrame:
    points = skew2d(count).points
    return pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})


def in_memory(count: int, schema: Schema) -> Iterator[Row]:
    """From a frame of points to a release, in units of one sort of the same points."""
    frame = framed(count)
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    sorting, _ = timed(lambda: np.lexsort((y, x)))
    opening, opened = timed(lambda: Points.open(frame, schema))
    fitting, release = timed(lambda: PrivTree().fit(opened, Budget(1)))
    ratio = (opening + fitting) / sorting
    yield (
        f"{count:,} points in memory to a release of {len(release.counts):,} leaves",
        f"{opening:.1f} s reading and checking, {fitting:.1f} s PrivTree; np.lexsort {sorting:.1f} s",
        f"{ratio:.2f} sorts (at most 5)",
        holds(ratio <= 5),
    )


def visits() -> Iterator[Row]:
    """From the file of msnbc to a release, in units of reading and coding it."""
    took = speed()
    ratio = (took["reading"] + took["fitting"]) / took["reading"]
    yield (
        "msnbc, 989,818 sequences, from the file to a release",
        f"{took['reading']:.2f} s reading and coding, {took['fitting']:.2f} s PrivTree",
        f"{ratio:.2f} readings (at most 5)",
        holds(ratio <= 5),
    )


def range_counts(schema: Schema, queries: int) -> Iterator[Row]:
    """A million boxes on saved releases, of three sizes and on three trees."""
    places = ((100_000, "skewed"), (1_000_000, "skewed"), (1_000_000, "even"))
    for count, name in places:
        points = np.random.default_rng(0).random((count, 2))
        frame = framed(count) if name == "skewed" else pl.DataFrame(points, schema=["x", "y"])
        with tempfile.TemporaryDirectory() as place:
            PrivTree().fit(Points.open(frame, schema), Budget(1)).save(Path(place) / "release")
            release = load(Path(place) / "release")
        assert isinstance(release, TreeRelease)
        seconds, bars, rates = 0.0, 0.0, {}
        for size, volumes in VOLUMES.items():
            boxes = random_boxes(np.zeros(2), np.ones(2), volumes, queries // 3, np.random.default_rng(1))
            took, _ = timed(partial(release.range_counts, *boxes))
            more, _ = timed(partial(release.range_cells, *boxes))
            seconds, bars = seconds + took, bars + more
            rates[size] = queries // 3 / took
        each = ", ".join(f"{size} {found:,.0f}" for size, found in rates.items())
        yield (
            f"{queries:,} range counts on a saved release of {len(release.counts):,} leaves "
            f"({count:,} {name} points)",
            f"{seconds:.1f} s with the index, {bars:.1f} s more for error bars; a second: {each}",
            f"{queries / seconds:,.0f} a second (at least 50,000)",
            holds(min(rates.values()) >= 50_000),
        )


def top_strings() -> Iterator[Row]:
    """The top 100 strings of a saved release of msnbc, loading not included; and many counts."""
    data = msnbc()
    with tempfile.TemporaryDirectory() as place:
        PrivTreeSequences().fit(data.sealed, Budget(1)).save(Path(place) / "release")
        release = load(Path(place) / "release")
    assert isinstance(release, MarkovRelease)
    took, top = timed(lambda: release.top(100))
    yield (
        "top 100 strings of a saved release of msnbc, with error bars",
        f"{took:.3f} s, the model made from the saved counts included",
        f"{took:.3f} s (well under 1)",
        holds(took < 0.5),
    )
    strings = top["string"].to_list() * 100
    took, _ = timed(lambda: [release.count(string) for string in strings])
    yield (
        f"{len(strings):,} counts of strings with error bars on it",
        f"{took:.2f} s",
        f"{len(strings) / took:,.0f} a second",
        "",
    )


def in_duckdb(count: int, schema: Schema, limit: str) -> Iterator[Row]:
    """A process of its own releases a Parquet file and says what it took."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory() as place:
        path, facts = Path(place) / "points.parquet", Path(place) / "schema.yaml"
        written, batch, rng = 0, 2_000_000, np.random.default_rng(1)
        writer: pq.ParquetWriter | None = None
        while written < count:
            points = skew2d(min(batch, count - written)).points
            points = (points + rng.normal(0, 1e-4, points.shape)) % 1  # no two batches alike
            table = pa.table({"x": points[:, 0], "y": points[:, 1]})
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            written += len(points)
        assert writer is not None
        writer.close()
        schema.save(facts, overwrite=True)
        found = {
            engine: json.loads(
                subprocess.run(
                    [sys.executable, __file__, "--child", engine, str(path), str(facts), limit, place],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )
            for engine in ("memory", "duckdb")
        }
    data, memory, ours = 16 * count / (1 << 20), found["memory"], found["duckdb"]
    share = ours["limit"] / data
    yield (
        f"{count:,} points in Parquet through DuckDB with a limit of {limit} to a release of "
        f"{ours['leaves']:,} leaves",
        f"{ours['seconds']:.0f} s by the clock, the memory engine {memory['seconds']:.0f} s; peak of the "
        f"process {ours['peak']:,} MiB ({ours['before']:,} MiB of it before the file was opened), with the "
        f"memory engine {memory['peak']:,} MiB; the points alone {data:,.0f} MiB",
        f"{share:.2f} of the points (below 1)",
        holds(share < 1 and ours["peak"] < memory["peak"]),
    )


def child(engine: str, path: str, facts: str, limit: str, spill: str) -> None:
    schema = Schema.load(facts)
    before, start = _peak(), time.perf_counter()
    settings: dict[str, Any] = {"memory": limit, "threads": 1, "spill": spill} if engine == "duckdb" else {}
    points = Points(open_engine(path, schema, engine=engine, **settings), schema)
    release = PrivTree().fit(points, Budget(1))
    found = {
        "leaves": len(release.counts),
        "seconds": time.perf_counter() - start,
        "before": before,
        "peak": _peak(),
        "limit": float(limit.removesuffix("MiB")),
    }
    print(json.dumps(found))


def _peak() -> int:
    """The most memory that this process has held, in MiB; `getrusage` may speak of its parent instead."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(int(line.split()[1]) / 1024)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = ("memory", "msnbc", "duckdb", "boxes", "strings")
    parser.add_argument("--only", choices=parts, help="measure one thing, write nothing")
    parser.add_argument("--points", type=float, default=1e7)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--memory", default="128MiB", help="what DuckDB may use, in MiB")
    given = parser.parse_args()
    schema = skew2d(10).schema
    work: dict[str, Callable[[], Iterator[Row]]] = {
        "memory": lambda: in_memory(int(given.points), schema),
        "msnbc": visits,
        "duckdb": lambda: in_duckdb(4 * int(given.points), schema, given.memory),
        "boxes": lambda: range_counts(schema, given.queries),
        "strings": top_strings,
    }
    rows: list[Row] = []
    for part in parts if given.only is None else (given.only,):
        for row in work[part]():
            print(" | ".join(row), flush=True)
            rows.append(row)
    if given.only is None:
        lines = ["| what | measured | figure (aim) | |", "|---|---|---|---|"]
        table = "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "privtree_speed.md").write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
