"""Item sets: CPU seconds by the number of sets, and ten million of them through DuckDB.

    python studies/set_speed.py --records 10000000    # one made-up file, released in a process of its own

`studies/diffpart.py --speed --scale` keeps what is found here for its page. Sets have the shape of the
literature's transit data (`set_data.shaped`). CPU seconds are those of one process, in all threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import penstock
from penstock.catalogue import method as known_method
from penstock.contracts.plug import method_class
from penstock.kinds.itemsets.data import ItemSets
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema
from set_data import STM_ITEMS, STM_RECORDS, Baskets, shaped

AT_ONCE = 500_000
TIMES = 3
LIMIT_MIB = 4096
SIZES = (STM_RECORDS // 4, STM_RECORDS // 2, STM_RECORDS)
SPEED_UNIVERSES = (STM_ITEMS // 4, STM_ITEMS // 2, STM_ITEMS)
SPEED_RECORDS = 800_000
LAYOUTS = ("lists", "rows")
SCALED = ("diffpart", "sluice")


def seconds(method: str, data: ItemSets) -> tuple[float, int]:
    """CPU seconds of one release at epsilon 1, and how many parts of the records were divided for it."""
    begun = process_time()
    release = method_class(known_method(method))().fit(data, Budget(1, randomness=Randomness.seeded(1)))
    return process_time() - begun, int(getattr(release, "divided", 0))


def speed() -> dict[str, Any]:
    """CPU seconds of reading a text file, of the default and of DiffPart, the least of runs in turn."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        every = {records: _lines(Path(place) / f"{records}.dat", records) for records in SIZES}
        wider = {
            items: _lines(Path(place) / f"of{items}.dat", SPEED_RECORDS, items) for items in SPEED_UNIVERSES
        }
        apart = _lines(Path(place) / "apart.dat", STM_RECORDS, together=0.0)
        for _ in range(TIMES):
            for records, (path, schema) in every.items():
                read, data = _read(path, schema)
                default, _ = seconds("sluice", data)
                taken, found[f"divided by diffpart|{records}"] = seconds("diffpart", data)
                for step, value in (("read", read), ("diffpart", taken), ("sluice", default)):
                    _least(found, f"{step}|{records}", value)
            read, data = _read(*apart)
            _least(found, f"read, independent items|{STM_RECORDS}", read)
            _least(found, f"sluice, independent items|{STM_RECORDS}", seconds("sluice", data)[0])
            for items, (path, schema) in wider.items():
                read, data = _read(path, schema)
                _least(found, f"read of items|{items}", read)
                _least(found, f"diffpart of items|{items}", seconds("diffpart", data)[0])
            print(found, flush=True)
    return found


def _read(path: Path, schema: Schema) -> tuple[float, ItemSets]:
    """CPU seconds of reading and coding a file, and what was read."""
    begun = process_time()
    data = ItemSets.open(path, schema, engine="memory")
    return process_time() - begun, data


def _least(found: dict[str, Any], key: str, value: float) -> None:
    found[key] = min(value, found.get(key, value))


def _lines(path: Path, records: int, items: int = STM_ITEMS, together: float = 0.7) -> tuple[Path, Schema]:
    """A text file, every line a set, and its schema."""
    baskets = shaped(records, items, together=together)
    baskets.rows.write_csv(path, include_header=False, quote_style="never")
    facts = baskets.schema.model_dump(by_alias=True, exclude_defaults=True)
    return path, Schema.model_validate({**facts, "items": {"item": "items", "header": False}})


def scale(records: int, layouts: Sequence[str] = LAYOUTS, methods: Sequence[str] = SCALED) -> dict[str, Any]:
    """Wall and CPU seconds and the peak of memory of releases of a file through DuckDB, by layout."""
    found: dict[str, Any] = {"records": records}
    with tempfile.TemporaryDirectory() as place:
        for layout in layouts:
            path, universe = _written(Path(place) / f"{layout}.parquet", records, layout)
            found[f"{layout}|file MiB"] = path.stat().st_size / 2**20
            for method in methods:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
                    taken = apart.submit(_released, path, universe, layout, method).result()
                found |= {f"{layout}|{method}|{name}": value for name, value in taken.items()}
                print(layout, method, taken, flush=True)
            path.unlink()
    return found


def _written(path: Path, records: int, layout: str) -> tuple[Path, int]:
    """A Parquet file of sets, as texts or one item a row, made a piece at a time."""
    writer = None
    for begin in range(0, records, AT_ONCE):
        baskets: Baskets = shaped(min(AT_ONCE, records - begin), seed=begin)
        frame = baskets.rows
        if layout == "rows":
            frame = frame.with_row_index("basket", begin).with_columns(pl.col("items").str.split(" "))
            frame = frame.explode("items").sample(fraction=1.0, shuffle=True, seed=begin)
        table = pa.table(frame.to_arrow())
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table.cast(writer.schema))
    assert writer is not None
    writer.close()
    return path, baskets.items


def _released(path: Path, universe: int, layout: str, method: str) -> dict[str, float]:
    facts = {
        "kind": "itemsets",
        "items": {"item": "items", **({"transaction": "basket"} if layout == "rows" else {})},
        "fields": [{"name": "items", "constraints": {"enum": [str(item) for item in range(universe)]}}],
    }
    wall, cpu = perf_counter(), process_time()
    release = penstock.release(
        path, Schema.model_validate(facts), epsilon=1, method=method, engine="duckdb", seed=1
    )
    return {
        "wall": perf_counter() - wall,
        "cpu": process_time() - cpu,
        "peak MiB": _peak(),
        "sets": float(release.size),
    }


def _peak() -> float:
    """The most memory that this process held; what getrusage says may be its parent's."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=LAYOUTS)
    parser.add_argument("--methods", nargs="*", choices=SCALED, default=SCALED)
    given = parser.parse_args()
    found = scale(given.records, given.layouts, given.methods)
    print(json.dumps(found, indent=1))
    return int(max(value for name, value in found.items() if name.endswith("peak MiB")) > LIMIT_MIB)


if __name__ == "__main__":
    sys.exit(main())
