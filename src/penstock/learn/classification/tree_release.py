"""Releases of decision trees: questions from the root down, and noisy counts of every label at the leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.errors import ReleaseError
from penstock.learn.classification.classifier import LARGEST_COUNT, ClassifierRelease, Coded
from penstock.learn.classification.partition import label_of
from penstock.releases import Manifest, Model
from penstock.report.picture import Picture

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST_NODES = 1 << 20


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in an order in which parents come before their children.

    `column` is the number of the column that a node asks about, -1 at a leaf. `ways` holds for every node
    that asks the child that each code of its column leads to; codes that cannot come here lead to one, too.
    """

    column: tuple[int, ...]
    ways: Mapping[int, Numbers]

    @cached_property
    def leaves(self) -> Numbers:
        """The numbers of the leaves, in their order."""
        return np.flatnonzero(np.array(self.column) < 0)

    def leaf_of(self, codes: Sequence[NDArray[np.integer]], rows: int) -> Numbers:
        """The place among the leaves of the one that each of so many coded rows comes to."""
        at = np.zeros(rows, dtype=np.int64)
        for node in sorted(self.ways):
            here = np.flatnonzero(at == node)
            at[here] = self.ways[node][np.asarray(codes[self.column[node]])[here]]
        return np.searchsorted(self.leaves, at)

    def boxes(self, sizes: Sequence[int]) -> list[dict[int, NDArray[np.bool_]]]:
        """For each leaf the codes that come to it, of every column that was asked about on the way."""
        found: dict[int, dict[int, NDArray[np.bool_]]] = {0: {}}
        for node in sorted(self.ways):
            column, box = self.column[node], found.pop(node)
            for child in np.unique(self.ways[node]).tolist():
                allowed = box.get(column, np.ones(sizes[column], dtype=np.bool_))
                found[child] = {**box, column: allowed & (self.ways[node] == child)}
        return [found[leaf] for leaf in self.leaves.tolist()]


