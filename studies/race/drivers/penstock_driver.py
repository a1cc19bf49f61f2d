"""Penstock: schema in, release, synthetic rows out."""

from arguments import arguments

from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Relation, Schema

given = arguments()
schema = Schema.load(given.schema)
if given.relation == "replace":
    schema = schema.model_copy(update={"relation": Relation.REPLACE, "size": given.records})
table = Table.open(given.train, schema)
budget = Budget(given.epsilon)
if given.method == "independent":
    from penstock.kinds.table.independent import Independent

    release = Independent().fit(table, budget)
else:
    from penstock.kinds.table.privbayes.method import PrivBayes

    release = PrivBayes(preset=given.method).fit(table, budget)
release.sample(given.rows).write_csv(given.out)
