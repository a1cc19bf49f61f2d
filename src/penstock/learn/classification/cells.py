"""Releases of labelled cells: a partition of the predictors, and noisy counts of every label in every cell.

The histogram classifier answers with the most frequent label of a row's cell. Any other classifier can be
trained on the same counts (`trained`), and synthetic rows are drawn from them: a cell and a label by their
counts, and values evenly from what the cell allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.errors import ReleaseError
from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.data import Table
from penstock.learn.classification.classifier import LARGEST_COUNT, ClassifierRelease, Coded
from penstock.learn.classification.partition import Partition, named
from penstock.learn.classification.training import Trained, replicated, training_table
from penstock.postprocessing import weighted_mean
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.releases import Manifest, Model
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST_CELLS = 1 << 22
"""So many counts a release may hold."""


class _Saved(BaseModel):
    target: str
    columns: list[str]
    total: Annotated[float, Range(ge=0, lt=1e300)]
    number: int | None
    deviation: Annotated[float, Range(ge=0, lt=1e300)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CellsRelease(ClassifierRelease):
    """A partition of the predictors, and a noisy count of every label in every cell.

    `number` is the noisy number of records, where one was paid for; `deviation` that of each count's noise.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, method="privpfc",
    ...                parameters={"target": "commute", "most_grids": 50}, seed=1)
    >>> made.predict(survey(3)).columns[0], made.training_table().columns[-1]
    ('commute', 'weight')
    """

    form: ClassVar[str] = "labelled-cells"

    partition: Partition
    number: int | None
    deviation: float

    @property
    def features(self) -> tuple[str, ...]:
        return self.partition.names

    def part_of(self, codes: Coded, rows: int) -> Numbers:
        return self.partition.cells_of(codes, rows)

    # Training -------------------------------------------------------------------------------------

    def training_table(self) -> pl.DataFrame:
        """A row for each cell and label that seems to occur, with how many records it stands for.

        Predictors hold the name of the cell's group, `Any` where the release does not look at them; the last
        column is the weight.
        """
        return training_table(self)

    def replicated_table(self) -> pl.DataFrame:
        """The same rows, each as often as it counts, for learners that take no weights."""
        return replicated(self.training_table())

    def trained(self, estimator: Any) -> Trained:
        """A scikit-learn classifier trained on the counts; it predicts for rows as the release itself does.

        It sees one column of 0 and 1 for each group of each column that the release looks at, and a weight
        for each row where it takes weights. Training reads the release alone and costs nothing.
        """
        return Trained.on(self, estimator)

    # The distribution -------------------------------------------------------------------------------

    @cached_property
    def _shares(self) -> Reals:
        """The probability of every cell and label, an axis each; none where the rules leave nothing."""
        shape = (*self.partition.shape, len(self.labels))
        known = self._table.possible
        allowed = np.ones(shape, dtype=np.bool_) if known is None else known
        mass = np.where(allowed, self.believed.reshape(shape), 0).astype(np.float64)
        if not mass.any():
            mass = allowed.astype(np.float64)
        shares: Reals = mass / mass.sum()
        return shares

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        sizes = self.schema.sizes
        joint = self._shares
        kept: list[str] = []
        # the first axis is taken off and, where it is asked for, put back at the end: all keep their order
        for groups in self.partition.groups:
            weight = weights.get(groups.name, np.ones(sizes[groups.name])) / groups.sizes[groups.of]
            inside = np.zeros((groups.size, len(weight)))
            inside[groups.of, np.arange(len(weight))] = weight
            asked = groups.name in names
            joint = np.tensordot(joint, inside if asked else inside.sum(axis=1), axes=(0, 0))
            kept += [groups.name] * asked
        label = weights.get(self.target, np.ones(len(self.labels)))
        if self.target in names:
            joint = np.moveaxis(joint, 0, -1) * label
            kept.append(self.target)
        else:
            joint = np.tensordot(joint, label, axes=(0, 0))
        inner = {*self.partition.names, self.target}
        scale = prod(
            float(weight.mean())
            for name, weight in weights.items()
            if name not in inner and name not in names
        )
        joint = np.asarray(joint * scale)
        for name in names:
            if name not in inner:
                joint = np.multiply.outer(joint, weights.get(name, np.ones(sizes[name])) / sizes[name])
                kept.append(name)
        return np.transpose(joint, [kept.index(name) for name in names])

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        shares = self._shares.ravel()
        drawn = np.unravel_index(rng.choice(shares.size, size=n, p=shares), self._shares.shape)
        codes: dict[str, NDArray[Any]] = {self.target: drawn[-1]}
        for groups, group in zip(self.partition.groups, drawn[:-1], strict=True):
            ordered = np.argsort(groups.of, kind="stable")
            starts = np.cumsum(groups.sizes) - groups.sizes
            codes[groups.name] = ordered[starts[group] + rng.integers(groups.sizes[group])]
        for name, size in self.schema.sizes.items():
            if name not in codes:
                codes[name] = rng.integers(size, size=n)
        return {name: codes[name] for name in self.schema.names}

    @cached_property
    def _table(self) -> CountedTable:
        names = (*self.partition.names, self.target)
        places = [groups.of for groups in self.partition.groups]
        counts = self.counts.reshape(*self.partition.shape, len(self.labels))
        plain = CountedTable(names, (*places, np.arange(len(self.labels))), counts, self.deviation)
        return plain.without(self.support.impossible)

    @property
    def counted_tables(self) -> Sequence[CountedTable]:
        return [self._table]

    # The folder -------------------------------------------------------------------------------------

    def model(self) -> Model:
        import polars as pl

        saved = _Saved(
            target=self.target,
            columns=list(self.partition.names),
            total=self.total,
            number=self.number,
            deviation=self.deviation,
        )
        groups = np.concatenate([np.zeros(0, dtype=np.int64), *(one.of for one in self.partition.groups)])
        return Model(
            json=saved.model_dump(),
            tables={
                "groups": pl.DataFrame({"group": groups}),
                "counts": pl.DataFrame({"count": self.counts.ravel()}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved, schema = model.read(_Saved), manifest.schema
        columns = saved.columns
        if (
            saved.target not in schema.names
            or saved.target in columns
            or len(set(columns)) < len(columns)
            or not set(columns) <= set(schema.names)
        ):
            raise ReleaseError("model.json does not fit schema.yaml; get the release again.")
        sizes = [schema.sizes[name] for name in columns]
        flat = model.table("groups", {"group": pl.Int64}, rows=sum(sizes))["group"].to_numpy()
        found = []
        for name, of in zip(columns, np.split(flat, np.cumsum(sizes)[:-1]) if sizes else [], strict=True):
            if not np.array_equal(np.unique(of), np.arange(len(np.unique(of)))):
                raise ReleaseError("model-groups.parquet has a group without values; get the release again.")
            found.append(named(schema.attribute(name), of))
        partition = Partition(tuple(found))
        labels = schema.sizes[saved.target]
        if partition.cells * labels > MOST_CELLS:
            raise ReleaseError("The release has more cells than one may have; get it again.")
        counts = model.table("counts", {"count": pl.Int64}, rows=partition.cells * labels)["count"].to_numpy()
        if (np.abs(counts) > LARGEST_COUNT).any():
            raise ReleaseError("model-counts.parquet holds impossible counts; get the release again.")
        return cls(
            **manifest.common,
            target=saved.target,
            partition=partition,
            counts=counts.reshape(partition.cells, labels),
            number=saved.number,
            deviation=saved.deviation,
            total=saved.total,
        )

    # The report -------------------------------------------------------------------------------------

    def explain(self) -> Sequence[str]:
        told = [f"{one.name} in {one.size:,} groups" for one in self.partition.groups]
        cells = f"{self.partition.cells:,} cell{'s' * (self.partition.cells > 1)}"
        seen = f"{', '.join(told)}: {cells}" if told else "No column is looked at: there is one cell"
        return [
            f"{seen}, with a noisy count of each of the {len(self.labels)} labels of {self.target}. The "
            "histogram classifier answers with the most frequent label of a row's cell; others can be "
            "trained on the same counts."
        ]

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.classification.pictures import across_two, drawn_tree, what_each_adds, with_label

        return [
            *super().pictures(),
            *what_each_adds(self),
            *across_two(self),
            *(with_label(self, axis) for axis in range(len(self.partition.groups))),
            *drawn_tree(self),
        ]


def number_of_records(table: Table, budget: Budget, share: Fraction | None) -> tuple[int | None, float]:
    """The noisy number of records, for a share of the budget, and its deviation; none where it is public."""
    if share is None or table.public_size is not None:
        return None, 0.0
    part, sealed = budget.part("number of records", share), table.size()
    spread = noise.standard_deviation(sealed.sensitivity.l1, part.epsilon)
    return int(np.asarray(noise.counts(sealed, pay=part))[0]), spread


def counted(
    method: str,
    table: Table,
    target: str,
    partition: Partition,
    budget: Budget,
    *,
    parameters: Mapping[str, Any],
    number: tuple[int | None, float] = (None, 0.0),
) -> CellsRelease:
    """The release of a partition that is public by now: all its counts, for all that is left of the budget.

    `number` is the noisy number of records and the deviation of its noise, where that was paid for.
    """
    (sealed,) = table.counts([partition.marginal(target)])
    rest = budget.rest("counts")
    deviation = noise.standard_deviation(sealed.sensitivity.l1, rest.epsilon)
    noisy = np.asarray(noise.counts(sealed, pay=rest))
    counts = np.clip(noisy, -LARGEST_COUNT, LARGEST_COUNT).reshape(partition.cells, -1)
    known = [(float(counts.sum()), counts.size * deviation**2)]
    if number[0] is not None:
        known.append((float(number[0]), number[1] ** 2))
    total = weighted_mean([value for value, _ in known], [variance for _, variance in known])
    return CellsRelease(
        method=method,
        schema=table.schema,
        parameters=parameters,
        receipt=budget.receipt(table.schema.unit, table.relation),
        target=target,
        partition=partition,
        counts=counts,
        number=number[0],
        deviation=deviation,
        total=max(0.0, total) if table.public_size is None else float(table.public_size),
    )
