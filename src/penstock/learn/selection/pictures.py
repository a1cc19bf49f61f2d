"""Pictures of a selection: bars where counts were paid for, else the bare ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.report import shapes
from penstock.report.numbers import readable
from penstock.report.picture import Picture
from penstock.report.theme import BLUE, GREY, figure, ink_on, mixed, safe

MOST = 60


def counted(
    title: str, items: Sequence[str], counts: Sequence[float], margin: float | None, unit: str
) -> Picture:
    """A bar for each selected candidate, with the interval that its noise leaves open where that is known."""
    shown = list(items)[:MOST]
    values = [float(count) for count in counts][:MOST]
    bars = shapes.bar(
        orientation="h",
        y=list(range(len(shown))),
        x=values,
        error_x=None
        if margin is None
        else {"type": "constant", "value": margin, "color": GREY, "thickness": 1.5, "width": 3},
        marker={"color": BLUE},
        customdata=[safe(item, 200) for item in shown],
        hovertemplate="%{customdata}<br><b>%{x:,.0f}</b>"
        + ("" if margin is None else f" ± {readable(margin)}")
        + f" {safe(unit)}<extra></extra>",
    )
    axis = {"title": {"text": safe(unit)}, "rangemode": "tozero", "showgrid": True, "nticks": 6}
    best = f"{shown[0]} has about {readable(values[0])} {unit}"
    within = (
        "These counts also decided who is selected, so they have no error bars."
        if margin is None
        else f"The true counts lie within ± {readable(margin)} of these, each with 95 % probability."
    )
    return Picture(
        title,
        f"{len(items)} selected; {best}. {within}{_cut(items)}",
        _drawn([bars], shown, axis),
        ("rank", "selected", f"noisy count of {unit}"),
        tuple(
            (rank, item, int(count)) for rank, (item, count) in enumerate(zip(items, counts, strict=True), 1)
        ),
    )


def ranked(title: str, items: Sequence[str]) -> Picture:
    """The selected candidates in their order; nothing more is known of them."""
    shown = list(items)[:MOST]
    colours = [mixed(BLUE, "#ffffff", 1 - 0.6 * place / max(1, len(shown))) for place in range(len(shown))]
    bars = shapes.bar(
        orientation="h",
        y=list(range(len(shown))),
        x=[1] * len(shown),
        marker={"color": colours},
        text=[str(rank) for rank in range(1, len(shown) + 1)],
        textposition="inside",
        insidetextanchor="start",
        insidetextfont={"color": [ink_on(colour) for colour in colours]},
        customdata=[safe(item, 200) for item in shown],
        hovertemplate="%{customdata}<br>number <b>%{text}</b><extra></extra>",
    )
    return Picture(
        title,
        f"{len(items)} selected, in the order of the selection. The bars have no length: how frequent each "
        f"is was not paid for.{_cut(items)}",
        _drawn([bars], shown, {"visible": False, "range": [0, 4]}),
        ("rank", "selected"),
        tuple(enumerate(items, 1)),
    )


def _cut(items: Sequence[str]) -> str:
    return f" The picture shows the first {MOST}." if len(items) > MOST else ""


def _drawn(traces: list[Any], shown: Sequence[str], axis: dict[str, Any]) -> Any:
    return figure(
        traces,
        height=60 + 22 * max(2, len(shown)),
        showlegend=False,
        bargap=0.3,
        margin={"l": 8, "r": 24, "t": 8, "b": 8},
        yaxis={
            "tickvals": list(range(len(shown))),
            "ticktext": [safe(item, 40) for item in shown],
            "range": [len(shown) - 0.4, -0.6],
        },
        xaxis=axis,
    )
