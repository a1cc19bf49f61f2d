"""What a delta, and a target, are worth to the default of tables, beside MST with a larger delta.

    python studies/confluence_delta.py                 # minutes
    python studies/confluence_delta.py --show          # the table of what is there

The tables and the classifier of the race (`race/`): training parts of NLTCS and Adult, mean total variation
distance of all pairs (Q2) and triples (Q3), and the area under the curve (AUC) and the accuracy of a
classifier that learns from synthetic rows and is tried on the other 20 % of the original. The references are
those of mbi's MST in the race, which had a delta of 1e-5 there, beside ours with the same delta.
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
from race.scores import TARGET, accuracy, likely

DELTA = "1e-9"
BUDGETS = ("0.1", "1", "10")
MST_DELTA = "1e-5"
MST = {
    ("nltcs", "1"): (0.0869, 0.1414, 0.7972),
    ("nltcs", "0.1"): (0.0859, 0.1388, 0.7942),
    ("adult-race", "1"): (0.0426, 0.0930, 0.8134),
    ("adult-race", "0.1"): (0.0856, 0.1544, 0.7894),
}
"""Pairs, triples and accuracy of mbi MST at that delta, from `docs/studies/race-tables.md`."""


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
class Learned:
    """Of a classifier that learned from synthetic rows, on original rows that no method saw.

    The area under its curve, or the share of its answers that are right.
    """

    area: bool

    def __call__(self, dataset: Dataset, outcome: Rows, seed: int) -> float:
        from sklearn.metrics import roc_auc_score

        target, test = _target(dataset), load(dataset.name.replace("train", "test"))
        if not self.area:
            return accuracy(dataset, outcome.codes, test, target)
        return float(roc_auc_score(test.codes[target], likely(dataset, outcome.codes, test, target)))


def _target(dataset: Dataset) -> str:
    return TARGET[dataset.name.removesuffix(" train")]


METHODS: dict[str, Method] = {
    "confluence": Default(),
    "confluence, a target": Default(aimed=True),
    "confluence, delta 1e-9": Default(DELTA),
    "confluence, delta 1e-9, a target": Default(DELTA, aimed=True),
    "confluence, delta 1e-5": Default(MST_DELTA),
}


def study() -> Study:
    return Study(
        name="confluence_delta",
        title="What a delta and a target are worth",
        datasets=("nltcs train", "adult-race train"),
        methods=METHODS,
        budgets=BUDGETS,
        metrics={
            "Q2": MeanDistance(2),
            "Q3": MeanDistance(3),
            "AUC": Learned(True),
            "accuracy": Learned(False),
        },
        higher_is_better=frozenset({"AUC", "accuracy"}),
        repetitions=3,
        references=[
            Reference(f"{table} train", "confluence, delta 1e-5", epsilon, metric, value)
            for (table, epsilon), figures in MST.items()
            for metric, value in zip(("Q2", "Q3", "accuracy"), figures, strict=True)
        ],
        source="mbi MST, delta 1e-5",
    )


if __name__ == "__main__":
    main(study)