class _Saved(BaseModel):
    target: str


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DecisionTreeRelease(ClassifierRelease):
    """A tree of questions, and a noisy count of every label at every leaf.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, method="diffpid3",
    ...                parameters={"target": "commute"}, seed=1)
    >>> made.predict(survey(3)).columns[0]
    'commute'
    """

    form: ClassVar[str] = "decision-tree"

    tree: Tree

    @property
    def features(self) -> tuple[str, ...]:
        asked = {column for column in self.tree.column if column >= 0}
        return tuple(name for place, name in enumerate(self.schema.names) if place in asked)

    def part_of(self, codes: Coded, rows: int) -> Numbers:
        return self.tree.leaf_of(
            [codes.get(name, np.zeros(0, dtype=np.int64)) for name in self.schema.names], rows
        )

    @cached_property
    def _boxes(self) -> list[dict[int, NDArray[np.bool_]]]:
        return self.tree.boxes(list(self.schema.sizes.values()))

    @cached_property
    def _shares(self) -> Reals:
        mass = self.believed.astype(np.float64)
        return mass / mass.sum() if mass.any() else np.full(mass.shape, 1 / mass.size)

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        sizes = self.schema.sizes
        joint = np.zeros([sizes[name] for name in names])
        for box, shares in zip(self._boxes, self._shares, strict=True):
            axes: dict[str, Reals] = {}
            for place, name in enumerate(self.schema.names):
                if name in names or name in weights:
                    allowed = shares if name == self.target else box.get(place, np.ones(sizes[name]))
                    share = np.asarray(allowed, dtype=np.float64)
                    share = share if name == self.target else share / share.sum()
                    axes[name] = share * weights.get(name, 1.0)
            mass = 1.0 if self.target in axes else float(shares.sum())
            scale = mass * prod(float(axis.sum()) for name, axis in axes.items() if name not in names)
            outer = np.asarray(scale)
            for name in names:
                outer = np.multiply.outer(outer, axes[name])
            joint = joint + outer
        return joint

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        leaf, label = np.unravel_index(
            rng.choice(self._shares.size, size=n, p=self._shares.ravel()), self._shares.shape
        )
        codes: dict[str, NDArray[Any]] = {
            name: label if name == self.target else rng.integers(size, size=n)
            for name, size in self.schema.sizes.items()
        }
        for number in np.unique(leaf).tolist():
            here = np.flatnonzero(leaf == number)
            for place, allowed in self._boxes[number].items():
                codes[self.schema.names[place]][here] = rng.choice(np.flatnonzero(allowed), size=len(here))
        return codes

    # The folder -------------------------------------------------------------------------------------

    def model(self) -> Model:
        import polars as pl

        ways = [self.tree.ways[node] for node in sorted(self.tree.ways)]
        return Model(
            json=_Saved(target=self.target).model_dump(),
            tables={
                "nodes": pl.DataFrame({"column": np.array(self.tree.column, dtype=np.int64)}),
                "ways": pl.DataFrame({"child": np.concatenate([np.zeros(0, dtype=np.int64), *ways])}),
                "counts": pl.DataFrame({"count": self.counts.ravel()}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved, schema = model.read(_Saved), manifest.schema
        if saved.target not in schema.names:
            raise ReleaseError("model.json does not fit schema.yaml; get the release again.")
        column = model.table("nodes", {"column": pl.Int64})["column"].to_numpy()
        target, sizes = schema.names.index(saved.target), list(schema.sizes.values())
        if (
            not 1 <= len(column) <= MOST_NODES
            or (column < -1).any()
            or (column >= len(sizes)).any()
            or (column == target).any()
        ):
            raise ReleaseError("model-nodes.parquet does not fit schema.yaml; get the release again.")
        tree = _read(column.tolist(), sizes, model)
        labels = schema.sizes[saved.target]
        counts = model.table("counts", {"count": pl.Int64}, rows=len(tree.leaves) * labels)[
            "count"
        ].to_numpy()
        if (np.abs(counts) > LARGEST_COUNT).any():
            raise ReleaseError("model-counts.parquet holds impossible counts; get the release again.")
        return cls(
            **manifest.common,
            target=saved.target,
            tree=tree,
            counts=counts.reshape(-1, labels),
            total=number_of(counts),
        )

    # The report -------------------------------------------------------------------------------------

    def explain(self) -> Sequence[str]:
        many = len(self.tree.leaves)
        return [
            f"A tree with {many:,} {'leaf' if many == 1 else 'leaves'}, each with a noisy count of all the "
            f"{len(self.labels)} labels of {self.target}. A row is asked from the root down, and gets the "
            "most frequent label of its leaf."
        ]

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.classification.pictures import grown_tree

        return [*super().pictures(), *grown_tree(self)]

    def question(self, node: int, child: int) -> tuple[str, str]:
        """What leads from a node to a child: a column, and the values of it."""
        name = self.schema.names[self.tree.column[node]]
        codes = np.flatnonzero(self.tree.ways[node] == child).tolist()
        return name, label_of(self.schema.attribute(name), codes)


def number_of(counts: Numbers) -> float:
    """How many records there seem to be by the counts of all leaves."""
    return max(0.0, float(counts.astype(np.float64).sum()))


def _read(column: list[int], sizes: Sequence[int], model: Model) -> Tree:
    """The tree of a folder, every way of which leads down to a node that no other leads to."""
    import polars as pl

    asking = [node for node, asked in enumerate(column) if asked >= 0]
    lengths = [sizes[column[node]] for node in asking]
    flat = model.table("ways", {"child": pl.Int64}, rows=sum(lengths))["child"].to_numpy()
    parts = np.split(flat, np.cumsum(lengths)[:-1]) if asking else []
    ways = dict(zip(asking, parts, strict=True))
    reached = [child for node, way in ways.items() for child in np.unique(way).tolist() if child > node]
    below = sum(len(np.unique(way)) for way in ways.values())
    if sorted(reached) != list(range(1, len(column))) or below != len(reached):
        raise ReleaseError("model-ways.parquet is not a tree; get the release again.")
    tree = Tree(tuple(column), ways)
    if any(not allowed.any() for box in tree.boxes(sizes) for allowed in box.values()):
        raise ReleaseError(
            "model-ways.parquet leads to a leaf that no row can come to; get the release again."
        )
    return tree
