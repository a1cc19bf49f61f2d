"""How a range is best cut without a look at its records: evenly, at round places, or paid for by its records.

    python studies/bins.py                       # half an hour of one processor
    python studies/bins.py --seconds 600         # as many cells as fit
    python studies/bins.py --show --write        # the table of what is there, and the pages in docs/studies

Every table of `frame/numeric.py`, of which only types and bounds are declared, is released by the default
method with its ranges cut in several ways. Compared are the shares of ranges, the ranks of quantiles and the
pairs of columns of synthetic rows with those of the records.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import exp, log, nan

from frame import Results, Statement, Study, Verdict, all_of, run
from frame.numeric import CHOOSING, CONFIRMING, ROWS, SMALL, Cut, pairs, quantiles, ranges
from frame.page import Page, listed
from frame.statements import checked, refuted, statement_table, tally
from frame.study import Method
from frame.table import markdown
from penstock.kinds.table.confluence.method import Confluence

BUDGETS = ("0.1", "1", "10")
METRICS = {"ranges": ranges, "quantiles": quantiles, "pairs": pairs}
CUTS = [("even", 16), ("round", 32), ("round", 64), ("round", 100), ("adaptive", 32)]
METHODS: dict[str, Method] = {f"{way} {most}": Cut(Confluence(), way, most) for way, most in CUTS}
BASE, CHOSEN, PAID = "even 16", "round 100", "adaptive 32"
HALVES = {"choosing": CHOOSING, "confirming": CONFIRMING}


def samples(name: str) -> list[str]:
    """A table whole where it is small, else as many rows of it as each sample has."""
    return [name] if name in SMALL else [f"{name}-{rows}" for rows in ROWS]


def ratios(
    results: Results, method: str, half: str, metric: str, epsilons: Sequence[str] = BUDGETS
) -> list[float]:
    """The errors of one cut over those of sixteen even bins, where both were measured."""
    found = []
    for table in HALVES[half]:
        for dataset in samples(table):
            for epsilon in epsilons:
                value = results.mean(dataset, method, epsilon, metric) / results.mean(
                    dataset, BASE, epsilon, metric
                )
                if value == value:
                    found.append(value)
    return found


def mean_of(found: Sequence[float]) -> float:
    return exp(sum(map(log, found)) / len(found)) if found else nan


def in_short(results: Results) -> str:
    """For each half and each cut: the mean ratio of each measure, and of all of them at each budget."""
    rows = []
    for half in HALVES:
        for method in METHODS:
            each = {metric: ratios(results, method, half, metric) for metric in METRICS}
            if method == BASE or not any(each.values()):
                continue
            at = [
                [value for metric in METRICS for value in ratios(results, method, half, metric, [epsilon])]
                for epsilon in BUDGETS
            ]
            figures = [*each.values(), *at, [value for found in each.values() for value in found]]
            rows.append([f"{half}, {method}", *(f"{mean_of(found):.2f}" for found in figures)])
    heads = ["half, cut", *METRICS, *(f"ε {epsilon}" for epsilon in BUDGETS), "all"]
    return "\n".join(markdown(heads, rows))


def summary(results: Results) -> str:
    """One line for each cell: the three errors of every cut."""
    rows = []
    for half, tables in HALVES.items():
        for table in tables:
            for dataset in samples(table):
                for epsilon in BUDGETS:
                    row = [
                        " / ".join(
                            f"{results.mean(dataset, method, epsilon, metric):.3f}" for metric in METRICS
                        )
                        for method in METHODS
                    ]
                    if "nan" not in row[0]:
                        rows.append([f"{half}, {dataset}, {epsilon}", *row])
    return "\n".join([in_short(results), "", *markdown(["half, table, ε", *METHODS], rows)])


def better(number: str, half: str, ours: str, than: str) -> Statement:
    def check(results: Results) -> Verdict:
        def all_of_them(method: str) -> list[float]:
            return [value for metric in METRICS for value in ratios(results, method, half, metric)]

        one, two = all_of_them(ours), all_of_them(than)
        if not one or not two:
            return Verdict(None, "")
        value = mean_of(one) / mean_of(two)
        return Verdict(value < 1, f"mean ratio {value:.3f} over {len(one)} figures")

    return Statement(number, f"On the {half} half `{ours}` has less error than `{than}` on average.", check)


def study() -> Study:
    compared = [(CHOSEN, other) for other in METHODS if other not in (CHOSEN, PAID)] + [(PAID, CHOSEN)]
    return Study(
        name="bins",
        title="How a range is cut without a look at its records",
        datasets=[dataset for tables in HALVES.values() for name in tables for dataset in samples(name)],
        methods=METHODS,
        budgets=BUDGETS,
        metrics=METRICS,
        repetitions=1,
        paired=True,
        statements=[
            better(f"{number}{letter}", half, ours, than)
            for number, half in enumerate(HALVES, 1)
            for letter, (ours, than) in zip("abcd", compared, strict=True)
        ],
        summary=summary,
        notes=("Errors of ranges / quantiles / pairs; ratios are to sixteen even bins.",),
    )


ASKED = """Of a number, a date or a time only the bounds are declared. Into how many bins should its range be
cut, where should the edges be, and is it worth paying for bins that follow the records?"""

HOW = """## How it was done

