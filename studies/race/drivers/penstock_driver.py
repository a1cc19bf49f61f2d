"""Penstock: schema in, release, synthetic rows out."""

from arguments import arguments

from penstock.privacy.budget import Budget
from penstock.privacy.table import Table
from penstock.schema import Relation, Schema

given = arguments()
schema = Schema.load(given.schema)
if given.relation == "replace":
    schema = schema.model_copy(update={"relation": Relation.REPLACE, "size": given.records})
table = Table.open(given.train, schema)
budget = Budget(given.epsilon)
if given.method == "independent":
    from penstock.tabular.independent import Independent

    release = Independent().fit(table, budget)
else:
    from penstock.tabular.privbayes.method import PrivBayes

    release = PrivBayes(preset=given.method).fit(table, budget)
release.sample(given.rows).write_csv(given.out)
