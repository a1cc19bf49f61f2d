"""Counts of patterns by the ladder mechanism: triangles, k-stars, k-cliques, k-triangles.

Guarantee: pure epsilon for one edge added or removed (or as many together as the schema protects).
Why: each count is drawn from its ladder, whose theorem stands in `penstock.privacy.mechanisms.ladder`, with
the widths of `penstock.kinds.graph.patterns`; several counts share the budget by sequential composition. A
small share pays for the largest degree or number of common neighbours, which one edge moves by at most one:
from it follow error bars, since the true size of the noise depends on the graph and must not be told.

Reference: J. Zhang, G. Cormode, C. M. Procopiuc, D. Srivastava and X. Xiao, "Private release of graph
statistics using ladder functions" (SIGMOD 2015), with a corrected bound for k-triangles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, FromPython, Text
from penstock.errors import BudgetError, QueryError, ReleaseError, UsageError
from penstock.kinds.graph import pictures
from penstock.kinds.graph.data import Graph
from penstock.kinds.graph.layout import nodes_of
from penstock.kinds.graph.patterns import CustomPattern, Pattern, Reach, pattern
from penstock.kinds.graph.release import GraphRelease
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.rungs import Rungs
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.ladder import ladder, margin
from penstock.progress import progress
from penstock.releases import Answer, Manifest, Model, Question
from penstock.releases.error_bars import charged
from penstock.report.picture import Picture
from penstock.schema import Schema

CONFIDENCE = 0.975  # of the largest number and of the count, so that both hold in 95 of 100 releases
MOST = 10**300
WIDEST_LADDER = (
    "The size of the noise depends on the graph and is not told: the error bar is that of the widest noise "
    "of any graph whose nodes have no more in common than was paid to know, and covers at least 95 %."
)


@dataclass(frozen=True)
class LadderCounts(Method[Graph]):
    """Noisy numbers of patterns.

    `counts` names them, separated by commas; `shares` divides the budget among them (equally where it is not
    given); `bars` is the share that pays for error bars, 0 for none. `custom` holds patterns of one's own.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> links = [(i, j) for i in range(20) for j in range(i)]
    >>> clique = pl.DataFrame(links, schema=["from", "to"], orient="row")
    >>> graph = Graph.open(clique, Schema.from_yaml("{kind: graph, edges: {nodes: 40}}"))
    >>> budget = Budget(4, randomness=Randomness.seeded(1))
    >>> release = LadderCounts(counts="triangle, 2-star").fit(graph, budget)
    >>> abs(release.counts["triangle"] - 1140) < 100
    True
    """

    name: ClassVar[str] = "ladder"

    counts: Annotated[str, Text()] = "triangle"
    shares: Annotated[str | None, Text()] = None
    bars: Annotated[Amount, Exact(least=0, below=1)] = "1/20"
    custom: Annotated[tuple[CustomPattern, ...], FromPython("custom patterns")] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        named = [each.name for each in self.patterns]
        if not named or len(set(named)) < len(named):
            raise UsageError("counts: name at least one pattern, and each once. Nothing was spent.")
        _ = self.division

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        named = [text for text in self.counts.split(",") if text.strip()]
        if not isinstance(self.custom, tuple) or not all(
            isinstance(one, CustomPattern) for one in self.custom
        ):
            raise UsageError("custom: give patterns made with CustomPattern. Nothing was spent.")
        return (*(pattern(text) for text in named), *self.custom)

    @property
    def division(self) -> tuple[Fraction, ...]:
        """The share of each pattern of what is not spent on error bars."""
        many = len(self.patterns)
        if self.shares is None:
            return (Fraction(1, many),) * many
        try:
            given = tuple(exact(text, "shares") for text in self.shares.split(","))
        except BudgetError:
            given = ()
        if len(given) != many or min(given, default=Fraction(0)) <= 0 or sum(given) != 1:
            raise UsageError(
                f"shares: write one number above 0 for each of {many} counts, adding up to 1, such as "
                f"{', '.join(f'1/{many}' for _ in range(many))}. Nothing was spent."
            )
        return given

    def check(self, schema: Schema) -> None:
        for each in self.patterns:
            each.refuse(nodes_of(schema))

    def fit(self, graph: Graph, budget: Budget) -> SubgraphCountsRelease:
        """One draw from each ladder; spends the whole budget."""
        self.ready(graph, budget)
        self.check(graph.schema)
        share = exact(self.bars, "bars")
        largest = _largest(graph, self.patterns, budget.part("error bars", share)) if share else None
        values: dict[str, int] = {}
        errors: dict[str, float | None] = {}
        with progress("counting patterns", total=len(self.patterns)) as step:
            for each, part in zip(self.patterns, self.division, strict=True):
                pay = budget.part(each.name, part * (1 - share))
                rate = pay.epsilon / (2 * graph.together)
                values[each.name] = ladder(graph.rungs(each), pay=pay)
                known = None if largest is None else each.bounding(graph.n, largest[each.reach])
                errors[each.name] = None if known is None else _error(known, rate)
                step(1)
        return SubgraphCountsRelease(
            method=self.name,
            schema=graph.schema,
            receipt=budget.receipt(graph.schema.unit, graph.relation),
            parameters={
                "counts": self.counts,
                "shares": self.shares,
                "bars": str(share),
                "custom": [each.name for each in self.custom],
            },
            counts=values,
            errors=errors,
        )


def _error(known: Rungs, rate: Fraction) -> float | None:
    """The error bar of a ladder; None where it has hundreds of digits."""
    found = margin(known, rate, CONFIDENCE)
    return float(found) if found < MOST else None


def _largest(graph: Graph, patterns: Sequence[Pattern], pay: Budget) -> dict[Reach, int]:
    """Upper bounds, each right with a probability of 97.5 %, on what decides the noise."""
    reaches: list[Reach] = list(dict.fromkeys(each.reach for each in patterns))
    sealed = graph.largest(reaches)
    above = noise.margin(sealed.sensitivity.l1, pay.epsilon, 2 * CONFIDENCE - 1)  # too low on one side only
    return {
        reach: int(value) + above
        for reach, value in zip(reaches, noise.counts(sealed, pay=pay).tolist(), strict=True)
    }


class _Saved(BaseModel):
    counts: dict[str, int]
    errors: dict[str, float | None]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SubgraphCountsRelease(GraphRelease):
    """Noisy numbers of patterns: `counts` as they were drawn, `count` as somebody would use them.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> ring = pl.DataFrame({"from": list(range(50)), "to": [*range(1, 50), 0]})
    >>> made = release(ring, Schema.from_yaml("{kind: graph, edges: {nodes: 50}}"), epsilon=3, seed=2,
    ...     method="ladder")
    >>> list(made.counts)
    ['triangle']
    """

    answer: ClassVar[str] = "counts"
    form: ClassVar[str] = "subgraph-counts"

    counts: Mapping[str, int]
    errors: Mapping[str, float | None]

    def count(self, name: str) -> Answer:
        """The number of a pattern, not below zero nor above what is possible."""
        asked = name.strip().lower()
        known = {each.lower(): each for each in self.counts}
        if asked not in known:
            raise QueryError(f"'{name}' was not counted; this release has {', '.join(self.counts)}.")
        found = known[asked]
        custom = found in self.parameters.get("custom", ())
        most = MOST if custom else pattern(found).most(self.n)
        bar = charged(self.receipt, found, self.errors[found])
        widest = bar is not None and bar.covers is None
        return Answer.counted(
            min(self.counts[found], most), bar, f"{found}s", (WIDEST_LADDER,) if widest else ()
        )

    def questions(self) -> Mapping[str, Question]:
        return {"pattern": Question("patterns are counted", self.count, example=next(iter(self.counts)))}

    def model(self) -> Model:
        return Model(json=_Saved(counts=dict(self.counts), errors=dict(self.errors)).model_dump())

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        if saved.counts.keys() != saved.errors.keys():
            raise ReleaseError("model.json has other counts than error bars; get the release again.")
        return cls(**manifest.common, counts=saved.counts, errors=saved.errors)

    def pictures(self) -> Sequence[Picture]:
        return [pictures.counts({name: self.count(name) for name in self.counts})]

    def explain(self) -> Sequence[str]:
        answers = [self.count(name) for name in self.counts]
        told = ", ".join(map(str, answers))
        caveats = dict.fromkeys(caveat for answer in answers for caveat in answer.caveats)
        return [" ".join([f"Patterns of linked nodes: {told}. Each number was drawn by itself.", *caveats])]

    def limits(self) -> Sequence[str]:
        return ["There are only counts in this release, and no synthetic graph.", *super().limits()]
