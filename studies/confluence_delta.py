"""What a delta, and a target, are worth to the default of tables, beside MST with a larger delta.

    python studies/confluence_delta.py                 # minutes
    python studies/confluence_delta.py --show          # the table of what is there

The tables and the classifier of the race (`race/`): training parts of NLTCS and Adult, mean total variation
distance of all pairs (Q2) and triples (Q3), and the area under the curve (AUC) of a classifier that learns
from synthetic rows and is tried on the other 20 % of the original. The references are those of mbi's MST in
the race, which had a delta of 1e-5 there: a ten thousand times weaker promise than the 1e-9 here, and so less
noise than it would have at the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from frame import Dataset, Method, Reference, Study, load, main
from frame.tabular import MeanDistance, Rows
from penstock.kinds.table.confluence.method import Confluence
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation
from race.scores import TARGET

DELTA = "1e-9"
BUDGETS = ("0.1", "1", "10")
MST = {
    ("nltcs", "1"): (0.0869, 0.1414),
    ("nltcs", "0.1"): (0.0859, 0.1388),
    ("adult-race", "1"): (0.0426, 0.0930),
    ("adult-race", "0.1"): (0.0856, 0.1544),
}
"""Pairs and triples of mbi MST at a delta of 1e-5, from `docs/studies/race-tables.md`."""


@dataclass(frozen=True)
class Default:
    """Confluence under `add-remove`; `aimed` declares the column that the race's classifier predicts."""

    delta: str = "0"
    aimed: bool = False

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        if self.aimed:
            aim = {"target": _target(dataset)}
            dataset = replace(dataset, schema=dataset.schema.model_copy(update=aim))
        budget = Budget(epsilon, self.delta, randomness=Randomness.seeded(seed))
        release = Confluence().fit(dataset.table(Relation.ADD_REMOVE), budget)
        return Rows(release.draw_codes(dataset.rows, np.random.default_rng(seed)), dataset.sizes, release)


@dataclass(frozen=True)
class Auc:
    """Of a classifier that learned from synthetic rows, on original rows that no method saw."""

    def __call__(self, dataset: Dataset, outcome: Rows, seed: int) -> float:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.metrics import roc_auc_score
        from threadpoolctl import threadpool_limits

        target = _target(dataset)
        test = load(dataset.name.replace("train", "test"))
        names = [name for name in dataset.names if name != target]
        learned = HistGradientBoostingClassifier(
            max_iter=40, learning_rate=0.2, max_leaf_nodes=15, early_stopping=False, random_state=0
        )
        with threadpool_limits(1):
            learned.fit(np.column_stack([outcome.codes[name] for name in names]), outcome.codes[target])
            likely = learned.predict_proba(np.column_stack([test.codes[name] for name in names]))[:, 1]
        return float(roc_auc_score(test.codes[target], likely))


def _target(dataset: Dataset) -> str:
    return TARGET[dataset.name.removesuffix(" train")]


METHODS: dict[str, Method] = {
    "confluence": Default(),
    "confluence, a target": Default(aimed=True),
    "confluence, delta 1e-9": Default(DELTA),
    "confluence, delta 1e-9, a target": Default(DELTA, aimed=True),
}


def study() -> Study:
    return Study(
        name="confluence_delta",
        title="What a delta and a target are worth",
        datasets=("nltcs train", "adult-race train"),
        methods=METHODS,
        budgets=BUDGETS,
        metrics={"Q2": MeanDistance(2), "Q3": MeanDistance(3), "AUC": Auc()},
        higher_is_better=frozenset({"AUC"}),
        repetitions=3,
        references=[
            Reference(f"{table} train", "confluence, delta 1e-9", epsilon, metric, value)
            for (table, epsilon), figures in MST.items()
            for metric, value in zip(("Q2", "Q3"), figures, strict=True)
        ],
        source="mbi MST, delta 1e-5",
    )


if __name__ == "__main__":
    main(study)
