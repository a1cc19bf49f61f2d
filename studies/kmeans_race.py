"""k-means beside other software, and how much it holds: what the studies of accuracy do not say.

    python studies/kmeans_race.py                    # everything, about twenty minutes on one core
    python studies/kmeans_race.py --only race        # Adult's six numeric columns, beside diffprivlib
    python studies/kmeans_race.py --only speed       # a million points, beside scikit-learn's KMeans
    python studies/kmeans_race.py --only scale       # ten million points of a file, through DuckDB

Other software runs in an environment of its own, which is made the first time. CPU seconds are those of one
process; the peak of memory is the most that the process held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Ordinary
from threadpoolctl import threadpool_limits

import penstock
from frame.clusters import ClusterData
from frame.data import data_of
from frame.store import RESULTS
from penstock.kinds.points.data import Points
from penstock.learn.clusters.evaluation import nicv
from penstock.learn.clusters.method import KMeans
from penstock.learn.clusters.presets import Preset
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema
from race.environments import python_of
from race.peers import Environment

Reals = NDArray[np.float64]
FOUND = RESULTS / "kmeans_race.json"
DRIVER = Path(__file__).resolve().parent / "race" / "drivers" / "diffprivlib_kmeans.py"
DIFFPRIVLIB = Environment("diffprivlib", ("diffprivlib==0.6.6", "scikit-learn<1.8"))
BUDGETS = ("0.1", "1")
RUNS, TIMES = 10, 3
MILLION = 1_000_000
MANY = 10 * MILLION
CLUSTERS = 8
COLUMNS = (2, 6, 10)
PRESETS: tuple[Preset, ...] = ("grown", "hybrid")


def race() -> dict[str, Any]:
    """NICV of both on the same points between 0 and 1, every run with other noise and other starts."""
    data: ClusterData = data_of("adult-num")
    points = (data.points + 1) / 2
    ordinary = Ordinary(data.k, n_init=RUNS, random_state=0).fit(points)
    found: dict[str, Any] = {"without noise": float(ordinary.inertia_) / len(points), "runs": RUNS}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "points.csv"
        pl.DataFrame(points).write_csv(file)
        for epsilon in BUDGETS:
            out = Path(place) / f"{epsilon}.json"
            command = [python_of(DIFFPRIVLIB), DRIVER, file, out, "--epsilon", epsilon]
            subprocess.run([*map(str, command), "--k", str(data.k), "--runs", str(RUNS)], check=True)
            theirs = json.loads(out.read_text())
            found["versions"] = theirs["versions"]
            found[f"diffprivlib|{epsilon}"] = [nicv(points, np.array(each)) for each in theirs["centres"]]
            found[f"diffprivlib seconds|{epsilon}"] = float(np.mean(theirs["seconds"]))
            ours, seconds = [], []
            for seed in range(RUNS):
                budget = Budget(epsilon, randomness=Randomness.seeded(seed))
                begun = process_time()
                release = KMeans(k=data.k, draw=seed).fit(data.sealed, budget)
                seconds.append(process_time() - begun)
                ours.append(nicv(points, (release.box.units(release.centres) + 1) / 2))
            found[f"Penstock|{epsilon}"] = ours
            found[f"Penstock seconds|{epsilon}"] = float(np.mean(seconds))
            print({name: value for name, value in found.items() if epsilon in name}, flush=True)
    return found


def blobs(n: int, seed: int, columns: int = 2) -> Reals:
    """Points of the unit cube in eight round clusters; in more columns they are wider, and still apart."""
    middles = np.random.default_rng(1).uniform(0.1, 0.9, (CLUSTERS, columns))
    rng = np.random.default_rng([2, seed])
    spread = 0.04 if columns == 2 else 0.08
    return np.clip(rng.normal(middles[rng.integers(CLUSTERS, size=n)], spread), 0.0, 1.0)


def schema(columns: int = 2) -> Schema:
    ends = {"minimum": 0.0, "maximum": 1.0}
    names = ("x", "y") if columns == 2 else [f"x{number}" for number in range(columns)]
    fields = [{"name": name, "type": "number", "constraints": ends} for name in names]
    return Schema.model_validate({"kind": "points", "fields": fields})


def speed() -> dict[str, Any]:
    """CPU seconds for a million points, the least of runs that take turns: opening, ours, scikit-learn's."""
    found: dict[str, Any] = {"points": MILLION}
    for columns in COLUMNS:
        for name, seconds in _speed(columns).items():
            found[name if columns == 2 else f"{name}|{columns}"] = seconds
        print(found, flush=True)
    return found


