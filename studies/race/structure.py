"""What our default counted and connected, where another is closer: the structure behind a figure of the race.

    python studies/race/structure.py tree 1                     # with a delta of 1e-9, as in `approximate.py`
    python studies/race/structure.py wine 10 --releases 5

For each release: how many views it counted, of how many groups a column is in them on average, which columns
nothing connects, how many parents a column has, whether the counts were paid in epsilon or in rho, and the
errors of pairs and triples of as many rows as the table has and of ten times as many. The second are those of
the model, but for a little; what lies between them is the chance in the drawing of rows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from frame.data import load
from frame.table import markdown
from penstock.evaluation.metrics import resampled
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.data import Table
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from race.approximate import BUDGETS, DELTA, TABLES, both, errors

MORE = 10
HEADS = ("", "views", "groups", "alone", "parents", "paid in", "pairs / triples", f"{MORE} times the rows")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("epsilon", choices=BUDGETS)
    parser.add_argument("--releases", type=int, default=3)
    given = parser.parse_args()
    data, rng = load(given.table), np.random.default_rng()
    table = Table.open(data.schema.decode(data.codes, np.random.default_rng(0)), data.schema)
    rows = []
    for place in range(given.releases):
        release = Confluence().fit(table, Budget(given.epsilon, DELTA))
        drawn = [both(errors(release.draw_codes(times * data.rows, rng), data)) for times in (1, MORE)]
        rows.append([str(place + 1), *seen(release), *drawn])
    chance = resampled(data.codes, data.rows, rng)
    rows.append(["original, resampled", *[""] * 5, both(errors(chance, data)), ""])
    print(f"{given.table}, ε {given.epsilon}, δ {DELTA}\n")
    print("\n".join(markdown(HEADS, rows)))


def seen(release: NetworkRelease) -> list[str]:
    """What was counted and connected, in five numbers."""
    variables = release.network.variables
    views = [view for view in release.measured if len(view.parts) > 1]
    groups = [variables[part.variable].sizes[part.level] for view in views for part in view.parts]
    connected = {part.variable for view in views for part in view.parts}
    parents = [len(pair.parents) for pair in release.network.pairs]
    gaussian = any(view.gaussian for view in release.measured)
    return [
        str(len(views)),
        f"{mean(groups):.1f}" if groups else "-",
        str(len(variables) - len(connected)),
        f"{mean(parents):.1f}",
        "rho" if gaussian else "epsilon",
    ]


if __name__ == "__main__":
    main()