*even 16* was the default before: sixteen bins of one width. *round N* is the finest cut at round places with
at most N bins (`schema/round_bins.py`). *adaptive 32* finds at most 32 bins privately for a twentieth of the
budget. Whole numbers with few values have a bin for each in all of them.

- *ranges*: sixty ranges of every column, half of them with ends anywhere between the bounds, half with values
  of the records as ends; the mean difference of the shares of records inside.
- *quantiles*: how far the ranks of the 5 % to 95 % quantiles of synthetic rows lie from 5 % to 95 %.
- *pairs*: the total variation distance of pairs of columns, numbers in sixteen groups of as many records.

All methods protect one record added or removed at pure ε, and are given the same seeds. The cut was chosen on
the tables of the first half; the second half only confirms. A default is public and knows no number of
records, so it is one compromise for all of them: with 2,000 records at ε 0.1 fewer bins are better, with much
data more are; `bins: {count: …}` says so.

Adaptive bins are no default all the same: they are paid for, and their edges are where the records are. The
ranges here have ends anywhere; those that people ask about (up to 20, before 2025) end at round places, where
round bins answer with a count and adaptive ones with a range. Drafts of many records propose them."""


def page(results: Results) -> Page:
    every = checked(results)
    few, many = results.runs()
    means = {
        (half, cut): mean_of([value for metric in METRICS for value in ratios(results, cut, half, metric)])
        for half in HALVES
        for cut in (CHOSEN, PAID)
    }
    return Page(
        name="bins",
        title="Study: bins of ranges of which only the bounds are known",
        asked=ASKED,
        found=[
            f"""**Round bins, at most 100 of them, are the default: public and free.** Their error is
            {means["choosing", CHOSEN]:.2f} times that of sixteen even bins on the tables to choose by and
            {means["confirming", CHOSEN]:.2f} times on those that confirm; bins that follow the records, for a
            twentieth of the budget, have {means["choosing", PAID]:.2f} and {means["confirming", PAID]:.2f}
            times. {tally(every, "statements")}. Errors over those of sixteen even bins, geometric means:""",
            in_short(results),
            *(["What does not hold:", listed(refuted(every))] if refuted(every) else []),
        ],
        again="`python studies/bins.py`, then `--show --write`; `--seconds 600` runs as many cells as fit.",
        rests_on=f"""{"One seeded run" if many == 1 else f"{few} to {many} seeded runs"} a figure, confluence,
            three tables to choose by and five to confirm, whole or 2,000 and 10,000 rows of them.""",
        details=[HOW, "## The statements", statement_table(every)],
        tables=[f"## Errors\n\n{summary(results)}"],
    )


def pages() -> Page:
    return page(run(study(), seconds=-1))


if __name__ == "__main__":
    all_of(["bins"], pages, sys.argv[1:])
