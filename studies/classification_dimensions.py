"""How classifiers stand many columns: Bank with its first few columns, ranked by chi-square (section 3.5).

    python studies/classification_dimensions.py
    python studies/classification_dimensions.py --show

The dissertation does this with US, which may not be passed on. The ranking looks at the records; it sets up
the experiment and is no part of any method.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.feature_selection import chi2

from classification import Errors, Released, Synthetic
from frame.command import main
from frame.data import LOADERS, Dataset
from frame.folds import Fold, fold_of
from frame.results import Results
from frame.statements import Statement, Verdict, count_of
from frame.study import Method, Metric, Study
from penstock.schema import Schema

COLUMNS = (5, 10, 15, 20)
BUDGETS = ("0.5",)
METHODS: dict[str, Method] = {
    "privpfc": Released("privpfc"),
    "diffgen": Released("diffgen"),
    "pph": Released("pph"),
    "synthetic rows": Synthetic(),
}
METRICS: dict[str, Metric] = {"error": Errors()}
STABLE = 0.02
"""An error that rises by less from the fewest columns to all is called stable."""


def narrowed(number: int, columns: int) -> Fold:
    """A fold of Bank with so many predictors, those that tell most about the target."""
    fold = fold_of(f"bank-deposit-{number}")
    names = [name for name in fold.train.names if name != fold.target]
    sizes = fold.train.sizes
    truth = fold.train.codes[fold.target]
    worth = [
        float(np.nansum(chi2(np.eye(sizes[name])[fold.train.codes[name].astype(np.int64)], truth)[0]))
        for name in names
    ]
    chosen = {names[place] for place in np.argsort(worth)[::-1][:columns].tolist()} | {fold.target}
    return Fold(_only(fold.train, chosen), _only(fold.test, chosen), fold.target)


def _only(whole: Dataset, names: set[str]) -> Dataset:
    facts = whole.schema.model_dump(by_alias=True, exclude_defaults=True)
    fields = [field for field in facts["fields"] if field["name"] in names]
    schema = Schema.model_validate({**facts, "fields": fields})
    return Dataset(whole.name, schema, {name: whole.codes[name] for name in whole.names if name in names}, {})


FOLDS = (0, 1, 2)
NAMES = tuple(f"bank-{columns}-{number}" for columns in COLUMNS for number in FOLDS)
LOADERS.update(
    {
        f"bank-{columns}-{number}": partial(narrowed, number, columns)
        for columns in COLUMNS
        for number in FOLDS
    }
)


def error(results: Results, method: str, columns: int) -> float | None:
    """The mean error over the folds that were run."""
    known = [results.get(f"bank-{columns}-{number}", method, "0.5", "error tree") for number in FOLDS]
    means = [one.mean for one in known if one is not None]
    return sum(means) / len(means) if means else None


def stable(method: str) -> Statement:
    def check(results: Results) -> Verdict:
        first, last = (error(results, method, columns) for columns in (COLUMNS[0], COLUMNS[-1]))
        if first is None or last is None:
            return Verdict(None, "")
        return count_of([(f"{COLUMNS[-1]} columns, less {STABLE}, and {COLUMNS[0]}", last - STABLE, first)])

    return Statement("8", f"The error of {method} is stable in the number of columns.", check)


def best(results: Results) -> Verdict:
    return count_of(
        (f"{columns} columns, {other}", error(results, "privpfc", columns), error(results, other, columns))
        for columns in COLUMNS
        for other in ("diffgen", "pph")
    )


STATEMENTS = (
    *(stable(method) for method in ("privpfc", "diffgen", "pph")),
    Statement("8", "PrivPfC errs least whatever the number of columns.", best),
)


def summary(results: Results) -> str:
    lines = [
        f"| error of a tree, Bank, ε = 0.5 | {' | '.join(f'{columns} columns' for columns in COLUMNS)} |",
        "|---|" + "--:|" * len(COLUMNS),
    ]
    for method in METHODS:
        found = [error(results, method, columns) for columns in COLUMNS]
        lines.append(f"| {method} | {' | '.join('' if one is None else f'{one:.4f}' for one in found)} |")
    return "\n".join(lines)


def study() -> Study:
    return Study(
        name="classification-dimensions",
        title="Classifiers on few and many columns of Bank",
        datasets=NAMES,
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=1,
        full=10,
        statements=STATEMENTS,
        summary=summary,
    )


if __name__ == "__main__":
    main(study)
