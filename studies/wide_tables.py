"""Wide tables: what the default costs on 64, 200 and 500 columns, and whether it is worth single columns.

    python studies/wide_tables.py                    # minutes
    python studies/wide_tables.py --columns 64       # only this many

Yes/no columns that answer to a few hidden factors (`frame.families.wide`), 50,000 rows, epsilon 1. Every
width is measured in a process of its own: CPU seconds of fitting and sampling, the peak of its memory, and
the mean total variation distance of a hundred pairs and triples to the records, beside that of `independent`.
"""

from __future__ import annotations

import argparse
import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import process_time

from frame.families import wide
from frame.tabular import Fit, Rows
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.independent import Independent
from penstock.schema import Relation
from suite import SomeDistances

ROWS = 50_000
WIDTHS = (64, 200, 500)


def measured(columns: int, epsilon: str) -> str:
    """One line: seconds, memory, errors."""
    dataset = wide(f"wide-{columns}", ROWS, columns, max(5, columns // 20), 1.2, columns)
    started = process_time()
    ours = Fit(Confluence(), Relation.ADD_REMOVE)(dataset, epsilon, 0)
    seconds = process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    alone = Fit(Independent(), Relation.ADD_REMOVE)(dataset, epsilon, 0)
    assert isinstance(ours, Rows)
    assert isinstance(alone, Rows)
    errors = [
        " / ".join(f"{SomeDistances(way)(dataset, rows, 0):.4f}" for way in (2, 3)) for rows in (ours, alone)
    ]
    views = ours.release.parameters["views"]
    return f"| {columns} | {views} | {seconds:.0f} | {peak:,.0f} | {errors[0]} | {errors[1]} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--columns", type=int, action="append", help="only this many; can be given several times"
    )
    parser.add_argument("--epsilon", default="1")
    given = parser.parse_args()
    print("| columns | views | CPU seconds | MiB | pairs / triples | `independent` |")
    print("|---:|---|---:|---:|---:|---:|")
    for columns in given.columns or WIDTHS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            print(pool.submit(measured, columns, given.epsilon).result(), flush=True)


if __name__ == "__main__":
    main()
