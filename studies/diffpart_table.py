"""DiffPart for records: how many rows of the demo survey it finds, and how far pairs of columns are off.

    python studies/diffpart_table.py       # the table of its page, half a minute

Epsilon is 1, the means are over three releases with fixed seeds. Distances are total variation distances of
all pairs of columns, in the bins of the schema; a release without rows has the largest, 1.
"""

from __future__ import annotations

import sys
from itertools import combinations
from statistics import mean

import numpy as np
import polars as pl

import penstock
from penstock.demo.survey import survey, survey_schema
from penstock.schema import Schema

SEEDS = range(3)
COLUMNS = (("sex", "smoker"), ("district", "sex", "smoker"), ("district", "age", "sex", "smoker"), ())
METHODS = ("diffpart-table", "confluence")


def measured(frame: pl.DataFrame, schema: Schema, method: str) -> tuple[float, float]:
    """The mean number of synthetic rows, and the mean distance of pairs of columns."""
    rows, distances = [], []
    for seed in SEEDS:
        release = penstock.release(frame, schema, epsilon=1, method=method, seed=seed)
        rows.append(release.size)
        distances.append(_distance(frame, release.sample(release.size, seed=0), schema))
    return mean(rows), mean(distances)


def _distance(one: pl.DataFrame, two: pl.DataFrame, schema: Schema) -> float:
    if not two.height:
        return 1.0
    found = []
    for pair in combinations(schema.names, 2):
        sizes = [schema.codec(name).size for name in pair]
        shares = []
        for frame in (one, two):
            codes = schema.encode(frame.select(schema.names))
            place = np.ravel_multi_index([codes[name].astype(np.int64) for name in pair], sizes)
            shares.append(np.bincount(place, minlength=sizes[0] * sizes[1]) / frame.height)
        found.append(float(np.abs(shares[0] - shares[1]).sum()) / 2)
    return mean(found)


def main() -> int:
    frame, full = survey(), Schema.from_yaml(survey_schema())
    facts = full.model_dump(by_alias=True, exclude_defaults=True)
    print("| columns | records | " + " | ".join(f"{method}: rows, distance" for method in METHODS) + " |")
    print("|---|--:|" + "--:|" * len(METHODS))
    for some in COLUMNS:
        names = [name for name in full.names if name in some or not some]
        kept = [field for field in facts["fields"] if field["name"] in names]
        schema = Schema.model_validate({**facts, "fields": kept})
        cells = [measured(frame.select(names), schema, method) for method in METHODS]
        shown = " | ".join(f"{rows:,.0f}, {distance:.3f}" for rows, distance in cells)
        print(f"| {', '.join(some) or f'all {len(names)}'} | {frame.height:,} | {shown} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
