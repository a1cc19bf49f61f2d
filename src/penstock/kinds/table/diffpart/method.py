"""DiffPart for records: a table divided along the taxonomies of its columns, the next one chosen privately.

All records begin in one part, whose cut has the root of each column's tree. A part is divided along one
column, which the exponential mechanism chooses by how much it tells apart; sub-parts with a noisy count above
a threshold are divided further; and where every column is down to single codes the noisy count of that row
is released.

Guarantee: pure epsilon for one record added or removed (for one user: as many records as the schema allows a
user). Why: a record has one child of every node, so that it follows one chain of parts
(`privacy.mechanisms.chains`). Half of epsilon guides the way: a part gives an equal share of what is left of
this half to each of the divisions that its records may still need, at most the sum of the heights of its
nodes. Of that share `choice` pays for the choice of the column (and, for intervals, of the place to cut at),
the rest for the counts. What is left is for the count at the end of the chain, together with the other half:
no chain spends more than epsilon. Combinations that do not occur get the same noise and thresholds as those
that do.

Reference: appendix D of R. Chen, N. Mohammed, B. C. M. Fung, B. C. Desai and L. Xiong, "Publishing set-valued
data via differential privacy" (PVLDB 2011), which names the idea and leaves it open; the design is ours.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Text, Whole
from penstock.errors import SchemaError, UsageError
from penstock.kinds.table.data import RowDivision, RowPart, Table
from penstock.kinds.table.diffpart.release import RowsRelease, completed
from penstock.kinds.table.diffpart.trees import Node, tree_of
from penstock.kinds.table.rows import Split
from penstock.kinds.table.split_scores import Measure, Score
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.chains import Chain, least_above, threshold_factor
from penstock.privacy.unit import Relation
from penstock.progress import progress
from penstock.schema import Schema

Cut = tuple[Node, ...]
FALSE_PARTS = 0.0366
MOST_PARTS = 200_000


@dataclass(frozen=True)
class DiffPartTable(Method[Table]):
    """Rows with noisy counts, found by dividing parts of the records along one column at a time.

    `score` says what makes a column worth dividing by: "max", "gain" or "gini", for the classes of the column
    `target` (None: the schema's; where it has none, "max" takes the column that leaves the largest part
    whole). `choice` is the share of a
    division that pays for choosing. `numeric` cuts ordered bins along the public "tree" of merged bins or at
    a private "median". `c1` and `c2` are the factors of the thresholds of whole rows and of parts (None: by
    the number of sub-parts). No more than `most_parts` parts are divided, in the order of their finding.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}, {name: coughs, type: boolean}]")
    >>> frame = pl.DataFrame({"smoker": [True] * 300 + [False] * 700, "coughs": [True] * 300 + [False] * 700})
    >>> release = DiffPartTable().fit(Table.open(frame, schema), Budget(1, randomness=Randomness.seeded(1)))
    >>> 250 < release.query("smoker = true and coughs = true").value < 350
    True
    """

    name: ClassVar[str] = "diffpart-table"

    score: Measure = "max"
    target: Annotated[str | None, Text()] = None
    choice: Annotated[Amount, Share()] = "3/10"
    numeric: Literal["tree", "median"] = "tree"
    c1: Annotated[Amount, Exact(least=Fraction(1, 100), most=1000)] = 1
    c2: Annotated[Amount | None, Exact(least=Fraction(1, 100), most=1000)] = None
    most_parts: Annotated[int, Whole(1, 10_000_000)] = MOST_PARTS

    def check(self, schema: Schema) -> None:
        """Refuse another relation than add-remove, a target that is no column, and gains without one."""
        if schema.relation is not Relation.ADD_REMOVE:
            raise SchemaError(
                "Parts of the records are private together when a record is added or removed; set relation "
                "to 'add-remove' in the schema."
            )
        if self.target is not None and self.target not in schema.names:
            raise UsageError(f"target must be a column of the table, not '{self.target}'. Nothing was spent.")
        if self.classes(schema) is None and self.score != "max":
            raise UsageError(
                f"score '{self.score}' is about classes; name their column as 'target' in the schema, or as "
                "the parameter target. Nothing was spent."
            )

    def classes(self, schema: Schema) -> str | None:
        """The column whose classes the scores are about: the parameter's, or else the schema's target."""
        return schema.target if self.target is None else self.target

    def fit(self, table: Table, budget: Budget) -> RowsRelease:
        """Divide parts until rows are whole or too few, and count those; spends the whole budget."""
        self.ready(table, budget)
        roots = tuple(tree_of(each, median=self.numeric == "median") for each in table.attributes)
        heights = sum(node.height for node in roots)
        detail = f"{len(roots)} columns, {heights} divisions at most, score {self.score}"
        search = _Search(self, table, Chain.paid(budget, "DiffPart", detail=detail))
        found = search.run(roots, table.everything())
        return RowsRelease(
            method=self.name,
            schema=table.schema,
            parameters={
                "score": self.score,
                "target": self.classes(table.schema),
                "choice": str(exact(self.choice)),
                "numeric": self.numeric,
                "c1": str(exact(self.c1)),
                "c2": None if self.c2 is None else str(exact(self.c2)),
                "most_parts": self.most_parts,
            },
            receipt=budget.receipt(table.schema.unit, table.relation),
            divided=search.divided,
            left_out=search.left_out,
            **completed(table.schema, found),
        )


class _Search:
    """The way down: parts that wait to be divided, and the whole rows that were found."""

    def __init__(self, method: DiffPartTable, table: Table, chain: Chain) -> None:
        self.method, self.top, self.epsilon = method, chain, chain.left
        self.score = Score(method.score)
        names, target = table.schema.names, method.classes(table.schema)
        self.target = None if target is None else (names.index(target), table.schema.sizes[target])
        self.units = table.schema.unit.records  # noise is as many times as wide, and so are thresholds
        self.c1 = exact(method.c1, "c1") * self.units
        self.divided = self.left_out = self._queued = 0
        self._waiting: deque[tuple[Cut, RowPart, Chain]] = deque()
        self._found: list[tuple[Cut, int]] = []

    def run(self, roots: Cut, everything: RowPart) -> list[tuple[Cut, int]]:
        """Divide part after part, those that were found first first."""
        if not any(node.height for node in roots):
            _, counts = self.top.counted(everything.size(), least_above(self.c1, self.top.left))
            return [(roots, int(count)) for count in counts]
        self._queued = 1
        self._waiting.append((roots, everything, self.top))
        with progress("dividing parts", total=None) as step:
            while self._waiting:
                self._divide(*self._waiting.popleft())
                step(1)
        return self._found

    def _divide(self, cut: Cut, part: RowPart, chain: Chain) -> None:
        self.divided += 1
        share = (chain.left - self.epsilon / 2) / sum(node.height for node in cut)
        for_choice = share * exact(self.method.choice, "choice")
        open_columns = [column for column, node in enumerate(cut) if node.height]
        scores = part.scores([cut[column].split(column) for column in open_columns], self.target, self.score)
        halved = for_choice / 2 if any(node.interval for node in cut) else for_choice
        column = open_columns[chain.chosen(scores, halved)] if len(open_columns) > 1 else open_columns[0]
        children = cut[column].children
        if cut[column].interval:
            place = chain.chosen(part.halves(column, cut[column].codes), for_choice - halved)
            children = cut[column].cut(place + 1)
        split = Split(column, tuple(child.codes for child in children))
        cuts = [(*cut[:column], child, *cut[column + 1 :]) for child in children]
        self._keep(cuts, part.divided(split), chain, share - for_choice, max(node.height for node in cut))

    def _keep(
        self, cuts: list[Cut], division: RowDivision, chain: Chain, amount: Fraction, height: int
    ) -> None:
        """All sub-parts above the threshold, whether they occur or not."""
        whole = [place for place, cut in enumerate(cuts) if not any(node.height for node in cut)]
        rest = [place for place in range(len(cuts)) if place not in set(whole)]
        for_whole, for_rest = chain.apart(2, because="a record has one child of a node: a whole row or not")
        if whole:
            least = least_above(self.c1, for_whole.left)
            cells, counts = for_whole.counted(division.counts(whole), least)
            for cell, count in zip(cells.tolist(), counts.tolist(), strict=True):
                self._found.append((cuts[whole[cell]], count))
        if rest:
            least = least_above(self._c2(len(cuts)) * height, amount)
            kept = [rest[cell] for cell in for_rest.passing(division.counts(rest), least, amount).tolist()]
            chains = for_rest.apart(len(kept), because="a record has one child of a node")
            for place, below in zip(kept, chains, strict=True):
                if self._queued < self.method.most_parts:
                    self._queued += 1
                    self._waiting.append((cuts[place], division.part(place), below))
                else:
                    self.left_out += 1

    def _c2(self, children: int) -> Fraction:
        if self.method.c2 is not None:
            return exact(self.method.c2, "c2") * self.units
        return max(Fraction(1), threshold_factor(children, FALSE_PARTS)) * self.units
