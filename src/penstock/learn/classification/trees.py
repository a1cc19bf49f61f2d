"""DiffPID3 and DiffPC-4.5: decision trees grown by private steps.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows).
Why: a record has one value of every column, so it follows one chain of parts from the root to a leaf
(`privacy.mechanisms.chains`). On every level of its chain a share is spent on whether the part has records
enough and one on which column to ask next (DiffPC-4.5: one more for the place where each column of a range
would be cut); at the leaf all that is left pays for the counts of the labels. No chain spends more than
epsilon.

A part whose questions have up to t answers, with c labels, is asked further when its noisy size is above
sqrt(2) t c over the share: below that, the noise of its sub-parts would drown them. DiffPID3 asks for the
value of a column, once on a way. DiffPC-4.5 also cuts ranges in two, as often as it pays, and prunes by the
noisy counts, as C4.5 does by true ones: post-processing.

Scores of a question, from how many records of each label its answers have, with what one record does:

* `max`, the records that have the most frequent label of their answer: rises by 0 or 1.
* `gini`, minus the size of each answer times its Gini impurity: falls by a number from 0 to below 2.
* `gain`, minus the size of each answer times its entropy in bits: the information gain, but for what all
  questions share. With f(n) = n log2 n, which is convex, a record that joins a of the t records of an answer
  moves it by f(a+1) - f(a) - f(t+1) + f(t): no more than 0, and no less than -log2(t+1) - 1/ln 2. So that t
  has a public bound, an answer counts no more than `most` records of a label: the public number of records.

Reference: A. Friedman and A. Schuster, "Data mining with differential privacy" (KDD 2010), from whom both
trees are; their leaves spend one share, ours all that is left of the way.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor, log, log2
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Text, Whole
from penstock.kinds.table.data import RowPart, Table
from penstock.kinds.table.rows import Split
from penstock.kinds.table.target import target_of
from penstock.learn.classification.classifier import LARGEST_COUNT
from penstock.learn.classification.partition import refuse_unless_added
from penstock.learn.classification.tree_release import DecisionTreeRelease, Tree, number_of
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.chains import Chain, least_above
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.progress import progress
from penstock.schema import Attribute, Schema

Counts = NDArray[np.int64]
Impurity = Literal["max", "gini", "gain"]

STEPS = 1 << 20
MOST_RECORDS = 1 << 32
"""What an answer counts of a label at most, where the number of records is not public."""


@dataclass(frozen=True)
class Purity:
    """How pure the answers to a question are, in whole numbers; `most` is for `gain` alone.

    >>> Purity("max").of(np.array([[5, 1], [0, 3]])), Purity("gini").of(np.array([[4, 0], [0, 4]]))
    (8, 0)
    """

    measure: Impurity
    most: int = MOST_RECORDS

    def of(self, table: Counts) -> int:
        """Of a table with a row for each answer and a column for each label."""
        if self.measure == "max":
            return int(table.max(axis=1).sum())
        if self.measure == "gain":
            return sum(floor(STEPS * _bits(row)) for row in np.minimum(table, self.most).tolist())
        lost = 0
        for row in table.tolist():
            size = sum(row)
            if size:  # whole numbers of any size: each answer is rounded once, whatever the records are
                lost += STEPS * size - STEPS * sum(count * count for count in row) // size
        return -lost

    def sensitivity(self, records: int, candidates: int, classes: int) -> Sensitivity:
        """Of the scores of so many questions; one answer of each changes, and is rounded once."""
        if self.measure == "max":
            return Sensitivity.scores(records, candidates, monotone=True)
        wrong, falls = 1, 2 * STEPS
        if self.measure == "gain":
            size = classes * self.most
            wrong += 2 * ceil(STEPS * (classes + 2) ** 2 * size / 2**50)  # doubles: far above what they err
            falls = ceil(STEPS * (log2(size + 1) + 1 / log(2)))
        most = records * (falls + wrong)
        return Sensitivity.scores(most, candidates, spread=most + records * wrong)


def _bits(row: list[int]) -> float:
    """Minus the number of records of an answer times the entropy of their labels."""
    size = sum(row)
    return sum(count * log2(count / size) for count in row if count)


@dataclass(frozen=True)
class _Part:
    """A part of the records on its way: the codes of each column that lead here, and what was asked."""

    node: int
    rows: RowPart
    chain: Chain
    codes: tuple[tuple[int, ...], ...]
    asked: frozenset[int]


@dataclass
class _Growth:
    """A tree while it grows."""

    table: Table
    target: int
    labels: int
    purity: Purity
    depth: int
    cuts: frozenset[int]
    share: Fraction
    column: list[int] = field(default_factory=lambda: [-1])
    level: list[int] = field(default_factory=lambda: [0])
    ways: dict[int, Counts] = field(default_factory=dict)
    counts: dict[int, Counts] = field(default_factory=dict)

    def grow(self, chain: Chain) -> None:
        """Ask and count, from the root on."""
        sizes = [attribute.size for attribute in self.table.attributes]
        every = tuple(tuple(range(size)) for size in sizes)
        waiting = deque([_Part(0, self.table.everything(), chain, every, frozenset({self.target}))])
        with progress("growing a tree", total=None) as step:
            while waiting:
                waiting.extend(self._divide(waiting.popleft()))
                step(1)

    def _divide(self, part: _Part) -> list[_Part]:
        """The sub-parts of a part, or none where it is a leaf."""
        open_columns = [
            column for column, codes in enumerate(part.codes) if column not in part.asked and len(codes) > 1
        ]
        if self.level[part.node] < self.depth and open_columns:
            widest = max(2 if column in self.cuts else len(part.codes[column]) for column in open_columns)
            records = self.table.schema.unit.records
            least = least_above(Fraction(widest * self.labels * records), self.share)
            if len(part.chain.passing(part.rows.size(), least, self.share)):
                return self._asked(part, open_columns)
        self.counts[part.node] = part.chain.noisy(part.rows.labels(self.target, self.labels))
        return []

    def _asked(self, part: _Part, open_columns: list[int]) -> list[_Part]:
        classes = self.target, self.labels
        splits = []
        for column in open_columns:
            codes = part.codes[column]
            if column in self.cuts:
                places = [Split(column, (codes[:place], codes[place:])) for place in range(1, len(codes))]
                scores = part.rows.scores(places, classes, self.purity)
                splits.append(places[part.chain.chosen(scores, self.share) if len(places) > 1 else 0])
            else:
                splits.append(Split(column, tuple((code,) for code in codes)))
        scores = part.rows.scores(splits, classes, self.purity)
        split = splits[part.chain.chosen(scores, self.share) if len(splits) > 1 else 0]
        way = np.zeros(self.table.attributes[split.column].size, dtype=np.int64)
        first = len(self.column)
        self.column[part.node] = split.column
        division = part.rows.divided(split)
        chains = part.chain.apart(len(split.parts), because="a record has one value of a column")
        found = []
        way[:] = first
        for place, (codes, chain) in enumerate(zip(split.parts, chains, strict=True)):
            way[list(codes)] = first + place
            self.column.append(-1)
            self.level.append(self.level[part.node] + 1)
            narrowed = (*part.codes[: split.column], codes, *part.codes[split.column + 1 :])
            done = part.asked if split.column in self.cuts else part.asked | {split.column}
            found.append(_Part(first + place, division.part(place), chain, narrowed, done))
        self.ways[part.node] = way
        return found

    def pruned(self) -> None:
        """Sub-trees that do not pay by the noisy counts become leaves, from the bottom up: post-processing.

        As in C4.5, every leaf is taken to err half a record more than it seems to.
        """
        for node in sorted(self.ways, reverse=True):
            children = np.unique(self.ways[node]).tolist()
            if any(child in self.ways for child in children):
                continue
            below = np.stack([self.counts[child] for child in children])
            together = below.sum(axis=0)
            if _errs(together) <= sum(_errs(counts) for counts in below):
                self.counts[node] = together
                self.column[node] = -1
                del self.ways[node]
                for child in children:
                    del self.counts[child]

    def finished(self) -> tuple[Tree, Counts]:
        """The nodes that are left, numbered anew, and the counts of the leaves."""
        kept = sorted({*self.ways, *self.counts})
        number = {node: place for place, node in enumerate(kept)}
        ways = {
            number[node]: np.array([number[child] for child in way.tolist()], dtype=np.int64)
            for node, way in self.ways.items()
        }
        tree = Tree(tuple(self.column[node] for node in kept), ways)
        counts = np.stack([self.counts[node] for node in sorted(self.counts)])
        return tree, np.clip(counts, -LARGEST_COUNT, LARGEST_COUNT)


def _errs(counts: Counts) -> float:
    believed = np.maximum(counts, 0)
    return float(believed.sum() - believed.max()) + 0.5


def _ranges(attributes: tuple[Attribute, ...], target: str) -> frozenset[int]:
    """The columns of ordered values that can be cut in two, missing values at the upper end."""
    return frozenset(
        place
        for place, attribute in enumerate(attributes)
        if attribute.ordered and attribute.size > 2 and attribute.name != target
    )


@dataclass(frozen=True)
class _PrivateTree(Method[Table]):
    """What both trees share."""

    target: Annotated[str | None, Text()] = None
    depth: Annotated[int, Whole(0, 50)] = 5
    score: Impurity = "max"

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, and a target that is no column of categories."""
        refuse_unless_added(schema)
        target_of(schema, self.target)

    def _fitted(self, table: Table, budget: Budget, *, numeric: bool) -> DecisionTreeRelease:
        target = target_of(table.schema, self.target)
        attributes = table.attributes
        cuts = _ranges(attributes, target) if numeric else frozenset[int]()
        draws = (2 + len(cuts)) * self.depth + 2
        growth = _Growth(
            table,
            table.schema.names.index(target),
            table.schema.sizes[target],
            Purity(self.score, table.public_size or MOST_RECORDS),
            self.depth,
            cuts,
            budget.left[0] / draws,
        )
        detail = f"{self.depth} levels, {len(attributes) - 1} columns, score {self.score}"
        growth.grow(Chain.paid(budget, self.name, detail=detail))
        if numeric:
            growth.pruned()
        tree, counts = growth.finished()
        return DecisionTreeRelease(
            method=self.name,
            schema=table.schema,
            parameters={"target": target, "depth": self.depth, "score": self.score},
            receipt=budget.receipt(table.schema.unit, table.relation),
            target=target,
            tree=tree,
            counts=counts,
            total=number_of(counts),
        )


