"""PrivPfC's list of grids varied, and who pays for a second choice: which of them is the default.

    python studies/classification_lists.py            # all tables, ten runs of each
    python studies/classification_lists.py --show

Every list is made without looking at a record. The tables and the columns to be predicted are those of
classification_default.py: half of them chose the constants (half of the room for each number of columns in a
beam, half of what is left over for a second choice), the other half was then tried unchanged. The number of
records is public here, so that a list is the same in every run and its grids are scored once; what is
published costs what it always does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from classification_default import BUDGETS, HALVES, MAJORITY, METRICS, NAMES, errors
from frame.command import main
from frame.data import data_of
from frame.results import Results, Summary
from frame.statements import Statement, Verdict, count_of
from frame.study import Method, Study
from penstock import catalogue
from penstock.contracts.plug import method_class
from penstock.engine import Marginal
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation

Counts = NDArray[np.int64]


class Remembering(Table):
    """A table that remembers the sealed scores of a list, and gives them again for the same list."""

    def scored(
        self,
        marginals: Sequence[Marginal],
        score: Callable[[list[Counts]], Counts],
        sensitivity: Sensitivity,
        *,
        because: str,
    ) -> Sealed[Counts]:
        known: dict[Any, Sealed[Counts]] = self.__dict__.setdefault("_known", {})
        told = tuple(
            tuple(column if isinstance(column, str) else (column.name, column.size) for column in marginal)
            for marginal in marginals
        )
        key = hash(told), len(told), sensitivity.spread
        if key not in known:
            known[key] = super().scored(marginals, score, sensitivity, because=because)
        return known[key]


@cache
def remembering(name: str) -> Remembering:
    """The training part of a table, its number of records public."""
    train = data_of(name).train
    facts = {"relation": Relation.ADD_REMOVE, "size": train.rows}
    return Remembering(train.engine, train.schema.model_copy(update=facts))


@dataclass(frozen=True)
class Listed:
    """PrivPfC with some parameters, on tables that remember."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    method: str = "privpfc"

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Any:
        made = method_class(catalogue.method(self.method))(**self.parameters)
        name = f"predict-{dataset.train.name.partition(' ')[0]}"
        return made.fit(remembering(name), Budget(epsilon, randomness=Randomness.seeded(seed)))


PUBLISHED = "as published"
LEFT_OVER = {"passes": 2, "paid_by": "left-over"}
FIRST, BEAM = {"search": "first"}, {"search": "beam"}
METHODS: dict[str, Method] = {
    PUBLISHED: Listed(FIRST),
    "finest levels": Listed({**FIRST, "levels": "finest"}),
    "even levels": Listed({**FIRST, "levels": "even"}),
    "beam": Listed(BEAM),
    "beam, even levels": Listed({**BEAM, "levels": "even"}),
    "two choices": Listed({**FIRST, "passes": 2}),
    "two choices by the rule": Listed({**FIRST, "passes": None}),
    "second by left-over": Listed({**FIRST, **LEFT_OVER}),
    "finest levels, left-over": Listed({**FIRST, "levels": "finest", **LEFT_OVER}),
    "even levels, left-over": Listed({**FIRST, "levels": "even", **LEFT_OVER}),
    "beam, left-over": Listed({**BEAM, **LEFT_OVER}),
    "beam, even levels, left-over": Listed({**BEAM, "levels": "even", **LEFT_OVER}),
    MAJORITY: Listed(method="majority-label"),
}
VARIED = tuple(METHODS)[1:-1]


def relative(results: Results, method: str, half: str, budgets: Sequence[str]) -> list[float]:
    """The error beside that of the most frequent label, for every table and budget of a half."""
    return [
        results.mean(f"predict-{name}", method, each, "error")
        / results.mean(f"predict-{name}", MAJORITY, each, "error")
        for name in HALVES[half]
        for each in budgets
    ]


def gained(results: Results, method: str, half: str, budgets: Sequence[str] = BUDGETS) -> Summary | None:
    """How much less a variation errs than the published list, over the tables where both were measured."""
    one, two = (relative(results, name, half, budgets) for name in (PUBLISHED, method))
    known = [first - second for first, second in zip(one, two, strict=True) if not isnan(first + second)]
    return Summary.of(known) if known else None


def none_is_better(half: str) -> Callable[[Results], Verdict]:
    """Whether no variation errs less than the published list by more than two standard errors."""

    def check(results: Results) -> Verdict:
        found = {method: gained(results, method, half) for method in VARIED}
        known = {method: one for method, one in found.items() if one is not None}
        if not known:
            return Verdict(None, "")
        best = max(known, key=lambda method: known[method].mean)
        told = f"largest gain {100 * known[best].mean:.1f} ± {100 * known[best].error:.1f} points ({best})"
        return Verdict(all(one.mean <= 2 * one.error for one in known.values()), told)

    return check


WIDE = {"to choose by": ("digits", "wide"), "to confirm": ("ordinal", "wider")}
"""Tables of sixty columns and more: the first 10,000 grids look at two of them at most."""


def on_wide_tables(method: str, tables: Sequence[str]) -> Callable[[Results], Verdict]:
    """Whether a list errs less than the first grids where these look at few columns."""

    def check(results: Results) -> Verdict:
        return count_of(
            (
                f"{name} ε {each}, {method}",
                results.get(f"predict-{name}", method, each, "error"),
                results.get(f"predict-{name}", PUBLISHED, each, "error"),
            )
            for name in tables
            for each in BUDGETS
        )

    return check


STATEMENTS = (
    Statement(
        "ours",
        "On the tables to choose by: no other list and no second choice errs less than the published list, "
        "beyond noise.",
        none_is_better("to choose by"),
    ),
    Statement(
        "ours",
        "On the tables to confirm: no other list and no second choice errs less than the published list, "
        "beyond noise.",
        none_is_better("to confirm"),
    ),
    Statement(
        "ours",
        "On tables to choose by with sixty columns or more a beam errs less than the first grids.",
        on_wide_tables("beam", WIDE["to choose by"]),
    ),
    Statement(
        "ours",
        "On tables to confirm with sixty columns or more a beam errs less than the first grids.",
        on_wide_tables("beam", WIDE["to confirm"]),
    ),
    Statement(
        "ours",
        "With sixty columns and more a second choice by what is left over errs less than one.",
        on_wide_tables("second by left-over", (*WIDE["to choose by"], *WIDE["to confirm"])),
    ),
)


def summary(results: Results) -> str:
    """All errors, then gains over the published list."""
    return "\n".join([errors(results, METHODS), "", gains(results)])


def gains(results: Results) -> str:
    """How much less each variation errs than the published list, in hundredths of the majority's error."""
    heads = [f"{half}, ε = {each}" for half in HALVES for each in BUDGETS]
    lines = [f"| less error than the published list | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for method in VARIED:
        found = [gained(results, method, half, [each]) for half in HALVES for each in BUDGETS]
        shown = ["" if one is None else f"{100 * one.mean:+.1f} ± {100 * one.error:.1f}" for one in found]
        lines.append(f"| {method} | {' | '.join(shown)} |")
    return "\n".join(lines)


def study() -> Study:
    return Study(
        name="classification-lists",
        title="PrivPfC's list of grids, and who pays for a second choice",
        datasets=NAMES,
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=10,
        full=20,
        statements=STATEMENTS,
        summary=summary,
    )


if __name__ == "__main__":
    main(study)
