"""Pictures of released data, drawn alike in every room.

Each function takes public numbers and gives a `Picture`: a figure in the house style, a
caption that tells the same to a reader who cannot see it, and the data table behind it. Labels may
be anybody's text; they are shown, never interpreted. Maps are in `maps`, networks and trees in
`diagrams`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import UsageError
from penstock.report import shapes
from penstock.report.numbers import percent, placed, readable
from penstock.report.picture import Picture
from penstock.report.theme import colours, figure, safe, told_apart
from penstock.schema.values import at

if TYPE_CHECKING:
    from penstock.schema import Schema

Series = ArrayLike | Mapping[str, ArrayLike]
Numbers = NDArray[np.float64]

_COUNTED = ("records", "points", "occurrences")


def bars(
    title: str,
    labels: Sequence[object],
    values: Series,
    *,
    caption: str = "",
    amount: str = "records",
    most: int = 24,
    sort: bool = False,
    letters: int = 26,
    disjoint: bool = True,
) -> Picture:
    """One horizontal bar for each category; several series stand side by side.

    Beyond `most` categories the largest are kept and the others are added up in a last bar. Longer names than
    `letters` are cut off beside the bars, and whole in the table. Where one record may be in several
    categories they are not `disjoint`, and no share of all is told.
    """
    series = _series(values, len(labels), amount, amount)
    names = [str(label) for label in labels]
    first = next(iter(series.values()))
    kept = _kept(first, most, sort=sort)
    dropped = len(names) - len(kept)
    shown = told_apart([names[i] for i in kept], letters) + ([f"{dropped} others"] if dropped else [])
    full = [safe(names[i], 200) for i in kept] + ([f"{dropped} other categories"] if dropped else [])
    place = list(range(len(shown)))
    traces, several = [], len(series) > 1
    for (name, numbers), colour in zip(series.items(), colours(list(series)), strict=True):
        heights = [float(numbers[i]) for i in kept]
        if dropped:
            heights.append(float(numbers.sum() - sum(heights)))
        traces.append(
            shapes.bar(
                orientation="h",
                y=place,
                x=heights,
                name=safe(name),
                marker={"color": colour},
                customdata=full,
                text=None if several else [readable(height) for height in heights],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{customdata}<br><b>%{x:,.4~g}</b> " + safe(amount) + "<extra></extra>",
            )
        )
    drawn = figure(
        traces,
        barmode="group",
        showlegend=several,
        bargap=0.3,
        bargroupgap=0.05,
        height=(34 if several else 8)
        + (40 if several else 12)
        + max(2, len(shown)) * (25 if not several else 14 + 9 * len(series)),
        margin={"l": 8, "r": 12 if several else 64, "t": 34 if several else 8, "b": 28 if several else 8},
        yaxis={"tickvals": place, "ticktext": shown, "range": [len(shown) - 0.4, -0.6]},
        xaxis={
            "visible": several,
            "rangemode": "tozero",
            "showgrid": several,
            "nticks": 5,
            "range": None if several else _with_room_for_words(first),
        },
    )
    told = caption or _told_bars(names, first, amount, disjoint=disjoint)
    return Picture(title, told, drawn, ("category", *series), _rows(names, series))


def histogram(
    title: str,
    edges: Sequence[Any] | NDArray[Any],
    counts: Series,
    *,
    caption: str = "",
    amount: str = "records",
    axis: str = "",
    labels: Sequence[str] = (),
) -> Picture:
    """Columns over the bins of a number or date axis; a second series is drawn as a stepped line.

    `labels` are the words for the bins, when "from to" does not suit them.
    """
    series = _series(counts, len(edges) - 1, amount, amount)
    dated = isinstance(edges[0], date)
    cuts = np.array([_instant(edge) for edge in edges])
    words = list(labels) or [_span(edges[i], edges[i + 1]) for i in range(len(edges) - 1)]
    traces: list[Any] = []
    for index, ((name, numbers), colour) in enumerate(
        zip(series.items(), colours(list(series)), strict=True)
    ):
        hover = "%{customdata}<br><b>%{y:,.4~g}</b> " + safe(amount) + "<extra></extra>"
        if index == 0:
            traces.append(
                shapes.bar(
                    x=(cuts[:-1] + cuts[1:]) / 2,
                    y=numbers,
                    width=np.diff(cuts) * 0.96,
                    name=safe(name),
                    marker={"color": colour},
                    customdata=[safe(word, 200) for word in words],
                    hovertemplate=hover,
                )
            )
        else:
            traces.append(
                shapes.scatter(
                    x=np.repeat(cuts, 2)[1:-1],
                    y=np.repeat(numbers, 2),
                    mode="lines",
                    name=safe(name),
                    line={"color": colour, "width": 2.5},
                    hoverinfo="skip",
                )
            )
    drawn = figure(
        traces,
        showlegend=len(series) > 1,
        height=250,
        bargap=0,
        margin={"l": 8, "r": 12, "t": 34 if len(series) > 1 else 10, "b": 8},
        xaxis={
            "type": "date" if dated else "linear",
            "title": {"text": safe(axis)} if axis else None,
            "range": [float(cuts[0]), float(cuts[-1])],
            "nticks": 8,
            "tickangle": 0,
        },
        yaxis={
            "showgrid": True,
            "nticks": 5,
            "rangemode": "tozero",
            "title": {"text": "percent"} if amount.startswith("percent") else None,
        },
    )
    first = next(iter(series.values()))
    peak = int(np.argmax(first)) if len(first) else 0
    told = (
        caption
        or f"The fullest of {len(words)} bins is {words[peak]}, with {readable(float(first[peak]))} {amount}."
    )
    return Picture(title, told, drawn, (axis or "bin", *series), _rows(words, series))


def distribution(schema: Schema, name: str, counts: Series, *, amount: str = "records") -> Picture:
    """The released counts of one field's codes, drawn as its kind deserves.

    Ranges with even bins become a histogram whose caption tells the missing and other values; all
    else becomes bars, ordered by size unless the field has an order of its own.
    """
    field, attribute = schema.field(name), schema.attribute(name)
    series = _series(counts, attribute.size, amount, amount)
    title = field.title or name
    values = field.edges.values if field.ranged else ()
    steps = np.diff([*values[:-1], values[-1] + 1] if field.ranged and field.whole else values)
    if not field.ranged or attribute.regular < 2 or steps[:-1].max() > 1.5 * steps[:-1].min():
        return bars(title, attribute.labels, series, amount=amount, sort=not attribute.ordered)
    edges: list[Any] = [at(field.type, value) for value in values]
    if field.type == "integer":
        # Whole numbers stand in the middle of their column.
        edges = [float(value) - 0.5 for value in values[:-1]] + [float(values[-1]) + 0.5]
    words = [label.replace("..", " to ") for label in attribute.labels[: attribute.regular]]
    regular = {key: numbers[: attribute.regular] for key, numbers in series.items()}
    drawn = histogram(title, edges, regular, amount=amount, labels=words)
    special = attribute.labels[attribute.regular :]
    first = next(iter(series.values()))
    aside = [f"{readable(float(first[attribute.regular + i]))} {label}" for i, label in enumerate(special)]
    told = drawn.caption + (f" Beside them: {', '.join(aside)}." if aside else "")
    return replace(drawn, caption=told, columns=(name, *series), rows=_rows((*words, *special), series))


def heatmap(
    title: str,
    rows: Sequence[object],
    columns: Sequence[object],
    values: ArrayLike,
    *,
    caption: str = "",
    amount: str = "records",
    row_name: str = "",
    column_name: str = "",
) -> Picture:
    """A two-way table as colours; small ones also show their numbers."""
    grid = _rounded(finite(values), amount)
    if grid.shape != (len(rows), len(columns)):
        raise UsageError(
            f"The heat map '{title}' needs {len(rows)} x {len(columns)} values, not {grid.shape}."
        )
    down, across = [str(label) for label in rows], [str(label) for label in columns]
    small = grid.shape[0] <= 20 and grid.shape[1] <= 8
    reach = float(np.abs(grid).max(initial=0)) or 1.0
    hover = [[f"{safe(r, 80)} × {safe(c, 80)}" for c in across] for r in down]
    trace = shapes.heatmap(
        z=grid,
        customdata=hover,
        text=[[readable(float(v)) for v in line] for line in grid] if small else None,
        texttemplate="%{text}" if small else None,
        zmin=min(0.0, float(grid.min(initial=0))),
        zmax=reach,
        hovertemplate="%{customdata}<br><b>%{z:,.4~g}</b> " + safe(amount) + "<extra></extra>",
        showscale=not small,
    )
    drawn = figure(
        [trace],
        height=min(720, 96 + 26 * len(down)) if len(down) <= 40 else 560,
        xaxis=_names(across, column_name, most=26),
        yaxis={**_names(down, row_name, most=40), "autorange": "reversed"},
    )
    top = np.unravel_index(int(np.argmax(np.abs(grid))), grid.shape) if grid.size else (0, 0)
    told = caption or (
        f"Heat map of {row_name or 'rows'} by {column_name or 'columns'}, {len(down)} by {len(across)} "
        f"cells; the strongest is {down[top[0]]} with {across[top[1]]}, {readable(float(grid[top]))} "
        f"{amount}."
    )
    table = tuple(
        (down[i], across[j], float(grid[i, j])) for i in range(len(down)) for j in range(len(across))
    )
    return Picture(title, told, drawn, (row_name or "row", column_name or "column", amount), table, wide=True)


# How numbers and labels become shapes ----------------------------------------------------------------


def _series(values: Series, length: int, name: str, amount: str = "") -> dict[str, Numbers]:
    given = values if isinstance(values, Mapping) else {name: values}
    found = {key: _rounded(finite(numbers).ravel(), amount) for key, numbers in given.items()}
    for key, numbers in found.items():
        if len(numbers) != length:
            raise UsageError(
                f"A picture of {length} positions cannot show the {len(numbers)} values of '{key}'."
            )
    return found


def _rounded(numbers: Numbers, amount: str) -> Numbers:
    """As fine as a reader can use: whole records, tenths of a percent. The model has the rest."""
    if amount not in _COUNTED and not amount.startswith("percent"):
        return numbers
    return np.round(numbers, 0 if amount in _COUNTED else 1) + 0.0  # no minus zero


def finite(values: ArrayLike) -> Numbers:
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise UsageError("A picture can only show finite numbers.")
    return numbers


def _with_room_for_words(numbers: Numbers) -> list[float] | None:
    """The range of an axis where numbers stand to the left of bars, too, for those below zero."""
    low, high = float(numbers.min(initial=0.0)), float(numbers.max(initial=0.0))
    return [low - 0.5 * (high - low), high + 0.05 * (high - low)] if low < 0 else None


def _kept(numbers: Numbers, most: int, *, sort: bool) -> list[int]:
    by_size = np.argsort(-numbers, kind="stable")
    if len(numbers) > most:
        chosen = by_size[: most - 1]
        return [int(i) for i in (chosen if sort else np.sort(chosen))]
    return [int(i) for i in (by_size if sort else range(len(numbers)))]


def _names(labels: list[str], name: str, *, most: int) -> dict[str, Any]:
    every = max(1, -(-len(labels) // most))
    places = list(range(0, len(labels), every))
    return {
        "tickvals": places,
        "ticktext": told_apart([labels[i] for i in places], 18),
        "title": {"text": safe(name)} if name else None,
    }


def _instant(value: Any) -> float:
    """A number, or a date as the milliseconds that Plotly's date axes count in."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() * 1000
    if isinstance(value, date):
        return float((value - date(1970, 1, 1)).days * 86_400_000)
    return float(value)


def _span(start: Any, end: Any) -> str:
    if isinstance(start, date):
        return f"{start.isoformat()} to {end.isoformat()}"
    step = float(end) - float(start)
    return f"{placed(float(start), step)} to {placed(float(end), step)}"


def _rows(labels: Sequence[str], series: Mapping[str, Numbers]) -> tuple[tuple[Any, ...], ...]:
    return tuple(
        (label, *(float(numbers[i]) for numbers in series.values())) for i, label in enumerate(labels)
    )


def _told_bars(names: Sequence[str], numbers: Numbers, amount: str, *, disjoint: bool) -> str:
    if not len(numbers):
        return "There are no categories."
    if len(numbers) == 1:
        return f"The only category is {names[0]}, with {readable(float(numbers[0]))} {amount}."
    top, total = int(np.argmax(numbers)), float(numbers.sum())
    told = disjoint and total > 0 and bool((numbers >= 0).all())
    share = f", {percent(numbers[top] / total)} of all" if told else ""
    held = f"{readable(float(numbers[top]))} {amount}{share}"
    return f"{names[top]} is the largest of {len(names)} categories: {held}."
