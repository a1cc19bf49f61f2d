"""The page: a table of epsilons and the curves behind it, made of public numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.privacy.budgets.amounts import plain
from penstock.report.curves import curves
from penstock.report.numbers import percent, readable
from penstock.report.page import Block, Gallery, Section, Table, Text, render
from penstock.report.picture import Picture

if TYPE_CHECKING:
    from penstock.explanation.foresight import Explanation

NO_RECORDS = (
    "Made from the schema, the number of records and formulas: no record was read, nothing was spent."
)
GUIDE = (
    "Made-up records are no forecast: real ones hang together in other ways. Read at which epsilon a "
    "curve comes near its ceiling, not its last digit; an error falls there, a share of right answers rises."
)
COLUMNS = ("epsilon", "a guess is right", "from 1 % to", "a count", "of a 1 % group", "a cell", "of its mean")
MEANING = (
    "a guess is right: how often somebody who must tell two equally likely neighbouring data sets apart can "
    "be right, 50 % being blind",
    "from 1 % to: what somebody can come to believe who believed 1 % before",
    "a count: with all of epsilon, the truth is within this in 95 of 100 cases; beside it, as a share of a "
    "group of 1 % of the records",
    "a cell: the mean error where every field is counted by itself with an equal part of epsilon; beside it, "
    "as a share of the mean cell of the widest field",
)


def rows_of(explained: Explanation) -> list[list[str]]:
    """The lines of the table, as people read them."""
    return [
        [
            plain(line.epsilon),
            percent(line.guess),
            f"{100 * line.rare:.3g}\u00a0%",
            f"± {readable(line.within)}",
            "–" if line.of_group is None else percent(line.of_group),
            "–" if line.cell is None else readable(line.cell),
            "–" if line.of_cell is None else percent(line.of_cell),
        ]
        for line in explained.lines
    ]


def pictures(explained: Explanation) -> Sequence[Picture]:
    """Curves over epsilon."""
    epsilons = [float(line.epsilon) for line in explained.lines]
    found = [
        curves(
            "What an observer can gain",
            {
                "a guess between two": (epsilons, [line.guess for line in explained.lines]),
                "a belief of 1 % before": (epsilons, [line.rare for line in explained.lines]),
            },
            x_name="epsilon",
            y_name="how sure",
            log_y=False,
        ),
        curves(
            "How far off a count is",
            {
                "one count (95 %)": (epsilons, [line.within for line in explained.lines]),
                **(
                    {
                        "cells of every field (mean)": (
                            epsilons,
                            [line.cell or 0.0 for line in explained.lines],
                        )
                    }
                    if explained.lines[0].cell is not None
                    else {}
                ),
            },
            x_name="epsilon",
            y_name="records",
        ),
    ]
    for curve in explained.curves:
        ends = [epsilons[0], epsilons[-1]]
        found.append(
            curves(
                f"Made-up records: {curve.name}",
                {
                    "floor": (ends, [curve.floor] * 2),
                    "release": (epsilons, curve.values),
                    "ceiling": (ends, [curve.ceiling] * 2),
                },
                x_name="epsilon",
                y_name="error" if curve.lower_is_better else "score",
                log_y=False,
            )
        )
    return found


def page(explained: Explanation) -> str:
    """One self-contained HTML page."""
    drawn = list(pictures(explained))
    numbers: list[Block] = [Table(COLUMNS, rows_of(explained), right=range(1, len(COLUMNS)))]
    numbers += [Text(list(MEANING), tone="quiet"), Gallery(drawn[:2])]
    trial: list[Block] = [Text([explained.remark or GUIDE])]
    if explained.curves:
        rows = [
            [
                curve.name,
                *(readable(value) for value in curve.values),
                readable(curve.floor),
                readable(curve.ceiling),
            ]
            for curve in explained.curves
        ]
        titles = ["measure", *(f"ε {plain(line.epsilon)}" for line in explained.lines), "floor", "ceiling"]
        trial += [Table(titles, rows, right=range(1, len(titles))), Gallery(drawn[2:])]
    return render(
        "What an epsilon means here",
        [
            Section("By formulas", numbers, short="Formulas"),
            Section(f"Tried with {explained.method} on made-up records", trial, short="Trial"),
        ],
        eyebrow="Before any record is read",
        subtitle=f"{explained.records:,} records; protected: {explained.unit}, "
        f"{explained.schema.relation.words}.",
        footer=NO_RECORDS,
    )
