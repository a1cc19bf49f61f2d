"""Fifty million calls of 250,000 callers through DuckDB: seconds, and the memory of the whole process.

    python studies/calls_data.py city.parquet
    python studies/calls_speed.py city.parquet

The release is made in a process of its own, from the file, with the default method; then calls of 100,000
synthetic callers on 30 days are drawn and written to Parquet, piece by piece, in another. Peak memory is that
of the process; what DuckDB spills lies on the disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

LIMIT_MIB = 4096

RELEASE = """
import json, resource, sys, time
import penstock
from calls_data import schema
begun = time.perf_counter()
made = penstock.release(sys.argv[1], schema(25), epsilon="0.23", engine="duckdb", out=sys.argv[2])
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": time.perf_counter() - begun,
    "cpu": used.ru_utime + used.ru_stime,
    "mib": used.ru_maxrss / 1024,
    "callers": made.tables.callers,
}))
"""
SAMPLE = """
import json, resource, sys, time
from penstock.cli.app import commands
begun = time.perf_counter()
words = ["sample", sys.argv[1], "-n", "100000", "--days", "30", "-o", sys.argv[2], "--force"]
commands()(words, standalone_mode=False)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": time.perf_counter() - begun,
    "cpu": used.ru_utime + used.ru_stime,
    "mib": used.ru_maxrss / 1024,
}))
"""


def measured(code: str, *words: str) -> dict[str, float]:
    """What a process of its own says of itself."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=Path(__file__).parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    given = parser.parse_args()
    place = given.path.resolve().with_suffix(".release")
    if not place.exists():
        made = measured(RELEASE, str(given.path.resolve()), str(place))
        print("release", json.dumps(made), flush=True)
        assert made["mib"] < LIMIT_MIB
    drawn = measured(SAMPLE, str(place), str(given.path.resolve().with_suffix(".synthetic.parquet")))
    print("sample", json.dumps(drawn))
    assert drawn["mib"] < LIMIT_MIB


if __name__ == "__main__":
    main()
