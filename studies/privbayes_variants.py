"""Every step of confluence and of the published algorithm, changed one at a time.

    python studies/privbayes_variants.py
    python studies/privbayes_variants.py --full

Mean total variation distances of pairs (Q2) and triples (Q3) of columns between the training part (80 %) of
a table and as many synthetic rows. What did not help is in the table like what did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, nan
from typing import Any

from frame import Results, Statement, Study, Verdict, main
from frame.study import Method
from frame.table import markdown, number
from frame.tabular import Fit, MeanDistance
from penstock.kinds.table.confluence.knobs import Knobs
from penstock.kinds.table.confluence.limits import Limits
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.data import Table
from penstock.kinds.table.independent import Independent
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from penstock.schema import Relation
from privbayes_methods import Published, plain

DATASETS = ("adult-race train", "nltcs train", "acs train", "br2000 train")
BUDGETS = ("1", "0.1")
METRICS = ("Q2", "Q3")


@dataclass(frozen=True)
class Changed:
    """Confluence with other knobs, as a method."""

    knobs: Knobs

    def fit(self, table: Table, budget: Budget) -> NetworkRelease:
        return fit_with(self.knobs, table, budget)


def changed(**knobs: Any) -> Fit:
    return Fit(Changed(Knobs(**knobs)), Relation.ADD_REMOVE)


def limited(**limits: Any) -> Fit:
    return changed(limits=Limits(**limits))


PUBLISHED: dict[str, Method] = {
    "independent": Fit(Independent(), Relation.ADD_REMOVE),
    "privbayes, journal": Published("journal"),
    "privbayes, thesis": Published("thesis"),
}
PLAIN: dict[str, Method] = {
    "privbayes, plain": plain(),
    "score R": plain(score="R"),
    "score F": plain(score="F"),
    "beta 1/2, theta 3": plain(beta=Fraction(1, 2), theta=Fraction(3)),
    "no coarser parents (vanilla)": plain(encoding="vanilla"),
    "published sensitivities": plain(sensitivity="published"),
    "exponential mechanism": plain(choice="exponential"),
    "contained marginals paid again": plain(reuse=False),
    "cut off and rescale, no simplex": plain(repair="clamp"),
    "no back-off": plain(empty="uniform"),
    "no mutual consistency": plain(agree=False),
    "none of these (the paper's, with n private)": plain(
        sensitivity="published",
        choice="exponential",
        reuse=False,
        repair="clamp",
        empty="uniform",
        agree=False,
    ),
}
CONFLUENCE: dict[str, Method] = {
    "confluence": Fit(Confluence(), Relation.ADD_REMOVE),
    "smaller one-way counts (balance 0.2)": changed(balance=0.2),
    "larger one-way counts (balance 0.01)": changed(balance=0.01),
    "no second one-way counts beside views": changed(detail=0.01),
    "views however weak the dependence": changed(worth=-inf, hopeless=inf),
    "views for strong dependence only": changed(worth=5.0),
    "no tree first": changed(tree=False),
    "few choices whatever the mean gap": changed(choice_gap=0.0),
    "the same budget for every table": changed(even=True),
    "choices that ignore the noise": changed(caution=0.0),
    "choices that count it in full": changed(caution=1.0),
    "choices by the exponential mechanism": changed(choice="exponential"),
    "choices: 1/20 of the budget": changed(choices=Fraction(1, 20)),
    "choices: 1/5": changed(choices=Fraction(1, 5)),
    "no coarser levels": changed(sizes=(), finest=1 << 20),
    "at most 8 groups": changed(finest=8, clearly=0.0),
    "a table of its own for every pair": changed(pack=False),
    "never all pairs": changed(plane=inf),
    "always all pairs": changed(plane=-inf),
    "all pairs not sooner where choices are few": changed(few_choices=1.0),
    "at most 1 parent": limited(parents=1),
    "at most 2 parents": limited(parents=2),
    "at most 4 parents": limited(parents=4),
    "families of at most 512 cells": limited(cells=512),
    "every tie connects": limited(doubt=-inf, hint=-inf),
    "ties that stand out more": limited(hint=1.0, doubt=3.0),
    "counts trusted more (ridge 0.03)": limited(ridge=0.03),
    "counts trusted less (ridge 1)": limited(ridge=1.0),
    "no least squares across views": limited(consistent=False),
    "cut off and rescale": limited(repair="clamp"),
    "onto the simplex, however noisy": limited(repair="project"),
}


# What came out ------------------------------------------------------------------------------------------


def ratio(results: Results, method: str, base: str, datasets: Sequence[str] = DATASETS) -> float:
    """The geometric mean over tables, budgets and metrics of the error relative to that of another method."""
    logs = []
    for dataset in datasets:
        for epsilon in BUDGETS:
            for metric in METRICS:
                one = results.mean(dataset, method, epsilon, metric)
                two = results.mean(dataset, base, epsilon, metric)
                if one == one and two == two:
                    logs.append(log(one / two))
    return exp(sum(logs) / len(logs)) if logs else nan


def summary(results: Results) -> str:
    """One line for each variant: Q2 and Q3 on each table, and the mean ratio to what it is a variant of."""
    heads = [
        "Q2 / Q3",
        *(f"{name.split()[0]} ε {epsilon}" for name in DATASETS for epsilon in BUDGETS),
        "ratio",
        "CPU s",
    ]
    parts = []
    for title, methods, base in (
        ("As published, beside independent columns (ratio to `confluence`)", PUBLISHED, "confluence"),
        (
            "`privbayes, plain`: the published algorithm, one step changed (ratio to it)",
            PLAIN,
            "privbayes, plain",
        ),
        ("`confluence`, one step changed (ratio to it)", CONFLUENCE, "confluence"),
    ):
        rows = []
        for method in methods:
            row = [method]
            for dataset in DATASETS:
                for epsilon in BUDGETS:
                    found = [results.get(dataset, method, epsilon, metric) for metric in METRICS]
                    row.append(" / ".join(f"{one.mean:.3f}"[1:] for one in found if one is not None))
            taken = [results.seconds(dataset, method, "1") for dataset in DATASETS]
            seconds = [one.mean for one in taken if one is not None]
            cpu = f"{sum(seconds) / len(seconds):.1f}" if seconds else ""
            rows.append([*row, f"{ratio(results, method, base):.2f}", cpu])
        parts.append("\n".join([f"**{title}**", "", *markdown(heads, rows)]))
    return "\n\n".join(parts)


def helps(one: str, two: str) -> Any:
    """The first variant is better than the second on average over the four tables."""

    def check(results: Results) -> Verdict:
        found = {name: ratio(results, one, two, (name,)) for name in DATASETS}
        if any(value != value for value in found.values()):
            return Verdict(None, "")
        mean = ratio(results, one, two)
        each = ", ".join(f"{name.split()[0]} {value:.2f}" for name, value in found.items())
        return Verdict(mean < 1, f"error multiplied by {mean:.3f}: {each}")

    return check


def within(dataset: str, epsilon: str, pairs: float, triples: float) -> Any:
    def check(results: Results) -> Verdict:
        two, three = (results.mean(dataset, "confluence", epsilon, metric) for metric in METRICS)
        if two != two or three != three:
            return Verdict(None, "")
        return Verdict(two <= pairs and three <= triples, f"{number(two)} / {number(three)}")

    return check


def nothing_better(results: Results) -> Verdict:
    """No change of one step lowers the error by more than 2 % on average."""
    found = {name: ratio(results, name, "confluence") for name in CONFLUENCE if name != "confluence"}
    known = {name: value for name, value in found.items() if value == value}
    if not known:
        return Verdict(None, "")
    best = min(known, key=lambda name: known[name])
    return Verdict(known[best] >= 0.98, f"best: {best}, error multiplied by {known[best]:.3f}")


STATEMENTS = (
    Statement(
        "ours", "Adult of the race, ε 1: at most .060 / .120.", within("adult-race train", "1", 0.060, 0.120)
    ),
    Statement(
        "ours",
        "Adult of the race, ε 0.1: at most .110 / .200.",
        within("adult-race train", "0.1", 0.110, 0.200),
    ),
    Statement(
        "ours",
        "Adult of the race, ε 1: at most MST's .045 / .096.",
        within("adult-race train", "1", 0.045, 0.096),
    ),
    Statement(
        "ours",
        "NLTCS, ε 1: triples at most .057, the best pure peer.",
        within("nltcs train", "1", inf, 0.057),
    ),
    Statement(
        "ours",
        "Projection onto the simplex helps the published algorithm on average over the four tables.",
        helps("privbayes, plain", "cut off and rescale, no simplex"),
    ),
    Statement(
        "ours", "Mutual consistency helps it on average.", helps("privbayes, plain", "no mutual consistency")
    ),
    Statement(
        "ours",
        "Least squares across views help confluence on average.",
        helps("confluence", "no least squares across views"),
    ),
    Statement(
        "ours",
        "Plausible shares help confluence on average.",
        helps("confluence", "onto the simplex, however noisy"),
    ),
    Statement("ours", "No single change improves confluence by more than 2 % on average.", nothing_better),
)


def study() -> Study:
    general = ("adult-race train", "br2000 train")
    skip = {(dataset, "score F", epsilon) for dataset in general for epsilon in BUDGETS}
    return Study(
        name="privbayes_variants",
        title="Beyond the paper: every step changed one at a time",
        datasets=DATASETS,
        methods={**PUBLISHED, **PLAIN, **CONFLUENCE},
        budgets=BUDGETS,
        metrics={"Q2": MeanDistance(2), "Q3": MeanDistance(3)},
        repetitions=3,
        skip=frozenset(skip),
        paired=True,
        statements=STATEMENTS,
        summary=summary,
        notes=(
            "Training parts (80 %) of the tables; `adult-race` is Adult in the binning of the MST papers. "
            "`journal` and `thesis` protect under `replace` with a public number of rows, everything else "
            "under `add-remove` with a private one. Degrees of published networks are capped at 7 on NLTCS "
            "and 4 on ACS; score F needs binary attributes, and `auto` takes R in all of these cases. Under "
            "`add-remove` the published and the tight sensitivities are the same. All variants get the same "
            "seeds. CPU seconds are for fitting and sampling at ε 1, mean of the four tables.",
        ),
    )


if __name__ == "__main__":
    main(study)
