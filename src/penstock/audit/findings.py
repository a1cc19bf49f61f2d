"""Verdicts for people: a table for the terminal, a picture of claimed and measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from penstock.audit.harness import Bound, Status, Verdict
from penstock.audit.target import Kind
from penstock.privacy.budgets.amounts import plain
from penstock.report import shapes

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.report.picture import Picture

COLUMNS = ("name", "claim", "exact loss", "measured", "verdict")


def measured(bound: Bound | None) -> str:
    """A lower bound on epsilon as people read it."""
    if bound is None:
        return "–"
    return "∞" if bound.epsilon == inf else f"{bound.epsilon:.3f}"


def table(verdicts: Sequence[Verdict]) -> Table:
    """A Rich table, shipped mechanisms first; what did not turn out as it must is marked."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in COLUMNS:
        numeric = column in ("exact loss", "measured")
        shown.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.kind is Kind.BROKEN):
        colour = "red" if not verdict.expected else "dim" if verdict.kind is Kind.BROKEN else "green"
        mark = "" if verdict.expected else "  <- unexpected"
        shown.add_row(
            verdict.name,
            verdict.promise.words,
            measured(verdict.exact),
            measured(verdict.sampled),
            f"[{colour}]{verdict.status.value}{mark}[/{colour}]",
        )
    return shown


def summary(verdicts: Sequence[Verdict]) -> str:
    """One sentence: how many claims stood, how many broken copies were caught, and how sure that is."""
    shipped = [verdict for verdict in verdicts if verdict.kind is Kind.SHIPPED]
    broken = [verdict for verdict in verdicts if verdict.kind is Kind.BROKEN]
    standing = sum(verdict.status is Status.HOLDS for verdict in shipped)
    caught = sum(verdict.status is Status.REFUTED for verdict in broken)
    failure = sum(verdict.failure for verdict in verdicts)
    replayed = [verdict for verdict in shipped if verdict.replays]
    parts = []
    if shipped:
        parts.append(f"{standing} of {len(shipped)} shipped claims stand (not refuted, which is not proven)")
    if broken:
        parts.append(f"{caught} of {len(broken)} deliberately broken copies refuted")
    sabotaged = [verdict for verdict in broken if verdict.replays]
    if replayed:
        number = sum(verdict.replays for verdict in replayed)
        worst = max(verdict.bound.epsilon / float(verdict.promise.epsilon) for verdict in replayed)
        parts.append(
            f"{number:,} transcripts of {len(replayed)} methods replayed on neighbours, the largest exact "
            f"loss {worst:.3f} of epsilon (1.000 is right, above is a failure)"
        )
    if sabotaged:
        number = sum(verdict.replays for verdict in sabotaged)
        kinds = sum(verdict.status is Status.REFUTED for verdict in sabotaged)
        parts.append(
            f"{number:,} sabotaged copies of methods replayed, and {kinds} of {len(sabotaged)} kinds of "
            "sabotage caught in every one of them"
        )
    return f"{'; '.join(parts)}; a true claim would be called refuted with probability at most {failure:.1g}."


def picture(verdicts: Sequence[Verdict]) -> Picture:
    """One line per target: what is claimed, and what was measured at least."""
    from penstock.report.picture import Picture
    from penstock.report.theme import BLUE, GREY, VERMILLION, figure

    ordered = sorted(verdicts, key=lambda verdict: (verdict.kind is Kind.BROKEN, verdict.name))
    limit = 1.25 * max((found for verdict in ordered if (found := verdict.bound.epsilon) < inf), default=1.0)
    names = [verdict.name for verdict in ordered]
    traces = [
        shapes.scatter(
            x=[float(verdict.promise.epsilon) for verdict in ordered],
            y=names,
            mode="markers",
            name="claimed",
            marker={"symbol": "line-ns-open", "size": 16, "color": GREY, "line": {"width": 3}},
            hovertemplate="%{y}<br>claimed epsilon <b>%{x:.3g}</b><extra></extra>",
        )
    ]
    for status, colour, words in (
        (Status.HOLDS, BLUE, "measured at least, claim stands"),
        (Status.REFUTED, VERMILLION, "measured at least, claim refuted"),
    ):
        chosen = [verdict for verdict in ordered if verdict.status is status]
        traces.append(
            shapes.scatter(
                x=[min(verdict.bound.epsilon, limit) for verdict in chosen],
                y=[verdict.name for verdict in chosen],
                mode="markers",
                name=words,
                marker={
                    "size": 10,
                    "color": colour,
                    "symbol": [
                        "triangle-right" if verdict.bound.epsilon > limit else "circle" for verdict in chosen
                    ],
                },
                customdata=[measured(verdict.bound) for verdict in chosen],
                hovertemplate="%{y}<br>at least <b>%{customdata}</b><extra></extra>",
            )
        )
    drawn = figure(
        traces,
        height=90 + 24 * len(names),
        showlegend=True,
        margin={"l": 8, "r": 16, "t": 34, "b": 8},
        yaxis={
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "showgrid": True,
            "range": [-0.7, len(names) - 0.3],
        },
        xaxis={"title": {"text": "epsilon"}, "rangemode": "tozero", "showgrid": True, "nticks": 8},
    )
    rows = tuple(
        (verdict.name, plain(verdict.promise.epsilon), measured(verdict.bound), verdict.status.value)
        for verdict in ordered
    )
    return Picture(
        "Claimed and measured privacy loss",
        summary(verdicts),
        drawn,
        ("target", "claimed epsilon", "measured at least", "verdict"),
        rows,
    )
