"""The default of PrivBayes beside the published algorithm and independent columns.

Mean total variation distance of all pairs and triples of columns between the training part (80 %) of a
table and as
many synthetic rows, at pure epsilon with one record added or removed (journal: replaced), and the CPU
time of fitting and sampling.

    python studies/privbayes_default.py --repetitions 3
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
import polars as pl

from penstock.evaluate.metrics import mean_tvd
from penstock.privacy.budget import Budget
from penstock.privacy.randomness import Randomness
from penstock.privacy.table import Table
from penstock.schema import Schema
from penstock.tabular.independent import Independent
from penstock.tabular.privbayes.method import PrivBayes

DATA = Path(os.environ.get("PENSTOCK_DATA", Path(__file__).parents[2] / "shared" / "data"))
METHODS = {
    "independent": Independent(),
    "privbayes, journal": PrivBayes(preset="journal"),
    "privbayes, plain": PrivBayes(preset="plain"),
    "privbayes (default)": PrivBayes(),
}


def table(name: str) -> tuple[pl.DataFrame, dict[str, int]]:
    """The coded table and the sizes of its columns."""
    if name == "nltcs":
        frame = pl.read_csv(DATA / "nltcs" / "nltcs.csv.gz")
        return frame, dict.fromkeys(frame.columns, 2)
    sizes: dict[str, int] = json.loads((DATA / "adult" / "mst_domain.json").read_text())
    return pl.read_csv(DATA / "adult" / "adult_mst_48842.csv.gz").select(list(sizes)), sizes


def schema(sizes: dict[str, int], rows: int | None) -> Schema:
    """Every column as whole numbers from 0; a public size makes the relation `replace`."""
    fields = "\n".join(
        f"  - {{name: {json.dumps(name)}, type: integer, constraints: {{minimum: 0, maximum: {size - 1}}}}}"
        for name, size in sizes.items()
    )
    head = "" if rows is None else f"relation: replace\nsize: {rows}\n"
    return Schema.from_yaml(f"{head}fields:\n{fields}\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=3)
    wanted = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit("The datasets are not here; set PENSTOCK_DATA to their folder.")
    print("| table | ε | method | pairs | triples | CPU s | pairs, ratio to default |")
    print("|---|---|---|---:|---:|---:|---:|")
    for name in ("nltcs", "adult"):
        frame, sizes = table(name)
        order = np.random.default_rng(0).permutation(frame.height)
        train = frame[order[: frame.height * 4 // 5]]
        original = {column: train[column].to_numpy() for column in train.columns}
        for epsilon in ("1", "1/10"):
            figures: dict[str, tuple[float, float, float]] = {}
            for label, method in METHODS.items():
                rows = train.height if "journal" in label else None
                sealed = Table.open(train, schema(sizes, rows))
                errors, started = [], time.process_time()
                for seed in range(wanted.repetitions):
                    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
                    drawn = method.fit(sealed, budget).sample(train.height, seed=seed)  # type: ignore[attr-defined]
                    errors.append({column: drawn[column].to_numpy() for column in drawn.columns})
                spent = (time.process_time() - started) / wanted.repetitions
                pairs, triples = (
                    float(np.mean([mean_tvd(original, each, sizes, way, limit=10_000) for each in errors]))
                    for way in (2, 3)
                )
                figures[label] = (pairs, triples, spent)
            best = figures["privbayes (default)"][0]
            for label, (pairs, triples, spent) in figures.items():
                cells = (
                    name,
                    epsilon,
                    label,
                    f"{pairs:.4f}",
                    f"{triples:.4f}",
                    f"{spent:.2f}",
                    f"{pairs / best:.1f}",
                )
                print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
