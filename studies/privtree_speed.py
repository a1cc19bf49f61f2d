"""How fast is PrivTree over points? Against sorting the same points, and from a file larger than memory.

python studies/privtree_speed.py                 # 10 million points in memory, a million range counts
python studies/privtree_speed.py --points 2e6    # fewer
python studies/privtree_speed.py --duckdb        # Parquet points in DuckDB, under a limit on its memory

Figures: seconds from a frame to a release, in units of one `np.lexsort` of the same points (at most 5 is
the aim); range counts a second on the saved release (at least 50,000); for DuckDB, the seconds and the peak
of memory of a process that releases the points from a Parquet file.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from frame.points import skew2d
from penstock.engine import open_engine
from penstock.privacy.budget import Budget
from penstock.privacy.points import Points
from penstock.release import load
from penstock.schema import Schema
from penstock.spatial.box import random_boxes
from penstock.spatial.privtree import PrivTree
from penstock.spatial.tree import TreeRelease


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Processor seconds of this process, so that a busy machine does not decide; and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def in_memory(count: int, schema: Schema) -> None:
    points = skew2d(count).points
    frame = pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})
    sorting, _ = timed(lambda: np.lexsort((points[:, 1], points[:, 0])))
    opening, opened = timed(lambda: Points.open(frame, schema))
    assert isinstance(opened, Points)
    fitting, release = timed(lambda: PrivTree().fit(opened, Budget(1)))
    assert isinstance(release, TreeRelease)
    print(f"{count:,} points, {len(release.counts):,} leaves")
    print(f"  np.lexsort of the points       {sorting:7.2f} s")
    print(f"  reading and checking the frame {opening:7.2f} s")
    print(f"  PrivTree                       {fitting:7.2f} s")
    print(f"  from frame to release: {(opening + fitting) / sorting:.2f} times the sort")


def questions(schema: Schema, queries: int) -> None:
    for name, count in (("skewed", 100_000), ("skewed", 1_000_000), ("even", 1_000_000)):
        points = skew2d(count).points if name == "skewed" else np.random.default_rng(0).random((count, 2))
        opened = Points.open(pl.DataFrame({"x": points[:, 0], "y": points[:, 1]}), schema)
        with tempfile.TemporaryDirectory() as place:
            PrivTree().fit(opened, Budget(1)).save(Path(place) / "release")
            release = load(Path(place) / "release")
        assert isinstance(release, TreeRelease)
        rates = []
        for volumes in ((0.0001, 0.001), (0.001, 0.01), (0.01, 0.1)):
            boxes = random_boxes(np.zeros(2), np.ones(2), volumes, queries // 3, np.random.default_rng(1))
            took, _ = timed(partial(release.range_counts, *boxes))
            rates.append(queries // 3 / took)
        shown = ", ".join(f"{rate:,.0f}" for rate in rates)
        print(f"{len(release.counts):,} leaves over {count:,} {name} points: {shown} range counts a second")


def in_duckdb(count: int, schema: Schema, limit: str) -> None:
    """A process of its own releases a Parquet file and says what it took."""
    with tempfile.TemporaryDirectory() as place:
        path, facts = Path(place) / "points.parquet", Path(place) / "schema.yaml"
        written, batch, rng = 0, 2_000_000, np.random.default_rng(1)
        import pyarrow as pa
        import pyarrow.parquet as pq

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
        schema.save(facts)
        command = [sys.executable, __file__, "--child", str(path), str(facts), limit, place]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="")


def child(path: str, facts: str, limit: str, spill: str) -> None:
    start = time.perf_counter()
    schema = Schema.load(facts)
    engine = open_engine(path, schema, engine="duckdb", memory=limit, threads=1, spill=spill)
    opened = time.perf_counter() - start
    release = PrivTree().fit(Points(engine, schema), Budget(1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = Path(path).stat().st_size / (1 << 20)
    print(
        json.dumps(
            {
                "file MiB": round(size),
                "DuckDB limit": limit,
                "leaves": len(release.counts),
                "seconds reading and checking": round(opened, 1),
                "seconds in all": round(time.perf_counter() - start, 1),
                "peak MiB of the process": round(peak),
            }
        )
    )


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--points", type=float, default=1e7)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--duckdb", action="store_true")
    parser.add_argument("--memory", default="256MiB", help="what DuckDB may use")
    given = parser.parse_args()
    schema = skew2d(10).schema
    if given.duckdb:
        in_duckdb(int(given.points), schema, given.memory)
        return
    in_memory(int(given.points), schema)
    questions(schema, given.queries)


if __name__ == "__main__":
    main()