@dataclass(frozen=True)
class DiffPID3(_PrivateTree):
    """A decision tree that asks for the value of one column after another.

    `target` is the column to predict (None: the schema's), `depth` the most questions on a way, and `score`
    what makes a question good: `max`, `gini`, or the information `gain`, which is worth something only where
    the schema makes the number of records public.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> table = Table.open(frame, schema)
    >>> release = DiffPID3(target="coughs").fit(table, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"smoker": [True, False]}))["coughs"].to_list()
    [True, False]
    """

    name: ClassVar[str] = "diffpid3"

    def fit(self, table: Table, budget: Budget) -> DecisionTreeRelease:
        """Grow the tree and count the labels at its leaves; spends the whole budget."""
        self.ready(table, budget)
        return self._fitted(table, budget, numeric=False)


@dataclass(frozen=True)
class DiffPC45(_PrivateTree):
    """A decision tree that also cuts ranges in two, and is pruned.

    The parameters are those of `DiffPID3`.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml('''
    ... fields:
    ... - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {count: 8}}
    ... - {name: works, type: boolean}
    ... ''')
    >>> frame = pl.DataFrame({"age": [10] * 500 + [50] * 500, "works": [False] * 500 + [True] * 500})
    >>> table = Table.open(frame, schema)
    >>> release = DiffPC45(target="works").fit(table, Budget(5, randomness=Randomness.seeded(1)))
    >>> release.predict(pl.DataFrame({"age": [12, 55]}))["works"].to_list()
    [False, True]
    """

    name: ClassVar[str] = "diffpc45"

    def fit(self, table: Table, budget: Budget) -> DecisionTreeRelease:
        """Grow the tree, count the labels at its leaves and prune it; spends the whole budget."""
        self.ready(table, budget)
        return self._fitted(table, budget, numeric=True)
