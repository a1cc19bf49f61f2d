"""DiffGen: the predictors are specialised step by step, from one cell to many, and the cells are counted.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows).
Why: half of the budget is divided evenly over the steps. Each chooses one node of the present cuts by how
many records have the most frequent label of their child, which one record raises by 0 or 1; the children then
take the node's place for all records. The other half pays for the counts of every label in every cell, empty
ones too. What steps do not need because everything is specialised goes to the counts.

A node of a single child is that child. A specialisation that would make more cells than `most_cells` is no
candidate: which ones these are is known from the cuts.

Reference: N. Mohammed, R. Chen, B. C. M. Fung and P. S. Yu, "Differentially private data release for data
mining" (KDD 2011), in the version with fixed taxonomies that PrivPfC's authors compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text, Whole
from penstock.kinds.table.data import Table
from penstock.kinds.table.diffpart.trees import Node, tree_of
from penstock.kinds.table.split_scores import Measure, Score
from penstock.kinds.table.target import target_of
from penstock.learn.classification.cells import MOST_CELLS, CellsRelease, counted
from penstock.learn.classification.partition import Partition, named, refuse_unless_added
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Attribute, Schema

Counts = NDArray[np.int64]
Cut = list[Node]


@dataclass(frozen=True)
class DiffGen(Method[Table]):
    """Cells made by specialising one node at a time, with noisy counts of every label.

    `target` is the column to predict (None: the schema's), `steps` the number of specialisations, `score`
    what makes a node worth it. `calibration` says what a choice pays for: "monotone", that one record moves
    all scores in one direction, or as "published", twice as much.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = DiffGen(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "diffgen"

    target: Annotated[str | None, Text()] = None
    steps: Annotated[int, Whole(1, 1000)] = 10
    score: Measure = "max"
    calibration: Literal["monotone", "published"] = "monotone"
    most_cells: Annotated[int, Whole(1, MOST_CELLS)] = 1 << 20

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and a target that is no column of categories."""
        refuse_unless_added(schema)
        target_of(schema, self.target)

    def cells(self, schema: Schema) -> int:
        """No release has more counts than this."""
        return MOST_CELLS

    def fit(self, table: Table, budget: Budget) -> CellsRelease:
        """Specialise step by step, and count the cells; spends the whole budget."""
        self.ready(table, budget)
        target = target_of(table.schema, self.target)
        predictors = [attribute for attribute in table.attributes if attribute.name != target]
        cuts: list[Cut] = [[tree_of(attribute, median=False)] for attribute in predictors]
        most = min(self.most_cells, MOST_CELLS // table.schema.sizes[target])
        share = Fraction(1, 2 * self.steps)
        for step in range(self.steps):
            candidates = _candidates(cuts, most)
            if not candidates:
                break
            place, node = candidates[
                self._chosen(table, target, predictors, cuts, candidates, budget, share, step)
            ]
            at = cuts[place].index(node)
            cuts[place][at : at + 1] = node.children
        cells = Partition(
            tuple(
                named(attribute, _groups(attribute, cut))
                for attribute, cut in zip(predictors, cuts, strict=True)
                if len(cut) > 1
            )
        )
        return counted(
            self.name,
            table,
            target,
            cells,
            budget,
            parameters={
                "target": target,
                "steps": self.steps,
                "score": self.score,
                "calibration": self.calibration,
                "most_cells": self.most_cells,
            },
        )

    def _chosen(
        self,
        table: Table,
        target: str,
        predictors: list[Attribute],
        cuts: list[Cut],
        candidates: list[tuple[int, Node]],
        budget: Budget,
        share: Fraction,
        step: int,
    ) -> int:
        """The number of the node to be specialised next."""
        labels, score = table.schema.sizes[target], Score(self.score)

        def scores(tables: list[Counts]) -> Counts:
            return np.array(
                [
                    score.of(
                        np.stack(
                            [
                                tables[place].reshape(-1, labels)[list(child.codes)].sum(axis=0)
                                for child in node.children
                            ]
                        )
                    )
                    for place, node in candidates
                ],
                dtype=np.int64,
            )

        stated = score.sensitivity(table.schema.unit.records, len(candidates), labels)
        if self.calibration == "published":
            stated = Sensitivity.scores(stated.linf, len(candidates))
        sealed = table.derive(
            [(attribute.name, target) for attribute in predictors],
            scores,
            stated,
            shape=(len(candidates),),
            because="a record has one child of a node at most, and one label: it moves one number of the "
            "table of children and labels by one, which moves the score by no more than its bound",
        )
        part = budget.part(f"specialisation {step + 1}", share)
        return choice.best(sealed, part, method="exponential")


def _candidates(cuts: list[Cut], most: int) -> list[tuple[int, Node]]:
    """Every node that can be specialised: the number of its column, and the node."""
    cells = prod(len(cut) for cut in cuts)
    return [
        (place, node)
        for place, cut in enumerate(cuts)
        for node in cut
        if node.children and cells // len(cut) * (len(cut) - 1 + len(node.children)) <= most
    ]


def _groups(attribute: Attribute, cut: Cut) -> Counts:
    """The number of the node of a cut that each code lies under."""
    found = np.zeros(attribute.size, dtype=np.int64)
    for number, node in enumerate(cut):
        found[list(node.codes)] = number
    return found