def _speed(columns: int) -> dict[str, float]:
    rows, described = blobs(MILLION, 0, columns), schema(columns)
    frame = pl.DataFrame(rows, schema=list(described.names))
    found: dict[str, float] = {}

    def keep(name: str, work: Callable[[], Any]) -> Any:
        begun = process_time()
        made = work()
        taken = process_time() - begun
        found[name] = min(taken, found.get(name, taken))
        return made

    with threadpool_limits(1):
        for seed in range(TIMES):
            opened = keep("opening", lambda: Points.open(frame, described))
            for preset in PRESETS if columns == 2 else PRESETS[:1]:
                method = KMeans(k=CLUSTERS, preset=preset)
                budget = Budget(1, randomness=Randomness.seeded(seed))
                keep(preset, lambda: method.fit(opened, budget))  # noqa: B023  # called at once
            model = Ordinary(CLUSTERS, n_init=1, random_state=seed)
            keep("scikit-learn", lambda: model.fit(rows))  # noqa: B023
    return found


def scale(points: int = MANY) -> dict[str, Any]:
    """Seconds and the peak of memory of releases of a Parquet file, through DuckDB, each in a new process."""
    found: dict[str, Any] = {"points": points}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "points.parquet"
        with pq.ParquetWriter(path, pa.schema({"x": pa.float64(), "y": pa.float64()})) as writer:
            for part in range(0, points, MILLION):
                rows = blobs(min(MILLION, points - part), part)
                writer.write_table(pa.table({"x": rows[:, 0], "y": rows[:, 1]}))
        found["file MiB"] = path.stat().st_size / 2**20
        for preset in ("grown", "hybrid", "dplloyd"):
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                taken = apart.submit(_released, path, preset).result()
            found |= {f"{preset}|{name}": value for name, value in taken.items()}
            print(preset, taken, flush=True)
    return found


def _released(path: Path, preset: str) -> dict[str, float]:
    """One release; every answer of the database to it, by the most rows that any of them had."""
    import ibis.expr.types as ir

    most, asked = 0, ir.Table.to_pyarrow

    def counted(table: Any, *given: Any, **named: Any) -> Any:
        nonlocal most
        answer = asked(table, *given, **named)
        most = max(most, answer.num_rows)
        return answer

    ir.Table.to_pyarrow = counted
    before = _peak()
    wall, cpu = perf_counter(), process_time()
    release = penstock.release(
        path,
        schema(),
        epsilon=1,
        method="kmeans",
        parameters={"k": CLUSTERS, "preset": preset},
        engine="duckdb",
        seed=1,
    )
    taken = {"wall": perf_counter() - wall, "cpu": process_time() - cpu, "peak MiB": _peak()}
    sample = (blobs(MILLION, 0) * 2) - 1
    centres = release.box.units(release.centres)  # type: ignore[attr-defined]
    return {**taken, "before MiB": before, "rows of an answer": most, "NICV": nicv(sample, centres)}


def _peak() -> float:
    """The most memory that this process held; what getrusage says may be its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


PARTS: dict[str, Callable[[], dict[str, Any]]] = {"race": race, "speed": speed, "scale": scale}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()
    known = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    for name in [given.only] if given.only else PARTS:
        known[name] = PARTS[name]()
        FOUND.parent.mkdir(parents=True, exist_ok=True)
        FOUND.write_text(json.dumps(known, indent=1), encoding="utf-8")
    print(json.dumps(known, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
