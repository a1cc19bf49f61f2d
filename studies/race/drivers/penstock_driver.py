"""Penstock: schema in, release, synthetic rows out."""

from pathlib import Path

import numpy as np
from arguments import arguments, write_rows

from penstock.kinds.table.data import Table
from penstock.kinds.table.release import TableRelease
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Relation, Schema

given = arguments()
schema = Schema.load(given.schema)
if given.relation == "replace":
    schema = schema.model_copy(update={"relation": Relation.REPLACE, "size": given.records})
as_written = Path(given.train).with_name("values.csv")  # where the schema's values are no codes
table = Table.open(as_written if as_written.exists() else given.train, schema)
budget = Budget(given.epsilon, str(given.delta) if given.method == "confluence-delta" else "0")
release: TableRelease
match given.method:
    case "confluence" | "confluence-delta":
        from penstock.kinds.table.confluence.method import Confluence

        release = Confluence().fit(table, budget)
    case "privbayes-plain" | "privbayes-journal":
        from penstock.kinds.table.privbayes.method import PrivBayes

        preset = "plain" if given.method == "privbayes-plain" else "journal"
        release = PrivBayes(preset=preset).fit(table, budget)
    case "independent":
        from penstock.kinds.table.independent import Independent

        release = Independent().fit(table, budget)
    case unknown:
        raise SystemExit(f"This driver knows no method {unknown}.")
if as_written.exists():
    drawn = release.draw_codes(given.rows, np.random.default_rng())
    write_rows(given.out, list(drawn), [column.tolist() for column in drawn.values()])
else:
    release.sample(given.rows).write_csv(given.out)
