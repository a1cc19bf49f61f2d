"""Penstock: schema in, release, synthetic rows out."""

from arguments import arguments

from penstock.kinds.table.data import Table
from penstock.kinds.table.release import TableRelease
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Relation, Schema

given = arguments()
schema = Schema.load(given.schema)
if given.relation == "replace":
    schema = schema.model_copy(update={"relation": Relation.REPLACE, "size": given.records})
table = Table.open(given.train, schema)
budget = Budget(given.epsilon)
release: TableRelease
match given.method:
    case "confluence":
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
release.sample(given.rows).write_csv(given.out)
