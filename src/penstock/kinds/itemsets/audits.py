"""Audits of item sets: whole methods on a few items, and the mistakes that methods of this kind invite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.paper_mistakes import Mistakes
from penstock.audit.replay import Tampering
from penstock.audit.sabotage import changed
from penstock.audit.tampering import raw_size
from penstock.audit.transcript import Recording, Replaying
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.passing import Passed, Passing, SparseCounts
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Log
from penstock.privacy.seals.sealed import Sealed
from penstock.schema import Schema

O = TypeVar("O")  # noqa: E741  # an output

PAIR = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [a, b]}}
"""
SINGLE = PAIR.replace("[a, b]", "[a]")
FOUR = PAIR.replace("[a, b]", "[a, b, c, d]")
GROUPED = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [a, b, c]}, taxonomy: {early: [a, b], late: [c]}}
"""
SINGLES = (("a",), ("b",))
BASKETS = (("a",), ("b",), ("a b",), ("",))
LARGE = (("a",), ("a b",), ("c d",), ("a b c d",), ("b d",), ("",))
LOOSE = {"fan_out": 2, "c1": "1/10", "c2": "1/10"}
EAGER = {"fan_out": 2, "c1": "1/100", "c2": "1/100"}


def seen_items(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The universe shortened to the items that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    seen = {item for record in records for item in str(record[0]).split()}
    described = text["fields"][0]
    described["constraints"]["enum"] = sorted(seen) or described["constraints"]["enum"][:1]
    described.pop("taxonomy", None)
    return Schema.model_validate(text)


def _only_occurring(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """A table of the cells that occur, so that no other can pass."""
    if name not in ("whole", "open"):
        return sealed

    def left(table: SparseCounts) -> SparseCounts:
        return replace(table, cells=np.arange(table.cells.size), size=max(1, table.cells.size))

    return sealed.claim(left, sealed.sensitivity, because="it does not hold: which cells occur is private")


def _counted_twice(name: str, sealed: Sealed[Any]) -> Sealed[Any]:
    """Whole sets counted with twice what is left for them."""
    if name != "whole":
        return sealed
    return sealed.claim(
        lambda table: table,
        sealed.sensitivity.scaled(Fraction(1, 2)),
        because="it does not hold: the end of a chain is paid with twice what is left",
    )


def _tuned(data: Any, method: Any) -> Any:
    """The factor of the threshold whose release comes nearest to the records, as the paper suggests."""
    size = raw_size(data)

    def miss(factor: str) -> float:
        tried = replace(method, c1=factor)
        made = tried.fit(data, Budget(1, randomness=Randomness.seeded(size)))
        return abs(float(made.number.value) - size)

    return replace(method, c1=min(("1/100", "1", "2", "3"), key=miss))


class HigherForAbsent(Passing):
    """Parts that do not occur have to reach one more than those that do, as in the authors' own code."""

    def draw(self, source: Randomness) -> Passed:
        found = Passing(self.table, self.rate, self.least, told=True).draw(source)
        assert found.counts is not None
        passed = np.isin(found.cells, self.table.cells) | (found.counts > self.least)
        return Passed(found.cells[passed], None)

    def log_probability(self, output: Passed) -> Log:
        """Those that occur and those that do not are two tables, each with a threshold of its own."""
        held, nothing = self.table.cells, np.zeros(0, dtype=np.int64)
        occurring = Passing(
            SparseCounts(np.arange(held.size), self.table.counts, held.size),
            self.rate,
            self.least,
            told=False,
        )
        absent = Passing(
            SparseCounts(nothing, nothing, self.table.size - held.size), self.rate, self.least + 1, told=False
        )
        passed = np.flatnonzero(np.isin(held, output.cells))
        others = np.arange(output.cells.size - passed.size)
        return occurring.log_probability(Passed(passed, None)) + absent.log_probability(Passed(others, None))


def _higher(law: Law[Any]) -> Law[Any]:
    """Where a part is tested without telling its count, another threshold for what does not occur."""
    if isinstance(law, Passing) and not law.told:
        return HigherForAbsent(law.table, law.rate, law.least, told=False)
    return law


class _Higher(Recording):
    def draw(self, law: Law[O]) -> O:
        output: O = super().draw(law if self._transcript.inside else _higher(law))
        return output


class _HigherAgain(Replaying):
    def draw(self, law: Law[O]) -> O:
        output: O = super().draw(_higher(law))
        return output


MISTAKES: dict[str, tuple[str, Tampering]] = {
    "only-what-occurs": (
        "combinations that do not occur cannot pass",
        Tampering(data=partial(changed, change=_only_occurring)),
    ),
    "higher-for-absent": (
        "parts that do not occur have to reach one more than those that do",
        Tampering(recording=_Higher, replaying=_HigherAgain),
    ),
    "leaves-twice": (
        "whole sets are counted with twice what is left for them",
        Tampering(data=partial(changed, change=_counted_twice)),
    ),
    "tuned-threshold": (
        "the threshold is tried out on the records",
        Tampering(method=_tuned),
    ),
}


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit("diffpart", PAIR, SINGLES, parameters=EAGER, read_off=seen_items),
    MethodAudit("diffpart", FOUR, LARGE, parameters=LOOSE, label="deep"),
    MethodAudit(
        "diffpart", GROUPED, BASKETS, parameters={"fan_out": 3, "c1": "1/10", "c2": "1/10"}, label="grouped"
    ),
    MethodAudit(
        "diffpart", FOUR, LARGE, parameters={**LOOSE, "recover": "1/2"}, label="recovered", copies=()
    ),
    MethodAudit(
        "privtree-sets",
        PAIR,
        SINGLES,
        parameters={"tree_frac": "1/10"},
        epsilon=Fraction(2),
        read_off=seen_items,
    ),
    MethodAudit("privtree-sets", FOUR, LARGE, label="deep"),
    MethodAudit(
        "top-sets",
        SINGLE,
        SINGLES[:1],
        copies=("halved-sensitivity", "forgotten-noise", "budget-used-twice", "fixed-seed"),
    ),
    MethodAudit(
        "top-sets",
        PAIR,
        SINGLES,
        parameters={"k": 2, "longest": 1},
        read_off=seen_items,
        label="every item",
        copies=("domain-from-data",),
    ),
    MethodAudit("top-sets", FOUR, LARGE, parameters={"k": 2, "longest": 2, "items": 3}, label="chosen items"),
    MethodAudit("set-histogram", PAIR, SINGLES, read_off=seen_items),
    MethodAudit("set-histogram", PAIR, BASKETS, parameters={"negative": "cut"}, label="cut", copies=()),
)
GROUNDS = (
    Ground("sets of up to four items", FOUR, LARGE),
    Ground("users", f"unit: {{protects: user, column: person, at_most: 2}}{PAIR}", BASKETS),
)

MISTAKEN = Mistakes(
    "diffpart",
    Ground("four items", FOUR, LARGE),
    EAGER,
    "diffpart-chains",
    "parts of the records along a tree of items, replayed on hostile neighbours",
    "broken-diffpart",
    MISTAKES,
)
AUDITS = Audits(METHODS, MISTAKEN.targets, GROUNDS)
